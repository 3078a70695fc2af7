r"""Remark 6.5 and Appendix D.1: standard Gaussian inputs, where everything has a closed form."""

import jax.numpy as jnp
import numpy as np

from tutelage.claims import scan
from tutelage.claims.base import Claim, Effort, Form, Outcome, worst_of
from tutelage.claims.pointwise import Family, Pointwise, equal
from tutelage.claims.scan import Scan
from tutelage.claims.single_neuron.legacy import (
    PAPER,
    SAMPLED_GRADIENT,
    angle,
    exact_gradient,
    nonzero,
    sigmoid,
    unit,
)
from tutelage.claims.single_neuron.plane import rule
from tutelage.claims.single_neuron.spherical import turning
from tutelage.inputs import gaussian

_KINDS = {2: "gaussian", 5: "gaussian"}


def _cases(effort: Effort, seed: int):
    random = np.random.default_rng(seed)
    sizes = 10.0 ** random.uniform(-2, 1, size=effort.runs // 5)
    turns = np.pi * np.concatenate([[0.0, 1.0], random.uniform(size=len(sizes) - 2)])
    return zip(sizes, turns, strict=True)


def _loss_closed(factor: float):
    def test(effort: Effort, seed: int) -> Outcome:
        found = []
        for size, turn in _cases(effort, seed):
            nodes = rule(gaussian(2), size, turn, 10.0)
            value = nodes.mean(lambda s, t: 0.5 * (np.maximum(s, 0) - np.maximum(t, 0)) ** 2)
            cross = (np.sin(turn) + (np.pi - turn) * np.cos(turn)) / (2 * np.pi)
            closed = 0.25 * size**2 + 0.25 - factor * size * cross
            margin = 1e-9 - abs(value - closed) / (1 + size**2)
            found.append((margin, {"size": size, "turn": turn, "left": value, "right": closed}))
        return worst_of(found)

    return test


REMARK_6_5 = Claim(
    id=f"{PAPER}.remark-6.5",
    place="Remark 6.5",
    title="closed form of the loss for Gaussian inputs",
    hypotheses=("ReLU, standard Gaussian inputs, $\\|v\\| = 1$",),
    as_printed=Form(
        "There is one: $F(w) = \\frac14\\|w\\|^2 + \\frac14 - \\frac{\\|w\\|}{2\\pi}(\\sin\\theta + (\\pi - \\theta)\\cos\\theta)$.",
        _loss_closed(1.0),
    ),
    control=Form("The same with the cross term one per cent larger.", _loss_closed(1.01)),
    arithmetic="Gauss–Legendre rules in the plane",
)


def _gradient_closed(factor: float):
    """Equation (25) along and across the student, against quadrature."""

    def test(effort: Effort, seed: int) -> Outcome:
        found = []
        for size, turn in _cases(effort, seed):
            nodes = rule(gaussian(2), size, turn, 10.0)
            along = nodes.mean(lambda s, t: (s - np.maximum(t, 0)) * (s > 0) * s) / size
            teacher = nodes.mean(lambda s, t: (s - np.maximum(t, 0)) * (s > 0) * t)
            left = np.array([along, teacher])
            cross = np.sin(turn) + (np.pi - turn) * np.cos(turn) * factor
            other = np.sin(turn) * np.cos(turn) + (np.pi - turn) * factor
            right = np.array([0.5 * size - cross / (2 * np.pi), 0.5 * size * np.cos(turn) - other / (2 * np.pi)])
            margin = 1e-9 - np.max(np.abs(left - right)) / (1 + size)
            found.append((margin, {"size": size, "turn": turn, "left": left, "right": right}))
        return worst_of(found)

    return test


EQUATION_25 = Claim(
    id=f"{PAPER}.equation-25",
    place="Equation (25)",
    title="closed form of the gradient for Gaussian inputs",
    hypotheses=("ReLU, standard Gaussian inputs, $w \\ne 0$, $\\|v\\| = 1$",),
    as_printed=Form(
        "$\\nabla F(w) = \\frac12w - \\frac1{2\\pi}(\\|v\\|\\sin\\theta\\,\\bar w + (\\pi - \\theta)v)$, compared along $w$ and along $v$.",
        _gradient_closed(1.0),
    ),
    control=Form("The same with the last term one per cent larger.", _gradient_closed(1.01)),
    arithmetic="Gauss–Legendre rules in the plane",
)

LEMMA_D_1 = Claim(
    id=f"{PAPER}.lemma-D.1",
    place="Lemma D.1",
    title="the angle never increases, Gaussian inputs",
    hypotheses=("ReLU, standard Gaussian inputs in dimensions 2 and 5, gradient flow", "$w \\ne 0$"),
    as_printed=Form("$\\frac{\\partial}{\\partial t}\\theta(w(t), v) \\le 0$.", turning(_KINDS)),
    control=Form("It decreases at least like $0.4\\sin\\theta/\\|w\\|$.", turning({2: "gaussian"}, 0.4)),
)


def _any_teacher(raw):
    return {"w": nonzero(raw["w"]), "v": nonzero(raw["v"])}


def _sign(sign: float, factor: float = 1.0):
    def check(i):
        w, v = i["w"], i["v"]
        across = unit(v) - (unit(w) @ unit(v)) * unit(w)
        left = across @ exact_gradient(w, v, "gaussian")
        value = (jnp.pi - angle(w, v)) / (2 * jnp.pi) * (across @ across) * jnp.linalg.norm(v)
        return equal(left, sign * factor * value, jnp.linalg.norm(w) + jnp.linalg.norm(v))

    return Pointwise(check, [Family({"w": (2,), "v": (2,)}, _any_teacher)])


EQUATION_24 = Claim(
    id=f"{PAPER}.equation-24",
    place="Appendix D.1, proof of Lemma D.1, the sign of the expression in Equation (24)",
    title="sign of the change of the angle",
    hypotheses=("ReLU, standard Gaussian inputs, any $v \\ne 0$",),
    as_printed=Form(
        "The expression $(\\bar v - (\\bar w\\cdot\\bar v)\\bar w)\\cdot\\nabla F(w)$ is not negative: it has the value "
        "$\\frac{\\pi - \\theta}{2\\pi}(1 - (\\bar w\\cdot\\bar v)^2)\\|v\\|$ in size.",
        _sign(1.0),
        recipe=SAMPLED_GRADIENT
        + """
left = (v / norm(v) - (w @ v) / norm(w) / norm(v) * w / norm(w)) @ gradient
right = abs(left)
""",
    ),
    corrected=Form("It is that with a minus sign, and not positive.", _sign(-1.0)),
    correction="A misprint in the last sentence of the proof: the expression is non-positive, as Equation (24) and Lemma D.1 say.",
    control=Form("It is twice the corrected value.", _sign(-1.0, 2.0)),
)


def _norm_grows(threshold):
    def check(i):
        w, v = i["w"], i["v"]
        change = -2 * w @ exact_gradient(w, v, "gaussian")
        return {"margin": change / (jnp.linalg.norm(w) * jnp.linalg.norm(v)), "change": change}

    def build(raw):
        v, direction = nonzero(raw["v"]), unit(nonzero(raw["w"]))
        size = threshold(jnp.pi - angle(direction, v)) * jnp.linalg.norm(v) * (0.5 + 0.5 * sigmoid(raw["t"]))
        return {"w": (size + 1e-12 * jnp.linalg.norm(v)) * direction, "v": v}

    return Pointwise(check, [Family({"w": (2,), "v": (2,), "t": ()}, build)])


LEMMA_D_2 = Claim(
    id=f"{PAPER}.lemma-D.2",
    place="Lemma D.2",
    title="the norm grows near the origin, Gaussian inputs",
    hypotheses=("ReLU, standard Gaussian inputs, any $v \\ne 0$, gradient flow", "$\\theta = \\pi - \\alpha$"),
    as_printed=Form(
        "$\\frac{\\partial}{\\partial t}\\|w\\|^2 \\ge 0$ if $\\|w\\| \\le \\|v\\|\\alpha^3/\\pi^4$; the exact threshold is "
        "$\\|v\\|(\\sin\\alpha - \\alpha\\cos\\alpha)/\\pi$.",
        _norm_grows(lambda a: a**3 / jnp.pi**4),
    ),
    control=Form(
        "The same up to 1.1 times the exact threshold.",
        _norm_grows(lambda a: 1.1 * (jnp.sin(a) - a * jnp.cos(a)) / jnp.pi),
    ),
)


def _drawn(count, random):
    return {
        "theta": np.concatenate([np.linspace(0, np.pi, 200), np.pi * random.uniform(size=count)]),
        "size": 10.0 ** random.uniform(-3, 1, size=count + 200),
        "norm": 10.0 ** random.uniform(-2, 1, size=count + 200),
    }


def _prefactor(value: float):
    """The lower bound (26) on the change of |w|², at the angle itself, against the change."""

    def check(i):
        theta, size, norm = i["theta"], i["size"], i["norm"]
        opening = np.pi - theta
        change = size * norm / np.pi * (np.sin(theta) + opening * np.cos(theta)) - size**2
        bracket = np.sin(opening) - opening * np.cos(opening) - np.pi * size / norm
        shown = scan.at_most(value * size * norm * bracket, change)
        return shown | {"margin": (change - value * size * norm * bracket) / (size * norm + size**2)}

    return Scan(_drawn, check)


EQUATION_26 = Claim(
    id=f"{PAPER}.equation-26",
    place="Equation (26) and the display before it",
    title="lower bound on the change of the norm",
    hypotheses=("ReLU, standard Gaussian inputs, $\\theta = \\pi - \\alpha$",),
    as_printed=Form(
        "$\\frac{\\partial}{\\partial t}\\|w\\|^2 \\ge \\frac{\\|w\\|\\|v\\|}2(\\sin\\alpha - \\alpha\\cos\\alpha - \\pi\\|w\\|/\\|v\\|)$.",
        _prefactor(0.5),
        recipe="""
w = size * np.array([np.cos(theta), np.sin(theta)])
x = np.random.default_rng(0).normal(size=(2_000_000, 2))
student = x @ w
left = 2 * np.mean((np.maximum(norm * x[:, 0], 0) - student) * student * (student > 0))  # sampled
a = np.pi - theta
right = size * norm / 2 * (np.sin(a) - a * np.cos(a) - np.pi * size / norm)
""",
    ),
    corrected=Form("The same with $\\|w\\|\\|v\\|/\\pi$ for $\\|w\\|\\|v\\|/2$.", _prefactor(1 / np.pi)),
    correction="Two slips: $\\frac{\\partial}{\\partial t}\\|w\\|^2$ is $2w\\cdot\\dot w$, and $\\frac1{2\\pi}$ becomes $\\frac12$ in the last line. Both "
    "are positive factors, so that Lemma D.2 stands.",
    control=Form("The same with $\\|w\\|\\|v\\|/3$.", _prefactor(1 / 3)),
)


def _cubic(factor: float):
    def draw(count, random):
        return {"alpha": np.concatenate([np.linspace(1e-3, np.pi, 500), np.pi * random.uniform(1e-3, 1, size=count)])}

    def check(i):
        a = i["alpha"]
        return scan.at_most(factor * (a / np.pi) ** 3, np.sin(a) - a * np.cos(a))

    return Scan(draw, check)


EQUATION_27 = Claim(
    id=f"{PAPER}.equation-27",
    place="Equation (27)",
    title="a cubic lower bound",
    hypotheses=("$0 \\le \\alpha \\le \\pi$",),
    as_printed=Form("$\\sin\\alpha - \\alpha\\cos\\alpha \\ge (\\alpha/\\pi)^3$.", _cubic(1.0)),
    control=Form("The same with four times the right-hand side.", _cubic(4.0)),
)

APPENDIX = (LEMMA_D_1, EQUATION_24, EQUATION_25, LEMMA_D_2, EQUATION_26, EQUATION_27)
