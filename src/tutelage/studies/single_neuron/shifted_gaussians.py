r"""Beyond the paper: how likely success is under $N(\mu, I)$, against the length of the mean.

Descent never leaves the span of start, teacher and mean, so that every dimension is followed exactly in three: the first
axis is the mean's direction, the teacher lies in the plane of the first two, and what is left of the start is on the third.
"""

import numpy as np

from tutelage.dynamics import GradientDescent, descend, step_limit
from tutelage.inputs import gaussian
from tutelage.objectives import population
from tutelage.plot import COLOURS, intervals, panels
from tutelage.problems import neuron
from tutelage.studies.base import Arrays, Conclusion, Picture, Pieces, Study, Values, chosen
from tutelage.studies.expectations import above, described
from tutelage.studies.tables import share, table


def _pieces(values: Values):
    return {
        f"d{d}-mean{length:g}": {"d": d, "length": length}
        for length in sorted(values.lengths, reverse=True)
        for d in values.dimensions
    }


def _draw(random: np.random.Generator, runs: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Return unit teachers and N(0, I/d) starts in coordinates that begin with the mean and the teacher."""
    teachers = random.normal(size=(runs, d))
    teachers /= np.linalg.norm(teachers, axis=1, keepdims=True)
    starts = random.normal(size=(runs, d)) / np.sqrt(d)
    across = teachers.copy()
    across[:, 0] = 0
    size = np.linalg.norm(across, axis=1, keepdims=True)
    across /= np.maximum(size, 1e-300)
    inside = np.stack([starts[:, 0], np.sum(starts * across, axis=1)], axis=1)
    # In two dimensions nothing is left on the third axis; rounding must not turn it into a negative number.
    rest = np.sqrt(np.maximum(np.sum(starts**2, axis=1) - np.sum(inside**2, axis=1), 0))
    flat = np.concatenate([teachers[:, :1], size, np.zeros_like(size)], axis=1)
    return flat, np.concatenate([inside, rest[:, None]], axis=1)


def _measure(values: Values, seed: int, d: int, length: float) -> Arrays:
    objective = population(neuron(np.ones(3), inputs=gaussian(3, mean=[length, 0.0, 0.0])))
    # The largest curvature is at most the largest second moment, 1 + |μ|².
    step, iterations = values.step / (1 + length**2), int(values.horizon / values.step * (1 + length**2))
    teachers, starts = _draw(np.random.default_rng([seed, d, round(100 * length)]), values.runs, d)
    runs = descend(objective, starts, GradientDescent(step), step_limit(iterations), teachers=teachers)
    return {
        "distance": np.linalg.norm(np.asarray(runs.points) - teachers, axis=1),
        "loss": runs.losses,
        "mean_along_start": length * starts[:, 0] / np.linalg.norm(starts, axis=1),
        "mean_along_teacher": length * teachers[:, 0],
    }


def _conclude(values: Values, pieces: Pieces) -> Conclusion:

    def rows(arrays: Arrays, d: int, length: float):
        success = arrays["distance"] < values.found
        failures = ~success
        yield {
            "d": d,
            "length": length,
            "runs": len(success),
            **share("success", success),
            "dead": (failures & (arrays["mean_along_start"] < -1.5)).sum() / max(failures.sum(), 1),
            "median_loss_of_failures": float(np.median(arrays["loss"][failures])) if failures.any() else 0.0,
        }

    frame = table(_pieces(values), pieces, rows).sort("d", "length")
    centred = frame.filter(length=min(values.lengths))["success"].to_numpy()
    long = frame.filter(length=max(values.lengths), d=min(values.dimensions))
    least = frame.sort("success").row(0, named=True)
    expectations = (
        above(
            "success without a mean, smallest over the dimensions",
            "probability close to 1 (Theorem 6.4)",
            centred.min(),
            0.97,
        ),
        described(
            "success with the longest mean, in the smallest dimension",
            "open (Section 6.2): no guarantee",
            long["success"][0],
            True,
        ),
    )
    remarks = (
        f"Success falls as the mean grows, most in small dimensions: to {least['success']:.0%} for |μ| = {least['length']:g} in "
        f"dimension {least['d']}. In high dimension a random start and a random teacher are nearly orthogonal to the mean, and "
        "even a long mean does little harm.",
        "Failures are students that hardly any input activates, because the start points away from the mean, and teachers that "
        "hardly any input activates, about which almost nothing is seen: the paper's angle argument fails for the first kind only.",
    )
    figure, (left, right) = panels(columns=2)
    for d, colour in zip(values.dimensions, COLOURS, strict=False):
        own = frame.filter(d=d)
        intervals(own["length"], own["success"], own["low"], own["high"], left, color=colour, label=f"$d = {d}$")
    left.set(xlabel=r"length of the mean $\|\mu\|$", ylabel="finds the teacher", ylim=(-0.03, 1.05))
    left.legend(loc="lower left")
    chosen_length = max(values.lengths)
    arrays = pieces[f"d{values.dimensions[0]}-mean{chosen_length:g}"]
    success = arrays["distance"] < values.found
    for mask, marker, label in ((success, "o", "finds the teacher"), (~success, "x", "does not")):
        along = arrays["mean_along_start"][mask], arrays["mean_along_teacher"][mask]
        right.plot(*along, marker, markersize=3, alpha=0.7, label=label)
    right.set(xlabel=r"mean along the start, $\mu\cdot w_0/\|w_0\|$", ylabel=r"mean along the teacher, $\mu\cdot v$")
    right.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    caption = (
        f"A ReLU neuron under N(μ, I), {values.runs} random teachers and N(0, I/d) starts per point, exact gradients. Left: fraction "
        f"that ends within {values.found:g} of the teacher, with 95 % intervals. Right: which starts and teachers succeed for d = "
        f"{values.dimensions[0]} and |μ| = {max(values.lengths):g}, by how much they point along the mean."
    )
    return Conclusion(expectations, (Picture("shifted", caption, figure),), {"success": frame}, remarks)


STUDY = Study(
    id="single_neuron.shifted-gaussians",
    place="beyond the paper: the question that Section 6.2 leaves open",
    title="success under Gaussians with a mean",
    question="With which probability does descent find a random teacher under N(μ, I), against the length of μ and the dimension?",
    settings=(
        chosen("dimensions", (2, 5, 20, 50), paper=(2, 3, 5, 10, 20, 50)),
        chosen("lengths", (0.0, 1.0, 2.0, 4.0), paper=(0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)),
        chosen("runs", 150, paper=2000, note="each with a teacher and a start of its own"),
        chosen("step", 0.5, note="in units of 1/(1 + |μ|²)"),
        chosen("horizon", 60, paper=200, note="step times iterations"),
        chosen("found", 0.05, note="distance at which the teacher has been found"),
    ),
    pieces=_pieces,
    measure=_measure,
    conclude=_conclude,
    beyond=True,
)
