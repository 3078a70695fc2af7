"""Pictures of runs: what was recorded along them, and what they reached."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tutelage.checks import finite_array, flag, of_kind, real_array
from tutelage.dynamics import Runs
from tutelage.errors import invalid, shown
from tutelage.statistics import wilson_interval
from tutelage.style import BLUE, COLOURS, GREY, RED, axes_of, styled

# More curves than this hide each other.
_MOST_RUNS = 200
_STATUS_COLOURS = dict(
    zip(("converged", "step_limit", "channel", "diverged", "stalled"), COLOURS, strict=False)
)  # grey for the others


def histories(
    runs: Runs, quantity: str = "loss", ax: Axes | None = None, logarithmic: bool = True, **options: Any
) -> Figure:
    """Draw a recorded quantity against the step, one curve per run (of each vector, where it has one value per vector).

    Args:
        runs: Runs that were recorded: `descend(..., record=tl.record("loss"))`.
        quantity: The quantity.
        ax: Where to draw; a new figure if left out.
        logarithmic: Whether the quantity has a logarithmic axis; what is not positive is then left out.
        **options: Passed to `matplotlib.axes.Axes.plot`.

    Returns:
        The figure.

    Raises:
        TutelageError: If the quantity was not recorded.
    """
    number = min(len(_checked(runs)), _MOST_RUNS)
    logarithmic = flag("logarithmic", logarithmic)
    figure, panel = axes_of(ax)
    options = {"color": BLUE, "linewidth": 1.0, "alpha": max(0.15, min(1.0, 4 / number)), **options}
    with styled():
        for run in range(number):
            steps, values = runs.curve(quantity, run)
            values = np.asarray(values, float).reshape(len(steps), -1)
            panel.plot(steps, np.where(values > 0, values, np.nan) if logarithmic else values, **options)
        panel.set(xlabel="step", ylabel=quantity.replace("_", " "), yscale="log" if logarithmic else "linear")
        if number < len(runs):
            panel.set_title(f"the first {number} of {len(runs)} runs")
    return figure


def _checked(runs: Any) -> Runs:
    return of_kind("runs", runs, Runs, "runs", "Pass what tutelage.descend returns")


def _whole(argument: str, value: Any) -> np.ndarray:
    """Return whole numbers, or raise if some are not."""
    array = np.atleast_1d(np.asarray(finite_array(argument, value)))
    if array.ndim != 1 or (array < 0).any() or (array > 2**53).any() or (array != np.round(array)).any():
        raise invalid(argument, "be whole numbers, none negative", shown(value), "Pass how many there were")
    return array.astype(int)


def losses(runs: Runs, ax: Axes | None = None) -> Figure:
    """Draw the loss against the step, one curve per run.

    Args:
        runs: Runs whose losses were recorded: `descend(..., record=tl.record("loss"))`.
        ax: Where to draw; a new figure if left out.

    Returns:
        The figure.

    Raises:
        TutelageError: If the loss was not recorded; `final_losses` needs no record.
    """
    return histories(runs, "loss", ax)


def final_losses(runs: Runs, ax: Axes | None = None) -> Figure:
    """Draw the losses reached, in increasing order, coloured by how the runs ended: steps are minima.

    Args:
        runs: The runs.
        ax: Where to draw; a new figure if left out.

    Returns:
        The figure.
    """
    order = np.argsort(_checked(runs).losses)
    figure, panel = axes_of(ax)
    values, statuses = np.asarray(runs.losses)[order], runs.statuses[order]
    # Losses of global minima are rounding errors of either sign.
    floor = 1e-16
    with styled():
        for status in sorted(set(statuses)):
            own = np.flatnonzero(statuses == status)
            colour = _STATUS_COLOURS.get(status, GREY)
            label = f"{status.replace('_', ' ')} ({len(own)})"
            panel.plot(own + 1, np.maximum(values[own], floor), ".", color=colour, markersize=4, label=label)
        panel.set(xlabel="runs, in the order of their losses", ylabel="loss", yscale="log")
        # Differences of rounding errors do not look like differences of minima.
        panel.set_ylim(floor / 3, max(3 * panel.get_ylim()[1], 1e4 * floor))
        panel.legend(loc="best")
    return figure


def trajectories(runs: Runs, quantity: str, plane: Any = None, ax: Axes | None = None, **options: Any) -> Figure:
    """Draw the paths of students through a plane, with their starts, their ends and the teacher.

    Args:
        runs: Runs along which the students were recorded, such as `descend(..., record=tl.record("loss", student=lambda
            student: student))`.
        quantity: The recorded quantity: one vector, or several, of the space of the inputs.
        plane: Two orthonormal vectors, `[2, dim]`; the first two axes if left out.
        ax: Where to draw; a new figure if left out.
        **options: Passed to `matplotlib.axes.Axes.plot`.

    Returns:
        The figure.
    """
    number = min(len(_checked(runs)), _MOST_RUNS)
    places, teachers = paths_in_plane(runs, quantity, plane, number)
    figure, panel = axes_of(ax, width=3.4, height=3.4)
    options = {"color": BLUE, "linewidth": 1.0, "alpha": max(0.2, min(1.0, 6 / number)), **options}
    with styled():
        for _, paths in places:
            for path in np.moveaxis(paths, 1, 0):
                panel.plot(path[:, 0], path[:, 1], **options)
                panel.plot(*path[0], "o", color=GREY, markersize=2.5)
                panel.plot(*path[-1], "o", color=options["color"], markersize=3.5)
        panel.plot(teachers[:, 0], teachers[:, 1], "*", color=RED, markersize=9, label="teacher")
        panel.set_aspect("equal", adjustable="datalim")
        panel.legend(loc="best")
    return figure


def paths_in_plane(
    runs: Runs, quantity: str, plane: Any, number: int
) -> tuple[list[tuple[np.ndarray, np.ndarray]], np.ndarray]:
    """Return steps and places of the vectors of some runs, `[step, vector, 2]`, and the teacher's, in a plane.

    Args:
        runs: Runs along which the students were recorded.
        quantity: The recorded quantity.
        plane: Two orthonormal vectors, or `None` for the first two axes.
        number: How many runs.
    """
    problem = runs.of_one_teacher().objective.problem
    basis = np.eye(2, problem.dimension) if plane is None else np.asarray(finite_array("plane", plane))
    if basis.shape != (2, problem.dimension) or np.abs(basis @ basis.T - np.eye(2)).max() > 1e-9:
        raise invalid(
            "plane", f"be two orthonormal vectors of dimension {problem.dimension}", str(plane), "Pass [2, dim]"
        )
    places = []
    for run in range(number):
        steps, values = runs.curve(quantity, run)
        values = np.asarray(values, float)
        if values.ndim < 2 or values.shape[-1] != problem.dimension:
            received = f"shape {values.shape[1:]}"
            raise invalid("quantity", f"hold vectors of dimension {problem.dimension}", received, "Record them")
        places.append((np.asarray(steps), values.reshape(len(steps), -1, problem.dimension) @ basis.T))
    return places, np.asarray(problem.teacher.vectors(runs.objective.target)) @ basis.T


def intervals(x: Any, middle: Any, low: Any, high: Any, ax: Axes | None = None, **options: Any) -> Figure:
    """Draw values with intervals around them.

    Args:
        x: Positions.
        middle: Values.
        low: Lower ends of the intervals.
        high: Upper ends.
        ax: Where to draw; a new figure if left out.
        **options: Passed to `matplotlib.axes.Axes.errorbar`.

    Returns:
        The figure.
    """
    named = {"x": x, "middle": middle, "low": low, "high": high}
    x, middle, low, high = (np.atleast_1d(np.asarray(real_array(name, values))) for name, values in named.items())
    for name, values in (("x", x), ("low", low), ("high", high)):
        if values.shape != middle.shape or values.ndim != 1:
            received = f"shape {values.shape} beside {middle.shape}"
            raise invalid(name, "be one number for each value", received, "Pass lists of one length")
    figure, panel = axes_of(ax)
    # An end may lie on the wrong side of its value by a rounding error.
    bars = np.maximum(np.stack([middle - low, high - middle]), 0.0)
    with styled():
        panel.errorbar(x, middle, bars, **{"fmt": "o-", "capsize": 2, **options})
    return figure


def success(x: Any, successes: Any, trials: Any, ax: Axes | None = None, **options: Any) -> Figure:
    """Draw shares of success with their 95 % intervals (Wilson's).

    Args:
        x: What was varied.
        successes: Number of successes for each.
        trials: Number of trials for each, or one number for all.
        ax: Where to draw; a new figure if left out.
        **options: Passed to `matplotlib.axes.Axes.errorbar`.

    Returns:
        The figure.
    """
    counts, totals = _whole("successes", successes), _whole("trials", trials)
    if len(totals) not in (1, len(counts)):
        raise invalid(
            "trials", f"be one number or {len(counts)}", f"{len(totals)}", "Pass one for each, or one for all"
        )
    totals = np.broadcast_to(totals, counts.shape)
    ends = np.array([wilson_interval(int(n), int(total)) for n, total in zip(counts, totals, strict=True)])
    figure, panel = axes_of(ax)
    intervals(np.atleast_1d(x), counts / totals, ends[:, 0], ends[:, 1], panel, **{"color": BLUE, **options})
    panel.set(ylabel="success", ylim=(-0.03, 1.03))
    return figure
