"""Section 3: a sum of a low and a high wave, without sharing and with it."""

import jax.numpy as jnp
import numpy as np

from tutelage.claims import Claim, Form, integers, log_uniform, real, uniform, unit
from tutelage.claims.weight_sharing.formulas import PAPER, cosine_gradient, cosine_hessian, exact_wave
from tutelage.dynamics import GradientDescent, descend, step_limit
from tutelage.objectives import population
from tutelage.problems import wave

GAUSSIAN = ("standard Gaussian inputs",)
# The smallest eigenvalue of the cosine part is −(1 + 2e^{−3/2})b², at w = 0 and b|u₀| = √3; the largest was searched for.
LEAST, MOST = 1 + 2 * np.exp(-1.5), 0.7646458

GAP = """
square = lambda a: np.sum(np.asarray(a) ** 2)
gap = lambda w, u: (1 + np.exp(-2 * square(w)) / 2 + np.exp(-2 * square(u)) / 2
    - np.exp(-square(w - u) / 2) - np.exp(-square(w + u) / 2))  # E(cos w·z - cos u·z)²
"""


def _ends_with_slope_one(count, random):
    """Where descent with slope one and small steps ends, from −u₀, from starts close to it, and from others all around."""
    batches = []
    for k, reach in ((1, 1.0), (25, 0.5), (100, 1.0)):
        u = np.array([reach, 0.0])
        around = 3 * random.uniform(-1, 1, size=(count // 4, 2))
        starts = np.concatenate([-u[None], -u + random.uniform(-0.5, 0.5, size=(count // 8, 2)) / np.sqrt(k), around])
        method = GradientDescent(1 / (1 + LEAST * k))
        runs = descend(population(wave(u, k, slope=1.0)), starts, method, step_limit(40 * k + 400))
        cosine = starts[:, 0] / np.linalg.norm(starts, axis=1)
        batch = {"u": np.tile(u, (len(starts), 1)), "w": starts, "k": np.full(len(starts), k), "cosine": cosine}
        batches.append({**batch, "end": np.asarray(runs.points)})
    return {name: np.concatenate([batch[name] for batch in batches]) for name in batches[0]}


SLOPE_ONE = Claim(
    id=f"{PAPER}.section-3.slope",
    title="other slopes",
    hypotheses=("shared weights", "$c_k = 1$, $k \\in \\{1, 25, 100\\}$"),
    scope="remark",
    draw=_ends_with_slope_one,
    runs=True,
    where=lambda cosine, least=-1.0: cosine >= least,
    left=lambda u, end: np.linalg.norm(end - u, axis=-1),
    relation="<=",
    right=lambda u: 0.01 * np.linalg.norm(u, axis=-1),
    known=lambda u, w: np.linalg.norm(w - u, axis=-1),
    as_printed=Form(
        "Convergence to $u_0$ can be guaranteed for other slopes, $c_k = 1$ among them; judged as Theorem 2 is, from any "
        "start, $w_0 = -u_0$ among them.",
        recipe="""
phi = lambda a: np.exp(-a @ a / 2) * a
point, b = w, np.sqrt(k)
for _ in range(6000):  # descent, with a step below one over the largest curvature
    slope = point - u - b / 2 * (phi(2 * b * point) - phi(b * (point - u)) - phi(b * (point + u)))
    point = point - slope / (1 + 1.5 * b**2)
left = np.linalg.norm(point - u)
""",
    ),
    as_meant=Form(
        "From every start with $w_0\\cdot u_0 \\ge 0$ descent with small steps reaches $u_0$, for every slope $c_k > 0$; judged with $c_k = 1$.",
        least=0.0,
    ),
    supplied="the word “guarantees”, which leaves the starts open; Section 4.6 assumes $w_0\\cdot u_0 > 0$",
    correction="The cosine is even, so that $-u_0$ is a minimum of the high wave; with $c_k = 1$ the linear part removes it only if "
    "$\\|u_0\\|$ is large beside $\\sqrt k$. In the half-space of $u_0$ there is no other stationary point. On the line through "
    "$u_0$ the force has the right sign, since $h(t) = te^{-b^2t^2/2}$ is subadditive ($h(t)/t$ decreases); beside the line, "
    "where the force across it vanishes, the force along $u_0$ is at least $c_k^2\\|u_0\\|$.",
    control=Form("From every start whose cosine with $u_0$ is at least $-0.999$.", least=-0.999),
    arithmetic="descent in float64",
)


def _log_norm(gradient):
    return 0.5 * jnp.log(jnp.sum(gradient**2) + 1e-300)


def _around(size, along, first, rest, share):
    """A student whose patches but the first have a given share of the teacher's norm, most of them towards it."""
    u = size * along
    k = rest.shape[0] + 1
    direction = rest + 3 * u
    scaled = share * jnp.sqrt(k - 1.0) * size * direction / (jnp.sqrt(jnp.sum(direction**2)) + 1e-150)
    return {"u": u, "w": jnp.concatenate([(u + first)[None], scaled])}


def _students(size, share):
    return [
        {"size": size, "along": unit(d), "first": real((d,)), "rest": real((k - 1, d)), "share": share}
        for k, d in ((2, 1), (3, 2), (8, 1))
    ]


THEOREM_1_PART_1 = Claim(
    id=f"{PAPER}.theorem-1.part-1",
    title="small gradients in the ring",
    hypotheses=(
        *GAUSSIAN,
        "$k > 1$, $c_k = 3\\sqrt k$",
        "$\\|(w_2,\\dots,w_k)\\|$ between $\\frac13$ and $\\frac12$ of $\\sqrt{k-1}\\|u_0\\|$",
    ),
    draw=_students(log_uniform(1e-3, 15), uniform(1 / 3, 1 / 2)),
    build=_around,
    left=lambda u, w: _log_norm(exact_wave(u, w.shape[0], sharing=False).gradient(w)[1:]),
    relation="<=",
    right=lambda u, w, rate=1 / 16: jnp.log(2 * jnp.sqrt(w.shape[0] * (u @ u))) - rate * w.shape[0] * (u @ u),
    scale=1.0,
    as_printed="$\\|\\partial F/\\partial(w_2,\\dots,w_k)\\| \\le c_1\\sqrt k\\|u_0\\|e^{-c_2k\\|u_0\\|^2}$; judged in logarithms, with $c_1 = 2$, "
    "$c_2 = 1/16$.",
    control=Form("The same with $c_2 = 0.07$.", rate=0.07),
)

THEOREM_1_PART_2 = Claim(
    id=f"{PAPER}.theorem-1.part-2",
    title="the loss inside the ring",
    hypotheses=(*GAUSSIAN, "$k > 1$", "$\\|(w_2,\\dots,w_k)\\| \\le \\frac12\\sqrt{k-1}\\|u_0\\|$"),
    defect="a factor $\\frac12$ of the loss",
    draw=_students(log_uniform(1, 40), uniform(0, 1 / 2)),
    # In many instances the first patch is learned already.
    build=lambda size, along, first, rest, share: _around(size, along, jnp.maximum(first, 0.0), rest, share),
    left=lambda u, w: exact_wave(u, w.shape[0], sharing=False).loss(w),
    relation=">=",
    right=lambda u, w, level=1.0, constant=1e3, rate=1e-2: level - constant * jnp.exp(-rate * w.shape[0] * (u @ u)),
    known=0.0,
    as_printed=Form(
        "$F(w) - F(\\bar u_0) \\ge 1 - c_3e^{-c_4k\\|u_0\\|^2}$; judged with $c_3 = 10^3$, $c_4 = 10^{-2}$, and no constants help: "
        "at $w_1 = u_0$ the loss tends to $\\frac12$ as $\\|u_0\\|$ grows.",
        recipe=GAP
        + """
k = len(w)
target = np.tile(u, (k, 1))
left = 9 * k / 2 * square(w[0] - u) + gap(w, target) / 2  # F(w); F is 0 at the teacher
""",
    ),
    as_meant=Form("$F(w) - F(\\bar u_0) \\ge \\frac12 - e^{-k\\|u_0\\|^2/16}$.", level=0.5, constant=1.0, rate=1 / 16),
    supplied="the end of the proof, which bounds $2(F(w) - F(\\bar u_0))$",
    correction="A factor $\\frac12$: Lemma 10 bounds twice the loss, as the proof says, and the loss does tend to $\\frac12$.",
    control=Form("The corrected form with $0.51$ for $\\frac12$.", level=0.51, constant=1.0, rate=1 / 16),
)


# Of directions in the other patches, and of multiples of u₀ in the first, between which nothing else is faster.
_COSINES, _FIRST = np.cos(np.linspace(0, np.pi, 9))[:, None], np.linspace(-1, 1, 5)[:, None, None]


def _log_crossing(k, exponent):
    """The logarithm of the time that gradient flow takes through the ring at least, at the largest radial speed."""
    square = (exponent / k)[..., None, None, None]
    reach = np.sqrt((k - 1)[..., None, None, None] * square)
    s = reach * np.linspace(1 / 3, 1 / 2, 101)
    minus = s**2 + reach**2 - 2 * s * reach * _COSINES + (1 - _FIRST) ** 2 * square
    plus = s**2 + reach**2 + 2 * s * reach * _COSINES + (1 + _FIRST) ** 2 * square
    speed = (
        s * np.exp(-2 * (s**2 + _FIRST**2 * square))
        + 0.5 * (reach * _COSINES - s) * np.exp(-0.5 * minus)
        - 0.5 * (reach * _COSINES + s) * np.exp(-0.5 * plus)
    )
    return np.log(np.trapezoid(1 / np.max(speed, axis=(-3, -2)), s[..., 0, 0, :], axis=-1))


SECTION_3_1 = Claim(
    id=f"{PAPER}.section-3.1.iterations",
    title="the ring takes exponentially long to cross",
    hypotheses=(
        "unshared weights, a bounded step; $w_1$ anywhere (its part across $u_0$ slows all down)",
        "a start with $\\|(w_2,\\dots,w_k)\\| \\le \\frac13\\sqrt{k-1}\\|u_0\\|$",
    ),
    scope="remark",
    draw={"k": integers(2, 10), "exponent": log_uniform(2, 600)},
    left=_log_crossing,
    relation=">=",
    right=lambda exponent, rate=0.105: np.log(1 / 12) + rate * exponent,
    scale=1.0,
    as_printed="Exponentially many iterations (in $k\\|u_0\\|^2$) are needed; judged by the time of gradient flow to cross the ring by any "
    "path, at least $\\frac1{12}e^{0.105k\\|u_0\\|^2}$: at each radius the largest radial speed of all directions counts. (Theorem 1's "
    "rate is $\\frac1{16}$; that of the crossing tends to $\\frac19$ for $k = 2$, the slowest part being the inner edge.)",
    control=Form("At least $\\frac1{12}e^{0.11k\\|u_0\\|^2}$.", rate=0.11),
    arithmetic="quadrature in float64",
)


def _extremes(u, w, slope, k):
    return jnp.linalg.eigvalsh(slope**2 * k * jnp.eye(2) + cosine_hessian(w, u, jnp.sqrt(k)))


THEOREM_2_CONDITION = Claim(
    id=f"{PAPER}.theorem-2.condition",
    title="strong convexity and condition number",
    hypotheses=(*GAUSSIAN, "shared weights", "$c_k \\ge 3\\sqrt k$"),
    # In units of 1/√k the Hessian has the same shape for every k; c_k = slope·√k.
    draw={"p": real((2,)), "q": real((2,)), "r": real((2,)), "slope": log_uniform(3, 30), "k": integers(1, 1000)},
    build=lambda p, q, r, slope, k: {
        "u": p / jnp.sqrt(k),
        "w": q / jnp.sqrt(k),
        "other": r / jnp.sqrt(k),
        "slope": slope,
        "k": k,
    },
    left=lambda u, w, slope, k: _extremes(u, w, slope, k)[-1],
    relation="<=",
    right=lambda u, other, slope, k, ratio=1.3: ratio * _extremes(u, other, slope, k)[0],
    as_printed="$F$ is strongly convex, and the largest eigenvalue of its Hessian anywhere is at most five times the smallest "
    "anywhere. More is true, and judged: at most $1.3$ times, since eigenvalues lie between $c_k^2 - (1+2e^{-3/2})k$ and $c_k^2 + 0.765k$.",
    control=Form("At most $1.27$ times.", ratio=1.27),
)


def _contracted(u, w, k):
    """The distance from the teacher after a step of one over the mean of the extreme eigenvalues."""
    step = 1 / ((9 + 0.5 * (MOST - LEAST)) * k)
    return jnp.linalg.norm(w - u - step * (9 * k * (w - u) + cosine_gradient(w, u, jnp.sqrt(k))))


THEOREM_2_ITERATIONS = Claim(
    id=f"{PAPER}.theorem-2.iterations",
    title="number of iterations",
    hypotheses=(
        *GAUSSIAN,
        "shared weights",
        "$c_k = 3\\sqrt k$",
        "a step of one over the mean of the extreme eigenvalues",
    ),
    draw={"p": real((2,)), "gap": real((2,)), "k": integers(1, 1000)},
    build=lambda p, gap, k: {"u": p / jnp.sqrt(k), "w": (p + gap) / jnp.sqrt(k), "k": k},
    left=_contracted,
    relation="<=",
    right=lambda u, w, factor=0.49: jnp.exp(-1 / factor) * jnp.linalg.norm(w - u),
    as_printed="From any start $\\|w - u_0\\| \\le \\epsilon$ after at most $5\\log(\\|w^{(0)} - u_0\\|/\\epsilon)$ iterations, rounded up. More is true, "
    "and judged step by step: $0.49$ for $5$, each step shrinks the distance by $e^{-1/0.49}$.",
    control=Form("The same with $0.47$.", factor=0.47),
)
