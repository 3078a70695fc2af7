"""Pictures of an atlas: every student against the teachers, in the order of the blocks."""

import math
from typing import TYPE_CHECKING

import numpy as np

from tutelage.checks import count
from tutelage.errors import invalid

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

    from tutelage.geometry.entries import Atlas, AtlasEntry

_PER_ROW = 4


def block_matrix(atlas: "Atlas", entry: "AtlasEntry") -> np.ndarray:
    """Return the inner products of students and teachers, in the order of the blocks."""
    cross = atlas._frame.pattern(entry.vectors).cross
    return cross[entry.structure.students][:, entry.structure.teachers]


def figure(atlas: "Atlas", number: int | None = None) -> "Figure":
    """Return a figure of one entry of an atlas, or of all of them."""
    from matplotlib.figure import Figure

    if number is not None:
        number = count("number", number, least=0)
        if number >= len(atlas):
            raise invalid("number", f"be below {len(atlas)}", str(number), "Entries count from zero")
    chosen = list(range(len(atlas))) if number is None else [number]
    columns = min(max(len(chosen), 1), _PER_ROW)
    rows = max(math.ceil(len(chosen) / columns), 1)
    picture = Figure(figsize=(3.4 * columns, 3.4 * rows), layout="constrained")
    axes = np.atleast_1d(picture.subplots(rows, columns, squeeze=False)).ravel()
    for axis in axes[len(chosen) :]:
        axis.set_axis_off()
    matrices = [block_matrix(atlas, atlas[i]) for i in chosen]
    bound = max((float(np.abs(matrix).max()) for matrix in matrices), default=1.0)
    images = [draw(axis, atlas[i], matrix, bound) for axis, i, matrix in zip(axes, chosen, matrices, strict=False)]
    if images:
        picture.colorbar(images[-1], ax=axes.tolist(), shrink=0.8, label="inner product")
    return picture


def draw(axis: "Axes", entry: "AtlasEntry", matrix: np.ndarray, bound: float) -> "AxesImage":
    """Draw one entry of an atlas.

    Args:
        axis: Where to draw.
        entry: The entry.
        matrix: Its block matrix.
        bound: The inner product at the ends of the scale of colours.
    """
    image = axis.imshow(matrix, cmap="RdBu_r", vmin=-bound, vmax=bound, interpolation="nearest")
    for edge in np.cumsum(entry.structure.student_sizes)[:-1]:
        axis.axhline(edge - 0.5, color="0.3", linewidth=0.8)
    for edge in np.cumsum(entry.structure.teacher_sizes)[:-1]:
        axis.axvline(edge - 0.5, color="0.3", linewidth=0.8)
    axis.set_title(
        f"{entry.kind}, {entry.symmetry}\nloss {max(entry.loss, 0.0):.4g}, reached {entry.count}×", fontsize=9
    )
    axis.set_xlabel("teacher", fontsize=8)
    axis.set_ylabel("student", fontsize=8)
    axis.tick_params(labelsize=7)
    return image
