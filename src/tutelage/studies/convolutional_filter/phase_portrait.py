r"""The dynamics in the plane of the angle $\phi$ and the signal $a\cdot a^*$: field, basins, paths.

Output weights matter only through $a\cdot a^*$ and $\mathbf 1\cdot a$. The plane shown is the one on which the second
is in equilibrium given the first; if $\mathbf 1\cdot a^* = 0$, the plane is invariant and the picture exact.
"""

import jax
import jax.numpy as jnp
import numpy as np
import polars as pl

from tutelage.claims.convolutional_filter.formulas import spurious_output
from tutelage.dynamics import GradientDescent, descend, gradient_norm, record, step_limit
from tutelage.instant import instantly
from tutelage.models import FilterAndOutput
from tutelage.objectives import Objective
from tutelage.plot import BLACK, BLUE, ORANGE, panels
from tutelage.studies.base import Arrays, Conclusion, Picture, Pieces, Study, Values, chosen
from tutelage.studies.convolutional_filter.common import SUCCESS, objective_of, output_weights, saddle_ratio
from tutelage.studies.expectations import described
from tutelage.studies.tables import table

_SIGNALS = (-1.0, 1.5)
_MARGIN = 0.05


def _pieces(values: Values):
    return {f"ratio-{ratio:g}": {"ratio": ratio} for ratio in values.ratios}


def _across(target: np.ndarray) -> np.ndarray:
    """The unit vector across the teacher's output weights in the plane that they span with the ones, or zero."""
    ones = np.ones(len(target))
    rest = ones - (ones @ target) / (target @ target) * target
    size = np.linalg.norm(rest)
    return rest / size if size > 1e-9 else np.zeros(len(target))


def _on_slice(objective: Objective, across, phi, signal) -> FilterAndOutput:
    """The student with a given angle and signal whose weight across the teacher's is in equilibrium."""
    target: FilterAndOutput = objective.target
    filters = jnp.zeros(target.filter.shape).at[:2].set(jnp.array([jnp.cos(phi), jnp.sin(phi)]))
    along = signal * target.output / (target.output @ target.output)

    def pull(amount):
        return objective.gradient(FilterAndOutput(filters, along + amount * across)).output @ across

    # The loss is quadratic in the output weights: its derivative is a straight line.
    zero, one = pull(0.0), pull(1.0)
    amount = jnp.where(jnp.abs(one - zero) > 1e-12, -zero / jnp.where(one == zero, 1.0, one - zero), 0.0)
    return FilterAndOutput(filters, along + amount * across)


@instantly
def _field(objective: Objective, across, places):
    """The students at places (angle and signal) on the slice, and the velocity of both under gradient flow."""

    def at(place):
        phi, signal = place
        point = _on_slice(objective, across, phi, signal)
        gradient = objective.gradient(point)
        turning = -gradient.filter @ jnp.array([-jnp.sin(phi), jnp.cos(phi)])
        return point, turning, -gradient.output @ objective.target.output

    return jax.vmap(at)(places)


def _output(point: FilterAndOutput):
    return point.output


def _measure(values: Values, seed: int, ratio: float) -> Arrays:
    objective = objective_of(2, output_weights(values.k, ratio))
    target = np.asarray(objective.target.output)
    # Close to a half turn the filter turns away from it ever more slowly: stay where the horizon suffices.
    phi = np.linspace(_MARGIN, np.pi - _MARGIN, values.grid)
    signal = np.linspace(*_SIGNALS, values.grid)
    mesh = np.stack(np.meshgrid(phi, signal), axis=-1).reshape(-1, 2)
    points, turning, growth = _field(objective, _across(target), np.concatenate([mesh, values.shown]))
    filters, outputs = np.asarray(points.filter), np.asarray(points.output)
    starts, shown = (filters[: len(mesh)], outputs[: len(mesh)]), (filters[len(mesh) :], outputs[len(mesh) :])
    stop = gradient_norm(1e-6) | step_limit(values.steps)
    ends = descend(objective, starts, GradientDescent(values.step), stop)
    # The outputs and not the signal: a function of a student alone, and one compiled program for all teachers.
    remembered = record("angle", every=1, at_most=600, output=_output)
    paths = descend(objective, shown, GradientDescent(values.step), stop, remembered)
    lines = [np.stack([paths.curve("angle", i)[1], paths.curve("output", i)[1] @ target]) for i in range(len(paths))]
    longest = max(line.shape[1] for line in lines)
    padded = [np.pad(line, ((0, 0), (0, longest - line.shape[1])), constant_values=np.nan) for line in lines]
    shape = (values.grid, values.grid)
    return {
        "phi": phi,
        "signal": signal,
        "turning": np.asarray(turning)[: len(mesh)].reshape(shape),
        "growth": np.asarray(growth)[: len(mesh)].reshape(shape),
        "success": (ends.losses <= SUCCESS).reshape(shape),
        "admissible": (np.abs(starts[1].sum(axis=1)) <= abs(target.sum()) + 1e-12).reshape(shape),
        "paths": np.stack(padded),
        # At a half turn the mean of the gradient vanishes only at one signal: that of the second stationary point.
        "second_signal": np.asarray(spurious_output(target) @ target),
    }


def _good(arrays: Arrays) -> np.ndarray:
    """Which starts have an acute angle and a positive signal, `[signal, angle]`."""
    return (arrays["signal"] > 0)[:, None] & (arrays["phi"] < np.pi / 2)[None]


def _rows(arrays: Arrays, ratio: float):
    bad = (arrays["signal"] < 0)[:, None] & (arrays["phi"] > np.pi / 2)[None]
    yield {
        "ratio": ratio,
        "success": arrays["success"].mean(),
        "acute_and_positive": arrays["success"][_good(arrays)].mean(),
        "obtuse_and_negative": arrays["success"][bad].mean(),
    }


def _covered(arrays: Arrays, ratio: float) -> np.ndarray:
    """Which of the starts that Theorem 3.1 covers find the teacher."""
    return arrays["success"][_good(arrays) & (arrays["admissible"] if ratio else True)]


def _conclude(values: Values, pieces: Pieces) -> Conclusion:
    frame = table(_pieces(values), pieces, _rows)
    covered = np.concatenate([_covered(pieces[name], **cell) for name, cell in _pieces(values).items()])
    balanced = frame.row(0, named=True)
    threshold = saddle_ratio(values.k)
    beyond = frame.filter(pl.col("ratio") > threshold)["success"].to_numpy().min()
    expectations = (
        described(
            "acute angle, positive signal, sum within bounds: starts that find the teacher",
            "all (Theorem 3.1)",
            covered.mean(),
            covered.all(),
        ),
        described(
            "obtuse angle, negative signal, teacher with sum zero: starts that find the teacher",
            "none: the second stationary point attracts (Theorem 3.3)",
            balanced["obtuse_and_negative"],
            balanced["obtuse_and_negative"] == 0,
        ),
        described(
            f"starts that end at the second stationary point if (1·a*)²/|a*|² > {threshold:.2f}",
            "some: it is a local minimum (Lemma 4.1)",
            1 - beyond,
            beyond < 1,
        ),
    )
    remarks = (
        "For a teacher whose output weights sum to zero the plane is invariant, so that its picture is the whole dynamics: "
        "two attractors, and a saddle at (π/2, 0) whose stable curve divides their basins.",
        f"Above (1·a*)²/|a*|² = (k+π−1)/π = {threshold:.2f} (for k = {values.k}) the signal at the second stationary point is "
        "positive, which turns the filter towards the teacher: it is a saddle, and no start of the grid ends there. "
        "Lemma 4.1 calls it a local minimum without this condition.",
    )
    return Conclusion(expectations, (_picture(values, pieces),), {"basins": frame}, remarks)


def _picture(values: Values, pieces: Pieces) -> Picture:
    figure, axes = panels(columns=len(values.ratios), width=2.6, height=2.7, sharey=True)
    for panel, (name, cell) in zip(axes, _pieces(values).items(), strict=True):
        arrays = pieces[name]
        phi, signal = arrays["phi"], arrays["signal"]
        to_the_edges = np.r_[0.0, phi[1:-1], np.pi]
        panel.contourf(to_the_edges, signal, arrays["success"], levels=[-0.5, 0.5, 1.5], colors=["#f9dfae", "#cfe3f1"])
        panel.streamplot(
            phi, signal, arrays["turning"], arrays["growth"], color="#777777", linewidth=0.5, density=0.7, arrowsize=0.6
        )
        for path in arrays["paths"]:
            end = path[:, ~np.isnan(path[0])][:, -1]
            panel.plot(*path, color=BLUE if end[0] < 1 else ORANGE, linewidth=1.5)
            panel.plot(*path[:, 0], "o", color="white", markeredgecolor=BLACK, markersize=3.5, markeredgewidth=0.7)
        panel.plot(0, 1, "o", color=BLUE, markersize=7, clip_on=False, zorder=5)
        saddle = cell["ratio"] > saddle_ratio(values.k)
        marker, colour = ("X", BLACK) if saddle else ("s", ORANGE)
        second = float(arrays["second_signal"])
        panel.plot(np.pi, second, marker, color=colour, markersize=7, clip_on=False, zorder=5)
        panel.set(xlim=(0, np.pi), ylim=_SIGNALS, xlabel=r"angle $\phi$")
        panel.set_title(rf"$(\mathbf{{1}}\cdot a^*)^2/\|a^*\|^2 = {cell['ratio']:g}$")
        panel.set_xticks([0, np.pi / 2, np.pi], ["0", "π/2", "π"])
    axes[0].set_ylabel(r"signal $a\cdot a^*$")
    caption = (
        "Gradient descent in the plane of the angle between the filters and the signal a·a*, for three teachers. Arrows: "
        "direction of gradient flow. Blue region: starts from which descent finds the teacher (dot); orange region: starts "
        "from which it ends at the second stationary point (square; a cross where it is a saddle). Lines: paths of descent."
    )
    return Picture("portrait", caption, figure)


STUDY = Study(
    id="convolutional_filter.phase-portrait",
    place="Section 4, as a picture",
    title="basins in the plane of angle and signal",
    question="From which angles and signals does descent find the teacher, and where does the second stationary point "
    "attract?",
    settings=(
        chosen("k", 4, note="number of patches; (k+π−1)/π = 1.95"),
        chosen("ratios", (0.0, 1.0, 3.0), note="(1·a*)²/|a*|²: balanced, below and above (k+π−1)/π"),
        chosen("step", 0.2),
        chosen("steps", 8000),
        chosen("grid", 41, paper=161, note="starts per side"),
        chosen(
            "shown",
            ((1.45, -0.6), (2.6, 1.3), (1.8, 0.05), (1.3, 0.4), (2.2, -0.8), (0.8, -0.9)),
            note="starts of the paths, as (φ, a·a*)",
        ),
    ),
    pieces=_pieces,
    measure=_measure,
    conclude=_conclude,
)
