"""Lemma 4.1: the two stationary points, whether there are others, and whether the second is a minimum."""

import jax
import jax.numpy as jnp
import numpy as np

from tutelage.claims.convolutional_filter.formulas import angle, exact, g, loss, spurious_output, stationary_output
from tutelage.claims.convolutional_filter.instances import ANYWHERE, PAPER, SHAPES
from tutelage.claims.laws import log_uniform, real, uniform
from tutelage.claims.relation import Relation
from tutelage.claims.statement import Claim, Form
from tutelage.models import FilterAndOutput

_norm = jnp.linalg.norm
# Any teacher, and a length for the student's filter, on which nothing but the scale of its gradient depends.
_TEACHERS = [
    {"w_star": real((p,)), "a_star": real((k,)), "length": log_uniform(np.exp(-3), np.exp(3))} for p, k in SHAPES
]


def _gradients(w_star, a_star, length, factor):
    """Both gradients at both points, the filter's in units of its length."""
    scale, objective = _norm(w_star), exact(w_star, a_star)
    points = ((length * w_star, scale * a_star), (-length * w_star, spurious_output(a_star, scale)))
    found = [objective.gradient(FilterAndOutput(v, factor * a)) for v, a in points]
    return jnp.concatenate([part for one in found for part in (one.filter * length * scale, one.output)])


LEMMA_4_1_POINTS = Claim(
    id=f"{PAPER}.lemma-4.1.points",
    place="Lemma 4.1",
    title="both points are stationary",
    hypotheses=("$w^*, a^* \\ne 0$",),
    draw=_TEACHERS,
    left=_gradients,
    relation="==",
    right=0.0,
    scale=lambda w_star, a_star: _norm(w_star) * _norm(a_star),
    as_printed=Form(
        "The gradient vanishes at $\\phi = 0$, $a = \\|w^*\\|a^*$ and at $\\phi = \\pi$, "
        "$a = (\\mathbf{11}^\\top + (\\pi-1)I)^{-1}(\\mathbf{11}^\\top - I)\\|w^*\\|a^*$.",
        factor=1.0,
    ),
    control=Form("The same with output weights one per cent larger.", factor=1.01),
)


def _exact_gradient(v, a, w_star, a_star):
    """The norm of the filter's gradient, and the gradient in the output weights."""
    found = exact(w_star, a_star).gradient(FilterAndOutput(v, a))
    return jnp.concatenate([_norm(found.filter)[None] * _norm(v), found.output])


def _where_it_vanishes(v, a, w_star, a_star, factor):
    phi, scale = angle(v, w_star), _norm(w_star)
    turn = jnp.abs(a @ a_star) * (jnp.pi - phi) * jnp.sin(phi) * scale
    gap = a - stationary_output(a_star, scale, g(phi))
    return factor * jnp.concatenate([turn[None], jnp.sum(gap) + (jnp.pi - 1) * gap]) / (2 * jnp.pi)


LEMMA_4_1_ONLY = Claim(
    id=f"{PAPER}.lemma-4.1.only",
    place="Lemma 4.1",
    title="there are no other stationary points with a·a* ≠ 0",
    hypotheses=("$a\\cdot a^* \\ne 0$", "$0 < \\|v\\| < \\infty$"),
    draw=ANYWHERE,
    left=_exact_gradient,
    derivatives=False,
    relation="==",
    right=_where_it_vanishes,
    scale=lambda a, w_star, a_star: (_norm(a) + _norm(w_star) * _norm(a_star)) * (1 + _norm(a_star)),
    as_printed=Form(
        "The filter's gradient has norm $|a\\cdot a^*|\\,(\\pi-\\phi)\\sin\\phi\\,\\|w^*\\|/(2\\pi\\|v\\|)$, which vanishes only at "
        "$\\phi \\in \\{0, \\pi\\}$; the other one is $(\\mathbf{11}^\\top + (\\pi-1)I)(a - a_\\phi)/(2\\pi)$, which vanishes only at "
        "$a_\\phi$, the point of the lemma for $\\phi = 0$ and for $\\phi = \\pi$.",
        factor=1.0,
    ),
    control=Form("Both are one per cent larger.", factor=1.01),
    arithmetic="gradients of the exact objective in float64 against the closed forms",
)


def _turned(a_star, turn):
    """How much the loss changes when the filter turns away from −w*, the output weights resting."""
    w_star, output = jnp.eye(2)[0], spurious_output(a_star)
    moved = jnp.stack([-jnp.cos(turn), jnp.sin(turn)])
    return loss(moved, output, w_star, a_star) - loss(-w_star, output, w_star, a_star)


def _sums_beside_threshold(a_star):
    k = a_star.shape[0]
    return jnp.pi / (k + jnp.pi - 1) * jnp.sum(a_star) ** 2 / (a_star @ a_star)


_SECOND_POINTS = [{"a_star": real((k,)), "turn": uniform(0.2, 1.0)} for k in (2, 3, 6)]

LEMMA_4_1_KIND = Claim(
    id=f"{PAPER}.lemma-4.1.kind",
    place="Abstract, Section 1 and the text after Lemma 4.1",
    title="the second stationary point is a local minimum",
    hypotheses=("$\\|w^*\\| = 1$", "$k \\ge 2$"),
    draw=_SECOND_POINTS,
    where=lambda a_star, most: _sums_beside_threshold(a_star) < most,
    left=_turned,
    relation=">=",
    right=0.0,
    scale=lambda a_star: a_star @ a_star,
    also=[
        # And a saddle above: whatever the form, the loss falls there.
        Relation(
            _SECOND_POINTS,
            _turned,
            "<=",
            0.0,
            where=lambda a_star: _sums_beside_threshold(a_star) > 1,
            scale=lambda a_star: a_star @ a_star,
        )
    ],
    as_printed=Form(
        "The objective has a spurious local minimum, the second point of Lemma 4.1, whatever the teacher: no turn of the filter "
        "lowers the loss there.",
        most=np.inf,
        recipe="""
k = len(a_star)
output = np.linalg.solve(np.ones((k, k)) + (np.pi - 1) * np.eye(k), (np.ones((k, k)) - np.eye(k)) @ a_star)
g = (np.pi - (np.pi - turn)) * np.cos(np.pi - turn) + np.sin(np.pi - turn)
left = -g * (output @ a_star) / (2 * np.pi)  # change of the loss as the filter turns away from −w*, by Theorem 2.1
right = 0.0  # at a local minimum it is not negative
""",
    ),
    corrected=Form(
        "It is a local minimum if $(\\mathbf 1\\cdot a^*)^2 < \\frac{k+\\pi-1}{\\pi}\\|a^*\\|^2$, and a saddle above.",
        most=1.0,
    ),
    correction=(
        "The sign of $a\\cdot a^*$ at the second point decides: it is negative exactly when "
        "$(\\mathbf 1\\cdot a^*)^2/\\|a^*\\|^2 < (k+\\pi-1)/\\pi$. Above, as for $a^* = \\mathbf 1$, the point is a saddle. The "
        "Hessian does not tell: it vanishes in the filter, where the loss changes by the third power of the angle."
    ),
    control=Form(
        "It is a local minimum if $(\\mathbf 1\\cdot a^*)^2 < 1.05\\frac{k+\\pi-1}{\\pi}\\|a^*\\|^2$.", most=1.05
    ),
    scope="theorem",
)


def _hessians(w_star, a_star, length):
    scale, objective = _norm(w_star), exact(w_star, a_star)
    filter = length * w_star / scale
    first = objective.hessian(FilterAndOutput(filter, scale * a_star))
    return jnp.stack([first, objective.hessian(FilterAndOutput(-filter, spurious_output(a_star, scale)))])


def _closed_hessians(w_star, a_star, length, second):
    p, k = w_star.shape[0], a_star.shape[0]
    scale = _norm(w_star)
    across = jnp.eye(p) - jnp.outer(w_star, w_star) / scale**2
    outputs = (jnp.ones((k, k)) + (jnp.pi - 1) * jnp.eye(k)) / (2 * jnp.pi)
    size = scale**2 * (a_star @ a_star) / length**2
    return jnp.stack([jax.scipy.linalg.block_diag(c * size * across, outputs) for c in (0.5, second)])


LEMMA_4_1_HESSIAN = Claim(
    id=f"{PAPER}.lemma-4.1.hessian",
    place="Lemma 4.1, the second derivatives (not printed)",
    title="the Hessian at both stationary points",
    hypotheses=("$w^*, a^* \\ne 0$", "$\\|v\\| > 0$"),
    draw=_TEACHERS[1],
    left=_hessians,
    relation="==",
    right=_closed_hessians,
    scale=lambda w_star, a_star, length: (w_star @ w_star) * (a_star @ a_star) / length**2 + 1.0,
    as_printed=Form(
        "Both Hessians are block diagonal, with $(\\mathbf{11}^\\top + (\\pi-1)I)/(2\\pi)$ in the output weights. In the filter it is "
        "$\\frac{\\|w^*\\|^2\\|a^*\\|^2}{2\\|v\\|^2}$ times the projection across $w^*$ at the first point (its only null direction is "
        "the length of $v$), and zero at the second: there second derivatives do not tell a minimum from a saddle.",
        second=0.0,
    ),
    control=Form("The second point has a hundredth of that curvature.", second=0.005),
    derivatives=False,
)

CLAIMS = (LEMMA_4_1_POINTS, LEMMA_4_1_ONLY, LEMMA_4_1_KIND, LEMMA_4_1_HESSIAN)
