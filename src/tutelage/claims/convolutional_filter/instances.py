"""Instances for the claims of the convolutional-filter paper: teachers, students and steps of many shapes."""

import jax.numpy as jnp
import numpy as np

from tutelage.claims.convolutional_filter.formulas import angle, initial_signal, signal_bound
from tutelage.claims.laws import Law, log_uniform, real, uniform

PAPER = "convolutional_filter"

# Errors that show in several places; for the second see Lemma C.2.
NO_NORM = "no |w*| in the condition on the sums"
NO_BOUND = "no bound on the initial signal a⁰·a*"
SUPPLIED_BOUND = "$a^0\\cdot a^* \\le \\|a^*\\|^2 + (\\mathbf 1\\cdot a^*)^2$."

# A run of Algorithm 1 in NumPy: angle, filter and output weights at every step, the start among them.
RUN = """norm = np.linalg.norm
def run(v, a, length):
    for _ in range(length + 1):
        phi = np.arccos(np.clip(v @ w_star / norm(v) / norm(w_star), -1, 1))
        yield phi, v, a
        g = (np.pi - phi) * np.cos(phi) + np.sin(phi)
        across = w_star - v * (v @ w_star) / (v @ v)
        turn = step * (a @ a_star) * (np.pi - phi) * across / (2 * np.pi * norm(v))
        a = a - step / (2 * np.pi) * (a.sum() + (np.pi - 1) * a - norm(w_star) * (a_star.sum() + (g - 1) * a_star))
        v = v + turn
"""

# Filter sizes and numbers of patches: the smallest, and a few larger ones of both parities.
SHAPES = ((2, 1), (3, 4))


def of_starts(k: int) -> dict[str, Law]:
    """What `start` makes starts of, for a number of patches; `share` is that of the largest step."""
    return {
        "phi": uniform(0.0, np.pi / 2),
        "a": real((k,)),
        "a_star": real((k,)),
        "boost": log_uniform(1.0, 1e3),
        "share": uniform(0.0, 1.0),
    }


STARTS = [of_starts(1), of_starts(2), of_starts(5)]
# Any student and any teacher.
ANYWHERE = [{"v": real((p,)), "a": real((k,)), "w_star": real((p,)), "a_star": real((k,))} for p, k in SHAPES]


def start(phi, a, a_star, boost, largest=np.inf):
    r"""A start that satisfies Theorem 3.1's conditions, with $\|w^*\| = \|v^0\| = 1$.

    $a^0\cdot a^* > 0$, $|\mathbf 1\cdot a^0| \le |\mathbf 1\cdot a^*|$, $\phi^0 < \pi/2$; and a signal of at most `largest` times
    the bound of Lemma C.2, which many of them reach if the output weights are boosted. Filters never leave the plane of
    $v$ and $w^*$, in which they are given.
    """
    k = a.shape[0]
    w_star = jnp.array([1.0, 0.0])
    total, allowed = jnp.sum(a), jnp.abs(jnp.sum(a_star))
    # Scale the mean of a into the allowed range, then choose the sign.
    a = boost * (a - total / k) + jnp.clip(total, -allowed, allowed) / k
    a = a * jnp.where(a @ a_star >= 0, 1.0, -1.0)
    most = largest * signal_bound(w_star, a_star)
    a = a * jnp.minimum(1.0, most / (a @ a_star + 1e-12))
    return {"v": jnp.stack([jnp.cos(phi), jnp.sin(phi)]), "a": a, "w_star": w_star, "a_star": a_star}


def sums_step(a):
    """The largest step of Lemma 4.4."""
    return 2 * jnp.pi / (a.shape[0] + jnp.pi - 1)


def largest_step(v, a, w_star, a_star):
    """The step of Lemma C.3, its constants as printed, with β⁰ for β*."""
    cosine, size = jnp.cos(angle(v, w_star)), signal_bound(w_star, a_star)
    return jnp.minimum(jnp.minimum(initial_signal(v, a, w_star, a_star) / 8, 1.0) * cosine / size, sums_step(a))


def teacher(k: int, kind: str) -> np.ndarray:
    """A structured teacher's output weights."""
    return {
        "one": np.eye(k)[0],
        "ones": np.ones(k),
        "balanced": np.array([(-1.0) ** i for i in range(k)]) if k % 2 == 0 else np.r_[np.ones(k - 1), -(k - 1.0)],
    }[kind]
