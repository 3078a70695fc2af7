"""Programs are traced by the thread that asks, compiled by others side by side, once each; and they are few."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from compilations import compilations
from jax import monitoring

import tutelage as tl
from tutelage.dynamics.programs import Programs, meanwhile
from tutelage.objectives.tiles import Thoroughness, in_tiles


class Program:
    """Stands for a function that `equinox.filter_jit` has made: adds what is shared, and notes who does what."""

    def __init__(self, together: threading.Barrier | None = None):
        self.together = together
        self.traced: list[int] = []
        self.compiled: list[int] = []

    def lower(self, *arguments):
        self.traced.append(threading.get_ident())
        return self

    def compile(self, options):
        self.compiled.append(threading.get_ident())
        self.options = options
        if self.together is not None:
            self.together.wait()  # passes only if another program is compiled at the same time
        return lambda shared, rows: shared + rows


def test_programs_are_compiled_side_by_side_and_once(monkeypatch):
    """Two orders are in work at the same time, in other threads than the one that traces; calls compile no more."""
    monkeypatch.delenv("XLA_FLAGS", raising=False)
    monkeypatch.setattr("tutelage.dynamics.programs.at_once", lambda: 2)
    monkeypatch.setattr("tutelage.dynamics.programs._compilers", _pool())
    together = threading.Barrier(2, timeout=20)
    first, second, programs, rows = Program(together), Program(together), Programs(), np.arange(5.0)
    programs.order(first, 2, (1.0,), rows, Thoroughness.LOOP)
    programs.order(second, 2, (1.0,), rows, Thoroughness.LONG_LOOP)
    for _ in range(2):
        np.testing.assert_array_equal(programs(first, 2, (3.0,), rows, Thoroughness.LOOP), rows + 3)
        np.testing.assert_array_equal(programs(second, 2, (4.0,), rows, Thoroughness.LONG_LOOP), rows + 4)
    me = threading.get_ident()
    for program in (first, second):
        assert program.traced == [me]
        assert len(program.compiled) == 1 and program.compiled != [me]
    assert first.options == Thoroughness.LOOP.value and second.options == {}


def _pool():
    from concurrent.futures import ThreadPoolExecutor

    pool = ThreadPoolExecutor(2)
    return lambda: pool


def test_other_widths_are_other_programs():
    """Tiles of another width are compiled apart, as XLA needs it."""
    program, programs = Program(), Programs()
    for tile in (2, 3, 2):
        programs(program, tile, (1.0,), np.arange(4.0), Thoroughness.LOOP)
    assert len(program.compiled) == 2


def test_other_work_is_done_meanwhile():
    """While a program is compiled, and only then, the caller does what it was given to do, once."""
    program, programs, rows, worked = Program(threading.Barrier(2, timeout=20)), Programs(), np.arange(3.0), []

    def work():
        worked.append(threading.get_ident())
        program.together.wait()  # the compilation ends only now

    with meanwhile(work):
        np.testing.assert_array_equal(programs(program, 2, (1.0,), rows, Thoroughness.LOOP), rows + 1)
        programs(_Slow(), 2, (1.0,), rows, Thoroughness.LOOP)
    with meanwhile(work):
        programs(program, 2, (1.0,), rows, Thoroughness.LOOP)
    programs(_Slow(), 2, (1.0,), rows, Thoroughness.LOOP)
    assert worked == [threading.get_ident()]


class _Slow(Program):
    def compile(self, options):
        time.sleep(0.2)
        return super().compile(options)


@pytest.mark.parametrize("chosen", ["--xla_backend_optimization_level=3", "--xla_cpu_use_fusion_emitters=true"])
def test_settings_of_the_user_are_left_alone(chosen: str, monkeypatch):
    """What XLA_FLAGS says about how to compile is not overruled."""
    monkeypatch.setenv("XLA_FLAGS", chosen)
    program = Program()
    in_tiles(program, 2, (1.0,), np.arange(4.0))
    name = chosen[2:].split("=")[0]
    assert set(program.options) == set(Thoroughness.ONCE.value) - {name}


def test_the_minima_of_a_committee_take_two_programs():
    """The loop and its finish are compiled, and nothing else: not the evaluation, nor spectra, blocks or classes."""
    compiled: list[str] = []

    def heed(event: str, duration: float, **details: str | int) -> None:
        if event == "/jax/core/compile/backend_compile_duration":
            compiled.append(str(details.get("fun_name")))

    problem = tl.problems.committee(np.eye(3, 5), students=3)  # a shape that no other test compiles for
    objective = tl.population(problem)
    starts = tl.starts.xavier(problem, runs=5, seed=0)
    monitoring.register_event_duration_secs_listener(heed)
    try:
        runs = tl.dynamics.descend_to_minima(objective, starts, 0.5)
        atlas = tl.atlas(objective, runs)
    finally:
        monitoring.unregister_event_duration_listener(heed)
    assert set(runs.statuses) == {"converged"} and len(atlas) >= 1
    assert sorted(compiled) == ["jit(finish_tile)", "jit(follow)"]


def test_one_program_serves_all_strengths_of_label_noise():
    """Descent under another noise compiles nothing, on streams and on the population; losses say which noise it was."""
    starts = np.random.default_rng(0).normal(size=(3, 3, 3))
    settings = tl.GradientDescent(0.1), tl.step_limit(5)
    for objective_of in (tl.population, lambda problem: tl.stream(problem, 8)):
        losses = []
        for number, noise in enumerate((0.5, 0.1, 2.0)):
            objective = objective_of(tl.problems.committee(np.eye(2, 3), students=3, noise=noise))
            with compilations() as programs:
                losses.append(tl.descend(objective, starts, *settings).losses)
            assert bool(programs) == (number == 0)
        assert (losses[1] < losses[0]).all() and (losses[0] < losses[2]).all()
