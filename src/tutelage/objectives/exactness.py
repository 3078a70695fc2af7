"""How a number was got."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Exactness:
    """How an objective takes its expectation.

    Attributes:
        kind: `closed form` (rounding error only), `exact sum` over a finite support, `quadrature`, or `sampling`.
        tolerance: Absolute error aimed at by a quadrature; `None` for the other kinds.
        detail: What was done, in words.
    """

    kind: Literal["closed form", "exact sum", "quadrature", "sampling"]
    tolerance: float | None = None
    detail: str = ""

    def __str__(self) -> str:
        tolerance = "" if self.tolerance is None else f" to {self.tolerance:g}"
        detail = f" ({self.detail})" if self.detail else ""
        return f"{self.kind}{tolerance}{detail}"
