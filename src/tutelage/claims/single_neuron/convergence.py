"""Section 5: the start of Lemma 5.1, and bounds on stochastic gradients."""

from __future__ import annotations

import numpy as np
from scipy.integrate import quad
from scipy.special import gammaln, ndtr, xlogy

from tutelage.claims import Claim, Form, log_uniform, real, unit
from tutelage.claims.single_neuron.formulas import PAPER, TAIL, dot, norm, terms

# Lemma 5.1 ------------------------------------------------------------------------------------------------------------


def start_probability(dimension: int, deviation: float) -> float:
    r"""The probability that $\|w - v\|^2 \le 1 - 2\tau^2d$ for $w \sim N(0, \tau^2I)$ and a unit vector $v$.

    With $w\cdot v = \tau g$ and $\tau\rho$ the norm of the rest, the condition is $g^2 - 2g/\tau + \rho^2 + 2d \le 0$: an interval for
    $g$, given $\rho$, which is integrated over its density.
    """

    def inside(rest: float) -> float:
        total = deviation**2 * (rest**2 + 2 * dimension)
        root = np.sqrt(max(1 - total, 0.0))
        return float(ndtr((1 + root) / deviation) - ndtr(total / (1 + root) / deviation))

    freedom = dimension - 1
    if freedom == 0:
        return inside(0.0)
    scale = (1 - freedom / 2) * np.log(2) - gammaln(freedom / 2)

    def density(rest: float) -> float:
        return float(np.exp(scale + xlogy(freedom - 1, rest) - rest**2 / 2))

    # Beyond its edge the interval is empty; beyond ten standard deviations nothing is left of the density.
    edge = np.sqrt(max(1 / deviation**2 - 2 * dimension, 0.0))
    low, high = max(np.sqrt(freedom) - 10, 0.0), np.sqrt(freedom) + 10
    ends = min(low, edge), min(high, edge)
    return quad(lambda rest: density(rest) * inside(rest), *ends, epsabs=1e-13, epsrel=1e-11)[0]


_DIMENSIONS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 25, 30, 40, 50, 75, 100, 150, 200, 300, 500, 700, 1000)


def _starts(count, random):
    products = np.sqrt(0.5) * np.array([1.0, 0.9, 0.7, 0.5, 0.4, 0.3, 0.2, 0.1, 0.03, 0.01, 1e-3])
    grid = np.array([(d, product / d) for d in _DIMENSIONS for product in products])
    exact = [start_probability(int(d), float(deviation)) for d, deviation in grid]
    return {"dimension": grid[:, 0], "deviation": grid[:, 1], "probability": np.array(exact)}


_SHARP = 3 / (2 * np.sqrt(2 * np.pi))

LEMMA_5_1 = Claim(
    id=f"{PAPER}.lemma-5.1",
    title="a small Gaussian start is close enough half of the time",
    hypotheses=(
        "$\\|v\\| = 1$, $w \\sim N(0, \\tau^2I)$, $\\tau \\le 1/(d\\sqrt2)$",
        "24 dimensions from 1 to 1000, eleven $\\tau$ each",
    ),
    defect=TAIL,
    draw=_starts,
    where=lambda dimension, least=1: dimension >= least,
    left=lambda probability: probability,
    relation=">=",
    right=lambda dimension, deviation, constant=0.25, base=1 / 1.2: (
        0.5 - constant * deviation * dimension - base**dimension
    ),
    known=0.0,
    as_printed=Form(
        "$P(\\|w - v\\|^2 \\le 1 - 2\\tau^2d) > \\frac12 - \\frac14\\tau d - 1.2^{-d}$.",
        recipe="""
random = np.random.default_rng(0)
g, rest = random.normal(size=1_000_000), random.chisquare(max(dimension - 1, 1), size=1_000_000) * (dimension > 1)
left = np.mean(deviation**2 * (g**2 + rest + 2 * dimension) <= 2 * deviation * g)  # sampled
""",
    ),
    corrected=Form(
        "$P(\\|w - v\\|^2 \\le 1 - 2\\tau^2d) \\ge \\frac12 - \\frac3{2\\sqrt{2\\pi}}\\tau d$ for $d \\ge 2$: no exponential term is needed.",
        constant=_SHARP,
        base=0.0,
        least=2,
    ),
    correction="The proof bounds $\\mathrm{erf}$ from below where it needs an upper bound, $\\mathrm{erf}(z) \\le 2z/\\sqrt\\pi$, and $(2/e)^{d/2} = "
    "1.166^{-d}$ is not below $1.2^{-d}$. For small $\\tau d$ the probability is $\\frac12 - \\frac3{2\\sqrt{2\\pi}}\\tau d$; it still tends to one "
    "half. (For $d = 1$ the event has a smaller probability, by up to 0.03.)",
    control=Form("The corrected form with $0.59\\tau d$.", constant=0.59, base=0.0, least=2),
    arithmetic="exact probabilities by quadrature",
)


# Bounded stochastic gradients -----------------------------------------------------------------------------------------

_ONE_INPUT = [{"gap": real((d,)), "v": unit(d), "x": real((d,)), "slopes": log_uniform(0.4, 2.7, (2,))} for d in (1, 3)]


def one_input(gap, v, x, slopes):
    """A student, one input that is not zero, and the slopes of the activation."""
    return {"w": v + gap, "v": v, "x": x * (1 + 0.1 / (norm(x)[..., None] + 1e-150)), "slopes": slopes}


def one_gradient(w, v, x, slopes):
    """The stochastic gradient for one input."""
    return terms(w, v, x[..., None, :], slopes[..., 0], slopes[..., 1])[..., 0, :]


def _squared_gradient(w, v, x, slopes):
    gradient = one_gradient(w, v, x, slopes)
    return dot(gradient, gradient)


def _gradient_bound(w, v, x, slopes, power, factor=1.0):
    return factor * (dot(x, x) * np.max(slopes, -1) ** 2) ** power * dot(w - v, w - v)


_BOUNDED = {
    "draw": _ONE_INPUT,
    "build": one_input,
    "left": _squared_gradient,
    "relation": "<=",
    "right": _gradient_bound,
    "hypotheses": ("Assumption 5.2; the hardest case, an input with $\\|x\\|^2 = c_1$; two slopes, $d = 1, 3$",),
}
_SQUARED = Form("$\\|g_i\\|^2 \\le c_1^2c_2^4\\|w_i - v\\|^2$.", power=2.0, factor=1.0)

STOCHASTIC_GRADIENT = Claim(
    id=f"{PAPER}.section-C.3.stochastic-gradient",
    title="bounded stochastic gradients",
    **_BOUNDED,
    as_printed=_SQUARED,
    control=Form("The same with 0.98 of that.", power=2.0, factor=0.98),
)

GRADIENT_BOUND = Claim(
    id=f"{PAPER}.section-C.3.gradient-bound",
    title="bound on stochastic gradients",
    **_BOUNDED,
    as_printed=Form("$\\|g_i\\|^2 \\le c_1c_2^2\\|w_i - v\\|^2$.", power=1.0),
    as_meant=_SQUARED,
    supplied="the same bound in the proof of Lemma C.2, to which it refers, and the end of the display, $c_1^2c_2^4$",
    correction="The square is missing; the bound that is used in the end, $c_1^2c_2^4$, is right.",
    control=Form("$\\|g_i\\|^2 \\le 0.98\\,c_1^2c_2^4\\|w_i - v\\|^2$.", power=2.0, factor=0.98),
)
