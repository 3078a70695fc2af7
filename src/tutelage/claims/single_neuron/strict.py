r"""Theorem 3.2 and its proof in Appendix A: strictly increasing activations.

Instances are inputs on a few points with weights, and activations with two positive slopes, between which the constants
$\gamma$ and $c_2$ lie; a kink makes the slopes that enter a step the hardest.
"""

import jax.numpy as jnp

from tutelage.claims.base import Claim, Form
from tutelage.claims.pointwise import Family, Pointwise, at_most, equal
from tutelage.claims.single_neuron.formulas import PAPER, sigmoid, stochastic_gradient, unit

_ATOMS = 4


def _setting(raw):
    """A law on a few points, an activation with slopes `left` and `right`, and the constants of the theorem."""
    points = raw["points"]
    # Within a factor of 400 of each other, and a student that is not at the teacher: witnesses that can be read.
    weights = jnp.exp(3 * jnp.tanh(raw["weights"]))
    weights = weights / jnp.sum(weights)
    left, right = jnp.exp(jnp.tanh(raw["slopes"]))
    second = jnp.einsum("n,ni,nj->ij", weights, points, points)
    return {
        "w": unit(raw["v"]) + raw["w"] * (1 + 0.1 / (jnp.linalg.norm(raw["w"]) + 1e-150)),
        "v": unit(raw["v"]),
        "points": points,
        "weights": weights,
        "left_slope": left,
        "right_slope": right,
        "share": sigmoid(raw["t"]),
        "smallest": jnp.linalg.eigvalsh(second)[0],
        "moment": jnp.trace(second),
    }


def _families(dimensions=(1, 2)):
    shapes = {"slopes": (2,), "weights": (_ATOMS,), "t": ()}
    return [Family({"w": (d,), "v": (d,), "points": (_ATOMS, d), **shapes}, _setting) for d in dimensions]


def _gradients(i):
    """The stochastic gradient at every point."""
    return stochastic_gradient(i["w"], i["v"], i["points"], i["left_slope"], i["right_slope"])


def _constants(i):
    lowest = jnp.minimum(i["left_slope"], i["right_slope"])
    highest = jnp.maximum(i["left_slope"], i["right_slope"])
    return lowest, highest


def _largest_step(i):
    lowest, highest = _constants(i)
    return i["smallest"] * lowest**2 / (i["moment"] ** 2 * highest**4)


_RECIPE = """
slope = lambda z: np.where(z > 0, right_slope, left_slope)
gamma, c2 = min(left_slope, right_slope), max(left_slope, right_slope)
student, teacher = points @ w, points @ v
terms = ((slope(student) * student - slope(teacher) * teacher) * slope(student))[:, None] * points
gradient = weights @ terms
squared = np.sum((w - v) ** 2)
"""


def _resolution(decrease):
    """The natural size of a relative change: that of the decrease claimed, as far as rounding lets it be seen."""
    return jnp.maximum(decrease, 1e-6)


def _descends(rate: float):
    def check(i):
        lowest, _ = _constants(i)
        # Where the second moment is singular to rounding there is no step to take.
        step = i["share"] * _largest_step(i)
        moved = i["w"] - step * i["weights"] @ _gradients(i)
        before, after = jnp.sum((i["w"] - i["v"]) ** 2), jnp.sum((moved - i["v"]) ** 2)
        decrease = i["smallest"] * lowest**2 * step
        return at_most(after, before * (1 - rate * decrease), before * _resolution(decrease)) | {"step": step}

    return Pointwise(check, _families())


THEOREM_3_2 = Claim(
    id=f"{PAPER}.theorem-3.2",
    place="Theorem 3.2",
    title="linear convergence for strictly increasing activations",
    hypotheses=(
        "$\\gamma \\le \\sigma' \\le c_2$, $E[xx^\\top] \\succeq \\lambda I$, $E\\|x\\|^2 \\le c_1$, $\\eta < \\lambda\\gamma^2/(c_1^2c_2^4)$",
        "inputs on four points with weights, $d = 1, 2$; two slopes",
    ),
    as_printed=Form(
        "Each step has $\\|w_{t+1} - v\\|^2 \\le (1 - \\lambda\\gamma^2\\eta)\\|w_t - v\\|^2$.",
        _descends(1.0),
    ),
    control=Form("The same with $1 - 3\\lambda\\gamma^2\\eta$.", _descends(3.0)),
    arithmetic="exact sums in float64",
)


def _flows(rate: float):
    def check(i):
        lowest, _ = _constants(i)
        gap = i["w"] - i["v"]
        decrease = 2 * (i["weights"] @ _gradients(i)) @ gap
        return at_most(rate * i["smallest"] * lowest**2 * (gap @ gap), decrease, 1e-12)

    return Pointwise(check, _families())


FLOW = Claim(
    id=f"{PAPER}.section-3.2.flow",
    place="Section 3.2, after Theorem 3.2",
    title="Theorem 3.2 for gradient flow",
    hypotheses=("as Theorem 3.2",),
    as_printed=Form(
        "Gradient flow has $\\frac{d}{dt}\\|w - v\\|^2 \\le -2\\lambda\\gamma^2\\|w - v\\|^2$, hence the same rate and more.",
        _flows(2.0),
    ),
    control=Form("The same with $4\\lambda\\gamma^2$.", _flows(4.0)),
    arithmetic="exact sums in float64",
)


def _stochastic(fourth: bool, rate: float = 1.0):
    """The expected squared distance after one stochastic step."""

    def check(i):
        lowest, highest = _constants(i)
        moment = i["weights"] @ jnp.sum(i["points"] ** 2, axis=1) ** 2 if fourth else i["moment"] ** 2
        step = i["share"] * i["smallest"] * lowest**2 / (moment * highest**4)
        gap = i["w"] - i["v"]
        after = i["weights"] @ jnp.sum((gap - step * _gradients(i)) ** 2, axis=1)
        decrease, before = i["smallest"] * lowest**2 * step, gap @ gap
        return at_most(after, before * (1 - rate * decrease), before * _resolution(decrease)) | {"step": step}

    return Pointwise(check, _families())


STOCHASTIC = Claim(
    id=f"{PAPER}.section-3.2.stochastic",
    place="Section 3.2, after Theorem 3.2",
    title="Theorem 3.2 for stochastic gradient descent",
    hypotheses=("as Theorem 3.2", "generalised in expectation, with the constants of the theorem"),
    as_printed=Form(
        "Each step has $E\\|w_{t+1} - v\\|^2 \\le (1 - \\lambda\\gamma^2\\eta)\\|w_t - v\\|^2$.",
        _stochastic(fourth=False),
        recipe=_RECIPE
        + "left = weights @ np.sum((w - v - step * terms) ** 2, axis=1)\n"
        + "right = (1 - smallest * gamma**2 * step) * squared\n",
    ),
    corrected=Form(
        "The same with $E\\|x\\|^4$ in place of $c_1^2$ in the bound on the step.", _stochastic(fourth=True)
    ),
    correction="The noise of a stochastic step is bounded by the fourth moment; $c_1$ bounds the second only, and where the fourth is "
    "infinite, so is the mean after one step, however small. With $\\|x\\|^2 \\le c_1$ almost surely, as in Assumption 5.2, the "
    "printed step is right.",
    control=Form("The corrected form with $1 - 3\\lambda\\gamma^2\\eta$.", _stochastic(fourth=True, rate=3.0)),
    arithmetic="exact sums in float64",
)


# The proof in Appendix A ----------------------------------------------------------------------------------------------


def _norm_of_mean(kind: str, factor: float = 1.0):
    def check(i):
        terms = _gradients(i)
        gradient = i["weights"] @ terms
        left, right = gradient @ gradient, i["weights"] @ jnp.sum(terms**2, axis=1)
        size = i["moment"] ** 2 * jnp.exp(4.0) * jnp.sum((i["w"] - i["v"]) ** 2) + 1e-12
        return equal(left, right, 1e-3 * size) if kind == "equal" else at_most(left, factor * right, 1e-9 * size)

    return Pointwise(check, _families())


GRADIENT_NORM = Claim(
    id=f"{PAPER}.section-A.gradient-norm",
    place="Appendix A, proof of Theorem 3.2, and again in Appendices C.2 and C.3",
    title="norm of the gradient and mean square of its terms",
    hypotheses=("as Theorem 3.2",),
    as_printed=Form(
        "$\\|\\nabla F(w)\\|^2 = E[(\\sigma(w\\cdot x) - \\sigma(v\\cdot x))^2\\sigma'(w\\cdot x)^2\\|x\\|^2]$.",
        _norm_of_mean("equal"),
        recipe=_RECIPE + "left = gradient @ gradient\nright = weights @ np.sum(terms**2, axis=1)\n",
    ),
    corrected=Form("$\\|\\nabla F(w)\\|^2$ is at most that.", _norm_of_mean("at_most")),
    correction="The square of a mean is at most the mean of the squares (Jensen); there is equality for one input only.",
    control=Form("It is at most half of that.", _norm_of_mean("at_most", 0.5)),
    arithmetic="exact sums in float64",
)


def _bounded(kind: str, factor: float = 1.0):
    def check(i):
        _, highest = _constants(i)
        gap = jnp.sum((i["w"] - i["v"]) ** 2)
        gradient = i["weights"] @ _gradients(i)
        if kind == "fourth":
            return at_most(i["weights"] @ jnp.sum(i["points"] ** 2, axis=1) ** 2, i["moment"] ** 2, 1e-12)
        return at_most(gradient @ gradient, factor * i["moment"] ** 2 * highest**4 * gap, 1e-12)

    return Pointwise(check, _families())


FOURTH_MOMENT = Claim(
    id=f"{PAPER}.section-A.fourth-moment",
    place="Appendix A, proof of Theorem 3.2, last step of the bound on the gradient",
    title="bound on the gradient by the second moment",
    hypotheses=("$E\\|x\\|^2 \\le c_1$, as Theorem 3.2 assumes",),
    as_printed=Form(
        "$E[\\|x\\|^2\\,x^\\top x] \\le c_1^2$.",
        _bounded("fourth"),
        recipe="left = weights @ np.sum(points**2, axis=1) ** 2\nright = (weights @ np.sum(points**2, axis=1)) ** 2\n",
    ),
    corrected=Form(
        "$\\|\\nabla F(w)\\| \\le E\\|g\\| \\le c_1c_2^2\\|w - v\\|$, which is what the proof needs.",
        _bounded("gradient"),
    ),
    correction="The fourth moment is not bounded by the square of the second. But the norm of a mean is at most the mean of the "
    "norms, which needs the second moment only: Theorem 3.2 stands.",
    control=Form("$\\|\\nabla F(w)\\|^2 \\le \\frac12c_1^2c_2^4\\|w - v\\|^2$.", _bounded("gradient", 0.5)),
    arithmetic="exact sums in float64",
)

MAIN = (THEOREM_3_2, FLOW, STOCHASTIC)
APPENDIX = (GRADIENT_NORM, FOURTH_MOMENT)
