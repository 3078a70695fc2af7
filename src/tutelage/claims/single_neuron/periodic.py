r"""Section 3.2 on periodic activations: how much the gradient tells of the teacher.

Under standard Gaussian inputs the part of the gradient that depends on the teacher is $-E[\sigma(v\cdot x)\sigma'(w\cdot x)x]$. For
an even periodic $\sigma(z) = \sum_j b_j\cos(jaz)$ it is a sum of

$$E[\cos(jav\cdot x)\sin(kaw\cdot x)\,x] = a\,e^{-a^2(j^2 + k^2\|w\|^2)/2}\,(kw\cosh(jka^2w\cdot v) - jv\sinh(jka^2w\cdot v)),$$

and its variance over teachers uniform on the unit sphere is an integral over the cosine between $w$ and $v$.
"""

import numpy as np
from scipy.special import chdtrc, roots_gegenbauer

from tutelage.claims import Claim, Form, integers
from tutelage.claims.single_neuron.formulas import PAPER, PERIOD

_NODES = 160
_DIMENSIONS = np.array([4, 6, 8, 12, 16, 24, 32, 48])


def variance(dimension: int, frequency: float, size: float, amplitudes: dict[int, float]) -> float:
    r"""The variance over the teacher of the gradient at a student of norm `size`.

    Args:
        dimension: The dimension $d \ge 3$.
        frequency: The frequency $a$ of the first harmonic.
        size: The norm of the student.
        amplitudes: The amplitudes $b_j$ by the number $j$ of the harmonic.
    """
    # The cosine between a fixed direction and a uniform one has the density (1 − c²)^((d−3)/2).
    cosines, weights = roots_gegenbauer(_NODES, dimension / 2 - 1)
    weights = weights / weights.sum()
    along, across = np.zeros(_NODES), np.zeros(_NODES)
    for j, b in amplitudes.items():
        for k, c in amplitudes.items():
            damping = -0.5 * frequency**2 * (j**2 + k**2 * size**2)
            inner = j * k * frequency**2 * size * cosines
            cosh = 0.5 * (np.exp(damping + inner) + np.exp(damping - inner))
            sinh = 0.5 * (np.exp(damping + inner) - np.exp(damping - inner))
            factor = b * c * k * frequency**2
            along += factor * (k * size * cosh - j * cosines * sinh)
            across -= factor * j * np.sqrt(1 - cosines**2) * sinh
    mean = weights @ along
    # What is across the student has mean zero, its direction being uniform.
    return float(weights @ (along - mean) ** 2 + weights @ across**2)


def cosine_wave(frequency: float) -> dict[int, float]:
    r"""The amplitudes of $\cos(az)/a$, which has slope at most one."""
    return {1: 1 / frequency}


def triangle_wave(frequency: float) -> dict[int, float]:
    r"""The amplitudes of a wave with slopes $\pm1$ and period $2\pi/a$, a sum of ReLUs on every bounded segment."""
    return {j: 4 / (np.pi * frequency * j**2) for j in (1, 3, 5, 7, 9)}


# Norms of students: the unit one, and many.
_ONE, _MANY = (1.0,), (0.01, *np.linspace(0.1, 2.0, 20), 3.0)


def _variances(count, random, wave, square, power, sizes):
    r"""The largest variance over students of several norms, for waves of frequency $a^2 = $ `square`$\,d^{\text{power}}$."""
    values, norms = [], []
    for d in _DIMENSIONS:
        frequency = float(np.sqrt(square * d**power))
        several = [variance(int(d), frequency, size, wave(frequency)) for size in sizes]
        values.append(max(several))
        norms.append(sizes[int(np.argmax(several))])
    values = np.array(values)
    return {"d": _DIMENSIONS, "size": np.array(norms), "variance": values, "first": np.full(len(values), values[0])}


# The constant of O(e^(−d)) is that of the smallest dimension.
_DECAY = {
    "draw": _variances,
    "left": lambda variance: variance,
    "relation": "<=",
    "right": lambda d, first, rate=1.0: first * np.exp(-rate * (d - 4)),
    "scale": 1e-40,
    "defect": PERIOD,
    "kind": "condition",
    "scope": "remark",
}
_HYPOTHESES = ("standard Gaussian inputs, $v$ uniform on the unit sphere, $d = 4, \\dots, 48$",)
_RECIPE = """
v = np.random.default_rng(0).normal(size=(200_000, int(d)))
v /= np.linalg.norm(v, axis=1, keepdims=True)
w = size * np.eye(int(d))[0]
"""

COSINE = Claim(
    id=f"{PAPER}.section-3.2.cosine",
    title="variance of the gradient over teachers, for cosines",
    hypotheses=(*_HYPOTHESES, "$\\sigma$ periodic with slope at most one"),
    **_DECAY,
    as_printed=Form(
        "$\\mathrm{Var}_v(\\nabla F(w)) \\le O(e^{-d})$ for $\\sigma = \\cos$ and $\\|w\\| = 1$.",
        wave=cosine_wave,
        square=1.0,
        power=0,
        sizes=_ONE,
        recipe=_RECIPE
        + """
inner = (v @ w)[:, None]
gradients = np.exp(-(1 + size**2) / 2) * (w * np.cosh(inner) - v * np.sinh(inner))  # exact but for a constant
left = np.sum(np.var(gradients, axis=0))
""",
    ),
    corrected=Form(
        "$\\mathrm{Var}_v(\\nabla F(w)) \\le O(e^{-d})$ for $\\sigma(z) = \\cos(az)/a$ with $a^2 = 2d$, at any $w$; judged for "
        "norms from 0.01 to 3. (The rate is 1.19.)",
        wave=cosine_wave,
        square=2.0,
        power=1,
        sizes=_MANY,
    ),
    correction="The period must be short against the norm of the teacher: with unit teachers and a fixed period the variance "
    "falls like $1/d$. With $\\cos(az)/a$ and $a^2 = \\kappa d$ the rate is $(1 + \\log 2\\kappa)/2$ per dimension, so that "
    "$\\kappa \\ge e/2$ gives $e^{-d}$. (Or the norm of the teacher must grow: their product is what matters.)",
    control=Form("The corrected form with $e^{-1.3d}$.", wave=cosine_wave, square=2.0, power=1, sizes=_MANY, rate=1.3),
    arithmetic="closed form; Gauss–Gegenbauer rule over the cosine between student and teacher",
)

RELUS = Claim(
    id=f"{PAPER}.section-3.2.relus",
    title="variance of the gradient over teachers, for sums of ReLUs",
    hypotheses=(
        *_HYPOTHESES,
        "$\\sigma$ a sum of ReLUs that is a triangle wave on a segment of length of order $d$: outside of it $w\\cdot x$ and $v\\cdot x$ are with "
        "probability $e^{-\\Omega(d^2)}$ only, and the wave continued to the whole line is judged",
    ),
    **_DECAY,
    as_printed=Form(
        "$\\mathrm{Var}_v(\\nabla F(w)) \\le O(e^{-d})$ for a wave of slopes $\\pm1$ and period 4, $\\|w\\| = 1$.",
        wave=triangle_wave,
        square=(np.pi / 2) ** 2,
        power=0,
        sizes=_ONE,
        recipe=_RECIPE
        + """
a, gradients = np.pi / 2, 0
for j in range(1, 10, 2):
    for k in range(1, 10, 2):
        inner = (j * k * a**2 * (v @ w))[:, None]
        damping = np.exp(-(a**2) * (j**2 + k**2 * size**2) / 2)
        terms = damping * (k * w * np.cosh(inner) - j * v * np.sinh(inner))
        gradients = gradients + (8 / np.pi**2) ** 2 / (j * k) ** 2 * k * a**2 * terms
left = np.sum(np.var(gradients, axis=0))
""",
    ),
    corrected=Form(
        "The same for a wave of slopes $\\pm1$ and period $2\\pi/\\sqrt{2d}$, at any $w$ of norm 0.01 to 3.",
        wave=triangle_wave,
        square=2.0,
        power=1,
        sizes=_MANY,
    ),
    correction="As for the cosine: the period must shrink like $1/\\sqrt d$ (or the teacher grow). With a fixed period the variance "
    "falls like $1/d$.",
    control=Form(
        "The corrected form with $e^{-1.3d}$.", wave=triangle_wave, square=2.0, power=1, sizes=_MANY, rate=1.3
    ),
    arithmetic="Fourier series; Gauss–Gegenbauer rule over the cosine between student and teacher",
)

MASS = Claim(
    id=f"{PAPER}.section-3.2.mass",
    title="mass outside of a ball of radius d",
    hypotheses="standard Gaussian inputs, $1 \\le d \\le 35$; as exponents over $d$",
    scope="remark",
    draw={"d": integers(1, 35)},
    left=lambda d: -np.log(chdtrc(d, d**2)) / d,
    relation=">=",
    right=lambda rate=1.0: rate,
    known=0.0,
    as_printed="The mass outside of a ball of radius $\\Omega(d)$ is exponentially small: $P(\\|x\\| \\ge d) \\le e^{-d}$, with equality for $d = 2$.",
    control=Form("It is at most $e^{-1.01d}$.", rate=1.01),
    arithmetic="exact probabilities",
)
