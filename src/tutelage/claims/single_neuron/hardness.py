r"""Section 3.1 and its proof in Appendix A: inputs on which a ReLU neuron cannot be learned.

In the coordinates $b_iw_i$ the inputs of the proof are the unit vectors of the axes and the teacher is $1/\sqrt d$ throughout; a
coordinate that is not positive never moves.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tutelage import checks
from tutelage.activations import ReLU
from tutelage.claims import Claim, Form, Relation, integers, real, uniform
from tutelage.claims.single_neuron.formulas import ATOMS, HOEFFDING, PAPER, terms
from tutelage.dynamics import GradientDescent, GradientFlow, StochasticGradientDescent, descend, record, step_limit
from tutelage.inputs import finite
from tutelage.objectives import population
from tutelage.problems import Problem, neuron
from tutelage.statistics import at_least


def hard_problem(positive: Any) -> Problem:
    r"""The problem of Theorem 3.1 for a given law of the start: finitely many inputs that most starts never see.

    The inputs are uniform on $b_ie_i$ with $b_i = 1$ where the start's coordinate is more often negative and $-1$
    elsewhere; the teacher is $b/\sqrt d$. A coordinate that starts with $b_iw_i \le 0$ never moves.

    Args:
        positive: The probability $P(w_i > 0)$ of each coordinate of the start, `[dim]`.

    Returns:
        The problem, with the convention $\sigma'(0) = 0$.

    Reference:
        Yehudai and Shamir, Learning a single neuron with gradient methods, 2020, proof of Theorem 3.1.
    """
    chances = np.asarray(checks.finite_array("positive", positive, dimensions=1))
    signs = np.where(chances < 0.5, 1.0, -1.0)
    return neuron(signs / np.sqrt(len(signs)), ReLU(), finite(np.diag(signs)))


# Product laws of the start: how to draw one coordinate, and the probability that it is positive.
STARTS = {
    "gaussian": (lambda random, shape: random.normal(size=shape), 0.5),
    "small": (lambda random, shape: 1e-3 * random.normal(size=shape), 0.5),
    "large": (lambda random, shape: random.uniform(-5, 5, size=shape), 0.5),
    "signs": (lambda random, shape: random.choice([-0.5, 0.5], size=shape), 0.5),
    "skewed": (lambda random, shape: random.exponential(size=shape) - 0.2, float(np.exp(-0.2))),
    "zeros": (lambda random, shape: random.choice([0.0, 0.0, 1.0], size=shape), 1 / 3),
}
_STEPS = 200


def _lowest_losses(count, random):
    """The lowest loss that each method meets, from starts of all laws with a quarter of dead coordinates."""
    batches = []
    for dimension in (3, 8):
        problem = hard_problem(np.zeros(dimension))
        starts = []
        for draw, chance in STARTS.values():
            # Turned so that all signs b are one.
            several = draw(random, (count, dimension)) * (1.0 if chance < 0.5 else -1.0)
            starts.append(several[np.sum(several <= 0, axis=1) >= dimension / 4][: count // 10])
        starts = np.concatenate(starts)
        # Small steps, and some far too large ones.
        methods = [
            method(dimension * step) for step in (0.05, 5.0) for method in (GradientDescent, StochasticGradientDescent)
        ]
        for method in (*methods, GradientFlow(horizon=20.0 * dimension)):
            runs = descend(population(problem), starts, method, step_limit(_STEPS), record("loss"))
            lowest = [np.min(runs.curve("loss", run)[1]) for run in range(len(runs))]
            batches.append({"start": starts, "lowest": np.array(lowest), "dead": np.sum(starts <= 0, axis=1)})
    return batches


METHODS = Claim(
    id=f"{PAPER}.theorem-3.1.methods",
    title="all three methods stay away from the minimum",
    hypotheses=(
        "ReLU with $\\sigma'(0) = 0$, the inputs and the teacher of the proof, six product laws of the start, $d = 3, 8$",
        "at least $d/4$ coordinates of the start with $b_iw_i \\le 0$",
    ),
    draw=_lowest_losses,
    runs=True,
    left=lambda lowest: lowest,
    relation=">=",
    right=lambda start, factor=1 / 8: factor / start.shape[-1],
    known=0.0,
    as_printed="Gradient descent, SGD (steps of 0.05 and 5 times $d$) and gradient flow have $F - \\inf F \\ge 1/(8d)$ at all times.",
    control=Form("They have $F - \\inf F \\ge 1/(7.8d)$.", factor=1 / 7.8),
    arithmetic=f"exact sums in float64; {_STEPS} steps of each method",
)


# The probability ------------------------------------------------------------------------------------------------------


def escape(dimension, used):
    r"""The probability that a symmetric start escapes, when the construction uses only some of the coordinates.

    With $m$ coordinates (inputs uniform on $m$ axes, teacher $\pm1/\sqrt m$ on them) the loss ends at $N/(2m^2)$, $N$ the
    number of dead coordinates, so that it ends below $1/(8d)$ if $N < m^2/(4d)$; $N$ is binomial.
    """
    # So few of the coordinates are dead if at least the others are not.
    return at_least(used - np.ceil(used**2 / (4 * dimension) - 1e-12) + 1, used, 0.5)


def _best_escape(dimension):
    """The smallest probability over all numbers of axes."""
    used = np.arange(1, 41)
    several = escape(dimension[..., None], used)
    return np.min(np.where(used <= dimension[..., None], several, 1.0), -1)


PROBABILITY = Claim(
    id=f"{PAPER}.theorem-3.1.probability",
    title="probability of the starts that are stuck",
    hypotheses=(
        "a symmetric product start, $P(w_i > 0) = \\frac12$, the hardest one",
        "$d \\le 34$. The theorem asks for some law of the inputs: those of the proof, on the best number $m \\le d$ of axes, reach it up to "
        "there. For larger $d$ none of this kind does (see the step of the proof), and laws of another kind are not excluded",
    ),
    draw={"dimension": integers(1, 34)},
    left=_best_escape,
    relation="<=",
    right=lambda dimension, rate=0.25: np.exp(-rate * dimension),
    as_printed="With probability at least $1 - e^{-d/4}$ all methods stay above $1/(8d)$.",
    control=Form("With probability at least $1 - e^{-0.27d}$.", rate=0.27),
    arithmetic="exact binomial probabilities",
)

HOEFFDING_STEP = Claim(
    id=f"{PAPER}.section-A.hoeffding",
    title="number of coordinates that move",
    hypotheses="$Z$ a sum of $d$ independent indicators of mean $\\frac12$, $d \\le 4000$",
    defect=HOEFFDING,
    draw={"dimension": integers(1, 4000)},
    # As exponents: the probabilities themselves are too small to be compared.
    left=lambda dimension: -np.log(escape(dimension, dimension)) / dimension,
    relation=">=",
    right=lambda rate=0.25: rate,
    also=(
        Relation(
            draw={"dimension": integers(2, 4000)},
            left=lambda dimension: -np.log(escape(dimension, np.maximum(np.round(0.62 * dimension), 1))) / dimension,
            relation=">=",
            right=0.16,
        ),
    ),
    as_printed=Form(
        "$P(Z \\le \\frac34d) \\ge 1 - e^{-d/4}$, compared as exponents over $d$.",
        recipe="""
from math import comb, log
d = int(dimension)
left = (d * log(2) - log(sum(comb(d, n) for n in range(-(-d // 4))))) / d  # the probability of Z > 3d/4, as an exponent
""",
    ),
    corrected=Form(
        "$P(Z \\le \\frac34d) \\ge 1 - (16/27)^{d/4} = 1 - e^{-0.1308d}$ (more than Hoeffding's $1 - e^{-d/8}$); and on $m = 0.62d$ of the axes, where "
        "$m^2/(4d)$ dead coordinates are enough, the same construction is stuck with probability at least $1 - e^{-0.16d}$, for $d \\ge 2$.",
        rate=np.log(27 / 16) / 4,
    ),
    correction="The exponent of Hoeffding's inequality is $2(d/4)^2/d = d/8$, and Chernoff's is the best for all $d$; the print fails for "
    "$d = 13, 17, 18, 19$ and for all $d \\ge 21$.",
    control=Form("$P(Z \\le \\frac34d) \\ge 1 - e^{-0.1335d}$.", rate=0.1335),
    arithmetic="exact binomial probabilities",
)


# Equation (4) ---------------------------------------------------------------------------------------------------------


def _with_dead(w):
    dead = np.arange(w.shape[-1]) < -(-w.shape[-1] // 4)
    return {"w": np.where(dead, -np.abs(w), w)}


EQUATION_4 = Claim(
    id=f"{PAPER}.equation-4",
    title="loss of a start with dead coordinates",
    hypotheses=("the inputs of the proof, $d = 4, 5, 64$", "at least $d/4$ coordinates with $b_iw_i \\le 0$"),
    draw=[{"w": real((d,))} for d in (4, 5)],
    build=_with_dead,
    corners=[{"w": np.where(np.arange(d) < -(-d // 4), -1.0, d**-0.5)} for d in (4, 5, 64)],
    left=lambda w: np.sum((np.maximum(w, 0) - w.shape[-1] ** -0.5) ** 2, -1) / (2 * w.shape[-1]),
    relation=">=",
    right=lambda w, factor=1 / 8: factor / w.shape[-1],
    as_printed="$F(w) \\ge 1/(8d)$; there is equality where $d/4$ is a whole number.",
    control=Form("$F(w) \\ge 1/(7.9d)$.", factor=1 / 7.9),
)


def _coordinate(w):
    """The stochastic gradients over all inputs of the proof, d = 3, each one's first coordinate."""
    return terms(w, np.full(w.shape, w.shape[-1] ** -0.5), np.eye(w.shape[-1]), 0.0, 1.0)[..., 0]


COORDINATE = Claim(
    id=f"{PAPER}.section-A.coordinate",
    title="a coordinate of the stochastic gradient",
    hypotheses="the inputs of the proof, $x_t = b_ie_i$, $d = 3$",
    draw={"w": real((3,))},
    left=lambda w: _coordinate(w)[..., 0],
    relation="==",
    right=lambda w, factor=1.0: factor * np.mean(_coordinate(w), -1),
    scale=1e-3,
    as_printed="$(g_t)_i = (\\nabla F(w_t))_i$ if $x_t = x_i$.",
    as_meant=Form(
        "A coordinate that is dead stays so, $(w_t - \\eta g_t)_ib_i \\le 0$; judged for $\\eta = 10$.",
        where=lambda w: w[..., 0] <= 0,
        left=lambda w: w[..., 0] - 10 * _coordinate(w)[..., 0],
        relation="<=",
        right=0.0,
    ),
    supplied="the sentence's own conclusion, that dead coordinates do not move",
    corrected=Form("$(g_t)_i = d\\,(\\nabla F(w_t))_i$.", factor=3.0),
    correction="The gradient is the mean over $d$ inputs: a factor $d$, which does not matter where both vanish.",
    control=Form("$(g_t)_i = 1.02d\\,(\\nabla F(w_t))_i$.", factor=3.06),
)

FLOW_STARTS = Claim(
    id=f"{PAPER}.section-A.flow-starts",
    title="the chance of a coordinate to move, with zero counted as moving",
    hypotheses=(
        "one coordinate of the start with probabilities of being negative, zero and positive",
        "$b = 1$ if it is positive with probability below $\\frac12$, else $-1$",
    ),
    defect=ATOMS,
    draw={"masses": uniform(0, 1, (3,))},
    build=lambda masses: {"masses": (masses + 1e-6) / np.sum(masses + 1e-6, -1, keepdims=True)},
    left=lambda masses, zero=1.0: (
        np.where(masses[..., 2] < 0.5, masses[..., 2], masses[..., 0]) + zero * masses[..., 1]
    ),
    relation="<=",
    right=lambda bound=0.5: bound,
    as_printed="$P(b_iw_i(0) \\ge 0) \\le \\frac12$.",
    corrected=Form("$P(b_iw_i(0) > 0) \\le \\frac12$, the indicator of the other two methods.", zero=0.0),
    correction="A start with an atom at zero counts as moving then: from $w(0) = 0$ all coordinates would. With $\\sigma'(0) = 0$, the "
    "theorem's convention, the path that stays obeys the flow's equation at all times, and the strict indicator is right for flow, too. (Paths that leave at once break "
    "it at $t = 0$ only, which may be why the print counts zero as moving.)",
    control=Form("$P(b_iw_i(0) > 0) \\le 0.49$.", zero=0.0, bound=0.49),
)


# Smooth inputs --------------------------------------------------------------------------------------------------------

_RADIUS = 1e-6


def _smoothed(count, random, atoms):
    """Descent when every input is spread over a small cross, b_i e_i ± radius·e_j for all j."""
    d = 8
    # Either one coordinate is one and the others are zero, surely, or all are Gaussian.
    starts = np.eye(d)[:1] if atoms else random.normal(size=(count, d))
    signs = np.where(starts[0] > 0, -1.0, 1.0) if atoms else -np.ones(d)
    around = _RADIUS * np.concatenate([np.eye(d), -np.eye(d)])
    points = (np.diag(signs)[:, None, :] + around).reshape(-1, d)
    objective = population(neuron(signs / np.sqrt(d), ReLU(), finite(points)))
    runs = descend(objective, starts, GradientDescent(8.0), step_limit(400))
    dead = np.sum(signs * starts <= 0, axis=1)
    # A coordinate is dead for the whole cross if it is beyond its reach.
    safe = np.sum(signs * starts < -_RADIUS * np.linalg.norm(starts, axis=1, keepdims=True), axis=1)
    return {"start": starts, "signs": np.tile(signs, (len(starts), 1)), "dead": dead, "safe": safe, "loss": runs.losses}


SMOOTH = Claim(
    id=f"{PAPER}.section-A.smooth",
    title="the construction with smooth inputs",
    hypotheses=(
        "$d = 8$, each input spread over a cross of radius $r = 10^{-6}$ around it, 400 steps of $\\eta = 8$",
        "at least $d/4$ coordinates with $b_iw_i \\le 0$ at the start",
    ),
    defect=ATOMS,
    draw=_smoothed,
    runs=True,
    where=lambda dead, safe, atoms: (dead >= 2) & ((safe >= 2) | atoms),
    left=lambda loss: loss,
    relation=">=",
    right=lambda factor=1.0: factor / 64,
    known=0.0,
    as_printed=Form(
        "The same argument works for inputs spread around the points, for any product law of the start; judged for the start "
        "$w = e_1$, a product of point masses.",
        atoms=True,
        recipe="""
d = len(start)
around = 1e-6 * np.concatenate([np.eye(d), -np.eye(d)])
points = (np.diag(signs)[:, None, :] + around).reshape(-1, d)
w, teacher = np.array(start), np.maximum(points @ signs / np.sqrt(d), 0)
for _ in range(400):
    student = points @ w
    w = w - 8 * np.mean((np.where(student > 0, student - teacher, 0.0))[:, None] * points, axis=0)
left = np.mean((np.maximum(points @ w, 0) - teacher) ** 2) / 2
""",
    ),
    corrected=Form(
        "It works for product laws without an atom at zero, with a radius so small that $b_iw_i < -r\\|w\\|$ for the dead "
        "coordinates; judged for Gaussian starts.",
        atoms=False,
        factor=1.0 - 1e-5,
    ),
    correction="A coordinate that starts at exactly zero is dead for the input $b_ie_i$ by the convention $\\sigma'(0) = 0$ alone. However "
    "little the input is spread, half of it is then active, and the coordinate is learned. (The bound loses $10^{-5}$ of itself to the spread.)",
    control=Form("The corrected form with $1.01/(8d)$.", atoms=False, factor=1.01),
    arithmetic="exact sums in float64",
)
