"""Pairs of neurons that run away together: how often, how fast, and what they compute in the end."""

from collections.abc import Callable
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from scipy.optimize import minimize
from scipy.special import erf

from tutelage.models import Layers, Neuronwise
from tutelage.modules import Module
from tutelage.objectives import population
from tutelage.plot import BLUE, GREY, ORANGE, panels
from tutelage.problems import Problem, two_layer
from tutelage.starts import gaussian
from tutelage.statistics import exponent
from tutelage.studies.base import Arrays, Conclusion, Picture, Pieces, Study, Values, chosen
from tutelage.studies.expectations import above, below, described
from tutelage.studies.tables import table

# Nodes along each of two axes, for the distance of two functions.
_NODES = 80


def _problem(values: Values) -> Problem:
    random = np.random.default_rng(values.teacher)
    output, biases = random.choice([-1.0, 1.0], values.teachers), random.normal(size=values.teachers)
    return two_layer(
        random.normal(size=(values.teachers, 2)),
        values.students,
        "erf",
        teacher_output=output,
        teacher_biases=biases,
        learn=("weights", "output", "biases"),
    )


class _Channel(Module):
    r"""A student in coordinates in which a channel is a smooth path.

    Two neurons are $A\,\sigma(u\cdot z + v\cdot z/2A) + (c - A)\,\sigma(u\cdot z - v\cdot z/2A)$ with $z = (x, 1)$, which
    tends to $c\,\sigma(u\cdot z) + v\cdot z\,\sigma'(u\cdot z)$ as $A$ grows; the others are as they are.

    Attributes:
        middle: The vector $u$.
        difference: The vector $v$.
        total: The number $c$.
        rest: The other neurons.
    """

    middle: Any
    difference: Any
    total: Any
    rest: Layers

    def student(self, size: Any) -> Layers:
        """Return the student whose first output weight is `size`."""
        half = self.difference / (2 * size)
        rows = jnp.stack([self.middle + half, self.middle - half])
        weights, output, biases, _ = self.rest
        return Layers(
            jnp.concatenate([rows[:, :-1], weights]),  # type: ignore[list-item]
            jnp.concatenate([jnp.stack([size, self.total - size]), output]),  # type: ignore[list-item]
            jnp.concatenate([rows[:, -1], biases]),  # type: ignore[list-item]
        )


def _channel_of(point: Any, first: int, second: int) -> _Channel:
    """Return a student in the coordinates of its channel, the neuron with a positive output weight first."""
    rows, output = np.concatenate([point.weights, point.biases[:, None]], axis=1), np.array(point.output)
    if rows[first] @ rows[second] < 0:  # an odd activation may have both signs of a neuron turned
        rows[second], output[second] = -rows[second], -output[second]
    first, second = (first, second) if output[first] > 0 else (second, first)
    others = [neuron for neuron in range(len(output)) if neuron not in (first, second)]
    rest = Layers(*map(jnp.asarray, (rows[others, :-1], output[others], rows[others, -1])))
    difference = output[first] * (rows[first] - rows[second])
    return _Channel(0.5 * (rows[first] + rows[second]), difference, output[first] + output[second], rest)


def _minimum(loss: Callable, vector: np.ndarray, values: Values) -> np.ndarray:
    """Return where a quasi-Newton method ends, given a program of the loss and its gradient."""

    def evaluated(vector):
        value, gradient = loss(vector)
        return float(value), np.asarray(gradient)

    options = {"gtol": values.tolerance, "maxiter": values.most_steps}
    return minimize(evaluated, vector, jac=True, method="BFGS", options=options).x


def _distance(channel: _Channel, size: float) -> float:
    """Return the root mean square of what two neurons compute beyond the gated linear unit that they tend to."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    points = np.stack([*(grid.ravel() for grid in np.meshgrid(nodes, nodes)), np.ones(_NODES**2)], axis=1)
    u, v = (points @ np.asarray(vector) for vector in (channel.middle, channel.difference))
    total, half = float(channel.total), v / (2 * size)
    pair = size * erf(u + half) + (total - size) * erf(u - half)
    unit = total * erf(u) + v * 2 / np.sqrt(np.pi) * np.exp(-(u**2))
    return float(np.sqrt(np.outer(weights, weights).ravel() @ (pair - unit) ** 2 / (2 * np.pi)))


def _pieces(values: Values):
    return {"channel": {}}


def _measure(values: Values, seed: int) -> Arrays:
    problem = _problem(values)
    objective, student = population(problem), cast(Neuronwise, problem.student)
    starts = gaussian(problem, values.runs, values.start, seed=seed)
    vectors = np.asarray(jax.vmap(lambda start: ravel_pytree(start)[0])(starts))
    as_student: Any = ravel_pytree(problem.zero())[1]
    loss = jax.jit(jax.value_and_grad(lambda vector: objective.loss(as_student(vector))))
    ends = [jax.device_get(as_student(_minimum(loss, vector, values))) for vector in vectors]
    losses = np.array([float(objective.loss(end)) for end in ends])
    pairs = [student.channel(end, objective.gradient) for end in ends]
    weights = [min(map(abs, pair.values()), default=np.inf) for pair in pairs]
    away = np.array([*map(bool, pairs)])
    found = {"losses": losses, "away": away, "weights": np.array(weights)}
    if not away.any():
        return found
    # The lowest of the channels, from near to far.
    best = int(np.where(away, losses, np.inf).argmin())
    made: tuple[Any, Any] = ravel_pytree(_channel_of(ends[best], *pairs[best]))
    vector, as_channel = made
    along = jax.jit(jax.value_and_grad(lambda vector, size: objective.loss(as_channel(vector).student(size))))
    sizes, path, distances = np.geomspace(values.sizes[0], values.sizes[1], values.points), [], []
    for size in sizes:
        vector = _minimum(lambda vector, size=size: along(vector, size), np.asarray(vector), values)
        path.append(jax.device_get(as_channel(vector).student(size)))
        distances.append(_distance(as_channel(vector), size))
    rows = np.stack([np.asarray(student.rows(point)) for point in path])
    steps = np.diff([ravel_pytree(point)[0] for point in path], axis=0)
    outputs = np.diff([point.output for point in path], axis=0)
    return found | {
        "size": sizes,
        "loss": np.array([float(objective.loss(point)) for point in path]),
        "slope": np.array([np.linalg.norm(ravel_pytree(objective.gradient(point))[0]) for point in path]),
        "apart": np.linalg.norm(rows[:, 0] - rows[:, 1], axis=1),
        "distance": np.array(distances),
        # The line of critical points that a neuron and its copy make: their output weights change against each other.
        "direction": (outputs[:, 0] - outputs[:, 1]) / np.sqrt(2) / np.linalg.norm(steps, axis=1),
    }


def _rows(measured: Arrays):
    for index in range(len(measured["size"])):
        yield {name: measured[name][index] for name in ("size", "loss", "slope", "apart", "distance")}


def _conclude(values: Values, pieces: Pieces) -> Conclusion:
    measured = pieces["channel"]
    share = above("share of random starts that end in a channel", "with high probability", measured["away"].mean(), 0.5)
    if not measured["away"].any():
        return Conclusion((share,), (), {}, ("No run ended in a channel: there is none to follow.",))
    size, loss, away = measured["size"], measured["loss"], measured["away"]
    falls = -np.diff(loss)
    lost = 1 - loss[-1] / loss[0]
    excess = exponent(size[:-1], falls)
    expectations = (
        share,
        above(
            "smallest of the output weights of two neurons that run away",
            "output weights diverge to ±∞",
            measured["weights"].min(),
            10.0,
            "above 10; one to three are usual",
        ),
        below(
            "exponent of the distance of their vectors",
            "input vectors become equal",
            exponent(size, measured["apart"]),
            -0.9,
        ),
        below(
            "exponent of the distance to a gated linear unit",
            "the two neurons implement a gated linear unit",
            exponent(size, measured["distance"]),
            -0.9,
        ),
        described(
            f"part of the loss lost while the output weights grow {size[-1] / size[0]:.0f}-fold",
            "the loss decreases extremely slowly",
            lost,
            np.all(falls > 0) and lost < 0.05,
            "below 0.05, falling all along",
        ),
        above(
            "cosine of the channel's direction with the line of critical points of a neuron and its copy",
            "asymptotically parallel",
            measured["direction"][-1],
            0.9999,
        ),
    )
    figure, (rates, valley) = panels(columns=2)
    for name, colour, label in (
        ("apart", BLUE, "distance of the vectors"),
        ("distance", ORANGE, "from a gated linear unit"),
    ):
        rates.loglog(size, measured[name], ".-", color=colour, label=label)
    rates.loglog(size, measured["apart"][0] * size[0] / size, ":", color=GREY, label="$1/A$")
    rates.set(xlabel="output weight $A$ of the pair", ylabel="distance")
    rates.legend()
    valley.semilogx(size, loss, color=BLUE, label="along the channel")
    valley.semilogx(measured["weights"][away], measured["losses"][away], "o", color=ORANGE, label="ends of runs")
    valley.set(xlabel="output weight $A$ of the pair", ylabel="loss")
    valley.legend()
    for panel in (rates, valley):
        shown = size[:: max(1, (len(size) - 1) // 4)]
        panel.set_xticks(shown, [f"{number:.0f}" for number in shown])
        panel.minorticks_off()
    caption = (
        "Two erf neurons run away together. Left: as their output weights $A$ and $c - A$ grow, their vectors meet and what "
        "they compute tends to a gated linear unit, both as $1/A$. Right: the loss along the channel, lowest for given "
        "$A$, and where runs were stopped by rounding."
    )
    remarks = (
        f"The loss falls towards its limit about as $A^{{{excess:.2g}}}$, so that its slope along the channel is ever smaller: "
        "such a run looks like one that has stalled. `descend` gives it the status `channel`.",
        f"Runs end at losses from {measured['losses'].min():.4g} to {measured['losses'].max():.4g}; the channel tends to "
        f"{loss[-1]:.4g}.",
    )
    return Conclusion(
        expectations,
        (Picture("channels", caption, figure),),
        {"channel": table(_pieces(values), pieces, _rows)},
        remarks,
    )


STUDY = Study(
    id="flat_channels.channels",
    place="Abstract: channels along which output weights diverge",
    title="neurons that run away together",
    question="Do random starts end in channels, where two neurons meet while their output weights diverge with opposite "
    "signs? One channel is followed outwards, the loss minimised for every size of the output weights.",
    settings=(
        chosen("teachers", 4, note="erf neurons of two inputs, with random vectors and biases, output weights ±1"),
        chosen("teacher", 0, note="seed of the teacher"),
        chosen("students", 3, note="weights, biases and output weights are learned"),
        chosen("runs", 10, paper=100),
        chosen("start", 1.0, note="standard deviation of all parameters"),
        chosen("method", "BFGS", note="descent takes the same path, too slowly to be followed as far"),
        chosen("tolerance", 1e-9, note="of the largest entry of the gradient"),
        chosen("most_steps", 400, paper=1000),
        chosen("sizes", (5.0, 80.0), note="of the output weights, first and last"),
        chosen("points", 5, paper=17),
    ),
    pieces=_pieces,
    measure=_measure,
    conclude=_conclude,
)
