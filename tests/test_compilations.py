"""Long compilations are announced, once each."""

import jax
import jax.numpy as jnp

from tutelage._compilations import _BEGINS, _ENDS, Compilations, announced


class Clock:
    """A clock that is set by hand."""

    def __init__(self):
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def test_a_long_compilation_is_announced_once():
    """Nothing is said before a second is over, one word after it, and another word for the next long one."""
    clock, said = Clock(), []
    compilations = Compilations(lambda: said.append(clock.seconds), clock=clock)
    for end in (0.5, 3.0, 10.0):
        compilations.heed(_BEGINS)
        begun = clock.seconds
        while clock.seconds < begun + end:
            clock.seconds += 0.25
            compilations.look()
        compilations.heed(_ENDS)
        compilations.look()
    assert said == [1.5, 4.5]


def test_programs_that_are_compiled_side_by_side_are_one_wait():
    """While any of several is not ready the word stands; other events of JAX do not count."""
    clock, said = Clock(), []
    compilations = Compilations(lambda: said.append(clock.seconds), clock=clock)
    for event in (_BEGINS, _BEGINS, "/jax/core/compile/jaxpr_trace_duration"):
        compilations.heed(event, 0.1, fun_name="f")
    clock.seconds = 2.0
    compilations.look()
    compilations.heed(_ENDS)
    compilations.look()
    assert said == [2.0] and len(compilations.begun) == 1
    compilations.heed(_ENDS)
    assert not compilations.begun


def test_jax_says_when_it_compiles(monkeypatch):
    """The events are those of the JAX that is installed: each program begins, and ends."""
    seen = []
    heed = Compilations.heed
    monkeypatch.setattr(Compilations, "heed", lambda self, event, *a, **k: (seen.append(event), heed(self, event))[1])
    with announced(lambda: None) as compilations:
        jax.jit(lambda x: 3 * x + 1)(jnp.arange(7.0)).block_until_ready()
    assert seen.count(_BEGINS) == seen.count(_ENDS) >= 1 and not compilations.begun
    before = len(seen)
    jax.jit(lambda x: 5 * x - 1)(jnp.arange(7.0)).block_until_ready()
    assert len(seen) == before
