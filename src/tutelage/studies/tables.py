"""Tables of studies: their rows from the arrays of the pieces."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import polars as pl

from tutelage.statistics import wilson_interval
from tutelage.studies.base import Pieces

Row = Mapping[str, Any]


def table(
    pieces: Mapping[str, Mapping[str, Any]], measured: Pieces, rows: Callable[..., Iterable[Row]]
) -> pl.DataFrame:
    """Return the rows of all pieces as one table.

    Args:
        pieces: The arguments of the pieces, by name.
        measured: The arrays of the pieces, by name.
        rows: Takes the arrays of one piece, and its arguments by name, to rows of the table: numbers of Python or
            NumPy, and text.
    """
    made = [row for name, arguments in pieces.items() for row in rows(measured[name], **arguments)]
    plain = [
        {name: value.item() if isinstance(value, np.generic) else value for name, value in row.items()} for row in made
    ]
    return pl.DataFrame(plain, infer_schema_length=None)


def share(name: str, happened: np.ndarray) -> Row:
    """Return the columns of a share of runs: the share itself by its name, and `low` and `high`, Wilson's interval."""
    low, high = wilson_interval(int(happened.sum()), happened.size)
    return {name: happened.mean(), "low": low, "high": high}
