"""What is traced without the wrappers of jax.numpy: formulas of the package, with loops that stay loops."""

import jax
import jax.numpy as jnp
import numpy as np

import tutelage as tl
from tutelage.instant import fori_loop, instantly, map_rows, prepared, trace
from tutelage.instant.tracing import compiled, inlined, is_of_ours, is_ours


def test_loops_are_not_unrolled():
    """Neither by an inlined function nor under jit; and they compute what Python's do."""
    calls = []

    def looped(x):
        def step(k, total):
            calls.append(k)
            return total + k * x

        return fori_loop(0, 1000, step, 0.0 * x), map_rows(lambda row: row * x, jnp.arange(1000.0))

    for function in (inlined(looped), looped):
        calls.clear()
        total, rows = jax.jit(function)(0.5)
        assert 0 < len(calls) < 5
        np.testing.assert_allclose(total, 0.5 * 999 * 500, rtol=1e-15)
        np.testing.assert_array_equal(rows, 0.5 * np.arange(1000))


def test_what_is_inlined_has_no_calls():
    """The wrappers are gone, and only there; what is to be compiled is, wherever it is called from."""

    def norm(x):
        return jnp.where(x > 0, jnp.linalg.norm(x), jnp.clip(x, -1.0, 1.0))

    wrapped, plain = (str(jax.make_jaxpr(one)(jnp.ones(3))) for one in (norm, inlined(norm)))
    assert "jit" in wrapped and "jit" not in plain
    traces = []
    once = compiled(lambda x: traces.append(x) or 2 * x)
    for _ in range(3):
        assert inlined(once)(np.array(2.0)) == 4
    assert len(traces) == 1


def test_loops_of_other_people_stay_as_they_are():
    """An activation that iterates a thousand times is traced a few times, for loss, gradient and Hessian."""
    calls = []

    def settled(z):
        def step(state, _):
            calls.append(1)
            return 0.9 * state + 0.1 * jnp.tanh(z + state), None

        return jax.lax.scan(step, jnp.zeros_like(z), None, length=1000)[0]

    own = tl.activations.Custom("settled", settled)
    problem = tl.problems.committee(np.eye(2), students=2, activation=own)
    objective = tl.empirical(problem, inputs=np.random.default_rng(0).normal(size=(5, 2)))
    calls.clear()
    point = np.array([[1.0, 0.2], [0.1, 0.9]])
    assert np.isfinite(objective.loss(point)) and np.isfinite(objective.hessian(point)).all()
    assert np.isfinite(objective.gradient(point)).all() and len(calls) < 50
    assert not is_of_ours(jax.tree.structure(objective))
    assert is_of_ours(jax.tree.structure(tl.population(tl.problems.committee(np.eye(2), students=2))))
    assert is_ours((1.0, "one", tl.activations.Custom)) and not is_ours((1.0, [np.sin]))
    assert not is_ours(eval("lambda z: z", {}))


def test_what_was_traced_before_is_not_traced_again() -> None:
    """`trace` and `prepared` leave what a call finds: each function is traced once for a shape."""
    seen = []

    @instantly
    def doubled(x):
        seen.append(x.shape)
        return 2 * x

    trace(doubled, np.ones(3))
    np.testing.assert_array_equal(doubled(np.ones(3)), 2 * np.ones(3))
    np.testing.assert_array_equal(prepared(doubled)(np.ones(3)), 2 * np.ones(3))
    assert seen == [(3,)]
