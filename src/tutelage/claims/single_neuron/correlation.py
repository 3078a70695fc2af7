r"""Section 4 and Appendix B: when the gradient points towards the teacher."""

from dataclasses import replace
from functools import lru_cache, partial

import jax
import jax.numpy as jnp
import numpy as np

from tutelage.activations import Absolute, get
from tutelage.claims import scan
from tutelage.claims.base import Claim, Effort, Form, Outcome, worst_of
from tutelage.claims.pointwise import Family, Pointwise, at_most, equal
from tutelage.claims.scan import Scan
from tutelage.claims.single_neuron import estimators
from tutelage.claims.single_neuron.legacy import (
    PAPER,
    SPHERICAL,
    angle,
    exact_gradient,
    nonzero,
    scale_of,
    sigmoid,
    student_and_teacher,
    unit,
)
from tutelage.claims.single_neuron.plane import rule
from tutelage.inputs import ball, gaussian, mixture, sphere, student_t

# Assumption 4.1 -------------------------------------------------------------------------------------------------------


def _same_in_all_dimensions(law_of):
    def test(effort: Effort, seed: int) -> Outcome:
        radii, dimensions = np.array([0.1, 1.0, 3.0]), np.array([2, 3, 10, 100])
        found = np.array([estimators.trade_off(law_of(int(d)), "relu", radii).densities for d in dimensions])
        expected = np.exp(-(radii**2) / 2) / (2 * np.pi)
        errors = np.abs(found / expected - 1).max(axis=1)
        worst = int(errors.argmax())
        witness = {"dimension": dimensions[worst], "radii": radii, "left": found[worst], "right": expected}
        return Outcome(1e-9 - float(errors[worst]), found.size, witness, "density floors in d = 2, 3, 10, 100")

    return test


ASSUMPTION_GAUSSIAN = Claim(
    id=f"{PAPER}.assumption-4.1.gaussian",
    place="Section 4, after Assumption 4.1",
    title="standard Gaussian inputs satisfy the assumption in every dimension",
    hypotheses=("standard Gaussian inputs", "$d \\ge 2$"),
    as_printed=Form(
        "$\\alpha, \\beta = \\Theta(1)$ regardless of $d$: the largest $\\beta$ for a given $\\alpha$ is $e^{-\\alpha^2/2}/(2\\pi)$.",
        _same_in_all_dimensions(gaussian),
    ),
    control=Form("The same for a sphere of radius $\\sqrt d$.", _same_in_all_dimensions(lambda d: sphere(max(d, 3)))),
)


def _mixing(share_kept: float):
    def test(effort: Effort, seed: int) -> Outcome:
        found = []
        for distance in (3.0, 30.0):
            far = gaussian(3, mean=[distance, 0.0, 0.0], covariance=1e-2 * np.eye(3))
            share = 0.01
            mixed = mixture([far, gaussian(3)], weights=[1 - share, share])
            radii = np.array([0.5, 2.0])
            densities = estimators.trade_off(mixed, "relu", radii, seed=seed).densities
            for radius, left in zip(radii, densities, strict=True):
                right = share_kept * share * np.exp(-(radius**2) / 2) / (2 * np.pi)
                shown = {"distance": distance, "share": share, "radius": radius, "left": left, "right": right}
                found.append((left / right - 1, shown))
        return worst_of(found)

    return test


ASSUMPTION_MIXING = Claim(
    id=f"{PAPER}.assumption-4.1.mixing",
    place="Section 4, after Assumption 4.1",
    title="mixing with a Gaussian makes the assumption hold",
    hypotheses=("a narrow Gaussian at distance 3 or 30 of the origin, mixed with a standard Gaussian of weight $p$",),
    as_printed=Form("$\\beta \\ge p\\,e^{-\\alpha^2/2}/(2\\pi)$.", _mixing(1.0)),
    control=Form("$\\beta \\ge 2p\\,e^{-\\alpha^2/2}/(2\\pi)$.", _mixing(2.0)),
)


def _has_slope(names):
    def test(effort: Effort, seed: int) -> Outcome:
        radii = np.geomspace(1e-2, 3.0, 8)
        slopes = np.array([estimators.trade_off(gaussian(2), name, radii).slopes for name in names])
        which = int(slopes.min(axis=1).argmin())
        witness = {"activation": names[which], "radii": radii, "slopes": slopes[which]}
        # However small, the slope must be positive.
        return Outcome(float(slopes.min() or -1.0), slopes.size, witness, "smallest slopes for α up to 3")

    return test


_COVERED = ("relu", "leaky_relu", "softplus", "tanh", "sigmoid", "erf")

ASSUMPTION_ACTIVATIONS = Claim(
    id=f"{PAPER}.assumption-4.1.activations",
    place="Section 4, after Assumption 4.1",
    title="common activations satisfy the assumption",
    hypotheses=("$\\alpha \\le 3$",),
    as_printed=Form(
        "ReLU, leaky ReLU, softplus and sigmoidal activations do not decrease and have $\\gamma > 0$.",
        _has_slope(_COVERED),
    ),
    control=Form("So has GELU, which decreases for some negative arguments.", _has_slope((*_COVERED, "gelu"))),
)


# Theorem 4.2 ----------------------------------------------------------------------------------------------------------

_CASES = (
    ("gaussian(2)", lambda: gaussian(2), 9.0),
    ("ball(2, radius=3)", lambda: ball(2, radius=3.0), 3.0),
    ("ball(4)", lambda: ball(4), np.sqrt(6.0)),
    ("sphere(4, radius=0.5)", lambda: sphere(4, radius=0.5), 0.5),
    ("student_t(3, degrees=3)", lambda: student_t(3, degrees=3.0), 40.0),
    ("gaussian(2, mean=(0, 1))", lambda: gaussian(2, mean=[0.0, 1.0]), 10.0),
)
_ACTIVATIONS = ("relu", "leaky_relu", "linear", "softplus", "tanh", "sigmoid")


@lru_cache
def _best_rates(name: str) -> dict[str, float]:
    """The largest α⁴βγ² of a law with each activation, over a few radii."""
    make, reach = {case: (make, reach) for case, make, reach in _CASES}[name]
    radii = reach * np.array([0.1, 0.5, 0.9, 1.0]) if reach < 5 else np.array([0.3, 1.0, 1.9, 3.5])
    densities = estimators.trade_off(make(), "linear", radii).densities
    slopes = {a: estimators.trade_off(gaussian(2), a, radii).slopes for a in _ACTIVATIONS}
    return {a: float(np.max(radii**4 * densities * slopes[a] ** 2)) for a in _ACTIVATIONS}


def _points_to_teacher(factor: float):
    def test(effort: Effort, seed: int) -> Outcome:
        random, extra = np.random.default_rng(seed), 2 + effort.runs // 100
        sizes = np.concatenate([[1e-3, 1.0, 2.0], random.uniform(0, 2, size=extra)])
        turns = np.concatenate([[0.0, np.pi / 2, np.pi - 0.1], random.uniform(0, np.pi, size=extra)])
        found = []
        for name, make, reach in _CASES:
            law = make()
            constants = _best_rates(name)
            for size in sizes:
                for turn in turns:
                    gap = size**2 + 1 - 2 * size * np.cos(turn)
                    if gap < 1e-6:
                        continue
                    # The angle may be anything up to π − δ, and the bound is largest for the largest δ.
                    bound = np.sin((np.pi - turn) / 4) ** 3 / (8 * np.sqrt(2)) * gap
                    nodes = rule(law, size, turn, reach)
                    for activation in _ACTIVATIONS:
                        # A truncated rule leaves out what is not negative.
                        left = nodes.mean(partial(_term, get(activation)))
                        best = constants[activation]
                        right = factor * bound * best
                        shown = {"law": name, "activation": activation, "size": size, "turn": turn}
                        found.append((1 - right / left, shown | {"rate": best, "left": left, "right": right}))
        outcome = worst_of(found)
        room = f"the inner product is at least {1 / (1 - outcome.margin):.1f} times the bound"
        return replace(outcome, note=outcome.note or room)

    return test


def _term(activation, student, teacher):
    residual = activation.value(student) - activation.value(teacher)
    return np.asarray(residual * activation.derivative(student) * (student - teacher))


THEOREM_4_2 = Claim(
    id=f"{PAPER}.theorem-4.2",
    place="Theorem 4.2",
    title="the gradient points towards the teacher",
    hypotheses=(
        "Assumption 4.1 in dimension two or more, with the largest $\\beta$ and $\\gamma$ for each $\\alpha$",
        "$\\|w\\| \\le 2$, $\\theta(w, v) \\le \\pi - \\delta$; five spherical laws and a Gaussian with a mean, six activations",
    ),
    as_printed=Form(
        "$\\langle\\nabla F(w), w - v\\rangle \\ge \\frac{\\alpha^4\\beta\\gamma^2}{8\\sqrt2}\\sin^3(\\delta/4)\\,\\|w - v\\|^2$.",
        _points_to_teacher(1.0),
    ),
    control=Form("The same with a hundred times the constant.", _points_to_teacher(100.0)),
    arithmetic="Gauss–Legendre rules in the plane; densities and slopes by tutelage.claims.single_neuron.estimators",
)


# The integrand is not negative ----------------------------------------------------------------------------------------


def _not_negative(names):
    def test(effort: Effort, seed: int) -> Outcome:
        random = np.random.default_rng(seed)
        student, teacher = 10.0 ** random.uniform(-3, 2) * random.normal(size=(2, 20 * effort.samples))
        found = []
        for name in names:
            values = _term(get(name), student, teacher)
            index = int(values.argmin())
            shown = {"activation": name, "student": student[index], "teacher": teacher[index]}
            found.append((values[index], shown))
        return worst_of(found, len(names) * student.size)

    return test


MONOTONE = Claim(
    id=f"{PAPER}.section-4.monotone",
    place="Section 4, intuition for Theorem 4.2, and Equation (6)",
    title="the integrand is not negative",
    hypotheses=("$\\sigma$ does not decrease",),
    as_printed=Form(
        "$(\\sigma(w\\cdot x) - \\sigma(v\\cdot x))\\,\\sigma'(w\\cdot x)\\,(w\\cdot x - v\\cdot x) \\ge 0$ for every $x$.",
        _not_negative((*_ACTIVATIONS, "erf")),
    ),
    control=Form("The same for the absolute value.", _not_negative((Absolute(),))),
)


# Remarks 4.3 and 4.4 --------------------------------------------------------------------------------------------------


def _no_other_stationary_point(factor: float):
    def check(i):
        w, v = i["w"], i["v"]
        kind = SPHERICAL[w.shape[0]]
        gap = w - v
        opening = jnp.pi - angle(w, v)
        size = scale_of(kind, w.shape[0])
        # The smallest eigenvalue of E[xxᵀ; w·x > 0, v·x > 0]: Lemma B.1, exactly.
        bound = factor * size * (opening - jnp.sin(opening)) / (2 * jnp.pi) * (gap @ gap)
        return at_most(bound, exact_gradient(w, v, kind) @ gap, 1e-6 * size * (1 + w @ w))

    families = [Family({"w": (d,), "v": (d,)}, student_and_teacher) for d in (2, 4)]
    return Pointwise(check, families)


STATIONARY = Claim(
    id=f"{PAPER}.remark-4.3.stationary",
    place="Remark 4.3",
    title="no stationary points but the teacher and the origin",
    hypotheses=(
        "ReLU",
        "Gaussian inputs in the plane, heavy-tailed $t$ inputs in dimension 4",
        "any norm of $w \\ne 0$",
    ),
    as_printed=Form(
        "Off the ray $-av$ the gradient vanishes at $v$ alone: $\\langle\\nabla F(w), w - v\\rangle \\ge "
        "E[x_1^2]\\,\\frac{\\delta - \\sin\\delta}{2\\pi}\\,\\|w - v\\|^2$ with $\\delta = \\pi - \\theta(w, v)$.",
        _no_other_stationary_point(1.0),
    ),
    control=Form("The same with four times the constant.", _no_other_stationary_point(4.0)),
)


def _ray(least: float, with_slope: bool = True):
    """The gradient at −a·v for inputs on a few points, the slope of ReLU at zero a number between 0 and 1."""

    def check(i):
        teacher, a, kink = i["points"] @ i["v"], i["a"], i["kink"]
        student = -a * teacher
        slope = jnp.where(student > 0, 1.0, jnp.where(student < 0, 0.0, kink))
        left = ((jnp.maximum(student, 0) - jnp.maximum(teacher, 0)) * slope) @ i["points"] / len(teacher)
        right = (student * (slope if with_slope else 1.0)) @ i["points"] / len(teacher)
        return equal(left, right, 1e-3 * jnp.mean(i["points"] ** 2))

    def build(raw):
        a = jnp.maximum(jnp.abs(raw["a"]), least)
        return {"v": unit(raw["v"]), "points": raw["points"], "a": a, "kink": sigmoid(raw["t"])}

    points = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
    corners = [{"v": np.array([1.0, 0.0]), "points": points, "a": a, "kink": 1.0} for a in (least, 1.0)]
    return Pointwise(check, [Family({"v": (2,), "points": (4, 2), "a": (), "t": ()}, build)], corners)


RAY = Claim(
    id=f"{PAPER}.remark-4.3.ray",
    place="Remark 4.3, the gradient at $-av$",
    title="gradient opposite to the teacher",
    hypotheses=("ReLU with any convention $\\sigma'(0) \\in [0, 1]$, as Section 2 allows", "$a \\ge 0$"),
    as_printed=Form(
        "$\\sigma(z)\\sigma'(-az) = 0$ for all $a \\ge 0$, so that $\\nabla F(-av) = E[(-av\\cdot x)\\,\\sigma'(-av\\cdot x)\\,x]$.",
        _ray(least=0.0),
        recipe="""
teacher = points @ v
student = -a * teacher
slope = np.where(student > 0, 1.0, np.where(student < 0, 0.0, kink))
left = ((np.maximum(student, 0) - np.maximum(teacher, 0)) * slope) @ points / len(points)
right = (student * slope) @ points / len(points)
""",
    ),
    corrected=Form(
        "The same for $a > 0$; at $a = 0$ it needs $\\sigma'(0) = 0$. Otherwise the origin is not stationary, as Section 1.1 says.",
        _ray(least=1e-6),
    ),
    correction="At $a = 0$ the product is $\\sigma(z)\\sigma'(0)$, which vanishes only with the convention $\\sigma'(0) = 0$. The "
    "conclusion stands: no other point of the ray is stationary.",
    control=Form(
        "The corrected form without the factor $\\sigma'$ on the right.",
        _ray(least=1e-6, with_slope=False),
    ),
    arithmetic="exact sums in float64",
)


def _halved(kind_of, factor: float = 0.5):
    def check(i):
        w = -i["c"] * i["v"]
        return equal(exact_gradient(w, i["v"], kind_of(w.shape[0])), factor * w, 1 + i["c"])

    def build(raw):
        return {"v": unit(nonzero(raw["v"])), "c": jnp.exp(raw["c"])}

    return Pointwise(check, [Family({"v": (d,), "c": ()}, build) for d in (2, 5)])


OPPOSITE = Claim(
    id=f"{PAPER}.remark-4.4.gradient",
    place="Remark 4.4",
    title="gradient opposite to the teacher, Gaussian inputs",
    hypotheses=("ReLU, standard Gaussian inputs", "$w = -cv$ with $c > 0$"),
    as_printed=Form("$\\nabla F(w) = \\frac12w$.", _halved(lambda dimension: "gaussian")),
    control=Form("The same on a sphere of radius 0.3.", _halved(lambda dimension: "sphere")),
)


def _ends_at_origin(most: float):
    # On the first axis the opposite of the teacher is exactly representable; elsewhere rounding leaves the ray.
    v = np.array([1.0, 0.0])

    def check(i):
        def move(w, _):
            return w - i["step"] * exact_gradient(w, jnp.asarray(v), "gaussian"), None

        end, _ = jax.lax.scan(move, -i["c"] * v, length=200)
        return at_most(jnp.linalg.norm(end), 1e-3, 1.0) | {"end": end}

    def build(raw):
        return {"c": 2 * sigmoid(raw["c"]), "step": 0.1 + (most - 0.1) * sigmoid(raw["t"])}

    return Pointwise(check, [Family({"c": (), "t": ()}, build)], [{"c": np.array(1.0), "step": np.array(most)}])


DESCENT = Claim(
    id=f"{PAPER}.remark-4.4.descent",
    place="Remark 4.4",
    title="gradient descent opposite to the teacher",
    hypotheses=("ReLU, standard Gaussian inputs", "$w_0 = -cv$ with $0 < c \\le 2$", "200 steps of at least 0.1"),
    as_printed=Form(
        "Gradient descent converges to the origin, with no condition on the step; judged up to $\\eta = 3$.",
        _ends_at_origin(3.0),
        recipe="""
s = -float(c)  # w = s·v throughout
for _ in range(200):
    s -= step * (0.5 * s if s <= 0 else 0.5 * (s - 1))
left, right = abs(s), 1e-3
""",
    ),
    corrected=Form(
        "It does so for $\\eta < 2$; with $\\eta = 2$ it is there after one step, and stays if $\\sigma'(0) = 0$.",
        _ends_at_origin(2.0),
    ),
    correction="A step multiplies $w$ by $1 - \\eta/2$: beyond $\\eta = 2$ it jumps over the origin, from where descent goes to $v$.",
    control=Form("It does so for $\\eta \\le 2.5$.", _ends_at_origin(2.5)),
    arithmetic="exact gradients in float64, 200 steps",
)


# Appendix B -----------------------------------------------------------------------------------------------------------

_ANGULAR = np.polynomial.legendre.leggauss(40)


def slice_moments(opening: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    r"""Second moments of a slice of the unit disc along and across its axis, by quadrature: $(o \pm \sin o)/8$."""
    turns = opening[:, None] / 2 * _ANGULAR[0]
    weights = opening[:, None] / 2 * _ANGULAR[1] / 4
    return np.sum(weights * np.cos(turns) ** 2, axis=1), np.sum(weights * np.sin(turns) ** 2, axis=1)


def _slices(count, random):
    delta = np.concatenate([np.geomspace(1e-3, np.pi, 50), np.pi * random.uniform(size=count)])
    # The angle between a and b is at most π − δ: the slice opens by δ or more.
    opening = delta + (np.pi - delta) * np.where(np.arange(len(delta)) % 2, 0.0, random.uniform(size=len(delta)))
    return {"delta": delta, "opening": opening, "alpha": 10.0 ** random.uniform(-2, 2, size=len(delta))}


def _lemma_b_1(factor: float):
    def check(i):
        along, across = slice_moments(i["opening"])
        infimum = i["alpha"] ** 4 * np.minimum(along, across)
        return scan.at_most(factor * i["alpha"] ** 4 * np.sin(i["delta"] / 4) ** 3 / (8 * np.sqrt(2)), infimum)

    return Scan(_slices, check, "the exact infimum is α⁴(δ − sin δ)/8, from 12.5 to 15.1 times the bound")


LEMMA_B_1 = Claim(
    id=f"{PAPER}.lemma-B.1",
    place="Lemma B.1",
    title="second moment of a slice of a disc",
    hypotheses=("$\\theta(a, b) \\le \\pi - \\delta$, $\\delta \\in (0, \\pi]$, $a, b \\ne 0$",),
    as_printed=Form(
        "$\\inf_{\\|u\\| = 1}\\int_{a\\cdot y > 0,\\,b\\cdot y > 0,\\,\\|y\\| \\le \\alpha}(u\\cdot y)^2dy \\ge "
        "\\frac{\\alpha^4}{8\\sqrt2}\\sin^3(\\delta/4)$; the infimum is $\\alpha^4(\\delta - \\sin\\delta)/8$.",
        _lemma_b_1(1.0),
    ),
    control=Form("The same with 16 times the right-hand side.", _lemma_b_1(16.0)),
    arithmetic="Gauss–Legendre rule over the angle",
)


def _equation_5(factor: float):
    def check(i):
        along, across = slice_moments(i["opening"])
        turns = i["opening"][:, None] / 2 * _ANGULAR[0]
        weights = i["opening"][:, None] / 2 * _ANGULAR[1] / 4
        smaller = np.sum(weights * np.minimum(np.cos(turns) ** 2, np.sin(turns) ** 2), axis=1)
        return scan.at_most(factor * smaller, np.minimum(along, across))

    return Scan(_slices, check)


EQUATION_5 = Claim(
    id=f"{PAPER}.equation-5",
    place="Equation (5)",
    title="the smaller of two moments",
    hypotheses=("$P$ a slice of a disc that is symmetric about the first axis",),
    as_printed=Form(
        "$\\min\\{\\int_Py_1^2, \\int_Py_2^2\\} \\ge \\int_P\\min\\{y_1^2, y_2^2\\}$.",
        _equation_5(1.0),
    ),
    control=Form("The same with twice the right-hand side.", _equation_5(2.0)),
    arithmetic="Gauss–Legendre rule over the angle",
)


def _rectangles(high: float):
    def check(i):
        quarter = i["delta"] / 4
        # The corners farthest from the axis and farthest from the origin.
        steepest = np.arctan2(high * np.sin(quarter), 0.5 * np.cos(quarter))
        inside = scan.at_most(steepest, i["delta"] / 2)
        farthest = np.hypot(np.cos(quarter), high * np.sin(quarter))
        return inside | {"margin": np.minimum(inside["margin"], 1 + 1e-12 - farthest)}

    return Scan(_slices, check)


RECTANGLES = Claim(
    id=f"{PAPER}.section-B.rectangles",
    place="Appendix B, proof of Lemma B.1 and Figure 2",
    title="the slice contains two rectangles",
    hypotheses=("$0 < \\delta \\le \\pi$",),
    as_printed=Form("$P \\supseteq P_1' \\cup P_2'$.", _rectangles(1.0)),
    control=Form("The same with rectangles a tenth higher.", _rectangles(1.1)),
)

MAIN = (
    ASSUMPTION_GAUSSIAN,
    ASSUMPTION_MIXING,
    ASSUMPTION_ACTIVATIONS,
    THEOREM_4_2,
    MONOTONE,
    STATIONARY,
    RAY,
    OPPOSITE,
    DESCENT,
)
APPENDIX = (LEMMA_B_1, EQUATION_5, RECTANGLES)
