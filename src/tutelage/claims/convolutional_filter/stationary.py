"""Lemma 4.1: the two stationary points, whether there are others, and whether the second is a minimum."""

import jax
import jax.numpy as jnp

from tutelage.claims.base import Claim, Form
from tutelage.claims.convolutional_filter import instances
from tutelage.claims.convolutional_filter.formulas import angle, exact, printed_filter_gradient, spurious_output
from tutelage.claims.convolutional_filter.identities import PAPER
from tutelage.claims.pointwise import Family, Pointwise, equal, given
from tutelage.models import FilterAndOutput


def _teacher_and_length(raw):
    """Any teacher, and a length for the student's filter, on which nothing but the scale of its gradient depends."""
    built = instances.anywhere(raw)
    return {"w_star": built["w_star"], "a_star": built["a_star"], "length": jnp.exp(raw["t"])}


def _stationary(opposite: bool, factor: float = 1.0):
    def check(i):
        w_star, a_star = i["w_star"], i["a_star"]
        scale = jnp.linalg.norm(w_star)
        filter = -i["length"] * w_star if opposite else i["length"] * w_star
        output = spurious_output(a_star, scale) if opposite else scale * a_star
        gradient = exact(w_star, a_star).gradient(FilterAndOutput(filter, factor * output))
        size = jnp.linalg.norm(gradient.filter) * jnp.linalg.norm(filter) + jnp.linalg.norm(gradient.output)
        return equal(size, jnp.zeros(()), scale * jnp.linalg.norm(a_star))

    return Pointwise(check, instances.families(_teacher_and_length, more={"t": ()}))


def _both_stationary(effort, seed):
    outcomes = [_stationary(False)(effort, seed), _stationary(True)(effort, seed)]
    return min(outcomes, key=lambda outcome: outcome.margin)


LEMMA_4_1_POINTS = Claim(
    id=f"{PAPER}.lemma-4.1.points",
    place="Lemma 4.1",
    title="both points are stationary",
    hypotheses=("$w^*, a^* \\ne 0$",),
    as_printed=Form(
        "The gradient vanishes at $\\phi = 0$, $a = \\|w^*\\|a^*$ and at $\\phi = \\pi$, "
        "$a = (\\mathbf{11}^\\top + (\\pi-1)I)^{-1}(\\mathbf{11}^\\top - I)\\|w^*\\|a^*$.",
        _both_stationary,
    ),
    control=Form("The same with output weights one per cent larger.", _stationary(True, 1.01)),
)


def _only(shift: float):
    """Where a is stationary for the given filter, is the filter's gradient what makes (φ, a) non-stationary?"""

    def check(i):
        v, a, w_star, a_star = i["v"], i["a"], i["w_star"], i["a_star"]
        phi = angle(v, w_star)
        signal = a @ a_star
        left = jnp.linalg.norm(printed_filter_gradient(v, a, w_star, a_star)) * jnp.linalg.norm(v)
        right = jnp.abs(signal) * (jnp.pi - phi) * jnp.sin(phi) * jnp.linalg.norm(w_star) / (2 * jnp.pi)
        return equal(left, right + shift * jnp.abs(signal), jnp.abs(signal) * jnp.linalg.norm(w_star) + 1e-9)

    return Pointwise(check, instances.families(instances.anywhere))


LEMMA_4_1_ONLY = Claim(
    id=f"{PAPER}.lemma-4.1.only",
    place="Lemma 4.1",
    title="there are no other stationary points with a·a* ≠ 0",
    hypotheses=("$a\\cdot a^* \\ne 0$", "$0 < \\|v\\| < \\infty$"),
    as_printed=Form(
        "The filter's gradient has norm $|a\\cdot a^*|\\,(\\pi-\\phi)\\sin\\phi\\,\\|w^*\\|/(2\\pi\\|v\\|)$, which vanishes only at "
        "$\\phi \\in \\{0, \\pi\\}$; the output weights are then determined by a positive definite system.",
        _only(0.0),
    ),
    control=Form("The norm is larger by one per cent of the signal.", _only(0.01)),
)


def _stays_minimum(condition):
    """Is the second stationary point a local minimum? Near φ = π the loss changes by −s(π−φ)³/(6π)·‖w*‖, s = a·a*."""

    def check(i):
        a_star = i["a_star"]
        output = spurious_output(a_star)
        signal = output @ a_star
        shown = {"margin": -signal / (a_star @ a_star), "signal": signal, "output": output}
        return given(condition(a_star), shown)

    def build(raw):
        return {"a_star": instances.nonzero(raw["a_star"])}

    families = [Family({"a_star": (k,)}, build) for k in (2, 3, 6)]
    corners = [{"a_star": instances.teacher(k, "ones")} for k in (2, 3, 6)]
    return Pointwise(check, families, corners, gradient=True)


def _ratio(a_star):
    return jnp.sum(a_star) ** 2 / (a_star @ a_star)


def _threshold(a_star):
    k = a_star.shape[0]
    return (k + jnp.pi - 1) / jnp.pi


LEMMA_4_1_KIND = Claim(
    id=f"{PAPER}.lemma-4.1.kind",
    place="Abstract, Section 1 and the text after Lemma 4.1",
    title="the second stationary point is a local minimum",
    hypotheses=("$\\|w^*\\| = 1$", "$k \\ge 2$"),
    as_printed=Form(
        "The objective has a spurious local minimum, the second point of Lemma 4.1, whatever the teacher.",
        _stays_minimum(lambda a_star: jnp.asarray(True)),
        slack=0.0,
        recipe="""
k = len(a_star)
output = np.linalg.solve(np.ones((k, k)) + (np.pi - 1) * np.eye(k), (np.ones((k, k)) - np.eye(k)) @ a_star)
left = output @ a_star  # positive: a small turn of the filter away from −w* lowers the loss, by left·δ³/(6π)
right = 0.0
""",
    ),
    corrected=Form(
        "It is a local minimum if $(\\mathbf 1\\cdot a^*)^2 < \\frac{k+\\pi-1}{\\pi}\\|a^*\\|^2$, and a saddle above.",
        _stays_minimum(lambda a_star: _ratio(a_star) < _threshold(a_star)),
    ),
    correction=(
        "The sign of $a\\cdot a^*$ at the second point decides: it is negative exactly when "
        "$(\\mathbf 1\\cdot a^*)^2/\\|a^*\\|^2 < (k+\\pi-1)/\\pi$. Above, as for $a^* = \\mathbf 1$, the point is a saddle. The "
        "Hessian does not tell: it vanishes in the filter, where the loss changes by the third power of the angle."
    ),
    control=Form(
        "It is a local minimum if $(\\mathbf 1\\cdot a^*)^2 < 2\\frac{k+\\pi-1}{\\pi}\\|a^*\\|^2$.",
        _stays_minimum(lambda a_star: _ratio(a_star) < 2 * _threshold(a_star)),
        slack=0.0,
    ),
)


def _hessians(curvature: float, at_second: float):
    """Compare the exact Hessians at both stationary points with their closed forms."""

    def check(i):
        w_star, a_star, length = i["w_star"], i["a_star"], i["length"]
        p, k = w_star.shape[0], a_star.shape[0]
        scale = jnp.linalg.norm(w_star)
        direction = w_star / scale
        across = jnp.eye(p) - jnp.outer(direction, direction)
        outputs = (jnp.ones((k, k)) + (jnp.pi - 1) * jnp.eye(k)) / (2 * jnp.pi)
        objective = exact(w_star, a_star)
        first = objective.hessian(FilterAndOutput(length * direction, scale * a_star))
        second = objective.hessian(FilterAndOutput(-length * direction, spurious_output(a_star, scale)))
        size = scale**2 * (a_star @ a_star) / length**2
        expected_first = jax.scipy.linalg.block_diag(curvature * size * across, outputs)
        expected_second = jax.scipy.linalg.block_diag(at_second * size * across, outputs)
        both, expected = jnp.stack([first, second]), jnp.stack([expected_first, expected_second])
        return equal(both, expected, size + 1.0)

    return Pointwise(check, instances.families(_teacher_and_length, more={"t": ()}, shapes=((3, 4),)))


LEMMA_4_1_HESSIAN = Claim(
    id=f"{PAPER}.lemma-4.1.hessian",
    place="Lemma 4.1, the second derivatives (not printed)",
    title="the Hessian at both stationary points",
    hypotheses=("$w^*, a^* \\ne 0$", "$\\|v\\| > 0$"),
    as_printed=Form(
        "Both Hessians are block diagonal, with $(\\mathbf{11}^\\top + (\\pi-1)I)/(2\\pi)$ in the output weights. In the filter it is "
        "$\\frac{\\|w^*\\|^2\\|a^*\\|^2}{2\\|v\\|^2}$ times the projection across $w^*$ at the first point (its only null direction is "
        "the length of $v$), and zero at the second: there second derivatives do not tell a minimum from a saddle.",
        _hessians(0.5, 0.0),
    ),
    control=Form("The second point has a hundredth of the first one's curvature.", _hessians(0.5, 0.01)),
)

CLAIMS = (LEMMA_4_1_POINTS, LEMMA_4_1_ONLY, LEMMA_4_1_KIND, LEMMA_4_1_HESSIAN)
