"""Symmetry classes in words: sizes of blocks as expressions in the number of teachers, such as `k-1,1`."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tutelage.errors import invalid, shown
from tutelage.geometry.families.layout import NOBODY, Layout

# A linear expression: 3, k, 2k, k-1, k/2, k/2+1, (k-1)/2.
_NUMBER = r"(\d+)"
_LINEAR = re.compile(rf"{_NUMBER}?\*?k(?:/{_NUMBER})?(?:([+-]){_NUMBER})?")
_QUOTIENT = re.compile(rf"\((.+)\)/{_NUMBER}")

# Each block adds to the variables; beyond so many, a dense Hessian is quicker.
_MOST_BLOCKS = 8


@dataclass(frozen=True)
class Size:
    """The size of a block, `slope · k + intercept`."""

    slope: Fraction
    intercept: Fraction

    def at(self, neurons: Any) -> Any:
        """Return the size for a number of teachers, a float or a ball."""
        # One quotient of whole numbers, of which there are balls: a size that is whole is so exactly.
        common = math.lcm(self.slope.denominator, self.intercept.denominator)
        return (int(self.slope * common) * neurons + int(self.intercept * common)) / common

    @property
    def is_one(self) -> bool:
        """Whether the block has one member, whatever the number of teachers."""
        return self.slope == 0 and self.intercept == 1


@dataclass(frozen=True)
class SymmetryClass:
    """Blocks of teachers and orbits of students, for any number of teachers.

    Attributes:
        blocks: The blocks as they were given.
        sizes: Their sizes.
        owners: The block that each orbit of students belongs to; see `Layout`.
    """

    blocks: str
    sizes: tuple[Size, ...]
    owners: tuple[int, ...]

    def layout(self, neurons: Any) -> Layout:
        """Return the layout for a number of teachers, which may be any real number or a ball.

        Raises:
            InvalidArgument: If the blocks do not have so many members, or one of them has fewer than two (but for
                blocks of one whatever the number).
        """
        sizes = tuple(size.at(neurons) for size in self.sizes)
        total = float(sum(sizes[1:], sizes[0]))
        if abs(total - float(neurons)) > 1e-12 * float(neurons):
            raise invalid(
                "neurons", f"be the number of members of the blocks {self.blocks!r}, {total:g}", f"{neurons}",
                "Write the blocks as expressions in k, such as 'k-1,1'",
            )  # fmt: skip
        for expression, size, text in zip(self.sizes, sizes, self.blocks.split(","), strict=True):
            if float(size) < 2 and not expression.is_one:
                raise invalid(
                    "neurons", f"give every block of {self.blocks!r} two members or more",
                    f"{neurons}, where {text!r} is {float(size):g}",
                    "Pass more neurons, or write a block of one as 1",
                )  # fmt: skip
        return Layout(sizes, self.owners)


def symmetry_class(blocks: Any, students: Any = None) -> SymmetryClass:
    """Return the symmetry class of a text.

    Args:
        blocks: Sizes of the blocks of teachers, separated by commas.
        students: Sizes of the orbits of students; those of the blocks by default. Each is the size of a block, to which
            it then belongs, or 1.

    Raises:
        InvalidArgument: If one of them cannot be read, or an orbit has the size of no block.
    """
    sizes = _sizes("blocks", blocks)
    orbits = sizes if students is None else _sizes("students", students)
    owners: list[int] = []
    for number, orbit in enumerate(orbits):
        candidates = [block for block, size in enumerate(sizes) if size == orbit]
        place = sum(other == orbit for other in orbits[:number])
        if orbit.is_one:
            owners.append(candidates[place] if place < len(candidates) else NOBODY)
        elif candidates:
            owners.append(candidates[place % len(candidates)])
        else:
            raise invalid(
                "students", "consist of sizes of blocks and of 1", f"{students!r} for the blocks {blocks!r}",
                "Pass sizes that the blocks have, such as 'k-1,1,1' for the blocks 'k-1,1'",
            )  # fmt: skip
    return SymmetryClass(",".join(part.strip() for part in blocks.split(",")), sizes, tuple(owners))


def _sizes(argument: str, text: Any) -> tuple[Size, ...]:
    if not isinstance(text, str) or not text.strip():
        raise invalid(
            argument, "be sizes of blocks, separated by commas", shown(text), "Pass a text such as 'k-1,1'"
        )  # fmt: skip
    parts = text.split(",")
    if len(parts) > _MOST_BLOCKS:
        raise invalid(argument, f"name at most {_MOST_BLOCKS} blocks", f"{len(parts)} of them", "Pass fewer blocks")
    return tuple(_size(argument, part) for part in parts)


def _size(argument: str, text: str) -> Size:
    plain = re.sub(r"\s+", "", text).lower()
    size = _read(plain)
    if size is None or (size.slope == 0 and size.intercept < 1) or size.slope < 0:
        raise invalid(
            argument, "be sizes of blocks: whole numbers, or linear in k with a positive factor", shown(text),
            "Write sizes such as 'k', 'k-1', 'k/2', '2' or '1'",
        )  # fmt: skip
    return size


def _read(text: str) -> Size | None:
    if len(text) > 40:
        return None
    if re.fullmatch(_NUMBER, text):
        return Size(Fraction(0), Fraction(int(text)))
    if quotient := _QUOTIENT.fullmatch(text):
        inner, divisor = _read(quotient[1]), int(quotient[2])
        return None if inner is None or not divisor else Size(inner.slope / divisor, inner.intercept / divisor)
    if linear := _LINEAR.fullmatch(text):
        factor, divisor, sign, constant = linear.groups()
        if divisor is not None and not int(divisor):
            return None
        slope = Fraction(int(factor or 1), int(divisor or 1))
        return Size(slope, Fraction(int(f"{sign}{constant}") if constant else 0))
    return None
