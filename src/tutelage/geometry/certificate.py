"""Certificates as values: what is proved of a critical point, as a theorem in words and as plain data."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from typing import Any, Literal

from jaxtyping import PyTree

from tutelage._html import facts
from tutelage.errors import invalid
from tutelage.geometry.ball_losses import LossInBalls
from tutelage.geometry.script import script

ProvedKind = Literal["global minimum", "spurious minimum", "minimum", "saddle", "maximum", "not proved"]


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """What is proved of a point; build one with `certify`.

    All bounds are rounded outwards. Where nothing is proved, they are not numbers.

    Attributes:
        kind: `global minimum`, `spurious minimum` (a strict local minimum whose loss is above that of the global
            minima), `minimum` (a strict local minimum of a problem whose lowest loss is not known, or not told apart),
            `saddle`, `maximum`, or `not proved`. With `parts`, minima are strict but for the continuum of students that
            share the neurons of the centre.
        reason: Why not, or what is left open; empty if nothing is.
        centre: A student close to the critical point.
        decimals: The same in full: decimal numbers, one row per neuron. Those are meant exactly below.
        blocks: Sizes of the blocks, if `decimals` has one row per orbit of neurons only; see `FamilyPoint.table`.
        parts: With more students than the centre has neurons, the neuron of the centre that each of them is a part of;
            empty if there are as many.
        radius: The critical point is within this distance of the centre.
        unique_radius: It is the only one within this distance of the centre, and the Hessian has the same index in the
            whole ball; around a minimum, the loss is strictly convex there.
        distance: The critical point is within this distance of the given point.
        loss: Bounds of the loss of the critical point.
        excess: Bounds of its loss above half the variance of the noise.
        smallest_eigenvalue: Bounds of the smallest eigenvalue of the Hessian at the critical point.
        index: Number of negative eigenvalues.
        gradient_norm: Bound of the gradient's norm at the centre.
        least_curvature: No eigenvalue at the centre has a smaller absolute value.
        lipschitz: Lipschitz constant of the Hessian in the ball of radius `unique_radius`.
        split_curvature: Where neurons are parts of others, no eigenvalue of their reduced blocks has a smaller absolute
            value, but for the one along the neuron.
        digits: Decimal digits of the centre.
        problem: The problem in words.
    """

    kind: ProvedKind
    reason: str
    centre: PyTree = field(repr=False)
    decimals: tuple[tuple[str, ...], ...] = field(default=(), repr=False)
    blocks: str = ""
    parts: tuple[int, ...] = ()
    radius: float = math.nan
    unique_radius: float = math.nan
    distance: float = math.nan
    loss: tuple[float, float] = (math.nan, math.nan)
    excess: tuple[float, float] = (math.nan, math.nan)
    smallest_eigenvalue: tuple[float, float] = (math.nan, math.nan)
    index: int | None = None
    gradient_norm: float = math.nan
    least_curvature: float = math.nan
    lipschitz: float = math.nan
    split_curvature: float = math.nan
    digits: int
    problem: str
    _loss: LossInBalls | None = field(default=None, repr=False, compare=False)

    @property
    def proved(self) -> bool:
        """Whether it is proved that there is a critical point, and of which index."""
        return self.kind != "not proved"

    def __str__(self) -> str:
        """Return the theorem with the numbers of its proof, to be checked with any arithmetic of many digits."""
        if not self.proved:
            return f"Not proved: {self.reason}.\nProblem: {self.problem}."
        rows = "\n".join(f"  ({', '.join(row)})" for row in self.decimals)
        note = f" ({self.reason})" if self.reason else ""
        if self.parts:
            return f"Theorem ({self.kind}){note}.\nProblem: {self.problem}.\n{self._shared(rows)}"
        convex = " The loss is strictly convex there." if self.index == 0 else ""
        return (
            f"Theorem ({self.kind}){note}.\n"
            f"Problem: {self.problem}.\n"
            f"Let c be the {self._rows}\n{rows}\n"
            f"There is exactly one critical point within R = {_below(self.unique_radius)} of c.{convex}\n"
            f"It is within r = {_above(self.radius)} of c, its loss is in {_interval(self.loss)},\n"
            f"and its Hessian has {self.index} negative eigenvalues, none that is zero, and the smallest in "
            f"{_interval(self.smallest_eigenvalue)}.\n"
            f"{self._numbers}"
        )

    def _shared(self, rows: str) -> str:
        """Return what is proved of a continuum of students that share neurons."""
        share = (
            f"that are positive multiples of its rows {', '.join(str(part + 1) for part in self.parts)},\n"
            "those of each row adding up to it"
        )
        if not self.unique_radius:
            return (
                f"Let c be the teacher\n{rows}\n"
                f"All students with neurons {share}, have the lowest loss.\n"
                f"One of them is within {_above(self.distance)} of the given point.\n"
                "Proof: They compute what the teacher does, since the activation is positively homogeneous."
            )
        dimension = len(self.parts) - len(self.decimals)
        minima = "\nThey are local minima, strict but for each other." if self.index == 0 else ""
        return (
            f"Let c be the student of {len(self.decimals)} neurons with the rows\n{rows}\n"
            f"Among students of so many neurons there is exactly one critical point c* within "
            f"R = {_below(self.unique_radius)} of c.\n"
            f"It is within r = {_above(self.radius)} of c, and its loss is in {_interval(self.loss)}.\n"
            f"All students of {len(self.parts)} neurons that share those of c*, that is with neurons {share},\n"
            f"are critical points; their Hessians have {self.index} negative eigenvalues and exactly {dimension} that "
            f"are zero, and all critical points close to one of them are of this kind.{minima}\n"
            f"{self._numbers}\n"
            "Reduced blocks of neurons with several parts have no eigenvalue in the interval (-s, s) with "
            f"s = {_below(self.split_curvature)} but the one along the neuron, and K r < s."
        )

    @property
    def _numbers(self) -> str:
        """The numbers of Newton's and Kantorovich's theorem."""
        return (
            "Proof: At c the gradient's norm is at most "
            f"g = {_above(self.gradient_norm)}, and no eigenvalue of the Hessian is in the interval (-m, m) with "
            f"m = {_below(self.least_curvature)}.\n"
            f"Within R of c the Hessian has the Lipschitz constant K = {_above(self.lipschitz)}.\n"
            "The conditions of Newton and Kantorovich hold: K R < m, g + K R^2/2 <= m R, and g + K r^2/2 <= m r."
        )

    def document(self) -> dict[str, Any]:
        """Return the certificate as plain data, which JSON has: its numbers, and the few different decimals."""
        from tutelage.geometry.certificate_record import document

        return document(self)

    def script(self) -> str:
        """Return a program that checks the certificate with mpmath alone, from the definition of the loss.

        It is run with `python`, prints what holds, and ends with code 0 if everything does. It takes the whole Hessian:
        seconds for six neurons, minutes for twenty.

        Raises:
            InvalidArgument: If nothing is proved, or the certificate has the distinct entries of its centre only.
        """
        if not self.proved or self.blocks or self.parts or self._loss is None:
            left_out = "the certificate is that of a continuum" if self.parts else "the centre is not written out"
            reason = left_out if self.proved else "nothing is proved"
            raise invalid("certificate", "be a proof with its centre in full", reason, "Use `tutelage.certify`")
        return script(self, self._loss)

    @property
    def _rows(self) -> str:
        if not self.blocks:
            return "student with the rows"
        return (
            f"student that is constant on blocks of {self.blocks} teachers, with these rows, one for each orbit of "
            "neurons:\nentries at the blocks and, last, at a neuron's own teacher"
        )

    def _repr_html_(self) -> str:
        def interval(bounds: tuple[float, float]) -> str | None:
            return _interval(bounds, digits=10) if self.proved and not math.isnan(bounds[0]) else None

        def number(value: float) -> float | None:
            return value if self.proved else None

        return facts(
            f"Proved: {self.kind}" if self.proved else "Not proved",
            {
                "problem": self.problem,
                "reason" if not self.proved else "note": self.reason or None,
                "loss": interval(self.loss),
                "smallest eigenvalue": interval(self.smallest_eigenvalue),
                "index": self.index,
                "distance from the centre, at most": number(self.radius),
                "the only one within": number(self.unique_radius),
                "distance from the given point, at most": number(self.distance),
                "digits": self.digits,
            },
        )


def _above(value: float, digits: int = 17) -> str:
    """Return a decimal number of so many digits that is not below a float, and closest to it.

    Not `repr`, which is a number that the float is closest to, and may be on either side of it.
    """
    return _shown(value, Context(prec=digits, rounding=ROUND_CEILING))


def _below(value: float, digits: int = 17) -> str:
    """Return a decimal number of so many digits that is not above a float, and closest to it."""
    return _shown(value, Context(prec=digits, rounding=ROUND_FLOOR))


def _shown(value: float, context: Context) -> str:
    return str(context.create_decimal_from_float(value).normalize(context)).lower()


def _interval(bounds: tuple[float, float], digits: int = 17) -> str:
    return f"[{_below(bounds[0], digits)}, {_above(bounds[1], digits)}]"
