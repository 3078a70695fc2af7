"""The style of all figures."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
import numpy as np
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from tutelage.checks import count, of_kind, one_of, positive
from tutelage.errors import invalid

# Okabe and Ito's palette.
BLACK = "#000000"
ORANGE = "#E69F00"
SKY = "#56B4E9"
GREEN = "#009E73"
BLUE = "#0072B2"
RED = "#D55E00"
PURPLE = "#CC79A7"
GREY = "#999999"
COLOURS = (BLUE, ORANGE, GREEN, RED, PURPLE, SKY, BLACK)
"""The order in which curves take colours."""
SEQUENTIAL = "cividis"
"""The map of colours for numbers that go from little to much."""

_STYLE: dict[str, Any] = {
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.labelsize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.prop_cycle": cycler(color=COLOURS),
    "axes.grid": False,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "lines.linewidth": 1.4,
    "lines.markersize": 4,
    "figure.dpi": 100,
    "savefig.dpi": 200,
    # The same data give the same file.
    "svg.hashsalt": "tutelage",
    "svg.fonttype": "path",
}


@contextmanager
def styled() -> Iterator[None]:
    """Draw in tutelage's style inside the block."""
    with mpl.rc_context(_STYLE):  # type: ignore[arg-type]
        yield


# A side of a picture has at most 2^16 points, at 200 per inch.
_MOST_PANELS, _SMALLEST, _LARGEST = 400, 0.05, 300.0


class _Picture(Figure):
    """A figure that a notebook shows without pyplot."""

    def _repr_png_(self) -> bytes:
        return render(self, "png")


def axes_of(ax: Axes | None, width: float = 3.8, height: float = 2.8) -> tuple[Figure, Axes]:
    """Return where to draw: the given axes with their figure, or new ones.

    Args:
        ax: Axes, or `None`.
        width: Width of a new figure, in inches.
        height: Height of a new figure, in inches.
    """
    if ax is None:
        figure, (panel,) = panels(width=width, height=height)
        return figure, panel
    figure = of_kind("ax", ax, Axes, "axes of Matplotlib", "Make them with Figure.subplots").get_figure(root=True)
    if figure is None:
        raise invalid("ax", "belong to a figure", repr(ax), "Make it with Figure.subplots")
    return figure, ax


def panels(
    rows: int = 1, columns: int = 1, width: float = 3.4, height: float = 2.6, **options: Any
) -> tuple[Figure, list[Axes]]:
    """Return a figure in tutelage's style, laid out without overlaps, and its axes in one flat list.

    No window is opened, and no backend is chosen for the caller.

    Args:
        rows: Rows of panels.
        columns: Columns of panels.
        width: Width of a panel, in inches.
        height: Height of a panel, in inches.
        **options: Passed to `matplotlib.figure.Figure.subplots`.

    Raises:
        InvalidArgument: If the figure would be larger than what Matplotlib writes, or have more than 400 panels.
    """
    rows, columns = count("rows", rows, most=_MOST_PANELS), count("columns", columns, most=_MOST_PANELS)
    if rows * columns > _MOST_PANELS:
        raise invalid("columns", f"make at most {_MOST_PANELS} panels", f"{rows} × {columns}", "Draw several figures")
    width, height = positive("width", width), positive("height", height)
    for name, size, number in (("width", width, columns), ("height", height, rows)):
        if not _SMALLEST <= size * number <= _LARGEST:
            limits = f"make a figure of {_SMALLEST:g} to {_LARGEST:g} inches"
            raise invalid(name, limits, f"{size:g} times {number}", "Pass a number of inches")
    with styled():
        figure = _Picture(figsize=(columns * width, rows * height), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.subplots(rows, columns, squeeze=False, **options)
    return figure, list(np.ravel(axes))


def render(figure: Figure, kind: str) -> bytes:
    """Return a figure as the bytes of an `svg` or `png` file; the same figure gives the same bytes."""
    of_kind("figure", figure, Figure, "a figure of Matplotlib", "Pass what a function of tutelage.plot returns")
    one_of("kind", kind, ("svg", "png"))
    buffer = io.BytesIO()
    metadata = {"Date": None, "Creator": None} if kind == "svg" else {"Software": None}
    with styled():
        figure.savefig(buffer, format=kind, metadata=metadata)
    return buffer.getvalue()
