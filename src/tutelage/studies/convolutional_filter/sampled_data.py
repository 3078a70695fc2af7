"""Stochastic gradient descent with fresh batches, beside descent on the population loss."""

import jax
import jax.numpy as jnp
import numpy as np

from tutelage.dynamics import GradientDescent, descend, record, step_limit
from tutelage.instant import instantly
from tutelage.models import FilterAndOutput
from tutelage.objectives import Objective, stream
from tutelage.plot import BLACK, COLOURS, GREY, intervals, panels
from tutelage.statistics import exponent
from tutelage.studies.base import Arrays, Conclusion, Picture, Pieces, Study, Values, chosen, printed
from tutelage.studies.convolutional_filter.common import objective_of, structured_start
from tutelage.studies.expectations import described, within
from tutelage.studies.tables import table


def _batches(values: Values):
    return {f"batch-{batch}": {"batch": batch} for batch in sorted(values.batches, reverse=True)}


def _pieces(values: Values):
    return {**_batches(values), "population": {"batch": 0}}


def _measure(values: Values, seed: int, batch: int) -> Arrays:
    population = objective_of(values.p, np.eye(values.k)[0])
    number = values.runs if batch else 1
    starts = tuple(np.tile(entries, (number, 1)) for entries in structured_start(values))
    objective = stream(population.problem, batch) if batch else population
    remembered = record(every=1, at_most=values.steps + 1, parameters=_parameters)
    runs = descend(objective, starts, GradientDescent(values.step), step_limit(values.steps), remembered, seed=seed)
    # A diverged run ends early: what follows is not a number.
    parameters = np.full((number, values.steps + 1, values.p + values.k), np.nan)
    for run in range(number):
        steps, reached = runs.curve("parameters", run)
        parameters[run, steps] = reached
    return {"loss": np.stack([_losses(population, run) for run in parameters]), "parameters": parameters}


def _parameters(point: FilterAndOutput):
    return jnp.concatenate([point.filter, point.output])


@instantly
def _losses(objective: Objective, parameters):
    """The losses along a run, `[step, parameter]`."""
    size = objective.target.filter.shape[0]
    return jax.vmap(lambda one: objective.loss(FilterAndOutput(one[:size], one[size:])))(parameters)


def _conclude(values: Values, pieces: Pieces) -> Conclusion:
    exact = pieces["population"]
    path, curve = exact["parameters"][0], exact["loss"][0]

    def rows(arrays: Arrays, batch: int):
        distances = np.linalg.norm(arrays["parameters"] - path, axis=-1)
        early, final = distances[:, values.early], arrays["loss"][:, -1]
        yield {
            "batch": batch,
            "runs": len(final),
            "deviation": np.sqrt(np.mean(early**2)),
            "deviation_low": early.min(),
            "deviation_high": early.max(),
            "largest_deviation": np.median(np.nanmax(distances, axis=1)),
            "final_loss": float(np.nanmedian(final)) if np.isfinite(final).any() else float("nan"),
            "found_teacher": np.mean(final < values.found),
        }

    frame = table(_batches(values), pieces, rows).sort("batch")
    large = frame.tail(values.fitted)
    slope = exponent(large["batch"], large["deviation"])
    best = frame.row(-1, named=True)
    expectations = (
        described(
            f"batches of {best['batch']}: runs that find the teacher as the population run does",
            "all: samples stand in for the population",
            best["found_teacher"],
            best["found_teacher"] == 1.0,
        ),
        within(
            f"exponent, in the batch size, of the distance to the population run after {values.early} iterations",
            -0.5,
            slope,
            0.15,
        ),
    )
    remarks = (
        "Labels carry no noise, so that the noise of the gradient vanishes at the teacher: fresh batches of moderate size "
        "converge linearly too, to machine precision and without a smaller step.",
        f"Runs that find the teacher within {values.steps} iterations: "
        + ", ".join(f"{row['found_teacher']:.0%} with batches of {row['batch']}" for row in frame.iter_rows(named=True))
        + ".",
    )
    figure, (left, right) = panels(columns=2)
    steps = np.arange(values.steps + 1)
    for batch, colour in zip(frame["batch"], COLOURS, strict=False):
        losses = pieces[f"batch-{batch}"]["loss"]
        finite = np.where(np.isfinite(losses), losses, np.inf)
        low, middle, high = np.quantile(finite, [0.1, 0.5, 0.9], axis=0, method="nearest")
        left.fill_between(steps, low, np.minimum(high, 1e3), color=colour, alpha=0.15, linewidth=0)
        left.semilogy(steps, np.minimum(middle, 1e3), color=colour, label=f"batch {batch}")
    left.semilogy(steps, np.maximum(curve, 1e-16), color=BLACK, linestyle="--", linewidth=1, label="population")
    left.set(xlabel="iteration", ylabel="population loss", ylim=(1e-14, 10), xlim=(0, values.steps))
    left.legend(loc="lower left")
    x, y = frame["batch"].to_numpy(), frame["deviation"].to_numpy()
    ends = (frame["deviation_low"], frame["deviation_high"])
    intervals(x, y, *ends, right, fmt="o", label=f"after {values.early} iterations")
    right.plot(x, frame["largest_deviation"], "s", color=COLOURS[1], label="largest on the way")
    right.plot(x, y[-1] * (x / x[-1]) ** -0.5, color=GREY, linestyle=":", label="slope −1/2")
    right.set(xscale="log", yscale="log", xlabel="batch size", ylabel="distance to the population run")
    right.legend(loc="upper right")
    caption = (
        f"Fresh batches at every iteration, {values.runs} runs per size, from the successful start of Figure 1b. Left: median "
        "population loss, with the middle 80 %. Right: distance between the parameters of a run and those of the population "
        "run, root mean square and range after a few iterations, and median of the largest on the way (where noise shifts "
        "the time at which a run leaves the plateau)."
    )
    return Conclusion(expectations, (Picture("sampled", caption, figure),), {"batches": frame}, remarks)


STUDY = Study(
    id="convolutional_filter.sampled-data",
    place="beyond the paper: it analyses the population loss",
    title="fresh batches follow the population run",
    question="Do batches of samples, drawn afresh for every iteration, follow descent on the population loss, and how does "
    "the batch size matter?",
    settings=(
        printed("p", 20, note="size of the filter, as in Figure 1b"),
        printed("k", 25, note="number of patches, as in Figure 1b"),
        chosen("step", 0.2, note="as in the study of Figure 1b"),
        chosen("output_sum", 0.2, note="as in the study of Figure 1b"),
        chosen("steps", 250),
        chosen("batches", (4, 16, 64, 256), paper=(4, 8, 16, 32, 64, 128, 256, 512, 1024)),
        chosen("runs", 8, paper=32),
        chosen("early", 20, note="iterations after which distances are compared: the runs are still on the plateau"),
        chosen("fitted", 3, paper=6, note="largest batch sizes, through which the exponent is fitted"),
        chosen("found", 1e-6, note="loss at which a run has found the teacher"),
    ),
    pieces=_pieces,
    measure=_measure,
    conclude=_conclude,
    beyond=True,
)
