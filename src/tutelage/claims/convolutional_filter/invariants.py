"""Section 4 and Appendix C.1: one step of gradient descent, and what it leaves invariant."""

import jax.numpy as jnp
import numpy as np

from tutelage.claims.base import Claim, Form
from tutelage.claims.convolutional_filter import instances, stationary
from tutelage.claims.convolutional_filter.formulas import (
    angle,
    descent_step,
    g,
)
from tutelage.claims.convolutional_filter.identities import _ANGLE as ANGLE
from tutelage.claims.convolutional_filter.instances import PAPER
from tutelage.claims.pointwise import Family, Pointwise, at_most, equal, given

_STEP = (
    ANGLE
    + """
s = norm(w_star)
across = w_star - v * (v @ w_star) / (v @ v)
new_v = v + step * (a @ a_star) * (np.pi - phi) * across / (2 * np.pi * norm(v))
new_a = a - step / (2 * np.pi) * (a.sum() + (np.pi - 1) * a - s * (a_star.sum() + (g - 1) * a_star))
"""
)


def _quantities(i):
    return i["v"], i["a"], i["w_star"], i["a_star"], i["step"]


def _moved(i):
    return descent_step(*_quantities(i))


def _size(i):
    """The natural size of products with the teacher's output weights."""
    return jnp.sum(i["a_star"] ** 2) + jnp.linalg.norm(i["a"]) * jnp.linalg.norm(i["a_star"])


def _sums_size(i):
    return jnp.sum(i["a_star"]) ** 2 + jnp.abs(jnp.sum(i["a"]) * jnp.sum(i["a_star"])) + 1e-6 * _size(i)


def _up_to(most: float):
    return lambda i: jnp.asarray(most)


def _summation_step(i):
    return 2 * jnp.pi / (i["a"].shape[0] + jnp.pi - 1)


# The function g -------------------------------------------------------------------------------------------------------


def _g_test(check):
    return Pointwise(
        lambda i: check(i["phi"]),
        [Family({"t": ()}, lambda raw: {"phi": np.pi / 2 * jnp.abs(jnp.sin(raw["t"]))})],
        gradient=True,
    )


G_BOUNDS = Claim(
    id=f"{PAPER}.section-4.1.g",
    place="Section 4.1, remarks on g before Lemmas 4.3 and 4.4",
    title="range of g",
    hypotheses=("$0 \\le \\phi \\le \\pi/2$",),
    as_printed=Form(
        "$1 \\le g(\\phi) \\le \\pi$, with $g > 1$ below $\\pi/2$.",
        _g_test(lambda phi: {"margin": jnp.minimum(g(phi) - 1, jnp.pi - g(phi)) + 1e-12, "value": g(phi)}),
    ),
    control=Form("$g(\\phi) \\le 3$.", _g_test(lambda phi: at_most(g(phi), 3.0, 1.0))),
)


# Equation (4) ---------------------------------------------------------------------------------------------------------


def _equation_4(printed: bool):
    def check(i):
        v, a, w_star, a_star, step = _quantities(i)
        _, new_a = _moved(i)
        square = a @ a if printed else a_star @ a_star
        factor = g(angle(v, w_star)) - 1
        sums = jnp.sum(a_star) ** 2 - jnp.sum(a) * jnp.sum(a_star)
        right = (1 - step * (jnp.pi - 1) / (2 * jnp.pi)) * (a @ a_star) + step * (factor * square + sums) / (2 * jnp.pi)
        return equal(new_a @ a_star, right, _size(i) + (a @ a if printed else 0.0))

    return Pointwise(check, instances.families(instances.unit_teacher, most=_up_to(2.0)))


EQUATION_4 = Claim(
    id=f"{PAPER}.equation-4",
    place="Equation (4)",
    title="dynamics of the signal of the second layer",
    hypotheses=("$\\|w^*\\| = 1$",),
    as_printed=Form(
        "The middle term is $\\frac{\\eta(g(\\phi^t)-1)}{2\\pi}\\|a^t\\|^2$.",
        _equation_4(printed=True),
        recipe=_STEP
        + """
left = new_a @ a_star
right = (1 - step * (np.pi - 1) / (2 * np.pi)) * a @ a_star + step / (2 * np.pi) * (
    (g - 1) * a @ a + a_star.sum() ** 2 - a.sum() * a_star.sum())
""",
    ),
    corrected=Form("The middle term is $\\frac{\\eta(g(\\phi^t)-1)}{2\\pi}\\|a^*\\|^2$.", _equation_4(printed=False)),
    correction="$\\|a^t\\|^2$ should be $\\|a^*\\|^2$, as in the proof of Lemma C.1.",
    control=Form(
        "The signal does not change.",
        Pointwise(
            lambda i: equal(_moved(i)[1] @ i["a_star"], i["a"] @ i["a_star"], _size(i)),
            instances.families(instances.unit_teacher, most=_up_to(2.0)),
        ),
    ),
)


# Lemma 4.2 ------------------------------------------------------------------------------------------------------------


def _angle_decreases(most, condition=lambda i: i["a"] @ i["a_star"] > 0):
    def check(i):
        v, w_star = i["v"], i["w_star"]
        new_v, _ = _moved(i)
        return given(condition(i), at_most(angle(new_v, w_star), angle(v, w_star), 1.0))

    return Pointwise(check, instances.families(instances.anywhere, most=most), gradient=True)


def _turn(i, constant):
    v, a, w_star, a_star = i["v"], i["a"], i["w_star"], i["a_star"]
    pull = jnp.abs(a @ a_star) * jnp.linalg.norm(w_star) * (jnp.pi - angle(v, w_star))
    return constant * jnp.pi * (v @ v) / (pull + 1e-12)


LEMMA_4_2 = Claim(
    id=f"{PAPER}.lemma-4.2",
    place="Lemma 4.2 (Invariance I)",
    title="the angle never increases",
    hypotheses=("$a^t\\cdot a^* > 0$",),
    as_printed=Form(
        "$\\phi^{t+1} \\le \\phi^t$, with no condition on the step.",
        _angle_decreases(_up_to(1e3)),
        recipe=_STEP + "left = np.arccos(np.clip(new_v @ w_star / norm(new_v) / s, -1, 1))\nright = phi\n",
    ),
    corrected=Form(
        "$\\phi^{t+1} \\le \\phi^t$ if $\\eta\\,\\|w^*\\|\\,(a^t\\cdot a^*)(\\pi-\\phi^t) \\le 4\\pi\\|v^t\\|^2$.",
        _angle_decreases(lambda i: _turn(i, 4.0)),
    ),
    correction="A large step overshoots the teacher's direction: the filter turns by $\\arctan(\\eta\\lambda^t\\sin\\phi^t)$, "
    "which must be at most $2\\phi^t$; $\\eta\\lambda^t \\le 2$ suffices.",
    control=Form("The same with $16\\pi$ for $4\\pi$.", _angle_decreases(lambda i: _turn(i, 16.0))),
)


# Lemmas 4.3 and 4.4, and the displays between them --------------------------------------------------------------------


def _signal_stays(most: float):
    def check(i):
        a, a_star = i["a"], i["a_star"]
        sums = jnp.sum(a) * jnp.sum(a_star)
        allowed = (a @ a_star > 0) & (sums >= 0) & (sums <= jnp.sum(a_star) ** 2)
        phi = angle(i["v"], i["w_star"])
        signal = _moved(i)[1] @ a_star
        return given(allowed & (phi > 0) & (phi < jnp.pi / 2), {"margin": signal / _size(i), "signal": signal})

    return Pointwise(check, instances.families(instances.admissible, most=_up_to(most)), gradient=True)


LEMMA_4_3 = Claim(
    id=f"{PAPER}.lemma-4.3",
    place="Lemma 4.3 (Invariance II)",
    title="the signal of the second layer stays positive",
    hypotheses=(
        "$\\|w^*\\| = 1$",
        "$a^t\\cdot a^* > 0$",
        "$0 \\le (\\mathbf 1\\cdot a^*)(\\mathbf 1\\cdot a^t) \\le (\\mathbf 1\\cdot a^*)^2$",
        "$0 < \\phi^t < \\pi/2$",
        "$\\eta < 2$",
    ),
    as_printed=Form("$a^{t+1}\\cdot a^* > 0$.", _signal_stays(2.0)),
    control=Form("The same for $\\eta < 6$.", _signal_stays(6.0)),
)


def _summation(check, most=_summation_step, build=instances.unit_teacher):
    return Pointwise(check, instances.families(build, most=most, shapes=((2, 1), (2, 2), (3, 5))), gradient=True)


def _summation_bound(printed: bool):
    def check(i):
        v, a, w_star, a_star, step = _quantities(i)
        k = a.shape[0]
        left = jnp.sum(_moved(i)[1]) * jnp.sum(a_star)
        sums, square = jnp.sum(a) * jnp.sum(a_star), jnp.sum(a_star) ** 2
        value = g(angle(v, w_star))
        if printed:
            right = (1 - step * (k - jnp.pi - 1) / (2 * jnp.pi)) * sums + step * (k + value - 1) / 2 * square
        else:
            right = (1 - step * (k + jnp.pi - 1) / (2 * jnp.pi)) * sums + step * (k + value - 1) / (2 * jnp.pi) * square
        allowed = jnp.abs(jnp.sum(a)) <= jnp.abs(jnp.sum(a_star))
        return given(allowed, at_most(left, right, _sums_size(i)))

    return _summation(check, build=instances.admissible)


SUMMATION_BOUND = Claim(
    id=f"{PAPER}.section-4.1.summation-bound",
    place="Section 4.1, first display after Lemma 4.3",
    title="bound on the sum of output weights",
    hypotheses=(
        "$\\|w^*\\| = 1$",
        "$|\\mathbf 1\\cdot a^t| \\le |\\mathbf 1\\cdot a^*|$",
        "$\\eta < 2\\pi/(k+\\pi-1)$",
    ),
    as_printed=Form(
        "$(\\mathbf 1\\cdot a^{t+1})(\\mathbf 1\\cdot a^*) \\le (1 - \\frac{\\eta(k-\\pi-1)}{2\\pi})(\\mathbf 1\\cdot a^t)"
        "(\\mathbf 1\\cdot a^*) + \\frac{\\eta(k+g(\\phi^t)-1)}2(\\mathbf 1\\cdot a^*)^2$.",
        _summation_bound(printed=True),
        recipe=_STEP
        + """
k, sums, square = len(a), a.sum() * a_star.sum(), a_star.sum() ** 2
left = new_a.sum() * a_star.sum()
right = (1 - step * (k - np.pi - 1) / (2 * np.pi)) * sums + step * (k + g - 1) / 2 * square
""",
    ),
    corrected=Form(
        "The same with $k + \\pi - 1$ for $k - \\pi - 1$ and $2\\pi$ for $2$; it is then an equality.",
        _summation_bound(printed=False),
    ),
    correction="A sign and a factor $\\pi$. The printed bound fails where $\\mathbf 1\\cdot a^t$ and $\\mathbf 1\\cdot a^*$ have "
    "opposite signs and $k \\le 2$; the recursion that follows it is right.",
    control=Form(
        "The sum shrinks at every step.",
        _summation(lambda i: at_most(jnp.sum(_moved(i)[1]) ** 2, jnp.sum(i["a"]) ** 2, _size(i))),
    ),
)


def _summation_recursion(constant):
    def check(i):
        a, a_star, step = i["a"], i["a_star"], i["step"]
        k = a.shape[0]
        gap = (jnp.sum(a_star) - jnp.sum(a)) * jnp.sum(a_star)
        left = (1 - step * (k + constant) / (2 * jnp.pi)) * gap
        new_gap = (jnp.sum(a_star) - jnp.sum(_moved(i)[1])) * jnp.sum(a_star)
        return at_most(left, new_gap, _sums_size(i))

    return _summation(check)


SUMMATION_RECURSION = Claim(
    id=f"{PAPER}.section-4.1.summation-recursion",
    place="Section 4.1, last display before Lemma 4.4",
    title="recursion for the sum of output weights",
    hypotheses=("$\\|w^*\\| = 1$",),
    as_printed=Form(
        "$(\\mathbf 1\\cdot a^* - \\mathbf 1\\cdot a^{t+1})\\,\\mathbf 1\\cdot a^* \\ge (1 - \\frac{\\eta(k+\\pi-1)}{2\\pi})"
        "(\\mathbf 1\\cdot a^* - \\mathbf 1\\cdot a^t)\\,\\mathbf 1\\cdot a^*$.",
        _summation_recursion(jnp.pi - 1),
    ),
    control=Form("The same with $k - \\pi$ for $k + \\pi - 1$.", _summation_recursion(-jnp.pi)),
)


def _sum_stays_small(condition, most=_summation_step):
    def check(i):
        a_star = i["a_star"]
        left = jnp.sum(a_star) * jnp.sum(_moved(i)[1])
        return given(condition(i), at_most(left, jnp.sum(a_star) ** 2, _sums_size(i)))

    return _summation(check, most)


def _sum_is_small(i):
    return jnp.sum(i["a_star"]) * jnp.sum(i["a"]) <= jnp.sum(i["a_star"]) ** 2


LEMMA_4_4 = Claim(
    id=f"{PAPER}.lemma-4.4",
    place="Lemma 4.4 (Invariance III)",
    title="the sum of output weights stays small",
    hypotheses=("$\\|w^*\\| = 1$", "$\\eta < 2\\pi/(k+\\pi-1)$"),
    as_printed=Form(
        "If $(\\mathbf 1\\cdot a^*)(\\mathbf 1\\cdot a^*) \\le (\\mathbf 1\\cdot a^*)^2$ (which always holds) then "
        "$(\\mathbf 1\\cdot a^*)(\\mathbf 1\\cdot a^{t+1}) \\le (\\mathbf 1\\cdot a^*)^2$.",
        _sum_stays_small(lambda i: jnp.asarray(True)),
        recipe=_STEP + "left = a_star.sum() * new_a.sum()\nright = a_star.sum() ** 2\n",
    ),
    corrected=Form(
        "The same under $(\\mathbf 1\\cdot a^*)(\\mathbf 1\\cdot a^t) \\le (\\mathbf 1\\cdot a^*)^2$.",
        _sum_stays_small(_sum_is_small),
    ),
    correction="The hypothesis is misprinted: one $a^*$ should be $a^t$.",
    control=Form(
        "The corrected statement for steps four times as large.",
        _sum_stays_small(_sum_is_small, lambda i: 4 * _summation_step(i)),
    ),
)


# Lemma 4.5 and Appendix C.1 -------------------------------------------------------------------------------------------


def _rate(i):
    v, a, w_star, a_star, _ = _quantities(i)
    return jnp.linalg.norm(w_star) * (jnp.pi - angle(v, w_star)) * (a @ a_star) / (2 * jnp.pi * (v @ v))


def _contraction(bound, most, build=instances.admissible):
    def check(i):
        v, w_star, step = i["v"], i["w_star"], i["step"]
        phi = angle(v, w_star)
        left = jnp.sin(angle(_moved(i)[0], w_star)) ** 2
        right = bound(step * _rate(i), jnp.cos(phi)) * jnp.sin(phi) ** 2
        return given(phi < jnp.pi / 2, at_most(left, right, jnp.sin(phi) ** 2 + 1e-12))

    return Pointwise(check, instances.families(build, most=most), gradient=True)


EQUATION_9 = Claim(
    id=f"{PAPER}.equation-9",
    place="Equation (9)",
    title="contraction of the angle, before choosing the step",
    hypotheses=("$\\phi^t < \\pi/2$", "$\\lambda^t = \\|w^*\\|(\\pi-\\phi^t)\\,a^t\\cdot a^*/(2\\pi\\|v^t\\|^2)$"),
    as_printed=Form(
        "$\\sin^2\\phi^{t+1} \\le (1 - 2\\eta\\cos\\phi^t\\lambda^t + \\eta^2(\\lambda^t)^2)\\sin^2\\phi^t$, for every step.",
        _contraction(lambda x, cosine: 1 - 2 * x * cosine + x**2, _up_to(50.0)),
    ),
    control=Form(
        "The same with $3\\eta\\cos\\phi^t\\lambda^t$.",
        _contraction(lambda x, cosine: 1 - 3 * x * cosine + x**2, _up_to(50.0)),
    ),
)


def _small_step(i):
    """Cos φ over (|a*|² + (1·a*)²)|w*|², the middle term of Lemma 4.5's minimum, constant one; and 1/k."""
    a_star = i["a_star"]
    size = (a_star @ a_star + jnp.sum(a_star) ** 2) * jnp.sum(i["w_star"] ** 2)
    return jnp.minimum(jnp.cos(angle(i["v"], i["w_star"])) / size, 1.0 / a_star.shape[0])


LEMMA_4_5 = Claim(
    id=f"{PAPER}.lemma-4.5",
    place="Lemma 4.5",
    title="contraction of the angle",
    hypotheses=(
        "Theorem 3.1's conditions on the start",
        "$\\eta \\le \\min\\{\\cos\\phi^t/((\\|a^*\\|^2+(\\mathbf 1\\cdot a^*)^2)\\|w^*\\|^2), 1/k\\}$, the hidden constant set to one",
        "$a^t\\cdot a^* \\le \\|a^*\\|^2 + (\\mathbf 1\\cdot a^*)^2$ (Lemma C.2)",
    ),
    as_printed=Form(
        "$\\sin^2\\phi^{t+1} \\le (1 - \\eta\\cos\\phi^t\\lambda^t)\\sin^2\\phi^t$.",
        _contraction(lambda x, cosine: 1 - x * cosine, _small_step, instances.bounded_signal),
    ),
    control=Form(
        "The same with $3\\eta\\cos\\phi^t\\lambda^t$.",
        _contraction(lambda x, cosine: 1 - 3 * x * cosine, _small_step, instances.bounded_signal),
    ),
)


def _rate_bound(fraction: float):
    def check(i):
        a_star = i["a_star"]
        size = (a_star @ a_star + jnp.sum(a_star) ** 2) * jnp.sum(i["w_star"] ** 2)
        return at_most(_rate({**i, "step": jnp.zeros(())}), fraction * size, 1e-9 * size)

    return Pointwise(check, instances.families(instances.bounded_signal), gradient=True)


RATE_BOUND = Claim(
    id=f"{PAPER}.section-C.1.rate-bound",
    place="Section C.1, proof of Lemma 4.5, upper bound on λ",
    title="upper bound on the rate",
    hypotheses=("$\\|w^*\\| = 1 \\le \\|v^t\\|$", "$a^t\\cdot a^* \\le \\|a^*\\|^2 + (\\mathbf 1\\cdot a^*)^2$"),
    as_printed=Form(
        "$\\lambda^t \\le (\\|a^*\\|^2 + (\\mathbf 1\\cdot a^*)^2)\\|w^*\\|^2/4$.",
        _rate_bound(0.25),
        recipe=ANGLE
        + """
left = norm(w_star) * (np.pi - phi) * (a @ a_star) / (2 * np.pi * v @ v)
right = (a_star @ a_star + a_star.sum() ** 2) * (w_star @ w_star) / 4
""",
    ),
    corrected=Form("The same with $1/2$ for $1/4$.", _rate_bound(0.5)),
    correction="$\\pi - \\phi \\le \\pi$, not $\\pi/2$: the bound holds with $1/2$, reached as $\\phi \\to 0$.",
    control=Form("The same with $1/8$.", _rate_bound(0.125)),
)


def _lemma_c1(factor):
    def check(i):
        v, a, w_star, a_star, step = _quantities(i)
        goal = (g(angle(v, w_star)) - 1) / (jnp.pi - 1) * (a_star @ a_star)
        signal = a @ a_star
        right = _moved(i)[1] @ a_star
        left = jnp.minimum(signal + step * factor * (goal - signal), goal)
        allowed = _sum_is_small(i) & (signal > 0) & (angle(v, w_star) < jnp.pi / 2)
        return given(allowed, at_most(left, right, _size(i)))

    return Pointwise(check, instances.families(instances.admissible, most=_summation_step), gradient=True)


LEMMA_C_1 = Claim(
    id=f"{PAPER}.lemma-C.1",
    place="Lemma C.1",
    title="growth of the signal of the second layer",
    hypotheses=("$\\|w^*\\| = 1$", "the conditions of Lemmas 4.3 and 4.4"),
    as_printed=Form(
        "$a^{t+1}\\cdot a^* \\ge \\min\\{a^t\\cdot a^* + \\eta(\\tfrac{g(\\phi^t)-1}{\\pi-1}\\|a^*\\|^2 - a^t\\cdot a^*), "
        "\\tfrac{g(\\phi^t)-1}{\\pi-1}\\|a^*\\|^2\\}$.",
        _lemma_c1(1.0),
        recipe=_STEP
        + """
goal = (g - 1) / (np.pi - 1) * a_star @ a_star
left = min(a @ a_star + step * (goal - a @ a_star), goal)
right = new_a @ a_star
""",
    ),
    corrected=Form("The same with $\\eta\\frac{\\pi-1}{2\\pi}$ for $\\eta$.", _lemma_c1((jnp.pi - 1) / (2 * jnp.pi))),
    correction="The growth is slower by the factor $(\\pi-1)/(2\\pi) \\approx 0.34$ that the line before it carries.",
    control=Form("The same with $2\\eta$ for $\\eta$.", _lemma_c1(2.0)),
)

CLAIMS = (
    G_BOUNDS,
    EQUATION_4,
    *stationary.CLAIMS,
    LEMMA_4_2,
    LEMMA_4_3,
    SUMMATION_BOUND,
    SUMMATION_RECURSION,
    LEMMA_4_4,
    LEMMA_4_5,
    EQUATION_9,
    RATE_BOUND,
    LEMMA_C_1,
)
