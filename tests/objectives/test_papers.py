"""The formulas that the papers print, transcribed literally in NumPy, against the library."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

import tutelage as tl
from tutelage.models import FilterAndOutput

RNG = np.random.default_rng(5)


def angle(w: np.ndarray, v: np.ndarray) -> float:
    """The angle between two vectors, by Kahan's formula: accurate for all angles."""
    w, v = w / np.linalg.norm(w), v / np.linalg.norm(v)
    return 2 * np.arctan2(np.linalg.norm(w - v), np.linalg.norm(w + v))


# Du, Lee, Tian, Póczos and Singh, one convolutional filter, Theorems 2.1 and 2.2.


def printed_loss(v, a, w, b, *, corrected: bool) -> float:
    """Equation (3); its last term misses a factor 1/(2π), put back in the corrected form."""
    phi, norm = angle(v, w), np.linalg.norm(w)
    slope = np.cos(phi) * (np.pi - phi + np.sin(phi) * np.cos(phi)) + np.sin(phi) ** 3
    cross = 2 * norm * a.sum() * b.sum()
    return 0.5 * (
        (np.pi - 1) * norm**2 / (2 * np.pi) * (b @ b)
        + (np.pi - 1) / (2 * np.pi) * (a @ a)
        - 2 * (slope - 1) * norm / (2 * np.pi) * (a @ b)
        + norm**2 / (2 * np.pi) * b.sum() ** 2
        + a.sum() ** 2 / (2 * np.pi)
        - (cross / (2 * np.pi) if corrected else cross)
    )


def printed_filter_gradient(v, a, w, b) -> tuple[np.ndarray, np.ndarray]:
    """Theorem 2.2."""
    phi, norm, size, patches = angle(v, w), np.linalg.norm(w), np.linalg.norm(v), len(a)
    slope = np.cos(phi) * (np.pi - phi + np.sin(phi) * np.cos(phi)) + np.sin(phi) ** 3
    ones = np.ones((patches, patches))
    by_filter = -(np.eye(len(v)) - np.outer(v, v) / size**2) @ w * (a @ b) * (np.pi - phi) / (2 * np.pi * size)
    by_output = (ones + (np.pi - 1) * np.eye(patches)) @ a / (2 * np.pi)
    return by_filter, by_output - norm * (ones + (slope - 1) * np.eye(patches)) @ b / (2 * np.pi)


def test_the_convolution_has_the_printed_loss_with_a_factor_put_back() -> None:
    """Theorem 2.1 as printed disagrees with the loss, and at the teacher is not zero; corrected it agrees."""
    w, b = np.array([0.6, -1.0, 0.3]), np.array([1.0, -0.4, 0.7, 0.2])
    objective = tl.population(tl.problems.convolution(w, b))
    for _ in range(5):
        v, a = RNG.normal(size=3), RNG.normal(size=4)
        found = float(objective.loss(FilterAndOutput(jnp.asarray(v), jnp.asarray(a))))
        assert found == pytest.approx(printed_loss(v, a, w, b, corrected=True), abs=1e-13)
        assert abs(found - printed_loss(v, a, w, b, corrected=False)) > 1e-3
    at_teacher = (w, np.linalg.norm(w) * b, w, b)
    assert printed_loss(*at_teacher, corrected=True) == pytest.approx(0.0, abs=1e-14)
    assert abs(printed_loss(*at_teacher, corrected=False)) > 0.1


def test_the_convolution_has_the_printed_gradient() -> None:
    """Theorem 2.2 holds as printed."""
    w, b = np.array([0.6, -1.0, 0.3]), np.array([1.0, -0.4, 0.7, 0.2])
    objective = tl.population(tl.problems.convolution(w, b))
    for _ in range(3):
        v, a = RNG.normal(size=3), RNG.normal(size=4)
        found = objective.gradient(FilterAndOutput(jnp.asarray(v), jnp.asarray(a)))
        by_filter, by_output = printed_filter_gradient(v, a, w, b)
        np.testing.assert_allclose(found.filter, by_filter, atol=1e-13)
        np.testing.assert_allclose(found.output, by_output, atol=1e-13)


# Shalev-Shwartz, Shamir and Shammah, weight sharing.


def lemma_1(u: np.ndarray, v: np.ndarray) -> float:
    """The dual of erf (Lemma 1)."""
    return 2 / np.pi * np.arcsin(2 * u @ v / np.sqrt((1 + 2 * u @ u) * (1 + 2 * v @ v)))


def test_the_parity_is_made_of_lemma_1() -> None:
    """Lemmas 1 and 3: degrees decouple, and each part is a product of duals of erf."""
    target, rows = np.array([0.5, -1.0, 0.3]), RNG.normal(size=(3, 3))
    loss = 0.0
    for degree in (1, 3):
        own = np.prod([lemma_1(w, w) for w in rows[:degree]])
        cross = np.prod([lemma_1(w, target) for w in rows[:degree]])
        loss += 0.5 * (own - 2 * cross + lemma_1(target, target) ** degree)
    objective = tl.population(tl.problems.parity(target, 3, sharing=False))
    assert float(objective.loss(jnp.asarray(rows))) == pytest.approx(loss, abs=1e-14)


def test_the_wave_is_made_of_lemma_10() -> None:
    """Equation (2) and the expansion in the proof of Lemma 10, for one shared vector over three patches."""
    u, w = np.array([0.2, -0.5, 0.1]), 0.4 * RNG.normal(size=3)
    tall, target = np.tile(w, 3), np.tile(u, 3)
    cosines = (
        1
        + 0.5 * np.exp(-2 * tall @ tall)
        + 0.5 * np.exp(-2 * target @ target)
        - np.exp(-np.sum((tall - target) ** 2) / 2)
        - np.exp(-np.sum((tall + target) ** 2) / 2)
    )
    loss = 0.5 * 1.3**2 * np.sum((w - u) ** 2) + 0.5 * cosines
    objective = tl.population(tl.problems.wave(u, 3, slope=1.3))
    assert float(objective.loss(jnp.asarray(w))) == pytest.approx(loss, abs=1e-14)


# Zhou, Ge and Jin, local convergence, Definition 1.


def test_the_homogeneous_loss_is_a_sum_of_angles() -> None:
    """Definition 1 with signs, from E|u·x||v·x| = (2/π)|u||v|(sin θ + (π/2 − θ) cos θ)."""
    teacher, weights, signs = RNG.normal(size=(2, 3)), RNG.normal(size=(3, 3)), (1, -1, 1)
    neurons = [(sign, np.linalg.norm(w) * w) for sign, w in zip(signs, weights, strict=True)]
    terms = neurons + [(-1, v) for v in teacher]
    loss = 0.0
    for a, u in terms:
        for b, v in terms:
            theta = angle(u, v)
            kernel = 2 / np.pi * (np.sin(theta) + (np.pi / 2 - theta) * np.cos(theta))
            loss += 0.5 * a * b * np.linalg.norm(u) * np.linalg.norm(v) * kernel
    objective = tl.population(tl.problems.homogeneous(teacher, 3, signs=signs))
    assert float(objective.loss(jnp.asarray(weights))) == pytest.approx(loss, abs=1e-13)
