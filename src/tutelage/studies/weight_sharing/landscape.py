"""The shared objective on the line through the teacher, and which starts reach which of its minima."""

from itertools import cycle

import jax.numpy as jnp
import numpy as np
import polars as pl
from scipy.optimize.elementwise import find_root

from tutelage.claims.weight_sharing.formulas import teacher_norm
from tutelage.claims.weight_sharing.plane import patch_parts
from tutelage.dynamics import Ball, GradientDescent, descend, gradient_norm, step_limit
from tutelage.objectives import population
from tutelage.plot import BLACK, BLUE, COLOURS, ORANGE, panels
from tutelage.problems import parity
from tutelage.starts import gaussian
from tutelage.studies.base import Arrays, Conclusion, Picture, Pieces, Study, Values, chosen, printed
from tutelage.studies.expectations import described
from tutelage.studies.tables import table

_WIDE = 1.5


def _pieces(values: Values):
    basins = {f"basins-{k}": {"kind": "basins", "patches": k} for k in sorted(values.shown, reverse=True)}
    lines = {"lines": {"kind": "lines", "patches": 0}}
    return {**basins, **lines, **{f"random-{k}": {"kind": "random", "patches": k} for k in values.random}}


def _measure(values: Values, seed: int, kind: str, patches: int) -> Arrays:
    if kind == "lines":
        return _lines(values)
    return _basins(values, patches) if kind == "basins" else _random(values, seed, patches)


def _on_line(x, radius, patches):
    """The loss on the teacher's line at `x`, its derivative along the line, and its curvature across it."""
    own, cross, factor, pull, _ = patch_parts(x, 0.0, radius)
    teacher = patch_parts(radius, 0.0, radius)[0]
    loss = 0.5 * (own - 2 * cross + teacher + own**patches - 2 * cross**patches + teacher**patches)
    pushed, pulled = 1 + patches * own ** (patches - 1), 1 + patches * cross ** (patches - 1)
    return loss, pushed * factor * x - pulled * pull, pushed * factor + 2 * pulled * pull * x


def _roots(patches: int, radius: float, nodes: int) -> np.ndarray:
    """All stationary points on the line within three radii, each between two nodes."""
    half = np.r_[0, np.geomspace(1e-6, 3, nodes)]  # fine near zero, where the high degree begins to act
    x = radius * np.unique(np.r_[-half, half])
    signs = np.sign(_on_line(x, radius, patches)[1])
    found = np.flatnonzero(signs[1:] != signs[:-1])
    return find_root(lambda at: _on_line(at, radius, patches)[1], (x[found], x[found + 1])).x


def _lines(values: Values) -> Arrays:
    """All stationary points on the line for every number of patches, with both curvatures; and a few whole lines."""
    rows = []
    for patches in range(2, values.most_patches + 1):
        radius = float(teacher_norm(patches))
        for at in _roots(patches, radius, values.nodes):
            width = 1e-4 * radius
            slopes = [_on_line(at + shift, radius, patches)[1] for shift in (-width, width)]
            loss, _, across = _on_line(at, radius, patches)
            rows.append((patches, at / radius, (slopes[1] - slopes[0]) / (2 * width), across, loss))
    patches, place, along, across, loss = (np.array(column) for column in zip(*rows, strict=True))
    grid = np.linspace(-_WIDE, _WIDE, 301)
    curves = [_on_line(grid * teacher_norm(k), teacher_norm(k), k)[0] for k in values.shown]
    return {
        "patches": patches,
        "place": place,
        "curvature": np.sort(np.stack([along, across], axis=1), axis=1),
        "loss": loss,
        "grid": grid,
        "curves": np.stack(curves),
    }


def _ends(values: Values, patches: int, starts: np.ndarray) -> np.ndarray:
    """Where descent ends in the plane of start and teacher, from starts along and across the teacher's line.

    Starts and ends are in units of the teacher's norm.
    """
    radius = float(teacher_norm(patches))
    runs = descend(
        population(parity(np.array([radius, 0.0]), patches)),
        jnp.asarray(radius * starts),
        GradientDescent(1.0, Ball(radius)),
        gradient_norm(values.tolerance / patches**2) | step_limit(values.steps),
    )
    return np.asarray(runs.points) / radius


def _basins(values: Values, patches: int) -> Arrays:
    """Where descent ends, from a grid of starts in the half-plane of the teacher's line."""
    # In polar coordinates, the teacher's line included.
    turns, sizes = np.linspace(0, np.pi, values.turns), np.linspace(1e-3, 1, values.sizes)
    mesh = sizes[:, None, None] * np.stack([np.cos(turns), np.sin(turns)], axis=-1)[None]
    return {"starts": mesh, "ends": _ends(values, patches, mesh.reshape(-1, 2)).reshape(mesh.shape)}


def _random(values: Values, seed: int, patches: int) -> Arrays:
    """Random starts of norm about one in high dimension."""
    radius = float(teacher_norm(patches))
    problem = parity(np.eye(values.dimension)[0] * radius, patches)
    starts = np.asarray(gaussian(problem, values.runs, scale=1 / np.sqrt(values.dimension), seed=seed))
    # A run stays in the plane of its start and the teacher.
    plane = np.stack([starts[:, 0], np.linalg.norm(starts[:, 1:], axis=1)], axis=1)
    return {"reached": _reached(_ends(values, patches, plane / radius)), "side": starts[:, 0] > 0}


def _reached(ends: np.ndarray) -> np.ndarray:
    """Which ends are at the teacher."""
    return np.linalg.norm(ends - np.array([1.0, 0.0]), axis=-1) < 0.1


def _rows(arrays: Arrays, patches: int):
    reached, along = _reached(arrays["ends"]), arrays["starts"][..., 0]
    yield {
        "patches": patches,
        "teacher_side": reached[along > 1e-9].mean(),
        "other_side": reached[along < -1e-9].mean(),
    }


def _conclude(values: Values, pieces: Pieces) -> Conclusion:
    lines = pieces["lines"]
    minima = lines["curvature"][:, 0] > 0
    spurious = minima & (lines["place"] < 0)
    even = sorted({int(k) for k in lines["patches"][spurious]})
    frame = table({f"basins-{k}": {"patches": k} for k in values.shown}, pieces, _rows)
    points = pl.DataFrame(
        {
            "patches": lines["patches"],
            "place": lines["place"],
            "loss": lines["loss"],
            "smallest_curvature": lines["curvature"][:, 0],
            "kind": np.where(minima, "minimum", "saddle"),
        }
    )
    odd = frame.filter(pl.col("patches") % 2 == 1)["other_side"].to_numpy()
    other = frame["other_side"].to_numpy()
    side = frame["teacher_side"].to_numpy()
    chance = np.array([pieces[f"random-{k}"]["reached"].mean() for k in values.random])
    crossed = np.array([(~pieces[f"random-{k}"]["side"]).mean() for k in values.random])
    expectations = (
        *(
            described(f"starts on {which}", f"all ({where})", shares.min(), shares.min() == 1)
            for which, where, shares in (
                ("the teacher's side that find it, smallest over k", "Section 4.6 and Theorem 4", side),
                ("the other side that find it, odd k", "Theorem 4, any start", odd),
                ("the other side that find it, smallest over k", "Theorem 4, any start", other),
            )
        ),
        described(
            f"random starts of norm one that find it, d = {values.dimension}, smallest over k",
            "with probability one half at least (Section 4.6)",
            chance.min(),
            chance.min() >= 0.5,
        ),
    )
    remarks = (
        f"On the line through the teacher there is one stationary point for odd k, and for even k up to {min(even) - 2}; from k = "
        f"{min(even)} on, even k have a second minimum opposite to the teacher and a saddle between."
        if even
        else "No second minimum was found.",
        "For even k the product of signs cannot tell u₀ from −u₀; the low degree can, and wins where k|V(u₀, w)|^(k−1) < 1, that is "
        "near the hyperplane and near zero.",
        f"So a random start in high dimension is good on either side: {chance.min():.1%} of those of norm one find the teacher, "
        f"although {crossed.mean():.0%} of them begin on the other side.",
    )
    caption = (
        "Shared weights, degrees 1 and k. Left: the loss on the line through the teacher (at 1), with stationary points: dots are minima, "
        "crosses saddles. Right: places of all stationary points on the line against k."
    )
    basins = (
        "Starts in the half-plane of the teacher's line, in units of the teacher's norm: blue, descent finds the teacher (dot); orange, it "
        "ends at the second minimum (square)."
    )
    pictures = (
        Picture("line", caption, _line_figure(values, lines)),
        Picture("basins", basins, _basin_figure(values, pieces)),
    )
    return Conclusion(expectations, pictures, {"basins": frame, "stationary_points": points}, remarks)


def _line_figure(values: Values, lines: Arrays):
    figure, (left, right) = panels(columns=2)
    for k, curve, colour in zip(values.shown, lines["curves"], cycle(COLOURS), strict=False):
        left.plot(lines["grid"], curve, color=colour, label=f"k = {k}")
        for point in np.flatnonzero(lines["patches"] == k):
            marker = "o" if lines["curvature"][point, 0] > 0 else "x"
            left.plot(lines["place"][point], lines["loss"][point], marker, color=colour, markersize=4.5)
    left.set(xlabel=r"position on the line, in units of $u_0$", ylabel="loss")
    left.legend(loc="upper right")
    minima = lines["curvature"][:, 0] > 0
    right.plot(lines["patches"][minima], lines["place"][minima], "o", color=BLUE, markersize=3, label="minimum")
    right.plot(lines["patches"][~minima], lines["place"][~minima], "x", color=ORANGE, markersize=3.5, label="saddle")
    right.axhline(0, color=BLACK, linewidth=0.6)
    right.set(xlabel="number of patches k", ylabel=r"stationary points, in units of $u_0$", ylim=(-1.15, 1.25))
    right.legend(loc="upper right", bbox_to_anchor=(1, 0.85))
    return figure


def _basin_figure(values: Values, pieces: Pieces):
    rows = -(-len(values.shown) // 2)
    figure, axes = panels(rows=rows, columns=2, width=3.4, height=2.2, sharex=True, sharey=True)
    lines = pieces["lines"]
    for panel, k in zip(axes, values.shown, strict=True):
        arrays = pieces[f"basins-{k}"]
        reached = _reached(arrays["ends"])
        x, y = np.moveaxis(arrays["starts"], -1, 0)
        panel.contourf(x, y, reached, levels=[-0.5, 0.5, 1.5], colors=["#f9dfae", "#cfe3f1"])
        turn = np.linspace(0, np.pi, 100)
        panel.plot(np.cos(turn), np.sin(turn), color=BLACK, linewidth=0.7)
        panel.plot(1, 0, "o", color=BLUE, markersize=6, clip_on=False, zorder=5)
        second = (lines["patches"] == k) & (lines["place"] < 0) & (lines["curvature"][:, 0] > 0)
        for place in lines["place"][second]:
            panel.plot(place, 0, "s", color=ORANGE, markersize=6, clip_on=False, zorder=5)
        panel.set(xlim=(-1.02, 1.02), ylim=(0, 1.02), xlabel="along the teacher")
        panel.set_title(f"k = {k}")
    for panel in axes[::2]:
        panel.set_ylabel("across")
    for panel in axes[len(values.shown) :]:
        panel.remove()
    return figure


STUDY = Study(
    id="weight_sharing.landscape",
    place="Theorem 4 and Section 4.6, as a picture",
    title="minima on the line through the teacher",
    question="Which stationary points has the shared objective on the line through the teacher, for even and odd k, and which starts "
    "reach which?",
    settings=(
        printed("activation", "erf", note="Section 4.1"),
        printed("teacher", "|u₀| = √12·k/π", note="Section 4.6"),
        printed("projection", "onto the ball of radius |u₀|", note="Section 4.6"),
        chosen("step", 1.0, note="below 1.5 the angle never increases"),
        chosen("shown", (4, 5, 12, 20), note="numbers of patches in the pictures"),
        chosen("most_patches", 30, paper=60, note="numbers of patches on the line"),
        chosen("nodes", 2000, paper=20_000, note="on each half of the line"),
        chosen("turns", 41, paper=181, note="angles of the starts"),
        chosen("sizes", 11, paper=50, note="norms of the starts, up to the teacher's"),
        chosen("tolerance", 1e-3, note="gradient norm at which a run ends, times k²"),
        chosen("steps", 40_000),
        chosen("dimension", 75, note="of the random starts; as in Figure 1"),
        chosen("runs", 200, paper=5000, note="random starts"),
        chosen("random", (12, 20), note="numbers of patches of the random starts: those with a second minimum"),
    ),
    pieces=_pieces,
    measure=_measure,
    conclude=_conclude,
)
