"""Table 1: the smallest curvature near a global minimum, for random and for adversarial noise."""

import jax.numpy as jnp
import numpy as np
import polars as pl

from tutelage.instant import instantly, map_rows
from tutelage.objectives import Objective
from tutelage.plot import BLUE, GREY, ORANGE, panels
from tutelage.studies.base import Arrays, Conclusion, Picture, Pieces, Study, Values, chosen, printed
from tutelage.studies.expectations import above, below
from tutelage.studies.mild_overparameterization.common import objective_of
from tutelage.studies.tables import table

PRINTED = {
    (5, 2): (0.84, 2.27e-4),
    (5, 5): (2.43, 0.00754),
    (5, 10): (5.43, 0.0693),
    (10, 2): (12.7, 0.0037),
    (10, 5): (43.1, 0.088),
    (10, 10): (62.3, 0.733),
    (20, 2): (88.6, 0.0318),
    (20, 5): (231.0, 0.67),
    (20, 10): (412.0, 5.15),
}


def _pieces(values: Values):
    pairs = sorted(((k, m) for k in values.neurons for m in values.copies), key=lambda pair: -(pair[0] ** 2) * pair[1])
    return {f"k{k}-m{m}": {"k": k, "m": m} for k, m in pairs}


@instantly
def _curvatures(objective: Objective, centre, noise):
    def one(g):
        return jnp.sum(g * objective.hessian_vector(centre + g, g))

    # One sample after another: with 200 neurons a batch would not fit a cache.
    return map_rows(one, noise, together=8)


def _measure(values: Values, seed: int, k: int, m: int) -> Arrays:
    objective = objective_of(k, k * m)
    centre = np.repeat(np.eye(k), m, axis=0) / m
    random = np.random.default_rng([seed, k, m])
    smallest = []
    for _ in range(values.repetitions):
        noise = values.deviation * random.normal(size=(values.samples, k, m, k))
        adversarial = noise.copy()
        adversarial[:, :, 0] = -noise[:, :, 1:].sum(axis=2)
        row = []
        for sample in (noise, adversarial):
            left = np.asarray(_curvatures(objective, centre, jnp.asarray(sample.reshape(values.samples, k * m, k))))
            group = sample.sum(axis=2)
            total = (group.sum(axis=1) ** 2).sum(axis=-1)
            right = 0.25 * (total + (1 - 2 / np.pi) * (group**2).sum(axis=(1, 2)))
            row += [left.min(), (left - right).min()]
        smallest.append(row)
    return {"smallest": np.array(smallest) / values.deviation**2}


def _rows(arrays: Arrays, k: int, m: int):
    smallest = arrays["smallest"]
    left, difference, adversarial, _ = np.median(smallest, axis=0)
    yield {
        "k": k,
        "m": m,
        "printed_gaussian": PRINTED[k, m][0],
        "difference": difference,
        "left_side": left,
        "printed_adversarial": PRINTED[k, m][1],
        "adversarial": adversarial,
        "smallest_difference": smallest[:, [1, 3]].min(),
    }


def _factors(frame: pl.DataFrame, measured: str, column: str) -> np.ndarray:
    """Factors, at least one, between measured and printed numbers."""
    return np.exp(np.abs(np.log(frame[measured].to_numpy() / frame[column].to_numpy())))


def _conclude(values: Values, pieces: Pieces) -> Conclusion:
    frame = table(_pieces(values), pieces, _rows).sort("k", "m")
    least = frame["smallest_difference"].to_numpy().min()
    expectations = (
        above("difference of both sides of Conjecture 1, smallest over all samples", "strictly positive", least, 0),
        below(
            "third column, as the difference of both sides over σ²: largest factor between print and measurement",
            "the printed numbers",
            _factors(frame, "difference", "printed_gaussian").max(),
            2.2,
            "a factor 2.2: minima over 1,000 samples scatter",
        ),
        below(
            "fourth column, in the same way: largest factor",
            "the printed numbers",
            _factors(frame, "adversarial", "printed_adversarial").max(),
            2.2,
            "a factor 2.2",
        ),
        below(
            "third column, as the left-hand side over σ²: smallest factor between print and measurement",
            "the caption's reading: the table shows the left-hand side",
            _factors(frame, "left_side", "printed_gaussian").min(),
            2.2,
            "a factor 2.2",
        ),
    )
    remarks = (
        "The printed numbers are reproduced if the noise has standard deviation 1e-5 (the text says variance 1e-5), if they are divided "
        "by its square, and if they are the differences of both sides, not the left-hand side that the caption names. In the fourth "
        "column, where the right-hand side is zero, the two agree; there the curvature is of third order, so that it fixes the scale of "
        "the noise.",
        "With variance 1e-5 the fourth column would be about 300 times as large.",
        "Random samples do not settle the conjecture: a structured one refutes it (`tutelage audit mild_overparameterization.conjecture-1`).",
    )
    figure, (left, right) = panels(columns=2)
    x = np.arange(len(frame))
    for panel, column, measured, label in (
        (left, "printed_gaussian", "difference", "Gaussian noise"),
        (right, "printed_adversarial", "adversarial", "noise that cancels"),
    ):
        panel.semilogy(x, frame[column], "s", color=ORANGE, label="printed")
        panel.semilogy(x, frame[measured], "o", color=BLUE, label="measured")
        if measured == "difference":
            panel.semilogy(x, frame["left_side"], "^", color=GREY, label="left-hand side")
        panel.set_xticks(x, [f"{row['k']}, {row['m']}" for row in frame.iter_rows(named=True)], rotation=45)
        panel.set(xlabel="$k$, $m$", ylabel=r"smallest curvature over $\sigma^2$", title=label)
        panel.legend(loc="upper left")
    caption = (
        f"Table 1 as a figure: the smallest of {values.samples:,} samples (median of {values.repetitions} repetitions), in units of the "
        "variance of the noise."
    )
    return Conclusion(expectations, (Picture("table-1", caption, figure),), {"table-1": frame}, remarks)


STUDY = Study(
    id="mild_overparameterization.table-1",
    place="Table 1 and Appendix D.1",
    title="curvature near a global minimum",
    question="How small is the curvature of Conjecture 1 near a global minimum with m copies of each of k neurons, and what do the "
    "printed numbers measure?",
    settings=(
        printed("neurons", (5, 10, 20), quick=(5, 10), note="k"),
        printed("copies", (2, 5, 10), note="m"),
        printed("samples", 1000),
        chosen(
            "deviation", 1e-5, note="of the noise; the text gives 1e-5 as its variance, which does not fit the numbers"
        ),
        chosen("repetitions", 2, paper=10),
        chosen("minimum", "m equal copies of each teacher, d = k"),
    ),
    pieces=_pieces,
    measure=_measure,
    conclude=_conclude,
)
