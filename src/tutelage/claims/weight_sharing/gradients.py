"""Sections 4.1 to 4.3 and Appendices C.1, C.2: the smooth parity, its norm, and its exact gradient."""

import numpy as np
from scipy.special import erf

from tutelage.claims import Claim, Form, Relation, choice, integers, log_uniform, real, uniform
from tutelage.claims.weight_sharing.formulas import PAPER, dot, overlap, own_factor, parity_loss, pull, teacher_norm

_ERF = ("$\\sigma = \\operatorname{erf}$, standard Gaussian patches",)
_QUADRATURE = "trapezoidal quadrature in float64"
ERF = "import math\nerf = np.vectorize(math.erf)\n"


def _line(count: int):
    """Nodes and weights of the trapezoidal rule for a standard Gaussian number; exponentially accurate."""
    nodes = np.linspace(-7.5, 7.5, count)
    return nodes, np.exp(-0.5 * nodes**2) / np.sqrt(2 * np.pi) * (nodes[1] - nodes[0])


_NODES, _WEIGHTS = _line(48)
_GRID = np.stack(np.meshgrid(_NODES, _NODES), axis=-1).reshape(-1, 2)
_MASSES = np.outer(_WEIGHTS, _WEIGHTS).reshape(-1)
_FINE, _FINE_WEIGHTS = _line(321)
_LINE, _LINE_WEIGHTS = _line(96)


def erf_slope(x):
    r"""The derivative of erf, $2e^{-x^2}/\sqrt\pi$."""
    return 2 / np.sqrt(np.pi) * np.exp(-(x**2))


def _polar(size, turn):
    return size[..., None] * np.stack([np.cos(turn), np.sin(turn)], axis=-1)


def overlap_by_quadrature(u, w):
    """V(u, w) from its definition; exact to ten digits for norms up to five."""
    first, second = np.linalg.norm(u, axis=-1), np.linalg.norm(w, axis=-1)
    cosine = dot(u, w) / (first * second)
    # Given X along u, w·x is Gaussian, and E erf(a + bZ) = erf(a/√(1 + 2b²)).
    slope = second * cosine / np.sqrt(1 + 2 * second**2 * np.maximum(1 - cosine**2, 0.0))
    return np.sum(_FINE_WEIGHTS * erf(first[..., None] * _FINE) * erf(slope[..., None] * _FINE), -1)


LEMMA_1 = Claim(
    id=f"{PAPER}.lemma-1",
    title="expected product of two neurons",
    hypotheses=_ERF,
    draw={"first": log_uniform(1e-3, 5), "second": log_uniform(1e-3, 5), "turn": uniform(0, np.pi)},
    build=lambda first, second, turn: {"u": _polar(first, 0 * turn), "w": _polar(second, turn)},
    left=overlap_by_quadrature,
    relation="==",
    right=lambda u, w, factor=1.0: factor * overlap(u, w),
    scale=1e-2,
    as_printed="$V(u, v) = \\frac2\\pi\\arcsin\\frac{2u\\cdot v}{\\sqrt{1+2\\|u\\|^2}\\sqrt{1+2\\|v\\|^2}}$, against quadrature. (By one glyph the "
    "expectation is printed with $w$ for $v$.)",
    control=Form("The right-hand side one per cent larger.", factor=1.01),
    arithmetic=_QUADRATURE,
)

_PANELS, _PANEL_WEIGHTS = (part / 2 for part in np.polynomial.legendre.leggauss(24))


def tanh_square(k):
    """E tanh²(u₀·x), by Gauss–Legendre panels that are fine where tanh bends."""
    reach = teacher_norm(k)[..., None, None]
    edges = np.r_[0.0, np.geomspace(0.02, 40, 40)] / (1 + reach[..., 0])
    left, width = edges[..., :-1, None], np.diff(edges)[..., None]
    x = left + width * (_PANELS + 0.5)
    inside = np.sum(
        width * _PANEL_WEIGHTS * np.cosh(np.minimum(reach * x, 350.0)) ** -2 * np.exp(-(x**2) / 2), (-1, -2)
    )
    return 1 - inside * np.sqrt(2 / np.pi)


SECTION_4_1_TANH = Claim(
    id=f"{PAPER}.section-4.1.tanh",
    title="the target does not vanish for tanh either",
    hypotheses=("$\\sigma = \\tanh$, standard Gaussian patches", "$\\|u_0\\|^2 = \\frac{12}{\\pi^2}k^2$"),
    scope="remark",
    draw={"k": integers(1, 1000)},
    left=lambda k: tanh_square(k) ** k,
    relation=">=",
    right=lambda bound=0.429: bound,
    as_printed="The analysis is believed to hold for tanh too; judged by Lemma 2, $E[(p^{(k)}_{u_0})^2] > \\frac14$. More is true, and judged: it is above $0.429$ "
    "(at $k = 1$; $e^{-\\sqrt{\\pi/6}} = 0.485$ in the limit).",
    control=Form("It is above $0.431$.", bound=0.431),
    arithmetic="Gauss–Legendre quadrature in float64",
)

LEMMA_2 = Claim(
    id=f"{PAPER}.lemma-2",
    title="the target does not vanish",
    hypotheses=(*_ERF, "$\\|u_0\\|^2 \\ge \\frac{12}{\\pi^2}k^2$"),
    draw={"k": integers(1, 10**5), "stretch": log_uniform(1, 100)},
    build=lambda k, stretch: {"u": (teacher_norm(k) * stretch)[..., None], "k": k},
    left=lambda u, k: overlap(u, u) ** k,
    relation=">=",
    right=lambda bound=0.5: bound,
    as_printed="$E[(p^{(k)}_{u_0})^2] > \\frac14$. More is true, and judged: it is above $\\frac12$ ($0.501$ at $k = 1$ and more for other $k$, "
    "$e^{-1/\\sqrt3} = 0.561$ in the limit).",
    control=Form("It is above $0.505$.", bound=0.505),
)

SECTION_C_1 = Claim(
    id=f"{PAPER}.section-C.1.power",
    title="an inequality in the proof of Lemma 2",
    hypotheses="$k \\in \\mathbb N$",
    draw={"k": integers(1, 1000)},
    where=lambda k, least=1: k >= least,
    left=lambda k: (1 - 1 / k) ** k,
    relation=">=",
    right=lambda bound=0.25: bound,
    as_printed="$(1 - 1/k)^k > \\frac14$.",
    as_meant=Form("$(1 - 1/k)^k \\ge \\frac14$ for $k \\ge 2$, with equality at $k = 2$.", least=2),
    supplied="the last line of the same proof, which takes $a = 1/k$ from $[0, \\frac12]$",
    corrected=Form("$(1 - 1/k)^k \\ge \\frac8{27} > \\frac14$ for $k \\ge 3$.", bound=8 / 27, least=3),
    correction="It is 0 at $k = 1$ and equal to $\\frac14$ at $k = 2$. Lemma 2 holds there all the same, since $V(u_0, u_0)$ is well "
    "above $1 - 1/k$.",
    control=Form("$(1 - 1/k)^k \\ge 0.3$ for $k \\ge 3$.", bound=0.3, least=3),
)


def loss_by_quadrature(u, w):
    """F^(1,k) from its definition, with one number per patch and one or two patches."""
    student, teacher = erf(w[..., None] * _LINE), erf(u[..., None] * _LINE)
    low = student[..., 0, :] - teacher
    if w.shape[-1] == 1:
        return 0.5 * np.sum(_LINE_WEIGHTS * (2 * low) ** 2, -1)
    high = student[..., 0, :, None] * student[..., 1, None, :] - teacher[..., :, None] * teacher[..., None, :]
    return 0.5 * np.sum(_LINE_WEIGHTS[:, None] * _LINE_WEIGHTS * (low[..., None] + high) ** 2, (-1, -2))


_ONE_PATCH = {"u": uniform(-2, 2), "w": uniform(-2, 2, (1,))}
_TWO_PATCHES = {"u": uniform(-2, 2), "w": uniform(-2, 2, (2,))}
LEMMA_3 = Claim(
    id=f"{PAPER}.lemma-3",
    title="low and high degree decouple",
    hypotheses=(*_ERF, "$d = 1$"),
    draw=[_ONE_PATCH, _TWO_PATCHES],
    left=loss_by_quadrature,
    relation="==",
    right=lambda u, w, factor=1.0: factor * parity_loss(w[..., None], u[..., None]),
    scale=1e-2,
    as_printed=Form(
        "$F^{(1,k)} = F^{(1)} + F^{(k)}$ for both architectures and all $k \\in \\mathbb N$; against quadrature, $k \\in \\{1, 2\\}$.",
        recipe=ERF
        + """
k = len(w)
x = np.random.default_rng(0).normal(size=(200_000, k))
student, teacher = erf(x * w), erf(x * u)
low, high = student[:, 0] - teacher[:, 0], student.prod(axis=1) - teacher.prod(axis=1)
left = 0.5 * np.mean((low + high) ** 2)
right = 0.5 * np.mean(low**2) + 0.5 * np.mean(high**2)
""",
    ),
    as_meant=Form(
        "The same for $k \\ge 2$; against quadrature, $k = 2$ (sharing is the case of equal rows).", draw=_TWO_PATCHES
    ),
    supplied='Section 4, "Sum of low and high degree parities", and the proof, which integrates over a patch besides the first',
    correction="At $k = 1$ both terms are the same, $F^{(1,1)} = 4F^{(1)}$; the proof needs a patch besides the first. (Its displays "
    "drop the factor $\\frac12$ of the loss, without consequence here.)",
    control=Form("One per cent more, for $k = 2$.", draw=_TWO_PATCHES, factor=1.01),
    arithmetic=_QUADRATURE,
)


def _predict(w, x):
    return np.prod(erf(np.sum(w * x, -1)), -1)


def _gradients(w, x):
    """The gradients of a prediction in all patches, written out, and that in a shared vector, their sum."""
    inner = np.sum(w * x, -1)
    others = [np.prod(erf(np.delete(inner, patch, -1)), -1) for patch in range(w.shape[-2])]
    rows = (np.stack(others, -1) * erf_slope(inner))[..., None] * x
    return np.concatenate([rows, rows.sum(-2, keepdims=True)], axis=-2)


def _differences(w, x):
    """The same by complex steps, which lose no digits."""
    steps = 1e-30j * np.eye(w.shape[-2] * w.shape[-1]).reshape(-1, *w.shape[-2:])
    moved = [_predict(w + step, x).imag / 1e-30 for step in steps]
    rows = np.stack(moved, -1).reshape(w.shape)
    return np.concatenate([rows, rows.sum(-2, keepdims=True)], axis=-2)


LEMMA_4 = Claim(
    id=f"{PAPER}.lemma-4",
    title="symmetry of prediction times gradient",
    hypotheses=("$\\sigma = \\operatorname{erf}$", "any $k$, $w$, $w'$, $x$"),
    draw=[{name: real(shape) for name in ("w", "other", "x")} for shape in ((2, 1), (3, 2))],
    # By two formulas, since erf is odd to the last bit: one of them would agree with itself.
    left=lambda w, other, x: _predict(w, x)[..., None, None] * _gradients(other, x),
    relation="==",
    right=lambda w, other, x, factor=1.0: factor * _predict(w, -x)[..., None, None] * _differences(other, -x),
    scale=1e-3,
    as_printed="$p_w(x)\\,g_{w'}(x) = p_w(-x)\\,g_{w'}(-x)$, with and without sharing; the left gradient written out, the right one by "
    "complex differences.",
    control=Form("One per cent more on the right.", factor=1.01),
)


def _patch_expectations(w, u):
    """E[σ(u·x)σ'(w·x)x] and E[σ(u·x)σ(w·x)] by quadrature in the plane."""
    first, inner = _MASSES * erf(u @ _GRID.T), w @ _GRID.T
    return (first * erf_slope(inner)) @ _GRID, np.sum(first * erf(inner), -1)


_C1_RECIPE = (
    ERF
    + """
n = np.linalg.norm(w[0] if w.ndim == 2 else w)
x = np.linspace(-10, 10, 4001)
density = np.exp(-x**2 / 2) / np.sqrt(2 * np.pi)
left = np.sum(density * erf(n * x) * 2 / np.sqrt(np.pi) * np.exp(-(n * x) ** 2) * x) * (x[1] - x[0]) / n  # c1(w)
"""
)
_C1_CORRECTION = (
    "$c_1(w) = \\frac4\\pi(1+2\\|w\\|^2)^{-1}(1+4\\|w\\|^2)^{-1/2}$ is above one for $\\|w\\| < 0.24$, and tends to "
    "$4/\\pi$ at zero."
)
_C1_DEFECT = "$c_1 < 1$"
_ROWS = {"sizes": log_uniform(1e-3, 1, (2,)), "turns": uniform(-np.pi, np.pi, (2,)), "u": uniform(-0.7, 0.7, (2,))}


def _row(sizes, turns, u):
    return {"w": _polar(sizes, turns), "u": u}


LEMMA_5_OWN = Claim(
    id=f"{PAPER}.lemma-5.own",
    title="exact gradient, own part",
    hypotheses=_ERF,
    defect=_C1_DEFECT,
    draw=_ROWS,
    build=_row,
    left=lambda w: own_factor(w[..., 0, :]),
    relation="<=",
    right=lambda most=1.0: most,
    also=[
        Relation(
            _ROWS,
            build=_row,
            left=lambda w: (
                _patch_expectations(w[..., 1, :], w[..., 1, :])[1][..., None]
                * _patch_expectations(w[..., 0, :], w[..., 0, :])[0]
            ),
            relation="==",
            right=lambda w: (overlap(w, w)[..., 1] * own_factor(w)[..., 0])[..., None] * w[..., 0, :],
            scale=1e-2,
        )
    ],
    as_printed=Form(
        "$E[p_w g_l] = (\\prod_{j\\ne l}V(w_j, w_j))\\,c_1(w_l)\\,w_l$ with $0 < c_1 < 1$; against quadrature, $k = d = 2$.",
        recipe=_C1_RECIPE,
    ),
    corrected=Form("The same with $0 < c_1 \\le 4/\\pi$.", most=4 / np.pi),
    correction=_C1_CORRECTION,
    control=Form("The same with $c_1 \\le 1.27$.", most=1.27),
    arithmetic=_QUADRATURE,
)

LEMMA_5_TARGET = Claim(
    id=f"{PAPER}.lemma-5.target",
    title="exact gradient, teacher's part",
    hypotheses=_ERF,
    draw=_ROWS,
    build=_row,
    left=lambda u, w: _patch_expectations(w[..., 1, :], u)[1][..., None] * _patch_expectations(w[..., 0, :], u)[0],
    relation="==",
    right=lambda u, w, factor=1.0: factor * overlap(u, w[..., 1, :])[..., None] * pull(w[..., 0, :], u),
    scale=1e-2,
    as_printed="$E[p_{u_0}g_l] = (\\prod_{j\\ne l}V(u_0, w_j))\\,\\tilde b_l$ with $\\tilde b_l$ a combination of $w_l$ and $u_0$; in closed "
    "form $\\tilde b = \\frac4{\\pi\\sqrt{1-\\rho^2}}(u_0/D - \\rho w/(1+2\\|w\\|^2))$, $D = "
    "\\sqrt{(1+2\\|u_0\\|^2)(1+2\\|w\\|^2)}$, $\\rho = 2u_0\\cdot w/D$; against quadrature, $k = d = 2$.",
    control=Form("The right-hand side one per cent larger.", factor=1.01),
    arithmetic=_QUADRATURE,
)


def _shared_by_quadrature(w, u):
    """E[p_u g_0] of a shared number (d = 1) and two patches, from the definition, over the whole plane."""
    of_teacher = erf(u * _LINE)[..., :, None] * erf(u * _LINE)[..., None, :]
    student, slope = erf(w * _LINE), _LINE * erf_slope(w * _LINE)
    gradient = slope[..., :, None] * student[..., None, :] + student[..., :, None] * slope[..., None, :]
    return np.sum(_LINE_WEIGHTS[:, None] * _LINE_WEIGHTS * of_teacher * gradient, (-1, -2))[..., None]


def _shared_patch_by_patch(w, u, k):
    """The same for k patches in the plane (d = 2): patches are independent, each is integrated over the plane."""
    gradient, product = _patch_expectations(w, u)
    return (k * product ** (k - 1))[..., None] * gradient


def _own_shared(w, k):
    return (k * overlap(w, w) ** (k - 1) * own_factor(w))[..., None] * w


def _target_shared(u, w, k, factor=1.0):
    return factor * (k * overlap(u, w) ** (k - 1))[..., None] * pull(w, u)


_SHARED = {"w": log_uniform(1e-3, 2, (1,)), "u": uniform(-2, 2, (1,)), "k": choice((2,))}
_SHARED_PLANES = {
    "size": log_uniform(1e-3, 1),
    "turn": uniform(-np.pi, np.pi),
    "u": uniform(-0.7, 0.7, (2,)),
    "k": integers(2, 5),
}
_BY_QUADRATURE = "by quadrature: of the definition for $k = 2$, $d = 1$, patch by patch for $k \\le 5$, $d = 2$"


def _in_the_plane(size, turn, u, k):
    return {"w": _polar(size, turn), "u": u, "k": k}


COROLLARY_1_OWN = Claim(
    id=f"{PAPER}.corollary-1.own",
    title="exact gradient with sharing, own part",
    hypotheses=(*_ERF, f"the formula {_BY_QUADRATURE}"),
    defect=_C1_DEFECT,
    draw=_SHARED,
    left=own_factor,
    relation="<=",
    right=lambda most=1.0: most,
    also=[
        Relation(_SHARED, lambda w: _shared_by_quadrature(w, w), "==", _own_shared, scale=1e-2),
        Relation(
            _SHARED_PLANES,
            lambda w, k: _shared_patch_by_patch(w, w, k),
            "==",
            _own_shared,
            build=_in_the_plane,
            scale=1e-2,
        ),
    ],
    as_printed=Form("$E[p_{w_0}g_0] = k\\,V(w_0, w_0)^{k-1}c_1(w_0)\\,w_0$ with $0 < c_1 < 1$.", recipe=_C1_RECIPE),
    corrected=Form("The same with $0 < c_1 \\le 4/\\pi$.", most=4 / np.pi),
    correction=_C1_CORRECTION,
    control=Form("The same with $c_1 \\le 1.27$.", most=1.27),
    arithmetic=_QUADRATURE,
)

COROLLARY_1_TARGET = Claim(
    id=f"{PAPER}.corollary-1.target",
    title="exact gradient with sharing, teacher's part",
    hypotheses=(*_ERF, _BY_QUADRATURE),
    draw=_SHARED_PLANES,
    build=_in_the_plane,
    left=_shared_patch_by_patch,
    relation="==",
    right=_target_shared,
    scale=1e-2,
    also=[Relation(_SHARED, _shared_by_quadrature, "==", _target_shared, scale=1e-2)],
    as_printed="$E[p_{u_0}g_0] = k\\,V(u_0, w_0)^{k-1}\\,\\tilde b$.",
    control=Form("The right-hand side one per cent larger.", factor=1.01),
    arithmetic=_QUADRATURE,
)

SECTION_C_3_NORM = Claim(
    id=f"{PAPER}.section-C.3.norm",
    title="norm of the teacher's part",
    hypotheses=_ERF,
    draw={"first": log_uniform(1e-3, 1e4), "second": log_uniform(1e-6, 1e4), "turn": uniform(0, np.pi)},
    build=lambda first, second, turn: {"u": _polar(first, 0 * turn), "w": _polar(second, turn)},
    left=lambda u, w: np.linalg.norm(pull(w, u), axis=-1),
    relation="<=",
    right=lambda bound: bound,
    as_printed=Form(
        "$\\|\\tilde b_l\\| < 1$. More is true, and judged: it is below $2\\sqrt2/\\pi = 0.9003$, approached at $w = 0$, $\\|u_0\\| \\to \\infty$.",
        bound=2 * np.sqrt(2) / np.pi,
    ),
    control=Form("$\\|\\tilde b_l\\| \\le 0.9$.", bound=0.9),
)
