r"""Section 3.5 and Appendix D: Theorem 7, Algorithm 1, and the table of Appendix D.1.

The theorem is about any function that satisfies its condition (4). Two of the simplest do, with $g_i = w_i - \tilde w_i$:

- $F = \tfrac\lambda2\|\sum_ig_i\|^2$, with equality in (4) and $L = n\lambda$. Its gradient is the same for all neurons, and so is the perturbation
  of Algorithm 1: differences of neurons never change, and a start with $\sum_ig_i = 0$ keeps its distance for ever. With a direction for
  each neuron, as Appendix D.2 suggests, differences wander away.
- $F = \tfrac12\sum_i\|g_i\|^2$, with $\lambda = 1/n$ and $L = 1$. At equilibrium of contraction and noise the mean squared distance is
  $n\alpha^2/(2\eta - \eta^2) > 2$ for the printed step and noise, even from a start at the minimum itself.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammainc, gammaincc, log_ndtr

from tutelage.claims import Chance, Claim, Form, integers, log_uniform, real, uniform
from tutelage.claims.mild_overparameterization.directions import MARGINAL
from tutelage.claims.mild_overparameterization.formulas import PAPER, hessian
from tutelage.claims.mild_overparameterization.instances import at_most_one


def printed_settings(rate: float, lipschitz: float, precision: float, neurons: int) -> tuple[float, float, int]:
    """Return the step, the noise and the number of iterations of Theorem 7, just within its strict bounds."""
    step = 0.999 * rate * precision**2 / (64 * lipschitz**2)
    iterations = int(np.log(precision) / np.log1p(-step * rate * precision**2 / 64)) + 1
    return step, precision / (4 * neurons), iterations


def perturbed_run(
    kind: str, start: np.ndarray, precision: float, random: np.random.Generator, *, shared: bool = True
) -> np.ndarray:
    r"""Return where Algorithm 1 ends on one of the two functions, from ways `[run, student, dim]`.

    Both are quadratic, so that no step has to be made: the mean of the neurons and their differences from it are each
    multiplied by a factor of their own, $q$, and kicked, $x_T = q^Tx_0 + \alpha\sum_tq^{T-1-t}\xi_t$.
    """
    neurons = start.shape[1]
    rate, lipschitz = 1 / neurons, 1.0
    step, noise, iterations = printed_settings(rate, lipschitz, precision, neurons)
    mean, differences = _mean_and_rest(start)
    of_mean = 1 - step * (rate * neurons if kind == "sum" else 1)
    of_differences = 1.0 if kind == "sum" else of_mean
    for first in range(0, iterations, _BLOCK):
        length = min(_BLOCK, iterations - first)
        kicks = random.normal(size=(length, len(start), 1 if shared else neurons, start.shape[2]))
        kicks = noise * kicks / np.sqrt(np.sum(kicks**2, axis=3, keepdims=True))
        kicked_mean, kicked_differences = _mean_and_rest(kicks)
        mean = _carried(mean, of_mean, kicked_mean)
        differences = _carried(differences, of_differences, kicked_differences)
    return mean + differences


# Kicks that are drawn at once.
_BLOCK = 256


def _mean_and_rest(ways):
    mean = ways.mean(-2, keepdims=True)
    return mean, ways - mean


def _carried(part, factor, kicks):
    """Return a part of the ways after as many steps as there are kicks."""
    return factor ** len(kicks) * part + np.tensordot(factor ** np.arange(len(kicks))[::-1], kicks, axes=1)


_PRECISION = 0.9
# The settings of Theorem 7, for recipes that count how many runs arrive.
_SETTINGS = """
n, d = start.shape
rate, lipschitz = 1 / n, 1.0  # F = rate / 2 |sum of the ways|^2 has these constants
step, noise = 0.999 * rate * delta**2 / (64 * lipschitz**2), delta / (4 * n)
iterations = int(np.log(delta) / np.log1p(-step * rate * delta**2 / 64)) + 1
random, reached, trials = np.random.default_rng(0), 0, 8
"""


def _ends(random, runs, *, shared):
    """How many runs of Algorithm 1 end within the promised distance, on both functions, in growing dimensions."""
    for kind in ("sum", "quadratic"):
        for dimension in (5, 50):
            start = np.zeros((runs, 2, dimension))
            if kind == "sum":
                # The longest way that the neighbourhood allows with a sum of zero; otherwise none at all.
                start[:, 0, 0], start[:, 1, 0] = 1.0, -1.0
            square = np.sum(perturbed_run(kind, start, _PRECISION, random, shared=shared) ** 2, axis=(1, 2))
            # What is not a number has not failed to arrive: the program has.
            reached = np.where(np.isnan(square).any(), np.nan, np.sum(square <= _PRECISION))
            yield {
                "start": start[:1],
                "delta": np.array([_PRECISION]),
                "successes": reached[None] * 1.0,
                "trials": np.array([runs]),
            }


def _contracted(ways, extra, rate, level, factor):
    """The left and right side of one step of descent: |w⁺|² and (1 − c ηλδ²/64)|w|², relative to |w|²; the step that is allowed."""
    flat = ways.reshape(*ways.shape[:-2], -1)
    inside = np.sum(extra * flat[..., None, :], axis=-1)
    slope = np.sum(extra * (inside / np.sqrt(1 + inside**2))[..., None], axis=-2).reshape(ways.shape)
    slope = slope + (rate[..., None] * ways.sum(-2))[..., None, :]
    lipschitz = ways.shape[-2] * rate + np.sum(extra**2, axis=(-2, -1))
    step = rate * level**2 / (64 * lipschitz**2)
    after = np.sum((ways - step[..., None, None] * slope) ** 2, axis=(-2, -1))
    before = np.sum(ways**2, axis=(-2, -1))
    return (before - after) / before, factor * step * rate * level**2 / 64


_FUNCTIONS = [
    {
        "ways": real((n, d)),
        "size": uniform(0.3, 1.0),
        "extra": real((2, n * d)),
        "none": uniform(0.0, 1.0),
        "rate": uniform(0.1, 2.0),
    }
    for n, d in ((1, 1), (2, 1), (2, 3))
]


def _function(ways, size, extra, none, rate):
    """λ/2 |Σg|² plus convex terms with their minimum at zero, or none; δ at the boundary of the hypothesis |Σg|² ≥ δ²/32."""
    ways = ways * (size / np.sqrt(np.sum(ways**2, axis=(-2, -1)) + 1e-300))[..., None, None]
    extra = extra * np.where(none < 0.5, 0.0, none)[..., None, None]
    level = np.minimum(np.sqrt(32.0 * np.sum(ways.sum(-2) ** 2, -1)), 1.0)
    return {"ways": ways, "extra": extra, "rate": rate, "level": level}


THEOREM_7 = Claim(
    id=f"{PAPER}.theorem-7",
    title="perturbed gradient descent converges",
    hypotheses=(
        "$F$ twice differentiable with an $L$-Lipschitz gradient and $(w-\\tilde w)^\\top H(w-\\tilde w) \\ge \\lambda\\|g\\|^2$, a start within $\\epsilon = 1$ of $\\tilde w$",
        "$n = 2$, $\\delta = 0.9$, $F = \\frac\\lambda2\\|\\sum g_i\\|^2$ and $F = \\frac12\\sum\\|g_i\\|^2$; $d = 5, 50$",
    ),
    defect="condition (4) and a shared perturbation leave differences of neurons alone",
    draw=_FUNCTIONS,
    build=_function,
    where=lambda level: level >= 0.05,
    left=lambda ways, extra, rate, level: _contracted(ways, extra, rate, level, 1.0)[0],
    relation=">=",
    right=lambda ways, extra, rate, level, factor: _contracted(ways, extra, rate, level, factor)[1],
    known=0.0,
    scale=0.0,
    as_printed=Form(
        "With $\\eta < \\lambda\\delta^2/(64L^2)$ and $\\alpha = \\delta/(4n)$, after $T > \\log\\delta/\\log(1 - \\eta\\lambda\\delta^2/64)$ iterations "
        "$\\|w(T) - \\tilde w\\|^2 \\le \\delta$ with probability above $1 - Te^{-\\Omega(d)}$: at least one half.",
        draw=lambda count, random: _ends(random, max(32, count // 6), shared=True),
        build=None,
        where=None,
        runs=True,
        left=Chance(),
        right=0.5,
        recipe=_SETTINGS
        + """for _ in range(trials):
    ways = np.zeros_like(start)
    ways[0, 0], ways[1, 0] = 1.0, -1.0
    for _ in range(iterations):
        kick = random.normal(size=d)
        ways = ways - step * rate * ways.sum(0) + noise * kick / np.linalg.norm(kick)
    reached += np.sum(ways**2) <= delta
left = reached / trials  # the share of runs that arrive, which should be at least one half
""",
    ),
    corrected=Form(
        "Without perturbations, each step of gradient descent from $\\|w - \\tilde w\\| \\le 1$ with $\\|g\\|^2 \\ge \\delta^2/32$ multiplies $\\|w - \\tilde w\\|^2$ by at most "
        "$1 - 3\\eta\\lambda\\delta^2/64$. Hence after $T$ steps $\\|w - \\tilde w\\|^2 \\le \\delta$, or $\\|g\\|^2 < \\delta^2/32$ at some step before.",
        factor=3.0,
    ),
    correction="Condition (4) says nothing about ways with $\\sum g_i = 0$, and neither the gradient of $\\frac\\lambda2\\|\\sum g_i\\|^2$ nor a perturbation that all neurons share moves "
    "differences of neurons: from $(u, -u)$ the distance stays. Besides, the noise is left out of the recursion (63). It is too large for the step: even for "
    "$\\frac12\\|w - \\tilde w\\|^2$ the mean squared distance tends to $n\\alpha^2/2\\eta > 2$. What remains is the contraction of plain descent while $g$ is not small, "
    "with three times the printed rate, since Equation (63) lacks a factor two.",
    control=Form("The corrected form with $1 - 4.5\\eta\\lambda\\delta^2/64$.", factor=4.5),
    arithmetic="runs and closed forms in float64",
)

OTHER_NOISE = Claim(
    id=f"{PAPER}.section-D.2.separate",
    title="a direction for each neuron",
    hypotheses="as Theorem 7, with a perturbation of its own for each neuron",
    scope="remark",
    defect="condition (4) and a shared perturbation leave differences of neurons alone",
    draw=lambda count, random: _ends(random, max(32, count // 6), shared=False),
    runs=True,
    left=Chance(),
    relation=">=",
    right=0.5,
    known=0.0,
    as_printed=Form(
        "With another direction for each neuron better guarantees are possible (believed): under Theorem 7's hypotheses at least one half of the "
        "runs arrive.",
        recipe=_SETTINGS
        + """for _ in range(trials):
    ways = np.zeros_like(start)
    for _ in range(iterations):
        kick = random.normal(size=(n, d))
        kick = kick / np.linalg.norm(kick, axis=1, keepdims=True)
        ways = ways - step * rate * ways.sum(0) + noise * kick
    reached += np.sum(ways**2) <= delta
left = reached / trials  # the share of runs that arrive, which should be at least one half
""",
    ),
    corrected=Form(
        "Under condition (4) alone hardly any run arrives: nothing holds differences of neurons, which wander like $\\alpha\\sqrt T$. (At most three tenths.)",
        relation="<=",
        right=0.3,
        known=1.0,
    ),
    correction="$\\frac\\lambda2\\|\\sum g_i\\|^2$ is flat along differences: with directions of their own neurons diffuse, and $\\alpha^2T$ is far above $\\delta$. All points with $\\sum g_i = 0$ are global minima of this function, so that no "
    "algorithm finds $\\tilde w$ among them. A guarantee needs a condition on these ways, such as the growth with the third power that the objective of the paper has.",
    control=Form("At least four tenths of the runs arrive.", right=0.4),
    arithmetic="runs in float64",
)


# Appendix D.3 ---------------------------------------------------------------------------------------------------------

_SCALE_OF_NOISE = "the scale of the perturbation's coordinates, of variance $1/d$"
_SQUARED = Form("$\\|u + n\\alpha\\xi\\|^2 \\ge \\delta^2/4$.", power=2.0, factor=0.25)


def _kicked(size, kick, cosine):
    """|u + nαξ|² for |u| and |ξ| in units of δ and the cosine between them, nα = δ/4."""
    return size**2 + kick**2 / 16 + size * kick * cosine / 2


FAR = Claim(
    id=f"{PAPER}.section-D.3.far",
    title="a large sum stays large",
    hypotheses="$\\|u\\| \\ge \\delta > 0$, $\\|\\xi\\| \\le 1.5$, $n\\alpha = \\delta/4$; $\\delta$ up to 10",
    defect="a square left out of $\\|g\\|^2$",
    glyph=True,
    draw={
        "delta": log_uniform(0.01, 10.0),
        "size": uniform(1.0, 3.0),
        "cosine": uniform(-1.0, 1.0),
        "kick": uniform(0.0, 1.5),
    },
    left=lambda delta, size, kick, cosine, power=1.0: (delta**2 * _kicked(size, kick, cosine)) ** (power / 2),
    relation=">=",
    right=lambda delta, factor=0.25: factor * delta**2,
    as_printed="$\\|u + n\\alpha\\xi\\| \\ge \\delta^2/4$, for every $\\delta > 0$.",
    as_meant=_SQUARED,
    supplied="the displays before it, which bound the square",
    corrected=Form("$\\|u + n\\alpha\\xi\\|^2 \\ge 25\\delta^2/64$.", power=2.0, factor=25 / 64),
    correction="A square is missing on the left, which matters for $\\delta > 2$; the sharp constant is $(1 - \\frac38)^2$.",
    control=Form("$\\|u + n\\alpha\\xi\\|^2 \\ge 0.395\\delta^2$.", power=2.0, factor=0.395),
)

CLOSE = Claim(
    id=f"{PAPER}.section-D.3.near",
    title="a small sum is kicked away from zero",
    hypotheses="$\\|\\xi\\|^2 > \\frac12$, $|\\xi\\cdot\\bar u| \\le \\frac1{32}$; in units of $\\delta^2$",
    draw={"square": uniform(0.5, 2.0), "along": uniform(0.0, 1 / 32)},
    left=lambda square, along: square / 16 - along / 2,
    relation=">=",
    right=lambda bound=1 / 32: bound,
    as_printed="$\\frac{\\delta^2}{16}\\|\\xi\\|^2 - \\frac{\\delta^2}2|\\xi\\cdot\\bar u| \\ge \\frac{\\delta^2}{32}$.",
    corrected=Form("It is at least $\\delta^2/64$.", bound=1 / 64),
    correction="The two bounds give $\\delta^2/32 - \\delta^2/64$. (With $\\|\\xi\\|^2 > 0.75$, just as likely, the printed bound holds.)",
    control=Form("It is at least $\\delta^2/63$.", bound=1 / 63),
)

_DIMENSIONS = {"half": integers(1, 1000)}


def _log_tails(half, power=0.0):
    """Logarithms of the probabilities that |ξ| > 1.5 and that |ξ|² < ½ in the dimension 2·half, coordinates of variance d^−power."""
    whole = (2 * half) ** power
    tails = np.stack([gammaincc(half, 1.125 * whole), gammainc(half, 0.25 * whole)], -1)
    return np.log(np.maximum(tails, 1e-300))


TAILS = Claim(
    id=f"{PAPER}.section-D.3.norm",
    title="how long a perturbation is",
    hypotheses="$d$ even, up to 2000; logarithms of the probabilities that $\\|\\xi\\| > 1.5$, and that $\\|\\xi\\|^2 < \\frac12$",
    defect=_SCALE_OF_NOISE,
    draw=_DIMENSIONS,
    left=_log_tails,
    relation="<=",
    right=lambda half, factor=0.001: -factor * half[..., None] * np.array([1.25 - np.log(2.25), np.log(2.0) - 0.5]),
    known=0.0,
    as_printed=Form(
        "$\\|\\xi\\|^2$ has a $\\chi^2_d$ distribution, and $\\|\\xi\\| \\le 1.5$ with probability above $1 - e^{-\\Omega(d)}$.",
        recipe="""
x, n = 1.125, int(half)  # the chi-square law of dimension 2n is above 2x with probability exp(-x) times a sum of x^j / j!
left = np.log(np.exp(-x) * np.sum(np.cumprod(np.concatenate([[1.0], x / np.arange(1, n)]))))
right = -1e-3 * n * (1.25 - np.log(2.25))
""",
    ),
    as_meant=Form(
        "With $\\xi \\sim N(0, \\frac1dI)$ both fail with probabilities of at most $(\\frac94e^{-5/4})^{d/2}$ and $(\\frac12e^{1/2})^{d/2}$.",
        power=1.0,
        factor=1.0,
    ),
    supplied="the noise level $\\alpha$, said to be the length of the perturbation, and $\\langle\\xi, \\bar u\\rangle$ in the second case",
    correction="A factor $1/d$ is lost: a $\\chi^2_d$ variable is about $d$, and below 2.25 with a probability that goes to zero.",
    control=Form("With 1.05 times the rates.", power=1.0, factor=1.05),
)

_SMALL = Form(
    "With the variance $1/d$ it fails with probability at most $e^{-d/2048}$.", power=1.0, rate=1 / 2048, order=1.0
)

ALONG = Claim(
    id=f"{PAPER}.section-D.3.along",
    title="a perturbation along the sum",
    hypotheses="$d$ up to $10^6$; the logarithm of the probability that $|\\xi\\cdot\\bar u| > \\frac1{32}$",
    defect=_SCALE_OF_NOISE,
    glyph=True,
    draw={"dimension": log_uniform(1.0, 1e6)},
    left=lambda dimension, power=0.5: np.log(2.0) + log_ndtr(-(dimension ** (power / 2)) / 32),
    relation="<=",
    right=lambda dimension, rate=1e-05, order=1.0: -rate * dimension**order,
    known=0.0,
    as_printed=Form(
        "$\\xi\\cdot\\bar u \\sim N(0, 1/\\sqrt d)$ is at most $\\frac1{32}$ with probability above $1 - e^{-\\Omega(d)}$: the rate is at least $10^{-5}$.",
        recipe="""
t = np.linspace(0, 40, 400_001) + dimension**0.25 / 32  # in units of the deviation, the root of the printed variance
left = np.log(2 * np.sum(np.exp(-(t**2) / 2)) * 1e-4 / np.sqrt(2 * np.pi))
""",
    ),
    as_meant=_SMALL,
    supplied="the law of a direction: its deviation, not its variance, is $1/\\sqrt d$",
    correction="With the variance $1/\\sqrt d$ the probability to fail is $e^{-\\Theta(\\sqrt d)}$.",
    control=Form("With 1.05 times the rate.", power=1.0, rate=1.05 / 2048),
)

EQUATION_61 = Claim(
    id=f"{PAPER}.equation-61",
    title="the sum after a perturbation",
    hypotheses="any $u$, $\\xi$ and $n\\alpha > 0$",
    draw=[{"u": real((d,)), "xi": real((d,)), "size": log_uniform(0.01, 10.0)} for d in (1, 3)],
    left=lambda u, xi, size: np.sum((u + size[..., None] * xi) ** 2, -1),
    relation=">=",
    right=lambda u, xi, size, factor=2.0: (
        np.sum(u**2, -1) + size**2 * np.sum(xi**2, -1) - factor * size * np.abs(np.sum(u * xi, -1))
    ),
    scale=lambda u, xi, size: np.sum(u**2, -1) + size**2 * np.sum(xi**2, -1),
    as_printed="$\\|u + n\\alpha\\xi\\|^2 \\ge \\|u\\|^2 + n^2\\alpha^2\\|\\xi\\|^2 - 2n\\alpha|\\xi\\cdot u|$.",
    control=Form("The same with $1.99n\\alpha|\\xi\\cdot u|$.", factor=1.99),
)

_SUMMED = [{"ways": real((n, d)), "size": uniform(0.05, 1.0)} for n, d in ((1, 1), (2, 1), (3, 2), (8, 2))]


def _level(ways):
    """A δ² for which |Σg|² = δ²/32."""
    return 32 * np.sum(ways.sum(-2) ** 2, -1)


EQUATION_62 = Claim(
    id=f"{PAPER}.equation-62",
    title="from the Hessian to the gradient",
    hypotheses="condition (4), $\\|g\\|^2 \\ge \\delta^2/32$; $F = \\frac\\lambda2\\|\\sum g_i\\|^2$, $\\|g\\|^2 = \\delta^2/32$, $\\|w_i - \\tilde w_i\\| \\le 1$",
    draw=_SUMMED,
    build=lambda ways, size: {"ways": size[..., None, None] * at_most_one(ways)},
    where=lambda ways, most=np.inf: np.sum(ways**2, axis=(-2, -1)) <= most,
    left=lambda ways: np.sum(ways.sum(-2) ** 2, -1),  # the gradient of F along the ways, λ = 1
    relation=">=",
    right=lambda ways, factor=1.0: factor * _level(ways) / 32 * np.sum(ways**2, axis=(-2, -1)),
    as_printed="$\\nabla F(w)\\cdot(w - \\tilde w) \\ge \\frac{\\lambda\\delta^2}{32}\\|w - \\tilde w\\|^2$.",
    corrected=Form("The same if $\\|w - \\tilde w\\| \\le 1$.", most=1.0),
    correction="Integrating (4) along the segment gives $\\nabla F\\cdot(w - \\tilde w) \\ge \\lambda\\|g\\|^2 \\ge \\lambda\\delta^2/32$, which has the factor $\\|w - \\tilde w\\|^2$ only if that is at most one. The "
    "neighbourhood of Definition 2 allows $n\\epsilon^2$.",
    defect="the neighbourhood bounds each neuron's way, not the whole distance",
    control=Form("The corrected form with 1.05 times the right-hand side.", most=1.0, factor=1.05),
)

_TWICE = Form("With $-\\tilde w$, and $2\\eta$ in the middle term.", sign=-1.0, factor=2.0)

EQUATION_63 = Claim(
    id=f"{PAPER}.equation-63",
    title="the square of a step",
    hypotheses="any $w$, $\\tilde w$, gradient and step",
    draw={"way": real((3,)), "minimum": real((3,)), "slope": real((3,)), "step": log_uniform(0.01, 1.0)},
    left=lambda way, minimum, slope, step, sign=1.0: np.sum(
        (way + minimum - step[..., None] * slope + sign * minimum) ** 2, -1
    ),
    relation="==",
    right=lambda way, slope, step, factor=1.0: (
        np.sum(way**2, -1) - factor * step * np.sum(way * slope, -1) + step**2 * np.sum(slope**2, -1)
    ),
    scale=lambda way, minimum, slope: np.sum(way**2, -1) + np.sum(minimum**2, -1) + np.sum(slope**2, -1),
    as_printed="$\\|w - \\eta\\nabla F + \\tilde w\\|^2 = \\|w - \\tilde w\\|^2 - \\eta\\nabla F\\cdot(w - \\tilde w) + \\eta^2\\|\\nabla F\\|^2$.",
    corrected=_TWICE,
    correction="A factor two, in favour of the proof, and a sign in front of $\\tilde w$. The perturbation, which belongs to the step, is missing altogether; "
    "see Theorem 7.",
    control=Form("With $2.01\\eta$ in the middle term.", sign=-1.0, factor=2.01),
)

START = Claim(
    id=f"{PAPER}.section-D.3.start",
    title="distance of the start",
    hypotheses="a start in the $\\epsilon$-neighbourhood of Definition 2, $\\epsilon < 1$",
    defect="the neighbourhood bounds each neuron's way, not the whole distance",
    draw=[{"ways": real((n, 3)), "lengths": uniform(0.0, 1.0, (n,))} for n in (1, 2, 5)],
    build=lambda ways, lengths: {
        "ways": 0.999 * lengths[..., None] * ways / np.sqrt(np.sum(ways**2, -1, keepdims=True) + 1e-300)
    },
    left=lambda ways: np.sum(ways**2, axis=(-2, -1)),
    relation="<=",
    right=lambda ways, each=0.0, factor=1.0: factor * np.maximum(each * ways.shape[-2], 1.0),
    as_printed="$\\|w(0) - \\tilde w\\|^2 < 1$.",
    corrected=Form("$\\|w(0) - \\tilde w\\|^2 < n$.", each=1.0),
    correction="The neighbourhood bounds each neuron's way, not their sum of squares.",
    control=Form("$\\|w(0) - \\tilde w\\|^2 < 0.99n$.", each=1.0, factor=0.99),
)


# Table 1 --------------------------------------------------------------------------------------------------------------

# k, m, curvature of Gaussian ways, as printed.
_TABLE = np.array(
    [
        [5, 2, 0.84], [5, 5, 2.43], [5, 10, 5.43],
        [10, 2, 12.7], [10, 5, 43.1], [10, 10, 62.3],
        [20, 2, 88.6], [20, 5, 231.0], [20, 10, 412.0],
    ]
)  # fmt: skip


def _printed_pairs(count, random):
    """Pairs of printed numbers for one number of teachers."""
    pairs = [(a, b) for a in _TABLE for b in _TABLE if a[0] == b[0] and a[1] < b[1]]
    return {"small": np.array([a for a, _ in pairs]), "large": np.array([b for _, b in pairs])}


def _equal_splits(count, random):
    """Minima with equal splits."""
    for k, m in ((1, 2), (3, 1), (3, 2), (5, 5)):
        teacher = np.swapaxes(np.linalg.qr(random.normal(size=(2, k + 1, k)))[0], 1, 2)
        yield {"teacher": teacher, "minimum": np.repeat(teacher, m, axis=1) / m}


def _mean_gap(minimum, teacher):
    """The mean of left minus right side of Conjecture 1 for Gaussian ways of variance one, to second order: traces."""
    size = minimum.shape[-2] * minimum.shape[-1]
    return np.trace(hessian(minimum, teacher), axis1=-2, axis2=-1) - 0.25 * (1 + MARGINAL) * size


_MEANS = Form(
    "For Gaussian ways of variance $\\sigma^2$ the mean difference of the sides of Conjecture 1, which is what the table shows, is "
    "$mkd\\sigma^2/2\\pi$ to second order: linear in $m$.",
    draw=_equal_splits,
    left=_mean_gap,
    relation="==",
    right=lambda minimum, factor: factor * minimum.shape[-2] * minimum.shape[-1] / (2 * np.pi),
    factor=1.0,
)

TABLE_1 = Claim(
    id=f"{PAPER}.table-1",
    title="curvature and over-parameterization",
    hypotheses="the printed numbers for Gaussian ways",
    draw=_printed_pairs,
    left=lambda small, large: large[..., 2] / small[..., 2],
    relation=">=",
    right=lambda small, large: large[..., 1] / small[..., 1],
    as_printed=Form(
        "The curvature increases at least linearly with $m$: growth of the printed numbers against growth of $m$."
    ),
    as_meant=_MEANS,
    supplied="the text before the table: minima of 1,000 random samples, which fluctuate",
    correction="From $m = 5$ to 10 the printed minima of 1,000 samples grow by factors of 1.45 ($k = 10$) and 1.78 ($k = 20$). Means grow linearly.",
    control=Form("It is 1.001 times that.", **{**_MEANS.varied, "factor": 1.001}),
)
