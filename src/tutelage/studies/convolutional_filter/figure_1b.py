"""Figure 1b: a run that finds the teacher and one that does not."""

import numpy as np
import polars as pl

from tutelage.dynamics import GradientDescent, descend, record, step_limit
from tutelage.plot import BLUE, GREY, ORANGE, panels
from tutelage.starts import sphere_ball
from tutelage.statistics import straight_line
from tutelage.studies.base import Arrays, Conclusion, Picture, Pieces, Study, Values, chosen, printed
from tutelage.studies.convolutional_filter.common import SUCCESS, objective_of, spurious_loss, structured_start
from tutelage.studies.expectations import above, below, described, within


def _pieces(values: Values):
    return {"structured": {"kind": "structured"}, "random": {"kind": "random"}}


def _measure(values: Values, seed: int, kind: str) -> Arrays:
    output = np.eye(values.k)[0]
    objective = objective_of(values.p, output)
    if kind == "structured":
        # The second start is the first with both signs turned.
        filters, outputs = structured_start(values)
        starts = (np.stack([filters, -filters]), np.stack([outputs, -outputs]))
    else:
        starts = sphere_ball(objective.problem, values.random_runs, seed=seed)
    runs = descend(
        objective,
        starts,
        GradientDescent(values.step),
        step_limit(values.steps),
        record("loss", "angle", every=1, at_most=values.steps + 1),
    )
    curves = {name: np.stack([runs.curve(name, run)[1] for run in range(len(runs))]) for name in ("loss", "angle")}
    return {**curves, "spurious_loss": np.asarray(spurious_loss(output))}


def _half_life(loss: np.ndarray) -> int:
    """The first step at which the loss is half of what it was after the first step."""
    return int(np.argmax(loss < 0.5 * loss[1]))


def _linear_tail(loss: np.ndarray) -> tuple[float, float]:
    """Return the factor per step and the R² of a straight line through the logarithm of the loss, between 1e-3 and 1e-12."""
    steps = np.flatnonzero((loss < 1e-3) & (loss > 1e-12))
    slope, fit = straight_line(steps, np.log(loss[steps]))
    return float(np.exp(slope)), fit


def _conclude(values: Values, pieces: Pieces) -> Conclusion:
    loss, spurious = pieces["structured"]["loss"], float(pieces["structured"]["spurious_loss"])
    angle = pieces["structured"]["angle"]
    others = pieces["random"]["loss"]
    succeeded = others[:, -1] < SUCCESS
    halves = np.array([_half_life(curve) for curve in others[succeeded]])
    factor, fit = _linear_tail(loss[0])
    expectations = (
        below("success case", "converges to the global minimum", loss[0, -1], SUCCESS),
        described(
            "failure case: loss over that of the second stationary point",
            "converges to the spurious local minimum",
            loss[1, -1] / spurious,
            abs(loss[1, -1] / spurious - 1) < 0.01 and angle[1, -1] > 0.9 * np.pi,
            "1 % (its approach is slower than linear)",
        ),
        within("slow iterations: until the loss is halved", 50, _half_life(loss[0]), 25),
        within("the same, median over random starts that succeed", 50, float(np.median(halves)), 25),
        above("afterwards: R² of a straight line through log loss", "a fast linear rate", round(fit, 6), 0.99),
    )
    figure, (curves, angles) = panels(columns=2)
    steps = np.arange(loss.shape[1])
    for curve in others[succeeded][:40]:
        curves.semilogy(steps, curve, color=GREY, linewidth=0.4, alpha=0.4)
    for row, colour, name in ((0, BLUE, "success"), (1, ORANGE, "failure")):
        visible = loss[row] > 1e-14
        curves.semilogy(steps[visible], loss[row][visible], color=colour, label=name)
        angles.plot(steps, angle[row], color=colour, label=name)
    curves.axhline(spurious, color=ORANGE, linewidth=0.8, linestyle=":")
    curves.set(xlabel="iteration", ylabel="population loss", ylim=(1e-14, 1), xlim=(0, values.steps))
    curves.annotate("second stationary point", (values.steps, spurious), ha="right", va="bottom", fontsize=7)
    curves.legend(loc="lower left")
    angles.set(xlabel="iteration", ylabel="angle between the filters (rad)", xlim=(0, values.steps), ylim=(-0.1, 3.3))
    angles.set_yticks([0, np.pi / 2, np.pi], ["0", "π/2", "π"])
    caption = (
        f"Gradient descent on the exact population loss, p = {values.p}, k = {values.k}, step {values.step}. Left: loss of a "
        "run that finds the teacher, of one that does not, and (grey) of successful runs from random starts. Right: the "
        "angle between the student's and the teacher's filter."
    )
    table = pl.DataFrame(
        {
            "iteration": steps,
            "success": loss[0],
            "failure": loss[1],
            "success_angle": angle[0],
            "failure_angle": angle[1],
        }
    )
    remarks = (
        f"After the slow phase the loss shrinks by a factor {factor:.3f} per iteration.",
        "The failing run approaches the second stationary point more slowly than any linear rate: there the filter's "
        "gradient is of second order in the distance to a half turn.",
        f"{succeeded.mean():.0%} of {len(others)} random starts succeed; half of these have halved the loss after "
        f"{np.median(halves):.0f} iterations, the middle 80 % after {np.percentile(halves, 10):.0f} to "
        f"{np.percentile(halves, 90):.0f}.",
    )
    return Conclusion(expectations, (Picture("figure-1b", caption, figure),), {"curves": table}, remarks)


STUDY = Study(
    id="convolutional_filter.figure-1b",
    place="Figure 1b",
    title="a success and a failure",
    question="Does descent show a slow phase of about 50 iterations and then a linear rate, and does it fail from other "
    "starts?",
    settings=(
        printed("p", 20, note="size of the filter"),
        printed("k", 25, note="number of patches"),
        chosen("step", 0.2, note="below 4π/(k+π−1) = 0.46, beyond which the output weights diverge"),
        chosen("teacher", "w* = e₁, a* = e₁", note="any unit filter is the same by rotation"),
        chosen("start", "v = 1/√p in every entry, a = s/k in every entry; the failure has both signs turned"),
        chosen("output_sum", 0.2, note="s, the sum of the start's output weights"),
        chosen("steps", 400),
        chosen("random_runs", 100, paper=1000, note="starts of Theorem 3.2, for comparison"),
    ),
    pieces=_pieces,
    measure=_measure,
    conclude=_conclude,
)
