"""What runs cost: ended ones nothing, and one compilation serves all batches of a shape."""

from __future__ import annotations

import importlib
import itertools
from collections import Counter

import numpy as np

import tutelage as tl
from tutelage.dynamics import lanes
from tutelage.dynamics.programs import Programs

descend_module = importlib.import_module("tutelage.dynamics.descend")  # not the function of that name


def test_ended_runs_stop_costing(committee, starts, monkeypatch):
    """Every round follows the runs that are still open, and no others; `in_tiles` takes as many tiles as they need."""
    monkeypatch.setattr(lanes, "_LANES", (4, 4))
    occupied = Counter()

    def counting(programs, program, tile, shared, rows, effort):
        if program is lanes.follow:
            batch = rows[0]
            assert tile == 4 and (batch.code == 0).all() and len(set(batch.step)) == 1
            occupied[int(batch.step[0])] += len(batch.step)
        return apply(programs, program, tile, shared, rows, effort)

    apply = Programs.__call__
    monkeypatch.setattr(Programs, "__call__", counting)
    many = np.concatenate([starts, starts + 0.1, starts - 0.1])
    runs = tl.descend(committee, many, tl.GradientDescent(0.3), tl.gradient_norm(1e-3), tl.record("loss", every=3))
    assert set(runs.statuses) == {"converged"}
    assert len(occupied) > 3
    for step, number in occupied.items():
        # A run that ends at step s is found to have ended in the round that looks at s.
        assert number == (runs.steps >= step).sum()
    assert occupied[max(occupied)] < occupied[0]


def test_where_rounds_take_long_fewer_runs_move_on(committee, starts, monkeypatch):
    """Runs wait for others where handing over a few steps of all of them would cost more than making these steps."""
    monkeypatch.setattr(lanes, "_LANES", (4, 4))
    many = np.concatenate([starts + 0.1 * shift for shift in range(8)])
    stop = tl.gradient_norm(1e-6) | tl.step_limit(400)
    expected = tl.descend(committee, many, tl.GradientDescent(0.3), stop)
    # For twenty rounds a second goes by at every look; then the machine is quick again.
    rounds, clock, apply = [], itertools.chain(range(42), itertools.repeat(42)), Programs.__call__

    def counting(programs, program, tile, shared, rows, effort):
        if program is lanes.follow:
            rounds.append((len(rows[0].step), int((rows[1][:, 0] - rows[0].step).max())))
        return apply(programs, program, tile, shared, rows, effort)

    monkeypatch.setattr(Programs, "__call__", counting)
    monkeypatch.setattr(descend_module.time, "monotonic", lambda: float(next(clock)))
    found = tl.descend(committee, many, tl.GradientDescent(0.3), stop)
    assert len(many) > 8 * 4 and rounds[0] == (32, 64) and rounds[1] == (32, 32)
    assert {(runs, length) for runs, length in rounds} >= {(16, 32), (8, 32), (4, 32), (4, 1)}
    np.testing.assert_array_equal(found.points, expected.points)
    np.testing.assert_array_equal(found.steps, expected.steps)


def test_one_compilation_serves_all_batches_of_a_shape(neuron):
    """Other starts, numbers of runs, steps, tolerances, limits, seeds and records compile nothing new."""
    traced = []

    def probe(point):
        traced.append(point.shape)  # runs when a program is traced, and never when it is executed
        return point[0]

    def follow(runs: int, step: float, stop, **options) -> tl.Runs:
        starts = tl.starts.gaussian(neuron.problem, runs, seed=runs)
        return tl.descend(neuron, starts, tl.GradientDescent(step), stop, **options)

    first = follow(3, 0.1, tl.gradient_norm(1e-2) | tl.step_limit(70), record=tl.record(every=2, probe=probe))
    programs = len(traced)
    assert programs > 0
    record = tl.record(every=5, at_most=7, probe=probe)
    stop = tl.gradient_norm(1e-5) | tl.step_limit(300) | tl.wall_time(1e6)
    second = follow(9, 0.37, stop, record=record, seed=4, first_run=2)
    tl.descend(neuron, second, tl.GradientDescent(0.2), tl.gradient_norm(1e-7))
    follow(5, 0.2, [tl.gradient_norm(1e-3)], record=tl.record(steps=[1, 4], probe=probe))
    assert len(traced) == programs
    assert set(first.statuses) | set(second.statuses) <= {"converged", "step_limit"}
    # A condition more is another program: the count can grow.
    follow(3, 0.1, tl.gradient_norm(1e-2) | tl.loss_below(1e-3), record=record)
    assert len(traced) > programs
