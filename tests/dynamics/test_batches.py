"""A run depends on its start, its number and the seed alone: bit for bit, whatever its company."""

from __future__ import annotations

import os
import subprocess
import sys

import jax
import numpy as np
import pytest
from compilations import compilations

import tutelage as tl

pytestmark = pytest.mark.optimized

# Ends runs at different steps; remembers steps that are no multiple of the rounds.
STOP = tl.gradient_norm(2e-2) | tl.step_limit(90)
RECORD = tl.record("loss", every=7)


def follow(objective, starts, method, first_run: int = 0, compiled: bool = True) -> tl.Runs:
    return tl.descend(objective, starts, method, STOP, RECORD, seed=5, first_run=first_run, compiled=compiled)


def assert_same(first: tl.Runs, second: tl.Runs, pairs) -> None:
    """Everything about the paired runs is the same, bit for bit."""
    for i, j in pairs:
        for one, other in zip(jax.tree.leaves(first.point(i)), jax.tree.leaves(second.point(j)), strict=True):
            np.testing.assert_array_equal(one, other)
        for name in ("statuses", "reasons", "steps", "losses", "gradient_norms", "error_estimates"):
            assert getattr(first, name)[i] == getattr(second, name)[j], name
        for quantity in ("loss", "time"):
            for one, other in zip(first.curve(quantity, i), second.curve(quantity, j), strict=True):
                np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", ["descent", "stochastic", "flow", "accelerated", "adam"])
def test_a_run_does_not_depend_on_its_company(committee, starts, methods, name):
    """One run alone, a piece cut by `first_run`, a larger batch and another order have the same runs."""
    method = methods[name]
    whole = follow(committee, starts, method)
    if name != "stochastic":  # ends at steps of its own, the flow at its steady state
        assert len(set(whole.steps)) > 1
        assert (whole.gradient_norms[whole.where("converged")] <= 2e-2).all()
    assert_same(whole, follow(committee, starts[6:7], method, first_run=6), [(6, 0)])
    assert_same(whole, follow(committee, starts[3:9], method, first_run=3), zip(range(3, 9), range(6), strict=True))
    more = np.concatenate([starts, 3 * starts, starts[::-1]])
    assert_same(whole, follow(committee, more, method), zip(range(11), range(11), strict=True))
    if name != "stochastic":
        order = np.random.default_rng(0).permutation(11)
        assert_same(whole, follow(committee, starts[order], method), zip(order, range(11), strict=True))


@pytest.mark.parametrize("name", ["descent", "stochastic", "flow", "accelerated"])
def test_steps_by_numpy_are_the_compiled_ones_and_no_less_independent(committee, starts, methods, name):
    """Runs that NumPy follows differ from the compiled ones by rounding, and depend on their company as little."""
    compiled = follow(committee, starts, methods[name])
    whole = follow(committee, starts, methods[name], compiled=False)
    np.testing.assert_array_equal(whole.steps, compiled.steps)
    np.testing.assert_array_equal(whole.reasons, compiled.reasons)
    np.testing.assert_allclose(whole.points, compiled.points, rtol=0, atol=1e-10)
    for run in range(len(starts)):
        np.testing.assert_allclose(whole.curve("loss", run), compiled.curve("loss", run), rtol=1e-9)
    part = follow(committee, starts[3:9], methods[name], first_run=3, compiled=False)
    assert_same(whole, part, zip(range(3, 9), range(6), strict=True))
    more = np.concatenate([starts, 3 * starts, starts[::-1]] * 4)  # a second tile
    assert len(more) > 128
    assert_same(whole, follow(committee, more, methods[name], compiled=False), [(run, run) for run in range(11)])


def test_numpy_compiles_nothing(committee, starts):
    """No program is compiled where that was not asked for."""
    settings = tl.GradientDescent(0.31), tl.step_limit(20), tl.record("loss", every=3)
    with compilations() as programs:
        runs = tl.descend(committee, starts, *settings, compiled=False)
    assert not programs and (runs.steps == 20).all()


def test_runs_beyond_one_tile_do_not_depend_on_their_lane(committee, starts, methods, monkeypatch):
    """With tiles of four lanes, in which runs move up as others end, runs do not depend on their lane."""
    monkeypatch.setattr(tl.dynamics.lanes, "_LANES", (4, 4))
    whole = follow(committee, starts, methods["descent"])
    assert_same(
        whole,
        follow(committee, starts[::-1], methods["descent"]),
        zip(range(11), range(10, -1, -1), strict=True),
    )
    assert_same(whole, follow(committee, starts[7:8], methods["descent"], first_run=7), [(7, 0)])


def test_late_runs_do_not_depend_on_their_company(committee, starts, methods, monkeypatch):
    """Runs that take many steps are followed in smaller tiles from a step of their own on, whatever the others do."""
    monkeypatch.setattr(sys.modules["tutelage.dynamics.descend"], "_LATE", 20)
    whole = follow(committee, starts, methods["descent"])
    assert (whole.steps > 20).any() and (whole.steps < 90).any()
    late = int(np.argmax(whole.steps))
    assert_same(whole, follow(committee, starts[late : late + 1], methods["descent"], first_run=late), [(late, 0)])
    more = np.concatenate([starts, 3 * starts, starts[::-1]])
    assert_same(whole, follow(committee, more, methods["descent"]), zip(range(11), range(11), strict=True))
    begun = tl.descend(committee, starts, methods["descent"], tl.step_limit(13), RECORD, seed=5)
    assert_same(whole, tl.descend(committee, begun, methods["descent"], STOP), zip(range(11), range(11), strict=True))


def test_random_methods_use_the_number_of_the_run_and_the_seed(committee, starts, methods):
    """The same start under another number or another seed takes another way."""
    method = methods["stochastic"]
    same = follow(committee, np.stack([starts[0], starts[0]]), method)
    assert not np.array_equal(same.points[0], same.points[1])
    again = tl.descend(committee, starts[:1], method, STOP, RECORD, seed=6)
    assert not np.array_equal(same.points[0], again.points[0])


PROGRAM = """
import sys
import jax, numpy as np, optax
import tutelage as tl
assert len(jax.devices()) == int(sys.argv[1])
tl.dynamics.lanes._LANES = (4, 4)  # several tiles, so that all devices have work
neuron = tl.population(tl.problems.neuron([1.0, 0.5, 0.2]))
convolution = tl.population(tl.problems.convolution([1.0, 0.5, -0.3], [1.0, 0.4, 0.6]))
loss = tl.record("loss", every=5)
for name, objective, method, record, finish in (
    ("finish", neuron, tl.GradientDescent(0.3), None, tl.NewtonKrylov()),
    ("convolution", convolution, optax.adam(0.05), loss, None),
):
    starts = tl.starts.gaussian(objective.problem, runs=11, scale=0.7, seed=3)
    stop = tl.gradient_norm(1e-9 if finish else 1e-2) | tl.step_limit(120)
    runs = tl.descend(objective, starts, method, stop, record, finish=finish)
    assert bool(runs.newton_steps.any()) == bool(finish)
    numbers = [runs.steps, runs.losses, runs.gradient_norms, *jax.tree.leaves(runs.points)]
    if record is not None:
        numbers += [runs.history()[column].to_numpy() for column in ("loss", "step")]
    print(name, *(float(number).hex() for array in numbers for number in np.ravel(array)))
"""


def test_runs_do_not_depend_on_the_number_of_devices():
    """One host device and three give the same points, losses, steps and histories, bit for bit.

    With programs that are partitioned over the devices, the convolution differs in the last digits.
    """
    outputs = []
    for devices in ("1", "3"):
        outcome = subprocess.run(
            [sys.executable, "-c", PROGRAM, devices],
            env=os.environ | {"JAX_NUM_CPU_DEVICES": devices},
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert outcome.returncode == 0, outcome.stderr
        outputs.append({line.split()[0]: line.split()[1:] for line in outcome.stdout.splitlines()})
    assert set(outputs[0]) == {"finish", "convolution"}
    different = {name for name in outputs[0] for other in outputs[1:] if outputs[0][name] != other[name]}
    assert not different
