"""Pictures of an atlas: every student against the teachers, in the order of the blocks."""

import math

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from tutelage.checks import count, of_kind
from tutelage.errors import invalid
from tutelage.geometry.atlas import Atlas, AtlasEntry, block_matrix
from tutelage.models import Layers
from tutelage.style import axes_of, panels, styled

_PER_ROW = 4


def atlas(atlas: Atlas, number: int | None = None, ax: Axes | None = None) -> Figure:
    """Draw the inner products of students and teachers at the points of an atlas, in the order of the blocks.

    Where output weights are learned, they stand beside the rows.

    Args:
        atlas: The atlas.
        number: One entry; all of them, side by side and with one scale of colours, if left out.
        ax: Where to draw one entry; a new figure if left out.

    Returns:
        The figure.
    """
    if ax is not None and number is None:
        raise invalid("number", "be given together with `ax`", "None", "Choose one entry")
    of_kind("atlas", atlas, Atlas, "an atlas", "Pass what tutelage.atlas returns")
    if number is not None and count("number", number, least=0) >= len(atlas):
        raise invalid("number", f"be below {len(atlas)}", str(number), "Entries count from zero")
    entries = atlas.entries if number is None else (atlas[number],)
    columns = min(max(len(entries), 1), _PER_ROW)
    if ax is None:
        figure, axes = panels(max(math.ceil(len(entries) / columns), 1), columns, width=3.0, height=3.0)
    else:
        figure, axes = axes_of(ax)[0], [ax]
    matrices = [block_matrix(atlas, entry) for entry in entries]
    bound = max((float(np.abs(matrix).max()) for matrix in matrices), default=0.0) or 1.0
    with styled():
        for axis in axes[len(entries) :]:
            axis.set_axis_off()
        images = [_draw(*one, bound) for one in zip(axes, entries, matrices, strict=False)]
        if images:
            figure.colorbar(images[-1], ax=axes, shrink=0.8, label="inner product")
    return figure


def _draw(axis: Axes, entry: AtlasEntry, matrix: np.ndarray, bound: float) -> AxesImage:
    """Draw the block matrix of one entry; `bound` is the inner product at the ends of the scale of colours."""
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
    if isinstance(entry.point, Layers) and entry.point.output is not None:
        output = np.asarray(entry.point.output)[entry.structure.students]
        axis.set_yticks(range(len(output)), [f"{weight:.2g}" for weight in output])
        axis.set_ylabel("student, by its output weight", fontsize=8)
    return image
