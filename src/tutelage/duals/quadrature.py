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
from collections.abc import Callable
from functools import lru_cache, partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from tutelage.activations.base import Activation, sums_of
from tutelage.checks import positive
from tutelage.duals.base import Kernel
from tutelage.duals.gaussian import Frame, GaussianPair, Side, sums_of_gradients
from tutelage.duals.special import quotient, root
from tutelage.errors import invalid
from tutelage.instant import fori_loop, instantly, map_rows
from tutelage.instant.leaves import several, total
from tutelage.modules import Module

# Beyond this many standard deviations the Gaussian weight is below 1e-17.
_REACH = 8.8
_MOST_NODES = 1200

# Pairs that a compiled program integrates at a time, at most, and nodes that it takes in a turn of its loop.
_TOGETHER = 18
_NODES_A_TURN = 4

Orders = tuple[tuple[int, int], ...]


# No rule has a smaller error in float64, however many nodes it has.
_FINEST = 1e-15


def _checked_tolerance(value: float) -> float:
    tolerance = positive("tolerance", value)
    if not _FINEST <= tolerance < 1:
        remedy = "Pass an error that is small beside the duals, and not below their rounding errors"
        raise invalid("tolerance", f"be from {_FINEST:g} to below 1", repr(value), remedy)
    return tolerance


class Quadrature(Module):
    """How finely to integrate: the wanted error, and the largest norm of a weight vector it must hold for.

    Args:
        tolerance: Wanted absolute error of a dual, from 1e-15 to below 1.
        radius: Largest norm (in units of the input's standard deviation) for which it is wanted. Beyond it the
            error grows; `error_estimate` of an objective tells by how much.
    """

    tolerance: float = eqx.field(static=True, default=1e-10, converter=_checked_tolerance)
    radius: float = eqx.field(static=True, default=4.0, converter=partial(positive, "radius"))

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


class Rule(NamedTuple):
    """The trapezoidal rule for the standard normal law: nodes with a step, one of them at an offset from zero."""

    step: float
    offset: float = 0.0

    @property
    def nodes(self) -> np.ndarray:
        count = math.ceil(_REACH / self.step)
        return self.step * np.arange(-count, count + 1) + self.offset

    @property
    def weights(self) -> np.ndarray:
        return self.step * np.exp(-0.5 * self.nodes**2) / math.sqrt(2 * math.pi)


class Integrand(NamedTuple):
    """What is integrated.

    Attributes:
        sigma: First activation.
        tau: Second activation.
        even: Whether both are even or both odd, and there are no means: the nodes of one half then serve for both.
    """

    sigma: Activation
    tau: Activation
    even: bool


def _sums_at_once(tau: Activation, order: int, rule: Rule, x, rest) -> list[Array]:
    r"""Return the sums $\sum_k w_k\,\tau^{(j)}(x + r z_k)$ up to an order $j$, for a row $x$ and a number $r$."""
    prepare, derivatives = sums_of(tau)
    terms = derivatives(prepare(x), prepare(rest * rule.nodes)[:, None], order)
    return [jnp.matmul(rule.weights, values) for values in terms]


def _sums_by_loop(tau: Activation, order: int, rule: Rule, x, rest) -> list[Array]:
    """Return the same by a loop over the nodes: compiled, it keeps to the fastest memory."""
    prepare, derivatives = sums_of(tau)
    turns = -(-len(rule.nodes) // _NODES_A_TURN)
    missing = turns * _NODES_A_TURN - len(rule.nodes)
    nodes, weights = (jnp.asarray(np.pad(part, (0, missing))) for part in (rule.nodes, rule.weights))
    row, columns = prepare(x), prepare(rest * nodes).reshape(turns, _NODES_A_TURN)
    weights = weights.reshape(columns.shape)

    def add(turn, sums):
        for k in range(_NODES_A_TURN):
            terms = derivatives(row, columns[turn, k], order)
            sums = [total + weights[turn, k] * values for total, values in zip(sums, terms, strict=True)]
        return sums

    return fori_loop(0, turns, add, [jnp.zeros_like(row)] * (order + 1))


def _integrals(integrand: Integrand, orders: Orders, rule: Rule, sums_over_nodes, pair: GaussianPair) -> list[Array]:
    """Return the moments m_ij of a pair of scalars, by a rule of nodes and weights in both variables.

    With sums over the nodes of one variable, each moment is a sum over those of the other alone.
    """
    z, weights = jnp.asarray(rule.nodes), jnp.asarray(rule.weights)
    if integrand.even:
        middle = len(rule.nodes) // 2
        z, weights = z[middle:], weights[middle:] * np.where(rule.nodes[middle:] > 0, 2.0, 1.0)
    spread = root(pair.a)
    rest = root(pair.b - pair.c * quotient(pair.c, pair.a))
    prepare, derivatives = sums_of(integrand.sigma)
    outer = derivatives(prepare(pair.mu), prepare(spread * z), max(i for i, _ in orders))
    along = pair.nu + quotient(pair.c, spread) * z
    sums = sums_over_nodes(integrand.tau, max(j for _, j in orders), rule, along, rest)
    # An odd derivative of an even integrand has no mean.
    return [
        jnp.zeros(()) if integrand.even and (i + j) % 2 else jnp.sum(weights * outer[i] * sums[j]) for i, j in orders
    ]


# How a change of each number of a pair changes a moment m_ij: the shift of its order, and a factor.
_SHIFTS = (((1, 0), 1.0), ((0, 1), 1.0), ((2, 0), 0.5), ((0, 2), 0.5), ((1, 1), 1.0))


@lru_cache
def _moments(integrand: Integrand, orders: Orders, rule: Rule) -> Callable[..., list[Array]]:
    """Return the moments of given orders as a function of the numbers of Gaussian pairs, arrays of one shape."""

    def one(sums_over_nodes, pair):
        return _integrals(integrand, orders, rule, sums_over_nodes, pair)

    def at_once(*pair):
        # One pair at a time: the nodes of a pair fill the caches, those of all pairs would fill the memory.
        flat = map_rows(partial(one, _sums_at_once), GaussianPair(*(x.reshape(-1) for x in pair)))
        return [values.reshape(pair[0].shape) for values in flat]

    def by_loops(*pair):
        # Several pairs at a time: a turn of a loop over nodes costs as much as some hundred numbers.
        shape, size = pair[0].shape, pair[0].size
        number = -(-size // _TOGETHER)
        groups = [jnp.resize(x, (number, -(-size // number))) for x in pair]
        found = map_rows(jax.vmap(partial(one, _sums_by_loop)), GaussianPair(*groups))
        return [values.reshape(-1)[:size].reshape(shape) for values in found]

    def derivative(arrays, changes):
        moving = [(*shift, by) for shift, by in zip(_SHIFTS, changes, strict=True) if by is not None]
        needed = sorted({(i + di, j + dj) for i, j in orders for (di, dj), _, _ in moving})
        moments = dict(zip(needed, _moments(integrand, tuple(needed), rule)(*arrays), strict=True))
        return [total(*(factor * moments[i + di, j + dj] * by for (di, dj), factor, by in moving)) for i, j in orders]

    name = f"moments of {integrand.sigma.name} and {integrand.tau.name}"
    cost = 5 * len(rule.nodes) ** 2
    return several(name, by_loops, instantly(at_once), derivative, len(orders), cost)


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
        even = self.frame.centred and self.sigma.parity == self.tau.parity != "none"
        return _moments(Integrand(self.sigma, self.tau, even), orders, Rule(self.step))(*pairs)

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
        # (With an offset there is no even integrand.)
        rules = Rule(self.step), Rule(2 * self.step), Rule(2 * self.step, 0.5 * self.step)
        integrand = Integrand(self.sigma, self.tau, even=False)
        fine, *others = (_moments(integrand, ((0, 0),), rule)(*pairs)[0] for rule in rules)
        difference = jnp.maximum(jnp.abs(fine - others[0]), jnp.abs(fine - others[1]))
        widths = jnp.minimum(self.sigma.strip / root(pairs.a), self.tau.strip / root(pairs.b))
        # For the Gaussian weight alone, e^(−2π²/h²), the same ratio is e^(−3π²/2h²).
        decay = jnp.minimum(jnp.pi * widths / self.step, 1.5 * (jnp.pi / self.step) ** 2)
        return 2 * difference * jnp.exp(-decay) + 1e-15 * jnp.maximum(1.0, jnp.abs(fine))
