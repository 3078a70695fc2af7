r"""Section 4 and Appendix D: how the loss grows around the minima, smoothness, and its technical lemmas."""

from typing import Any, Literal

import numpy as np

from tutelage.claims import Claim, Form, Relation, log_uniform, real, uniform, unit
from tutelage.claims.local_convergence import formulas as f
from tutelage.claims.local_convergence import instances
from tutelage.claims.local_convergence.formulas import ANGLE, IDENTITY, PAPER

_TEACHER = np.array([[1.0, 0.0]])


# Section 4 ------------------------------------------------------------------------------------------------------------


def _on_circle(angle):
    return np.stack([np.cos(angle), np.sin(angle)], -1)


EXACT = Claim(
    id=f"{PAPER}.section-4.exact",
    title="one student: the loss grows with the square of the angle",
    hypotheses="$r = m = 1$, $\\|w\\| = \\|w^*\\| = 1$, $10^{-3} \\le 2\\delta/\\pi \\le 1$",
    draw={"delta": log_uniform(np.pi / 2000, np.pi / 2)},
    left=lambda delta: f.two_sided(f.loss(_on_circle(delta)[..., None, :], _TEACHER) / delta**2),
    relation="<=",
    right=lambda low: np.array([0.5, -low]),
    as_printed=Form(
        "$L = \\Theta(\\delta^2)$; judged as $\\frac4{\\pi^2}(1-\\frac2\\pi)\\,\\delta^2 \\le L \\le \\frac12\\delta^2$, which is sharp at both ends.",
        low=4 / np.pi**2 * (1 - 2 / np.pi),
        slack=1e-8,
    ),
    control=Form("$L \\ge 0.148\\,\\delta^2$.", low=0.148),
)


def _pair(delta):
    half = 0.5 * np.stack([np.ones_like(delta), np.tan(delta)], -1)
    return f.students_of(np.stack([half, half * [1.0, -1.0]], -2))


def _pair_loss(delta):
    return f.loss(_pair(delta), _TEACHER)


_ANGLES = {"delta": log_uniform(1e-3, 1)}

PL = Claim(
    id=f"{PAPER}.section-1.pl",
    title="with more students than teachers there is no PL inequality around the minima",
    hypotheses="the two students of Claim 2, $10^{-3} \\le \\delta \\le \\frac1{10}$",
    draw={"delta": log_uniform(1e-3, 0.1)},
    left=lambda delta: f.frobenius(f.gradient(_pair(delta), _TEACHER)) ** 2 / _pair_loss(delta),
    relation="<=",
    right=lambda delta, constant=2.0: constant * delta,
    as_printed="Local strong convexity and PL conditions cannot be used: no $\\mu > 0$ has $\\|\\nabla L\\|_F^2 \\ge \\mu L$ close to a minimum; judged as $\\|\\nabla L\\|_F^2 \\le "
    "2\\delta L$, where both students are at the angle $\\delta$ to the teacher. (To leading order it is $\\frac6\\pi\\delta L$.)",
    control=Form("The same with 1.9.", constant=1.9),
)

CLAIM_2 = Claim(
    id=f"{PAPER}.claim-2",
    title="two students: the loss grows with the cube of the angle",
    hypotheses="$r = 1$, $m = 2$, one student on either side of $w^*$ in a plane with it, $\\|w_i\\| = 1/\\sqrt{2\\cos\\delta}$, $10^{-3} \\le \\delta "
    "\\le 1$",
    draw=_ANGLES,
    left=lambda delta, power=3.0: f.two_sided(_pair_loss(delta) / delta**power),
    relation="<=",
    right=np.array([0.595, -2 / (3 * np.pi)]),
    also=[
        Relation(
            _ANGLES,
            left=_pair_loss,
            relation="==",
            right=lambda delta: (delta - np.sin(delta) * np.cos(delta)) / (np.pi * np.cos(delta) ** 2),
            scale=1e-3,
        )
    ],
    as_printed=Form(
        "$L = \\Theta(\\delta^3)$; judged with the exact value $(\\delta - \\sin\\delta\\cos\\delta)/(\\pi\\cos^2\\delta)$, and as between "
        "$\\frac2{3\\pi}\\delta^3$ and $0.595\\,\\delta^3$.",
        slack=1e-5,
    ),
    control=Form("The same with $\\delta^{2.95}$.", power=2.95),
)


def _parted(step, sign):
    """The loss after two students at the teacher part by a step to either side."""
    across = sign * step[..., None] * np.array([1.0, -1.0])
    return f.loss(np.stack([np.full_like(across, np.sqrt(0.5)), across], -1), _TEACHER)


DEGENERATE = Claim(
    id=f"{PAPER}.section-4.degenerate",
    title="with more students than teachers the Hessian is degenerate",
    hypotheses="$r = 1$, $m = 2$, both students at the teacher, steps $s$ from $10^{-4}$ to $3\\cdot10^{-3}$",
    draw={"step": log_uniform(1e-4, 3e-3)},
    left=lambda step: (_parted(step, 1) + _parted(step, -1)) / step**2,
    relation="<=",
    right=lambda step, constant=1.21: constant * step,
    as_printed=Form(
        "The Hessian at the global minimum has a zero eigenvalue: where the students part by $s$, the second difference of the loss is at "
        "most $1.21\\,s$.",
        slack=1e-3,
    ),
    control=Form(
        "It is at most $1.19\\,s$; to leading order it is $\\frac{8\\sqrt2}{3\\pi}s = 1.2004\\,s$.", constant=1.19
    ),
)


# Lemmas 12 and 13 -----------------------------------------------------------------------------------------------------


def _steps(count, random):
    """Networks with L ≤ ½(rw)², steps along the gradient, along the students and anywhere, and the terms of Lemma 12."""
    for scales in (instances.NEAR, (-0.5, 0.7)):
        for drawn in instances.networks(count, random, shapes=instances.ALL, scales=scales):
            students, targets = drawn["students"], drawn["teachers"]
            bulk = targets.shape[1] * f.norms(targets).max(axis=1)
            losses, slope = np.maximum(f.loss(students, targets), 0.0), f.gradient(students, targets)
            moves = random.normal(size=students.shape) * (random.uniform(size=(*students.shape[:2], 1)) < 0.7)
            kind = np.arange(len(students))[:, None, None] % 3
            ahead = slope / (f.frobenius(slope)[:, None, None] + 1e-300)
            moves = np.where(kind == 0, ahead, np.where(kind == 1, students, moves))
            sizes = 10.0 ** random.uniform(-3, 0.5, size=(len(students), 1, 1))
            moves = moves * sizes * np.sqrt(bulk / targets.shape[1])[:, None, None]
            size = f.frobenius(moves)
            change = f.loss(students + moves, targets) - losses - np.sum(slope * moves, axis=(1, 2))
            terms = np.stack([bulk * size**2, size**4], -1)
            small = losses <= bulk**2 / 2
            yield {**drawn, "moves": moves, "change": change, "terms": terms, "bulk": bulk, "small": small}


LEMMA_12 = Claim(
    id=f"{PAPER}.lemma-12",
    title="smoothness",
    hypotheses="Assumption 2, $L(W) \\le \\frac12r^2w_{max}^2$; steps along the gradient, along the students, and random ones",
    draw=_steps,
    where=lambda small: small,
    left=lambda change: change,
    relation="<=",
    right=lambda terms, factor=1.0: factor * terms @ np.array([6.0, 3.0]),
    scale=lambda bulk: 1e-3 * bulk**2,
    as_printed="$L(W+U) \\le L(W) + \\langle\\nabla L(W), U\\rangle + O(r^{1/4}w_{max}^{1/4})L^{1/2}\\|U\\|_F^{3/2} + O(rw_{max})\\|U\\|_F^2 + O(1)\\|U\\|_F^4$; judged "
    "without the first of the three terms, which is not needed (the gradient is Lipschitz, as Section 2 says), and with the constants 6 and 3, which are observed.",
    control=Form("The same with 0.9 times these constants.", factor=0.9),
)


def _bounded(count, random):
    """Networks of any loss up to ½(rw)², some of them the teacher itself with up to twice its norm."""
    longer = np.sqrt(np.linspace(1, 2, 64))[:, None, None] * np.eye(3)[:1]
    scaled = {"students": longer, "teachers": np.broadcast_to(np.eye(3)[:1], (64, 1, 3))}
    for drawn in (scaled, *instances.networks(count, random, shapes=instances.ALL, scales=(-0.5, 1.0))):
        bulk = drawn["teachers"].shape[1] * f.norms(drawn["teachers"]).max(axis=1)
        square = f.frobenius(f.gradient(**drawn)) ** 2
        yield {**drawn, "square": square, "bulk": bulk, "small": f.loss(**drawn) <= (0.5 + 1e-12) * bulk**2}


LEMMA_13 = Claim(
    id=f"{PAPER}.lemma-13",
    title="the gradient is bounded",
    hypotheses="Assumption 2, $L(W) \\le \\frac12r^2w_{max}^2$",
    draw=_bounded,
    where=lambda small: small,
    left=lambda square: square,
    relation="<=",
    right=lambda bulk, constant=4 * (1 + (np.pi / 2) ** 0.5): constant * bulk**3,
    as_printed="$\\|\\nabla L\\|_F^2 = O(r^3w_{max}^3)$; judged with the constant $4(1+\\sqrt{\\pi/2}) = 9.02$, which $\\|\\nabla L\\|_F^2 \\le 8L\\sum\\|w_j\\|^2$ "
    "and the sharp form of Lemma C.3 give.",
    control=Form("The same with the constant 7.9; twice the teacher has 8.", constant=7.9),
)


# Section D.1 ----------------------------------------------------------------------------------------------------------

_MOVES = {"w": unit(3), "direction": unit(3), "size": log_uniform(1e-3, 100)}


def _moved(w, direction, size):
    return {"w": w, "u": size[..., None] * direction}


_MOVED: dict[str, Any] = {
    "hypotheses": "one student $w$ with $\\|w\\| = 1$ (nothing depends on its norm) and a step $u$, $10^{-3} \\le \\|u\\| \\le 100$, $d = 3$",
    "draw": _MOVES,
    "build": _moved,
    "relation": "<=",
}


def _tangent(w, u):
    """β, the linear approximation of the product at w + u."""
    return f.norms(w)[..., None] * w + f.stretched(w, u)


def _wedge(w, u):
    """I₃ = E[(β·x)²] where the signs of β·x and w·x differ, by Lemma D.2."""
    beta = _tangent(w, u)
    phi = f.angle_between(beta, w)
    return np.sum(beta**2, -1) * (phi - np.sin(phi) * np.cos(phi)) / np.pi


def _remainder(w, u):
    """‖I_j‖² = E[(|α·x| − β·x sgn(w·x))²]."""
    alpha, beta, turn = f.products(w + u), _tangent(w, u), f.angle_between(w, w + u)
    mixed = (1 - 2 / np.pi * turn)[..., None] * alpha
    mixed = mixed + (2 / np.pi * np.sin(turn) * f.norms(alpha))[..., None] * f.units(w)
    return np.sum(alpha**2, -1) + np.sum(beta**2, -1) - 2 * np.sum(mixed * beta, -1)


REMAINDER = Claim(
    id=f"{PAPER}.section-D.1.remainder",
    title="remainder of one neuron",
    **_MOVED,
    left=_remainder,
    right=lambda w, u, factor=2.0: 2 * np.sum((f.products(w + u) - _tangent(w, u)) ** 2, -1) + factor * _wedge(w, u),
    scale=lambda u: 1e-3 * np.sum(u**2, -1),
    as_printed=Form(
        "$\\|I_j\\|^2 \\le 2\\|\\alpha - \\beta\\|^2 + 2E[(\\beta\\cdot x)^2\\mathbb 1_{\\mathrm{sgn}(\\beta\\cdot x) \\ne \\mathrm{sgn}(w\\cdot x)}]$.",
        recipe=ANGLE
        + """
alpha = np.linalg.norm(w + u) * (w + u)
beta = np.linalg.norm(w) * w + np.linalg.norm(w) * u + (w @ u) * w / np.linalg.norm(w)
turn, phi = angle(w, w + u), angle(beta, w)
mixed = (1 - 2 / np.pi * turn) * alpha + 2 / np.pi * np.sin(turn) * np.linalg.norm(alpha) / np.linalg.norm(w) * w
left = alpha @ alpha + beta @ beta - 2 * (mixed @ beta)
wedge = (beta @ beta) * (phi - np.sin(phi) * np.cos(phi)) / np.pi  # by Lemma D.2
right = 2 * np.sum((alpha - beta) ** 2) + 2 * wedge
""",
    ),
    corrected=Form("The same with $8E[\\cdots]$.", factor=8.0),
    correction="$(\\mathrm{sgn}(\\beta\\cdot x) - \\mathrm{sgn}(w\\cdot x))^2$ is 4 where the signs differ, which is left out. Only the hidden constant of Lemma 12 changes.",
    control=Form("The same with $7.9E[\\cdots]$.", factor=7.9),
)

GAMMA = Claim(
    id=f"{PAPER}.section-D.1.products",
    title="how far a product moves",
    **_MOVED,
    left=lambda w, u: np.sum((f.products(w + u) - f.products(w)) ** 2, -1),
    right=lambda w, u, factor=1.0: factor * (6 * np.sum(w**2, -1) + 4 * np.sum(u**2, -1)) * np.sum(u**2, -1),
    as_printed="$\\|\\gamma_j\\|^2 \\le 2(3\\|w_j\\|^2 + 2\\|u_j\\|^2)\\|u_j\\|^2$.",
    control=Form("Nine tenths of that; eleven twelfths are reached.", factor=0.9),
)

COSINE = Claim(
    id=f"{PAPER}.section-D.1.cosine",
    title="elementary inequalities of the proof",
    hypotheses="$0.01 \\le \\phi \\le \\pi$",
    draw={"phi": log_uniform(0.01, np.pi)},
    left=lambda phi: np.stack([np.cos(phi) - 1, phi - np.sin(phi) * np.cos(phi), 1 - 1 / np.sqrt(1 + phi**2)], -1),
    relation="<=",
    right=lambda phi, divisor=5.0: np.stack([-(phi**2) / divisor, phi**3, phi**2 / 2], -1),
    scale=lambda phi: phi[..., None] ** 2,
    as_printed="$\\cos\\phi \\le 1 - \\frac{\\phi^2}5$ and $\\phi - \\sin\\phi\\cos\\phi \\le \\phi^3$ for $\\phi \\le \\pi$, $1 - \\frac1{\\sqrt{1+x^2}} \\le \\frac{x^2}2$.",
    control=Form("The first with 4.9 for 5; the sharp number is $\\pi^2/2 = 4.93$.", divisor=4.9),
)

EQUATION_13 = Claim(
    id=f"{PAPER}.equation-13",
    title="a wedge in terms of the step",
    **_MOVED,
    left=_wedge,
    right=lambda w, u, factor=1.0: factor * np.sum(_tangent(w, u) ** 2, -1) / np.pi * (5 * _lost(w, u)) ** 1.5,
    scale=lambda u: 1e-3 * np.sum(u**2, -1),
    # The display before it: the cosine itself.
    also=[
        Relation(
            _MOVES,
            build=_moved,
            left=lambda w, u: 1 - np.cos(f.angle_between(_tangent(w, u), w)),
            relation="==",
            right=lambda w, u: _lost(w, u),
            scale=1.0,
        )
    ],
    as_printed="$\\cos\\phi = (\\|w\\|+2\\|u\\|\\cos\\theta)/\\sqrt\\cdots$ and $I_3 \\le \\frac{\\|\\beta\\|^2}\\pi5^{3/2}\\bigl(1 - (\\|w\\|+2\\|u\\|\\cos\\theta)/\\sqrt{(\\|w\\|+2\\|u\\|\\cos\\theta)^2 + "
    "\\|u\\|^2\\sin^2\\theta}\\bigr)^{3/2}$.",
    control=Form(
        "The right-hand side times 0.16; for small angles it is $\\frac{4\\sqrt2}{3}5^{-3/2} = 0.169$ of it.",
        factor=0.16,
    ),
)


def _lost(w, u):
    """1 − cos φ by the printed quotient."""
    along = f.norms(w) + 2 * np.sum(u * f.units(w), -1)
    across = np.sum(u**2, -1) - np.sum(u * f.units(w), -1) ** 2
    size = np.sqrt(along**2 + np.maximum(across, 0))
    return np.where(along > 0, np.maximum(across, 0) / (size * (size + np.abs(along))), 1 - along / size)


CASES = Claim(
    id=f"{PAPER}.section-D.1.cases",
    title="a wedge in terms of the norms",
    **_MOVED,
    left=_wedge,
    right=lambda u, small=4.0, large=592 / np.pi * 10**1.5: np.where(
        f.norms(u) <= 0.25, small * f.norms(u) ** 3, large * f.norms(u) ** 4
    ),
    scale=lambda u: 1e-6 * np.sum(u**2, -1),
    as_printed="$I_3 \\le 4\\|w\\|\\|u\\|^3$ for $\\|w\\| \\ge 4\\|u\\|$, and $I_3 \\le \\frac{592}\\pi10^{3/2}\\|u\\|^4$ otherwise.",
    control=Form("The same with $0.21$ for 4.", small=0.21),
)

SUMS = Claim(
    id=f"{PAPER}.section-D.1.sums",
    title="sums over students in the proof of Lemma 12",
    hypotheses="two teachers, five students of squared norms $\\|w_j\\|^2$, steps of squared norms $\\|u_j\\|^2$",
    draw={"mass": log_uniform(1e-3, 10, (5,)), "steps": log_uniform(1e-3, 10, (5,))},
    left=lambda mass, steps: np.sum(mass**0.25 * steps**0.75, -1),
    relation="<=",
    right=lambda mass, steps, summed=2, factor=1.0: (
        factor * np.sum(mass[..., :summed], -1) ** 0.25 * np.sum(steps, -1) ** 0.75
    ),
    as_printed="$\\sum_{j=1}^m\\|w_j\\|^{1/2}\\|u_j\\|^{3/2} \\le (\\sum_{j=1}^r\\|w_j\\|^2)^{1/4}(\\sum_{j=1}^m\\|u_j\\|^2)^{3/4}$.",
    as_meant=Form("The same with $m$ for $r$.", summed=5),
    supplied="the line before it, whose sums run to $m$",
    correction="The first sum runs over all $m$ students.",
    glyph=True,
    control=Form("The right-hand side one per cent smaller.", summed=5, factor=0.99),
)


# Section D.3 ----------------------------------------------------------------------------------------------------------


def _slowest(start, eta, kappa):
    """The last of a hundred steps along the slowest sequence that the proof allows."""
    value = start
    for _ in range(100):
        value = value - eta * kappa**2 / 4 * value**2
    return value


SUMMED = Claim(
    id=f"{PAPER}.section-D.3.sum",
    title="the steps of Theorem 4 added up",
    hypotheses="$L_{t+1} = L_t - \\frac{\\eta\\kappa^2}4L_t^2$, $\\eta\\kappa^2L_0 \\le 1$, 100 steps",
    draw={"kappa": log_uniform(0.01, 10), "start": log_uniform(1e-3, 1), "share": log_uniform(0.001, 1)},
    build=lambda kappa, start, share: {"kappa": kappa, "start": start, "eta": share / (kappa**2 * start)},
    left=lambda start: 1 / start,
    relation="<=",
    right=lambda start, eta, kappa, power=1.0: 1 / _slowest(start, eta, kappa) - 25 * eta * kappa**power,
    as_printed="$\\frac1{L_0} \\le \\frac1{L_t} - \\frac{t\\eta\\kappa}4$.",
    as_meant=Form("$\\frac1{L_0} \\le \\frac1{L_t} - \\frac{t\\eta\\kappa^2}4$.", power=2.0),
    supplied="the display before it, the conclusion below it, and Appendix F, where it stands again",
    correction="$\\kappa$ should be squared, as in the line before, in the conclusion and in Appendix F.",
    glyph=True,
    control=Form("The same with $\\kappa^{2.05}$.", power=2.05),
)


# Section D.4 ----------------------------------------------------------------------------------------------------------


def _derivative(w):
    """∇g(w) = ‖w‖(I + w̄w̄ᵀ)."""
    return f.norms(w)[..., None, None] * np.eye(w.shape[-1]) + _rank_one(w)


def _rank_one(w):
    return f.products(w)[..., :, None] * f.units(w)[..., None, :] / np.maximum(f.norms(w), 1e-300)[..., None, None]


def _change(w, u, norm: Literal["fro", 2] = "fro"):
    return np.linalg.norm(_derivative(w + u) - _derivative(w), norm, axis=(-2, -1))


def _smooth_bound(u, flat, extra=None):
    """A multiple of the step: an absolute one, or with the dimension under a root."""
    return (flat if extra is None else np.sqrt(u.shape[-1] + extra)) * f.norms(u)


def _rounding(w, u):
    """Of changes much smaller than both derivatives there are only the last digits."""
    return 1e-6 * (f.norms(w) + f.norms(u))


_DIMENSIONS = (1, 2, 3, 8)
_ANY_STEP = [{"w": real((d,)), "u": real((d,))} for d in _DIMENSIONS]
_FROM_ZERO = [{"w": np.zeros(d), "u": np.eye(d)[0]} for d in _DIMENSIONS]
_DERIVATIVE_RECIPE = """
def derivative(w):
    size = np.linalg.norm(w)
    return size * np.eye(len(w)) + (np.outer(w, w) / size if size else 0.0)

left = np.linalg.norm(derivative(w + u) - derivative(w))
"""

LEMMA_D_1 = Claim(
    id=f"{PAPER}.lemma-D.1",
    title="the map from students to products is smooth",
    hypotheses="$g(w) = \\|w\\|w$, $d \\in \\{1, 2, 3, 8\\}$",
    draw=_ANY_STEP,
    corners=_FROM_ZERO,
    left=lambda w, u: _change(w, u, 2),
    relation="<=",
    right=lambda u, constant=1 + 3**0.5: constant * f.norms(u),
    scale=_rounding,
    as_printed="$g$ is $(1+\\sqrt3)$-smooth: $\\|\\nabla g(w+u) - \\nabla g(w)\\| \\le (1+\\sqrt3)\\|u\\|$ in the operator norm. (It is 2-smooth.)",
    control=Form("$g$ is 1.99-smooth.", constant=1.99),
)

FROBENIUS = Claim(
    id=f"{PAPER}.section-D.4.frobenius",
    title="smoothness in the Frobenius norm",
    hypotheses=LEMMA_D_1.hypotheses,
    draw=_ANY_STEP,
    corners=_FROM_ZERO,
    left=_change,
    relation="<=",
    right=_smooth_bound,
    scale=_rounding,
    as_printed=Form(
        "$\\|\\nabla g(w+u) - \\nabla g(w)\\|_F \\le (1+\\sqrt3)\\|u\\|$.",
        flat=1 + np.sqrt(3),
        recipe=f"{_DERIVATIVE_RECIPE}right = (1 + np.sqrt(3)) * np.linalg.norm(u)\n",
    ),
    as_meant=Form("The same in the operator norm, with 2.", norm=2, flat=2.0),
    supplied="Lemma D.1, which says smooth and names no norm",
    corrected=Form("$\\|\\nabla g(w+u) - \\nabla g(w)\\|_F \\le \\sqrt{d+3}\\,\\|u\\|$.", flat=0.0, extra=3.0),
    correction="$\\|I\\|_F = \\sqrt d$ is taken for one. In the Frobenius norm the constant is $\\sqrt{d+3}$ (at $w = 0$), which exceeds $1+\\sqrt3$ "
    "for $d \\ge 5$; in the operator norm it is 2, which is all that Lemma 12 needs.",
    defect=IDENTITY,
    control=Form("The Frobenius norm with the constant $\\sqrt{d+2.9}$.", flat=0.0, extra=2.9),
)

ZERO = Claim(
    id=f"{PAPER}.section-D.4.zero",
    title="smoothness at zero",
    hypotheses="$w = 0$ or $w + u = 0$, $d \\in \\{1, 2, 3, 8\\}$",
    draw=[{"u": real((d,))} for d in _DIMENSIONS],
    build=lambda u: {"w": 0 * u, "u": u},
    left=_change,
    relation="<=",
    right=_smooth_bound,
    scale=_rounding,
    as_printed=Form(
        "$\\|\\nabla g(w+u) - \\nabla g(w)\\|_F \\le 2\\|u\\|$.",
        flat=2.0,
        recipe="""
size = np.linalg.norm(u)
left = np.linalg.norm(size * np.eye(len(u)) + np.outer(u, u) / size)  # the derivative at u; that at zero is zero
right = 2 * size
""",
    ),
    as_meant=Form("The same in the operator norm.", norm=2, flat=2.0, slack=1e-8),
    supplied="Lemma D.1, which says smooth and names no norm",
    corrected=Form("It is $\\sqrt{d+3}\\,\\|u\\|$.", flat=0.0, extra=3.0, relation="=="),
    correction="$\\|I + \\bar u\\bar u^\\top\\|_F = \\sqrt{d+3}$, which is 2 for $d = 1$ only.",
    defect=IDENTITY,
    control=Form("It is $\\sqrt{d+2.9}\\,\\|u\\|$.", flat=0.0, extra=2.9, relation="=="),
)

RANK_ONE = Claim(
    id=f"{PAPER}.section-D.4.rank-one",
    title="the part of rank one",
    hypotheses="$w, u \\in \\mathbb R^d$, $d \\in \\{1, 2, 3, 8\\}$",
    draw=_ANY_STEP,
    left=lambda w, u: np.stack(
        [
            np.sum((_rank_one(w + u) - _rank_one(w)) ** 2, (-2, -1)),
            f.norms(w) * np.sin(f.angle_between(w, u)) * f.norms(u),
        ],
        -1,
    ),
    relation="<=",
    right=lambda w, u, constant=2.0: np.stack(
        [constant * np.sum(u**2, -1), (1 + 1e-12) * f.norms(w + u) * f.norms(u)], -1
    ),
    as_printed="$\\|w\\|\\sin\\theta \\le \\|w+u\\|$ and hence $I_1^2 \\le 3\\|u\\|^2$; judged with 2, which is stronger, and reached by small steps across $w$.",
    control=Form("$I_1^2 \\le 1.95\\|u\\|^2$.", constant=1.95),
)

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(30)
_WEDGE_ANGLES = {"phi": log_uniform(0.01, np.pi)}


def _second_moment(phi):
    # In polar coordinates: the angles between the lines orthogonal to β and to α, E r² = 2.
    turn = np.pi / 2 + phi[..., None] / 2 * (_NODES + 1)
    return 2 * 2 * np.sum(phi[..., None] / 2 * _WEIGHTS * np.cos(turn) ** 2, -1) / (2 * np.pi)


LEMMA_D_2 = Claim(
    id=f"{PAPER}.lemma-D.2",
    title="second moment on a wedge",
    hypotheses="unit vectors at the angle $\\phi \\in [0.01, \\pi]$",
    draw=_WEDGE_ANGLES,
    left=_second_moment,
    relation="==",
    right=lambda phi, factor=1.0: factor * (phi - np.sin(phi) * np.cos(phi)) / np.pi,
    scale=1e-4,
    also=[
        Relation(
            _WEDGE_ANGLES,
            left=lambda phi: f.two_sided(_second_moment(phi) / phi**3),
            relation="<=",
            right=np.array([2 / (3 * np.pi), -(np.pi**-3)]) * (1 + 1e-12 * np.array([1, -1])),
        )
    ],
    as_printed="$E[(\\beta\\cdot x)^2\\mathbb 1_{\\mathrm{sgn}(\\alpha\\cdot x) \\ne \\mathrm{sgn}(\\beta\\cdot x)}] = \\frac1\\pi(\\phi - \\sin\\phi\\cos\\phi) = "
    "\\Theta(\\phi^3)$; the quotient lies between $\\pi^{-3}$ and $\\frac2{3\\pi}$.",
    control=Form("One per cent more.", factor=1.01),
    arithmetic="closed form against Gauss–Legendre rules",
)


def _stretched_square(phi):
    along = (1 - 2 * phi / np.pi) * np.cos(phi) + 2 / np.pi * np.sin(phi)
    return (2 * along) ** 2 + ((1 - 2 * phi / np.pi) * np.sin(phi)) ** 2


LEMMA_D_3 = Claim(
    id=f"{PAPER}.lemma-D.3",
    title="the gradient of one pair is bounded",
    hypotheses="unit vectors at any angle",
    draw={"phi": uniform(0, np.pi)},
    left=_stretched_square,
    relation="<=",
    right=lambda constant=4.0: constant,
    as_printed="$\\|E[|\\alpha\\cdot x|(I + \\beta\\beta^\\top)x\\,\\mathrm{sgn}(\\beta\\cdot x)]\\|^2 = O(1)$; judged with the constant 4, reached by parallel "
    "vectors.",
    control=Form("The same with the constant 3.99.", constant=3.99),
)

LEMMA_D_4 = Claim(
    id=f"{PAPER}.lemma-D.4",
    title="second moment of a sum of neurons",
    hypotheses="up to 20 vectors in up to 10 dimensions",
    draw=[
        *({"vectors": real(shape)} for shape in ((1, 1), (2, 2), (5, 2))),
        lambda count, random: {"vectors": random.normal(size=(count // 20, 20, 10)) ** 3},
    ],
    left=lambda vectors: np.sum(f.kernel(vectors, vectors), (-2, -1)),
    relation="<=",
    right=lambda vectors, constant=1.0: constant * np.sum(f.norms(vectors), -1) ** 2,
    as_printed="$E[(\\sum|\\alpha_i\\cdot x|)^2] \\le c_0(\\sum\\|\\alpha_i\\|)^2$; judged with $c_0 = 1$ (the proof has $c_0 = 2$).",
    control=Form("The same with $c_0 = 0.99$.", constant=0.99),
)
