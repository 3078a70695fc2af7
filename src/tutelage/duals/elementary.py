r"""Closed forms for pairs of elementary functions of a Gaussian pair.

A pair $(u, v) = (w\cdot x, v\cdot x)$ has means $\mu, \nu$, variances $a, b$ and covariance $c$. Each closed form is
a function $k(\mu, \nu, a, b, c) = E[\sigma(u)\tau(v)]$, and its derivatives are expectations again (Stein's lemma,
Price's theorem): $\partial_\mu k = E[\sigma'\tau]$, $2\,\partial_a k = E[\sigma''\tau]$ and
$\partial_c k = E[\sigma'\tau']$. With the mean $m$ of the inputs,

$$\nabla_w K = \partial_\mu k\; m + 2\,\partial_a k\; w + \partial_c k\; v.$$

Three rules cover most pairs, from the mean $M(\nu, b) = E[\tau(v)]$ and its derivatives in $\nu$:

$$E[\tau] = M,\qquad E[u\,\tau] = \mu M + c\,M',\qquad E[u^2\tau] = (\mu^2 + a)M + 2\mu c\,M' + c^2M''.$$

The other pairs are written out below. A pair that is not covered is refused by name (or taken by quadrature where
both functions are analytic).
"""

import math
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from tutelage.activations.base import Kind
from tutelage.duals.base import Kernel
from tutelage.duals.gaussian import Frame, GaussianPair
from tutelage.duals.special import (
    ROUNDING,
    arcsine,
    given_zero,
    normal_density,
    normal_distribution,
    orthant_probability,
    quotient,
    root,
)

EVEN_KINDS: tuple[Kind, ...] = ("one", "absolute", "square", "cosine")

# Degree of homogeneity of the elementary functions that have one.
DEGREES: dict[Kind, int] = {"one": 0, "sign": 0, "identity": 1, "absolute": 1, "square": 2}

_TWO_OVER_PI = 2 / math.pi


def _folded_sign(mean, deviation):
    """E[sign] of a normal number."""
    spread = 2 * normal_distribution(quotient(mean, deviation)) - 1
    return jnp.where(deviation == 0, jnp.sign(mean), spread)


def _folded_mean(mean, deviation):
    """E|·| of a normal number."""
    # Not the library's |·|, whose derivative at zero is one: here it is the mean of both slopes, none.
    return 2 * deviation * normal_density(quotient(mean, deviation)) + mean * _folded_sign(mean, deviation)


MEANS: dict[Kind, Callable] = {
    "one": lambda nu, b: jnp.ones_like(nu),
    "identity": lambda nu, b: nu,
    "absolute": lambda nu, b: _folded_mean(nu, root(b)),
    "square": lambda nu, b: nu * nu + b,
    "sign": lambda nu, b: _folded_sign(nu, root(b)),
    "erf": lambda nu, b: jax.scipy.special.erf(nu / jnp.sqrt(1 + 2 * b)),
    "cosine": lambda nu, b: jnp.exp(-b / 2) * jnp.cos(nu),
    "sine": lambda nu, b: jnp.exp(-b / 2) * jnp.sin(nu),
}


def _mean_derivatives(kind: Kind, nu, b):
    """Return M, M' and M'' in ν."""

    def mean(nu):
        return MEANS[kind](nu, b)

    def first(nu):
        return jax.jvp(mean, (nu,), (jnp.ones_like(nu),))

    (value, by_nu), (_, by_nu_twice) = jax.jvp(first, (nu,), (jnp.ones_like(nu),))
    return value, by_nu, by_nu_twice


def _one_with(kind: Kind, pair: GaussianPair):
    return MEANS[kind](pair.nu, pair.b)


def _identity_with(kind: Kind, pair: GaussianPair):
    value, by_nu, _ = _mean_derivatives(kind, pair.nu, pair.b)
    return pair.mu * value + pair.c * by_nu


def _square_with(kind: Kind, pair: GaussianPair):
    value, by_nu, by_nu_twice = _mean_derivatives(kind, pair.nu, pair.b)
    return (pair.mu**2 + pair.a) * value + 2 * pair.mu * pair.c * by_nu + pair.c**2 * by_nu_twice


_RULES: dict[Kind, Callable] = {"one": _one_with, "identity": _identity_with, "square": _square_with}


def _correlation(pair: GaussianPair):
    correlation = quotient(pair.c, root(pair.a) * root(pair.b))
    # Parallel vectors are taken as such: an angle of the root of the rounding error would show in the signs.
    return jnp.where(jnp.abs(correlation) > 1 - ROUNDING, jnp.sign(correlation), correlation)


def _standardised(mean, deviation):
    """Return mean/deviation, and ±40 (where the normal tail vanishes) for a number that does not vary."""
    return jnp.where(deviation == 0, 40.0 * jnp.sign(mean), quotient(mean, deviation))


def _given_zero(pair: GaussianPair):
    """Return the density of u at zero, and mean and deviation of v given u = 0."""
    spread, other = root(pair.a), root(pair.b)
    h, k, correlation = _standardised(pair.mu, spread), _standardised(pair.nu, other), _correlation(pair)
    density = quotient(normal_density(h), spread)
    mean, deviation = given_zero(h, k, correlation)
    # The mean as it is where v does not vary.
    return density, jnp.where(other == 0, pair.nu, other * mean), other * deviation


def _jump_sign(pair: GaussianPair):
    """E[2δ(u) sign(v)]."""
    density, mean, deviation = _given_zero(pair)
    return 2 * density * _folded_sign(mean, deviation)


def _jump_absolute(pair: GaussianPair):
    """E[2δ(u) |v|]."""
    density, mean, deviation = _given_zero(pair)
    return 2 * density * _folded_mean(mean, deviation)


def _sign_sign(pair: GaussianPair):
    h = _standardised(pair.mu, root(pair.a))
    k = _standardised(pair.nu, root(pair.b))
    both = orthant_probability(h, k, _correlation(pair))
    return 4 * both - 2 * normal_distribution(h) - 2 * normal_distribution(k) + 1


def _with_derivatives(value: Callable, derivatives: Callable) -> Callable:
    """Return `value` with the given partial derivatives in (μ, ν, a, b, c)."""

    @jax.custom_jvp
    def function(*pair):
        return value(GaussianPair(*pair))

    @function.defjvp
    def _(primals, tangents):
        partials = derivatives(GaussianPair(*primals))
        tangent = sum(partial * direction for partial, direction in zip(partials, tangents, strict=True))
        return function(*primals), tangent

    return lambda pair: function(*pair)


def _sign_absolute_value(pair: GaussianPair):
    return pair.nu * _sign_sign(pair) + pair.c * _jump_sign(pair) + pair.b * _jump_sign(pair.swapped())


def _sign_absolute_derivatives(pair: GaussianPair):
    jump = _jump_sign(pair)
    # ∂_a = ½∂_μ² and ∂_μ = E[2δ(u)|v|].
    zeros = jnp.zeros_like(pair.mu)
    _, by_mu_twice = jax.jvp(lambda mu: _jump_absolute(pair._replace(mu=mu)), (pair.mu,), (jnp.ones_like(zeros),))
    swapped = _jump_sign(pair.swapped())
    return _jump_absolute(pair), _sign_sign(pair), 0.5 * by_mu_twice, 0.5 * swapped, jump


_sign_absolute = _with_derivatives(_sign_absolute_value, _sign_absolute_derivatives)


def _absolute_absolute_value(pair: GaussianPair):
    return pair.mu * _sign_absolute(pair) + pair.a * _jump_absolute(pair) + pair.c * _sign_sign(pair)


_absolute_absolute = _with_derivatives(
    _absolute_absolute_value,
    lambda pair: (
        _sign_absolute(pair),
        _sign_absolute(pair.swapped()),
        0.5 * _jump_absolute(pair),
        0.5 * _jump_absolute(pair.swapped()),
        _sign_sign(pair),
    ),
)


def _waves(pair: GaussianPair):
    """Return the damping factors of u − v and u + v, written so that they never overflow."""
    half = (pair.a + pair.b) / 2
    return jnp.exp(pair.c - half), jnp.exp(-pair.c - half)


def _cosine_cosine(pair: GaussianPair):
    minus, plus = _waves(pair)
    return 0.5 * (minus * jnp.cos(pair.mu - pair.nu) + plus * jnp.cos(pair.mu + pair.nu))


def _sine_sine(pair: GaussianPair):
    minus, plus = _waves(pair)
    return 0.5 * (minus * jnp.cos(pair.mu - pair.nu) - plus * jnp.cos(pair.mu + pair.nu))


def _sine_cosine(pair: GaussianPair):
    minus, plus = _waves(pair)
    return 0.5 * (minus * jnp.sin(pair.mu - pair.nu) + plus * jnp.sin(pair.mu + pair.nu))


def _centred_sign_sign(pair: GaussianPair):
    return _TWO_OVER_PI * arcsine(_correlation(pair))


def _centred_erf_erf(pair: GaussianPair):
    # Williams, Computing with infinite networks, 1997; the weight-sharing paper's Lemma 1.
    return _TWO_OVER_PI * jnp.arcsin(2 * pair.c / jnp.sqrt((1 + 2 * pair.a) * (1 + 2 * pair.b)))


def _centred_sign_erf(pair: GaussianPair):
    # The limit λ → ∞ of the form above with erf(λu) for the sign.
    ratio = math.sqrt(2) * quotient(pair.c, root(pair.a))
    return _TWO_OVER_PI * jnp.arcsin(ratio / jnp.sqrt(1 + 2 * pair.b))


_PAIRS: dict[tuple[Kind, Kind], Callable] = {
    ("sign", "sign"): _sign_sign,
    ("sign", "absolute"): _sign_absolute,
    ("absolute", "absolute"): _absolute_absolute,
    ("cosine", "cosine"): _cosine_cosine,
    ("sine", "sine"): _sine_sine,
    ("sine", "cosine"): _sine_cosine,
}

_CENTRED_PAIRS: dict[tuple[Kind, Kind], Callable] = {
    ("sign", "sign"): _centred_sign_sign,
    ("erf", "erf"): _centred_erf_erf,
    ("sign", "erf"): _centred_sign_erf,
}


# Products of two functions of the same number, where the closed form of the pair is singular for parallel vectors.
_SAME_NEURON: dict[frozenset[Kind], Kind] = {
    frozenset({"absolute"}): "square",
    frozenset({"sign"}): "one",
    frozenset({"sign", "absolute"}): "identity",
}


def _same_neuron_form(first: Kind, second: Kind, scales: tuple[float, float]) -> Callable | None:
    """Return E[σ(u)τ(u)] as a symmetric function of a pair of equal numbers, where the closed form is singular."""
    product = _SAME_NEURON.get(frozenset({first, second}))
    if product is None or scales[0] != scales[1]:
        return None
    # Half from each argument, so that the derivative in the first one is half the derivative of the whole.
    return lambda pair: 0.5 * (MEANS[product](pair.mu, pair.a) + MEANS[product](pair.nu, pair.b))


def closed_form(first: Kind, second: Kind, *, centred: bool) -> Callable | None:
    """Return the closed form of a pair as a function of a `GaussianPair`, or `None` if there is none here.

    Args:
        first: Elementary function of u.
        second: Elementary function of v.
        centred: Whether both means are zero; some pairs have a closed form only then, or a cheaper one.
    """
    tables = (_CENTRED_PAIRS, _PAIRS) if centred else (_PAIRS,)
    for table in tables:
        if (first, second) in table:
            return table[first, second]
        if (second, first) in table:
            swapped = table[second, first]
            return lambda pair: swapped(pair.swapped())
    if first in _RULES:
        return lambda pair: _RULES[first](second, pair)
    if second in _RULES:
        return lambda pair: _RULES[second](first, pair.swapped())
    return None


class Elementary(Kernel):
    """The dual of two elementary functions under a Gaussian law, times a factor.

    Attributes:
        frame: The Gaussian law.
        factor: What the closed form is multiplied by (coefficients, and the moment ratio of a spherical law).
        first_kind: Elementary function of the first argument.
        first_scale: Its scale.
        second_kind: Elementary function of the second argument.
        second_scale: Its scale.
    """

    frame: Frame
    factor: Float[Array, ""]
    first_kind: Kind = eqx.field(static=True)
    first_scale: float = eqx.field(static=True)
    second_kind: Kind = eqx.field(static=True)
    second_scale: float = eqx.field(static=True)

    def _value(self, pair: GaussianPair, same: bool):
        form = closed_form(self.first_kind, self.second_kind, centred=self.frame.centred)
        assert form is not None, "the dispatcher builds this kernel only where there is a closed form"
        p, q = self.first_scale, self.second_scale
        scaled = GaussianPair(p * pair.mu, q * pair.nu, p * p * pair.a, q * q * pair.b, p * q * pair.c)
        own = _same_neuron_form(self.first_kind, self.second_kind, (p, q)) if same else None
        if own is None:
            return self.factor * form(scaled)
        if pair.c.shape == (1, 1):
            # A neuron alone: the general form, which may be an integral, is not needed at all.
            return self.factor * own(scaled)
        return self.factor * jnp.where(jnp.eye(pair.c.shape[0], dtype=bool), own(scaled), form(scaled))

    def gram(self, first, second, same=False):
        return self._value(self.frame.pairs(first, second, same), same)

    def pull(self, first, second, weights, same=False):
        pairs = self.frame.pairs(first, second, same)
        by = jax.grad(lambda pairs: jnp.sum(self._value(pairs, same)))(pairs)
        return self.frame.assemble(first, second, weights, by)


class AtZero(Kernel):
    r"""Adds to `pull` where the first vector is zero, so that the slope of a kink there is the chosen one.

    Attributes:
        kernel: The dual of the identity with the second activation, whose `pull` at zero is $E[\tau(v\cdot x)\,x]$.
        slope: What is missing in the slope of the first activation at zero.
    """

    kernel: Kernel
    slope: Float[Array, ""]

    def gram(self, first, second, same=False):
        return jnp.zeros((first.shape[0], second.shape[0]))

    def pull(self, first, second, weights, same=False):
        missing = self.slope * self.kernel.pull(first, second, weights, same)
        return jnp.where(jnp.all(first == 0, axis=-1, keepdims=True), missing, 0.0)
