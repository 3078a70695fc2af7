"""Beyond the theory: random starts of every scale, and how much of the students' mass comes to match a teacher."""

import numpy as np
import polars as pl

from tutelage.dynamics import AcceleratedDescent, descend, loss_below, step_limit
from tutelage.objectives import population
from tutelage.plot import COLOURS, panels
from tutelage.problems import homogeneous
from tutelage.studies.base import Arrays, Conclusion, Picture, Pieces, Study, Values, chosen
from tutelage.studies.expectations import below
from tutelage.studies.local_convergence.common import own_angles, spread_teachers, stray_mass
from tutelage.studies.tables import table

_FLOOR = 1e-8


def _pieces(values: Values):
    return {f"m{m}": {"m": m} for m in values.students}


def _measure(values: Values, seed: int, m: int) -> Arrays:
    random = np.random.default_rng([seed, m])
    r, d = values.teachers, values.dimension
    teachers = spread_teachers(r, d)
    scale = np.repeat(values.scales, values.runs)
    # At scale one the students have the mass of the teachers.
    starts = random.normal(size=(len(scale), m, d))
    starts *= (scale * np.sqrt(r))[:, None, None] / np.linalg.norm(starts, axis=(1, 2), keepdims=True)
    # Plain descent would leave small students on their way; a step that is stable for the large starts too.
    method, stop = AcceleratedDescent(values.step / r), loss_below(values.enough) | step_limit(values.iterations)
    runs = descend(population(homogeneous(teachers, m)), starts, method, stop)
    angles = own_angles(np.asarray(runs.points), teachers)
    return {
        "scale": scale,
        "loss": np.asarray(runs.losses),
        "steps": np.asarray(runs.steps),
        "stray": stray_mass(np.asarray(runs.points), teachers, values.matched),
        "matching": np.mean(angles < values.matched, axis=1),
        "close": np.mean(angles < values.close, axis=1),
        "diverged": runs.statuses == "diverged",
    }


def _conclude(values: Values, pieces: Pieces) -> Conclusion:

    def rows(arrays: Arrays, m: int):
        for scale in values.scales:
            own = arrays["scale"] == scale
            yield {
                "students": m,
                "scale": scale,
                "matched_students": arrays["matching"][own].mean(),
                "close_students": arrays["close"][own].mean(),
                "stray_mass": arrays["stray"][own].max(),
                "success": np.mean((arrays["loss"] < values.solved)[own]),
                "median_loss": np.median(arrays["loss"][own]),
                "median_steps": np.median(arrays["steps"][own]),
            }

    frame = table(_pieces(values), pieces, rows)
    solved = np.concatenate([arrays["stray"][arrays["loss"] < values.solved] for arrays in pieces.values()])
    expectations = (
        below(
            f"stray mass in runs with a loss below {values.solved:g}, largest",
            "small loss means that the mass matches (Lemma C.4)",
            solved.max() if solved.size else np.nan,
            0.01,
        ),
    )
    remarks = _remarks(values, frame, sum(int(arrays["diverged"].sum()) for arrays in pieces.values()))
    return Conclusion(expectations, (_picture(values, frame),), {"runs": frame}, remarks)


def _remarks(values: Values, runs: pl.DataFrame, diverged: int) -> tuple[str, ...]:
    def average(frame: pl.DataFrame, column: str) -> float:
        return float(frame[column].to_numpy().mean())

    few = runs.filter(students=min(values.students))
    many = runs.filter(students=max(values.students))
    return (
        f"{average(few, 'success'):.0%} of the runs with {min(values.students)} students and {average(many, 'success'):.0%} of those with "
        f"{max(values.students)} reach a loss below {values.solved:g}, from starts of every scale: nothing like the small loss that the "
        "theory asks for is needed here.",
        f"With {min(values.students)} students {average(few, 'matched_students'):.1%} of them end within {values.matched:g} of a teacher, with "
        f"{max(values.students)} {average(many, 'matched_students'):.1%}; the others have next to no mass. Within {values.close:g} they are "
        f"{average(few, 'close_students'):.0%} and {average(many, 'close_students'):.0%}: at a given loss more students have more room.",
        f"Runs are those of accelerated descent (plain descent takes tens of times the steps); {diverged} diverged.",
    )


def _picture(values: Values, runs: pl.DataFrame) -> Picture:
    figure, (left, middle, right) = panels(columns=3, width=2.7, height=2.5)
    # Curves of fewer students lie below, with larger markers, where they coincide.
    for m, colour, size in zip(values.students, COLOURS, (8, 5.5, 3.5, 2), strict=False):
        own = runs.filter(students=m).sort("scale")
        left.semilogx(own["scale"], own["matched_students"], "o-", color=colour, markersize=size, label=f"m = {m}")
        left.semilogx(own["scale"], own["close_students"], "s--", color=colour, markersize=3, linewidth=0.8)
        # Zero is drawn at the lower edge.
        middle.loglog(
            own["scale"], np.maximum(own["stray_mass"].to_numpy(), _FLOOR), "o-", color=colour, markersize=size
        )
        right.loglog(own["scale"], own["median_steps"], "o-", color=colour, markersize=size)
    least = float(runs["close_students"].to_numpy().min())
    left.set(xlabel="scale of the start", ylabel="students at a teacher", ylim=(min(least, 0.9) - 0.1, 1.02))
    left.legend(loc="lower right", fontsize=7)
    middle.set(xlabel="scale of the start", ylabel=f"mass beyond {values.matched:g}, largest", ylim=(0.5 * _FLOOR, 1))
    right.set(xlabel="scale of the start", ylabel=f"steps to loss {values.enough:g}, median")
    right.set_ylim(0.5 * right.get_ylim()[0], 2 * right.get_ylim()[1])
    caption = (
        f"{values.teachers} orthonormal teachers in dimension {values.dimension}, {values.runs} Gaussian starts per point, accelerated descent to a loss of {values.enough:g} or {values.iterations:,} steps. Scale: square root of the "
        f"students' mass over the teachers'. Left: fraction of the students within {values.matched:g} of a teacher, and (dashed) within {values.close:g}. Middle: largest share of a run's mass further than {values.matched:g} from all "
        "teachers; at the lower edge, none. Right: median number of steps."
    )
    return Picture("random-starts", caption, figure)


STUDY = Study(
    id="local_convergence.random-starts",
    place="beyond the theory",
    title="matching from random starts of every scale",
    question="From random starts of every scale, how often does accelerated descent find a small loss, and how many students, with how much of the mass, then match a teacher?",
    settings=(
        chosen("teachers", 5),
        chosen("dimension", 10),
        chosen("students", (5, 10, 20)),
        chosen("scales", (0.01, 0.1, 0.5, 1.0, 2.0), paper=(0.001, 0.01, 0.1, 0.3, 0.5, 1.0, 2.0)),
        chosen("runs", 16, paper=200),
        chosen("step", 0.15, note="times 1/r; accelerated descent"),
        chosen("iterations", 4000, paper=40_000),
        chosen("enough", 1e-10, paper=1e-12, note="loss at which a run ends"),
        chosen("solved", 1e-6),
        chosen("matched", 0.2, note="angle at which a student matches a teacher"),
        chosen("close", 0.05, note="a stricter angle"),
    ),
    pieces=_pieces,
    measure=_measure,
    conclude=_conclude,
    beyond=True,
)
