"""Runs as a film: students that move through a plane."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.animation import FuncAnimation, PillowWriter

from tutelage.checks import count
from tutelage.dynamics import Runs
from tutelage.plot.curves import _checked, paths_in_plane
from tutelage.style import BLUE, GREY, RED, axes_of, styled

_MOST_RUNS = 50


@dataclass(frozen=True)
class Animation:
    """A film of runs, which shows itself in a notebook.

    Attributes:
        film: Matplotlib's animation.
        frames: Number of its pictures.
    """

    film: FuncAnimation
    frames: int

    def save(self, path: str | Path, frames_per_second: int = 20) -> None:
        """Write the film: a GIF, or, for a name that ends in `.html`, a page with buttons.

        Args:
            path: The file.
            frames_per_second: How fast it plays.
        """
        rate = count("frames_per_second", frames_per_second)
        if Path(path).suffix == ".html":
            Path(path).write_text(self.film.to_jshtml(fps=rate), encoding="utf-8")
        else:
            self.film.save(path, writer=PillowWriter(fps=rate))

    def _repr_html_(self) -> str:
        return self.film.to_jshtml(fps=20)


def animate(runs: Runs, quantity: str, plane: Any = None, frames: int = 60) -> Animation:
    """Draw the paths of students through a plane as they grow, with the teacher.

    Args:
        runs: Runs along which the students were recorded, as for `trajectories`; the first fifty are shown.
        quantity: The recorded quantity: one vector, or several, of the space of the inputs.
        plane: Two orthonormal vectors, `[2, dim]`; the first two axes if left out.
        frames: Number of pictures.

    Returns:
        The film: `save` writes it.
    """
    frames = count("frames", frames, least=2)
    places, teachers = paths_in_plane(_checked(runs), quantity, plane, min(len(runs), _MOST_RUNS))
    figure, panel = axes_of(None, width=3.4, height=3.4)
    paths = [(steps, path) for steps, vectors in places for path in np.moveaxis(vectors, 1, 0)]
    last = max(int(steps[-1]) for steps, _ in paths)
    with styled():
        every = np.concatenate([teachers, *(path for _, path in paths)])
        low, high = every.min(axis=0), every.max(axis=0)
        margin = 0.05 * max((high - low).max(), 1e-9)
        panel.plot(teachers[:, 0], teachers[:, 1], "*", color=RED, markersize=9)
        trails = [panel.plot([], [], color=BLUE, linewidth=1.0, alpha=0.6)[0] for _ in paths]
        heads = [panel.plot([], [], "o", color=BLUE, markersize=3.5)[0] for _ in paths]
        panel.plot([path[0, 0] for _, path in paths], [path[0, 1] for _, path in paths], "o", color=GREY, markersize=2)
        panel.set(xlim=(low[0] - margin, high[0] + margin), ylim=(low[1] - margin, high[1] + margin), aspect="equal")

    def show(frame: int) -> list[Any]:
        now = last * frame / (frames - 1)
        for (steps, path), trail, head in zip(paths, trails, heads, strict=True):
            seen = path[: int(np.searchsorted(steps, now, side="right"))]
            trail.set_data(seen[:, 0], seen[:, 1])
            head.set_data(seen[-1:, 0], seen[-1:, 1])
        panel.set_title(f"step {now:.0f}")
        return [*trails, *heads]

    return Animation(FuncAnimation(figure, show, frames=frames, interval=50), frames)
