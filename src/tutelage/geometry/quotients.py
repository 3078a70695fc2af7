r"""Quotients whose lower bounds are conditions for descent: one-point convexity, Polyak–Łojasiewicz, Łojasiewicz.

Definitions 1 and 3 of the mild over-parameterization paper. A condition holds in a neighbourhood with constant
$\lambda$ if the quotient is at least $\lambda$ there; `worst` searches for its smallest value. All are stated for our
loss $\tfrac12E[\cdot]^2$; for twice the loss, as the paper's Equation (2) prints it, one-point and Polyak–Łojasiewicz
quotients are twice as large.
"""

import abc
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from tutelage.checks import between, finite_number, not_negative, one_of
from tutelage.dynamics.checks import deterministic
from tutelage.modules import Module
from tutelage.objectives import Objective


def _dot(one: PyTree, other: PyTree) -> Float[Array, ""]:
    pairs = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    return sum((jnp.sum(a * b) for a, b in pairs), start=jnp.zeros(()))


def _lowest(value) -> Float[Array, ""]:
    # An array, so that other values do not compile another program.
    return jnp.asarray(finite_number("lowest", value))


def _resolution(value) -> Float[Array, ""]:
    return jnp.asarray(not_negative("resolution", value))


def _exponent(value) -> Float[Array, ""]:
    return jnp.asarray(between("exponent", value, 0, 1))


def _fitting(objective: Objective, point: PyTree, minimum: PyTree) -> tuple[PyTree, PyTree]:
    """Return point and minimum as arrays, or raise if they are no students of an objective."""
    problem = deterministic(objective).problem
    return problem.point(point), problem.point(minimum, "minimum")


class Quotient(Module):
    """A number at every point near a minimum, whose lower bound is a condition for descent."""

    @abc.abstractmethod
    def __call__(self, objective: Objective, point: PyTree, minimum: PyTree) -> Float[Array, ""]:
        """Return the quotient at a point.

        Args:
            objective: The objective.
            point: The student.
            minimum: The minimum that the point is near to.

        Returns:
            The quotient; infinite at the minimum itself, and where the loss is not resolved from the lowest one.
        """


class OnePointConvexity(Quotient):
    r"""One-point strong convexity towards a minimum $y$ (Definition 1).

    By gradients, $\langle\nabla L(x), x - y\rangle/\|x - y\|^2$; by Hessians,
    $(x-y)^\top\nabla^2L(x)\,(x-y)/\|x - y\|^2$. The paper uses both, which are not the same at a point: the first is
    the average of the second along the segment from $y$.

    Args:
        by: `gradient` or `hessian`.
    """

    by: Literal["gradient", "hessian"] = eqx.field(static=True, default="gradient")

    def __check_init__(self):
        one_of("by", self.by, ("gradient", "hessian"))

    def __call__(self, objective, point, minimum):
        point, minimum = _fitting(objective, point, minimum)
        away = jax.tree.map(lambda a, b: a - b, point, minimum)
        slope = objective.gradient(point) if self.by == "gradient" else objective.hessian_vector(point, away)
        square = _dot(away, away)
        return jnp.where(square > 0, _dot(slope, away) / jnp.where(square > 0, square, 1.0), jnp.inf)


def _slope_and_excess(objective: Objective, point: PyTree, lowest, resolution):
    """Return the squared gradient norm and the excess loss; infinity and one where the loss is not resolved."""
    gradient = objective.gradient(point)
    excess = objective.loss(point) - lowest
    resolved = excess > resolution
    return jnp.where(resolved, _dot(gradient, gradient), jnp.inf), jnp.where(resolved, excess, 1.0)


class PolyakLojasiewicz(Quotient):
    r"""The Polyak–Łojasiewicz quotient $\tfrac12\|\nabla L(x)\|^2/(L(x) - L^*)$ (Definition 3).

    Args:
        lowest: The lowest loss $L^*$.
        resolution: Losses closer than this to the lowest one are not resolved from it.
    """

    lowest: Float[Array, ""] = eqx.field(converter=_lowest, default=0.0)
    resolution: Float[Array, ""] = eqx.field(converter=_resolution, default=1e-13)

    def __call__(self, objective, point, minimum):
        point, _ = _fitting(objective, point, minimum)
        square, excess = _slope_and_excess(objective, point, self.lowest, self.resolution)
        return 0.5 * square / excess


class Lojasiewicz(Quotient):
    r"""The general Łojasiewicz quotient $\|\nabla L(x)\|/(L(x) - L^*)^\theta$; $\theta = \tfrac12$ is Polyak's.

    Args:
        exponent: The exponent $\theta$, between zero and one.
        lowest: The lowest loss $L^*$.
        resolution: Losses closer than this to the lowest one are not resolved from it.
    """

    exponent: Float[Array, ""] = eqx.field(converter=_exponent, default=0.5)
    lowest: Float[Array, ""] = eqx.field(converter=_lowest, default=0.0)
    resolution: Float[Array, ""] = eqx.field(converter=_resolution, default=1e-13)

    def __call__(self, objective, point, minimum):
        point, _ = _fitting(objective, point, minimum)
        square, excess = _slope_and_excess(objective, point, self.lowest, self.resolution)
        return jnp.sqrt(square) / excess**self.exponent
