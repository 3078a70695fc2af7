"""Functions of entries as single operations: values, derivatives of both modes and batches are those of the formula."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tutelage.duals import kinked, special
from tutelage.duals.norms import binary_scale
from tutelage.instant import instantly

_random = np.random.default_rng(1)
_X, _Y = _random.normal(size=(2, 3, 4))
_HALF = np.abs(_random.uniform(0.1, 1.4, size=(3, 4)))
_PAIR = (_X, _Y, _Y - _X, np.sin(_HALF / 2), np.cos(_HALF / 2), np.zeros((3, 4)))

LEAVES = {
    "quotient": (special.quotient, _X, _Y),
    "root": (special.root, np.exp(_X)),
    "normal_density": (special.normal_density, _X),
    "standardised": (special.standardised, _X, np.exp(_Y)),
    "folded_sign": (special.folded_sign, _X, np.exp(_Y)),
    "folded_mean": (special.folded_mean, _X, np.exp(_Y)),
    "signs": (special._signs, *_PAIR, np.cos(_HALF)),
    "sign and absolute value": (kinked._standard_sign_absolute, *_PAIR, np.tanh(_X)),
}


@pytest.mark.parametrize("name", LEAVES)
def test_values(name: str) -> None:
    """In NumPy, in a compiled program, under maps and at once."""
    leaf, *arrays = LEAVES[name]
    rows = [array[0] for array in arrays[1:]]

    @jax.jit
    def compiled(*arrays):
        rows = [array[0] for array in arrays[1:]]
        mixed = jax.vmap(leaf, (0, *(None for _ in rows)))(arrays[0], *rows)
        return leaf(*arrays), jax.vmap(leaf)(*arrays), mixed

    expected, mapped, mixed = compiled(*arrays)
    np.testing.assert_allclose(instantly(leaf)(*arrays), expected, rtol=4e-15, atol=4e-16)
    np.testing.assert_allclose(mapped, expected, rtol=4e-15, atol=4e-16)
    np.testing.assert_allclose(mixed[1], leaf(arrays[0][1], *rows), rtol=4e-15, atol=4e-16)


@pytest.mark.parametrize("name", [name for name in LEAVES if "signs" not in name and "absolute" not in name])
def test_derivatives(name: str) -> None:
    """First and second derivatives in all arguments are those of the formula where that is smooth."""
    leaf, *arrays = LEAVES[name]

    def total(function, *arrays):
        return jnp.sum(function(*arrays))

    places = tuple(range(1, 1 + len(arrays)))

    def plain(*arrays):
        return leaf.formula(jnp, *arrays)

    direction = tuple(np.cos(array) for array in arrays)

    def slope(function, *arrays):
        return jax.jvp(lambda *a: jax.jvp(function, a, direction)[1], arrays, direction)[1]

    @jax.jit
    def derivatives(*arrays):
        first = [jax.grad(total, places)(function, *arrays) for function in (leaf, plain)]
        return first, [slope(function, *arrays) for function in (leaf, plain)]

    gradients, slopes = derivatives(*arrays)
    for found, expected in zip(*gradients, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(*slopes, rtol=1e-12, atol=1e-13)


def test_powers_of_two_are_constants() -> None:
    """The scale of a number is the power of two below it, and does not change with it."""
    sizes = np.array([3.0, 1.0, 0.7, 1e-300, 1e300])
    for found in (instantly(binary_scale)(sizes), binary_scale(sizes)):
        np.testing.assert_array_equal(found, 2.0 ** np.floor(np.log2(sizes)))
    assert not np.any(jax.grad(lambda x: jnp.sum(binary_scale(x)))(sizes))
