"""A small tour: one figure and one table for each family of problems.

python examples/tour.py                     all families, figures into build/tour
python examples/tour.py committee wave      some of them
python examples/tour.py --quick             few and short runs
python examples/tour.py --overview FILE     one picture of all families besides
"""

import argparse
import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp
import matplotlib
import numpy as np
from rich.console import Console
from rich.table import Table

import tutelage as tl

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.ticker import MaxNLocator

# Okabe and Ito's palette: its colours differ for colour-blind readers too.
BLUE, ORANGE, GREEN, RED, GREY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#999999"
STYLE = {
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "lines.linewidth": 1.3,
    "svg.hashsalt": "tutelage",
}
FLOOR = 1e-15  # below it a loss is rounding error, and its curve ends

Panel = Callable[[plt.Axes], None]


@dataclass(frozen=True)
class Exhibit:
    """What the tour shows of a family: the panels of a figure (the overview has the first), and a table."""

    title: str
    panels: Sequence[Panel]
    table: Table


def table(title: str, *columns: str) -> Table:
    """An empty table whose first column holds words, the others numbers."""
    result = Table(title=title, title_justify="left", title_style="bold", min_width=len(title) + 2)
    for i, column in enumerate(columns):
        result.add_column(column, justify="left" if i == 0 else "right")
    return result


def loss_curve(axes: plt.Axes, runs: tl.Runs, run: int, **style) -> None:
    """One recorded loss against the step, on a logarithmic axis, until only rounding is left of it."""
    steps, losses = above_rounding(*runs.curve("loss", run))
    axes.semilogy(steps, losses, **style)


def above_rounding(steps: np.ndarray, losses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    small = np.flatnonzero(losses < FLOOR)
    end = small[0] if small.size else len(losses)
    return steps[:end], losses[:end]


def label(axes: plt.Axes, title: str, x: str, y: str, legend: str | None = None) -> None:
    axes.set(title=title, xlabel=x, ylabel=y)
    if legend:
        axes.legend(loc=legend)


def vector(entries) -> str:
    return "(" + ", ".join(f"{float(x):g}" for x in entries).replace("-", "−") + ")"


# One neuron under inputs with a mean: the angle to the teacher grows before it falls.


def neuron(quick: bool) -> Exhibit:
    problem = tl.problems.neuron([1.0, 0.0], inputs=tl.inputs.gaussian(2, mean=[0.0, 1.0]))
    objective = tl.population(problem)
    starts = jnp.array([[-1.0, 1.0], [-1.0, 0.5], [-1.0, 0.0]])
    runs = tl.descend(
        objective,
        starts,
        tl.GradientDescent(step=1e-3),
        stop=tl.step_limit(200 if quick else 16_000),
        record=tl.record(every=40, place=lambda student: student),
    )
    paths = [runs.curve("place", run) for run in range(len(runs))]
    angles = [np.arctan2(np.abs(path[:, 1]), path[:, 0]) for _, path in paths]
    colours = (BLUE, ORANGE, GREEN)

    def surface(axes: plt.Axes) -> None:
        x, y = np.linspace(-1.3, 1.5, 57), np.linspace(-1.1, 1.4, 51)
        grid = jnp.stack(jnp.meshgrid(x, y), axis=-1).reshape(-1, 2)
        losses = np.asarray(jax.jit(jax.vmap(lambda student: objective.loss(student)))(grid)).reshape(51, 57)
        axes.contour(x, y, np.sqrt(losses), levels=18, colors=GREY, linewidths=0.5)
        for (_, path), colour in zip(paths, colours, strict=True):
            axes.plot(*path.T, color=colour)
            axes.plot(*path[0], "o", color=colour, markersize=4)
        axes.plot(1, 0, "x", color="black", markersize=7, markeredgewidth=2)
        axes.set_aspect("equal")
        label(axes, "neuron: paths on the loss surface", "$w_1$", "$w_2$")

    def angle(axes: plt.Axes) -> None:
        for (steps, _), values, start, colour in zip(paths, angles, starts, colours, strict=True):
            axes.plot(steps, values, color=colour, label=f"from {vector(start)}")
        axes.set_yticks([0, math.pi / 2, math.pi], ["0", "π/2", "π"])
        label(axes, "angle between student and teacher", "step", "angle (rad)", "upper right")

    rows = table("neuron: ReLU, inputs N((0, 1), I), teacher (1, 0)", "start", "angle", "largest", "at end", "loss")
    for start, values, loss in zip(starts, angles, runs.losses, strict=True):
        rows.add_row(vector(start), f"{values[0]:.3f}", f"{values.max():.3f}", f"{values[-1]:.3f}", f"{loss:.1e}")
    return Exhibit("neuron", (surface, angle), rows)


# A committee with as many students as teachers: many starts end at spurious minima.


def committee(quick: bool) -> Exhibit:
    neurons, count = (6, 40) if quick else (12, 200)
    problem = tl.problems.committee(teacher=jnp.eye(neurons), students=neurons)
    objective = tl.population(problem)
    runs = tl.descend(
        objective,
        tl.starts.xavier(problem, runs=count, seed=0),
        tl.GradientDescent(step=5 / neurons),
        stop=tl.gradient_norm(1e-12),
        record=tl.record("loss", "norm_sum", every=10, at_most=400),
    )
    reached = runs.losses < 1e-10
    norm_sums = np.array([runs.curve("norm_sum", run)[1][-1] for run in range(count)])

    def curves(axes: plt.Axes) -> None:
        for colour, ends in ((ORANGE, ~reached), (BLUE, reached)):
            for run in np.flatnonzero(ends):
                loss_curve(axes, runs, run, color=colour, lw=0.6, alpha=0.6)
        axes.plot([], [], color=BLUE, label="global")
        axes.plot([], [], color=ORANGE, label="spurious")
        label(axes, f"committee: {count} runs, {neurons} neurons", "step", "loss")
        axes.legend(loc="center right", title="minimum reached", title_fontsize=8)

    def sums(axes: plt.Axes) -> None:
        margin = 0.1 * np.ptp(norm_sums)
        bins = np.linspace(norm_sums.min() - margin, norm_sums.max() + margin, 31)
        parts = [norm_sums[reached], norm_sums[~reached]]
        axes.hist(parts, bins, stacked=True, color=[BLUE, ORANGE], label=["global minimum", "spurious minimum"])
        axes.xaxis.set_major_locator(MaxNLocator(4))
        label(axes, "where the runs end", "sum of the students' norms", "runs", "upper left")

    rows = table(
        f"committee: {neurons} ReLU students and teachers, {count} Xavier starts",
        "minimum",
        "loss",
        "runs",
        "norm sum",
        "median steps",
    )
    levels = np.round(runs.losses, 6)
    for level in np.unique(levels):
        here = levels == level
        rows.add_row(
            "global" if level < 1e-6 else "spurious",
            f"{abs(level):.6f}",
            str(here.sum()),
            f"{norm_sums[here].mean():.4f}",
            f"{np.median(runs.steps[here]):.0f}",
        )
    return Exhibit("committee", (curves, sums), rows)


# More students than teachers: every student turns to a teacher or vanishes.


def homogeneous(quick: bool) -> Exhibit:
    angles = np.array([0.3, 1.4, 2.5])
    teacher = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    problem = tl.problems.homogeneous(teacher, students=20)
    runs = tl.descend(
        tl.population(problem),
        tl.starts.gaussian(problem, runs=1, scale=0.4, seed=3),
        tl.GradientDescent(step=0.02),
        stop=tl.step_limit(300 if quick else 20_000),
        record=tl.record("loss", every=20, at_most=1000, place=lambda student: student),
    )
    steps, places = runs.curve("place", 0)
    final = places[-1]
    nearest = np.argmax(np.abs(final @ teacher.T), axis=1)

    def trajectories(axes: plt.Axes) -> None:
        reach = 1.1 * np.abs(places).max()
        for i, direction in enumerate(teacher):
            name = "teachers" if i == 0 else None
            axes.plot(*np.outer(direction, [-reach, reach]), color=BLUE, lw=1, ls="--", label=name)
        for student in range(places.shape[1]):
            axes.plot(*places[:, student].T, color="black", lw=0.7, label="students" if student == 0 else None)
        axes.plot(*final.T, "o", color=RED, markersize=3.5, label="their ends")
        axes.set_aspect("equal")
        axes.set(xlim=(-reach, 1.9 * reach), ylim=(-reach, reach))
        label(axes, "homogeneous: 20 students, 3 teachers", "$w_1$", "$w_2$", "upper right")

    def loss(axes: plt.Axes) -> None:
        values = runs.curve("loss", 0)[1]
        axes.loglog(steps[1:], values[1:], color=BLUE)
        label(axes, "loss along the run", "step", "loss")

    rows = table(
        "homogeneous: student Σ‖w‖|w·x|, teacher Σ|w·x|, dimension 2",
        "teacher angle",
        "students near",
        "their Σ‖w‖²",
        "mean angle to it",
    )
    for i, direction in enumerate(angles):
        own = final[nearest == i]
        squares = np.sum(own**2, axis=1)
        off = np.arccos(np.clip(np.abs(own @ teacher[i]) / np.sqrt(squares), 0, 1))
        # Weighted by squared norms: a student that has almost vanished may point anywhere.
        angle = np.sum(squares * off) / np.sum(squares)
        rows.add_row(f"{direction:.2f} rad", str(len(own)), f"{np.sum(squares):.4f}", f"{angle:.1e} rad")
    return Exhibit("homogeneous", (trajectories, loss), rows)


# One convolutional filter: the sign of the first filter decides between the global and a spurious minimum.


def convolution(quick: bool) -> Exhibit:
    filter_size, patches, angle = 20, 25, 1.2
    axis = np.eye(filter_size)
    problem = tl.problems.convolution(filter=axis[0], output_weights=np.eye(patches)[0])
    first = math.cos(angle) * axis[0] + math.sin(angle) * axis[1]
    names = ["success", "failure"]
    starts = tl.models.FilterAndOutput(
        filter=np.stack([first, -first]), output=np.tile(0.1 * np.eye(patches)[0], (2, 1))
    )
    runs = tl.descend(
        tl.population(problem),
        starts,
        tl.GradientDescent(step=0.2),
        stop=tl.step_limit(60 if quick else 600),
        record=tl.record("loss", "angle"),
    )
    colours = (BLUE, ORANGE)

    def losses(axes: plt.Axes) -> None:
        for run, (name, colour) in enumerate(zip(names, colours, strict=True)):
            loss_curve(axes, runs, run, color=colour, label=name)
        label(axes, "convolution: one filter, 25 patches", "step", "loss", "center right")

    def angles(axes: plt.Axes) -> None:
        for run, (name, colour) in enumerate(zip(names, colours, strict=True)):
            axes.plot(*runs.curve("angle", run), color=colour, label=name)
        axes.set_yticks([0, math.pi / 2, math.pi], ["0", "π/2", "π"])
        label(axes, "angle between the filters", "step", "angle (rad)", "center right")

    rows = table(
        "convolution: both layers learned, filter of 20, 25 patches",
        "start",
        "first angle",
        "last angle",
        "loss",
        "gradient norm",
    )
    for run, name in enumerate(names):
        values = runs.curve("angle", run)[1]
        rows.add_row(
            name,
            f"{values[0]:.3f}",
            f"{values[-1]:.1e}" if values[-1] < 0.01 else f"{values[-1]:.3f}",
            f"{abs(runs.losses[run]):.1e}",
            f"{runs.gradient_norms[run]:.1e}",
        )
    return Exhibit("convolution", (losses, angles), rows)


# Weight sharing: the easy part of the target shows one shared vector the way; separate ones stay in the dark.


def weight_sharing(title: str, build: Callable[[bool], tl.problems.Problem], step: float, steps: int) -> Exhibit:
    """Compare one vector for all patches with one vector per patch; `build` states the problem for either."""
    count = 5
    names = {True: "shared", False: "one per patch"}
    outcomes = {}
    for sharing in names:
        problem = build(sharing)
        outcomes[sharing] = tl.descend(
            tl.population(problem),
            tl.starts.gaussian(problem, runs=count, scale=problem.dimension**-0.5, seed=0),
            tl.GradientDescent(step=step),
            stop=tl.step_limit(steps),
            record=tl.record("loss", "distance", every=max(1, steps // 400)),
        )
    colours = {True: BLUE, False: ORANGE}

    def losses(axes: plt.Axes) -> None:
        for sharing, runs in outcomes.items():
            for run in range(count):
                name = names[sharing] if run == 0 else None
                loss_curve(axes, runs, run, color=colours[sharing], lw=0.9, label=name)
        label(axes, f"{title}: five runs each", "step", "loss", "center right")

    def distances(axes: plt.Axes) -> None:
        steps_seen, separate = outcomes[False].curve("distance", 0)
        axes.plot(steps_seen, separate[:, 1:], color=ORANGE, lw=0.9)
        axes.plot([], [], color=ORANGE, label="other patches' own")
        axes.plot(*outcomes[True].curve("distance", 0), color=BLUE, label="shared vector")
        axes.plot(steps_seen, separate[:, 0], "--", color=GREEN, label="first patch's own")
        label(axes, "distance of vectors to the teacher", "step", "distance")
        axes.legend(loc="lower right", bbox_to_anchor=(1.0, 0.08))

    rows = table(f"{title}: population descent, five runs each", "vectors", "median loss", "largest loss", "distance")
    for sharing, runs in outcomes.items():
        farthest = [np.max(runs.curve("distance", run)[1][-1]) for run in range(count)]
        largest = np.abs(runs.losses).max()
        rows.add_row(
            names[sharing],
            f"{np.median(np.abs(runs.losses)):.1e}",
            f"{largest:.1e}",
            f"{np.median(farthest):.1e}",
        )
    return Exhibit(title, (losses, distances), rows)


def unit_target(dimension: int, length: float = 1.0) -> np.ndarray:
    target = np.random.default_rng(0).normal(size=dimension)
    return length * target / np.linalg.norm(target)


def wave(quick: bool) -> Exhibit:
    return weight_sharing(
        "wave",
        lambda sharing: tl.problems.wave(unit_target(20), patches=10, sharing=sharing),
        step=0.002,
        steps=100 if quick else 400,
    )


def parity(quick: bool) -> Exhibit:
    return weight_sharing(
        "parity",
        lambda sharing: tl.problems.parity(unit_target(20, 2.0), patches=8, degrees=(1, 8), sharing=sharing),
        step=0.5,
        steps=100 if quick else 1200,
    )


# A composition without a closed form: stochastic descent on fresh batches.


def composite(quick: bool) -> Exhibit:
    kinds = [(learned, sharing) for learned in (False, True) for sharing in (True, False)]
    outcomes = {}
    for learned, sharing in kinds:
        problem = tl.problems.composite("both", unit_target(30, 2.0), patches=4, sharing=sharing, learn_outer=learned)
        outcomes[learned, sharing] = tl.descend(
            tl.stream(problem, batch=64),
            tl.starts.xavier(problem, runs=1, seed=1),
            tl.GradientDescent(step=0.3),
            stop=tl.step_limit(60 if quick else 600),
            record=tl.record("loss", every=10),
        )

    def averaged(runs: tl.Runs, width: int) -> tuple[np.ndarray, np.ndarray]:
        """The recorded losses of batches, averaged over neighbours."""
        steps, losses = runs.curve("loss", 0)
        width = min(width, len(losses))
        mean = np.ones(width) / width
        return np.convolve(steps, mean, "valid"), np.convolve(losses, mean, "valid")

    def panel(learned: bool) -> Panel:
        def draw(axes: plt.Axes) -> None:
            for sharing, colour, name in ((True, BLUE, "shared"), (False, ORANGE, "one per patch")):
                steps, losses = above_rounding(*averaged(outcomes[learned, sharing], 5))
                axes.semilogy(steps, losses, color=colour, label=name)
            outer = "learned" if learned else "known"
            label(axes, f"composite: {outer} outer function", "step", "loss of batches", "center right")

        return draw

    rows = table("composite: stochastic descent, batches of 64", "outer function", "vectors", "first loss", "last loss")
    for learned, sharing in kinds:
        losses = averaged(outcomes[learned, sharing], 5)[1]
        rows.add_row(
            "learned" if learned else "known",
            "shared" if sharing else "one per patch",
            f"{losses[0]:.1e}",
            f"{losses[-1]:.1e}",
        )
    return Exhibit("composite", (panel(True), panel(False)), rows)


FAMILIES: dict[str, Callable[[bool], Exhibit]] = {
    family.__name__: family for family in (neuron, committee, homogeneous, convolution, wave, parity, composite)
}


def save(exhibit: Exhibit, folder: Path) -> Path:
    """Write an exhibit's figure as SVG and PNG, and return the path of the PNG."""
    count = len(exhibit.panels)
    figure, axes = plt.subplots(1, count, figsize=(3.5 * count, 2.9), layout="constrained", squeeze=False)
    for panel, one in zip(exhibit.panels, axes[0], strict=True):
        panel(one)
    path = folder / f"{exhibit.title}.png"
    figure.savefig(path, dpi=200)
    figure.savefig(path.with_suffix(".svg"), metadata={"Date": None})
    plt.close(figure)
    return path


def save_overview(exhibits: Sequence[Exhibit], path: Path) -> None:
    """Write one picture with the first panel of every exhibit, and both of the first."""
    first, *others = exhibits
    panels = [*first.panels, *(exhibit.panels[0] for exhibit in others)]
    columns = min(4, len(panels))
    rows = math.ceil(len(panels) / columns)
    figure, axes = plt.subplots(rows, columns, figsize=(3.3 * columns, 2.8 * rows), layout="constrained")
    for one in np.ravel(axes)[len(panels) :]:
        one.remove()
    for panel, one in zip(panels, np.ravel(axes), strict=False):
        panel(one)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="A figure and a table for each family of problems.")
    parser.add_argument("families", nargs="*", metavar="FAMILY", help=f"some of {', '.join(FAMILIES)}; all by default")
    parser.add_argument("--output", type=Path, default=Path("build/tour"), help="folder of the figures")
    parser.add_argument("--overview", type=Path, metavar="PATH", help="write one picture of all families besides")
    parser.add_argument("--quick", action="store_true", help="few and short runs")
    chosen = parser.parse_args()
    for family in chosen.families:
        if family not in FAMILIES:
            parser.error(f"there is no family {family}; choose among {', '.join(FAMILIES)}")
    return chosen


def main() -> None:
    options = arguments()
    console = Console(width=80, highlight=False)
    plt.rcParams.update(STYLE)
    options.output.mkdir(parents=True, exist_ok=True)
    families = options.families or list(FAMILIES)
    begun = time.monotonic()
    exhibits, paths = [], []
    for number, family in enumerate(families, start=1):
        console.print(f"[{number}/{len(families)}] {family} …", markup=False)
        started = time.monotonic()
        exhibits.append(FAMILIES[family](options.quick))
        paths.append(save(exhibits[-1], options.output))
        console.print(exhibits[-1].table)
        console.print(f"{paths[-1]}, {time.monotonic() - started:.0f} s\n")
    if options.overview is not None:
        save_overview(exhibits, options.overview)
        paths.append(options.overview)
    console.print(f"{len(families)} families in {time.monotonic() - begun:.0f} s. The figures, as PNG and SVG:")
    for path in paths:
        console.print(f"  {path}", soft_wrap=True)


if __name__ == "__main__":
    main()
