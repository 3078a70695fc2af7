r"""Duals by quadrature, for smooth activations of a Gaussian pair with or without a mean.

With $u = \mu_u + \sqrt a\,z_1$ and $v = \mu_v + \tfrac{c}{\sqrt a} z_1 + t\,z_2$, $t^2 = b - c^2/a$, and independent
standard normal $z_1, z_2$, the moments
$m_{ij} = E[\sigma^{(i)}(u)\,\tau^{(j)}(v)]$ are taken by the trapezoidal rule in both variables. For a function that is
analytic in a strip of half-width $\delta$ and is composed with a slope $\lambda$, the rule's error is about
$e^{-2\pi\delta/(\lambda h)}$ for a step $h$, and $e^{-2\pi^2/h^2}$ for the Gaussian weight alone: the step follows from
the tolerance and the largest norm in use.

Derivatives are moments of higher order,
$\partial_{\mu_u} m_{ij} = m_{i+1,j}$, $\partial_a m_{ij} = \tfrac12 m_{i+2,j}$, $\partial_c m_{ij} = m_{i+1,j+1}$,
and never differentiate through $t$, which is singular for parallel vectors.
"""

import math
from functools import lru_cache, partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from tutelage.activations.base import Activation, derivatives_of_sum
from tutelage.checks import positive
from tutelage.duals.base import Kernel
from tutelage.duals.directions import moves
from tutelage.duals.gaussian import Frame, GaussianPair, Side, sums_of_gradients
from tutelage.duals.special import quotient, root
from tutelage.errors import invalid

# Beyond this many standard deviations the Gaussian weight is below 1e-17.
_REACH = 8.8
_MOST_NODES = 1200

Orders = tuple[tuple[int, int], ...]


def _checked_tolerance(value: float) -> float:
    tolerance = positive("tolerance", value)
    if tolerance >= 1:
        raise invalid("tolerance", "be below 1", repr(value), "Pass an error that is small beside the duals")
    return tolerance


def _checked_radius(value: float) -> float:
    return positive("radius", value)


class Quadrature(eqx.Module):
    """How finely to integrate: the wanted error, and the largest norm of a weight vector it must hold for.

    Args:
        tolerance: Wanted absolute error of a dual, below 1.
        radius: Largest norm (in units of the input's standard deviation) for which it is wanted. Beyond it the
            error grows; `error_estimate` of an objective tells by how much.
    """

    tolerance: float = eqx.field(static=True, default=1e-10, converter=_checked_tolerance)
    radius: float = eqx.field(static=True, default=4.0, converter=_checked_radius)

    def step(self, strip: float) -> float:
        """Return the step of the trapezoidal rule for functions analytic in a strip of this half-width."""
        # Two decades of head-room: derivatives of the activation have larger constants than the function.
        digits = math.log(1.0 / self.tolerance) + 4.6
        # A fifth less than the weight alone needs: polynomial growth of the activations costs digits.
        gaussian = 0.8 * math.pi * math.sqrt(2.0 / digits)
        step = min(gaussian, 2 * math.pi * strip / (self.radius * digits))
        nodes = 2 * _REACH / step
        if nodes > _MOST_NODES:
            raise invalid(
                "quadrature",
                f"need at most {_MOST_NODES} nodes an axis",
                f"radius {self.radius:g} and tolerance {self.tolerance:g}, which need {nodes:.0f}",
                "Lower the radius, raise the tolerance, or use an empirical or stream objective",
            )
        return step


@lru_cache
def _rule(step: float, offset: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    count = math.ceil(_REACH / step)
    nodes = step * np.arange(-count, count + 1) + offset
    weights = step * np.exp(-0.5 * nodes**2) / math.sqrt(2 * math.pi)
    return nodes, weights


def _integrals(sigma, tau, orders: Orders, rule: tuple[np.ndarray, np.ndarray], pair: GaussianPair) -> list[Array]:
    """Return the moments m_ij of a pair of scalars, by a rule of nodes and weights in both variables.

    With sums over the nodes of one variable, each moment is a sum over those of the other alone.
    """
    z, weights = jnp.asarray(rule[0]), jnp.asarray(rule[1])
    spread = root(pair.a)
    rest = root(pair.b - pair.c * quotient(pair.c, pair.a))
    along = pair.nu + quotient(pair.c, spread) * z
    outer = derivatives_of_sum(sigma, pair.mu, spread * z, max(i for i, _ in orders))
    inner = derivatives_of_sum(tau, along[:, None], rest * z, max(j for _, j in orders))
    sums = [values @ weights for values in inner]
    return [jnp.sum(weights * outer[i] * sums[j]) for i, j in orders]


@partial(jax.custom_jvp, nondiff_argnums=(0, 1, 2, 3))
def _moments(sigma: Activation, tau: Activation, orders: Orders, step: float, pair: GaussianPair) -> list[Array]:
    """Return the moments m_ij for a pair of scalars."""
    return _integrals(sigma, tau, orders, _rule(step), pair)


def _moments_jvp(sigma, tau, orders: Orders, step: float, primals, tangents):
    (pair,), (change,) = primals, tangents
    shifts = (((1, 0), 1.0, change.mu), ((0, 1), 1.0, change.nu), ((2, 0), 0.5, change.a), ((0, 2), 0.5, change.b))
    moving = [shift for shift in (*shifts, ((1, 1), 1.0, change.c)) if moves(shift[2])]
    needed = {(i + di, j + dj) for i, j in orders for (di, dj), _, _ in moving}
    every = tuple(dict.fromkeys((*orders, *sorted(needed))))
    moments = dict(zip(every, _moments(sigma, tau, every, step, pair), strict=True))

    def tangent(i, j):
        terms = [factor * moments[i + di, j + dj] * by for (di, dj), factor, by in moving]
        return sum(terms[1:], start=terms[0]) if terms else jnp.zeros(())

    return [moments[order] for order in orders], [tangent(*order) for order in orders]


_moments.defjvp(_moments_jvp, symbolic_zeros=True)


class Integrated(Kernel):
    """The dual of two smooth activations under a Gaussian law, by quadrature.

    Attributes:
        frame: The Gaussian law.
        sigma: First activation.
        tau: Second activation.
        step: Step of the trapezoidal rule.
    """

    frame: Frame
    sigma: Activation
    tau: Activation
    step: float = eqx.field(static=True)

    def _moments(self, orders: Orders, pairs: GaussianPair) -> list[Array]:
        return self._map(partial(_moments, self.sigma, self.tau, orders, self.step), pairs)

    def _map(self, function, pairs: GaussianPair):
        # One pair at a time: the nodes of a pair fill the caches, those of all pairs would fill the memory.
        flat = jax.lax.map(function, GaussianPair(*(x.reshape(-1) for x in pairs)))
        return jax.tree.map(lambda x: x.reshape(pairs.c.shape), flat)

    @property
    def dimension(self) -> int | None:
        return self.frame.dimension

    def _gram(self, first, second, same=False):
        return self._moments(((0, 0),), self.frame.pairs(*self._sides(first, second), same))[0]

    def _sides(self, first, second) -> tuple[Side, Side]:
        return self.frame.plain_side(first), self.frame.plain_side(second)

    def _pull(self, first, second, weights, same=False):
        sides = self._sides(first, second)
        pairs = self.frame.pairs(*sides, same)
        orders = ((2, 0), (1, 1)) if self.frame.centred else ((2, 0), (1, 1), (1, 0))
        by_a, by_c, *by_mean = self._moments(orders, pairs)
        zeros = jnp.zeros_like(weights)
        by = GaussianPair(mu=by_mean[0] if by_mean else zeros, nu=zeros, a=0.5 * by_a, b=zeros, c=by_c)
        return self.frame.assemble(*sums_of_gradients(weights, *sides, by))

    def _error_estimate(self, first, second):
        # The rule with step 2h misses e^(−x) where the rule with step h misses e^(−2x), x = πδ/(λh): twice the
        # difference of both, times e^(−x). Two places of the coarse nodes: the error oscillates with the place.
        assert self.sigma.strip is not None
        assert self.tau.strip is not None
        pairs = self.frame.pairs(*self._sides(first, second), False)
        coarse = [_rule(2 * self.step, offset) for offset in (0.0, 0.5 * self.step)]

        def differences(pair):
            fine, *others = (
                _integrals(self.sigma, self.tau, ((0, 0),), rule, pair)[0] for rule in (_rule(self.step), *coarse)
            )
            return fine, jnp.maximum(jnp.abs(fine - others[0]), jnp.abs(fine - others[1]))

        fine, difference = self._map(differences, pairs)
        widths = jnp.minimum(self.sigma.strip / root(pairs.a), self.tau.strip / root(pairs.b))
        # For the Gaussian weight alone, e^(−2π²/h²), the same ratio is e^(−3π²/2h²).
        decay = jnp.minimum(jnp.pi * widths / self.step, 1.5 * (jnp.pi / self.step) ** 2)
        return 2 * difference * jnp.exp(-decay) + 1e-15 * jnp.maximum(1.0, jnp.abs(fine))
