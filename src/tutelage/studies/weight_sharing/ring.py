"""The ring of Theorem 1: gradients of the wave in the other patches, and how long it takes to cross."""

from itertools import cycle

import jax
import jax.numpy as jnp
import numpy as np

from tutelage.dynamics import GradientDescent, descend, record, step_limit
from tutelage.instant import instantly
from tutelage.objectives import population
from tutelage.plot import BLACK, COLOURS, panels
from tutelage.problems import wave
from tutelage.statistics import straight_line
from tutelage.studies.base import Arrays, Conclusion, Picture, Pieces, Study, Values, chosen, printed
from tutelage.studies.expectations import above, at_most
from tutelage.studies.tables import table


def _rings(values: Values):
    return {f"k-{patches}": {"patches": patches} for patches in values.patches}


def _pieces(values: Values):
    return {**_rings(values), "shared": {"patches": 0}}  # with sharing, all numbers of patches together


def _measure(values: Values, seed: int, patches: int) -> Arrays:
    return _ring(values, seed, patches) if patches else _shared(values, seed)


def _ring(values: Values, seed: int, patches: int) -> Arrays:
    """The largest gradient over the ring, the smallest loss, and the time to cross along the teacher's direction."""
    exponents = np.geomspace(values.exponents[0], values.exponents[1], values.points)
    random = np.random.default_rng(seed)
    rows = []
    for exponent in exponents:
        size = np.sqrt(exponent / patches)
        reach = np.sqrt(patches - 1) * size
        objective = population(wave(np.array([size, 0.0]), patches, sharing=False))
        # The teacher's direction and random ones, at several radii, with the first patch learned.
        directions = random.normal(size=(values.directions, patches - 1, 2)) * random.uniform(
            0, 1, size=(values.directions, 1, 1)
        )
        directions = np.concatenate([np.zeros((1, patches - 1, 2)), directions]) + np.array([1.0, 0.0])
        directions /= np.linalg.norm(directions, axis=(1, 2), keepdims=True)
        radii = np.linspace(reach / 3, reach / 2, 9)
        rest = (radii[:, None, None, None] * directions[None]).reshape(-1, patches - 1, 2)
        first = np.tile([[size, 0.0]], (len(rest), 1, 1))
        points = jnp.asarray(np.concatenate([first, rest], axis=1))
        losses, gradients = map(np.asarray, _batch(objective, points))
        rows.append((gradients.max(), losses.min(), _crossing_time(size, reach)))
    gradient, loss, time = (np.array(column) for column in zip(*rows, strict=True))
    return {"exponent": exponents, "gradient": gradient, "loss": loss, "time": time}


@instantly
def _batch(objective, points):
    gradient = jax.vmap(lambda point: objective.gradient(point))(points)[:, 1:]
    return jax.vmap(lambda point: objective.loss(point))(points), jnp.sqrt(jnp.sum(gradient**2, axis=(1, 2)))


def _crossing_time(size: float, reach: float) -> float:
    """The time of gradient flow from the inner to the outer edge along the teacher's direction, by quadrature."""
    s = np.linspace(reach / 3, reach / 2, 2001)
    speed = (
        s * np.exp(-2 * (s**2 + size**2))
        + 0.5 * (reach - s) * np.exp(-0.5 * (reach - s) ** 2)
        - 0.5 * (reach + s) * np.exp(-0.5 * ((reach + s) ** 2 + 4 * size**2))
    )
    return float(np.trapezoid(1 / speed, s))


def _shared(values: Values, seed: int) -> Arrays:
    """Steps of descent with shared weights to a relative distance, from random starts, beside Theorem 2's count."""
    random = np.random.default_rng(seed)
    rows = []
    for patches in values.patches:
        target = np.array([np.sqrt(values.shared_exponent / patches), 0.0])
        objective = population(wave(target, patches))
        starts = target + random.normal(size=(values.starts, 2)) * 3 * np.linalg.norm(target)
        # The step of Theorem 2's proof: one over the mean of its extreme eigenvalues (with c² in place of c²/2).
        runs = descend(
            objective,
            starts,
            GradientDescent(1 / (9 * patches)),
            step_limit(values.counted),
            record("distance", at_most=values.counted + 1),
        )
        # A run whose gradient has become zero ends early, and stays where it is.
        curves = [runs.curve("distance", run)[1] for run in range(len(runs))]
        distances = np.stack([np.pad(curve, (0, values.counted + 1 - len(curve)), "edge") for curve in curves])
        rows += [
            (patches, count, np.max(distances[:, count] / distances[:, 0])) for count in range(1, values.counted + 1)
        ]
    patches, count, left = (np.array(column) for column in zip(*rows, strict=True))
    return {"patches": patches, "count": count, "left": left}


def _rows(arrays: Arrays, patches: int):
    x, scaled = arrays["exponent"], arrays["gradient"] / np.sqrt(arrays["exponent"])
    late = x > x[-1] / 4
    rate, fit = straight_line(x[late], np.log(scaled[late]))
    speed, speed_fit = straight_line(x[late], np.log(arrays["time"][late]))
    yield {
        "patches": patches,
        "rate": -rate,
        "predicted_rate": (patches - 1) / (8 * patches),
        "fit": fit,
        "crossing_rate": speed,
        "crossing_fit": speed_fit,
        "constant": np.max(scaled * np.exp(x / 16)),
        "smallest_loss": arrays["loss"][-1],
    }


def _conclude(values: Values, pieces: Pieces) -> Conclusion:
    frame = table(_rings(values), pieces, _rows)
    columns = frame.to_dict()
    shared = pieces["shared"]
    counted = shared["left"] > 1e-12
    # Steps for a factor e, beside the five of Theorem 2.
    needed = float(np.max(shared["count"][counted] / np.log(1 / shared["left"][counted])))
    expectations = (
        above(
            "largest gradient in the ring: R² of log(gradient/(√k|u₀|)) against k|u₀|², smallest over k",
            "exponentially small (Theorem 1)",
            columns["fit"].min(),
            0.99,
        ),
        above(
            "its rate, c₂, smallest over k",
            "some positive number (1/16 is what the proof gives)",
            columns["rate"].min(),
            1 / 16 - 0.003,
            "above 1/16, up to the fit",
        ),
        at_most("constant c₁ with c₂ = 1/16, largest over k", 2.0, columns["constant"].max()),
        above(
            "time to cross the ring: R² of its logarithm against k|u₀|²",
            "exponentially many iterations",
            columns["crossing_fit"].min(),
            0.99,
        ),
        above(
            "smallest loss found in the ring, largest k|u₀|²",
            "1 − c₃exp(−c₄k|u₀|²), so 1",
            columns["smallest_loss"].min(),
            0.9,
        ),
        at_most("with sharing: steps for a factor e in the distance, largest", 5.0, needed),
    )
    remarks = (
        "The rate is (k−1)/(8k), at the outer edge of the ring in the teacher's direction, where the distance from the teacher is "
        "half of its norm.",
        "Inside the ring the loss is ½, not 1: Theorem 1 has lost a factor ½ on the way from its Lemma 10. The conclusion, that "
        "sub-constant error needs a crossing, is not affected.",
        f"With sharing and the step 1/(9k) a step divides the distance by {np.exp(1 / needed):.1f} or more: the condition number is "
        "below 1.3, not 5.",
    )
    return Conclusion(expectations, (_picture(values, pieces),), {"rates": frame}, remarks)


def _picture(values: Values, pieces: Pieces) -> Picture:
    figure, (left, right) = panels(columns=2)
    for patches, colour in zip(values.patches, cycle(COLOURS), strict=False):
        arrays = pieces[f"k-{patches}"]
        x = arrays["exponent"]
        for panel, y in ((left, arrays["gradient"] / np.sqrt(x)), (right, arrays["time"])):
            panel.semilogy(x, y, "o-", color=colour, markersize=2.5, linewidth=1, label=f"k = {patches}")
    x = np.linspace(values.exponents[0], values.exponents[1], 50)
    left.semilogy(x, 2 * np.exp(-x / 16), color=BLACK, linestyle=":", linewidth=1, label="bound")
    left.set(xlabel=r"$k\|u_0\|^2$", ylabel=r"largest gradient over $\sqrt{k}\|u_0\|$")
    right.set(xlabel=r"$k\|u_0\|^2$", ylabel="time to cross the ring")
    left.legend(loc="lower left")
    right.legend(loc="upper left")
    caption = (
        "The wave without sharing. Left: largest gradient in w₂…w_k found in the ring, over √k|u₀|, against k|u₀|²; dotted, "
        "2·exp(−k|u₀|²/16). Right: time of gradient flow to cross the ring along the teacher's direction."
    )
    return Picture("ring", caption, figure)


STUDY = Study(
    id="weight_sharing.ring",
    place="Theorems 1 and 2",
    title="the ring without sharing, and the count with it",
    question="How small are the gradients in the ring, how long does it take to cross, and how few steps does sharing take?",
    settings=(
        printed("slope", "c_k = 3√k", note="Section 3"),
        printed("ring", "⅓ to ½ of √(k−1)|u₀|", note="Theorem 1"),
        chosen("patches", (2, 3, 5, 20), paper=(2, 3, 5, 10, 20, 50)),
        chosen("exponents", (4.0, 400.0), note="smallest and largest k|u₀|²"),
        chosen("points", 13, paper=33, note="values of k|u₀|²"),
        chosen("directions", 64, paper=1024, note="random directions in which the largest gradient is sought"),
        chosen("shared_exponent", 10.0, note="k|u₀|² of the runs with sharing"),
        chosen("starts", 32, paper=512, note="starts with sharing"),
        chosen("counted", 11, note="steps with sharing after which distances are compared"),
    ),
    pieces=_pieces,
    measure=_measure,
    conclude=_conclude,
)
