"""Splitting a neuron of each spurious minimum, and following the way down."""

import jax.numpy as jnp
import numpy as np

from tutelage.dynamics import GradientDescent, descend, gradient_norm, step_limit
from tutelage.geometry import atlas, critical_point, descent_direction, split, wider
from tutelage.plot import BLUE, GREEN, GREY, ORANGE, panels
from tutelage.starts import xavier
from tutelage.studies.base import Arrays, Conclusion, Picture, Pieces, Study, Values, chosen, printed
from tutelage.studies.expectations import below, described
from tutelage.studies.mild_overparameterization.common import SPURIOUS, objective_of
from tutelage.studies.tables import table

# What is measured of every split point.
_COLUMNS = ("class", "block", "block_size", "reached", "loss_before", "smallest_eigenvalue", "index", "loss_after")


def _pieces(values: Values):
    return {f"k{k}": {"k": k} for k in sorted(values.neurons, reverse=True)}


def _measure(values: Values, seed: int, k: int) -> Arrays:
    objective = objective_of(k, k)
    runs = descend(
        objective,
        xavier(objective.problem, values.runs, seed=seed),
        GradientDescent(5 / k),
        gradient_norm(1e-12) | step_limit(values.search_steps),
    )
    entries = [entry for entry in atlas(objective, runs) if entry.loss > SPURIOUS][: values.classes]
    rows, starts = [], []
    for number, entry in enumerate(entries):
        # One neuron of each block: those of a block play the same part.
        sizes = [int(size) for size in entry.symmetry.split("+")]
        for block, neuron in enumerate(np.cumsum([0, *sizes[:-1]])):
            point = jnp.asarray(entry.vectors)
            down = descent_direction(objective, point, neuron=int(neuron), fraction=values.fraction)
            halves = split(point, int(neuron), values.fraction)
            larger = wider(objective, int(neuron))
            saddle = critical_point(larger, halves)
            lowest = float(saddle.smallest_eigenvalue)
            rows.append((number, block, sizes[block], entry.count, entry.loss, lowest, saddle.index))
            starts.append(np.asarray(down.start(values.size)) if down is not None else np.asarray(halves))
    if not rows:
        return {name: np.zeros(0) for name in _COLUMNS}
    larger = wider(objective, 0)
    ends = descend(
        larger, np.stack(starts), GradientDescent(5 / (k + 1)), gradient_norm(1e-6) | step_limit(values.steps)
    )
    return dict(zip(_COLUMNS, (*map(np.array, zip(*rows, strict=True)), ends.losses), strict=True))


def _rows(arrays: Arrays, k: int):
    for split_point in zip(*(arrays[name] for name in _COLUMNS), strict=True):
        yield {"k": k, **dict(zip(_COLUMNS, split_point, strict=True))}


def _conclude(values: Values, pieces: Pieces) -> Conclusion:
    frame = table(_pieces(values), pieces, _rows).sort("k", "loss_before", "block")
    before, after = frame["loss_before"].to_numpy(), frame["loss_after"].to_numpy()
    eigenvalues = frame["smallest_eigenvalue"].to_numpy()
    reached = after < SPURIOUS
    expectations = (
        below(
            "smallest eigenvalue of the Hessian at the split points, largest over all splits",
            "negative: every split is a saddle (Theorem 9 and Section 4.2)",
            eigenvalues.max(),
            0,
        ),
        described(
            "loss after the descent over the loss of the spurious minimum, largest",
            "below 1: the saddle is left downwards",
            (after / before).max(),
            (after < before - 1e-9).all(),
        ),
    )
    remarks = (
        f"From {reached.sum()} of {len(frame)} splits of {frame.select('k', 'class').n_unique()} spurious minima descent goes on to a "
        "global minimum; the others end at another spurious minimum, of lower loss.",
    )
    figure, (panel,) = panels(width=4.4)
    for done, colour, label in (
        (reached, BLUE, "ends at a global minimum"),
        (~reached, ORANGE, "ends at another minimum"),
    ):
        panel.plot(before[done], np.maximum(after[done], 1e-9), "o", color=colour, alpha=0.7, label=label)
    line = np.array([before.min(), before.max()])
    panel.plot(line, line, color=GREY, linestyle=":", label="unchanged")
    panel.axhline(SPURIOUS, color=GREEN, linewidth=0.7)
    panel.set(yscale="log", xlabel="loss of the spurious minimum", ylabel="loss after split and descent")
    panel.legend(loc="center right")
    caption = (
        "Each spurious minimum of the atlas, one neuron of each of its blocks split into two and the run started along the direction of "
        f"negative curvature: loss before, and after descent with one student more (k from {min(values.neurons)} to {max(values.neurons)})."
    )
    return Conclusion(expectations, (Picture("splitting", caption, figure),), {"splits": frame}, remarks)


STUDY = Study(
    id="mild_overparameterization.splitting",
    place="Theorems 8 and 9, followed down",
    title="where split minima lead",
    question="Is every split of every spurious minimum a saddle, and where does descent from it end?",
    settings=(
        printed("fraction", 0.5, note="any fraction between 0 and 1 is allowed"),
        chosen("neurons", (8, 12), paper=(8, 10, 12, 14, 16, 18, 20, 25, 30), note="k = n"),
        chosen("runs", 100, paper=500, note="Xavier starts, to find minima"),
        chosen("classes", 6, paper=50, note="most classes per k"),
        chosen("size", 0.01, note="of the first step along the direction of descent"),
        chosen("search_steps", 30_000, paper=100_000),
        chosen("steps", 6000, paper=30_000),
    ),
    pieces=_pieces,
    measure=_measure,
    conclude=_conclude,
)
