r"""Theorem 3.2 and its proof in Appendix A: strictly increasing activations.

Instances are inputs on a few points with weights, and activations with two positive slopes: $\gamma$ is the smaller one, $c_2$ the
larger. Changes of $\|w - v\|^2$ are judged over the step, so that small steps lose no digits.
"""

import numpy as np

from tutelage.claims import Claim, Form, log_uniform, uniform
from tutelage.claims.single_neuron.formulas import (
    FINITE,
    PAPER,
    SQUARE,
    applied,
    dot,
    finite_law,
    of_points,
    two_slopes,
)

_EXACT = "exact sums in float64"
_AS_THEOREM = (
    "$0 < \\gamma \\le \\sigma' \\le c_2$, $E[xx^\\top] \\succeq \\lambda I$, $E\\|x\\|^2 \\le c_1$",
    "inputs on four points with weights, $d = 1, 2$; two slopes",
)
_STEPS = [{**draw, "share": uniform(0, 1)} for draw in FINITE]


def _smallest(points, weights):
    """The smallest eigenvalue of the second moments."""
    second = np.sum(weights[..., None, None] * points[..., :, None] * points[..., None, :], -3)
    return np.linalg.eigvalsh(second)[..., 0]


def _moment(points, weights, power=1.0):
    return np.sum(weights * dot(points, points) ** power, -1)


def _contraction(points, weights, slopes):
    """The rate λγ²."""
    return _smallest(points, weights) * np.min(slopes, -1) ** 2


def _with_step(gap, v, points, weights, slopes, share):
    """A step up to that of the theorem."""
    law = finite_law(gap, v, points, weights, slopes)
    largest = _contraction(points, law["weights"], slopes) / (
        _moment(points, law["weights"]) ** 2 * np.max(slopes, -1) ** 4
    )
    return {**law, "step": share * largest}


def _decrease(w, v, points, weights, slopes, step):
    r"""The decrease of $\|w - v\|^2$ in one step of gradient descent, over the step."""
    gradient, _ = of_points(w, v, points, weights, slopes)
    return 2 * dot(gradient, w - v) - step * dot(gradient, gradient)


def _claimed(w, v, points, weights, slopes, rate=1.0):
    return rate * _contraction(points, weights, slopes) * dot(w - v, w - v)


def _size(w, v, points, weights, slopes):
    """The natural size of a decrease."""
    return 1e-6 * _moment(points, weights) * np.max(slopes, -1) ** 2 * dot(w - v, w - v)


_BY_STEPS = {
    "build": _with_step,
    "relation": ">=",
    "right": _claimed,
    "scale": _size,
    "arithmetic": _EXACT,
    "known": 0.0,
}

THEOREM_3_2 = Claim(
    id=f"{PAPER}.theorem-3.2",
    title="linear convergence for strictly increasing activations",
    hypotheses=(*_AS_THEOREM, "$\\eta < \\lambda\\gamma^2/(c_1^2c_2^4)$"),
    draw=_STEPS,
    left=_decrease,
    **_BY_STEPS,
    as_printed="Each step has $\\|w_{t+1} - v\\|^2 \\le (1 - \\lambda\\gamma^2\\eta)\\|w_t - v\\|^2$.",
    control=Form("The same with $1 - 1.05\\lambda\\gamma^2\\eta$.", rate=1.05),
)

FLOW = Claim(
    id=f"{PAPER}.section-3.2.flow",
    title="Theorem 3.2 for gradient flow",
    hypotheses=_AS_THEOREM,
    draw=[{**draw, "share": uniform(0, 1e-12)} for draw in FINITE],
    left=_decrease,
    **_BY_STEPS,
    as_printed=Form(
        "Gradient flow has $\\frac{d}{dt}\\|w - v\\|^2 \\le -2\\lambda\\gamma^2\\|w - v\\|^2$, hence the same rate and more.",
        rate=2.0,
    ),
    control=Form("The same with $2.05\\lambda\\gamma^2$.", rate=2.05),
)


def _mean_decrease(w, v, points, weights, slopes, step):
    """The decrease of the mean squared distance in one stochastic step, over the step."""
    gradient, square = of_points(w, v, points, weights, slopes)
    return 2 * dot(gradient, w - v) - step * square


def _with_stochastic_step(gap, v, points, weights, slopes, share, power=2.0):
    """A step up to that of the theorem, with a moment of the inputs in place of c₁²."""
    law = finite_law(gap, v, points, weights, slopes)
    moment = _moment(points, law["weights"], power) ** (2 / power)
    return {**law, "step": share * _contraction(points, law["weights"], slopes) / (moment * np.max(slopes, -1) ** 4)}


STOCHASTIC = Claim(
    id=f"{PAPER}.section-3.2.stochastic",
    title="Theorem 3.2 for stochastic gradient descent",
    hypotheses=(_AS_THEOREM[0] + ", $E\\|x\\|^4 < \\infty$", _AS_THEOREM[1]),
    draw=_STEPS,
    left=_mean_decrease,
    **{**_BY_STEPS, "build": _with_stochastic_step},
    as_printed="The theorem generalises: $E\\|w_{t+1} - v\\|^2 \\le (1 - \\lambda\\gamma^2\\eta)\\|w_t - v\\|^2$ for $\\eta < \\lambda\\gamma^2/(E\\|x\\|^4c_2^4)$. "
    "(With $\\|x\\|^2 \\le c_1$ almost surely, as in Assumption 5.2, also for the theorem's steps; with the second moment alone not.)",
    control=Form("The same with $(E\\|x\\|^3)^{4/3}$ for $E\\|x\\|^4$.", power=1.5),
)


INCREASING = Claim(
    id=f"{PAPER}.section-3.2.strict",
    title="strictly increasing activations",
    hypotheses="inputs $\\pm1$ in one dimension, $v = 1$, any $w$; $\\sigma$ strictly increasing and odd",
    scope="remark",
    draw={"w": uniform(-1000, 1000)},
    left=lambda w, leak=0.0: (
        (np.tanh(w) + leak * w - np.tanh(1.0) - leak) * (1 - np.tanh(w) ** 2 + leak) * (w - 1) / (w - 1) ** 2
    ),
    relation=">=",
    right=lambda rate=1e-6: rate,
    as_printed="If the activation is strictly increasing, $w_t$ converges exponentially fast from any start, as in Theorem 3.2: "
    "$\\langle\\nabla F(w), w - v\\rangle/\\|w - v\\|^2$ has a positive bound; judged as $10^{-6}$, for tanh.",
    as_meant=Form(
        "So it does if $\\inf\\sigma' = \\gamma > 0$: $\\langle\\nabla F(w), w - v\\rangle \\ge \\gamma^2E[(w\\cdot x - v\\cdot x)^2]$; judged for $\\tanh z + \\frac1{10}z$.",
        leak=0.1,
        rate=0.01,
    ),
    supplied="Theorem 3.2, which asks for $\\inf\\sigma' > 0$",
    correction="Strictly increasing activations may saturate, as tanh and the logistic function do: the rate is then exponentially small in "
    "the start. The theorem assumes a positive lower bound on the slope, which is more.",
    control=Form("The same with $1.01\\gamma^2$.", leak=0.1, rate=0.0101),
)


# The proof in Appendix A ----------------------------------------------------------------------------------------------


def _with_smallest_slope(w, v, points, weights, slopes):
    """The expectation with γ in place of σ'(w·x)."""
    left, right = slopes[..., :1], slopes[..., 1:]
    student, teacher = applied(points, w), applied(points, v)
    change = two_slopes(student, left, right) - two_slopes(teacher, left, right)
    return np.min(slopes, -1) * np.sum(weights * change * (student - teacher), -1)


CORRELATION = Claim(
    id=f"{PAPER}.section-A.correlation",
    title="lower bound on the correlation with the gradient",
    hypotheses=_AS_THEOREM,
    scope="proof step",
    glyph=True,
    draw=FINITE,
    build=finite_law,
    left=lambda w, v, points, weights, slopes: dot(of_points(w, v, points, weights, slopes)[0], w - v),
    relation="==",
    right=lambda w, v, points, weights, slopes, factor=1.0: (
        factor * _with_smallest_slope(w, v, points, weights, slopes)
    ),
    scale=_size,
    as_printed="$\\langle\\nabla F(w), w - v\\rangle = E[\\gamma(\\sigma(w\\cdot x) - \\sigma(v\\cdot x))(w\\cdot x - v\\cdot x)]$; the next step has an equality, too.",
    as_meant=Form("$\\langle\\nabla F(w), w - v\\rangle$ is at least that.", relation=">="),
    supplied="the reasons given for both steps, which are those of lower bounds",
    correction="Equality signs for lower bounds.",
    control=Form("It is at least 1.02 times that.", relation=">=", factor=1.02),
    arithmetic=_EXACT,
)

GRADIENT_NORM = Claim(
    id=f"{PAPER}.section-A.gradient-norm",
    title="norm of the gradient and mean square of its terms",
    hypotheses=_AS_THEOREM,
    defect=SQUARE,
    glyph=True,
    draw=FINITE,
    build=finite_law,
    left=lambda w, v, points, weights, slopes: np.sum(of_points(w, v, points, weights, slopes)[0] ** 2, -1),
    relation="==",
    right=lambda w, v, points, weights, slopes, factor=1.0: factor * of_points(w, v, points, weights, slopes)[1],
    scale=_size,
    as_printed="$\\|\\nabla F(w)\\|^2 = E[(\\sigma(w\\cdot x) - \\sigma(v\\cdot x))^2\\sigma'(w\\cdot x)^2\\|x\\|^2]$.",
    as_meant=Form("$\\|\\nabla F(w)\\|^2$ is at most that.", relation="<="),
    supplied="the display itself, a chain of upper bounds",
    correction="The square of a mean is at most the mean of the squares (Jensen); there is equality for one input only.",
    control=Form("It is at most 0.98 of that.", relation="<=", factor=0.98),
    arithmetic=_EXACT,
)

FOURTH_MOMENT = Claim(
    id=f"{PAPER}.section-A.fourth-moment",
    title="bound on the gradient by the second moment",
    hypotheses="$E\\|x\\|^2 \\le c_1$, as Theorem 3.2 assumes",
    draw=FINITE,
    build=finite_law,
    left=lambda w, v, points, weights, slopes: np.sum(of_points(w, v, points, weights, slopes)[0] ** 2, -1),
    relation="<=",
    right=lambda w, v, points, weights, slopes, factor: (
        factor * _moment(points, weights) ** 2 * np.max(slopes, -1) ** 4 * dot(w - v, w - v)
    ),
    as_printed=Form(
        "$E[\\|x\\|^2\\,x^\\top x] \\le c_1^2$.",
        left=lambda points, weights: _moment(points, weights, 2.0),
        right=lambda points, weights: _moment(points, weights) ** 2,
    ),
    corrected=Form(
        "$\\|\\nabla F(w)\\| \\le E\\|g\\| \\le c_1c_2^2\\|w - v\\|$, which is what the proof needs.", factor=1.0
    ),
    correction="The fourth moment is not bounded by the square of the second. But the norm of a mean is at most the mean of the "
    "norms, which needs the second moment only: Theorem 3.2 stands.",
    control=Form("$\\|\\nabla F(w)\\|^2 \\le 0.98\\,c_1^2c_2^4\\|w - v\\|^2$.", factor=0.98),
    arithmetic=_EXACT,
)


LIPSCHITZ = Claim(
    id=f"{PAPER}.section-A.lipschitz",
    title="mean square of the gradient's terms",
    hypotheses=_AS_THEOREM,
    draw=FINITE,
    build=finite_law,
    left=lambda w, v, points, weights, slopes: of_points(w, v, points, weights, slopes)[1],
    relation="<=",
    right=lambda w, v, points, weights, slopes, factor=1.0: (
        factor * np.max(slopes, -1) ** 4 * np.sum(weights * applied(points, w - v) ** 2 * dot(points, points), -1)
    ),
    as_printed="$E[(\\sigma(w\\cdot x) - \\sigma(v\\cdot x))^2\\sigma'(w\\cdot x)^2\\|x\\|^2] \\le c_2^4E[(w\\cdot x - v\\cdot x)^2\\|x\\|^2]$ (which is at most "
    "$c_2^4\\|w - v\\|^2E\\|x\\|^4$).",
    control=Form("At most 0.98 of that.", factor=0.98),
    arithmetic=_EXACT,
)

STEP = Claim(
    id=f"{PAPER}.section-A.step",
    title="the choice of the step",
    hypotheses="$0 < \\eta \\le \\lambda\\gamma^2/(c_1^2c_2^4)$; `rate` is $\\lambda\\gamma^2$, `bound` is $c_1^2c_2^4$",
    draw={"rate": log_uniform(1e-6, 1e2), "bound": log_uniform(1e-3, 1e3), "share": uniform(0, 1)},
    # Both sides over η.
    left=lambda rate, bound, share, most=1.0: -2 * rate + most * share * rate / bound * bound,
    relation="<=",
    right=lambda rate: -rate,
    as_printed="$1 - 2\\gamma^2\\lambda\\eta + \\eta^2c_1^2c_2^4 \\le 1 - \\gamma^2\\lambda\\eta$, with equality at the largest step.",
    control=Form("The same for steps up to 1.01 times that.", most=1.01),
)
