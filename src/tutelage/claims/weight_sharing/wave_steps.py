"""Appendix B: single displays of the proofs of Theorems 1 and 2 and of Lemmas 9 and 11."""

import jax.numpy as jnp
import numpy as np

from tutelage.claims import Claim, Form, log_uniform, real, uniform
from tutelage.claims.weight_sharing.formulas import PAPER, cosine_gap, cosine_gradient, exact_wave
from tutelage.claims.weight_sharing.wave import GAP, GAUSSIAN
from tutelage.claims.weight_sharing.wave_proofs import PLANE, SIGN, loss_by_quadrature, square

EXPANSION = Claim(
    id=f"{PAPER}.section-B.1.expansion",
    title="the loss expanded",
    hypotheses=(*GAUSSIAN, "$k = 2$, $d = 1$"),
    glyph=True,
    draw={"u": uniform(-1.5, 1.5, (1,)), "w": uniform(-1.4, 1.4, (2, 1)), "slope": uniform(0.1, 3.0)},
    left=lambda u, w, slope: loss_by_quadrature(u, w, slope)[0],
    relation="==",
    # Without its square the first expectation vanishes; the mixed term, which lacks a factor c_k, does so as it should.
    right=lambda u, w, slope, squared=0.0: (
        squared * 0.5 * slope**2 * (w[0, 0] - u[0]) ** 2 + 0.5 * cosine_gap(w[:, 0], jnp.repeat(u, 2))
    ),
    scale=1.0,
    as_printed=Form(
        "$F = \\frac{c_k^2}2E[w_1\\cdot x_1 - u_0\\cdot x_1] + \\frac12E[(\\cos\\dots - \\cos\\dots)^2] + E[\\dots]$, with no square in the first "
        "expectation.",
        recipe="""
x = np.random.default_rng(0).normal(size=(400_000, 2))
p = lambda w: slope * w[0] * x[:, 0] + np.cos(x @ w)
linear, wave = (w[0, 0] - u[0]) * x[:, 0], np.cos(x @ w[:, 0]) - np.cos(x @ np.repeat(u, 2))
left = 0.5 * np.mean((p(w[:, 0]) - p(np.repeat(u, 2))) ** 2)  # sampled
right = slope**2 / 2 * np.mean(linear) + 0.5 * np.mean(wave**2) + np.mean(linear * wave)
""",
    ),
    as_meant=Form("The first term has $E[(w_1\\cdot x_1 - u_0\\cdot x_1)^2]$.", squared=1.0),
    supplied="the next line of the display, and Equation (2)",
    correction="A square is missing (and a factor $c_k$ of the mixed term, which vanishes).",
    control=Form("The first term one per cent larger.", squared=1.01),
    arithmetic="closed form and Gauss–Hermite quadrature in float64",
)


def _expanded(u, w, b, power=1.0, sign=1.0):
    minus, plus = (jnp.exp(-power * b**2 * square(w + s * u)) for s in (-1, 1))
    return -0.5 * b**2 * (2 * jnp.exp(-2 * b**2 * square(w)) * w + sign * minus * (w - u) - plus * (w + u))


LEMMA_9_EXPANDED = Claim(
    id=f"{PAPER}.lemma-9.expanded",
    scope="proof step",
    title="the gradient of the cosine part written out",
    hypotheses=(*GAUSSIAN, "$b > 0$"),
    defect=SIGN,
    draw={**PLANE, "b": log_uniform(np.exp(-1), np.exp(1))},
    left=cosine_gradient,
    relation="==",
    right=_expanded,
    scale=lambda b: 1e-2 * b,
    as_printed="It is $-\\frac{b^2}2(2e^{-2b^2\\|w\\|^2}w + e^{-b^2\\|w-u_0\\|^2}(w-u_0) - e^{-b^2\\|w+u_0\\|^2}(w+u_0))$.",
    corrected=Form(
        "It is $-\\frac{b^2}2(2e^{-2b^2\\|w\\|^2}w - e^{-b^2\\|w-u_0\\|^2/2}(w-u_0) - e^{-b^2\\|w+u_0\\|^2/2}(w+u_0))$.",
        power=0.5,
        sign=-1.0,
    ),
    correction="Two exponents lack the $\\frac12$ of $\\phi$, and the second term has the sign of Lemma 9.",
    control=Form("The corrected form with $0.505$ for $\\frac12$ in the exponents.", power=0.505, sign=-1.0),
)


def _bounded(u, w, own=1.0, rate=0.5, sign=-1.0):
    """The bound on the norm, by the norms of the other patches alone; w and u are those patches."""
    size, minus, plus = (jnp.sqrt(square(a) + 1e-300) for a in (w[1:], w[1:] - u, w[1:] + u))
    third = jnp.sqrt(square(w[1:] + sign * u) + 1e-300)
    return 0.5 * (
        own * jnp.exp(-rate * size**2) * size + jnp.exp(-0.5 * minus**2) * minus + jnp.exp(-0.5 * plus**2) * third
    )


NORM = Claim(
    id=f"{PAPER}.section-B.1.norm",
    title="bound on the norm of the gradient in the other patches",
    hypotheses=GAUSSIAN,
    defect="an exponent of the partial derivative",
    draw=[{"u": real((d,)), "w": real((k, d))} for k, d in ((2, 1), (3, 2))],
    left=lambda u, w: jnp.sqrt(square(exact_wave(u, w.shape[0], sharing=False).gradient(w)[1:]) + 1e-300),
    relation="<=",
    right=_bounded,
    scale=1e-3,
    as_printed=Form(
        "It is at most $\\frac12(e^{-\\|\\hat w\\|^2/2}\\|\\hat w\\| + e^{-\\|\\hat w-\\hat u_0\\|^2/2}\\|\\hat w-\\hat u_0\\| + "
        "e^{-\\|\\hat w+\\hat u_0\\|^2/2}\\|\\hat w-\\hat u_0\\|)$, for any $w$.",
        recipe=GAP
        + """
def loss(point):
    return 4.5 * len(w) * square(point[0] - u) + gap(point, np.tile(u, (len(w), 1))) / 2
h, slope = 1e-5, np.zeros_like(w)
for index in np.ndindex(w.shape):
    e = np.zeros_like(w)
    e[index] = h
    slope[index] = (loss(w + e) - loss(w - e)) / (2 * h)  # central differences
left = np.linalg.norm(slope[1:])
""",
    ),
    corrected=Form(
        "It is at most $\\frac12(2e^{-2\\|\\hat w\\|^2}\\|\\hat w\\| + e^{-\\|\\hat w-\\hat u_0\\|^2/2}\\|\\hat w-\\hat u_0\\| + "
        "e^{-\\|\\hat w+\\hat u_0\\|^2/2}\\|\\hat w+\\hat u_0\\|)$, for any $w$.",
        own=2.0,
        rate=2.0,
        sign=1.0,
    ),
    correction="With the partial derivative put right (see the display before). For short $\\hat w$ the gradient is twice the printed bound; "
    "in the ring of Theorem 1 both decay exponentially.",
    control=Form("The corrected form with 1.98 for the first 2.", own=1.98, rate=2.0, sign=1.0),
)


def _jacobian(w, c, h=1e-30):
    """The derivative of φ(cw), by complex steps."""
    steps = 1j * h * np.eye(w.shape[-1])
    moved = w[..., None, :] + steps
    values = np.exp(-0.5 * c[..., None, None] ** 2 * np.sum(moved**2, -1, keepdims=True)) * c[..., None, None] * moved
    return values.imag / h


def _printed_jacobian(w, c, sign=1.0):
    size = np.exp(-0.5 * c**2 * np.sum(w**2, -1)) * c
    outer = w[..., :, None] * w[..., None, :]
    return size[..., None, None] * (np.eye(w.shape[-1]) + sign * c[..., None, None] ** 2 * outer)


LEMMA_11_DERIVATIVE = Claim(
    id=f"{PAPER}.lemma-11.derivative",
    scope="proof step",
    title="derivative of φ",
    hypotheses="$\\phi(a) = e^{-\\|a\\|^2/2}a$",
    glyph=True,
    draw={"w": real((2,)), "c": log_uniform(0.1, 5)},
    left=_jacobian,
    relation="==",
    right=_printed_jacobian,
    scale=lambda c: 1e-2 * c[..., None, None],
    as_printed=Form(
        "$\\frac\\partial{\\partial w}\\phi(cw) = c\\,e^{-c^2\\|w\\|^2/2}(I + c^2ww^\\top)$.",
        recipe="""
f = lambda w: np.exp(-c**2 * w @ w / 2) * c * w
h = 1e-5
left = np.array([(f(w + h * e) - f(w - h * e)) / (2 * h) for e in np.eye(2)])  # central differences
""",
    ),
    as_meant=Form("It is $c\\,e^{-c^2\\|w\\|^2/2}(I - c^2ww^\\top)$.", sign=-1.0),
    supplied="the display that follows, which has the minus",
    correction="A sign; the Hessian that follows has it right, though not the power of $b$.",
    control=Form("One per cent more in the second term.", sign=-1.01),
)


def _bracket(u, w):
    """The bracket of the printed bound on the spectral norm, in units where b is one."""
    own, minus, plus = (np.sum(a**2, -1) for a in (w, w - u, w + u))
    return 4 * own * np.exp(-2 * own) + minus * np.exp(-minus / 2) + plus * np.exp(-plus / 2)


LEMMA_11_MAXIMUM = Claim(
    id=f"{PAPER}.lemma-11.maximum",
    scope="proof step",
    title="the largest value of three terms",
    hypotheses="$b = 1$: other $b$ change the unit of $w$ and $u_0$ only",
    defect="$te^{-t/2} \\le 1/e$",
    draw={"u": real((2,)), "w": real((2,))},
    corners=[{"u": np.array([np.sqrt(1.5), 0.0]), "w": np.array([0.0, np.sqrt(0.5)])}],
    left=_bracket,
    relation="<=",
    right=lambda most=4.0: most / np.e,
    as_printed="$4\\|w\\|^2e^{-2\\|w\\|^2} + \\|w-u_0\\|^2e^{-\\|w-u_0\\|^2/2} + \\|w+u_0\\|^2e^{-\\|w+u_0\\|^2/2} \\le (2 + 1 + 1)/e$.",
    corrected=Form("It is at most $(2 + 2 + 2)/e$, which is reached.", most=6.0),
    correction="$ze^{-z} \\le 1/e$ with $z = t/2$ gives $te^{-t/2} \\le 2/e$. All three terms are extreme at once where $w \\perp u_0$, "
    "$\\|w\\|^2 = \\frac12$, $\\|u_0\\|^2 = \\frac32$. With $\\frac32b^2 + \\frac3eb$ for $\\frac32b^2 + \\frac2eb$ the proof gives Lemma 11 for "
    "$b \\ge 0.21$, and Theorem 2 needs $b \\ge 1$.",
    control=Form("It is at most $5.99/e$.", most=5.99),
)
