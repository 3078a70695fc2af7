"""Algorithms 1 and 2: how many students, and how many samples, a good start takes."""

from collections.abc import Mapping

import numpy as np
import polars as pl
from matplotlib.ticker import NullFormatter

from tutelage.claims.local_convergence import formulas as f
from tutelage.plot import COLOURS, GREY, panels
from tutelage.problems import homogeneous
from tutelage.starts import fitted, subspace
from tutelage.studies.base import Arrays, Conclusion, Picture, Study, Values, chosen, printed
from tutelage.studies.expectations import described
from tutelage.studies.local_convergence.common import spread_teachers


def _pieces(values: Values):
    pieces = {}
    for r in values.teachers:
        for d in values.dimensions:
            if d >= r:
                pieces[f"random-r{r}-d{d}"] = {"kind": "random", "r": r, "d": d}
        pieces[f"subspace-r{r}-d{max(values.dimensions)}"] = {"kind": "subspace", "r": r, "d": max(values.dimensions)}
        pieces[f"samples-r{r}-d{max(values.dimensions)}"] = {"kind": "samples", "r": r, "d": max(values.dimensions)}
    return pieces


def _measure(values: Values, seed: int, kind: str, r: int, d: int) -> Arrays:
    teachers = spread_teachers(r, d, 1.0)
    losses = []
    grid = values.samples if kind == "samples" else values.students
    for number in grid:
        m = values.many if kind == "samples" else number
        problem = homogeneous(teachers, m)
        if kind == "random":
            points = fitted(problem, values.runs, seed)
        else:
            points = subspace(problem, values.runs, number if kind == "samples" else values.enough, seed=seed)
        losses.append(f.loss(np.asarray(points), teachers))
    return {"grid": np.array(grid), "loss": np.maximum(np.stack(losses), 1e-16)}


def _power(grid, loss):
    middle = np.median(loss, axis=1)
    use = slice(1, None)
    return float(-np.polyfit(np.log(grid[use]), np.log(middle[use]), 1)[0])


def _conclude(values: Values, pieces: Mapping[str, Arrays]) -> Conclusion:
    rows, checks = [], []
    for name, arguments in _pieces(values).items():
        arrays = pieces[name]
        power = _power(arrays["grid"], arrays["loss"])
        r, d, kind = arguments["r"], arguments["d"], arguments["kind"]
        effective = r if kind == "subspace" else d
        rows.append(
            {
                "start": kind,
                "r": r,
                "d": d,
                "power": power,
                "printed_power": 2 / effective if kind != "samples" else 0.5,
                "bracket_power": 3 / (effective - 1) if kind != "samples" else None,
                "last_loss": float(np.median(arrays["loss"][-1])),
            }
        )
        if kind == "random":
            checks.append(power - 2 / effective)
    table = pl.DataFrame(rows)
    sampled = table.filter(pl.col("start") == "samples")["power"].to_numpy()
    expectations = (
        described(
            "power of 1/m with which the loss of a start falls, minus the printed 2/d: smallest",
            "at least 0 (Lemma E.1)",
            float(min(checks)),
            min(checks) > -0.1,
            "0.1 for sampling",
        ),
        described(
            "power of 1/N with which the loss of Algorithm 2 falls, smallest",
            "at least 1/2 (Lemma E.5: N ~ 1/ε²)",
            float(sampled.min()),
            sampled.min() > 0.4,
            "0.1 for sampling",
        ),
    )
    deep = max(values.dimensions)
    gains = [
        float(np.median(pieces[f"subspace-r{r}-d{deep}"]["loss"][-1]))
        / float(np.median(pieces[f"random-r{r}-d{deep}"]["loss"][-1]))
        for r in values.teachers
    ]
    expectations += (
        described(
            f"loss of Algorithm 2 over that of Algorithm 1, d = {deep}, most students: largest",
            "a power of r instead of d: far smaller",
            max(gains),
            max(gains) < 0.3,
            "below 0.3",
        ),
    )
    plane = table.filter((pl.col("start") == "random") & (pl.col("d") == 2))["power"].to_numpy()
    remarks = (
        f"In the plane the loss falls like m^-{plane.mean():.1f}: the two neighbours of a teacher share its mass, so that the loss is the cube of their angle (Claim 2) and not its square, and the power is 3/(d−1), not 2/d.",
        "In higher dimensions Algorithm 1 gains little from more students, as its lemma says; in the estimated subspace a handful of students suffices, and the samples limit the loss.",
    )
    return Conclusion(
        expectations, (Picture("fitted-starts", _caption(values), _figure(values, pieces)),), {"powers": table}, remarks
    )


def _caption(values: Values) -> str:
    return (
        f"Median loss of starts with fitted norms, {values.runs} starts a point, unit teachers with angles of 1 in a chain. Left: Algorithm 1 against the number of students; dotted, m^-3, the power in the plane. Middle: Algorithm 2 in "
        f"dimension {max(values.dimensions)} with {values.enough:,} samples. Right: Algorithm 2 with {values.many} students against the number of samples; dotted, N^-1/2."
    )


def _figure(values: Values, pieces: Mapping[str, Arrays]):
    figure, (left, middle, right) = panels(columns=3, width=2.7, height=2.6)
    styles = dict(zip(values.teachers, ("-", "--", "-."), strict=False))
    colours = dict(zip(values.dimensions, COLOURS, strict=False))
    for name, arguments in _pieces(values).items():
        arrays = pieces[name]
        axis = {"random": left, "subspace": middle, "samples": right}[arguments["kind"]]
        label = f"r = {arguments['r']}" + (f", d = {arguments['d']}" if arguments["kind"] == "random" else "")
        colour = colours[arguments["d"]] if arguments["kind"] == "random" else COLOURS[arguments["r"] - 2]
        axis.loglog(
            arrays["grid"],
            np.median(arrays["loss"], axis=1),
            f"o{styles[arguments['r']]}",
            color=colour,
            markersize=3,
            label=label,
        )
    students = np.array(values.students, float)
    left.loglog(students, 3 * students**-3.0, ":", color=GREY)
    samples = np.array(values.samples, float)
    right.loglog(samples, 2 * samples**-0.5, ":", color=GREY)
    left.set(xlabel="students $m$", ylabel="loss of the start", title="Algorithm 1", ylim=(1e-8, 8))
    middle.set(xlabel="students $m$", title="Algorithm 2")
    right.set(xlabel="samples $N$", title="Algorithm 2")
    for axis in (left, middle):
        axis.set_xticks(values.students, [str(m) for m in values.students])
        axis.xaxis.set_minor_formatter(NullFormatter())
    for axis in (middle, right):
        axis.set_ylim(3e-3, 2)
        axis.legend(loc="upper right")
    left.legend(loc="lower left", fontsize=6.5, ncols=2, columnspacing=1.0)
    return figure


STUDY = Study(
    id="local_convergence.fitted-starts",
    place="Theorem 5, Algorithms 1 and 2",
    title="starts with fitted norms",
    question="Which loss do Algorithms 1 and 2 reach with a given number of students, and how many samples does Algorithm 2 need?",
    settings=(
        printed("algorithms", "1 (random) and 2 (subspace)"),
        chosen("teachers", (2, 3)),
        chosen("dimensions", (2, 3, 20), paper=(2, 3, 4, 6, 10, 20)),
        chosen("students", (4, 8, 16, 32), paper=(4, 8, 16, 32, 64, 128, 256)),
        chosen("samples", (100, 1000, 10_000), paper=(100, 1000, 10_000, 100_000, 1_000_000)),
        chosen("enough", 10_000, paper=1_000_000, note="samples for the middle panel"),
        chosen("many", 32, note="students for the right panel"),
        chosen("runs", 12, paper=200),
    ),
    pieces=_pieces,
    measure=_measure,
    conclude=_conclude,
)
