"""Polynomials: monomials, Hermite polynomials, and any other."""

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from tutelage.activations.base import Activation, Element, ElementKind, Parity
from tutelage.checks import count, finite_number, sequence, text
from tutelage.errors import invalid

# Beyond this degree moments of a Gaussian leave no digits to a sum of monomials.
_MOST = 20
# Rounding errors of a polynomial, as a part of the sum of the sizes of its terms.
_ROUNDING = 1e-13
_KINDS: tuple[ElementKind, ...] = ("one", "identity", "square")


def _coefficients(value: Any) -> tuple[float, ...]:
    numbers = [finite_number("coefficients", one) for one in sequence("coefficients", value, "a list of numbers")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    if not numbers or len(numbers) > _MOST + 1:
        received = f"{len(numbers)} up to the last that is not zero"
        raise invalid("coefficients", f"be 1 to {_MOST + 1} numbers, not all zero", received, "Choose a lower degree")
    return tuple(numbers)


class Polynomial(Activation):
    r"""$\sigma(z) = \sum_k c_kz^k$, with closed forms under Gaussian laws of any mean, with biases too.

    Args:
        name: How to call it in messages.
        coefficients: The numbers $c_0, c_1, \dots$, at most 21.
    """

    name: str = eqx.field(static=True, converter=partial(text, "name"))
    coefficients: tuple[float, ...] = eqx.field(static=True, converter=_coefficients)
    kink = None
    strip = float("inf")

    @property
    def degree(self) -> int:
        """The degree of the polynomial."""
        return len(self.coefficients) - 1

    @property
    def _powers(self) -> tuple[int, ...]:
        return tuple(power for power, one in enumerate(self.coefficients) if one)

    @property
    def homogeneity(self) -> int | None:
        return self.degree if self._powers == (self.degree,) else None

    @property
    def parity(self) -> Parity:
        odd = {power % 2 for power in self._powers}
        return "none" if len(odd) > 1 else "odd" if odd == {1} else "even"

    @property
    def monotone(self) -> bool:
        slope = np.polynomial.Polynomial(self.coefficients).deriv()
        turns = [root.real for root in slope.deriv().roots() if abs(root.imag) < 1e-9]
        # Where the slope touches zero, its rounding errors have either sign.
        sizes = np.polynomial.Polynomial(np.abs(slope.coef))
        low = any(slope(turn) < -_ROUNDING * sizes(abs(turn)) for turn in turns)
        return self.degree % 2 == 1 and self.coefficients[-1] > 0 and not low

    @property
    def lipschitz(self) -> float:
        return math.inf if self.degree > 1 else abs(self.coefficients[1]) if self.degree else 0.0

    @property
    def elements(self) -> tuple[Element, ...] | None:
        if self.degree >= len(_KINDS):
            return None
        return tuple(Element(self.coefficients[power], _KINDS[power]) for power in self._powers)

    def value(self, z: Float[Array, "..."]) -> Float[Array, "..."]:
        return horner(self.coefficients, z)

    def derivative(self, z: Float[Array, "..."]) -> Float[Array, "..."]:
        return horner(derived(self.coefficients, 1), z)


def derived(coefficients: tuple[float, ...], order: int) -> tuple[float, ...]:
    """Return the coefficients of a derivative; none where it vanishes."""
    return tuple(one * math.perm(power, order) for power, one in enumerate(coefficients))[order:]


def horner(coefficients: Sequence[float], z: Float[Array, "..."]) -> Float[Array, "..."]:
    """Return the value of a polynomial, from its coefficients, the constant first."""
    total = jnp.zeros_like(z)
    for one in reversed(coefficients):
        total = total * z + one
    return total


def monomial(degree: int) -> Polynomial:
    r"""The activation $z^p$, also by its name, as `"monomial-3"`.

    Args:
        degree: The degree $p$, from 1 to 20.
    """
    degree = _degree(degree)
    return Polynomial(f"monomial-{degree}", (*[0.0] * degree, 1.0))


def hermite(degree: int) -> Polynomial:
    r"""The Hermite polynomial $He_p(z)/\sqrt{p!}$, also by its name, as `"hermite-3"`.

    These are orthonormal: of standard normal numbers with correlation $\rho$ the expectation $E[h_p(u)h_q(v)]$ is
    $\rho^p$ if $p = q$, and else zero.

    Args:
        degree: The degree $p$, from 1 to 20.
    """
    degree = _degree(degree)
    numbers = np.polynomial.hermite_e.herme2poly([*[0.0] * degree, 1.0]) / math.sqrt(math.factorial(degree))
    return Polynomial(f"hermite-{degree}", numbers.tolist())


def _degree(value: Any) -> int:
    degree = count("degree", value)
    if degree > _MOST:
        raise invalid("degree", f"be at most {_MOST}", str(degree), "Choose a lower degree")
    return degree
