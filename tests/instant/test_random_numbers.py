"""Random numbers in NumPy are those of JAX: keys and bits exactly, normal numbers up to rounding."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from compilations import compilations

from tutelage.instant import instantly
from tutelage.keys import run_key

KEY = jax.random.key(2**40 + 17)

EXACT = {
    "bits": lambda key: jax.random.bits(key, (3, 5), "uint32"),
    "long bits": lambda key: jax.random.bits(key, (3, 5), "uint64"),
    "uniform": lambda key: jax.random.uniform(key, (40,)),
    "whole numbers": lambda key: jax.random.randint(key, (40,), -5, 1000),
    "signs": lambda key: jax.random.rademacher(key, (40,)),
    "split": lambda key: jax.random.key_data(jax.random.split(key, 3)),
    "folded": lambda key: jax.random.key_data(jax.random.fold_in(key, 12345)),
    "a key's words": lambda key: jax.random.key_data(jax.random.wrap_key_data(jax.random.key_data(key) ^ 5)),
    "keys of runs": lambda key: jax.vmap(lambda run: jax.random.bits(run_key(7, run)))(
        jnp.arange(2**32 - 2, 2**32 + 2)
    ),
    "one of two keys": lambda key: jax.random.bits(jax.lax.select(True, jax.random.fold_in(key, 1), key)),
}


@pytest.mark.parametrize("name", EXACT)
def test_bits(name: str) -> None:
    """Bit for bit, and without a compiler."""
    with compilations() as compiled:
        found = instantly(EXACT[name])(KEY)
    assert not compiled
    assert np.array_equal(found, EXACT[name](KEY))


@pytest.mark.parametrize("draw", [jax.random.normal, jax.random.laplace, jax.random.exponential, jax.random.cauchy])
def test_draws(draw) -> None:
    """A thousand numbers of each law, up to rounding: that of XLA's logarithms is 3e-14."""
    found = instantly(lambda key: draw(key, (10, 100)))(KEY)
    np.testing.assert_allclose(found, draw(KEY, (10, 100)), rtol=1e-13, atol=4e-16)


def test_keys_come_back_as_keys() -> None:
    """A function that returns keys returns those of JAX."""
    found = instantly(lambda seed, runs: jax.vmap(lambda run: run_key(seed, run))(runs))(np.asarray(3), np.arange(4))
    expected = jnp.stack([run_key(3, run) for run in range(4)])
    assert found.dtype == expected.dtype
    assert np.array_equal(jax.random.key_data(found), jax.random.key_data(expected))


def test_a_key_that_is_known_while_something_is_traced() -> None:
    """Numbers from a key that is not traced are drawn at once, and are constants of the program."""
    draw = instantly(lambda key: jax.random.normal(key, (3,)))
    np.testing.assert_array_equal(jax.jit(lambda x: x + draw(KEY))(np.zeros(3)), draw(KEY))


def test_another_generator_is_left_to_jax() -> None:
    """Keys of another generator are not taken for Threefry's."""
    key = jax.random.key(3, impl="rbg")
    assert np.array_equal(instantly(lambda key: jax.random.bits(key, (4,)))(key), jax.random.bits(key, (4,)))

    def bits(words):
        return jax.random.bits(jax.random.wrap_key_data(words, impl="rbg"), (4,))

    words = np.asarray(jax.random.key_data(key))
    assert np.array_equal(instantly(bits)(words), bits(words))
