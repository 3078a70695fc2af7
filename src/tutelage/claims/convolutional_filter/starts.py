"""Theorems 3.2 and 3.3: random starts, how often they find the teacher or the second point, and other inputs."""

from functools import lru_cache
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import betainc

from tutelage.claims import Chance, Claim, Form, Relation, fitted_order, integers, real, uniform, unit
from tutelage.claims.convolutional_filter.formulas import circle, dot, g, loss, normalised, spurious_output
from tutelage.claims.convolutional_filter.instances import ANYWHERE, NO_NORM, PAPER, SADDLE, teacher
from tutelage.claims.convolutional_filter.runs import RUN, State, shown, state_of

# Theorem 3.2 ----------------------------------------------------------------------------------------------------------


def _in_ball(w_star, a_star, direction, share, radius=1.0):
    k = a_star.shape[-1]
    norm = np.linalg.norm(w_star, axis=-1)
    most = radius * np.abs(np.sum(a_star, -1)) * norm / np.sqrt(k)
    return {"w_star": w_star, "a_star": a_star, "a": (share * most)[..., None] * direction}


THEOREM_3_2_START = Claim(
    id=f"{PAPER}.theorem-3.2.start",
    title="one of four sign choices is a good start",
    hypotheses=(
        "$v$ on the unit sphere, $a$ in the ball of radius $|\\mathbf 1\\cdot a^*|\\,\\|w^*\\|/\\sqrt k$",
        "$\\mathbf 1\\cdot a^* \\ne 0$: otherwise the ball is a point, and no choice of signs has $a^0\\cdot a^* > 0$",
    ),
    draw=[
        {"w_star": real((2,)), "a_star": real((k,)), "direction": unit(k), "share": uniform(0.0, 1.0)} for k in (1, 4)
    ],
    build=_in_ball,
    left=lambda a: np.abs(np.sum(a, -1)),
    relation="<=",
    right=lambda w_star, a_star, power=0.0: np.abs(np.sum(a_star, -1)) * np.linalg.norm(w_star, axis=-1) ** power,
    as_printed="Some choice of signs has $a^0\\cdot a^* > 0$, $\\phi^0 < \\pi/2$ (almost surely) and $|\\mathbf 1\\cdot a^0| \\le "
    "|\\mathbf 1\\cdot a^*|$; the last, which no sign changes, is judged.",
    as_meant=Form("The last condition is $|\\mathbf 1\\cdot a^0| \\le |\\mathbf 1\\cdot a^*|\\,\\|w^*\\|$.", power=1.0),
    supplied="the end of its proof, in Section D",
    correction="For $\\|w^*\\| > 1$ the ball is too large for the printed condition. With $\\|w^*\\|a^*$ for $a^*$ everywhere (the "
    "teacher's real output weights), here and in Theorem 3.1, the statement is right; its proof ends with this bound.",
    defect=NO_NORM,
    control=Form("The corrected bound for a ball of 1.05 times the radius.", power=1.0, radius=1.05),
)


_LEVELS = np.array([0.05, 0.5, 0.95])


def _quantiles(count, random):
    """Quantiles of the signal, the cosine and the angle of random starts, by k or p: 5, 50 and 95 per cent."""
    sizes, medians = 2 ** np.arange(3, 11), []
    for size in sizes:
        along = random.normal(size=(20 * count, size))
        along = np.abs(along[:, 0]) / np.linalg.norm(along, axis=1)
        radius = random.uniform(size=len(along)) ** (1 / size) / np.sqrt(size)
        medians.append([np.quantile(values, _LEVELS) for values in (radius * along, along, np.arccos(along))])
    signal, cosine, angles = np.transpose(medians, (1, 2, 0))
    return {"level": _LEVELS, "sizes": np.tile(sizes, (3, 1)), "signal": signal, "cosine": cosine, "angle": angles}


_SCALING = {
    "draw": _quantiles,
    "runs": True,
    "relation": "==",
    "right": lambda power: power,
    "tolerance": 0.05,
    "note": "the fitted power of a quantile",
    "arithmetic": "sampling; fitted exponent",
}

THEOREM_3_2_SIGNAL = Claim(
    id=f"{PAPER}.theorem-3.2.signal",
    title="size of the initial signal of the second layer",
    hypotheses="as in the first part; with high probability is judged by three quantiles, 5, 50 and 95 per cent",
    **_SCALING,
    left=lambda sizes, signal: fitted_order(sizes, signal),
    as_printed=Form(
        "$a^0\\cdot a^*\\|w^*\\| = \\Theta(|\\mathbf 1\\cdot a^*|\\|a^*\\|\\|w^*\\|^2/k)$: the power $-1$ of $k$ at fixed norms, up to 5 per cent. (Over "
        "that order it has the law of $|N(0, 1)|$ in the limit: for no constant does the probability of the lower half tend to one.)",
        power=-1.0,
    ),
    control=Form("The power $-0.9$.", power=-0.9),
)

THEOREM_3_2_ANGLE = Claim(
    id=f"{PAPER}.theorem-3.2.angle",
    title="size of the initial angle",
    hypotheses="$v$ uniform on the unit sphere in dimension $p$, its sign chosen so that $\\phi^0 < \\pi/2$",
    **_SCALING,
    left=lambda sizes, cosine: fitted_order(sizes, cosine),
    as_printed=Form(
        "$\\phi^0 = \\Theta(1/\\sqrt p)$: the power $-\\frac12$ of $p$, up to 5 per cent.",
        left=lambda sizes, angle: fitted_order(sizes, angle),
        power=-0.5,
        recipe="""
z = np.random.default_rng(0)
medians = []
for p in sizes:
    v = z.normal(size=(2000, p))
    medians.append(np.quantile(np.arccos(np.abs(v[:, 0]) / np.linalg.norm(v, axis=1)), level))
left = np.polyfit(np.log(sizes), np.log(medians), 1)[0]  # the power of p
""",
    ),
    as_meant=Form("$\\cos\\phi^0 = \\Theta(1/\\sqrt p)$.", power=-0.5),
    supplied="Section 3, before Theorem 3.2, where it is $\\cos\\phi^0$ that is small",
    correction="In high dimension random directions are almost orthogonal: $\\phi^0 \\to \\pi/2$, and it is the cosine that is of "
    "order $1/\\sqrt p$.",
    control=Form("$\\cos\\phi^0 = \\Theta(p^{-0.45})$.", power=-0.45),
)


def _allowed(random, k, p, share):
    """One over the step of Theorem 3.1, constants one, that 95 of 100 starts of Theorem 3.2 allow; |a*| = 1, 1·a* the share."""
    v, a = random.normal(size=(4000, p)), random.normal(size=(4000, k))
    cosine = np.abs(v[:, 0]) / np.linalg.norm(v, axis=1)
    signal = np.abs(a[:, 0]) / np.linalg.norm(a, axis=1) * random.uniform(size=4000) ** (1 / k) * share / np.sqrt(k)
    small = np.minimum(np.minimum(signal, g(np.arccos(cosine)) - 1), 1.0) * cosine / (1 + share**2)
    return 1 / np.quantile(np.minimum(small, 1 / k), 0.05)


def _steps_as_sums_vanish(count, random):
    """One over the step for smaller and smaller sums; k = 4, p = 5."""
    ratio = 2.0 ** np.arange(11)
    return {"sizes": ratio[None], "inverse": np.array([[_allowed(random, 4, 5, 1 / one) for one in ratio]])}


def _steps_as_sizes_grow(count, random):
    """The same for 1·a* = |a*| as k and p grow, together and one after the other."""
    sizes = 2 ** np.arange(3, 10)
    shapes = [[(n, n) for n in sizes], [(n, 8) for n in sizes], [(8, n) for n in sizes]]
    inverse = [[_allowed(random, k, p, 1.0) for k, p in row] for row in shapes]
    return {"sizes": np.tile(sizes, (3, 1)), "inverse": np.array(inverse)}


POLYNOMIAL = Claim(
    id=f"{PAPER}.section-3.polynomial",
    title="steps of polynomial size are small enough",
    hypotheses="Theorem 3.1's minimum with constants one, $\\|w^*\\| = 1$; 4000 starts of Theorem 3.2, of which 95 per cent allow the step",
    scope="remark",
    draw=_steps_as_sizes_grow,
    left=lambda sizes, inverse: fitted_order(sizes, inverse),
    relation="<=",
    right=lambda most=0.1: most,
    note="the fitted power of what grows in one over the step",
    as_printed=Form(
        "The step need only be $O(1/\\mathrm{poly}(k, p))$: at fixed $k$ and $p$ it does not depend on the teacher (fitted power of "
        "$\\|a^*\\|/|\\mathbf 1\\cdot a^*|$ at most 0.1).",
        draw=_steps_as_sums_vanish,
        recipe="""
random, k, p, inverse = np.random.default_rng(0), 4, 5, []
for share in 1 / sizes:  # |a*| = 1, 1·a* = share; the first term of the minimum
    v, a = random.normal(size=(4000, p)), random.normal(size=(4000, k))
    signal = np.abs(a[:, 0]) / np.linalg.norm(a, axis=1) * random.uniform(size=4000) ** (1 / k) * share / np.sqrt(k)
    inverse.append(1 / np.quantile(signal * np.abs(v[:, 0]) / np.linalg.norm(v, axis=1) / (1 + share**2), 0.05))
left = np.polyfit(np.log(sizes), np.log(inverse), 1)[0]
""",
    ),
    as_meant=Form(
        "It is, for teachers with $|\\mathbf 1\\cdot a^*| \\ge c\\|a^*\\|$: the power of its inverse is at most $1.52$ as $k = p$ grows, or one of them ($\\frac32$ in the limit, and 1).",
        draw=_steps_as_sizes_grow,
        most=1.52,
    ),
    supplied="footnote 2, which hides factors of $|\\mathbf 1\\cdot a^*|$ and $\\|a^*\\|$ in the second phase",
    correction="The ball of starts is as small as $|\\mathbf 1\\cdot a^*|$, and the step that Theorem 3.1 allows with it. (In fact such steps are not needed: see "
    "Phase I, whose length is a logarithm of the signal.)",
    control=Form("The power is at most $1.3$.", draw=_steps_as_sizes_grow, most=1.3),
    arithmetic="sampling; fitted exponent",
)


# Theorem 3.3 and the probability of success ---------------------------------------------------------------------------


def _angles_where_g_is(value):
    """The angles at which g, which decreases, has given values."""
    low, high = 0 * value, 0 * value + np.pi
    for _ in range(60):
        middle = (low + high) / 2
        low, high = np.where(g(middle) > value, middle, low), np.where(g(middle) > value, high, middle)
    return low


def _against_the_teacher(count, random):
    """Where starts with a·a* < 0 end, whose angles are about as open as Theorem 3.3 asks; for teachers of several sums."""
    ratio = np.repeat([1e-4, 0.003, 0.05, 0.2, 0.4], count)
    k = random.integers(2, 9, size=len(ratio)).astype(float)
    square = 10.0 ** random.uniform(-1, 1, size=len(ratio))
    sums = np.sqrt(ratio * square)
    # The condition is g(φ) ≤ 1 − 2ρ; of angles, one is that at which 1 − g is a share of 2ρ.
    share = np.where(random.uniform(size=len(ratio)) < 0.5, 1.0, random.uniform(0.05, 3, size=len(ratio)))
    phi = _angles_where_g_is(np.maximum(1 - 2 * share * ratio, 1e-6))
    total = sums * np.where(random.uniform(size=len(ratio)) < 0.5, -1.0, random.uniform(-1, 1, size=len(ratio)))
    signal = -square * 10.0 ** random.uniform(-6, 0, size=len(ratio))
    # The shortest a with these products, and then the squared distance from the teacher's.
    own = (total**2 * square - 2 * total * signal * sums + k * signal**2) / (k * square - sums**2)
    begun = State(phi, signal, total, k, square, sums, 0.1, 1.0, own - 2 * signal + square)
    end = begun.ends(20_000)
    start = {"phi": phi, "signal": signal, "total": total, "k": k, "square": square, "sums": sums}
    return {**start, "share": share, "loss": end.loss / square}


_LEAST = (np.pi - 2) / (4 * (np.pi - 1))
_AGAINST = np.array([-1.0, 0.0])

THEOREM_3_3 = Claim(
    id=f"{PAPER}.theorem-3.3",
    title="convergence to the spurious minimum",
    hypotheses=(
        "$\\|w^*\\| = 1$, $2 \\le k \\le 8$, $\\eta = 0.1$, $\\rho = (\\mathbf 1\\cdot a^*)^2/\\|a^*\\|^2$ from $10^{-4}$ to $0.4$",
        "$a^0\\cdot a^* < 0$, $|\\mathbf 1\\cdot a^0| \\le |\\mathbf 1\\cdot a^*|$, $g(\\phi^0) \\le 1 - 2\\rho$, many with equality; besides, the loss at the second "
        "stationary point of any teacher with $k \\le 6$",
    ),
    draw=_against_the_teacher,
    runs=True,
    where=lambda share, open=1.0: share >= open,
    left=lambda loss: loss,
    relation=">=",
    right=_LEAST - 1e-6,
    note="the loss at the end over $\\|a^*\\|^2$",
    also=[
        Relation(
            [{"a_star": real((k,))} for k in (1, 2, 6)],
            lambda a_star: loss(_AGAINST, spurious_output(a_star), -_AGAINST, a_star),
            ">=",
            lambda a_star: _LEAST * dot(a_star, a_star),
            scale=lambda a_star: dot(a_star, a_star),
        )
    ],
    as_printed="Gradient descent ends with a loss of order $\\|a^*\\|^2$: at least $\\frac{\\pi-2}{4(\\pi-1)}\\|a^*\\|^2 = 0.133\\,\\|a^*\\|^2$, the least that the second "
    "stationary point can have, at $\\mathbf 1\\cdot a^* = 0$.",
    control=Form("It does with $g(\\phi^0) \\le 1 - \\rho/10$ for the condition on the angle.", open=0.05),
    arithmetic="exact gradients in float64, up to 20,000 steps",
)


def _open_angles(count, random, power=1.0):
    """The exact chance that neither sign of v has an angle with g ≤ 1 − 2ρ, for ρ a negative power of the dimension p."""
    sizes, chances = 2 ** np.arange(3, 13), []
    for p in sizes:
        # g(π/2 + x) falls from one; the cosine there is −sin x.
        tilt = brentq(lambda x, p=p: _excess_of_one(x) + 2.0 * p**-power, 0.0, np.pi / 2)
        chances.append(betainc(0.5, (p - 1) / 2, np.sin(tilt) ** 2))  # type: ignore[arg-type]
    return {"sizes": sizes[None], "chances": np.array([chances])}


def _excess_of_one(tilt):
    """g(π/2 + x) − 1."""
    return np.cos(tilt) - (np.pi / 2 - tilt) * np.sin(tilt) - 1


THEOREM_3_3_PROBABILITY = Claim(
    id=f"{PAPER}.theorem-3.3.probability",
    title="probability of a start against the teacher",
    hypotheses=(
        "$v$ uniform on the unit sphere in dimension $p \\le 4096$, $(\\mathbf 1\\cdot a^*)^2 = \\|a^*\\|^2/\\mathrm{poly}(p)$",
        "of the conditions, the one on $g(\\phi^0)$; those on $a$ are met by a choice of its sign if $\\mathbf 1\\cdot a^* \\ne 0$ (as in Theorem 3.2, otherwise the ball is a point)",
    ),
    draw=_open_angles,
    left=lambda sizes, chances: fitted_order(sizes, chances),
    relation="<=",
    right=-0.4,
    note="the fitted power of $p$ in the exact chance that neither sign of $v$ will do",
    as_printed="With high probability a choice of signs has $g(\\phi^0) \\le 1 - 2(\\mathbf 1\\cdot a^*)^2/\\|a^*\\|^2$; judged with the polynomial $p$, for which "
    "the chance that none has falls like $p^{-1/2}$.",
    control=Form("The same with $p^{0.8}$ for the polynomial.", power=0.8),
    arithmetic="incomplete beta function in float64",
)


# Filter sizes and teachers: k = 4 with p = 5 (equal to the ones, one weight, almost balanced), and smaller and larger.
_SETTINGS = (
    (5, teacher(4, "one")),
    (5, teacher(4, "ones")),
    (5, teacher(4, "balanced") + 0.05),
    (2, teacher(3, "one")),
    (20, teacher(8, "balanced") + 0.01),
)
_SIGNS = ((1, 1), (1, -1), (-1, 1), (-1, -1))


@lru_cache(maxsize=4)
def _found(count, seed):
    """Whether the starts of Theorem 3.2 end at the teacher, for every setting, start and choice of signs."""
    random, numbers = np.random.default_rng(seed), []
    for p, a_star in _SETTINGS:
        k = len(a_star)
        v, a = random.normal(size=(count, p)), random.normal(size=(count, k))
        a *= (
            abs(a_star.sum())
            / np.sqrt(k)
            * random.uniform(size=(count, 1)) ** (1 / k)
            / np.linalg.norm(a, axis=1)[:, None]
        )
        for turn, sign in _SIGNS:
            state = state_of(turn * v / np.linalg.norm(v, axis=1)[:, None], sign * a, np.eye(p)[:1], a_star[None], 0.1)
            numbers.append(list(shown(state).values()))
    ends = State(*np.concatenate(numbers, axis=1)).ends(20_000)
    # An angle that is not a number is no run that failed: the program did.
    reached = np.where(np.isnan(ends.phi), np.nan, ends.phi < 0.1)
    return reached.reshape(len(_SETTINGS), len(_SIGNS), count)


def _successes(count, random):
    """How many of the random starts end at the teacher, in every setting; and with how many signs all of them do."""
    reached = _found(2 * count, int(random.integers(2**31)))
    once = np.sum(reached[:, 0], axis=-1)
    sums = np.array([a_star.sum() ** 2 / (a_star @ a_star) for _, a_star in _SETTINGS])
    settings = {
        "p": np.array([p for p, _ in _SETTINGS]),
        "k": np.array([len(a_star) for _, a_star in _SETTINGS]),
        "sums": sums,
    }
    best = np.mean(np.maximum.accumulate(reached, axis=1), axis=-1)
    trials = np.full(len(once), 2 * count)
    return {**settings, "trials": trials, "successes": once, "failures": trials - once, "best": best}


_RANDOM = "the start of Theorem 3.2, five teachers with $k$ from 3 to 8 and $p$ from 2 to 20, $\\eta = 0.1$"

_OF_STARTS: dict[str, Any] = {
    "draw": _successes,
    "runs": True,
    "relation": ">=",
    "scope": "theorem",
    "arithmetic": "exact gradients in float64; sampling of starts with an exact binomial bound",
}

SUCCESS = Claim(
    id=f"{PAPER}.section-1.probability",
    title="random starts succeed with probability at least one quarter",
    hypotheses=_RANDOM,
    **_OF_STARTS,
    left=Chance(),
    right=lambda share=0.25: share,
    as_printed="The probability of success is at least 0.25. (It is about one half for teachers whose output weights almost add up to nothing, and more for others.)",
    control=Form("It is at least 0.65.", share=0.65),
)

RESTARTS = Claim(
    id=f"{PAPER}.section-1.restarts",
    title="three more starts with other signs make success certain",
    hypotheses=_RANDOM,
    **{**_OF_STARTS, "arithmetic": "exact gradients in float64; 400 starts of each teacher"},
    left=lambda best, tries=4: best[..., int(tries) - 1],
    right=1.0,
    as_printed="Of the four choices of signs one succeeds, from all starts.",
    control=Form("Of those two that leave the filter as it is, one does.", tries=2),
)


SPURIOUS = Claim(
    id=f"{PAPER}.section-1.spurious",
    title="random starts end at the spurious minimum with constant probability",
    hypotheses=(_RANDOM, "a constant is judged as 0.2"),
    **_OF_STARTS,
    where=lambda sums, most=np.inf: sums <= most,
    left=Chance("failures"),
    right=lambda share=0.2: share,
    as_printed=Form(
        "The probability of ending there is a constant, whatever the teacher; judged as at least 0.2.",
        recipe=RUN
        + """
random, a_star, ends = np.random.default_rng(0), np.ones(4), []  # p = 5, k = 4, a* = 1
step, k, square, sums = 0.1, 4, 4.0, 4.0
for _ in range(20):  # the starts of Theorem 3.2
    v, a = random.normal(size=5), random.normal(size=4)
    a *= 2 * random.uniform() ** 0.25 / np.linalg.norm(a)
    *_, (phi, _, _, _) = run(np.arccos(v[0] / np.linalg.norm(v)), a @ a_star, a.sum(), 2000)
    ends.append(phi > 3)
left = np.mean(ends)
""",
    ),
    as_meant=Form("It is at least $0.2$ if $(\\mathbf 1\\cdot a^*)^2 \\le 0.1\\|a^*\\|^2$.", most=0.1),
    supplied="Theorem 3.3, which assumes that $(\\mathbf 1\\cdot a^*)^2/\\|a^*\\|^2$ is small",
    correction="For $a^* = \\mathbf 1$ the point is a saddle (see Lemma 4.1), and no run ends there.",
    defect=SADDLE,
    control=Form("It is at least $0.65$ under that condition.", most=0.1, share=0.65),
)


# Remark 2: rotation-invariant inputs ----------------------------------------------------------------------------------


def _on_the_sphere(v, a, w_star, a_star):
    """The loss for inputs on the unit sphere of R⁴, cut into two patches in the plane: quadrature in all three angles."""
    u, weights = circle(v, w_star)
    hidden, taught = (np.maximum(np.sum(u * w[..., None, :], -1), 0) for w in (normalised(v), w_star))
    rests = [a[..., i, None] * hidden - a_star[..., i, None] * taught for i in (0, 1)]
    first, second = (np.sum(weights * rest, -1) / (2 * np.pi) for rest in rests)
    squares = [np.sum(weights * rest**2, -1) / (2 * np.pi) for rest in rests]
    nodes, between = np.polynomial.legendre.leggauss(20)
    turn = np.pi / 4 * (1 + nodes)  # patches have the lengths cos t and sin t, with the density 2 sin t cos t
    between = between * np.pi / 4 * np.sin(2 * turn)
    mixed = np.sum(between * np.sin(2 * turn)) * first * second
    return 0.5 * (
        np.sum(between * np.cos(turn) ** 2) * squares[0] + np.sum(between * np.sin(turn) ** 2) * squares[1] + mixed
    )


REMARK_2 = Claim(
    id=f"{PAPER}.remark-2",
    place="Section 3, Remark 2",
    title="rotation-invariant inputs",
    hypotheses="the law of the input $x \\in \\mathbb R^{pk}$ is invariant under rotations; judged on the unit sphere for $p = k = 2$",
    draw={**ANYWHERE[0], "a": real((2,)), "a_star": real((2,))},
    left=_on_the_sphere,
    relation="==",
    right=lambda v, a, w_star, a_star, factor=1.0: factor * loss(v, a, w_star, a_star) / 4,
    scale=lambda a, w_star, a_star: dot(w_star, w_star) * dot(a_star, a_star) + dot(a, a),
    as_printed="The result generalises, with the same conditions: the loss is $E\\|x\\|^2/(pk)$ times that of Gaussian inputs for all students, since it is homogeneous in $x$.",
    control=Form("It is one per cent more.", factor=1.01),
    arithmetic="Gauss–Legendre quadrature in three angles, float64",
)

# Of a law only 2πE[σ]²/(2E[σ²]) enters besides g: 4/π and 3π/8 for patches on a circle or a sphere, one for Gaussian ones,
# less for heavy tails.
_LAWS = (4 / np.pi, 3 * np.pi / 8, 1.0, 0.6, 0.2)


def _under_other_laws(count, random):
    """Where runs with hardly any signal end, under several laws, from angles around π/2 and the critical one."""
    mean = np.repeat(_LAWS, 2 * count)
    critical = np.repeat(_angles_where_g_is(np.array(_LAWS)), 2 * count)
    half = random.uniform(size=len(mean)) < 0.5
    phi = np.where(half, critical, np.pi / 2) * random.uniform(0.8, 1.1, size=len(mean))
    given = {"signal": 0 * phi + 1e-6, "total": 0 * phi, "k": 0 * phi + 2, "square": 0 * phi + 1, "sums": 0 * phi}
    begun = State(phi, **given, step=0.1, distance=1.0, mean=mean)
    return {
        "phi": phi,
        **given,
        "step": 0 * phi + 0.1,
        "mean": mean,
        "critical": critical,
        "end": begun.ends(20_000).phi,
    }


REMARK_2_PATCHES = Claim(
    id=f"{PAPER}.remark-2.patches",
    place="Section 3, Remark 2, for independent patches",
    title="independent patches with rotation-invariant laws",
    hypotheses=(
        "$\\kappa = \\pi E[\\sigma]^2/E[\\sigma^2] \\in \\{\\frac4\\pi, \\frac{3\\pi}8, 1, 0.6, 0.2\\}$: patches on a circle, on a sphere, Gaussian, of heavier tails",
        "$a^* = (1, -1)/\\sqrt2$, the case without help from the sums, $a^0 = 10^{-6}a^*$, $\\eta = 0.1$",
    ),
    draw=_under_other_laws,
    runs=True,
    where=lambda phi, critical, letter=1.0, widest=1.0: phi < widest * (letter * np.pi / 2 + (1 - letter) * critical),
    left=lambda end: end,
    relation="<=",
    right=0.1,
    known=lambda phi: phi,
    note="the angle at the end",
    as_printed=Form(
        "If each of the independent patches has a rotation-invariant law, with the same conditions: from $\\phi^0 < \\pi/2$ descent finds the teacher.",
        recipe=f"{RUN}*_, (left, _, _, _) = run(phi, signal, total, 20_000, mean)  # the angle at the end\n",
    ),
    as_meant=Form(
        "It does with $\\pi/2$ replaced by the angle $\\phi_c$ at which $E[\\sigma\\sigma^*] = E[\\sigma]^2$: $1.40$ for patches on a circle, $\\pi/2$ for Gaussian "
        "ones, more for heavy tails.",
        letter=0.0,
        widest=0.999,
    ),
    supplied="the word “generalized”, which leaves the conditions open",
    correction="Of a law of the whole input nothing has to be changed. With independent patches, that $g(\\phi) > 1$ exactly for $\\phi < \\pi/2$ is a coincidence of the "
    "Gaussian, where $E[\\sigma]^2 = 1/(2\\pi)$. Under another law with "
    "$E[\\sigma^2] = \\frac12$ the dynamics are those of the paper with $\\kappa\\mathbf{11}^\\top + (\\pi-\\kappa)I$ for $\\mathbf{11}^\\top + (\\pi-1)I$ and $g - \\kappa$ for "
    "$g - 1$.",
    control=Form("The corrected form up to 1.02 times that angle.", letter=0.0, widest=1.02),
    arithmetic="exact gradients in float64, up to 20,000 steps",
)


# Section E: the step --------------------------------------------------------------------------------------------------

SECTION_E_STEP = Claim(
    id=f"{PAPER}.section-E.step",
    title="largest step for the invariance of the sums",
    hypotheses="$1 \\le k \\le 100$",
    draw={"k": integers(1, 100), "share": uniform(0.0, 1.0)},
    build=lambda k, share, power=1.0, factor=1.0: {
        "k": k,
        "step": factor * share * ((k + np.pi - 1) / (2 * np.pi)) ** power,
    },
    left=lambda k, step: np.abs(1 - step * (k + np.pi - 1) / (2 * np.pi)),
    relation="<=",
    right=1.0,
    as_printed="For $\\eta < (k+\\pi-1)/(2\\pi)$ the deviation of $\\mathbf 1\\cdot a^t$ from its fixed point, multiplied by "
    "$1 - \\eta(k+\\pi-1)/(2\\pi)$ at every step, does not grow.",
    as_meant=Form("The same for $\\eta < 2\\pi/(k+\\pi-1)$, the condition of Lemma 4.4.", power=-1.0),
    supplied="Lemma 4.4, which the next sentence cites",
    correction="The fraction is upside down: for $k = 100$ the printed condition allows $\\eta = 16$, which diverges.",
    control=Form(
        "The same for $\\eta < 4.2\\pi/(k+\\pi-1)$; the sharp bound is $4\\pi/(k+\\pi-1)$.", power=-1.0, factor=2.1
    ),
)
