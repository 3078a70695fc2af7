"""Sections 2 and A: the population loss, its gradients, and the Gaussian identities behind them."""

import jax
import jax.numpy as jnp

from tutelage.activations import ReLU
from tutelage.claims.base import Claim, Form
from tutelage.claims.convolutional_filter import instances
from tutelage.claims.convolutional_filter.formulas import (
    angle,
    exact,
    g,
    printed_filter_gradient,
    printed_output_gradient,
)
from tutelage.claims.pointwise import Pointwise, equal
from tutelage.duals import Quadrature, dual, mean
from tutelage.inputs import gaussian
from tutelage.models import FilterAndOutput

PAPER = "convolutional_filter"

ANGLE = """
norm = np.linalg.norm
phi = np.arccos(np.clip(v @ w_star / norm(v) / norm(w_star), -1, 1))
g = np.cos(phi) * (np.pi - phi + np.sin(phi) * np.cos(phi)) + np.sin(phi) ** 3
"""

_SAMPLE = """
Z = np.random.default_rng(0).normal(size=(400_000, len(a), len(v)))
relu = lambda x: np.maximum(x, 0)
"""


def _loss(cross_factor):
    def check(i):
        v, a, w_star, a_star = i["v"], i["a"], i["w_star"], i["a_star"]
        scale, value = jnp.linalg.norm(w_star), g(angle(v, w_star))
        sums = jnp.sum(a) * jnp.sum(a_star)
        printed = 0.5 * (
            (jnp.pi - 1) * scale**2 / (2 * jnp.pi) * (a_star @ a_star)
            + (jnp.pi - 1) / (2 * jnp.pi) * (a @ a)
            - 2 * (value - 1) * scale / (2 * jnp.pi) * (a @ a_star)
            + scale**2 / (2 * jnp.pi) * jnp.sum(a_star) ** 2
            + jnp.sum(a) ** 2 / (2 * jnp.pi)
            - 2 * scale * sums * cross_factor
        )
        natural = scale**2 * (a_star @ a_star) + a @ a
        return equal(exact(w_star, a_star).loss(FilterAndOutput(v, a)), printed, natural)

    return Pointwise(check, instances.families(instances.anywhere))


THEOREM_2_1 = Claim(
    id=f"{PAPER}.theorem-2.1",
    place="Theorem 2.1, Equation (3)",
    title="population loss",
    hypotheses=("patches are independent standard Gaussian vectors", "$v \\ne 0$"),
    as_printed=Form(
        "The loss is Equation (3), with the cross term $-2\\|w^*\\|\\,(\\mathbf 1\\cdot a)(\\mathbf 1\\cdot a^*)$ "
        "inside the bracket.",
        _loss(1.0),
        recipe=ANGLE
        + _SAMPLE
        + """
difference = relu(Z @ v) @ a / norm(v) - relu(Z @ w_star) @ a_star
left = 0.5 * np.mean(difference**2)  # sampled; its standard error is about 0.3 % of it
s = norm(w_star)
right = 0.5 * ((np.pi - 1) / (2 * np.pi) * (s**2 * a_star @ a_star + a @ a) - 2 * (g - 1) * s / (2 * np.pi) * a @ a_star
    + (s**2 * a_star.sum() ** 2 + a.sum() ** 2) / (2 * np.pi) - 2 * s * a.sum() * a_star.sum())
""",
    ),
    corrected=Form("The same with the cross term divided by $2\\pi$, as the other terms are.", _loss(1 / (2 * jnp.pi))),
    correction="The last term of Equation (3) misses the factor $1/(2\\pi)$ that its derivation in Section A gives it.",
    control=Form("The loss without that cross term.", _loss(0.0)),
)


def _filter_gradient(transform):
    def check(i):
        point = FilterAndOutput(i["v"], i["a"])
        gradient = exact(i["w_star"], i["a_star"]).gradient(point)
        printed = transform(printed_filter_gradient(i["v"], i["a"], i["w_star"], i["a_star"]), i)
        # The gradient vanishes at angles 0 and π; its natural size is that of its factors.
        norm = jnp.linalg.norm
        return equal(gradient.filter, printed, norm(i["a"]) * norm(i["a_star"]) * norm(i["w_star"]) / norm(i["v"]))

    return Pointwise(check, instances.families(instances.anywhere))


def _output_gradient(transform):
    def check(i):
        point = FilterAndOutput(i["v"], i["a"])
        gradient = exact(i["w_star"], i["a_star"]).gradient(point)
        printed = transform(printed_output_gradient(i["v"], i["a"], i["w_star"], i["a_star"]), i)
        norm = jnp.linalg.norm
        return equal(gradient.output, printed, norm(i["a"]) + norm(i["a_star"]) * norm(i["w_star"]))

    return Pointwise(check, instances.families(instances.anywhere))


def _unprojected(printed, i):
    """The first formula with the whole of $w^*$ in place of its part across $v$."""
    v, w_star = i["v"], i["w_star"]
    size = jnp.linalg.norm(v)
    pull = (i["a"] @ i["a_star"]) * (jnp.pi - angle(v, w_star)) / (2 * jnp.pi * size)
    return printed - pull * (v @ w_star) / size**2 * v


THEOREM_2_2_FILTER = Claim(
    id=f"{PAPER}.theorem-2.2.filter",
    place="Theorem 2.2, first formula",
    title="gradient in the filter",
    hypotheses=("independent standard Gaussian patches", "$v \\ne 0$"),
    as_printed=Form(
        "$\\partial_v\\ell = -\\frac{a\\cdot a^*(\\pi-\\phi)}{2\\pi\\|v\\|}\\bigl(I - vv^\\top/\\|v\\|^2\\bigr)w^*$.",
        _filter_gradient(lambda printed, i: printed),
    ),
    control=Form("The same without the projection.", _filter_gradient(_unprojected)),
)

THEOREM_2_2_OUTPUT = Claim(
    id=f"{PAPER}.theorem-2.2.output",
    place="Theorem 2.2, second formula",
    title="gradient in the output weights",
    hypotheses=("independent standard Gaussian patches", "$v \\ne 0$"),
    as_printed=Form(
        "$\\partial_a\\ell = \\frac1{2\\pi}(\\mathbf{11}^\\top + (\\pi-1)I)a - "
        "\\frac{\\|w^*\\|}{2\\pi}(\\mathbf{11}^\\top + (g(\\phi)-1)I)a^*$.",
        _output_gradient(lambda printed, i: printed),
    ),
    control=Form(
        "The same with $g(\\phi)$ in place of $g(\\phi)-1$.",
        _output_gradient(lambda printed, i: printed - jnp.linalg.norm(i["w_star"]) / (2 * jnp.pi) * i["a_star"]),
    ),
)


def _unnormalised_gradient(sign):
    def check(i):
        w, a, w_star, a_star = i["v"], i["a"], i["w_star"], i["a_star"]
        gradient = exact(w_star, a_star, normalized=False).gradient(FilterAndOutput(w, a)).filter
        phi = angle(w, w_star)
        ratio = jnp.linalg.norm(w_star) / jnp.linalg.norm(w)
        own = jnp.sum(a) ** 2 - a @ a
        cross = jnp.sum(a) * jnp.sum(a_star) - a @ a_star
        along = (a @ a) / 2 + own / (2 * jnp.pi)
        along = along + sign * ((a @ a_star) * jnp.sin(phi) + cross) * ratio / (2 * jnp.pi)
        printed = sign * (a @ a_star) * (jnp.pi - phi) / (2 * jnp.pi) * w_star + along * w
        norm = jnp.linalg.norm
        natural = norm(a) * (norm(a) * norm(w) + norm(a_star) * norm(w_star))
        return equal(gradient, printed, natural)

    return Pointwise(check, instances.families(instances.anywhere))


SECTION_A_GRADIENT = Claim(
    id=f"{PAPER}.section-A.unnormalized-gradient",
    place="Section A, proof of Theorem 2.2, the aggregated gradient",
    title="gradient without weight normalisation",
    hypotheses=("independent standard Gaussian patches", "$w \\ne 0$"),
    as_printed=Form(
        "The terms with the teacher enter $\\partial_w\\ell$ with a plus sign.",
        _unnormalised_gradient(1.0),
        recipe=ANGLE
        + _SAMPLE
        + """
hidden = Z @ v
residual = relu(hidden) @ a - relu(Z @ w_star) @ a_star
left = np.mean(residual[:, None] * np.einsum("nk,nkp->np", a * (hidden > 0), Z), axis=0)  # sampled
off = lambda x, y: x.sum() * y.sum() - x @ y
r = norm(w_star) / norm(v)
right = a @ a_star * (np.pi - phi) / (2 * np.pi) * w_star + (a @ a / 2 + off(a, a) / (2 * np.pi)
    + (a @ a_star * np.sin(phi) + off(a, a_star)) * r / (2 * np.pi)) * v
""",
    ),
    corrected=Form("They enter with a minus sign.", _unnormalised_gradient(-1.0)),
    correction="The teacher's terms come from subtracting (8): all three change sign. Theorem 2.2 itself has them right.",
    control=Form("The teacher's terms are absent.", _unnormalised_gradient(0.0)),
)


def _relu_dual(p: int):
    with jax.ensure_compile_time_eval():
        law, relu = gaussian(p), ReLU()
        return dual(relu, relu, law, Quadrature()), mean(relu, law, Quadrature())


def _identity(left, right, scale):
    def check(i):
        pair, average = _relu_dual(i["v"].shape[0])
        # At angle π some sides vanish; their natural size does not.
        return equal(left(pair, average, i), right(i), scale(i))

    return Pointwise(check, instances.families(instances.anywhere, shapes=((1, 1), (3, 1))))


def _first_left(pair, average, i):
    return 0.5 * jax.grad(pair.own)(i["v"])  # E[zzᵀ1(z·w ≥ 0)]w = E[σ(w·z)σ'(w·z)z]


def _third_left(pair, average, i):
    return jax.grad(pair)(i["v"], i["w_star"])  # E[zzᵀ1(z·w ≥ 0, z·w* ≥ 0)]w* = E[σ'(w·z)σ(w*·z)z]


def _third_right(factor):
    def right(i):
        w, w_star = i["v"], i["w_star"]
        phi = angle(w, w_star)
        ratio = jnp.linalg.norm(w_star) / jnp.linalg.norm(w)
        return factor / jnp.pi * ((jnp.pi - phi) * w_star + jnp.sin(phi) * ratio * w)

    return right


def _fourth_right(printed: bool):
    def right(i):
        w, w_star = i["v"], i["w_star"]
        phi = angle(w, w_star)
        sine, cosine = jnp.sin(phi), jnp.cos(phi)
        if printed:
            value = cosine * (jnp.pi - phi + sine * cosine + sine**2)
        else:
            value = g(phi)
        return value / (2 * jnp.pi) * jnp.linalg.norm(w) * jnp.linalg.norm(w_star)

    return right


def _lemma_a1(
    number: int, statement: str, *, left, right, scale, recipe="", corrected_statement="", corrected=None, correction=""
) -> Claim:
    true = right if corrected is None else corrected
    return Claim(
        id=f"{PAPER}.lemma-A.1.identity-{number}",
        place=f"Lemma A.1, identity {number}",
        title=f"Gaussian identity {number}",
        hypotheses=("$z$ is a standard Gaussian vector", "$w, w^* \\ne 0$ at angle $\\phi$"),
        as_printed=Form(statement, _identity(left, right, scale), recipe=recipe),
        corrected=None if corrected is None else Form(corrected_statement, _identity(left, corrected, scale)),
        correction=correction,
        control=Form(
            "The true right-hand side, one per cent larger.", _identity(left, lambda i: 1.01 * true(i), scale)
        ),
    )


def _size(*names: str):
    return lambda i: jnp.prod(jnp.array([1.0] + [jnp.linalg.norm(i[name]) for name in names]))


_GAUSS = "z = np.random.default_rng(0).normal(size=(2_000_000, len(v)))\nw = v\nnorm = np.linalg.norm\n"

LEMMA_A_1 = (
    _lemma_a1(
        1,
        "$E[zz^\\top\\mathbb 1(z\\cdot w \\ge 0)]\\,w = \\frac12\\,w/\\|w\\|$.",
        left=_first_left,
        right=lambda i: 0.5 * i["v"] / jnp.linalg.norm(i["v"]),
        scale=_size("v"),
        recipe=_GAUSS
        + "left = np.mean(np.maximum(z @ w, 0)[:, None] * z, axis=0)  # sampled\nright = 0.5 * w / norm(w)\n",
        corrected_statement="The right-hand side is $\\frac12w$.",
        corrected=lambda i: 0.5 * i["v"],
        correction="The normalisation of $w$ on the right is too much; the proof ends with $\\frac12w$.",
    ),
    _lemma_a1(
        2,
        "$E[z\\,\\mathbb 1(z\\cdot w \\ge 0)] = \\frac1{\\sqrt{2\\pi}}\\,w/\\|w\\|$.",
        left=lambda pair, average, i: jax.grad(average)(i["v"]),
        right=lambda i: i["v"] / jnp.linalg.norm(i["v"]) / jnp.sqrt(2 * jnp.pi),
        scale=_size(),
    ),
    _lemma_a1(
        3,
        "$E[zz^\\top\\mathbb 1(z\\cdot w \\ge 0, z\\cdot w^* \\ge 0)]\\,w^* = \\frac1\\pi(\\pi-\\phi)w^* + "
        "\\frac1\\pi\\sin\\phi\\,\\frac{\\|w^*\\|}{\\|w\\|}w$.",
        left=_third_left,
        right=_third_right(1.0),
        scale=_size("w_star"),
        recipe=_GAUSS
        + """phi = np.arccos(np.clip(w @ w_star / norm(w) / norm(w_star), -1, 1))
left = np.mean(((z @ w > 0) * np.maximum(z @ w_star, 0))[:, None] * z, axis=0)  # sampled
right = ((np.pi - phi) * w_star + np.sin(phi) * norm(w_star) / norm(w) * w) / np.pi
""",
        corrected_statement="The right-hand side is half of that: $1/(2\\pi)$ for $1/\\pi$.",
        corrected=_third_right(0.5),
        correction="Both terms are twice too large; the proof's last line has $1/(2\\pi)$.",
    ),
    _lemma_a1(
        4,
        "$E[\\sigma(z\\cdot w)\\sigma(z\\cdot w^*)] = \\frac1{2\\pi}\\cos\\phi\\,(\\pi - \\phi + \\sin\\phi\\cos\\phi + "
        "\\sin^2\\phi)\\,\\|w\\|\\|w^*\\|$.",
        left=lambda pair, average, i: pair(i["v"], i["w_star"]),
        right=_fourth_right(printed=True),
        scale=_size("v", "w_star"),
        recipe=_GAUSS
        + """phi = np.arccos(np.clip(w @ w_star / norm(w) / norm(w_star), -1, 1))
left = np.mean(np.maximum(z @ w, 0) * np.maximum(z @ w_star, 0))  # sampled
right = np.cos(phi) * (np.pi - phi + np.sin(phi) * np.cos(phi) + np.sin(phi) ** 2) / (2 * np.pi) * norm(w) * norm(w_star)
""",
        corrected_statement="The bracket is $\\cos\\phi\\,(\\pi - \\phi + \\sin\\phi\\cos\\phi) + \\sin^3\\phi = g(\\phi)$.",
        corrected=_fourth_right(printed=False),
        correction="A parenthesis: $\\sin^2\\phi$ inside the bracket should be $\\sin^3\\phi$ outside it, as in the proof.",
    ),
)

CLAIMS = (THEOREM_2_1, THEOREM_2_2_FILTER, THEOREM_2_2_OUTPUT, SECTION_A_GRADIENT, *LEMMA_A_1)
