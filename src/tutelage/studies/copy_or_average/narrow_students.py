"""Fewer students than teachers: what descent ends at, and which division of the teachers is the best."""

from collections.abc import Iterator
from typing import Any

import jax.numpy as jnp
import numpy as np
import polars as pl

from tutelage.dynamics import descend_to_minima
from tutelage.models import Layers
from tutelage.objectives import population
from tutelage.plot import BLUE, GREY, ORANGE, panels
from tutelage.problems import two_layer
from tutelage.starts import xavier
from tutelage.studies.base import Arrays, Conclusion, Picture, Pieces, Study, Values, chosen
from tutelage.studies.expectations import above, below, described
from tutelage.studies.tables import table

# What a run ends at: copies and one average of the rest, copies alone, anything else; -1 where it did not converge.
_AVERAGE, _COPIES, _OTHER = range(3)
_NAMES = ("copies and an average", "copies alone", "other")


def _divisions(total: int, parts: int, most: int) -> Iterator[tuple[int, ...]]:
    """Yield the sums of so many parts that make a number, none larger than `most`, the largest part first."""
    if parts == 1:
        if 1 <= total <= most:
            yield (total,)
        return
    for first in range(min(total - parts + 1, most), 0, -1):
        yield from ((first, *rest) for rest in _divisions(total - first, parts - 1, first))


def _loss_of(sizes: tuple[int, ...]) -> float:
    r"""Return the loss where erf neurons stand for so many unit teachers each.

    A neuron along the sum of $m$ orthonormal teachers, $w = \sum v/\sqrt{m(3m - 2)}$ with output weight $m$, leaves
    $\frac{m}{\pi}\bigl(\arcsin\frac23 - m\arcsin\frac{2}{3m}\bigr)$; a copy, $m = 1$, leaves nothing.
    """
    return float(sum(m / np.pi * (np.arcsin(2 / 3) - m * np.arcsin(2 / (3 * m))) for m in sizes))


def _point_of(sizes: tuple[int, ...]) -> Layers:
    members = np.eye(len(sizes))[np.repeat(np.arange(len(sizes)), sizes)].T
    weights = members / np.sqrt([[m * (3 * m - 2)] for m in sizes])
    return Layers(jnp.asarray(weights), jnp.asarray(sizes, dtype=float))


def _largest(gradient: Layers) -> float:
    return max(float(np.abs(part).max()) for part in gradient if part is not None)


def _kind(cosines: np.ndarray, output: np.ndarray) -> int:
    """Tell what a student does, by the cosines of its neurons with the teachers."""
    if np.any(output <= 0):
        return _OTHER
    near = cosines > 0.5 * cosines.max(axis=1, keepdims=True)
    sizes = sorted(near.sum(axis=1))
    if np.any(near.sum(axis=0) > 1):
        return _OTHER  # two neurons for one teacher
    if sizes[-1] == 1:
        return _COPIES
    return _AVERAGE if sizes[:-1] == [1] * (len(sizes) - 1) else _OTHER


def _pieces(values: Values):
    return {
        f"{activation}-{students}": {"activation": activation, "students": students}
        for students in sorted(values.students, reverse=True)
        for activation in values.activations
    }


def _measure(values: Values, seed: int, activation: str, students: int) -> Arrays:
    problem = two_layer(np.eye(values.teachers), students, activation)
    objective = population(problem)
    starts = xavier(problem, values.runs, seed=seed)
    # An average of m teachers has the output weight m, so that the curvature of the loss grows as its square.
    step = min(values.step, 1 / (values.teachers - students + 1) ** 2)
    runs = descend_to_minima(objective, starts, step, values.tolerance, values.most_steps)
    kinds, cosines = [], []
    for run in range(len(runs)):
        point: Any = problem.student.canonical(runs.point(run))
        weights = np.asarray(point.weights)
        cosines.append(weights / np.maximum(np.linalg.norm(weights, axis=1, keepdims=True), 1e-300))
        kinds.append(_kind(cosines[-1], np.asarray(point.output)) if runs.statuses[run] == "converged" else -1)
    divisions = list(_divisions(values.teachers, students, values.teachers)) if activation == "erf" else []
    return {
        "losses": np.asarray(runs.losses),
        "kinds": np.array(kinds),
        "cosines": np.stack(cosines),
        "divided": np.array([_loss_of(sizes) for sizes in divisions]),
        "gradients": np.array([_largest(objective.gradient(_point_of(sizes))) for sizes in divisions]),
    }


def _rows(measured: Arrays, activation: str, students: int):
    for kind, name in enumerate(_NAMES):
        found = measured["kinds"] == kind
        if found.any():
            lowest = measured["losses"][found].min()
            yield {
                "activation": activation,
                "students": students,
                "end": name,
                "runs": int(found.sum()),
                "lowest_loss": lowest,
            }


def _lowest(ends: pl.DataFrame, activation: str) -> dict[int, str]:
    """Return what has the lowest loss, by the number of students."""
    own = ends.filter(pl.col("activation") == activation).sort("lowest_loss")
    return {row["students"]: row["end"] for row in reversed(own.to_dicts())}


def _expectations(values: Values, pieces: Pieces, ends: pl.DataFrame):
    of = {
        activation: [measured for name, measured in pieces.items() if name.startswith(f"{activation}-")]
        for activation in values.activations
    }
    if "erf" in of:
        yield below(
            "erf: largest gradient where neurons copy teachers or average groups of them",
            "such configurations are critical points",
            max(measured["gradients"].max() for measured in of["erf"]),
            1e-12,
            "rounding",
        )
        best = all(measured["divided"].argmin() == 0 for measured in of["erf"])
        yield described(
            "erf: the lowest loss of all divisions of the teachers",
            "n − 1 copies and one average of the rest",
            "as published for every n" if best else "another division",
            best,
        )
    for activation, measured in of.items():
        kinds = np.concatenate([one["kinds"] for one in measured])
        ended = np.isin(kinds, (_AVERAGE, _COPIES)).mean()
        if activation == "erf":
            published = "gradient flow converges to n − 1 copies and an average, or to approximate copies alone"
            yield above("erf: share of the runs that end at one of the two", published, ended, 0.99)
        else:
            published = "similar results"
            yield above(f"{activation}: share of the runs that end at one of the two", published, ended, 0.5)
            same = all(end in _NAMES[:2] for end in _lowest(ends, activation).values())
            yield described(
                f"{activation}: the lowest loss found",
                "the optimal solution has a universal structure",
                "at one of the two for every n" if same else "elsewhere",
                same,
            )


def _figure(values: Values, pieces: Pieces, ends: pl.DataFrame):
    figure, axes = panels(columns=len(values.activations))
    for panel, activation in zip(axes, values.activations, strict=True):
        if activation == "erf":
            every = range(1, values.teachers + 1)
            best = [_loss_of((values.teachers - n + 1, *[1] * (n - 1))) for n in every]
            panel.plot(every, best, color=GREY, label="n − 1 copies, one average")
            for students in values.students:
                losses = pieces[f"erf-{students}"]["divided"]
                panel.plot(np.full(len(losses), students), losses, ".", color=GREY, markersize=3)
        for end, colour, marker in zip(_NAMES, (BLUE, ORANGE, GREY), "os^", strict=True):
            own = ends.filter((pl.col("activation") == activation) & (pl.col("end") == end))
            if len(own):
                area = 20 + 100 * own["runs"].to_numpy() / values.runs
                panel.scatter(
                    own["students"], own["lowest_loss"], area, color=colour, marker=marker, alpha=0.7, label=end
                )
        panel.set(title=activation, xlabel="students", ylabel="loss", xticks=range(1, values.teachers + 1))
        panel.legend()
    return figure


def _students(values: Values, pieces: Pieces):
    students = max(values.students)
    shown = []
    for activation in values.activations:
        measured = pieces[f"{activation}-{students}"]
        for kind in (_AVERAGE, _COPIES):
            found = np.flatnonzero(measured["kinds"] == kind)
            if found.size:
                run = found[measured["losses"][found].argmin()]
                shown.append((f"{activation}: {_NAMES[kind]}", measured["losses"][run], measured["cosines"][run]))
    if not shown:
        return None
    figure, axes = panels(columns=len(shown), width=2.4, height=2.4)
    for panel, (title, loss, cosines) in zip(axes, shown, strict=True):
        near = cosines > 0.5 * cosines.max(axis=1, keepdims=True)
        order = np.lexsort([np.argmax(near, axis=1), near.sum(axis=1)])
        first = np.argmax(cosines[order], axis=1).tolist()
        rest = [teacher for teacher in range(values.teachers) if teacher not in first]
        panel.imshow(cosines[order][:, [*dict.fromkeys(first), *rest]], cmap="RdBu_r", vmin=-1, vmax=1)
        panel.set(title=f"{title}\nloss {loss:.4f}", xlabel="teacher", ylabel="student", xticks=[], yticks=[])
        panel.title.set_fontsize(7)
    return figure


def _conclude(values: Values, pieces: Pieces) -> Conclusion:
    ends = table(_pieces(values), pieces, _rows)
    pictures = [
        Picture(
            "losses",
            f"Where {values.runs} runs for each number of students end, with {values.teachers} orthonormal teachers: "
            "the loss of each kind of end, its area the share of the runs. Grey: the loss of all ways to divide the "
            "teachers among erf neurons, in closed form.",
            _figure(values, pieces, ends),
        )
    ]
    if (students := _students(values, pieces)) is not None:
        caption = (
            f"Cosines of {max(values.students)} student neurons (rows) with {values.teachers} teachers, the one or those "
            "that nobody copies last: copies and an average, or copies that are moved a little."
        )
        pictures.append(Picture("students", caption, students))
    remarks = [
        f"{activation}, {students} students: the lowest loss found is at {end}."
        for activation in values.activations
        for students, end in sorted(_lowest(ends, activation).items())
    ]
    shares = [one["kinds"] for name, one in pieces.items() if name.startswith("relu-")]
    if shares:
        others = np.concatenate(shares) == _OTHER
        remarks.append(
            f"With ReLU {others.mean():.0%} of the runs end elsewhere: at points where two neurons share what one "
            "could do, or one stands for none of the teachers."
        )
    return Conclusion(tuple(_expectations(values, pieces, ends)), tuple(pictures), {"ends": ends}, tuple(remarks))


STUDY = Study(
    id="copy_or_average.narrow-students",
    place="Abstract: copy-average configurations, and where gradient flow ends",
    title="narrow students copy or average",
    question="A student with fewer neurons than its teacher, output weights learned: do its neurons copy teachers, or "
    "average them? All divisions of the teachers in closed form, and descent from random starts.",
    settings=(
        chosen("teachers", 6, paper=8, note="orthonormal, with output weights one"),
        chosen("students", (3, 5), paper=(2, 3, 4, 5, 6, 7)),
        chosen("activations", ("erf", "relu"), note="erf(z); with erf(z/√2) the vectors change, the divisions do not"),
        chosen("runs", 30, paper=200, note="Xavier starts"),
        chosen("step", 0.1, note="or 1/m², where an average of m teachers makes the loss steeper"),
        chosen("tolerance", 1e-10, note="of the gradient's norm"),
        chosen("most_steps", 50_000),
    ),
    pieces=_pieces,
    measure=_measure,
    conclude=_conclude,
)
