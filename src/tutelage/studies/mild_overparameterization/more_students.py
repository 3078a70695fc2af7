"""The effect that the paper sets out to explain: one or two students more, and spurious minima all but vanish."""

import numpy as np
import polars as pl

from tutelage.dynamics import descend_to_minima
from tutelage.geometry import atlas
from tutelage.plot import COLOURS, intervals, panels
from tutelage.starts import xavier
from tutelage.studies.base import Arrays, Conclusion, Picture, Pieces, Study, Values, chosen, printed
from tutelage.studies.expectations import above, at_most, described
from tutelage.studies.mild_overparameterization.common import SPURIOUS, objective_of
from tutelage.studies.tables import share, table

_NUMBERS = ("count", "loss", "norm_sum", "smallest_eigenvalue", "split_curvature")
# Largest number of students for which the paper says that none were found with two more (Table 2 of Safran and Shamir, 2017).
_PRINTED = 20


def _pieces(values: Values):
    # The small ones first: of an interrupted run at paper scale the data set of minima takes what is there.
    return {f"k{k}-n{k + extra}": {"k": k, "n": k + extra} for k in sorted(values.neurons) for extra in (0, 1, 2)}


def _measure(values: Values, seed: int, k: int, n: int) -> Arrays:
    objective = objective_of(k, n)
    step = values.step / n
    # With more students than teachers the loss falls to zero as a power of the number of steps, so that runs on their way
    # to a global minimum are ended at a small gradient; the others, some of which are close to a saddle, are followed on.
    runs = descend_to_minima(objective, xavier(objective.problem, values.runs, seed=seed), step, 1e-5, values.steps)
    points, losses, steps = np.array(runs.points), np.array(runs.losses), np.array(runs.steps)
    converged = runs.statuses == "converged"
    classes = []
    if len(high := np.flatnonzero(losses > SPURIOUS)):
        rest = descend_to_minima(objective, points[high], step, values.tolerance, values.steps)
        points[high], losses[high], converged[high] = rest.points, rest.losses, rest.statuses == "converged"
        steps[high] += rest.steps
        classes = [entry for entry in atlas(objective, rest) if entry.loss > SPURIOUS]
    return {
        "loss": losses,
        "converged": converged,
        "steps": steps,
        "distance": _distances(points[losses <= SPURIOUS]),
        "students": np.array([entry.vectors for entry in classes]).reshape(-1, n, k),
        **{f"class_{name}": np.array([getattr(entry, name) for entry in classes], float) for name in _NUMBERS},
    }


def _distances(points: np.ndarray) -> np.ndarray:
    """How far students are at most from the global minima: each neuron has a share of the teacher that it sees most."""
    owners = np.eye(points.shape[-1])[points.argmax(axis=-1)]
    along = owners * np.maximum(points, 0.0)
    totals = along.sum(axis=1, keepdims=True)
    nearest = along / np.where(totals > 0, totals, 1.0)
    away = np.linalg.norm(points - nearest, axis=(1, 2))
    return np.where((totals > 0).all(axis=(1, 2)), away, np.inf)


def _rows(arrays: Arrays, k: int, n: int):
    yield {
        "k": k,
        "extra": n - k,
        "runs": len(arrays["loss"]),
        **share("spurious", arrays["loss"] > SPURIOUS),
        "unsettled": (~arrays["converged"]).mean(),
        "median_steps": np.median(arrays["steps"]),
    }


def _classes(values: Values, pieces: Pieces) -> pl.DataFrame:
    """One row per class of spurious minima."""
    named = [(one, pieces[name]) for name, one in _pieces(values).items()]
    sizes = [len(arrays["students"]) for _, arrays in named]
    columns = {
        "k": np.repeat([one["k"] for one, _ in named], sizes),
        "extra": np.repeat([one["n"] - one["k"] for one, _ in named], sizes),
        **{name: np.concatenate([arrays[f"class_{name}"] for _, arrays in named]) for name in _NUMBERS},
    }
    return pl.DataFrame(columns).sort("extra", "k", "loss")


def _conclude(values: Values, pieces: Pieces) -> Conclusion:
    frame, classes = table(_pieces(values), pieces, _rows).sort("extra", "k"), _classes(values, pieces)
    exact, one, two = (frame.filter(extra=extra)["spurious"].to_numpy() for extra in (0, 1, 2))
    last = frame.filter(k=max(values.neurons)).sort("extra")
    largest, low, high = last["spurious"].to_list(), last["low"].to_list(), last["high"].to_list()
    printed_range = frame.filter((pl.col("extra") == 2) & (pl.col("k") <= _PRINTED - 2))
    expectations = (
        above(
            f"share of runs that end at a spurious minimum, n = k = {max(values.neurons)}",
            "descent does tend to get stuck in them when n = k",
            largest[0],
            0.5,
        ),
        described(
            f"the same for k = {max(values.neurons)} and n = k, k + 1, k + 2",
            "adding one or two neurons significantly improves the probability to recover global minima",
            ", ".join(f"{share:.1%}" for share in largest),
            low[0] > high[1] and low[0] > high[2],
            "95 % intervals apart",
        ),
        described(
            "the same, mean over all k",
            "fewer with each neuron",
            f"{exact.mean():.1%}, {one.mean():.1%}, {two.mean():.1%}",
            exact.mean() > one.mean() >= two.mean(),
        ),
        at_most(
            f"runs that end at a spurious minimum with n = k + 2 ≤ {_PRINTED}",
            0,
            (printed_range["spurious"] * printed_range["runs"]).sum(),
        ),
    )
    beyond = classes.filter(pl.col("extra") > 0)
    counted = ", ".join(f"{len(own)} for k = {k}" for (k,), own in beyond.group_by("k", maintain_order=True)) or "none"
    away = max(float(arrays["distance"].max(initial=0.0)) for arrays in pieces.values())
    remarks = [
        f"For n = k the share of spurious ends grows with k, to {exact[-1]:.0%} at k = {max(values.neurons)}.",
        f"Runs with a loss of at most {SPURIOUS:g} are within {away:.2g} of a global minimum.",
        f"Classes of spurious minima with more students than teachers: {counted}.",
    ]
    if len(beyond):
        curvature = beyond["split_curvature"].to_numpy().max()
        remarks.append(
            f"There the largest, over classes and neurons, of the smallest eigenvalues of H′ᵢᵢ is {curvature:.2g}"
            + (": every split of every neuron is a saddle." if curvature < 0 else ".")
        )
    figure, (panel,) = panels(width=4.2)
    for extra, colour in zip((0, 1, 2), COLOURS, strict=False):
        own = frame.filter(extra=extra)
        label = "$n = k$" if not extra else f"$n = k + {extra}$"
        intervals(own["k"], own["spurious"], own["low"], own["high"], panel, color=colour, label=label)
    panel.set(xlabel="teachers, $k$", ylabel="share of spurious ends", ylim=(-0.02, None))
    panel.legend(loc="upper left")
    caption = (
        f"Fraction of {values.runs} Xavier starts from which descent ends at a spurious minimum, with 95 % intervals, for as many students "
        "as teachers and for one or two more."
    )
    return Conclusion(
        expectations,
        (Picture("more-students", caption, figure),),
        {"spurious": frame, "minima": classes},
        tuple(remarks),
    )


STUDY = Study(
    id="mild_overparameterization.more-students",
    place="Sections 1 and 4.1: the effect to be explained",
    title="a student or two more",
    question="Which share of runs ends at a spurious minimum with n = k, k + 1 and k + 2 students?",
    settings=(
        printed("inputs", "standard Gaussian, orthonormal teachers, d = k"),
        chosen("neurons", (6, 12, 18), paper=tuple(range(6, 31)), note="k"),
        chosen("runs", 100, paper=500, note="Xavier starts, as in Section 4.2"),
        chosen("step", 5, note="times 1/n"),
        chosen("tolerance", 1e-12, note="gradient norm at spurious minima"),
        chosen("steps", 30_000, paper=100_000, note="most steps of a run"),
    ),
    pieces=_pieces,
    measure=_measure,
    conclude=_conclude,
)
