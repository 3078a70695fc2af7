r"""Closed forms for pairs of elementary functions of a Gaussian pair.

A pair $(u, v) = (w\cdot x, v\cdot x)$ has means $\mu, \nu$, variances $a, b$ and covariance $c$. Each closed form is
a function $k(\mu, \nu, a, b, c) = E[\sigma(u)\tau(v)]$, and its derivatives are expectations again (Stein's lemma,
Price's theorem): $\partial_\mu k = E[\sigma'\tau]$, $2\,\partial_a k = E[\sigma''\tau]$ and
$\partial_c k = E[\sigma'\tau']$. With the mean $m$ of the inputs,

$$\nabla_w K = \partial_\mu k\; m + 2\,\partial_a k\; w + \partial_c k\; v.$$

Three rules cover most pairs, from the mean $M(\nu, b) = E[\tau(v)]$ and its derivatives in $\nu$:

$$E[\tau] = M,\qquad E[u\,\tau] = \mu M + c\,M',\qquad E[u^2\tau] = (\mu^2 + a)M + 2\mu c\,M' + c^2M''.$$

Pairs of absolute values and signs are in `kinked`, of signs and error functions in `arcs`, of waves in `waves`. A
pair that is not covered is refused by name (or taken by quadrature where both functions are analytic).

All functions but the waves are homogeneous, $f(cz) = c^pf(z)$ for $c > 0$, the error function together with its unit.
So both vectors are divided by powers of two, and the result is multiplied by their powers: nothing overflows or
underflows on the way.
"""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from tutelage.activations.base import Element, ElementKind
from tutelage.duals import arcs, kinked
from tutelage.duals.base import ClosedForm, Kernel
from tutelage.duals.gaussian import Frame, GaussianPair, Side, sums_of_gradients
from tutelage.duals.special import folded_mean, folded_sign, root

EVEN_KINDS: tuple[ElementKind, ...] = ("one", "absolute", "square", "cosine")
WAVES: tuple[ElementKind, ...] = ("cosine", "sine")

# Degree of homogeneity of the elementary functions that have one.
DEGREES: dict[ElementKind, int] = {"one": 0, "sign": 0, "identity": 1, "absolute": 1, "square": 2}

# The mean of each function of a normal number with a mean, a variance, and what the number one is in its unit.
MEANS: dict[ElementKind, Callable] = {
    "one": lambda nu, b, unit: jnp.ones_like(nu),
    "identity": lambda nu, b, unit: nu,
    "absolute": lambda nu, b, unit: folded_mean(nu, root(b)),
    "square": lambda nu, b, unit: nu * nu + b,
    "sign": lambda nu, b, unit: folded_sign(nu, root(b)),
    "erf": lambda nu, b, unit: jax.scipy.special.erf(nu / jnp.sqrt(unit * unit + 2 * b)),
    "cosine": lambda nu, b, unit: jnp.exp(-b / 2) * jnp.cos(nu),
    "sine": lambda nu, b, unit: jnp.exp(-b / 2) * jnp.sin(nu),
}


def _mean_derivatives(kind: ElementKind, nu, b, unit):
    """Return M, M' and M'' in ν."""

    def mean(nu):
        return MEANS[kind](nu, b, unit)

    def first(nu):
        return jax.jvp(mean, (nu,), (jnp.ones_like(nu),))

    (value, by_nu), (_, by_nu_twice) = jax.jvp(first, (nu,), (jnp.ones_like(nu),))
    return value, by_nu, by_nu_twice


def _one_with(kind: ElementKind, pair: GaussianPair, unit):
    return MEANS[kind](pair.nu, pair.b, unit)


def _identity_with(kind: ElementKind, pair: GaussianPair, unit):
    value, by_nu, _ = _mean_derivatives(kind, pair.nu, pair.b, unit)
    return pair.mu * value + pair.c * by_nu


def _square_with(kind: ElementKind, pair: GaussianPair, unit):
    value, by_nu, by_nu_twice = _mean_derivatives(kind, pair.nu, pair.b, unit)
    return (pair.mu**2 + pair.a) * value + 2 * pair.mu * pair.c * by_nu + pair.c**2 * by_nu_twice


_RULES: dict[ElementKind, Callable] = {"one": _one_with, "identity": _identity_with, "square": _square_with}

# The means of products of two functions of the same number, which need no function of a pair. The square of a sign is
# one but at zero: there it is zero, which counts where the number is nothing else.
_SAME_NEURON: dict[frozenset[ElementKind], Callable] = {
    frozenset({"absolute"}): MEANS["square"],
    frozenset({"sign"}): lambda nu, b, unit: jnp.where((nu == 0) & (b == 0), 0.0, 1.0),
    frozenset({"sign", "absolute"}): MEANS["identity"],
}


def is_closed(first: ElementKind, second: ElementKind) -> bool:
    """Return whether a pair of functions, of u and of v, has a closed form in this package."""
    return bool(
        first in _RULES
        or second in _RULES
        or {first, second} <= {*WAVES}
        or {first, second} <= {"sign", "absolute"}
        or {first, second} <= {"sign", "erf"}
    )


def _with_powers(numbers, first_scale, first_power: int, second_scale, second_power: int):
    """Return numbers times powers of both scales, whose product may be in range where its factors are not."""
    first_scale = first_scale[:, None]
    while first_power > 0 and second_power > 0:
        numbers = numbers * (first_scale * second_scale)
        first_power, second_power = first_power - 1, second_power - 1
    if first_power < 0 < second_power:
        numbers = numbers * (second_scale / first_scale)
        first_power, second_power = first_power + 1, second_power - 1
    for scale, power in ((first_scale, first_power), (second_scale, second_power)):
        for _ in range(abs(power)):
            numbers = numbers * scale if power > 0 else numbers / scale
    return numbers


class Elementary(ClosedForm):
    """The dual of two elementary functions, not both waves, under a Gaussian law, times a factor.

    Attributes:
        frame: The Gaussian law.
        factor: What the closed form is multiplied by (coefficients, and the moment ratio of a spherical law).
        first: Elementary function of the first argument; its coefficient is part of the factor.
        second: Elementary function of the second argument, likewise.
    """

    frame: Frame
    factor: Float[Array, ""]
    first: Element = eqx.field(static=True)
    second: Element = eqx.field(static=True)

    def _side(self, element: Element, rows) -> Side:
        rows = rows if element.scale == 1 else element.scale * rows
        if element.kind in WAVES:
            return self.frame.damped_side(rows)
        return self.frame.side(rows, 1.0 if element.kind == "erf" else 0.0)

    def _degrees(self) -> tuple[int, int]:
        return DEGREES.get(self.first.kind, 0), DEGREES.get(self.second.kind, 0)

    @property
    def _kinds(self) -> frozenset[ElementKind]:
        return frozenset({self.first.kind, self.second.kind})

    def _form(self, same: bool) -> str:
        """Return which closed form serves the pair; `same` for the products of two functions of one neuron."""
        kinds = self._kinds
        if same and kinds in _SAME_NEURON and self.first.scale == self.second.scale:
            return "same neuron"
        if kinds <= {"sign", "erf"} and (self.frame.centred or "erf" in kinds):
            return "arc"
        return "kinks" if kinds <= {"sign", "absolute"} else "rule"

    def _by_rule(self, pair: GaussianPair, units, same: bool):
        if same:
            # Half from each argument, so that the derivative in the first one is half the derivative of the whole.
            product = _SAME_NEURON[self._kinds]
            return 0.5 * (product(pair.mu, pair.a, units[0]) + product(pair.nu, pair.b, units[1]))
        if self.first.kind in _RULES:
            return _RULES[self.first.kind](self.second.kind, pair, units[1])
        return _RULES[self.second.kind](self.first.kind, pair.swapped(), units[0])

    def _kinds_are(self, kind: ElementKind) -> tuple[bool, bool]:
        return self.first.kind == kind, self.second.kind == kind

    @property
    def dimension(self) -> int | None:
        return self.frame.dimension

    def _gram(self, first, second, same=False):
        one, other = self._side(self.first, first), self._side(self.second, second)
        # A neuron alone: the general form, which may be an integral, is not needed at all.
        form = self._form(same and first.shape[0] == 1)
        own = same and self.first.scale == self.second.scale
        if form == "arc":
            values = arcs.value(self.frame, one, other, *self._kinds_are("erf"), own)
        elif form == "kinks":
            values = kinked.value(*self._kinds_are("sign"), self.frame, one, other, own)
        else:
            units = (1.0 / one.scale[:, None], 1.0 / other.scale)
            values = self._by_rule(self.frame.pairs(one, other, same), units, form == "same neuron")
        degree, other_degree = self._degrees()
        return self.factor * _with_powers(values, one.scale, degree, other.scale, other_degree)

    def _pull(self, first, second, weights, same=False):
        one, other = self._side(self.first, first), self._side(self.second, second)
        degree, other_degree = self._degrees()
        weights = self.factor * self.first.scale * weights
        weights = _with_powers(weights, one.scale, degree - 1, other.scale, other_degree)
        form = self._form(same and first.shape[0] == 1)
        own = same and self.first.scale == self.second.scale
        if form == "arc":
            by_mean, by_vectors = arcs.pull(self.frame, one, other, weights, *self._kinds_are("erf"), own)
        elif form == "kinks":
            by_mean, by_vectors = kinked.pull(*self._kinds_are("sign"), self.frame, one, other, weights, own)
        else:
            units = (1.0 / one.scale[:, None], 1.0 / other.scale)

            def total(pairs):
                return jnp.sum(self._by_rule(pairs, units, form == "same neuron"))

            by = jax.grad(total)(self.frame.pairs(one, other, same))
            by_mean, by_vectors = sums_of_gradients(weights, one, other, by)
        return self.frame.assemble(by_mean, by_vectors)


class AtZero(ClosedForm):
    r"""Adds to `pull` where the first vector is zero, so that the slope of a kink there is the chosen one.

    Attributes:
        kernel: The dual of the identity with the second activation, whose `pull` at zero is $E[\tau(v\cdot x)\,x]$.
        slope: What is missing in the slope of the first activation at zero.
    """

    kernel: Kernel
    slope: Float[Array, ""]

    @property
    def dimension(self) -> int | None:
        return self.kernel.dimension

    def _gram(self, first, second, same=False):
        return jnp.zeros((first.shape[0], second.shape[0]))

    def _pull(self, first, second, weights, same=False):
        missing = self.slope * self.kernel._pull(first, second, weights, same)
        return jnp.where(jnp.all(first == 0, axis=-1, keepdims=True), missing, 0.0)
