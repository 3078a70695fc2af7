"""Each operation in NumPy is that of XLA: entries, shapes, indices, loops and branches."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from compilations import compilations

from tutelage.instant import instantly, prepared, rules

_random = np.random.default_rng(0)
X = _random.normal(size=(4, 5))
Y = _random.normal(size=(4, 5))
POSITIVE = np.exp(X)
WHOLE = _random.integers(-9, 9, size=(4, 5))
PLACES = np.array([3, 0, 2, 2])


def _sines(x):
    return jax.lax.fori_loop(0, 3, lambda i, total: total + jnp.sin((i + 1) * x), x)


def _rows(x):
    """Linear in `x`, in a way whose transpose writes to its rows."""
    return jax.lax.fori_loop(0, 4, lambda i, total: total + Y * x[i, :, None].sum() * x[..., i, None] * 0.5, X)


FUNCTIONS = {
    "arithmetic": (lambda x, y: (x + y, x - y, x * y, x / y, -x, abs(x), x**2, x**3, x**-3, x**0), X, Y),
    "roots and powers": (lambda x: (jnp.sqrt(x), jax.lax.rsqrt(x), jnp.cbrt(x), x**0.3, x**1.5), POSITIVE),
    "exponentials": (lambda x: (jnp.exp(x), jnp.exp2(x), jnp.expm1(x), jnp.log(abs(x)), jnp.log1p(x * x)), X),
    "angles": (lambda x, y: (jnp.sin(x), jnp.tan(x), jnp.arctan2(x, y), jnp.arcsin(jnp.tanh(x)), jnp.sinc(x)), X, Y),
    "hyperbolic": (lambda x: (jnp.sinh(x), jnp.cosh(x), jnp.tanh(x), jnp.arcsinh(x), jnp.arctanh(jnp.tanh(x))), X),
    "normal": (lambda x: (jax.scipy.special.erf(x), jax.scipy.special.erfc(x), jax.scipy.special.ndtr(x)), X),
    "inverse error function": (lambda x: jax.scipy.special.erfinv(jnp.tanh(x)), X),
    "gamma": (lambda x: (jax.scipy.special.gammaln(x), jax.scipy.special.digamma(x)), POSITIVE),
    "logistic": (lambda x: (jax.nn.sigmoid(x), jax.nn.softplus(x), jax.nn.silu(x)), X),
    "comparisons": (lambda x, y: (x < y, x >= y, x == y, (x > 0) & ~(y > 0), jnp.logical_xor(x > 0, y > 0)), X, Y),
    "choices": (lambda x, y: (jnp.where(x > y, x, y), jnp.maximum(x, y), jnp.clip(x, -0.5, 0.5), jnp.sign(x)), X, Y),
    "one of three": (lambda x, y, k: jax.lax.select_n(jnp.abs(k) % 3, x, y, x * y), X, Y, WHOLE),
    "whole numbers": (lambda k: (k // 3, k % 4, k << 2, k >> 1, k & 5, k ^ 3, k.astype(float), ~k), WHOLE),
    "rounding": (lambda x: (jnp.floor(x), jnp.ceil(x), jnp.round(x), x.astype(int), jnp.fmod(x, 0.3)), X),
    "binary form": (lambda x: (*jnp.frexp(x), jnp.ldexp(x, 3), jnp.nextafter(x, x + 1), jnp.isfinite(1 / x)), X),
    "complex numbers": (lambda x, y: (jnp.exp(x + 1j * y).real, jnp.conj(x + 1j * y), jnp.abs(jnp.exp(1j * x))), X, Y),
    "sums": (lambda x: (x.sum(), x.sum(0), x.prod(1), x.max(), x.min(0), jnp.any(x > 2), jnp.all(x < 9, 1)), X),
    "places of extremes": (lambda x: (jnp.argmax(x), jnp.argmin(x, 1)), X),
    "cumulative": (lambda x: (jnp.cumsum(x, 0), jnp.cumprod(x, 1), jax.lax.cummax(x, 0, reverse=True)), X),
    "shapes": (lambda x: (x.T, x.reshape(2, 10), x[:, None], x.ravel(), jnp.squeeze(x[:1]), x[::-1, 1::2]), X),
    "another order of axes": (
        lambda x: (jax.lax.reshape(x, (2, 10), (1, 0)), jax.grad(lambda x: x.prod(1).sum())(x)),
        X,
    ),
    "joining": (lambda x, y: (jnp.concatenate([x, y], 1), jnp.stack([x, y], 1), jnp.split(x, [1, 3], 1)), X, Y),
    "padding": (lambda x: (jnp.pad(x, 1), jax.lax.pad(x, 7.0, ((-1, 2, 0), (1, -2, 3)))), X),
    "products": (lambda x, y: (x @ y.T, x.T @ y, x[0] @ y[0], x @ y[0], y[:, 0] @ x, jnp.outer(x[0], y[0])), X, Y),
    "batched products": (lambda x, y: (jnp.einsum("bi,bj->bij", x, y), jnp.einsum("bi,bi->b", x, y)), X, Y),
    "contractions": (lambda x, y: (jnp.tensordot(x, y), jnp.einsum("ij,kj->ki", x, y)), X, Y),
    "broadcasting": (lambda x: (x + x[0], x[:, :1] * jnp.ones(5), jnp.broadcast_to(x[0], (3, 5)) @ x.T), X),
    "constants": (lambda x: (jnp.eye(4) @ x, jnp.arange(5) * x, jnp.linspace(0, 1, 5) + x, jnp.tri(4) @ x), X),
    "places": (
        lambda x, k: (x[k], x[k, 1:3], x[1, k], x[k[:, None], k], x[k[0]], x.at[1].get(), x[..., -1]),
        X,
        PLACES,
    ),
    "places out of bounds": (lambda x, k: (x[k + 3], x.at[k + 3].get(mode="fill"), x[-k - 9]), X, PLACES),
    "what stands out of bounds": (
        lambda x, k: [y.at[k + 3].get(mode="fill", fill_value=f) for f in (0, None, 7) for y in (x, k, k > 1, x + 1j)],
        X,
        PLACES,
    ),
    "mapped places": (lambda x, k: jax.vmap(lambda row, place: row[place])(x, k), X, PLACES),
    "mapped slices": (lambda x, k: jax.vmap(lambda p: jax.lax.dynamic_slice(x, (p, 1), (2, 3)))(k), X, PLACES),
    "writing": (lambda x, k: jax.lax.dynamic_update_slice(x, -x[:2, :2], (k[0], k[1])), X, PLACES),
    "sorting": (lambda x: (jnp.sort(x, 0), jnp.argsort(x, 1)), X),
    "a loop": (lambda x: jax.lax.fori_loop(0, 3, lambda i, total: total * x + x[i], x), X),
    "a scan": (lambda x: jax.lax.scan(lambda c, row: (c + row, c * row), x[0], x, reverse=True), X),
    "the slope of a loop": (lambda x: jax.grad(lambda x: _sines(x).sum())(x), X),
    "the slope of a loop over rows": (lambda x: jax.vjp(_rows, x)[1](x)[0], X),
    "the curvature of a loop": (lambda x: jax.jvp(jax.grad(lambda x: _sines(x).sum()), (x,), (x,))[1], X),
    "a map": (lambda x: jax.lax.map(lambda row: row * row.sum(), x, batch_size=3), X),
    "while": (
        lambda x: jax.lax.while_loop(lambda c: c[1] < 50, lambda c: (c[0] + 1, 2 * c[1] + 1), (0, abs(x[0, 0]))),
        X,
    ),
    "branches": (lambda x: jax.lax.switch(x.shape[0] - 3, [jnp.sin, jnp.cos, jnp.tan], x), X),
    "a branch by number": (lambda x, k: jax.lax.cond(k[0] > 1, lambda x: x + 1, lambda x: x - 1, x), X, PLACES),
    "a gradient": (jax.grad(lambda x: jnp.sum(jnp.tanh(x @ x.T)[1:, 0] * jnp.cumprod(x[1, :3]))), X),
    "a gradient through places": (jax.grad(lambda x: jnp.prod(x[1]) + jnp.sum(x[2] ** 3) + x[0, 0] * x[3, 1]), X),
    "a Hessian": (jax.hessian(lambda x: jnp.sum(jnp.exp(jnp.sin(x)) * x[0])), X[:2, :2]),
    "nested programs": (lambda x: jax.jit(lambda x: jax.checkpoint(jnp.sin)(x) + jax.nn.relu(x))(x), X),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_operation_in_numpy_is_that_of_xla(name: str) -> None:
    """The same shapes and types, and the same numbers up to rounding; nothing is compiled."""
    function, *arrays = FUNCTIONS[name]
    with compilations() as compiled:
        found = instantly(function)(*arrays)
    assert not compiled
    expected = jax.jit(function)(*arrays)
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert isinstance(one, np.ndarray) and one.dtype == other.dtype and one.shape == other.shape
        # Some functions of XLA have errors of that size.
        np.testing.assert_allclose(one, other, rtol=1e-13, atol=4e-16)


def test_an_operation_with_a_parameter_that_its_rule_does_not_know_is_compiled(monkeypatch) -> None:
    """It could compute something else: a rule that does not read a parameter vouches for nothing."""
    monkeypatch.setitem(rules.STRUCTURAL, "rev", lambda parameters, shapes: lambda x: x)
    with compilations() as compiled:
        found = instantly(lambda x: jax.lax.rev(x, (0,)))(X)
    assert compiled
    np.testing.assert_array_equal(found, X[::-1])


def test_what_numpy_has_no_rule_for_is_compiled() -> None:
    """The eigenvalues of a matrix are XLA's; the results are NumPy arrays for NumPy arrays all the same."""
    matrix = X @ X.T
    with compilations() as compiled:
        found = instantly(jnp.linalg.eigh)(matrix)
    assert compiled and all(type(leaf) is np.ndarray for leaf in jax.tree.leaves(found))
    np.testing.assert_allclose(found[0], np.linalg.eigvalsh(matrix), atol=1e-14)


def test_what_takes_long_is_compiled() -> None:
    """A thousand products of large matrices are left to XLA, by their shapes alone."""

    def function(x):
        return jax.lax.fori_loop(0, 1000, lambda i, y: 0.99 * (y @ x), x)

    with compilations() as compiled:
        instantly(function)(np.eye(64))
    assert compiled
    with compilations() as compiled:
        instantly(function)(np.eye(7))
    assert not compiled


def test_kinds_of_arrays() -> None:
    """Results are NumPy arrays for NumPy arrays, and JAX arrays if one argument is; a number needs none."""
    add = instantly(lambda x, y: {"sum": x + y})
    assert type(add(X, Y)["sum"]) is np.ndarray
    for arguments in ((jax.device_put(X), Y), (X, jax.device_put(Y))):
        assert isinstance(add(*arguments)["sum"], jax.Array)
    assert type(add(X, 1.0)["sum"]) is np.ndarray
    assert isinstance(instantly(lambda n: jnp.arange(n))(3), jax.Array)


def test_numbers_that_are_no_arrays_are_taken_as_they_are() -> None:
    """True, 1 and 1.0 are different arguments of one function."""
    kind = instantly(lambda x, n: x * len(str(n)))
    assert [float(kind(np.ones(()), n)) for n in (True, 1, 1.0)] == [4.0, 1.0, 3.0]


def test_a_transformation_sees_the_function() -> None:
    """Inside of jit, vmap and grad the function is traced; NumPy arrays may then be indexed by traced numbers."""
    row = instantly(lambda x, i: x[i])
    assert np.array_equal(jax.jit(lambda i: row(X, i))(2), X[2])
    assert np.array_equal(jax.vmap(lambda i: row(X, i))(PLACES), X[PLACES])
    square = instantly(lambda x: jnp.sum(x * x))
    np.testing.assert_allclose(jax.grad(square)(X), 2 * X)


def test_modules_are_traced_by_their_arrays() -> None:
    """Another module of the same shapes has other numbers, from the same trace."""

    class Scaled(eqx.Module):
        factor: jax.Array
        power: int = eqx.field(static=True)

    traced = []

    @instantly
    def apply(module, x):
        traced.append(module)
        return module.factor * x**module.power

    for factor, power in ((2.0, 2), (3.0, 2), (3.0, 3)):
        module = Scaled(jax.device_put(np.asarray(factor)), power)
        np.testing.assert_array_equal(apply(module, X), factor * (X * X if power == 2 else X * X * X))
    assert len(traced) == 2


def test_what_is_prepared_is_computed_once_and_the_same(monkeypatch) -> None:
    """First arguments are used up before: the results are those of the function, for each kind of the others."""
    calls = []

    def counted(x):
        calls.append(x.shape)
        return np.tanh(x)

    monkeypatch.setitem(rules.ENTRIES, "tanh", counted)

    @instantly
    def function(first, second):
        slow = jnp.tanh(first["a"]) @ first["b"]
        return {"sum": slow + second[0], "product": jnp.sort(slow) * second[1], "shared": slow}

    random = np.random.default_rng(0)
    first = {"a": random.normal(size=(3, 4)), "b": jnp.asarray(random.normal(size=4))}
    several = [tuple(random.normal(size=(2, *shape))) for shape in ((3,), (3,), (2, 3), (3,))]
    expected = [function(first, second) for second in several]
    calls.clear()
    quick = prepared(function, first)
    found = [quick(second) for second in several]
    assert calls == [(3, 4), (3, 4)]  # once for each of two shapes
    for one, other in zip(found, expected, strict=True):
        for name in one:
            assert type(one[name]) is np.ndarray
            np.testing.assert_array_equal(one[name], other[name])


def test_what_is_prepared_may_be_left_to_xla() -> None:
    """A function that NumPy has no rule for is compiled here, too."""
    function = instantly(lambda first, second: first + jax.lax.linalg.householder_product(second, jnp.ones(2)))
    second = np.random.default_rng(1).normal(size=(3, 2))
    np.testing.assert_array_equal(prepared(function, np.ones(2))(second), function(np.ones(2), second))
