"""Accelerated descent: its step as printed, its restarts, its span, and what it is for."""

from __future__ import annotations

import numpy as np
import pytest

import tutelage as tl

pytestmark = pytest.mark.optimized

RECORD = tl.record(point=lambda point: point)


@pytest.fixture(scope="module")
def flat() -> tl.objectives.Objective:
    """Six students of two teachers: a loss that is flat around its minima."""
    return tl.population(tl.problems.homogeneous([[1.0, 0.0, 0.0], [0.5, 0.8, 0.0]], students=6))


@pytest.fixture(scope="module")
def starts(flat) -> np.ndarray:
    return np.asarray(tl.starts.gaussian(flat.problem, runs=6, scale=0.4, seed=1))


def gradient(students: np.ndarray, teachers: np.ndarray) -> np.ndarray:
    """The gradient of homogeneous absolute-value students, written out pair by pair."""
    out = np.zeros_like(students)
    for i, w in enumerate(students):
        norm = np.linalg.norm(w)
        inner = np.zeros_like(w)  # in the variable ‖w‖w
        for other, size, sign in [(v, np.linalg.norm(v), 1.0) for v in students] + [(v, 1.0, -1.0) for v in teachers]:
            cosine = np.clip(w @ other / norm / np.linalg.norm(other), -1, 1)
            angle = np.arccos(cosine)
            along = (1 - 2 * angle / np.pi) * other + 2 / np.pi * np.linalg.norm(other) * np.sin(angle) * w / norm
            inner += sign * size * along
        out[i] = norm * inner + w * (w @ inner) / norm
    return out


def test_steps_are_those_of_a_loop(flat, starts):
    """Every step is that of a direct transcription, through restarts; they happen."""
    teachers, step, restarts = np.asarray(flat.target), 0.1, 0
    runs = tl.descend(flat, starts, tl.AcceleratedDescent(step), tl.step_limit(120), RECORD)
    for run in range(len(starts)):
        look = settled = starts[run]
        weight = 1.0
        for point in runs.curve("point", run)[1]:
            np.testing.assert_allclose(point, look, rtol=0, atol=1e-9)
            slope = gradient(look, teachers)
            new = look - step * slope
            if np.sum(slope * (new - settled)) > 0:
                weight = 1.0
                restarts += 1
            following = (1 + np.sqrt(1 + 4 * weight**2)) / 2
            look = new + (weight - 1) / following * (new - settled)
            settled, weight = new, following
    assert restarts > 0


def test_flat_minima_take_far_fewer_steps(flat, starts):
    """To a loss of 1e-7 it takes less than a fifth of the steps of plain descent with the same step."""
    stop = tl.loss_below(1e-7) | tl.step_limit(60_000)
    plain = tl.descend(flat, starts, tl.GradientDescent(0.1), stop)
    fast = tl.descend(flat, starts, tl.AcceleratedDescent(0.1), stop)
    assert set(plain.statuses) == set(fast.statuses) == {"converged"}
    assert fast.steps.mean() < 0.2 * plain.steps.mean()
    assert (fast.losses <= 1e-7).all()


def test_a_run_stays_in_the_span_of_start_and_teacher(flat, starts):
    """Followed in twenty dimensions, through the span, a run is the rotated one of three dimensions."""
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(20, 20)))[0][:3]
    wide = tl.population(tl.problems.homogeneous(np.asarray(flat.target) @ rotation, students=6))
    assert tl.AcceleratedDescent(0.1).traits.equivariant
    method, stop = tl.AcceleratedDescent(0.1), tl.step_limit(60)
    narrow = np.asarray(tl.descend(flat, starts, method, stop).points)
    np.testing.assert_allclose(tl.descend(wide, starts @ rotation, method, stop).points, narrow @ rotation, atol=1e-9)
