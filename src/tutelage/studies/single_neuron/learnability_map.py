"""Which activations are learned under which inputs, and how label noise matters.

Every law stands as a fixed sample of points, over which the loss is an exact sum, so that laws without closed forms and
real image patches are treated alike.

Stochastic descent draws the same rows of the sample and the same label noise for all activations, laws and strengths of the
noise. They are drawn apart from the descent, so that only one program makes random numbers, which are slow to compile: by
`tutelage.descend` on streams, which takes the same steps, sixteen programs would, and the study would take 28 s of a core for 17.
"""

import math
from collections.abc import Callable
from functools import lru_cache, partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import polars as pl

from tutelage.activations import Activation, Cosine, get
from tutelage.dynamics import GradientDescent, descend, gradient_norm, loss_below, step_limit
from tutelage.dynamics.lanes import run_key
from tutelage.inputs import Inputs, finite, gaussian, mnist_patches, rademacher, sphere, student_t, uniform_box
from tutelage.objectives import empirical
from tutelage.plot import SEQUENTIAL, panels
from tutelage.problems import neuron
from tutelage.starts import gaussian as gaussian_starts
from tutelage.studies.base import Arrays, Conclusion, Picture, Pieces, Study, Values, chosen
from tutelage.studies.compiling import LITTLE_EFFORT
from tutelage.studies.expectations import above, below

ACTIVATIONS: dict[str, Activation] = {
    **{name: get(name) for name in ("relu", "leaky_relu", "softplus", "gelu", "tanh", "abs", "quadratic")},
    "cosine-5": Cosine(frequency=5.0),
}


_HARD = "Theorem 3.1's"
_SPREAD = ("Gaussian", "sphere", "uniform box", "heavy tails")
_LAWS: dict[str, Callable[[int], Inputs]] = {
    "Gaussian": gaussian,
    "sphere": sphere,
    "uniform box": lambda dimension: uniform_box(dimension, low=-np.sqrt(3), high=np.sqrt(3)),
    "heavy tails": lambda dimension: student_t(dimension, degrees=5),
    "signs": rademacher,
    "shifted Gaussian": lambda dimension: gaussian(dimension, mean=3 * np.eye(dimension)[0]),
    "digit patches": lambda dimension: mnist_patches(math.isqrt(dimension)),
    _HARD: lambda dimension: finite(-np.sqrt(dimension) * np.eye(dimension)),
}
# Steps whose batches are drawn at once: a few megabytes.
_STRETCH = 1000


def _pieces(values: Values):
    return {name: {"name": name} for name in values.activations}


@lru_cache
def _samples(dimension: int, number: int, seed: int) -> dict[str, np.ndarray]:
    """Every law as a fixed sample, of the same size for all laws, so that one program serves them all."""
    drawn = _draws([law(dimension) for law in _LAWS.values()], jax.random.key(seed), number)
    return {name: np.asarray(sample) for name, sample in zip(_LAWS, drawn, strict=True)}


@partial(jax.jit, static_argnames=("number",), compiler_options=LITTLE_EFFORT)
def _draws(laws: list[Inputs], key, number: int):
    return [law.sample(key, number) for law in laws]


@partial(jax.jit, static_argnames=("steps", "runs", "batch", "number"), compiler_options=LITTLE_EFFORT)
def _batches(seed, first, steps: int, runs: int, batch: int, number: int):
    """Return rows of a sample and standard label noise of the steps from `first`, `[step, run, batch]` each."""

    def draw(step, run):
        row_key, noise_key = jax.random.split(jax.random.fold_in(run_key(seed, run), step))
        rows = (number * jax.random.uniform(row_key, (batch,))).astype(int)
        return rows, jax.random.normal(noise_key, (batch,))

    over_runs = jax.vmap(draw, (None, 0))
    return jax.vmap(over_runs, (0, None))(first + jnp.arange(steps), jnp.arange(runs))


@eqx.filter_jit
def _stochastic(activation: Activation, points, labels, noises, step, students, batches):
    """Move students `[law, noise, run, dim]` by stochastic descent on given batches."""

    def move(points, labels, noise, student, rows, errors):
        inputs, outputs = points[rows], labels[rows] + noise * errors
        slope = jax.grad(lambda student: 0.5 * jnp.mean((activation(inputs @ student) - outputs) ** 2))
        return student - step * slope(student)

    over_runs = jax.vmap(move, (None, None, None, 0, 0, 0))
    over_noises = jax.vmap(over_runs, (None, None, 0, 0, None, None))
    over_laws = jax.vmap(over_noises, (0, 0, None, 0, None, None))

    def advance(students, batch):
        return over_laws(points, labels, noises, students, *batch), None

    return jax.lax.scan(advance, students, batches)[0]


@eqx.filter_jit
def _losses(activation: Activation, points, labels, students):
    """Return the losses over the samples of students `[law, noise, run, dim]`."""

    def of_law(law):
        points, labels, students = law
        return 0.5 * jnp.mean((activation(students @ points.T) - labels) ** 2, axis=-1)

    # One law after another: the residuals of all of them would fill the memory at paper scale.
    return jax.lax.map(of_law, (points, labels, students))


def _measure(values: Values, seed: int, name: str) -> Arrays:
    activation = ACTIVATIONS[name]
    dimension = values.patch**2
    teacher = np.random.default_rng([seed, 1]).normal(size=dimension)
    teacher /= np.linalg.norm(teacher)
    samples = _samples(dimension, values.sample, seed)
    # Theorem 3.1 comes with a teacher of its own, which sees every input.
    targets = [np.full(dimension, -1 / np.sqrt(dimension)) if law == _HARD else teacher for law in samples]
    objectives = [
        empirical(neuron(target, activation), points) for target, points in zip(targets, samples.values(), strict=True)
    ]
    starts = gaussian_starts(objectives[0].problem, values.runs, scale=1 / np.sqrt(dimension), seed=seed)
    labels = np.stack([objective.labels for objective in objectives])
    # What the best constant prediction leaves: half the variance of the labels, or all of them if they are equal.
    variance = labels.var(axis=1)
    found = values.found * 0.5 * np.where(variance > 1e-9, variance, np.mean(labels**2, axis=1))
    success = []
    for objective, enough in zip(objectives, found, strict=True):
        # A little below what is enough, so that the last bits do not decide.
        stop = loss_below(0.99 * enough) | gradient_norm(1e-10) | step_limit(values.descent_iterations)
        success.append(descend(objective, starts, GradientDescent(values.step), stop).losses < enough)
    points = np.stack(list(samples.values()))
    students = np.broadcast_to(starts, (len(points), len(values.noises), *starts.shape))
    noises, step = np.array(values.noises), np.array(values.step)
    for first in range(0, values.iterations, _STRETCH):
        stretch = min(_STRETCH, values.iterations - first)
        batches = _batches(seed, first, stretch, values.runs, values.batch, values.sample)
        students = _stochastic(activation, points, labels, noises, step, students, batches)
    noisy = np.asarray(_losses(activation, points, labels, students)) < found[:, None, None]
    return {"success": np.array(success), "noisy": noisy}


def _conclude(values: Values, pieces: Pieces) -> Conclusion:
    laws = list(_LAWS)
    exact = np.stack([pieces[name]["success"].mean(axis=1) for name in values.activations])
    noisy = np.stack([pieces[name]["noisy"].mean(axis=2) for name in values.activations])
    names = list(values.activations)
    frame = pl.DataFrame(
        {
            "activation": np.repeat(names, len(laws)).tolist(),
            "inputs": laws * len(names),
            "success": exact.ravel(),
            **{f"sgd_noise_{noise:g}": noisy[:, :, n].ravel() for n, noise in enumerate(values.noises)},
        }
    )

    def cell(activation: str, law: str) -> float:
        return float(exact[names.index(activation), laws.index(law)])

    spread = [cell("relu", law) for law in _SPREAD]
    periodic = max(cell("cosine-5", law) for law in _SPREAD)
    strict = [cell("leaky_relu", law) for law in laws if law != _HARD]
    expectations = (
        above("ReLU, spread laws: smallest success", "learned (Sections 5 and 6)", min(spread), 0.9),
        above(
            "leaky ReLU, whose slope is bounded below: smallest success over all laws but Theorem 3.1's",
            "learned, whatever the law (Theorem 3.2)",
            min(strict),
            0.9,
        ),
        below("a periodic activation, spread laws: largest success", "not learned (Section 3.2)", periodic, 0.1),
        below("ReLU on Theorem 3.1's law and teacher", "stuck (Theorem 3.1)", cell("relu", _HARD), 0.1),
    )
    difference = exact - noisy[:, :, 0]
    i, j = np.unravel_index(np.abs(difference).argmax(), difference.shape)
    remarks = (
        f"The map is {exact.size} pairs of activation and law, {values.runs} starts each, in dimension {values.patch**2}. Even "
        "activations (absolute value, square) find the teacher up to its sign, which the loss does not see.",
        "On Theorem 3.1's law a leaky ReLU of slope 0.01 converges too, by Theorem 3.2, but on its small side 10,000 times as slowly.",
        f"Full and stochastic descent differ most for {names[i]} under {laws[j]} inputs ({exact[i, j]:.0%} and {noisy[i, j, 0]:.0%}); "
        f"averaged over the map, label noise of standard deviation {values.noises[-1]:g} costs "
        f"{np.mean(noisy[:, :, 0] - noisy[:, :, -1]):.0%} of the runs.",
    )
    titles = ["descent", *(f"stochastic, noise {noise:g}" for noise in values.noises)]
    tables = [exact, *(noisy[:, :, n] for n in range(len(values.noises)))]
    figure, axes = panels(columns=len(tables), width=2.6, height=3.2, sharey=True)
    for panel, table, title in zip(axes, tables, titles, strict=True):
        image = panel.imshow(table, vmin=0, vmax=1, cmap=SEQUENTIAL, aspect="auto")
        panel.set_xticks(range(len(laws)), laws, rotation=60, ha="right", rotation_mode="anchor")
        panel.set_yticks(range(len(names)), names)
        panel.set(title=title, xlabel="inputs")
        for i, j in np.ndindex(*table.shape):
            colour = "w" if table[i, j] < 0.6 else "k"
            panel.text(j, i, f"{100 * table[i, j]:.0f}", ha="center", va="center", fontsize=6, color=colour)
    figure.colorbar(image, ax=axes, label="success", shrink=0.8)
    caption = (
        f"Percentage of {values.runs} N(0, I/d) starts from which the loss falls below {values.found:g} of what the best constant "
        f"leaves, in dimension {values.patch**2}, for each activation and law of the inputs: full descent, and stochastic descent with "
        f"batches of {values.batch} and label noise of two strengths."
    )
    return Conclusion(expectations, (Picture("map", caption, figure),), {"map": frame}, remarks)


STUDY = Study(
    id="single_neuron.learnability-map",
    place="Sections 3 to 6 at a glance",
    title="what is learned under which inputs",
    question="For which pairs of activation and input law does descent from random starts learn a neuron, and what does label "
    "noise change for stochastic descent?",
    settings=(
        chosen("activations", tuple(ACTIVATIONS)),
        chosen("laws", "Gaussian, sphere, box, heavy tails, signs, shifted Gaussian, digit patches, Theorem 3.1's"),
        chosen("patch", 4, note="side of the image patches; the dimension is its square for all laws"),
        chosen("sample", 256, paper=4096, note="points that stand for a law"),
        chosen("runs", 16, paper=200),
        chosen("step", 0.02),
        chosen("descent_iterations", 8000, paper=40_000, note="image patches are ill-conditioned"),
        chosen("iterations", 1000, paper=10_000, note="of stochastic descent"),
        chosen("batch", 16),
        chosen("noises", (0.0, 0.5), paper=(0.0, 0.1, 0.5, 1.0)),
        chosen("found", 0.1, note="fraction of the variance left"),
    ),
    pieces=_pieces,
    measure=_measure,
    conclude=_conclude,
    beyond=True,
)
