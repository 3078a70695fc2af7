"""Ball arithmetic: its module, conversions of numbers and matrices, and what a proof that fails raises."""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from tutelage.errors import MissingDependency

if TYPE_CHECKING:
    from flint import arb, arb_mat


def flint_module() -> Any:
    """Return the module of ball arithmetic, or raise if it is not installed."""
    try:
        import flint
    except ImportError as error:
        raise MissingDependency(
            "`certify` needs the python-flint package for its ball arithmetic, but it is not installed. "
            "Run `pip install 'tutelage[certify]'`."
        ) from error
    return flint


class NotProved(Exception):
    """A step of a proof that did not succeed; the message says which."""


class Singular(NotProved):
    """The Hessian is not shown to be regular."""


def exact(values: np.ndarray) -> arb_mat:
    """Return a matrix of floats as balls of radius zero."""
    return flint_module().arb_mat(np.asarray(values, float).tolist())


def exact_decimals(rows: np.ndarray) -> tuple[tuple[str, ...], ...]:
    """Return floats, or fractions over powers of two, as decimal numbers, in full."""
    return tuple(tuple(_exact_decimal(Fraction(entry)) for entry in row) for row in rows)


def _exact_decimal(fraction: Fraction) -> str:
    digits = fraction.denominator.bit_length() - 1
    return format(Decimal(fraction.numerator * 5**digits).scaleb(-digits, Context(prec=10**6)), "f")


def floats(array: np.ndarray | arb_mat) -> np.ndarray:
    """Return an array or a matrix as float64: of balls, their midpoints."""
    return np.array(array.tolist(), float)


def balls(values: Any) -> np.ndarray:
    """Return an array of floats, whole numbers or balls as an array of balls of radius zero, or as they are."""
    return entrywise(flint_module().arb, np.asarray(values, object))


def entrywise(function: Any, *arrays: np.ndarray) -> np.ndarray:
    """Return the values of a function of balls, entry by entry."""
    if not arrays[0].size:
        return arrays[0]
    return np.asarray(np.frompyfunc(function, len(arrays), 1)(*arrays), object)


def balls_of(decimals: tuple[tuple[str, ...], ...]) -> arb_mat:
    """Return decimals as balls that contain them."""
    flint = flint_module()

    def ball(text: str) -> arb:
        fraction = Fraction(text)
        return flint.arb(flint.fmpq(fraction.numerator, fraction.denominator))

    return flint.arb_mat([[ball(entry) for entry in row] for row in decimals])


def frobenius(matrix: arb_mat) -> arb:
    """Return the Frobenius norm, which bounds the spectral norm."""
    return sum((entry * entry for entry in matrix.entries()), flint_module().arb(0)).nonnegative_part().sqrt()


def dot(first: list[arb], second: list[arb]) -> arb:
    """Return the inner product of two vectors."""
    return sum((a * b for a, b in zip(first, second, strict=True)), flint_module().arb(0))


def diagonal(size: int, value: arb) -> arb_mat:
    """Return a multiple of the identity."""
    return flint_module().arb_mat([[value if i == j else 0 for j in range(size)] for i in range(size)])


def scaled_rows(matrix: arb_mat, factors: list[arb]) -> arb_mat:
    """Return a matrix whose rows are multiplied by factors."""
    rows = zip(matrix.tolist(), factors, strict=True)
    return flint_module().arb_mat([[entry * factor for entry in row] for row, factor in rows])


def polar(vectors: arb_mat) -> tuple[list[arb], arb_mat]:
    """Return norms and unit vectors, or raise if a vector may be zero."""
    norms = [dot(row, row).sqrt() for row in vectors.tolist()]
    if not all(norm > 0 for norm in norms):
        raise NotProved("the vector of a neuron may be zero, where nothing is proved")
    return norms, scaled_rows(vectors, [1 / norm for norm in norms])


def sine_and_angle(cosine: arb) -> tuple[arb, arb]:
    """Return the sine, not below zero, and the angle, between zero and π, of a cosine."""
    flint = flint_module()
    if cosine == 1:
        return flint.arb(0), flint.arb(0)
    square = 1 - cosine * cosine
    if square > 0:
        sine = square.sqrt()
        return sine, flint.arb.atan2(sine, cosine)
    # The sine is between zero and the largest one that the ball allows; the angle to the axis is at most π/2 times it.
    largest = square.upper().max(flint.arb(0)).sqrt().upper()
    middle = largest / 2
    sine = flint.arb(middle, middle.upper())
    pi = flint.arb.pi()
    if cosine > 0:
        return sine, sine * (pi / 2)
    if cosine < 0:
        return sine, pi - sine * (pi / 2)
    return sine, flint.arb(2, 2)  # nothing is known of the angle: [0, π] lies inside [0, 4]


def bounded(dimension: int, bound: arb) -> arb_mat:
    """Return a matrix of balls around zero, as large as a bound."""
    flint = flint_module()
    ball = flint.arb(0, bound.upper())
    return flint.arb_mat([[ball] * dimension] * dimension)
