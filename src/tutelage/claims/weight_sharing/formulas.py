r"""The weight-sharing paper's formulas, as printed or with the constants that hold, and the exact objectives.

Symbols: $u_0$ the teacher's vector, $w_0$ the shared student's, $w_1, \dots, w_k$ the unshared student's, $k$ the number of
patches, $d$ their dimension, $\eta$ the step, $\alpha$ the angle between $w_0$ and $u_0$, $\sigma = \operatorname{erf}$,
$V(u, w) = E[\sigma(u\cdot x)\sigma(w\cdot x)]$.
"""

from functools import lru_cache
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from tutelage.claims.vectors import dot
from tutelage.objectives import Objective, population
from tutelage.problems import wave

PAPER = "weight_sharing"


# The wave of Section 3 ------------------------------------------------------------------------------------------------


def phi(a: Float[Array, " dim"]) -> Float[Array, " dim"]:
    r"""Lemma 9's $\phi(a) = e^{-\|a\|^2/2}\,a = E[\sin(a\cdot z)\,z]$ (Equation 3)."""
    return jnp.exp(-0.5 * jnp.sum(a**2)) * a


def cosine_gap(w, u) -> Float[Array, ""]:
    r"""$E[(\cos(w\cdot z) - \cos(u\cdot z))^2]$ in closed form, as in the proof of Lemma 10."""
    square = lambda a: jnp.sum(a**2)  # noqa: E731
    return (
        1
        + 0.5 * jnp.exp(-2 * square(w))
        + 0.5 * jnp.exp(-2 * square(u))
        - jnp.exp(-0.5 * square(w - u))
        - jnp.exp(-0.5 * square(w + u))
    )


def cosine_gradient(w, u, b: Any = 1.0):
    r"""The gradient of $\frac12E[(\cos(b\,w\cdot z) - \cos(b\,u\cdot z))^2]$ in $w$.

    $-\frac b2(\phi(2bw) - \phi(b(w-u)) - \phi(b(w+u)))$; Lemma 9 prints a plus in front of the second term.
    """
    return -0.5 * b * (phi(2 * b * w) - phi(b * (w - u)) - phi(b * (w + u)))


def cosine_hessian(w, u, b: Any = 1.0):
    r"""The Hessian of $\frac12E[(\cos(b\,w\cdot z) - \cos(b\,u\cdot z))^2]$ in $w$.

    With $p = bw$, $q = b(w-u)$, $r = b(w+u)$:
    $\frac{b^2}2\{(8pp^\top - 2I)e^{-2\|p\|^2} + (I - qq^\top)e^{-\|q\|^2/2} + (I - rr^\top)e^{-\|r\|^2/2}\}$.
    """
    identity = jnp.eye(w.shape[0])
    p, q, r = b * w, b * (w - u), b * (w + u)
    own = (8 * jnp.outer(p, p) - 2 * identity) * jnp.exp(-2 * p @ p)
    minus = (identity - jnp.outer(q, q)) * jnp.exp(-0.5 * q @ q)
    plus = (identity - jnp.outer(r, r)) * jnp.exp(-0.5 * r @ r)
    return 0.5 * b**2 * (own + minus + plus)


# The smooth parity of Section 4, in NumPy, on the last axes -------------------------------------------------------------


def vectors(*coordinates):
    """Vectors by their coordinates; instances lie side by side in memory, so that sums over coordinates are fast."""
    return np.moveaxis(np.stack(np.broadcast_arrays(*coordinates)), 0, -1)


def overlap(u, w):
    r"""$V(u, w)$ of Lemma 1."""
    return overlap_of(dot(u, w), dot(u, u), dot(w, w))


def overlap_of(product, first, second):
    r"""$V(u, w)$ from the scalar product of both vectors and their squares."""
    return 2 / np.pi * np.arcsin(2 * product / np.sqrt((1 + 2 * first) * (1 + 2 * second)))


def own_factor(w):
    r"""Lemma 5's $c_1(w) = \frac4\pi\,(1 + 2\|w\|^2)^{-1}(1 + 4\|w\|^2)^{-1/2}$, so that $E[\sigma\sigma'x] = c_1(w)\,w$.

    The paper says that it is below one; it tends to $4/\pi$ as $w\to0$.
    """
    square = dot(w, w)
    return 4 / np.pi / ((1 + 2 * square) * np.sqrt(1 + 4 * square))


def pull(w, u):
    r"""Lemma 5's $\tilde b = E[\sigma(u\cdot x)\,\sigma'(w\cdot x)\,x] = \nabla_wV(u, w)$, a combination of $u$ and $w$.

    With $D = \sqrt{(1+2\|u\|^2)(1+2\|w\|^2)}$ and $\rho = 2u\cdot w/D$:
    $\frac4{\pi\sqrt{1-\rho^2}}\bigl(u/D - \rho\,w/(1+2\|w\|^2)\bigr)$.
    """
    square, reach, product = dot(w, w), dot(u, u), dot(u, w)
    first, second = 1 + 2 * reach, 1 + 2 * square
    # 1 − ρ² without cancellation: D² − 4(u·w)² = 1 + 2|u|² + 2|w|² + 4(|u|²|w|² − (u·w)²).
    across = np.maximum(reach * square - product**2, 0.0)
    root = np.sqrt(first + second - 1 + 4 * across)
    # And u/D − ρw/(1 + 2|w|²) over a common denominator, where parallel parts cancel exactly.
    straight = u + 2 * (square[..., None] * u - product[..., None] * w)
    return 4 / np.pi * straight / (root * second)[..., None]


def low_gradient(w, u):
    r"""$\nabla F^{(1)}$ of a vector, the first term of the gradients below."""
    return own_factor(w)[..., None] * w - pull(w, u)


def shared_gradient(w, u, k):
    r"""$\nabla F^{(1,k)}$ of a shared vector, as in the proof of Theorem 5."""
    own = 1 + k * overlap(w, w) ** (k - 1)
    cross = 1 + k * overlap(u, w) ** (k - 1)
    return (own * own_factor(w))[..., None] * w - cross[..., None] * pull(w, u)


def parity_loss(w, u):
    r"""$F^{(1,k)}$ of unshared vectors, one row per patch: by Lemma 3 the sum of both degrees' losses."""
    square, reach = dot(w, w), dot(u, u)
    own, teacher = overlap_of(square, square, square), overlap_of(reach, reach, reach)
    cross = overlap_of(dot(u[..., None, :], w), reach[..., None], square)
    low = 0.5 * (own[..., 0] - 2 * cross[..., 0] + teacher)
    return low + 0.5 * (np.prod(own, -1) - 2 * np.prod(cross, -1) + teacher ** w.shape[-2])


def teacher_norm(k):
    r"""The norm $\sqrt{12}\,k/\pi$ that Section 4.6 gives the teacher."""
    return np.sqrt(12) / np.pi * k


def in_plane(size, turn, reach):
    """A shared student of given norm and angle with its teacher, which lies on the second axis, as in Section 4.6."""
    zero = 0.0 * (size + turn + reach)
    w = vectors(size * np.sin(turn) + zero, size * np.cos(turn) + zero)
    return {"u": vectors(zero, reach + zero), "w": w}


# Exact objectives whose teacher may be traced -------------------------------------------------------------------------


@lru_cache
def _wave_template(dimension: int, patches: int, sharing: bool) -> Objective:
    with jax.ensure_compile_time_eval():
        return population(wave(np.ones(dimension), patches, sharing=sharing))


def exact_wave(u, patches: int, sharing: bool, slope=None) -> Objective:
    r"""The exact population objective of Section 3; its slope $c_k$ is $3\sqrt k$ unless given."""
    objective = _wave_template(u.shape[0], patches, sharing).with_target(u)
    return objective if slope is None else eqx.tree_at(lambda o: o.problem.student.slope, objective, slope)
