r"""Appendix D up to Theorem 6.4: how the proofs for spherical inputs reduce to integrals over a circle."""

import jax
import jax.numpy as jnp
import numpy as np

from tutelage.claims import scan
from tutelage.claims.base import Claim, Effort, Form, Outcome
from tutelage.claims.pointwise import Family, Pointwise, equal, given
from tutelage.claims.scan import Scan
from tutelage.claims.single_neuron.legacy import (
    PAPER,
    SAMPLED_GRADIENT,
    angle,
    exact_gradient,
    student_and_teacher,
    unit,
)
from tutelage.claims.single_neuron.spherical import flows

# The derivative of the angle ------------------------------------------------------------------------------------------


def _angle_derivative(printed: bool, factor: float = 1.0):
    def check(i):
        w, v = i["w"], i["v"]
        gradient = exact_gradient(w, v, "gaussian")
        _, left = jax.jvp(lambda u: angle(u, v), (w,), (-gradient,))
        cosine, size = unit(w) @ v, jnp.linalg.norm(w)
        sine = jnp.sin(angle(w, v))
        direction = v - cosine * unit(w) / size if printed else (v - cosine * unit(w)) / size
        right = factor * direction @ gradient / sine
        return given((sine > 0.1) & (size > 0.1), equal(left, right, 1.0, tolerance=1e-7))

    return Pointwise(check, [Family({"w": (2,), "v": (2,)}, student_and_teacher)])


ANGLE_DERIVATIVE = Claim(
    id=f"{PAPER}.section-D.angle-derivative",
    place="Appendix D, proof of Lemma 6.2, last line of the first display",
    title="derivative of the angle under gradient flow",
    hypotheses=("ReLU, standard Gaussian inputs", "$\\|w\\| > 0.1$, $\\sin\\theta > 0.1$"),
    as_printed=Form(
        "$\\frac{\\partial\\theta}{\\partial t} = \\frac1{\\sin\\theta}\\bigl(\\bar v - \\frac{(\\bar w\\cdot\\bar v)\\bar w}{\\|w\\|}\\bigr)\\cdot"
        "\\nabla F(w)$.",
        _angle_derivative(printed=True),
        recipe=SAMPLED_GRADIENT
        + """
theta = lambda u: np.arccos(u @ v / norm(u))
left = (theta(w - 1e-4 * gradient) - theta(w + 1e-4 * gradient)) / 2e-4
bar = w / norm(w)
right = (v - (bar @ v) * bar / norm(w)) @ gradient / np.sin(theta(w))
""",
    ),
    corrected=Form(
        "$\\frac{\\partial\\theta}{\\partial t} = \\frac1{\\|w\\|\\sin\\theta}(\\bar v - (\\bar w\\cdot\\bar v)\\bar w)\\cdot\\nabla F(w)$.",
        _angle_derivative(printed=False),
    ),
    correction="The factor $1/\\|w\\|$ belongs to both terms. The proof goes on with the right direction, $v - (\\bar w\\cdot v)\\bar w$.",
    control=Form("The corrected form one per cent larger.", _angle_derivative(printed=False, factor=1.01)),
)


# The pairing of reflected points --------------------------------------------------------------------------------------


def _reflected(count, random):
    return {
        "theta": np.pi * random.uniform(size=count),
        "size": 10.0 ** random.uniform(-2, 1, size=count),
        "first": np.abs(random.normal(size=count)),
        "second": random.normal(size=count),
    }


def _pairing(printed: bool, factor: float = 1.0):
    def check(i):
        def g(second):
            teacher = np.cos(i["theta"]) * i["first"] + np.sin(i["theta"]) * second
            return (i["size"] * i["first"] - np.maximum(teacher, 0)) * second * np.sin(i["theta"])

        here, there = g(i["second"]), g(-i["second"])
        shown = scan.at_most(factor * here, there if printed else -there)
        # The third case of the proof: a ≥ 1, that is cos θ ≥ |w|. The other cases are printed with absolute values.
        counted = (here > 1e-6) & ((np.cos(i["theta"]) >= i["size"]) | (not printed))
        return shown | {"margin": np.where(counted, shown["margin"], np.inf)}

    return Scan(_reflected, check)


PAIRING = Claim(
    id=f"{PAPER}.section-D.pairing",
    place="Appendix D, proof of Lemma 6.2, the case $a \\ge 1$",
    title="a point and its reflection",
    hypotheses=(
        "$g(y) = (\\|w\\|y_1 - \\sigma(y\\cdot\\hat v))\\,y_2\\hat v_2$, $y_1 > 0$, $\\tilde y = (y_1, -y_2)$",
        "$g(y) > 0$",
    ),
    as_printed=Form(
        "$g(\\tilde y) < 0$ and $g(\\tilde y) \\ge g(y)$.",
        _pairing(printed=True),
        recipe="""
def g(second):
    return (size * first - max(np.cos(theta) * first + np.sin(theta) * second, 0)) * second * np.sin(theta)
left, right = g(second), g(-second)
""",
    ),
    corrected=Form("$g(\\tilde y) < 0$ and $|g(\\tilde y)| \\ge g(y)$, in all cases.", _pairing(printed=False)),
    correction="A misprint: absolute values are missing, which the first two cases have.",
    control=Form("$|g(\\tilde y)| \\ge 2g(y)$.", _pairing(printed=False, factor=2.0)),
)


# The derivative of the norm -------------------------------------------------------------------------------------------


def _norm_derivative(factor: float):
    def check(i):
        w, v = i["w"], i["v"]
        gradient = exact_gradient(w, v, "gaussian")
        _, left = jax.jvp(lambda u: u @ u, (w,), (-gradient,))
        return equal(left, -factor * w @ gradient, jnp.linalg.norm(w) * (1 + jnp.linalg.norm(w)))

    return Pointwise(check, [Family({"w": (2,), "v": (2,)}, student_and_teacher)])


EQUATION_18 = Claim(
    id=f"{PAPER}.equation-18",
    place="Equation (18), and again in the proof of Lemma D.2",
    title="derivative of the squared norm under gradient flow",
    hypotheses=("ReLU, standard Gaussian inputs, $w \\ne 0$",),
    as_printed=Form(
        "$\\frac{\\partial}{\\partial t}\\|w\\|^2 = -w\\cdot\\nabla F(w)$.",
        _norm_derivative(1.0),
        recipe=SAMPLED_GRADIENT
        + "left = (norm(w - 1e-4 * gradient) ** 2 - norm(w + 1e-4 * gradient) ** 2) / 2e-4\nright = -w @ gradient\n",
    ),
    corrected=Form("$\\frac{\\partial}{\\partial t}\\|w\\|^2 = -2w\\cdot\\nabla F(w)$.", _norm_derivative(2.0)),
    correction="The factor 2 of the chain rule is missing; only the sign is used.",
    control=Form("It is $-2.02\\,w\\cdot\\nabla F(w)$.", _norm_derivative(2.02)),
)


# The integral over the circle -----------------------------------------------------------------------------------------

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(200)


def _circle(count, random):
    return {
        "theta": np.concatenate([np.pi * np.linspace(0, 1, 101), np.pi * random.uniform(size=count // 10)]),
        "size": np.concatenate([np.full(101, 0.4), random.uniform(size=count // 10)]),
    }


def _flat_integral(theta, size):
    """The integral of Equation (22), with dy₁, by quadrature in the angle."""
    turns = np.pi / 4 * (_NODES + 1)
    weights = np.pi / 4 * _WEIGHTS * np.sin(turns)
    teacher = np.maximum(np.cos(turns - theta[:, None]), 0)
    return np.sum(weights * np.cos(turns) * (teacher - 2 * size[:, None] * np.cos(turns)), axis=1)


def _round_integral(theta, size, factor: float = 1.0):
    """The same over the circle, with dy₁/√(1 − y₁²) and both halves."""
    turns = np.pi / 2 * _NODES
    teacher = np.maximum(np.cos(turns - theta[:, None]), 0)
    terms = np.cos(turns) * (teacher - factor * size[:, None] * np.cos(turns))
    return np.sum(np.pi / 2 * _WEIGHTS * terms, axis=1)


def _suffices(integral):
    def check(i):
        theta, size = i["theta"], i["size"]
        # Equation (21) in closed form, up to a positive factor.
        exact = (np.sin(theta) + (np.pi - theta) * np.cos(theta)) / 2 - np.pi * size / 2
        shown = {"left": integral(theta, size), "right": exact}
        return shown | {"margin": np.where(shown["left"] > 1e-4, exact + 1e-4, np.inf)}

    return Scan(_circle, check)


EQUATION_22 = Claim(
    id=f"{PAPER}.equation-22",
    place="Equation (22)",
    title="reduction of Lemma 6.3 to an integral",
    hypotheses=("spherically symmetric inputs, ReLU, $\\|v\\| = 1$",),
    as_printed=Form(
        "Equation (21) follows from $\\int_0^1y_1\\sigma(v_1y_1 + \\sqrt{(1 - y_1^2)(1 - v_1^2)}) - 2\\|w\\|y_1^2\\,dy_1 \\ge 0$.",
        _suffices(_flat_integral),
        recipe="""
turns = 2 * np.pi * np.arange(100_000) / 100_000
student = np.cos(turns)  # a uniform point on the circle, w along the first axis
teacher = np.maximum(np.cos(turns - theta), 0)
right = np.mean((teacher - size * student) * (student > 0) * student * size)  # Equation (21): negative
y = (np.arange(100_000) + 0.5) / 100_000
c, s = np.cos(theta), np.sin(theta)
left = np.mean(y * np.maximum(c * y + s * np.sqrt(1 - y**2), 0) - 2 * size * y**2)  # Equation (22): positive
""",
    ),
    corrected=Form(
        "It follows from the same over the circle: $\\int_{-\\pi/2}^{\\pi/2}\\cos\\phi\\,(\\sigma(\\cos(\\phi - \\theta)) - \\|w\\|\\cos\\phi)\\,d\\phi "
        "\\ge 0$.",
        _suffices(_round_integral),
    ),
    correction="A uniform point on the circle has $y_1$ of density proportional to $1/\\sqrt{1 - y_1^2}$, which is left out. This is the "
    "error behind Lemma 6.3.",
    control=Form(
        "The corrected form with $0.9\\|w\\|$.", _suffices(lambda theta, size: _round_integral(theta, size, 0.9))
    ),
    arithmetic="Gauss–Legendre rule over the angle",
)


def _equation_23(factor: float):
    def check(i):
        theta, size = i["theta"], i["size"]
        cosine, sine = np.cos(theta), np.sin(theta)
        value = np.where(cosine >= 0, cosine + sine, sine * (1 + cosine)) / 3 - 2 * factor * size / 3
        left = _flat_integral(theta, size)
        return {"left": left, "right": value, "margin": 1e-5 - np.abs(left - value)}

    return Scan(_circle, check)


EQUATION_23 = Claim(
    id=f"{PAPER}.equation-23",
    place="Equation (23) and the case $v_1 \\le 0$ after it",
    title="value of the integral of Equation (22)",
    hypotheses=("$v_1 = \\cos\\theta$",),
    as_printed=Form(
        "It is $\\frac13(\\cos\\theta + \\sin\\theta - 2\\|w\\|)$ for $\\cos\\theta \\ge 0$ and $\\frac13(\\sin\\theta(1 + \\cos\\theta) - 2\\|w\\|)$ "
        "otherwise.",
        _equation_23(1.0),
    ),
    control=Form("The same with $2.02\\|w\\|$.", _equation_23(1.01)),
    arithmetic="Gauss–Legendre rule over the angle",
)


# The lower bound on the norm ------------------------------------------------------------------------------------------


def _norm_floor(printed: bool, factor: float = 1.0):
    def test(effort: Effort, seed: int) -> Outcome:
        starts, gaps, _, _, points = flows("gaussian", 2)
        sine, cosine = np.sin(gaps), np.cos(gaps)
        if printed:
            floor = np.maximum((sine - cosine) / 2, sine * (1 - cosine) / 2)
        else:
            floor = factor * np.minimum(np.linalg.norm(starts, axis=1), (sine - gaps * cosine) / np.pi)
        norms = np.linalg.norm(points, axis=2).min(axis=1)
        margins = (norms - floor) / floor
        worst = int(margins.argmin())
        witness = {"start": starts[worst], "gap": gaps[worst], "norm": norms[worst], "floor": floor[worst]}
        return Outcome(float(margins[worst]), points.shape[0] * points.shape[1], witness)

    return test


NORM_FLOOR = Claim(
    id=f"{PAPER}.section-D.norm-floor",
    place="Appendix D, proof of Theorem 6.4",
    title="lower bound on the norm along gradient flow",
    hypotheses=("ReLU, standard Gaussian inputs", "$\\theta(w(0), v) \\le \\pi - \\epsilon$, $w(0) \\ne 0$"),
    as_printed=Form(
        "$\\|w(t)\\| \\ge \\max\\{\\frac{\\sin\\epsilon - \\cos\\epsilon}2, \\frac{\\sin\\epsilon(1 - \\cos\\epsilon)}2\\}$ at all times.",
        _norm_floor(printed=True),
        recipe="""
left = np.linalg.norm(start)  # at t = 0; the norm stays close to it for a while
right = max((np.sin(gap) - np.cos(gap)) / 2, np.sin(gap) * (1 - np.cos(gap)) / 2)
""",
    ),
    corrected=Form(
        "$\\|w(t)\\| \\ge \\min\\{\\|w(0)\\|, (\\sin\\epsilon - \\epsilon\\cos\\epsilon)/\\pi\\}$ at all times.",
        _norm_floor(printed=False),
    ),
    correction="A start below the threshold is below it at first; the minimum with $\\|w(0)\\|$ is meant, with the right threshold of "
    "Lemma 6.3. The conclusion, a positive bound, stands.",
    control=Form("The corrected bound times 1.2.", _norm_floor(printed=False, factor=1.2)),
    arithmetic="exact gradients in float64; Runge–Kutta steps of 0.1",
)

APPENDIX = (ANGLE_DERIVATIVE, PAIRING, EQUATION_18, EQUATION_22, EQUATION_23, NORM_FLOOR)
