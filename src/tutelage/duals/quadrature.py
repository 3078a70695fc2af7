r"""Duals by quadrature, for smooth activations of a Gaussian pair with or without a mean.

With $u = \mu_u + \sqrt a\,z_1$ and $v = \mu_v + \tfrac{c}{\sqrt a} z_1 + t\,z_2$, $t^2 = b - c^2/a$, and independent
standard normal $z_1, z_2$, the moments
$m_{ij} = E[\sigma^{(i)}(u)\,\tau^{(j)}(v)]$ are taken by the trapezoidal rule in both variables. For a function that is
analytic in a strip of half-width $\delta$ and is composed with a slope $\lambda$, the rule's error is about
$e^{-2\pi\delta/(\lambda h)}$ for a step $h$, and $e^{-2\pi^2/h^2}$ for the Gaussian weight alone: the step follows from
the tolerance, the standard deviations of the pair and the order of the derivatives; there is no largest norm but that
which takes more nodes than anybody waits for.

Derivatives are moments of higher order,
$\partial_{\mu_u} m_{ij} = m_{i+1,j}$, $\partial_a m_{ij} = \tfrac12 m_{i+2,j}$, $\partial_c m_{ij} = m_{i+1,j+1}$,
and never differentiate through $t$, which is singular for parallel vectors.
"""

import math
from collections.abc import Callable
from functools import lru_cache, partial
from typing import NamedTuple

import equinox as eqx
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
# The smallest step: 1200 nodes an axis.
_FINEST = 2 * _REACH / 1200
# Up to so many times the largest standard deviation for which it is enough.
_FAR = 4.0
# Hessians take derivatives up to this order of both functions together.
_HIGHEST_ORDER = 4
# About how many numbers the moments of a pair take.
_COST = 50_000


class _Sizes(NamedTuple):
    """How much is done at a time.

    Attributes:
        pairs: Pairs of vectors, at most.
        row: Nodes of the first variable.
        turn: Nodes of the second variable, in a turn of the loop over them.
        together: How many of these are numbers of one array.
    """

    pairs: int
    row: int
    turn: int
    together: int


# XLA makes one operation of all that is done with a node, which some hundred numbers are worth; NumPy makes many, which
# ten thousand are.
_COMPILED, _AT_ONCE = _Sizes(36, 40, 4, 2), _Sizes(18, 48, 16, 16)

Orders = tuple[tuple[int, int], ...]


# No rule has a smaller error in float64, however many nodes it has.
_LEAST_TOLERANCE = 1e-15


def _checked_tolerance(value: float) -> float:
    tolerance = positive("tolerance", value)
    if not _LEAST_TOLERANCE <= tolerance < 1:
        remedy = "Pass an error that is small beside the duals, and not below their rounding errors"
        raise invalid("tolerance", f"be from {_LEAST_TOLERANCE:g} to below 1", repr(value), remedy)
    return tolerance


class Quadrature(Module):
    """How finely to integrate.

    Args:
        tolerance: Wanted absolute error of a dual, from 1e-15 to below 1.
    """

    tolerance: float = eqx.field(static=True, default=1e-10, converter=_checked_tolerance)

    def rule(self, strip: float) -> "Rule":
        """Return the trapezoidal rule for functions analytic in a strip of this half-width."""
        # Four decades of head-room: derivatives of the activation have larger constants than the function.
        return Rule(strip, math.log(1e4 / self.tolerance))


class Rule(NamedTuple):
    """The trapezoidal rule for standard normal laws, as fine as the standard deviations of a pair ask for.

    Attributes:
        strip: Half-width of the strip in which the functions are analytic.
        digits: Natural logarithm of one over the wanted error.
        stretch: How many times longer all steps are taken, to see what the rule misses.
        offset: Where one of the nodes is, in steps from zero.
    """

    strip: float
    digits: float
    stretch: float = 1.0
    offset: float = 0.0

    def step(self, spread: Array, order: int) -> Array:
        r"""Return the step for a pair, given the larger one of its standard deviations.

        At a distance $y \le \delta/\lambda$ from the real axis the weight is as large as $e^{y^2/2}$, and the error is
        about $e^{y^2/2 - 2\pi y/h} = e^{-D}$; times $D^q/q!$ for derivatives of order $q$.

        Args:
            spread: The standard deviation.
            order: The order of the derivatives.
        """
        digits = self._digits(order)
        # A fifth less than the weight alone needs: polynomial growth of the activations costs digits.
        widest = 0.8 * math.pi * math.sqrt(2 / self.digits)
        distance = jnp.minimum(self.strip / jnp.maximum(spread, 1e-300), math.sqrt(2 * digits))
        wanted = 2 * math.pi * distance / (digits + 0.5 * distance**2)
        # Far beyond the reach any nodes see a step: fewer of them, down to the fewest; so for what is no number.
        least = jnp.maximum(wanted, _FINEST * jnp.maximum(1.0, spread / (_FAR * self.reach)))
        return self.stretch * jnp.where(least < widest, least, widest)

    @property
    def reach(self) -> float:
        """The largest standard deviation at which derivatives have the tolerance."""
        return 2 * math.pi * self.strip / (_FINEST * self._digits(_HIGHEST_ORDER))

    def _digits(self, order: int) -> float:
        return self.digits + math.log(self.digits**order / math.factorial(order))


class _Nodes(NamedTuple):
    """The nodes of the rule in one variable, for some pairs, a run of them at a time.

    Attributes:
        step: The step of each pair.
        last: The number of each pair's last node.
        first: The number of its first one.
        offset: As in `Rule`.
    """

    step: Array
    last: Array
    first: Array
    offset: float

    @staticmethod
    def of(rule: Rule, step: Array, halved: bool) -> "_Nodes":
        """Return the nodes of pairs, given their steps; those of one half if they stand for both."""
        last = jnp.ceil(_REACH / step)
        return _Nodes(step, last, jnp.zeros_like(last) if halved else -last, rule.offset)

    def turns(self, length: int) -> Array:
        """Return how many runs of a length all pairs have."""
        return jnp.ceil((jnp.max(self.last - self.first) + 1) / length).astype(int)

    def run(self, turn, length: int) -> tuple[Array, Array]:
        """Return a run of nodes and their weights, `[pair, node]`; behind the last one weights are zero."""
        number = self.first[:, None] + (turn * length + np.arange(length))
        inside = number <= self.last[:, None]
        step = self.step[:, None]
        nodes = step * (jnp.where(inside, number, 0.0) + self.offset)
        return nodes, jnp.where(inside, step / math.sqrt(2 * math.pi) * jnp.exp(-0.5 * nodes * nodes), 0.0)


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


def _sums_over_nodes(sizes: _Sizes, tau: Activation, order: int, inner: _Nodes, x: Array, rest: Array) -> list[Array]:
    r"""Return the sums $\sum_k w_k\,\tau^{(j)}(x + r z_k)$ up to an order $j$, for rows $x$ and a number $r$ each."""
    prepare, derivatives = sums_of(tau)
    rows = prepare(x)[..., None]

    def add(turn, sums):
        nodes, weights = inner.run(turn, sizes.turn)
        columns = prepare(rest[:, None] * nodes)
        for first in range(0, sizes.turn, sizes.together):
            some = np.s_[:, None, first : first + sizes.together]
            terms = derivatives(rows, columns[some], order)
            sums = [total + jnp.sum(weights[some] * values, axis=-1) for total, values in zip(sums, terms, strict=True)]
        return sums

    # A loop keeps to the fastest memory.
    return fori_loop(0, inner.turns(sizes.turn), add, [jnp.zeros_like(x)] * (order + 1))


def _integrals(integrand: Integrand, orders: Orders, rule: Rule, sizes: _Sizes, pairs: GaussianPair) -> list[Array]:
    """Return the moments m_ij of some pairs of scalars, by a rule of nodes and weights in both variables.

    With sums over the nodes of one variable, each moment is a sum over those of the other alone. Pairs that need fewer
    nodes than others have zero weights at the rest, so that what becomes of one does not depend on its company.
    """
    spread = root(pairs.a)
    rest = root(pairs.b - pairs.c * quotient(pairs.c, pairs.a))
    step = rule.step(jnp.maximum(spread, root(pairs.b)), max(i + j for i, j in orders))
    outer, inner = _Nodes.of(rule, step, integrand.even), _Nodes.of(rule, step, False)
    prepare, derivatives = sums_of(integrand.sigma)
    location = prepare(pairs.mu)[:, None]
    slope = quotient(pairs.c, spread)[:, None]

    def add(turn, moments):
        nodes, weights = outer.run(turn, sizes.row)
        if integrand.even:
            weights = weights * jnp.where(nodes > 0, 2.0, 1.0)
        first = derivatives(location, prepare(spread[:, None] * nodes), max(i for i, _ in orders))
        along = pairs.nu[:, None] + slope * nodes
        second = _sums_over_nodes(sizes, integrand.tau, max(j for _, j in orders), inner, along, rest)
        # An odd derivative of an even integrand has no mean.
        return [
            moment if integrand.even and (i + j) % 2 else moment + jnp.sum(weights * first[i] * second[j], axis=-1)
            for moment, (i, j) in zip(moments, orders, strict=True)
        ]

    return fori_loop(0, outer.turns(sizes.row), add, [jnp.zeros_like(spread)] * len(orders))


# How a change of each number of a pair changes a moment m_ij: the shift of its order, and a factor.
_SHIFTS = (((1, 0), 1.0), ((0, 1), 1.0), ((2, 0), 0.5), ((0, 2), 0.5), ((1, 1), 1.0))


@lru_cache
def _moments(integrand: Integrand, orders: Orders, rule: Rule) -> Callable[..., list[Array]]:
    """Return the moments of given orders as a function of the numbers of Gaussian pairs, arrays of one shape."""

    def moments(sizes: _Sizes, *pair):
        shape, size = pair[0].shape, pair[0].size
        number = -(-size // sizes.pairs)
        missing = -size % number
        groups = [jnp.concatenate([x.reshape(-1), x.reshape(-1)[:missing]]).reshape(number, -1) for x in pair]
        found = map_rows(partial(_integrals, integrand, orders, rule, sizes), GaussianPair(*groups))
        return [values.reshape(-1)[:size].reshape(shape) for values in found]

    def derivative(arrays, changes):
        moving = [(*shift, by) for shift, by in zip(_SHIFTS, changes, strict=True) if by is not None]
        needed = sorted({(i + di, j + dj) for i, j in orders for (di, dj), _, _ in moving})
        moments = dict(zip(needed, _moments(integrand, tuple(needed), rule)(*arrays), strict=True))
        return [total(*(factor * moments[i + di, j + dj] * by for (di, dj), factor, by in moving)) for i, j in orders]

    name = f"moments of {integrand.sigma.name} and {integrand.tau.name}"
    compiled, at_once = partial(moments, _COMPILED), instantly(partial(moments, _AT_ONCE), math.inf)
    return several(name, compiled, at_once, derivative, len(orders), _COST)


class Integrated(Kernel):
    """The dual of two smooth activations under a Gaussian law, by quadrature.

    Attributes:
        frame: The Gaussian law.
        sigma: First activation.
        tau: Second activation.
        rule: The trapezoidal rule.
    """

    frame: Frame
    sigma: Activation
    tau: Activation
    rule: Rule = eqx.field(static=True)

    def _moments(self, orders: Orders, pairs: GaussianPair) -> list[Array]:
        even = self.frame.centred and self.sigma.parity == self.tau.parity != "none"
        return _moments(Integrand(self.sigma, self.tau, even), orders, self.rule)(*pairs)

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
        coarse = self.rule._replace(stretch=2 * self.rule.stretch)
        rules = self.rule, coarse, coarse._replace(offset=0.25)
        integrand = Integrand(self.sigma, self.tau, even=False)
        fine, *others = (_moments(integrand, ((0, 0),), rule)(*pairs)[0] for rule in rules)
        difference = jnp.maximum(jnp.abs(fine - others[0]), jnp.abs(fine - others[1]))
        spreads = root(pairs.a), root(pairs.b)
        widths = jnp.minimum(self.sigma.strip / spreads[0], self.tau.strip / spreads[1])
        step = self.rule.step(jnp.maximum(*spreads), 0)
        # For the Gaussian weight alone, e^(−2π²/h²), the same ratio is e^(−3π²/2h²).
        decay = jnp.minimum(jnp.pi * widths / step, 1.5 * (jnp.pi / step) ** 2)
        return 2 * difference * jnp.exp(-decay) + 1e-15 * jnp.maximum(1.0, jnp.abs(fine))
