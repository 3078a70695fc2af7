"""Lemma 4.1: the two stationary points, whether there are others, and whether the second is a minimum."""

from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np

from tutelage.claims import Claim, Form, Relation, log_uniform, real, uniform
from tutelage.claims.convolutional_filter.formulas import (
    angle,
    dot,
    filter_gradient,
    g,
    loss,
    norm,
    output_gradient,
    spurious_output,
    stationary_output,
    times,
    total,
)
from tutelage.claims.convolutional_filter.identities import BY_QUADRATURE, QUADRATURE
from tutelage.claims.convolutional_filter.instances import PAPER, SADDLE
from tutelage.models import FilterAndOutput
from tutelage.objectives import population
from tutelage.problems import convolution

# Any teacher, and a length for the student's filter, on which nothing but the scale of its gradient depends.
_TEACHERS = [{"w_star": real((2,)), "a_star": real((k,)), "length": log_uniform(np.exp(-3), np.exp(3))} for k in (1, 4)]


def _gradients(w_star, a_star, length, factor=1.0):
    """Both gradients at both points, the filter's in units of its length."""
    scale, filters = norm(w_star), times(length / norm(w_star), w_star)
    points = ((filters, times(scale, a_star)), (-filters, spurious_output(a_star, scale)))
    students = [(v, factor * a, w_star, a_star) for v, a in points]
    parts = [(times(length, filter_gradient(*student)), output_gradient(*student)) for student in students]
    return np.concatenate([part for both in parts for part in both], -1)


LEMMA_4_1_POINTS = Claim(
    id=f"{PAPER}.lemma-4.1.points",
    title="both points are stationary",
    hypotheses="$w^*, a^* \\ne 0$",
    draw=_TEACHERS,
    left=_gradients,
    relation="==",
    right=0.0,
    scale=lambda w_star, a_star: (norm(w_star) * norm(a_star) * (1 + norm(w_star) * norm(a_star)))[..., None],
    arithmetic=QUADRATURE,
    as_printed="The gradient vanishes at $\\phi = 0$, $a = \\|w^*\\|a^*$ and at $\\phi = \\pi$, "
    "$a = (\\mathbf{11}^\\top + (\\pi-1)I)^{-1}(\\mathbf{11}^\\top - I)\\|w^*\\|a^*$.",
    control=Form("The same with output weights one per cent larger.", factor=1.01),
)


def _exact_gradient(v, a, w_star, a_star):
    """The norm of the filter's gradient, and the gradient in the output weights."""
    student = (v, a, w_star, a_star)
    return np.concatenate([(norm(filter_gradient(*student)) * norm(v))[..., None], output_gradient(*student)], -1)


def _where_it_vanishes(v, a, w_star, a_star, factor=1.0):
    phi, scale = angle(v, w_star), norm(w_star)
    turn = np.abs(dot(a, a_star)) * (np.pi - phi) * np.sin(phi) * scale
    gap = a - stationary_output(a_star, scale, g(phi))
    return factor * np.concatenate([turn[..., None], total(gap)[..., None] + (np.pi - 1) * gap], -1) / (2 * np.pi)


LEMMA_4_1_ONLY = Claim(
    id=f"{PAPER}.lemma-4.1.only",
    title="there are no other stationary points with a·a* ≠ 0",
    hypotheses=("$a\\cdot a^* \\ne 0$", "$0 < \\|v\\| < \\infty$"),
    **BY_QUADRATURE,
    left=_exact_gradient,
    right=_where_it_vanishes,
    scale=lambda a, w_star, a_star: ((norm(a) + norm(w_star) * norm(a_star)) * (1 + norm(a) + norm(a_star)))[..., None],
    as_printed="The filter's gradient has norm $|a\\cdot a^*|\\,(\\pi-\\phi)\\sin\\phi\\,\\|w^*\\|/(2\\pi\\|v\\|)$, which vanishes only at "
    "$\\phi \\in \\{0, \\pi\\}$; the other one is $(\\mathbf{11}^\\top + (\\pi-1)I)(a - a_\\phi)/(2\\pi)$, which vanishes only at "
    "$a_\\phi$, the point of the lemma for $\\phi = 0$ and for $\\phi = \\pi$.",
    control=Form("Both are one per cent larger.", factor=1.01),
)


def _changed(a_star, turn, output):
    """How much the loss exceeds that of the second point where the filter is turned away from −w*, with given output weights."""
    moved = np.stack([-np.cos(turn), np.sin(turn)], -1)
    w_star = 0 * moved + np.array([1.0, 0.0])
    return loss(moved, output, w_star, a_star) - loss(-w_star, spurious_output(a_star), w_star, a_star)


def _lowest(a_star, turn):
    """The same with the output weights that are best for the angle."""
    return _changed(a_star, turn, stationary_output(a_star, 1.0, g(np.pi - turn)))


def _sums_beside_threshold(a_star):
    k = a_star.shape[-1]
    return np.pi / (k + np.pi - 1) * total(a_star) ** 2 / dot(a_star, a_star)


def _basin(a_star):
    """The value of g up to which no output weights lower the loss; not positive where the point is a saddle."""
    share = _sums_beside_threshold(a_star)
    return 2 * (1 - share) / (1 - share / np.pi)


def _falls(a_star, turn):
    """A bound on the loss from above where the sums are at the threshold or beyond: −g²(|a*|² − s²/(k+π−1))/(4π(π−1))."""
    square = dot(a_star, a_star) * (1 - _sums_beside_threshold(a_star) / np.pi)
    return -(g(np.pi - turn) ** 2) * square / (4 * np.pi * (np.pi - 1))


LEMMA_4_1_KIND = Claim(
    id=f"{PAPER}.lemma-4.1.kind",
    title="the second stationary point is a local minimum",
    hypotheses=("$\\|w^*\\| = 1$", "$\\rho = \\frac\\pi{k+\\pi-1}(\\mathbf 1\\cdot a^*)^2/\\|a^*\\|^2$"),
    draw=[
        {"a_star": real((k,)), "turn": uniform(0.05, np.pi), "aside": real((k,)), "size": log_uniform(1e-6, 3.0)}
        for k in (1, 2, 3, 6)
    ],
    where=lambda a_star, turn, most: g(np.pi - turn) <= most * _basin(a_star),
    # Any output weights: those that are best for the angle, and what they differ by.
    left=lambda a_star, turn, aside, size: _changed(
        a_star, turn, stationary_output(a_star, 1.0, g(np.pi - turn)) + times(size, aside)
    ),
    relation=">=",
    right=0.0,
    scale=lambda a_star: dot(a_star, a_star),
    also=[
        # And a saddle from the threshold on: whatever the form, the loss falls there. With one patch it is at the threshold.
        Relation(
            [{"a_star": real((k,)), "turn": uniform(0.05, np.pi)} for k in (1, 2, 3, 6)],
            _lowest,
            "<=",
            _falls,
            where=lambda a_star: _sums_beside_threshold(a_star) >= 1 - 1e-12,
            scale=lambda a_star: dot(a_star, a_star),
        )
    ],
    as_printed=Form(
        "The objective has a spurious local minimum, the second point of Lemma 4.1, whatever the teacher: no turn of the filter "
        "lowers the loss there.",
        where=None,
        left=lambda a_star, turn: _changed(a_star, turn, spurious_output(a_star)),
        recipe="""
k = len(a_star)
output = np.linalg.solve(np.ones((k, k)) + (np.pi - 1) * np.eye(k), (np.ones((k, k)) - np.eye(k)) @ a_star)
g = (np.pi - (np.pi - turn)) * np.cos(np.pi - turn) + np.sin(np.pi - turn)
left = -g * (output @ a_star) / (2 * np.pi)  # change of the loss as the filter turns away from −w*, by Theorem 2.1
right = 0.0  # at a local minimum it is not negative
""",
    ),
    corrected=Form(
        "It is a local minimum exactly if $\\rho < 1$, that is $(\\mathbf 1\\cdot a^*)^2 < \\frac{k+\\pi-1}{\\pi}\\|a^*\\|^2$, and otherwise a saddle. If it is, no output weights and no filter "
        "with $g(\\phi) \\le 2(1-\\rho)/(1-\\rho/\\pi)$ have a smaller loss, and beyond some have.",
        most=1.0,
    ),
    correction=(
        "The sign of $a\\cdot a^*$ at the second point decides. The smallest loss over all output weights is quadratic in $g$, with $4\\pi(\\pi-1)(\\ell - \\ell_2) = "
        "g\\|a^*\\|^2(2(1-\\rho) - g(1-\\rho/\\pi))$ above the second point. For $\\rho \\ge 1$, as for $a^* = \\mathbf 1$ and for every teacher with one patch, it falls. The "
        "Hessian does not tell: it vanishes in the filter, where the loss changes by the third power of the angle."
    ),
    control=Form("There is none up to 1.02 times that $g$.", most=1.02),
    defect=SADDLE,
    scope="theorem",
)


@lru_cache
def _template(dimension: int, patches: int):
    # Made of concrete arrays even when first asked for inside a compiled function.
    with jax.ensure_compile_time_eval():
        return population(convolution(np.ones(dimension), np.ones(patches)))


def _hessians(w_star, a_star, length):
    """Those of the library's exact objective at both points."""
    k, scale = a_star.shape[0], jnp.linalg.norm(w_star)
    objective = _template(w_star.shape[0], k).with_target(FilterAndOutput(w_star, a_star))
    filter, mean = length * w_star / scale, jnp.mean(a_star)
    second = scale * (mean * (k - 1) / (k + jnp.pi - 1) - (a_star - mean) / (jnp.pi - 1))
    students = (FilterAndOutput(filter, scale * a_star), FilterAndOutput(-filter, second))
    return jnp.stack([objective.hessian(student) for student in students])


def _closed_hessians(w_star, a_star, length, second=0.0):
    p, k = w_star.shape[0], a_star.shape[0]
    scale = w_star @ w_star
    across = jnp.eye(p) - jnp.outer(w_star, w_star) / scale
    outputs = (jnp.ones((k, k)) + (jnp.pi - 1) * jnp.eye(k)) / (2 * jnp.pi)
    size = scale * (a_star @ a_star) / length**2
    return jnp.stack([jax.scipy.linalg.block_diag(c * size * across, outputs) for c in (0.5, second)])


LEMMA_4_1_HESSIAN = Claim(
    id=f"{PAPER}.lemma-4.1.hessian",
    title="the Hessian at both stationary points",
    hypotheses=("$w^*, a^* \\ne 0$", "$\\|v\\| > 0$"),
    draw={**_TEACHERS[1], "w_star": real((3,))},
    left=_hessians,
    relation="==",
    right=_closed_hessians,
    scale=lambda w_star, a_star, length: (w_star @ w_star) * (a_star @ a_star) / length**2 + 1.0,
    as_printed="Both Hessians are block diagonal, with $(\\mathbf{11}^\\top + (\\pi-1)I)/(2\\pi)$ in the output weights. In the filter it is "
    "$\\frac{\\|w^*\\|^2\\|a^*\\|^2}{2\\|v\\|^2}$ times the projection across $w^*$ at the first point (its only null direction is "
    "the length of $v$), and zero at the second: there second derivatives do not tell a minimum from a saddle.",
    control=Form("The second point has a hundredth of that curvature.", second=0.005),
    derivatives=False,
)
