"""Beyond the theory: random starts of every scale, and how much of the students' mass comes to match a teacher."""

from collections.abc import Mapping

import numpy as np
import polars as pl

from tutelage.dynamics import GradientDescent, descend, step_limit
from tutelage.objectives import population
from tutelage.plot import COLOURS, panels
from tutelage.problems import homogeneous
from tutelage.studies.base import Arrays, Conclusion, Picture, Study, Values, chosen
from tutelage.studies.expectations import described
from tutelage.studies.local_convergence.common import own_angles, spread_teachers, stray_mass


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
    # A step that is stable for the large starts too.
    runs = descend(
        population(homogeneous(teachers, m)), starts, GradientDescent(values.step / r), step_limit(values.iterations)
    )
    ends = np.asarray(runs.points)
    return {
        "scale": scale,
        "loss": np.asarray(runs.losses),
        "stray": stray_mass(ends, teachers, values.matched),
        "matching": np.mean(own_angles(ends, teachers) < values.matched, axis=1),
        "diverged": runs.statuses == "diverged",
    }


def _conclude(values: Values, pieces: Mapping[str, Arrays]) -> Conclusion:
    rows = []
    for name, arguments in _pieces(values).items():
        arrays = pieces[name]
        for scale in values.scales:
            own = arrays["scale"] == scale
            rows.append(
                {
                    "students": arguments["m"],
                    "scale": scale,
                    "matched_mass": float(np.mean(1 - arrays["stray"][own])),
                    "matched_students": float(arrays["matching"][own].mean()),
                    "success": float(np.mean((arrays["loss"] < values.solved)[own])),
                    "median_loss": float(np.median(arrays["loss"][own])),
                }
            )
    table = pl.DataFrame(rows)
    diverged = sum(int(pieces[name]["diverged"].sum()) for name in pieces)
    solved = [(pieces[name]["loss"] < values.solved) for name in pieces]
    strays = [pieces[name]["stray"] for name in pieces]
    worst = max((float(s[ok].max()) for s, ok in zip(strays, solved, strict=True) if ok.any()), default=float("nan"))
    expectations = (
        described(
            f"stray mass in runs with a loss below {values.solved:g}, largest",
            "small loss means that the mass matches (Lemma C.4)",
            worst,
            worst < 0.2,
            "below 0.2",
        ),
    )

    def average(frame: pl.DataFrame, column: str) -> float:
        return float(frame[column].to_numpy().mean())

    few = table.filter(pl.col("students") == min(values.students))
    many = table.filter(pl.col("students") == max(values.students))
    remarks = (
        f"{average(few, 'success'):.0%} of the runs with {min(values.students)} students and {average(many, 'success'):.0%} of those with "
        f"{max(values.students)} reach a loss below {values.solved:g}, from starts of every scale: nothing like the small loss that the "
        "theory asks for is needed here.",
        f"With {min(values.students)} students {average(few, 'matched_students'):.0%} of them match a teacher at the end, with "
        f"{max(values.students)} only {average(many, 'matched_students'):.0%}, but {average(many, 'matched_mass'):.0%} of the mass: what "
        "does not match is small and turns slowly.",
        f"{diverged} runs diverged at this step.",
    )
    figure, (left, middle, right) = panels(columns=3, width=2.7, height=2.5)
    for m, colour in zip(values.students, COLOURS, strict=False):
        own = table.filter(pl.col("students") == m).sort("scale")
        left.semilogx(own["scale"], own["matched_students"], "o-", color=colour, label=f"m = {m}")
        middle.semilogx(own["scale"], own["matched_mass"], "o-", color=colour)
        right.loglog(own["scale"], np.maximum(own["median_loss"].to_numpy(), 1e-16), "o-", color=colour)
    left.set(xlabel="scale of the start", ylabel=f"students within {values.matched:g} of a teacher", ylim=(-0.05, 1.05))
    left.legend(loc="lower right", fontsize=7)
    middle.set(xlabel="scale of the start", ylabel=f"mass within {values.matched:g} of a teacher", ylim=(-0.05, 1.05))
    right.set(xlabel="scale of the start", ylabel="median loss")
    caption = (
        f"{values.teachers} orthonormal teachers in dimension {values.dimension}, {values.runs} Gaussian starts a point, {values.iterations:,} steps. Scale: square root of the students' mass over the teachers'. Left: fraction of the "
        "students along a teacher. Middle: fraction of the students' mass along a teacher. Right: median loss at the end, where 1e-16 stands for what rounding hides."
    )
    return Conclusion(expectations, (Picture("random-starts", caption, figure),), {"runs": table}, remarks)


STUDY = Study(
    id="local_convergence.random-starts",
    place="beyond the theory",
    title="matching from random starts of every scale",
    question="From random starts of every scale, how often does descent find a small loss, and how much of the mass then matches a teacher?",
    settings=(
        chosen("teachers", 5),
        chosen("dimension", 10),
        chosen("students", (5, 10, 20)),
        chosen("scales", (0.01, 0.1, 0.5, 1.0, 2.0), paper=(0.001, 0.01, 0.1, 0.3, 0.5, 1.0, 2.0)),
        chosen("runs", 16, paper=200),
        chosen("step", 0.2),
        chosen("iterations", 3000, paper=100_000),
        chosen("solved", 1e-3, paper=1e-6),
        chosen("matched", 0.2),
    ),
    pieces=_pieces,
    measure=_measure,
    conclude=_conclude,
    beyond=True,
)
