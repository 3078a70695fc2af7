r"""Estimators of the constants of Assumption 4.1: how spread an input law is, and how steep an activation.

The assumption asks for $\alpha, \beta, \gamma > 0$ such that the density of the input, projected on any plane that contains the
teacher, is at least $\beta$ within the distance $\alpha$ of the origin, and $\sigma'(z) \ge \gamma$ for $0 < z < 2\alpha$. A larger
$\alpha$ makes $\beta$ and $\gamma$ smaller; what the paper's rates depend on is $\alpha^4\beta\gamma^2$.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from tutelage import activations, checks
from tutelage.activations import Activation
from tutelage.errors import invalid
from tutelage.inputs import Inputs

_DISTANCES = 129
_TURNS = 64
_PLANES = 64
_SLOPES = 1001


class SpreadAndSlope(NamedTuple):
    r"""Constants for which Assumption 4.1 holds.

    Attributes:
        radius: The paper's $\alpha$.
        density: The largest $\beta$ for this $\alpha$.
        slope: The largest $\gamma$ for this $\alpha$.
        rate: $\alpha^4\beta\gamma^2$.
    """

    radius: float
    density: float
    slope: float
    rate: float


class TradeOff(NamedTuple):
    r"""The constants as functions of $\alpha$, and the choice with the largest rate.

    Attributes:
        radii: The $\alpha$ tried.
        densities: The largest $\beta$ for each.
        slopes: The largest $\gamma$ for each.
        rates: $\alpha^4\beta\gamma^2$ for each.
        best: The constants with the largest rate.
    """

    radii: Float[np.ndarray, " radius"]
    densities: Float[np.ndarray, " radius"]
    slopes: Float[np.ndarray, " radius"]
    rates: Float[np.ndarray, " radius"]
    best: SpreadAndSlope


def _densities(inputs: Inputs, radii: np.ndarray, target: Any, seed: int) -> np.ndarray:
    """The smallest density for each of several radii, Assumption 4.1 (1).

    For a rotation-symmetric law, and in two dimensions, all planes are alike or there is only one, and the minimum is
    over a fine grid in the plane. For other laws it is over random planes through the teacher as well, and is an upper
    estimate.
    """
    axes = np.eye(inputs.dimension)
    target = axes[0] if target is None else np.asarray(checks.finite_array("target", target, dimensions=1))
    distances = radii[:, None] * np.linspace(0.0, 1.0, _DISTANCES)
    if inputs.symmetry == "rotation":
        density = inputs.plane_density(axes[0], axes[min(1, inputs.dimension - 1)])
        return np.asarray(density(np.stack([distances, np.zeros_like(distances)], axis=-1))).min(axis=1)
    turns = np.linspace(0.0, 2 * np.pi, _TURNS, endpoint=False)
    points = distances[:, :, None, None] * np.stack([np.cos(turns), np.sin(turns)], axis=1)
    planes = 0 if inputs.dimension == 2 else _PLANES
    others = np.random.default_rng(seed).normal(size=(planes, inputs.dimension))
    # The axes are the likely extremes of laws with a product or a diagonal structure.
    others = np.concatenate([others, axes])

    def lowest(other):
        return jnp.min(inputs.plane_density(target, other)(points), axis=(1, 2))

    return np.asarray(jax.jit(lambda others: jnp.min(jax.lax.map(lowest, others), axis=0))(jnp.asarray(others)))


def _slopes(activation: Activation, radii: np.ndarray) -> np.ndarray:
    r"""The minimum of $\sigma'$ over $0 < z < 2\alpha$ for each of several radii, Assumption 4.1 (2).

    It is zero for an activation that somewhere decreases, which the assumption excludes.
    """
    if not activation.monotone:
        return np.zeros_like(radii)
    # The interval is open: a kink at zero does not count, and the ends are approached from within.
    inside = np.concatenate([[1e-9], np.arange(1, _SLOPES) / _SLOPES, [1 - 1e-9]])
    slopes = np.asarray(activation.derivative(jnp.asarray(2 * radii[:, None] * inside)))
    return np.maximum(slopes.min(axis=1), 0.0)


def trade_off(
    inputs: Inputs, activation: str | Activation = "relu", radii: Any = None, target: Any = None, seed: int = 0
) -> TradeOff:
    r"""The constants of Assumption 4.1 as functions of $\alpha$, with the choice that makes $\alpha^4\beta\gamma^2$ largest.

    Args:
        inputs: The law of the inputs; it must have plane densities.
        activation: The activation, by name or as an `Activation`.
        radii: The $\alpha$ to try; 60 between 0.01 and 10, evenly spaced in the logarithm, if left out.
        target: The teacher's vector; the first axis if left out.
        seed: Seed of the random planes that laws without rotation symmetry need.

    Raises:
        UnsupportedCombination: If the law has no plane density in closed form.
        InvalidArgument: If a radius is not positive, or the name of the activation unknown.

    Reference:
        Yehudai and Shamir, Learning a single neuron with gradient methods, 2020, Assumption 4.1.
    """
    tried = np.geomspace(0.01, 10.0, 60) if radii is None else np.asarray(checks.finite_array("radii", radii))
    if tried.ndim != 1 or not (tried > 0).all():
        raise invalid("radii", "be positive numbers on one axis", f"shape {tried.shape}", "Pass the radii to try")
    densities = _densities(inputs, tried, target, seed)
    slopes = _slopes(activations.get(activation), tried)
    rates = tried**4 * densities * slopes**2
    best = int(rates.argmax())
    chosen = SpreadAndSlope(float(tried[best]), float(densities[best]), float(slopes[best]), float(rates[best]))
    return TradeOff(tried, densities, slopes, rates, chosen)
