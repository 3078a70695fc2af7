"""What every registered activation says of itself, judged on a grid and by finite differences."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import optimize, special
from transcriptions import TRANSCRIPTIONS

from tutelage import activations

NAMES = activations.names()
# No node closer to the kink than the reach of the finite differences.
GRID = np.concatenate([np.linspace(-7, -0.02, 150), np.linspace(0.02, 7, 150)])

VARIANTS = {
    **{name: activations.get(name) for name in NAMES},
    "relu kink 1": activations.ReLU(kink=1.0),
    "relu kink 0.5": activations.ReLU(kink=0.5),
    "abs kink -1": activations.Absolute(kink=-1.0),
    "leaky -0.3": activations.LeakyReLU(negative_slope=-0.3),
    "leaky 2, kink 0.5": activations.LeakyReLU(negative_slope=2.0, kink=0.5),
    "cosine 2.5": activations.Cosine(frequency=2.5),
    "sine 0.3": activations.Sine(frequency=0.3),
    "custom": activations.Custom("cube", lambda z: z**3, parity="odd", homogeneity=3, monotone=True),
}


def elementary(kind: str, z: np.ndarray) -> np.ndarray:
    """The elementary functions by name, from their definitions."""
    return {
        "one": np.ones_like,
        "identity": lambda z: z,
        "absolute": np.abs,
        "square": np.square,
        "sign": np.sign,
        "erf": special.erf,
        "cosine": np.cos,
        "sine": np.sin,
    }[kind](z)


def test_the_transcriptions_cover_the_registry() -> None:
    """A new activation fails here until it is written out in NumPy, which the oracles of the duals need."""
    assert set(TRANSCRIPTIONS) == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_values_and_derivatives_are_the_written_out_ones(name: str) -> None:
    """Value and derivative agree with the definition written in NumPy, and are float64."""
    activation, written = activations.get(name), TRANSCRIPTIONS[name]
    assert activation.name == name
    for found, expected in (
        (activation(GRID), written.value(GRID)),
        (activation.derivative(GRID), written.derivative(GRID)),
    ):
        assert found.dtype == jnp.float64
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("name", VARIANTS)
def test_the_derivative_is_the_slope_of_the_function(name: str) -> None:
    """Away from the kink, `derivative` and `jax.grad` equal central differences of the value."""
    activation = VARIANTS[name]
    step = 2e-3
    values = [np.asarray(activation(GRID + offset * step)) for offset in (-2, -1, 1, 2)]
    # Fourth-order differences: about step⁴/30 times the fifth derivative is left, hence not 1e-9.
    slopes = (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * step)
    np.testing.assert_allclose(activation.derivative(jnp.asarray(GRID)), slopes, atol=5e-10, rtol=1e-10)
    gradients = jax.vmap(jax.grad(activation))(jnp.asarray(GRID))
    np.testing.assert_array_equal(gradients, activation.derivative(jnp.asarray(GRID)))


@pytest.mark.parametrize("kink", [0.0, 1.0, 0.5])
@pytest.mark.parametrize("build", [activations.ReLU, activations.Absolute, activations.LeakyReLU])
def test_the_convention_at_the_kink_is_the_chosen_one(build: type, kink: float) -> None:
    """`derivative` and `jax.grad`, compiled or not and of either sign of zero, give the chosen slope at zero."""
    activation = build(kink=kink)
    assert activation.kink == kink
    for zero in (0.0, -0.0):
        assert activation.derivative(jnp.asarray(zero)) == kink
        assert jax.grad(activation)(zero) == kink
        assert jax.jit(jax.grad(activation))(zero) == kink
        assert jax.jacfwd(activation)(zero) == kink


def test_the_default_conventions() -> None:
    """ReLU takes 1(z > 0), a leaky ReLU its negative slope, |·|, sign and step no slope; σ(0) is mid-jump."""
    assert activations.get("relu").kink == 0
    assert activations.LeakyReLU(0.2).kink == 0.2
    for name in ("abs", "sign", "step"):
        assert activations.get(name).kink == 0
        assert jax.grad(activations.get(name))(0.0) == 0
    assert activations.get("sign")(0.0) == 0
    assert activations.get("step")(0.0) == 0.5


@pytest.mark.parametrize("name", VARIANTS)
def test_flags_are_true_on_a_grid(name: str) -> None:
    """Parity, homogeneity and monotonicity hold where they are claimed, and fail where they are denied."""
    activation = VARIANTS[name]
    values, mirrored = np.asarray(activation(GRID)), np.asarray(activation(-GRID))
    assert np.allclose(mirrored, values, atol=1e-14) == (activation.parity == "even")
    assert np.allclose(mirrored, -values, atol=1e-14) == (activation.parity == "odd")
    assert bool(np.all(np.diff(values) >= 0)) == activation.monotone
    degrees = [p for p in range(4) if np.allclose(activation(3.0 * GRID), 3.0**p * values, rtol=1e-12)]
    assert degrees == ([] if activation.homogeneity is None else [activation.homogeneity])


@pytest.mark.parametrize("name", VARIANTS)
def test_the_lipschitz_constant_bounds_the_slope_and_is_attained(name: str) -> None:
    """No secant is steeper than `lipschitz`, and the bound is not idle: some slope comes within a percent of it."""
    activation = VARIANTS[name]
    slopes = np.abs(np.asarray(activation.derivative(jnp.linspace(-7, 7, 20_001))))
    secants = np.abs(np.diff(np.asarray(activation(GRID))) / np.diff(GRID))
    assert secants.max() <= activation.lipschitz * (1 + 1e-12)
    if math.isfinite(activation.lipschitz):
        assert 0.99 * activation.lipschitz <= slopes.max() <= activation.lipschitz * (1 + 1e-12)


def test_the_lipschitz_constant_of_gelu() -> None:
    """The largest slope of GELU, at √2, found by maximisation; the stated number is it, rounded up."""
    written = TRANSCRIPTIONS["gelu"]
    best = optimize.minimize_scalar(
        lambda z: -written.derivative(z), bounds=(1, 2), method="bounded", options={"xatol": 1e-12}
    )
    assert best.x == pytest.approx(math.sqrt(2), abs=1e-6)
    assert -best.fun <= activations.get("gelu").lipschitz <= -best.fun + 1e-6


@pytest.mark.parametrize("name", VARIANTS)
def test_elements_sum_to_the_function(name: str) -> None:
    """The sum of elementary functions is the activation, at zero too."""
    activation = VARIANTS[name]
    if activation.elements is None:
        assert name in ("tanh", "sigmoid", "softplus", "gelu", "custom")
        return
    grid = np.append(GRID, 0.0)
    total = sum(e.coefficient * elementary(e.kind, e.scale * grid) for e in activation.elements)
    np.testing.assert_allclose(activation(grid), total, rtol=1e-13, atol=1e-14)


def test_a_strip_is_given_exactly_where_there_is_no_kink() -> None:
    """Quadrature is offered for analytic activations only."""
    for name in NAMES:
        activation = activations.get(name)
        assert (activation.strip is None) == (activation.kink is not None), name


@pytest.mark.parametrize("degree", [3, 5, 7])
def test_odd_powers_of_a_difference_never_decrease(degree):
    """Their slope touches zero, where rounding has either sign; one a thousandth lower does decrease."""
    for zero in np.linspace(-2, 2, 21):
        power = np.polynomial.Polynomial([-zero, 1.0])
        assert activations.Polynomial("power", (power**degree).coef.tolist()).monotone
        lower = (power ** (degree - 1) - 1e-3).integ()
        assert not activations.Polynomial("lower", lower.coef.tolist()).monotone
