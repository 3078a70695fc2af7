"""Theorem 4 in practice: from which losses do all students find a teacher, and how fast does the loss fall?"""

import numpy as np
import polars as pl

from tutelage.claims.local_convergence import formulas as f
from tutelage.claims.local_convergence.descent import across
from tutelage.dynamics import AcceleratedDescent, GradientDescent, descend, loss_below, record, step_limit
from tutelage.objectives import population
from tutelage.plot import COLOURS, GREY, panels
from tutelage.problems import homogeneous
from tutelage.statistics import exponent
from tutelage.studies.base import Arrays, Conclusion, Picture, Pieces, Study, Values, chosen, printed
from tutelage.studies.expectations import above, below, described
from tutelage.studies.local_convergence.common import near_teachers, own_angles, spread_teachers, stray_mass
from tutelage.studies.tables import share, table


def _basins(values: Values):
    return {f"m{m}-delta{delta:g}": {"m": m, "delta": delta} for m in values.students for delta in values.separations}


def _pieces(values: Values):
    return _basins(values) | {"rates": {"m": 0, "delta": 0.0}}  # no basins: losses along single runs


def _measure(values: Values, seed: int, m: int, delta: float) -> Arrays:
    if not m:
        return _rates(values, seed)
    r, d = values.teachers, values.dimension
    random = np.random.default_rng([seed, m, int(1000 * delta)])
    teachers = spread_teachers(r, d, delta)
    scales = np.repeat(values.scales, values.runs)
    starts = near_teachers(random, teachers, m, scales)
    objective = population(homogeneous(teachers, m))
    runs = descend(objective, starts, GradientDescent(values.step / r), step_limit(values.iterations))
    # By now the runs are close to a minimum, but small students turn slowly: acceleration takes them to the end.
    stop = loss_below(values.enough) | step_limit(values.more)
    ended = descend(objective, runs.points, AcceleratedDescent(values.step / r), stop)
    plain, ends = np.asarray(runs.points), np.asarray(ended.points)
    return {
        "first": f.loss(starts, teachers),
        "plain_loss": np.asarray(runs.losses),
        "last": np.asarray(ended.losses),
        "plain_every": np.all(own_angles(plain, teachers) < values.matched, axis=1),
        "every": np.all(own_angles(ends, teachers) < values.matched, axis=1),
        "stray": stray_mass(ends, teachers, values.matched),
        "scale": scales,
    }


def _rates(values: Values, seed: int) -> Arrays:
    """Losses along runs: one student, two, four, and two of which one is exactly across the teacher."""
    random = np.random.default_rng([seed, 99])
    target = np.array([[1.0, 0.0]])
    sizes = {"one": 1, "two": 2, "four": 4, "across": 2}
    # A student that is zero stays zero: filled up with zeros, all runs are one batch of one problem.
    starts = np.zeros((len(sizes), max(sizes.values()), 2))
    for start, (name, m) in zip(starts, sizes.items(), strict=True):
        if name == "across":
            start[:m] = across(3)["students"][1]
        else:
            start[:m] = np.sqrt(1 / m) * (target + 0.4 * random.normal(size=(m, 2)))
    steps = np.unique(np.geomspace(1, values.long, 120).astype(int))
    runs = descend(
        population(homogeneous(target, starts.shape[1])),
        starts,
        GradientDescent(values.step),
        step_limit(values.long),
        record("loss", steps=steps.tolist()),
    )
    shown = {}
    for run, (name, m) in enumerate(sizes.items()):
        shown[f"{name}_step"], shown[f"{name}_loss"] = runs.curve("loss", run)
        shown[f"{name}_angle"] = own_angles(np.asarray(runs.points)[run, :m], target)
    return shown


def _power(step, loss):
    use = (loss > 1e-13) & (step > step.max() ** 0.6)
    return -exponent(step[use], loss[use]) if use.sum() > 5 else float("nan")


def _conclude(values: Values, pieces: Pieces) -> Conclusion:

    def rows(arrays: Arrays, m: int, delta: float):
        for scale in values.scales:
            own = arrays["scale"] == scale
            yield {
                "students": m,
                "separation": delta,
                "scale": scale,
                "first_loss": np.median(arrays["first"][own]),
                "last_loss": np.median(arrays["last"][own]),
                "plain_matched": arrays["plain_every"][own].mean(),
                **share("matched", arrays["every"][own]),
                "stray_mass": arrays["stray"][own].max(),
            }

    frame = table(_basins(values), pieces, rows)
    rates = pieces["rates"]
    powers = {name: _power(rates[f"{name}_step"], rates[f"{name}_loss"]) for name in ("two", "four", "across")}
    smallest = frame.filter(scale=min(values.scales))
    least = float(smallest["matched"].to_numpy().min())
    widest = frame.filter(scale=max(values.scales))
    expectations = (
        described(
            "runs in which every student ends at a teacher, from the smallest losses, worst case",
            "all (Theorems 1 and 4)",
            least,
            least == 1.0,
        ),
        below(
            "share of the students' mass that ends away from the teachers, from any loss, largest",
            "none (Theorem 1)",
            frame["stray_mass"].to_numpy().max(),
            values.stray,
        ),
        above(
            "power of 1/t with which the loss falls, slowest of three runs",
            "at least 1 (Theorem 4)",
            min(powers.values()),
            1,
        ),
        below(
            "the exceptional run: angle of the student across the teacher, at the end",
            "every student matches a teacher (Theorem 1)",
            rates["across_angle"].max(),
            values.matched,
        ),
    )
    remarks = (
        f"Over-parameterized runs fall like t^-{powers['two']:.1f} (two students) and t^-{powers['four']:.1f} (four); with one student the loss falls exponentially. A student exactly across the teacher never turns, and "
        f"its loss falls like t^-{powers['across']:.1f}: the slowest that the exponent 3/4 allows, still faster than the guaranteed 1/t.",
        f"The basin is far larger than the theory's threshold, whatever the number of students: from median losses of "
        f"{widest['first_loss'].min():.2g} and more (the loss of no students is about {0.5 * values.teachers**2:.2g}) every "
        f"student ends at a teacher in {widest['matched'].min():.0%} of the runs, at least.",
        f"The way is long: after {values.iterations:,} steps of plain descent every student is at a teacher in as few as {widest['plain_matched'].min():.0%} of those runs. The rest "
        "are on their way, not elsewhere: accelerated descent from where they are takes nearly all of them there.",
    )
    return Conclusion(expectations, (_picture(values, frame, rates, powers),), {"basins": frame}, remarks)


def _picture(values: Values, frame: pl.DataFrame, rates: Arrays, powers) -> Picture:
    figure, (left, right) = panels(columns=2, height=2.9, width=3.7)
    for delta, colour in zip(values.separations, COLOURS, strict=False):
        for m, marker in zip(values.students, ("o", "s", "^", "D"), strict=False):
            own = frame.filter(separation=delta, students=m).sort("first_loss")
            plain = {"linestyle": "--", "linewidth": 0.6, "markerfacecolor": "white"}
            ended = {"linestyle": "-", "linewidth": 0.8, "label": f"Δ = {delta:g}, m = {m}"}
            for column, style in (("plain_matched", plain), ("matched", ended)):
                left.semilogx(own["first_loss"], own[column], marker=marker, color=colour, markersize=4, **style)
    left.set(xlabel="loss of the start (median)", ylabel="runs with every student at a teacher", ylim=(-0.05, 1.05))
    left.legend(loc="lower left", fontsize=6.5)
    labels = {"one": "one student", "two": "two", "four": "four", "across": "two, one across"}
    for (name, label), colour in zip(labels.items(), COLOURS, strict=False):
        step, loss = rates[f"{name}_step"], rates[f"{name}_loss"]
        kept = (loss > 1e-14) & (step > 0)
        extra = f", $t^{{-{powers[name]:.1f}}}$" if name in powers else ""
        right.loglog(step[kept], loss[kept], color=colour, label=label + extra)
    time = np.array([10.0, values.long])
    right.loglog(time, 1 / time, "--", color=GREY, label="$1/t$")
    right.set(xlabel="step", ylabel="loss", ylim=(1e-16, 2))
    right.legend(loc="lower left", fontsize=7)
    caption = (
        f"r = {values.teachers} unit teachers in dimension {values.dimension}. Left: fraction of {values.runs} runs in which every student is within {values.matched:g} rad of a teacher, "
        f"after {values.iterations:,} steps of descent (dashed, open) and at the end, a loss of {values.enough:g}, to which accelerated descent takes them from there (full), against the median loss of the starts; colours: "
        "separation Δ, markers: number of students. Right: loss along runs with one teacher; dashed, the guaranteed 1/t."
    )
    return Picture("local-runs", caption, figure)


STUDY = Study(
    id="local_convergence.local-runs",
    place="Theorems 1 and 4",
    title="local convergence and its rate",
    question="From which losses do all students come to match a teacher, for several numbers of students and separations, and how fast does the loss fall?",
    settings=(
        printed("rate", "L = O(1/t)", note="Theorem 4"),
        chosen("teachers", 3),
        chosen("dimension", 4),
        chosen("students", (3, 6, 12), note="from r to 4r"),
        chosen("separations", (0.5, 1.2), paper=(0.25, 0.5, 1.2)),
        chosen("scales", (0.1, 0.3, 0.6, 1.2, 2.0), note="relative deviations of the starts from the teachers"),
        chosen("runs", 24, paper=200),
        chosen("step", 0.1),
        chosen("iterations", 5000, paper=80_000),
        chosen("long", 20_000, paper=1_000_000, note="steps of the runs for the rate"),
        chosen("matched", 0.2, note="angle at which a student matches a teacher; small ones turn slowly"),
        chosen("enough", 1e-11, note="loss at which the accelerated continuation ends"),
        chosen("more", 6000, paper=60_000, note="most steps of the continuation"),
        chosen("stray", 0.001, note="fraction of the mass that may be elsewhere"),
    ),
    pieces=_pieces,
    measure=_measure,
    conclude=_conclude,
)
