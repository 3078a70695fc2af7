"""Sections 4.1 to 4.3 and Appendices C.1, C.2: the smooth parity, its norm, and its exact gradient."""

import jax
import jax.numpy as jnp
import numpy as np

from tutelage.claims.base import Claim, Form
from tutelage.claims.pointwise import Family, Pointwise, at_most, equal
from tutelage.claims.weight_sharing import instances
from tutelage.claims.weight_sharing.formulas import PAPER, exact_parity, overlap, own_factor, pull

_ERF = ("$\\sigma = \\operatorname{erf}$, standard Gaussian patches",)
ERF = "import math\nerf = np.vectorize(math.erf)\n"


def erf_slope(x):
    r"""The derivative of erf, $2e^{-x^2}/\sqrt\pi$."""
    return 2 / jnp.sqrt(jnp.pi) * jnp.exp(-(x**2))


def _line(count: int):
    """Nodes and weights of the trapezoidal rule for a standard Gaussian number; exponentially accurate."""
    nodes = np.linspace(-7.5, 7.5, count)
    return nodes, np.exp(-0.5 * nodes**2) / np.sqrt(2 * np.pi) * (nodes[1] - nodes[0])


def _plane(count: int = 48):
    nodes, weights = _line(count)
    grid = np.stack(np.meshgrid(nodes, nodes), axis=-1).reshape(-1, 2)
    return grid, np.outer(weights, weights).reshape(-1)


# Lemma 1 --------------------------------------------------------------------------------------------------------------


def _dual(factor: float):
    nodes, weights = _line(321)

    def check(i):
        u, w = i["u"], i["w"]
        first, second = jnp.linalg.norm(u), jnp.linalg.norm(w)
        cosine = (u @ w) / (first * second)
        # Given X along u, w·x is Gaussian, and E erf(a + bZ) = erf(a/√(1 + 2b²)).
        spread = second**2 * jnp.maximum(1 - cosine**2, 0.0)
        inner = jax.scipy.special.erf(second * cosine * nodes / jnp.sqrt(1 + 2 * spread))
        left = jnp.sum(weights * jax.scipy.special.erf(first * nodes) * inner)
        return equal(left, factor * overlap(u, w), 1e-2)

    def build(raw):
        limited = {name: instances.limited(raw[name], 5.0) for name in ("u", "w")}
        return {name: instances.nonzero(vector) for name, vector in limited.items()}

    return Pointwise(check, instances.pair_families(build, dimensions=(2,)))


LEMMA_1 = Claim(
    id=f"{PAPER}.lemma-1",
    place="Lemma 1 (Williams)",
    title="expected product of two neurons",
    hypotheses=_ERF,
    as_printed=Form(
        "$V(u, v) = \\frac2\\pi\\arcsin\\frac{2u\\cdot v}{\\sqrt{1+2\\|u\\|^2}\\sqrt{1+2\\|v\\|^2}}$, against quadrature.",
        _dual(1.0),
    ),
    control=Form("The right-hand side one per cent larger.", _dual(1.01)),
    arithmetic="trapezoidal quadrature in float64",
)


# Lemma 2 --------------------------------------------------------------------------------------------------------------


def _target_norm(bound: float):
    def check(i):
        u, k = i["u"], i["k"]
        return at_most(bound, overlap(u, u) ** k, 1e-6)

    def build(raw):
        k = 1 + jnp.floor(jnp.abs(raw["k"]) * 5)
        return {"u": jnp.array([jnp.sqrt(12) / jnp.pi]) * k * (1 + raw["t"] ** 2), "k": k}

    corners = [{"u": np.array([np.sqrt(12) / np.pi * k]), "k": float(k)} for k in (1, 2, 3, 10, 1000, 10**6)]
    return Pointwise(check, [Family({"k": (), "t": ()}, build)], corners)


LEMMA_2 = Claim(
    id=f"{PAPER}.lemma-2",
    place="Lemma 2",
    title="the target does not vanish",
    hypotheses=(*_ERF, "$\\|u_0\\|^2 \\ge \\frac{12}{\\pi^2}k^2$"),
    as_printed=Form(
        "$E[(p^{(k)}_{u_0})^2] > \\frac14$. (It is above $\\frac12$: $0.501$ at $k = 1$ and more for other $k$, $e^{-1/\\sqrt3} = "
        "0.561$ in the limit.)",
        _target_norm(0.25),
    ),
    control=Form("It is above $0.51$.", _target_norm(0.51)),
)


def _power(bound: float, least: int):
    def check(i):
        return at_most(bound, (1 - 1 / i["k"]) ** i["k"], 0.1)

    return Pointwise(
        check,
        [Family({"k": ()}, lambda raw: {"k": least + jnp.floor(jnp.abs(raw["k"]) * 3)})],
        [{"k": float(least)}],
    )


SECTION_C_1 = Claim(
    id=f"{PAPER}.section-C.1.power",
    place="Appendix C.1, proof of Lemma 2",
    title="an inequality in the proof of Lemma 2",
    hypotheses=("$k \\in \\mathbb N$",),
    as_printed=Form(
        "$(1 - 1/k)^k > \\frac14$.",
        _power(0.25, 1),
        recipe="left = 0.25\nright = (1 - 1 / k) ** k\n",
    ),
    corrected=Form("$(1 - 1/k)^k > \\frac14$ for $k \\ge 3$.", _power(0.25 + 1e-6, 3)),
    correction="It is 0 at $k = 1$ and equal to $\\frac14$ at $k = 2$. Lemma 2 holds there all the same, since $V(u_0, u_0)$ is well "
    "above $1 - 1/k$.",
    control=Form("$(1 - 1/k)^k > \\frac13$ for $k \\ge 3$.", _power(1 / 3, 3)),
)


# Lemma 3 --------------------------------------------------------------------------------------------------------------


def _decouples(shapes, weight: float = 1.0):
    """Against quadrature of the definition, with one number a patch (d = 1) and one or two patches."""
    nodes, weights = _line(96)
    erf = jax.scipy.special.erf

    def check(i):
        u, w = i["u"][0], i["w"][:, 0]
        k = w.shape[0]
        student, teacher = erf(w[:, None] * nodes), erf(u * nodes)
        if k == 1:
            gap = 2 * student[0] - 2 * teacher
            left = 0.5 * jnp.sum(weights * gap**2)
        else:
            low = student[0] - teacher
            gap = low[:, None] + student[0][:, None] * student[1][None] - teacher[:, None] * teacher[None]
            left = 0.5 * jnp.sum(weights[:, None] * weights[None] * gap**2)
        rows, target = i["w"], i["u"]
        own = jnp.stack([overlap(row, row) for row in rows])
        cross = jnp.stack([overlap(target, row) for row in rows])
        square = overlap(target, target)
        first = 0.5 * (own[0] - 2 * cross[0] + square)
        high = 0.5 * (jnp.prod(own) - 2 * jnp.prod(cross) + square**k)
        return equal(left, first + weight * high, 1e-2)

    def build(raw):
        return {"u": instances.nonzero(instances.limited(raw["u"], 2.0)), "w": instances.limited(raw["w"], 2.0)}

    def shared(raw):
        built = build(raw)
        return {**built, "w": jnp.broadcast_to(built["w"][:1], built["w"].shape)}

    families = instances.unshared_families(build, shapes)
    return Pointwise(check, families + instances.unshared_families(shared, shapes[-1:]))


LEMMA_3 = Claim(
    id=f"{PAPER}.lemma-3",
    place="Lemma 3",
    title="low and high degree decouple",
    hypotheses=_ERF,
    as_printed=Form(
        "$F^{(1,k)} = F^{(1)} + F^{(k)}$ for both architectures and all $k \\in \\mathbb N$; against quadrature, $k \\in \\{1, 2\\}$.",
        _decouples(((1, 1), (2, 1))),
        recipe=ERF
        + """
k = len(w)
x = np.random.default_rng(0).normal(size=(200_000, k))
student, teacher = erf(x * w[:, 0]), erf(x * u[0])
low, high = student[:, 0] - teacher[:, 0], student.prod(axis=1) - teacher.prod(axis=1)
left = 0.5 * np.mean((low + high) ** 2)
right = 0.5 * np.mean(low**2) + 0.5 * np.mean(high**2)
""",
    ),
    corrected=Form("The same for $k \\ge 2$; against quadrature, $k = 2$.", _decouples(((2, 1),))),
    correction="At $k = 1$ both terms are the same, $F^{(1,1)} = 4F^{(1)}$; the proof needs a patch besides the first. (Its displays "
    "drop the factor $\\frac12$ of the loss, without consequence here.)",
    control=Form("$F^{(1)} + 1.01\\,F^{(k)}$ for $k = 2$.", _decouples(((2, 1),), 1.01)),
    arithmetic="trapezoidal quadrature in float64",
)


# Lemma 4 --------------------------------------------------------------------------------------------------------------


def _symmetry(sign: float):
    erf = jax.scipy.special.erf

    def predict(w, x):
        return jnp.prod(erf(jnp.sum(w * x, axis=1)))

    def check(i):
        w, other, x = i["w"], i["other"], i["x"]
        left = predict(w, x) * jax.grad(predict)(other, x)
        right = sign * predict(w, -x) * jax.grad(predict)(other, -x)
        shared = jnp.sum(left, axis=0), jnp.sum(right, axis=0)
        return equal(jnp.concatenate([left, shared[0][None]]), jnp.concatenate([right, shared[1][None]]), 1e-3)

    def build(raw):
        return {name: raw[name] for name in ("w", "other", "x")}

    return Pointwise(check, [Family({"w": (k, d), "other": (k, d), "x": (k, d)}, build) for k, d in instances.SHAPES])


LEMMA_4 = Claim(
    id=f"{PAPER}.lemma-4",
    place="Lemma 4",
    title="symmetry of prediction times gradient",
    hypotheses=("$\\sigma = \\operatorname{erf}$", "any $k$, $w$, $w'$, $x$"),
    as_printed=Form(
        "$p_w(x)\\,g_{w'}(x) = p_w(-x)\\,g_{w'}(-x)$, with and without sharing.",
        _symmetry(1.0),
    ),
    control=Form("The same with a minus.", _symmetry(-1.0)),
)


# Lemma 5 --------------------------------------------------------------------------------------------------------------


def _patch_expectations(w, u):
    """E[σ(u·x)σ'(w·x)x] and E[σ(u·x)σ(w·x)] by quadrature in the plane."""
    grid, weights = _plane()
    first = jax.scipy.special.erf(grid @ u)
    vector = jnp.sum((weights * first * erf_slope(grid @ w))[:, None] * grid, axis=0)
    return vector, jnp.sum(weights * first * jax.scipy.special.erf(grid @ w))


def _own_term(most: float, factor: float = 1.0):
    def check(i):
        first, others = i["w"][0], i["w"][1:]
        products = jnp.stack([_patch_expectations(w, w)[1] for w in others])
        left = jnp.prod(products) * _patch_expectations(first, first)[0]
        closed = jnp.stack([overlap(w, w) for w in others])
        right = factor * jnp.prod(closed) * own_factor(first) * first
        shown = equal(left, right, 1e-2)
        return {**shown, "margin": jnp.minimum(shown["margin"], most - own_factor(first)), "c1": own_factor(first)}

    def build(raw):
        return {"w": raw["w"] * jnp.minimum(1.0, 1 / (jnp.linalg.norm(raw["w"], axis=1, keepdims=True) + 1e-12))}

    return Pointwise(check, [Family({"w": (2, 2)}, build)])


_C1_RECIPE = (
    ERF
    + """
n = np.linalg.norm(w[0] if w.ndim == 2 else w)
x = np.linspace(-10, 10, 4001)
density = np.exp(-x**2 / 2) / np.sqrt(2 * np.pi)
left = np.sum(density * erf(n * x) * 2 / np.sqrt(np.pi) * np.exp(-(n * x) ** 2) * x) * (x[1] - x[0]) / n  # c1(w)
right = 1.0
"""
)
_C1_CORRECTION = (
    "$c_1(w) = \\frac4\\pi(1+2\\|w\\|^2)^{-1}(1+4\\|w\\|^2)^{-1/2}$ is above one for $\\|w\\| < 0.24$, and tends to "
    "$4/\\pi$ at zero."
)

LEMMA_5_OWN = Claim(
    id=f"{PAPER}.lemma-5.own",
    place="Lemma 5, first formula",
    title="exact gradient, own part",
    hypotheses=_ERF,
    as_printed=Form(
        "$E[p_w g_l] = (\\prod_{j\\ne l}V(w_j, w_j))\\,c_1(w_l)\\,w_l$ with $0 < c_1 < 1$; against quadrature, $k = d = 2$.",
        _own_term(1.0),
        recipe=_C1_RECIPE,
    ),
    corrected=Form("The same with $0 < c_1 \\le 4/\\pi$.", _own_term(4 / np.pi + 1e-9)),
    correction=_C1_CORRECTION,
    control=Form("The corrected form one per cent larger.", _own_term(4 / np.pi + 1e-9, 1.01)),
    arithmetic="trapezoidal quadrature in float64",
)


def _target_term(factor: float):
    def check(i):
        u, first, others = i["u"], i["w"][0], i["w"][1:]
        products = jnp.stack([_patch_expectations(w, u)[1] for w in others])
        left = jnp.prod(products) * _patch_expectations(first, u)[0]
        closed = jnp.stack([overlap(u, w) for w in others])
        return equal(left, factor * jnp.prod(closed) * pull(first, u), 1e-2)

    def build(raw):
        rows = raw["w"] * jnp.minimum(1.0, 1 / (jnp.linalg.norm(raw["w"], axis=1, keepdims=True) + 1e-12))
        return {"u": instances.limited(raw["u"], 1.0), "w": rows}

    return Pointwise(check, [Family({"u": (2,), "w": (2, 2)}, build)])


LEMMA_5_TARGET = Claim(
    id=f"{PAPER}.lemma-5.target",
    place="Lemma 5, second formula",
    title="exact gradient, teacher's part",
    hypotheses=_ERF,
    as_printed=Form(
        "$E[p_{u_0}g_l] = (\\prod_{j\\ne l}V(u_0, w_j))\\,\\tilde b_l$ with $\\tilde b_l$ a combination of $w_l$ and $u_0$; in closed "
        "form $\\tilde b = \\frac4{\\pi\\sqrt{1-\\rho^2}}(u_0/D - \\rho w/(1+2\\|w\\|^2))$, $D = "
        "\\sqrt{(1+2\\|u_0\\|^2)(1+2\\|w\\|^2)}$, $\\rho = 2u_0\\cdot w/D$; against quadrature, $k = d = 2$.",
        _target_term(1.0),
    ),
    control=Form("The right-hand side one per cent larger.", _target_term(1.01)),
    arithmetic="trapezoidal quadrature in float64",
)


def _shared_own(most: float, factor: float = 1.0):
    def check(i):
        w = i["w"]
        margins = []
        for k in (2, 3, 5):
            left = jax.grad(lambda point, k=k: 0.5 * overlap(point, point) ** k)(w)
            right = factor * k * overlap(w, w) ** (k - 1) * own_factor(w) * w
            margins.append(equal(left, right, 1e-2)["margin"])
        margin = jnp.minimum(jnp.min(jnp.stack(margins)), most - own_factor(w))
        return {"margin": margin, "left": own_factor(w), "right": jnp.asarray(most)}

    return Pointwise(check, [Family({"w": (2,)}, lambda raw: {"w": instances.nonzero(raw["w"])})])


COROLLARY_1_OWN = Claim(
    id=f"{PAPER}.corollary-1.own",
    place="Corollary 1, first formula",
    title="exact gradient with sharing, own part",
    hypotheses=_ERF,
    as_printed=Form(
        "$E[p_{w_0}g_0] = k\\,V(w_0, w_0)^{k-1}c_1(w_0)\\,w_0$ with $0 < c_1 < 1$.",
        _shared_own(1.0),
        recipe=_C1_RECIPE,
    ),
    corrected=Form("The same with $0 < c_1 \\le 4/\\pi$.", _shared_own(4 / np.pi + 1e-9)),
    correction=_C1_CORRECTION,
    control=Form("The corrected form one per cent larger.", _shared_own(4 / np.pi + 1e-9, 1.01)),
)


def _shared_target(factor: float):
    def check(i):
        u, w = i["u"], i["w"]
        margins = []
        for k in (2, 3):
            exact = exact_parity(u, k, (k,), sharing=True).gradient(w)
            own = k * overlap(w, w) ** (k - 1) * own_factor(w) * w
            target = factor * k * overlap(u, w) ** (k - 1) * pull(w, u)
            margins.append(equal(exact, own - target, 1e-2)["margin"])
        return {"margin": jnp.min(jnp.stack(margins))}

    return Pointwise(check, instances.pair_families(dimensions=(2,)))


COROLLARY_1_TARGET = Claim(
    id=f"{PAPER}.corollary-1.target",
    place="Corollary 1, second formula",
    title="exact gradient with sharing, teacher's part",
    hypotheses=_ERF,
    as_printed=Form(
        "$E[p_{u_0}g_0] = k\\,V(u_0, w_0)^{k-1}\\,\\tilde b$; the difference of both parts against the gradient of the exact loss, $k "
        "\\in \\{2, 3\\}$.",
        _shared_target(1.0),
    ),
    control=Form("The teacher's part one per cent larger.", _shared_target(1.01)),
)


def _pull_norm(bound: float):
    def check(i):
        return at_most(jnp.linalg.norm(pull(i["w"], i["u"])), bound, 1e-6)

    corner = {"u": np.array([1e4, 0.0]), "w": np.zeros(2)}
    return Pointwise(check, instances.pair_families(dimensions=(2,)), [corner])


SECTION_C_3_NORM = Claim(
    id=f"{PAPER}.section-C.3.norm",
    place="Appendix C.3, proof of Theorem 3",
    title="norm of the teacher's part",
    hypotheses=_ERF,
    as_printed=Form(
        "$\\|\\tilde b_l\\| < 1$. (It is below $2\\sqrt2/\\pi = 0.9003$, approached at $w = 0$, $\\|u_0\\| \\to \\infty$.)",
        _pull_norm(1.0),
    ),
    control=Form("$\\|\\tilde b_l\\| \\le 0.9$.", _pull_norm(0.9)),
)

MAIN = (
    LEMMA_1,
    LEMMA_2,
    LEMMA_3,
    LEMMA_4,
    LEMMA_5_OWN,
    LEMMA_5_TARGET,
    COROLLARY_1_OWN,
    COROLLARY_1_TARGET,
)
APPENDIX = (SECTION_C_1, SECTION_C_3_NORM)
CLAIMS = (*MAIN, *APPENDIX)
