r"""The convolutional-filter paper's formulas, as printed, and the exact objective they are judged against.

Symbols: $v$ the student's filter, $a$ its output weights, $w^*, a^*$ the teacher's, $\phi$ the angle between $v$ and
$w^*$, $k$ the number of patches, $p$ the size of a filter, $\eta$ the step, $\beta^0$ the initial signal.
"""

from functools import lru_cache
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from tutelage.claims.angles import angle as angle
from tutelage.models import FilterAndOutput
from tutelage.objectives import Objective, population
from tutelage.problems import convolution


def g(phi):
    r"""The paper's $g(\phi) = \cos\phi\,(\pi - \phi + \sin\phi\cos\phi) + \sin^3\phi$ (below its Equation 3).

    It equals $(\pi - \phi)\cos\phi + \sin\phi$: decreasing, $g(0) = \pi$, $g(\pi/2) = 1$, $g(\pi) = 0$.
    """
    return jnp.cos(phi) * (jnp.pi - phi + jnp.sin(phi) * jnp.cos(phi)) + jnp.sin(phi) ** 3


@lru_cache
def _template(dimension: int, patches: int, normalized: bool) -> Objective:
    # Made of concrete arrays even when first asked for inside a compiled function.
    with jax.ensure_compile_time_eval():
        problem = convolution(np.ones(dimension), np.ones(patches), normalized=normalized)
        return population(problem)


def exact(w_star, a_star, normalized: bool = True) -> Objective:
    """The exact population objective of a teacher whose arrays may be traced."""
    template = _template(w_star.shape[0], a_star.shape[0], normalized)
    return template.with_target(FilterAndOutput(w_star, a_star))


def loss(v, a, w_star, a_star, cross=1 / (2 * np.pi)):
    """Theorem 2.1, Equation (3), its last term with a factor of its own: one in the print."""
    scale, value = jnp.linalg.norm(w_star), g(angle(v, w_star))
    own = (jnp.pi - 1) * (scale**2 * (a_star @ a_star) + a @ a) + scale**2 * jnp.sum(a_star) ** 2 + jnp.sum(a) ** 2
    mixed = (value - 1) * scale / jnp.pi * (a @ a_star) + 2 * scale * jnp.sum(a) * jnp.sum(a_star) * cross
    return 0.5 * (own / (2 * jnp.pi) - mixed)


def printed_filter_gradient(v, a, w_star, a_star):
    """Theorem 2.2, first formula."""
    size = jnp.linalg.norm(v)
    across = w_star - v * (v @ w_star) / size**2
    return -(a @ a_star) * (jnp.pi - angle(v, w_star)) * across / (2 * jnp.pi * size)


def printed_output_gradient(v, a, w_star, a_star):
    """Theorem 2.2, second formula."""
    scale = jnp.linalg.norm(w_star)
    factor = g(angle(v, w_star)) - 1
    own = jnp.sum(a) + (jnp.pi - 1) * a
    return (own - scale * (jnp.sum(a_star) + factor * a_star)) / (2 * jnp.pi)


def descent_step(v, a, w_star, a_star, step):
    """One step of Algorithm 1, by the gradients of Theorem 2.2 (which its claims confirm)."""
    new_v = v - step * printed_filter_gradient(v, a, w_star, a_star)
    return new_v, a - step * printed_output_gradient(v, a, w_star, a_star)


class Path(NamedTuple):
    """Quantities along a run of Algorithm 1, the start among them."""

    phi: Float[Array, " step"]
    signal: Float[Array, " step"]  # a·a*
    total: Float[Array, " step"]  # 1·a
    size: Float[Array, " step"]  # |v|
    output: Float[Array, "step patch"]  # a


def path(v, a, w_star, a_star, step, length: int) -> Path:
    """Follow Algorithm 1 for `length` steps."""

    def move(state, _):
        v, a = state
        shown = Path(angle(v, w_star), a @ a_star, jnp.sum(a), jnp.linalg.norm(v), a)
        return descent_step(v, a, w_star, a_star, step), shown

    return jax.lax.scan(move, (v, a), length=length + 1)[1]


def stationary_output(a_star, scale, value):
    r"""The output weights at which their gradient vanishes, for a filter at an angle with $g(\phi)$ the given value."""
    k = a_star.shape[0]
    # (11ᵀ + (π−1)I)⁻¹ acts as 1/(k+π−1) along the ones and as 1/(π−1) across them.
    mean = jnp.sum(a_star) / k
    return scale * (mean * (k + value - 1) / (k + jnp.pi - 1) + (a_star - mean) * (value - 1) / (jnp.pi - 1))


def spurious_output(a_star, scale=1.0):
    """The output weights of the second stationary point of Lemma 4.1."""
    return stationary_output(a_star, scale, 0.0)


def rate(v, a, w_star, a_star):
    r"""The paper's $\lambda = \|w^*\|(\pi-\phi)\,a\cdot a^*/(2\pi\|v\|^2)$ (Lemma 4.5)."""
    return jnp.linalg.norm(w_star) * (jnp.pi - angle(v, w_star)) * (a @ a_star) / (2 * jnp.pi * (v @ v))


def signal_bound(w_star, a_star):
    r"""The paper's $(\|a^*\|^2 + (\mathbf 1\cdot a^*)^2)\|w^*\|^2$ (Lemma C.2)."""
    return (a_star @ a_star + jnp.sum(a_star) ** 2) * (w_star @ w_star)


def initial_signal(v, a, w_star, a_star):
    r"""The paper's $\beta^0 = \min\{a^0\cdot a^*, (g(\phi^0) - 1)\|a^*\|^2\}\,\|w^*\|^2$ (Lemmas 4.5 and C.3)."""
    scale = jnp.sum(w_star**2)
    return jnp.minimum(a @ a_star, (g(angle(v, w_star)) - 1) * jnp.sum(a_star**2)) * scale
