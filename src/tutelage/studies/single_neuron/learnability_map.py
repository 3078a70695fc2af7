"""Which activations are learned under which inputs, and how label noise matters.

Every law stands as a fixed sample of points, over which the loss is an exact sum, so that laws without closed forms and
real image patches are treated alike. Stochastic descent sees the same rows of the sample and the same errors of labels at the same
step from all starts, for all activations and laws and, but for their size, for all strengths of the noise.
"""

import math
from collections.abc import Callable
from functools import lru_cache, partial

import jax
import numpy as np
import polars as pl

from tutelage.activations import Activation, Cosine, get
from tutelage.dynamics import GradientDescent, descend, gradient_norm, loss_below, step_limit
from tutelage.inputs import Inputs, finite, gaussian, mnist_patches, rademacher, sphere, student_t, uniform_box
from tutelage.objectives import Empirical, empirical, stream
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
    noisy = [
        [_stochastic(values, objective, noise, starts, seed) < enough for noise in values.noises]
        for objective, enough in zip(objectives, found, strict=True)
    ]
    return {"success": np.array(success), "noisy": np.array(noisy)}


def _stochastic(values: Values, objective: Empirical, noise: float, starts: np.ndarray, seed: int) -> np.ndarray:
    """Return the losses over a sample after stochastic descent on batches of it, with noise on the labels."""
    problem = objective.problem
    drawn = neuron(problem.target, problem.student.activation, inputs=finite(objective.inputs), noise=noise)
    method, stop = GradientDescent(values.step), step_limit(values.iterations)
    ends = descend(stream(drawn, values.batch, shared=True), starts, method, stop, seed=seed).points
    return np.array([objective.loss(end) for end in np.asarray(ends)])


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
