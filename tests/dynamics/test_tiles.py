"""Tiles: how many runs are followed side by side is known beforehand; rows do not depend on who works on them."""

import threading

import equinox as eqx
import jax
import numpy as np
import pytest

import tutelage as tl
from tutelage.dynamics import lanes
from tutelage.dynamics.descend import tile_of
from tutelage.objectives import tiles

pytestmark = pytest.mark.optimized

CASES = {
    "committee": lambda: (tl.population(tl.problems.committee(np.eye(20), 20)), tl.GradientDescent(0.1)),
    "small committee": lambda: (tl.population(tl.problems.committee(np.eye(6), 6)), tl.GradientDescent(0.1)),
    "committee of ten": lambda: (tl.population(tl.problems.committee(np.eye(10), 10)), tl.GradientDescent(0.1)),
    "committee, gradients kept": lambda: (
        tl.population(tl.problems.committee(np.eye(20), 20)),
        tl.ChebyshevDescent(0.1),
    ),
    "in the span of start and teacher": lambda: (
        tl.population(tl.problems.committee(np.eye(2, 2000), 2)),
        tl.GradientDescent(0.1),
    ),
    "in the full space": lambda: (
        tl.population(tl.problems.committee(np.eye(2, 2000), 2)),
        tl.PerturbedGradientDescent(0.1, 0.1),
    ),
    "samples": lambda: (tl.stream(tl.problems.neuron(np.ones(4)), 100), tl.GradientDescent(0.1)),
}


@pytest.mark.parametrize("case", CASES)
def test_tile_is_the_one_of_descend(case):
    """`tile_of` says what `descend` does, whichever space the runs are followed in."""
    objective, method = CASES[case]()
    starts = tl.starts.gaussian(objective.problem, runs=1)
    runs = tl.descend(objective, starts, method, tl.step_limit(0))
    assert tile_of(objective, method)[0] == runs._resume.tile


def test_work_is_what_makes_tiles_narrow():
    """The full space of 2000 coordinates costs more than the span of four vectors, and has narrower tiles."""
    (span, span_work), (full, full_work) = (
        tile_of(*CASES[case]()) for case in ("in the span of start and teacher", "in the full space")
    )
    assert span > full and span_work < full_work == 4000


@pytest.mark.parametrize(
    ("case", "thoroughness"),
    [
        ("small committee", "LOOP_OF_PAIRS"),
        ("committee of ten", "LOOP"),
        ("committee", "LONG_LOOP"),
        ("committee, gradients kept", "LOOP_OF_PAIRS"),
        ("in the full space", "LONG_LOOP"),
        ("samples", "LOOP"),
    ],
)
def test_samples_are_not_compiled_with_more_effort(case, thoroughness):
    """Many pairs of neurons are worth an optimising compiler; few, and samples however many, are not."""
    objective, method = CASES[case]()
    point = np.ones(objective.problem.template_tree().shape)
    assert lanes.thoroughness(objective, method, point) is tiles.Thoroughness[thoroughness]


class Program:
    """Stands for a compiled function of rows: doubles them, and notes the tiles it is given and in which thread."""

    def __init__(self, failing: float = np.nan):
        self.failing = failing
        self.tiles: list[np.ndarray] = []
        self.threads: set[int] = set()
        self.together = threading.Barrier(2, timeout=20)
        self.compiled = 0

    def lower(self, *arguments):
        self.threads.add(threading.get_ident())
        return self

    def compile(self, options):
        self.compiled += 1
        return self.execute

    def execute(self, factor, rows):
        self.tiles.append(rows)
        if self.failing in rows:
            raise KeyboardInterrupt
        if len(rows) == 2:
            self.together.wait()  # passes only if two threads are here at once
        return factor * rows


@pytest.mark.parametrize("number", [1, 4, 5, 11, 12])
def test_rows_are_cut_into_full_tiles(number, monkeypatch):
    """As many tiles as the rows need, each full; one compilation serves them all, and the order of rows is kept."""
    monkeypatch.setattr(tiles, "at_once", lambda: 3)
    program = Program()
    rows = np.arange(float(number))
    np.testing.assert_array_equal(tiles.in_tiles(program, 4, (2.0,), rows), 2 * rows)
    assert {len(tile) for tile in program.tiles} == {4} and len(program.tiles) == -(-number // 4)
    assert program.compiled == 1 and set(np.concatenate(program.tiles)) == set(rows)


def test_tiles_are_executed_at_once(monkeypatch):
    """Two tiles are in work at the same time, and compiling is left to the thread that calls."""
    monkeypatch.setattr(tiles, "at_once", lambda: 2)
    program = Program()
    np.testing.assert_array_equal(tiles.in_tiles(program, 2, (1.0,), np.arange(8)), np.arange(8))
    assert program.threads == {threading.get_ident()}


def test_nothing_more_is_begun_after_an_interruption(monkeypatch):
    """A tile that ends in an interruption ends the work: tiles that have not begun are left."""
    monkeypatch.setattr(tiles, "at_once", lambda: 2)
    program = Program(failing=0.0)
    with pytest.raises(KeyboardInterrupt):
        tiles.in_tiles(program, 1, (1.0,), np.arange(400.0))
    assert len(program.tiles) < 400


def test_settings_that_hold_in_one_thread_hold_for_all_tiles(monkeypatch):
    """What a `with` of JAX sets for the calling thread is compiled in, whichever thread executes a tile."""
    monkeypatch.setattr(tiles, "at_once", lambda: 2)

    @eqx.filter_jit
    def draw(seed, numbers):
        return jax.vmap(lambda number: jax.random.bits(jax.random.fold_in(jax.random.key(seed), number)))(numbers)

    default = tiles.in_tiles(draw, 3, (0,), np.arange(9))
    with jax.threefry_partitionable(not jax.config.jax_threefry_partitionable):  # type: ignore[attr-defined]
        other = tiles.in_tiles(draw, 3, (0,), np.arange(9))
        alone = np.concatenate([draw(0, np.arange(begin, begin + 3)) for begin in (0, 3, 6)])
    np.testing.assert_array_equal(other, alone)
    assert (default != other).any()
