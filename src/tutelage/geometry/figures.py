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

    from tutelage.geometry.atlas import Atlas, AtlasEntry

_PER_ROW = 4


def block_matrix(atlas: "Atlas", entry: "AtlasEntry") -> np.ndarray:
    """Return the inner products of students and teachers, in the order of the blocks."""
    cross = atlas._reference.pattern(entry.vectors).cross
    return cross[entry.structure.students][:, entry.structure.teachers]


def chosen_entries(atlas: "Atlas", number: int | None) -> list[int]:
    """Return the numbers of the entries to draw: one, or all if it is left out."""
    if number is None:
        return list(range(len(atlas)))
    number = count("number", number, least=0)
    if number >= len(atlas):
        raise invalid("number", f"be below {len(atlas)}", str(number), "Entries count from zero")
    return [number]


def layout(number: int) -> tuple[int, int]:
    """Return rows and columns of so many pictures, at least one."""
    columns = min(max(number, 1), _PER_ROW)
    return max(math.ceil(number / columns), 1), columns


def figure(atlas: "Atlas", number: int | None = None) -> "Figure":
    """Return a figure of one entry of an atlas, or of all of them."""
    from matplotlib.figure import Figure

    chosen = chosen_entries(atlas, number)
    rows, columns = layout(len(chosen))
    picture = Figure(figsize=(3.4 * columns, 3.4 * rows), layout="constrained")
    draw_entries(atlas, chosen, picture, picture.subplots(rows, columns, squeeze=False).ravel().tolist())
    return picture


def draw_entries(atlas: "Atlas", chosen: list[int], picture: "Figure", axes: "list[Axes]") -> None:
    """Draw entries of an atlas with one scale of colours.

    Args:
        atlas: The atlas.
        chosen: Numbers of the entries.
        picture: The figure.
        axes: Where to draw, one for each; those that are left over become empty.
    """
    for axis in axes[len(chosen) :]:
        axis.set_axis_off()
    matrices = [block_matrix(atlas, atlas[number]) for number in chosen]
    bound = max((float(np.abs(matrix).max()) for matrix in matrices), default=0.0) or 1.0
    images = [
        draw(axis, atlas[number], matrix, bound) for axis, number, matrix in zip(axes, chosen, matrices, strict=False)
    ]
    if images:
        picture.colorbar(images[-1], ax=axes, shrink=0.8, label="inner product")


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
