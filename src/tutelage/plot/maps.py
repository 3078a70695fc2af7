"""Pictures of the loss: over a plane, and its curvature at a point."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import PyTree
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tutelage.checks import affordable, count, finite_array, flag, positive
from tutelage.dynamics.checks import deterministic
from tutelage.errors import invalid
from tutelage.geometry import Spectrum
from tutelage.objectives import Objective
from tutelage.style import BLUE, GREY, RED, SEQUENTIAL, axes_of, styled


def landscape(
    objective: Objective,
    centre: PyTree | None = None,
    first: PyTree | None = None,
    second: PyTree | None = None,
    extent: float | None = None,
    resolution: int = 61,
    ax: Axes | None = None,
    logarithmic: bool = True,
) -> Figure:
    r"""Draw the loss over a plane through a student: $L(w + a u + b v)$ for $|a|, |b|$ up to the extent.

    Args:
        objective: A deterministic objective.
        centre: The student $w$ in the middle; zero if left out.
        first: The direction $u$, of the same shapes. May be left out, with `second`, where a student has two
            parameters: the plane is then all there is.
        second: The direction $v$.
        extent: How far to go in both directions: one, or, without directions, half as far again as the teacher.
        resolution: Points per side.
        ax: Where to draw; a new figure if left out.
        logarithmic: Whether colours follow the logarithm of the loss.

    Returns:
        The figure.
    """
    deterministic(objective)
    problem = objective.problem
    whole = first is None and second is None
    if whole and problem.parameters != 2:
        received = f"none, for students of {problem.parameters} parameters"
        raise invalid(
            "first", "be a direction, and `second` another", received, "Pass both; none in two dimensions only"
        )
    if whole:
        _, unravel = ravel_pytree(problem.zero())
        first, second = unravel(jnp.array([1.0, 0.0])), unravel(jnp.array([0.0, 1.0]))
    if extent is None:
        largest = max((np.abs(leaf).max() for leaf in jax.tree.leaves(objective.target)), default=1.0)
        extent = 1.5 * float(largest) if whole else 1.0
    side, extent = count("resolution", resolution, least=2), positive("extent", extent)
    affordable("resolution", side, side**2, "the picture")
    logarithmic = flag("logarithmic", logarithmic)
    centre = problem.zero() if centre is None else centre
    middle, u, v = (problem.point(p, name) for p, name in ((centre, "centre"), (first, "first"), (second, "second")))
    for name, direction in (("first", u), ("second", v)):
        if not any(np.any(leaf) for leaf in jax.tree.leaves(direction)):
            raise invalid(name, "not be zero", "a direction of zeros", "Pass a direction to go in")
    ticks = jnp.linspace(-extent, extent, side)

    @eqx.filter_jit
    def row(b):
        at = lambda a: objective.loss(jax.tree.map(lambda w, x, y: w + a * x + b * y, middle, u, v))  # noqa: E731
        return jax.vmap(at)(ticks)

    values = np.stack([np.asarray(row(b)) for b in ticks])
    figure, panel = axes_of(ax, width=4.0, height=3.2)
    with styled():
        # A loss of zero has no logarithm: the smallest that is shown is far below all that can be told apart.
        shown = np.log10(np.maximum(values, 1e-6 * np.nanmax(values))) if logarithmic else values
        image = panel.contourf(ticks, ticks, shown, levels=30, cmap=SEQUENTIAL)
        panel.contour(ticks, ticks, shown, levels=10, colors="white", linewidths=0.3)
        if whole:
            panel.set(xlabel="$w_1$", ylabel="$w_2$", aspect="equal")
        else:
            panel.plot(0, 0, "o", color=RED, markersize=4)
            panel.set(xlabel="first direction", ylabel="second direction")
        panel.figure.colorbar(image, ax=panel, label=r"$\log_{10}$ loss" if logarithmic else "loss")
    return figure


def spectrum(eigenvalues: Spectrum | Any, ax: Axes | None = None) -> Figure:
    """Draw eigenvalues in increasing order, negative ones in another colour.

    Args:
        eigenvalues: A `Spectrum`, or plain numbers.
        ax: Where to draw; a new figure if left out.

    Returns:
        The figure.
    """
    plain = eigenvalues.eigenvalues if isinstance(eigenvalues, Spectrum) else eigenvalues
    values = np.sort(np.asarray(finite_array("eigenvalues", plain, dimensions=1)))
    # Eigenvalues along symmetries are zero up to rounding errors, which have no sign.
    zero = 1e-9 * np.abs(values).max()
    ranks = np.arange(1, len(values) + 1)
    figure, panel = axes_of(ax)
    with styled():
        panel.axhline(0, color=GREY, linewidth=0.8)
        for chosen, colour, label in (
            (values < -zero, RED, "negative"),
            (np.abs(values) <= zero, GREY, "zero"),
            (values > zero, BLUE, "positive"),
        ):
            if chosen.any():
                panel.plot(ranks[chosen], values[chosen], ".", color=colour, label=f"{label} ({chosen.sum()})")
        complete = not isinstance(eigenvalues, Spectrum) or eigenvalues.complete
        panel.set(xlabel="rank" if complete else "rank among those found", ylabel="eigenvalue of the Hessian")
        panel.legend(loc="best")
    return figure
