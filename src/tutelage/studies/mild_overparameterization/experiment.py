"""Section 4.2: the minima that descent reaches for n = k, their norms and their curvatures; Figure 1."""

import numpy as np
import polars as pl

from tutelage.dynamics import GradientDescent, descend, descend_to_minima, gradient_norm, step_limit
from tutelage.geometry import atlas
from tutelage.plot import BLUE, GREY, ORANGE, panels
from tutelage.starts import large_norm, xavier
from tutelage.studies.base import Arrays, Conclusion, Picture, Pieces, Study, Values, chosen, printed
from tutelage.studies.expectations import above, at_least, below, described
from tutelage.studies.mild_overparameterization.common import objective_of, tables_of
from tutelage.studies.tables import table

_NUMBERS = ("count", "loss", "norm_sum", "smallest_eigenvalue", "split_curvature", "index")


def _pieces(values: Values):
    # The small ones first: an interrupted run at paper scale, of which the last pieces take most of the time, has them all.
    return {f"{kind}-{k}": {"kind": kind, "k": k} for k in sorted(values.neurons) for kind in ("xavier", "large")}


def _measure(values: Values, seed: int, kind: str, k: int) -> Arrays:
    objective = objective_of(k, k)
    problem = objective.problem
    extra = {}
    if kind == "xavier":
        starts, step = xavier(problem, values.runs, seed=seed), values.step / k
    else:
        starts, step = large_norm(problem, values.large_runs, 2 * k**2, seed=seed), values.large_step / k
        same = descend(objective, starts, GradientDescent(values.step / k), gradient_norm(1e-6) | step_limit(2000))
        extra["same_step_diverged"] = same.statuses == "diverged"
        extra["same_step_converged"] = same.statuses == "converged"
    runs = descend_to_minima(objective, starts, step, values.tolerance, values.steps)
    found = atlas(objective, runs)
    classes = found.table()
    return {
        **{name: classes[name].to_numpy() for name in _NUMBERS},
        "kind": np.array(classes["kind"].to_list(), dtype="U40"),
        "symmetry": np.array(classes["symmetry"].to_list(), dtype="U80"),
        **tables_of([entry.vectors for entry in found], [entry.structure.student_sizes for entry in found]),
        "run_norm_sum": np.linalg.norm(np.asarray(runs.points), axis=-1).sum(axis=-1),
        "run_loss": runs.losses,
        "run_steps": runs.steps,
        "run_converged": runs.statuses == "converged",
        "left_out": np.asarray(found.left_out),
        **extra,
    }


def _rows(arrays: Arrays, kind: str, k: int):
    names = ("count", "kind", "loss", "norm_sum", "smallest_eigenvalue", "split_curvature", "symmetry")
    for entry in zip(*(arrays[name].tolist() for name in names), strict=True):
        yield {"k": k, "starts": kind, **dict(zip(names, entry, strict=True))}


def _spread(arrays: Arrays) -> float:
    """The largest difference of a run's norm sum from the closest one of a class, of the runs that have converged."""
    sums = arrays["run_norm_sum"][arrays["run_converged"]]
    return float(np.abs(sums[:, None] - arrays["norm_sum"]).min(axis=1).max(initial=0.0))


def _conclude(values: Values, pieces: Pieces) -> Conclusion:
    frame = table(_pieces(values), pieces, _rows).sort("k", "starts", "loss")
    spurious = frame.filter(pl.col("loss") > 1e-9)
    excess = (frame["norm_sum"] - frame["k"]).to_numpy()
    relative = (spurious["norm_sum"] / spurious["k"]).to_numpy()
    converged = np.concatenate([arrays["run_converged"] for arrays in pieces.values()])
    standard_converged = np.concatenate([pieces[f"xavier-{k}"]["run_converged"] for k in values.neurons])
    spread = max(_spread(arrays) for arrays in pieces.values())
    diverged, settled = (
        np.concatenate([pieces[f"large-{k}"][f"same_step_{status}"] for k in values.neurons])
        for status in ("diverged", "converged")
    )
    smallest = frame["smallest_eigenvalue"].to_numpy().min()
    curvature = spurious["split_curvature"].to_numpy()
    expectations = (
        at_least("share of Xavier runs that reach the gradient norm with step 5/k", 1, standard_converged.mean()),
        described(
            "share of runs from large norm sums that step 5/k brings to a gradient norm of 1e-6",
            "all were run with the fixed step 5/k to the end",
            settled.mean(),
            settled.all(),
            "all of them",
        ),
        below(
            "largest difference of a run's norm sum from that of its class",
            "points of a class agree up to a Frobenius norm of 5e-9",
            spread,
            5e-9,
        ),
        below(
            "largest norm sum over k², over all classes",
            "at most 1: there are no minima with a larger norm sum (Proposition 1)",
            (frame["norm_sum"] / frame["k"] ** 2).to_numpy().max(),
            1,
        ),
        above(
            "smallest eigenvalue of the Hessian over all classes of points reached",
            "positive, always: all are minima",
            smallest,
            0,
        ),
        below(
            "largest norm sum minus k, over all classes",
            "at most 0: the bound holds for all minima found",
            excess.max(),
            1e-9,
        ),
        described(
            "norm sum over k at the spurious minima, median",
            "tightly concentrated slightly below k",
            np.median(relative),
            0.9 < np.median(relative) < 1,
            "between 0.9 and 1",
        ),
        below(
            "largest, over spurious minima and neurons, of the smallest eigenvalue of H′ᵢᵢ",
            "negative: every block of every minimum has a negative eigenvalue, and every split is a saddle",
            curvature.max(),
            0,
        ),
    )
    standard = spurious.filter(starts="xavier")
    counts = standard.group_by("k").agg(pl.len().alias("classes"), pl.col("count").sum().alias("runs")).sort("k")
    remarks = (
        f"{converged.mean():.1%} of {len(converged)} runs, those from large norm sums with step {values.large_step:g}/k, reached a gradient norm of {values.tolerance:g} within {values.steps:,} "
        "steps; the others are not counted.",
        "Spurious classes found from Xavier starts: "
        + ", ".join(f"{row['classes']} for k = {row['k']}" for row in counts.iter_rows(named=True))
        + ".",
        "At a global minimum every H′ᵢᵢ is zero, so that the statement on negative eigenvalues is about the spurious ones.",
        f"From starts with a norm sum of 2k² the step 5/k {'diverges in ' + format(diverged.mean(), '.0%') if diverged.any() else 'never diverges'}"
        f" of the runs and brings {settled.mean():.0%} of them to a gradient norm of 1e-6 within 2,000 steps; they are followed "
        f"with {values.large_step:g}/k.",
    )
    return Conclusion(expectations, (_histograms(values, pieces), _curvatures(frame)), {"minima": frame}, remarks)


def _histograms(values: Values, pieces: Pieces) -> Picture:
    figure, axes = panels(columns=len(values.shown), width=2.4, height=2.3)
    for panel, k in zip(axes, values.shown, strict=True):
        arrays = pieces[f"xavier-{k}"]
        kept = arrays["run_converged"] & (arrays["run_loss"] > 1e-9)
        sums = arrays["run_norm_sum"][kept] / k
        panel.hist(sums, bins=20, color=BLUE) if sums.size else panel.plot([], [])
        panel.axvline(1, color=GREY, linestyle="--", linewidth=1)
        panel.set(title=f"$k = {k}$, {kept.mean():.0%} of runs", xlabel=r"$\sum_i \|w_i\|/k$")
        panel.ticklabel_format(useOffset=False)
    axes[0].set_ylabel("runs")
    caption = (
        "Sums of the Euclidean norms of the neurons at the points that descent reaches from Xavier starts, as fractions of k: spurious "
        "minima (bars) and the global one (dashed line)."
    )
    return Picture("norm-sums", caption, figure)


def _curvatures(frame: pl.DataFrame) -> Picture:
    figure, axes = panels(columns=3, width=2.5, height=2.3)
    spurious = frame.filter(pl.col("loss") > 1e-9)
    for panel, name, label, rows in (
        (axes[0], "loss", "loss", spurious),
        (axes[1], "smallest_eigenvalue", "smallest eigenvalue", frame),
        (axes[2], "split_curvature", "split curvature", spurious),
    ):
        # Rings around dots: most classes are reached from both kinds of starts.
        for kind, title, marker, colour, inside in (
            ("xavier", "Xavier starts", ".", BLUE, BLUE),
            ("large", "large starts", "o", ORANGE, "none"),
        ):
            own = rows.filter(starts=kind)
            panel.plot(own["k"], own[name], marker, color=colour, markerfacecolor=inside, label=title)
        panel.axhline(0, color=GREY, linewidth=0.8)
        panel.set(xlabel="$k$", ylabel=label)
    axes[2].legend(loc="best")
    caption = (
        "Every class of minima, by k and kind of start. Left: loss. Middle: smallest eigenvalue of the Hessian. Right: the largest, over "
        "the neurons, of the smallest eigenvalues of H′ᵢᵢ, whose negativity makes every split a saddle; spurious minima only."
    )
    return Picture("curvatures", caption, figure)


STUDY = Study(
    id="mild_overparameterization.experiment",
    place="Section 4.2 and Figure 1",
    title="the minima that descent reaches",
    question="For n = k, are all points that descent reaches minima with a norm sum of at most k, and does every neuron's block H′ᵢᵢ "
    "have a negative eigenvalue?",
    settings=(
        printed("neurons", tuple(range(6, 101)), quick=(6, 8, 10, 12, 15, 20), note="k = n"),
        printed("runs", 500, quick=100, note="Xavier starts for each k"),
        printed("step", 5, note="times 1/k"),
        printed("tolerance", 1e-12, note="gradient norm"),
        printed("large_runs", 100, quick=20, note="starts with a norm sum of 2k²"),
        chosen("large_step", 2.5, note="times 1/k, for these starts"),
        chosen("steps", 30_000, paper=100_000, note="most steps of a run"),
        printed("shown", (20, 50, 100), quick=(10, 15, 20), note="values of k in Figure 1"),
    ),
    pieces=_pieces,
    measure=_measure,
    conclude=_conclude,
)
