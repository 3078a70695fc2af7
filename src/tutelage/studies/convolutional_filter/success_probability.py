"""How often random starts find the teacher, and how often one of the four sign choices does."""

import numpy as np
import polars as pl

from tutelage.dynamics import GradientDescent, gradient_norm, restarts, step_limit
from tutelage.plot import BLUE, GREEN, GREY, RED, intervals, panels
from tutelage.starts import sphere_ball
from tutelage.studies.base import Arrays, Conclusion, Picture, Pieces, Study, Values, chosen, printed
from tutelage.studies.convolutional_filter.common import (
    SUCCESS,
    largest_step,
    objective_of,
    output_weights,
    saddle_ratio,
    spurious_loss,
)
from tutelage.studies.expectations import above, at_least, described
from tutelage.studies.tables import share, table

_AXES = {"ratio": "ratios", "p": "filter_sizes", "k": "patch_numbers", "step": "steps"}


def _pieces(values: Values):
    base = {"p": values.p, "k": values.k, "ratio": values.ratio, "step": values.step}
    return {
        f"{axis}-{value:g}": {"axis": axis, **base, axis: value}
        for axis, setting in _AXES.items()
        for value in values[setting]
    }


def _measure(values: Values, seed: int, axis: str, p: int, k: int, ratio: float, step: float) -> Arrays:
    output = output_weights(k, ratio)
    objective = objective_of(p, output)
    limit = int(values.horizon / step)
    tried = restarts(
        objective,
        sphere_ball(objective.problem, values.runs, seed=seed),
        GradientDescent(step * largest_step(k)),
        success=SUCCESS,
        stop=gradient_norm(1e-6) | step_limit(limit),
    )
    first = tried.runs[0]
    return {
        "success": first.losses <= SUCCESS,
        "spurious": np.abs(first.losses / spurious_loss(output) - 1) < 0.01,
        "diverged": first.statuses == "diverged",
        "settled": first.statuses == "converged",
        "restarts_succeed": tried.succeeded,
        "attempts": tried.attempts,
        "steps": first.steps,
    }


def _rows(arrays: Arrays, axis: str, **cell: float):
    neither = ~arrays["success"] & ~arrays["spurious"]
    yield {
        "axis": axis,
        **{key: float(value) for key, value in cell.items()},
        "runs": len(neither),
        **share("success", arrays["success"]),
        "spurious": arrays["spurious"].mean(),
        "diverged": arrays["diverged"].mean(),
        "elsewhere": (arrays["settled"] & neither).mean(),
        "on_their_way": (~arrays["settled"] & neither).mean(),
        "one_of_four": arrays["restarts_succeed"].mean(),
        "attempts": arrays["attempts"].mean(),
        "median_steps": np.median(arrays["steps"]),
    }


def _conclude(values: Values, pieces: Pieces) -> Conclusion:
    frame = table(_pieces(values), pieces, _rows)
    stable = frame.filter(pl.col("step") < 1)
    least = stable.sort("success").row(0, named=True)
    balanced = frame.filter(axis="ratio").sort("ratio").row(0, named=True)
    one_of_four, elsewhere = stable["one_of_four"].to_numpy(), stable["elsewhere"].to_numpy()
    error = 3 * np.sqrt(0.25 * 0.75 / values.runs)
    beyond = stable.filter((pl.col("axis") == "ratio") & (pl.col("ratio") > saddle_ratio(values.k)))
    expectations = (
        at_least("success from a random start, smallest over the cells", 0.25, least["success"], round(error, 3)),
        at_least("one of the four sign choices succeeds, smallest over the cells", 1.0, one_of_four.min()),
        above(
            f"runs that end at the second stationary point, (1·a*)²/|a*|² = {balanced['ratio']:g}",
            "a constant probability when the sum is small (Theorem 3.3)",
            balanced["spurious"],
            0.25 - error,
            "above 1/4, within three standard errors",
        ),
        described(
            "runs that come to rest elsewhere, all cells with a stable step",
            "none: two kinds of stationary points (Lemma 4.1)",
            elsewhere.max(),
            elsewhere.max() == 0,
        ),
    )
    remarks = (
        f"Above (1·a*)²/|a*|² = (k+π−1)/π = {saddle_ratio(values.k):.2f} the second stationary point is a saddle; there "
        f"{beyond['success'].to_numpy().min():.0%} of the runs succeed.",
        "Larger filters help: in high dimension a random filter is nearly orthogonal to the teacher's, and the output "
        "weights turn the right way before the angle is decided.",
        f"Where the first try fails, others follow: {stable['attempts'].to_numpy().mean():.2f} tries on average, four at most.",
        "Steps are given as fractions of 4π/(k+π−1), beyond which the output weights diverge.",
        f"Still on their way when the step limit ends them: at most {stable['on_their_way'].to_numpy().max():.2%} of the runs of a cell.",
    )
    return Conclusion(expectations, (_picture(values, frame),), {"success": frame}, remarks)


def _picture(values: Values, frame: pl.DataFrame) -> Picture:
    figure, axes = panels(rows=2, columns=2, height=2.3, sharey=True)
    labels = {
        "ratio": r"$(\mathbf{1}\cdot a^*)^2/\|a^*\|^2$",
        "p": "size of the filter, $p$",
        "k": "number of patches, $k$",
        "step": r"step, in units of $4\pi/(k+\pi-1)$",
    }
    for panel, (axis, label) in zip(axes, labels.items(), strict=True):
        rows = frame.filter(axis=axis).sort(axis)
        x = rows[axis].to_numpy()
        panel.plot(x, rows["one_of_four"], "s-", color=GREEN, markersize=3, linewidth=0.9, label="one of four signs")
        intervals(x, rows["success"], rows["low"], rows["high"], panel, color=BLUE, label="one start")
        panel.axhline(0.25, color=GREY, linestyle=":", linewidth=1)
        panel.set(xlabel=label, ylim=(-0.03, 1.05), xscale="linear" if axis == "step" else "log")
    axes[0].axvline(saddle_ratio(values.k), color=RED, linestyle="--", linewidth=0.9)
    axes[0].annotate("(k+π−1)/π ", (saddle_ratio(values.k), 0.02), color=RED, ha="right", fontsize=7)
    axes[3].axvline(1, color=RED, linestyle="--", linewidth=0.9)
    axes[0].set_ylabel("success")
    axes[2].set_ylabel("success")
    axes[2].legend(loc="lower left", bbox_to_anchor=(0, 0.25))
    caption = (
        f"Fraction of {values.runs} random starts (filter on the sphere, output weights in the ball of Theorem 3.2) from "
        "which descent finds the teacher, with 95 % intervals; dotted, the paper's lower bound 1/4; green, the fraction of "
        "starts of which one of the four sign choices finds it."
    )
    return Picture("success", caption, figure)


STUDY = Study(
    id="convolutional_filter.success-probability",
    place="Theorems 3.2 and 3.3, and the text of Section 1",
    title="how often random starts succeed",
    question="With which probability does descent from a random start find the teacher, how does it depend on the "
    "teacher's sum, the sizes and the step, and does one of four sign choices always succeed?",
    settings=(
        printed("p", 20, note="size of the filter, as in Figure 1b, where it is not varied"),
        printed("k", 25, note="number of patches, as in Figure 1b, where it is not varied"),
        chosen("ratio", 1.0, note="(1·a*)²/|a*|² where it is not varied"),
        chosen("step", 0.4, note="in units of 4π/(k+π−1), where it is not varied"),
        chosen(
            "ratios",
            (1e-4, 1e-2, 0.1, 0.3, 1.0, 2.0, 4.0, 6.0, 9.0, 25.0),
            paper=(1e-4, 1e-3, 1e-2, 0.03, 0.1, 0.3, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 12.0, 25.0),
        ),
        chosen("filter_sizes", (2, 20, 1000), paper=(2, 3, 5, 10, 20, 50, 100, 300, 1000, 10000)),
        chosen("patch_numbers", (2, 25, 100), paper=(2, 3, 5, 10, 25, 50, 100, 200)),
        chosen("steps", (0.05, 0.2, 0.6, 0.95, 1.05), paper=(0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.95, 1.05)),
        chosen("runs", 250, paper=2000, note="starts per cell"),
        chosen("horizon", 1500, note="step limit times the step"),
    ),
    pieces=_pieces,
    measure=_measure,
    conclude=_conclude,
)
