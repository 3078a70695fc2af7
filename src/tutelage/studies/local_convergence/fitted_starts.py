"""Algorithms 1 and 2: how many students, and how many samples, a good start takes."""

from functools import lru_cache

import numpy as np
import polars as pl
from matplotlib.lines import Line2D
from matplotlib.ticker import NullFormatter

from tutelage.claims.local_convergence import formulas as f
from tutelage.plot import BLACK, COLOURS, GREY, panels
from tutelage.problems import homogeneous
from tutelage.starts import fitted
from tutelage.starts.fitted import leading_axes, within
from tutelage.statistics import exponent
from tutelage.studies.base import Arrays, Conclusion, Picture, Pieces, Study, Values, chosen, printed
from tutelage.studies.expectations import above, below
from tutelage.studies.local_convergence.common import spread_teachers
from tutelage.studies.tables import table

_STYLES = ("-", "--", "-.")


def _pieces(values: Values):
    pieces, deep = {}, max(values.dimensions)
    for r in values.teachers:
        for d in values.sampled_dimensions:
            pieces[f"samples-r{r}-d{d}"] = {"kind": "samples", "r": r, "d": d, "n": 0}
        for n in values.budgets:
            pieces[f"subspace-r{r}-d{deep}-n{n}"] = {"kind": "subspace", "r": r, "d": deep, "n": n}
        # Algorithm 2 with its subspace known exactly is Algorithm 1 in dimension r.
        for d in sorted({r, *values.dimensions}):
            if d >= r:
                pieces[f"random-r{r}-d{d}"] = {"kind": "random", "r": r, "d": d, "n": 0}
    return pieces


def _teachers(r: int, d: int) -> np.ndarray:
    return spread_teachers(r, d, 1.0)


def _measure(values: Values, seed: int, kind: str, r: int, d: int, n: int) -> Arrays:
    teachers = _teachers(r, d)
    losses = []
    grid = values.samples if kind == "samples" else values.students
    for number in grid:
        if kind == "random":
            points = fitted(homogeneous(teachers, number), values.runs, seed)
        elif kind == "subspace":
            points = within(homogeneous(teachers, number), _axes(r, d, n, values.runs, seed), seed)
        else:
            points = within(homogeneous(teachers, values.many), _axes(r, d, number, values.runs, seed), seed)
        losses.append(f.loss(np.asarray(points), teachers))
    return {"grid": np.array(grid), "loss": np.maximum(np.stack(losses), 1e-16)}


@lru_cache
def _axes(r: int, d: int, n: int, runs: int, seed: int) -> np.ndarray:
    """The subspaces of Algorithm 2: nearly all of its time, and the same for all numbers of students."""
    return leading_axes(homogeneous(_teachers(r, d), 1), runs, n, seed=seed)


def _middle(arrays: Arrays) -> np.ndarray:
    return np.median(arrays["loss"], axis=1)


def _power(grid, middle) -> float:
    """Power with which a loss falls, without the first point of the grid."""
    return -exponent(grid[1:], middle[1:])


def _sample_power(values: Values, pieces: Pieces, r: int, d: int) -> float:
    """Power of 1/N with which the loss of Algorithm 2 falls towards that in the exact subspace.

    Without the first number of samples, which hardly tells the subspace, and where the difference can be told.
    """
    ideal = pieces[f"random-r{r}-d{r}"]
    floor = float(np.interp(values.many, ideal["grid"], _middle(ideal)))
    grid, excess = pieces[f"samples-r{r}-d{d}"]["grid"][1:], _middle(pieces[f"samples-r{r}-d{d}"])[1:] - floor
    told = excess > 0.2 * floor
    return -exponent(grid[told], excess[told]) if told.sum() > 1 else float("nan")


def _needed(grid, middle, loss: float) -> float | None:
    """Number of samples at which the median loss is reached, between those tried; none if it is not."""
    below = np.flatnonzero(middle <= loss)
    if not below.size or below[0] == 0:
        return None
    i = below[0]
    needed = np.exp(np.interp(-np.log(loss), -np.log(middle[i - 1 : i + 1]), np.log(grid[i - 1 : i + 1])))
    return float(f"{needed:.2g}")  # more digits would mean nothing


def _conclude(values: Values, pieces: Pieces) -> Conclusion:

    def rows(arrays: Arrays, kind: str, r: int, d: int, n: int):
        grid, middle = arrays["grid"], _middle(arrays)
        yield {
            "start": kind,
            "r": r,
            "d": d,
            "samples": n or None,
            "power": _sample_power(values, pieces, r, d) if kind == "samples" else _power(grid, middle),
            "printed_power": 0.5 if kind == "samples" else 2 / (d if kind == "random" else r),
            "last_loss": middle[-1],
        }

    def needed(arrays: Arrays, kind: str, r: int, d: int, n: int):
        if kind == "samples":
            for loss in values.losses:
                yield {"r": r, "d": d, "loss": loss, "samples": _needed(arrays["grid"], _middle(arrays), loss)}

    powers = table(_pieces(values), pieces, rows)
    return Conclusion(
        _expectations(values, pieces, powers),
        (_picture(values, pieces),),
        {"powers": powers, "samples_needed": table(_pieces(values), pieces, needed)},
        _remarks(values, pieces, powers),
    )


def _expectations(values: Values, pieces: Pieces, powers: pl.DataFrame):
    deep = max(values.dimensions)

    def excess(frame: pl.DataFrame) -> float:
        return float((frame["power"] - frame["printed_power"]).to_numpy().min())

    gains = [
        _middle(pieces[f"subspace-r{r}-d{deep}-n{max(values.budgets)}"])[-1]
        / _middle(pieces[f"random-r{r}-d{deep}"])[-1]
        for r in values.teachers
    ]
    return (
        above(
            "Algorithm 1: power of 1/m with which the loss falls, minus the printed 2/d, smallest",
            "at least 0 (Lemma E.1)",
            excess(powers.filter(start="random")),
            -0.1,
            "0.1 for sampling",
        ),
        above(
            "Algorithm 2 in its subspace, known exactly: power of 1/m, minus the printed 2/r, smallest",
            "at least 0 (Lemma E.5)",
            excess(powers.filter(start="random", d=pl.col("r"))),
            -0.1,
            "0.1 for sampling",
        ),
        above(
            "Algorithm 2: power of 1/N with which the loss falls to that in the exact subspace, smallest",
            "at least 1/2 (Lemma E.5: N ~ 1/ε²)",
            powers.filter(start="samples")["power"].to_numpy().min(),
            0.4,
            "0.1 for sampling",
        ),
        below(
            f"loss of Algorithm 2 over that of Algorithm 1, d = {deep}, most students and samples: largest",
            "a power of r instead of d: far smaller",
            max(gains),
            0.3,
        ),
    )


def _remarks(values: Values, pieces: Pieces, powers: pl.DataFrame) -> tuple[str, ...]:
    deep = max(values.dimensions)
    exact = {d: powers.filter(start="random", d=d)["power"].to_numpy().mean() for d in values.dimensions if d <= 3}
    measured = " and ".join(f"m^-{power:.1f} (d = {d})" for d, power in exact.items())
    late = powers.filter(start="samples")["power"].to_numpy()
    parts = []
    for r in values.teachers:
        ideal = _middle(pieces[f"random-r{r}-d{r}"])[-1]
        sampled = _middle(pieces[f"subspace-r{r}-d{deep}-n{max(values.budgets)}"])[-1]
        parts.append(f"{sampled:.1g} for r = {r} ({ideal:.1g} in the exact subspace)")
    return (
        f"In low dimensions the loss falls like {measured}, faster than the printed m^(-2/d): neighbours of a teacher share its mass, so that the loss is the cube of their angle (Claim 2) and not its square, which gives the "
        "power 3/(d−1) for many students.",
        f"Inside its subspace Algorithm 2 is Algorithm 1 in dimension r, whatever d. In dimension {deep} {max(values.students)} students with {max(values.budgets):,} samples reach {', '.join(parts)}.",
        f"With more samples the loss falls to that in the exact subspace like N^-{np.nanmin(late):.1f} to N^-{np.nanmax(late):.1f}: about N ~ 1/ε samples are needed, where the lemma asks for 1/ε².",
    )


def _picture(values: Values, pieces: Pieces) -> Picture:
    figure, axes = panels(columns=3, width=2.7, height=2.6)
    left, middle, right = axes
    styles = dict(zip(values.teachers, _STYLES, strict=False))
    dimensions = sorted({*values.teachers, *values.dimensions})
    colours = {
        "random": dict(zip(dimensions, COLOURS, strict=False)),
        "subspace": dict(zip(values.budgets, COLOURS, strict=False)),
        "samples": dict(zip(values.sampled_dimensions, COLOURS, strict=False)),
    }
    for name, arguments in _pieces(values).items():
        kind, r, d, n = (arguments[key] for key in ("kind", "r", "d", "n"))
        grid, loss, style = pieces[name]["grid"], _middle(pieces[name]), f"o{styles[r]}"
        axis = {"random": left, "subspace": middle, "samples": right}[kind]
        colour = colours[kind][n if kind == "subspace" else d]
        axis.loglog(grid / d if kind == "samples" else grid, loss, style, color=colour, markersize=3)
        if kind == "random" and d == r:
            middle.loglog(grid, loss, style, color=BLACK, markersize=3)
    students = np.array(values.students, float)
    left.loglog(students, 3 * students**-3.0, ":", color=GREY)
    ratio = np.array(
        [values.samples[0] / max(values.sampled_dimensions), values.samples[-1] / min(values.sampled_dimensions)]
    )
    for power in (0.5, 1.0):
        right.loglog(ratio, 2 * (ratio / ratio[0]) ** -power, ":", color=GREY)
    left.set(xlabel="students $m$", ylabel="loss of the start", title="Algorithm 1")
    middle.set(xlabel="students $m$", title=f"Algorithm 2, d = {max(values.dimensions)}")
    right.set(xlabel="samples over dimension $N/d$", title=f"Algorithm 2, m = {values.many}")
    for axis in (left, middle):
        axis.set_xticks(values.students, [str(m) for m in values.students])
        axis.xaxis.set_minor_formatter(NullFormatter())
    names = {
        "random": [f"d = {d}" for d in colours["random"]],
        "subspace": [f"N = {n:,}" for n in values.budgets],
        "samples": [f"d = {d}" for d in values.sampled_dimensions],
    }
    for axis, (kind, labels) in zip(axes, names.items(), strict=True):
        lines = [Line2D([], [], color=colour) for colour in colours[kind].values()]
        if kind == "subspace":
            lines, labels = [*lines, Line2D([], [], color=BLACK)], [*labels, "exact"]
        lines += [Line2D([], [], color=GREY, linestyle=style) for style in styles.values()]
        labels = [*labels, *(f"r = {r}" for r in values.teachers)]
        axis.legend(lines, labels, loc="lower left", fontsize=6.5, handlelength=2.4)
        # Room for the legend below the curves.
        low, high = axis.get_ylim()
        axis.set_ylim(low * (low / high) ** 0.35, high)
    caption = (
        f"Median loss of starts with fitted norms, {values.runs} starts per point, unit teachers with angles of 1 in a chain. Left: Algorithm 1 against the number of students; dotted, m^-3, the power in the plane. Middle: "
        f"Algorithm 2 in dimension {max(values.dimensions)} against the number of students, with N samples; black: in the exact subspace. Right: Algorithm 2 with {values.many} students against samples over dimension; dotted, "
        "the powers 1/2 (Lemma E.5) and 1."
    )
    return Picture("fitted-starts", caption, figure)


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
        chosen(
            "budgets", (1000, 100_000), paper=(1000, 10_000, 100_000, 1_000_000), note="samples of the middle panel"
        ),
        chosen("samples", (100, 1000, 10_000, 100_000), paper=(100, 1000, 10_000, 100_000, 1_000_000)),
        chosen("sampled_dimensions", (5, 20), paper=(5, 10, 20), note="of the right panel"),
        chosen("losses", (0.1, 0.03), paper=(0.1, 0.03, 0.01), note="for which the samples needed are tabled"),
        chosen("many", 32, paper=128, note="students of the right panel"),
        chosen("runs", 12, paper=200),
    ),
    pieces=_pieces,
    measure=_measure,
    conclude=_conclude,
)
