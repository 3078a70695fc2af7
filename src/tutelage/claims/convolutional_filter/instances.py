"""Instances for the claims of the convolutional-filter paper: teachers, students and steps of many shapes."""

import numpy as np

from tutelage.claims import Law, log_uniform, real, uniform
from tutelage.claims.convolutional_filter.formulas import dot, in_plane, signal_bound, times, total

PAPER = "convolutional_filter"

# Errors that show in several places; for the second see Lemma C.2.
NO_NORM = "no |w*| in the condition on the sums"
NO_BOUND = "no bound on the initial signal a⁰·a*"
SADDLE = "the second stationary point may be a saddle"
EXTRA_NORM = "|w*|² for |w*| in bounds on the signal"
SUPPLIED_BOUND = "$a^0\\cdot a^* \\le \\|a^*\\|^2 + (\\mathbf 1\\cdot a^*)^2$."


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
# Any student and any teacher; filters in the plane that they span, which they never leave.
ANYWHERE = [{"v": real((2,)), "a": real((k,)), "w_star": real((2,)), "a_star": real((k,))} for k in (1, 4)]


def start(phi, a, a_star, boost, largest=np.inf):
    r"""A start that satisfies Theorem 3.1's conditions, with $\|w^*\| = \|v^0\| = 1$.

    $a^0\cdot a^* > 0$, $|\mathbf 1\cdot a^0| \le |\mathbf 1\cdot a^*|$, $\phi^0 < \pi/2$; and a signal of at most `largest` times
    the bound of Lemma C.2, which many of them reach if the output weights are boosted. Filters never leave the plane of
    $v$ and $w^*$, in which they are given.
    """
    k = a.shape[-1]
    v = in_plane(np.cos(phi), np.sin(phi))
    w_star = np.zeros_like(v) + np.array([1.0, 0.0])
    sums, allowed = total(a), np.abs(total(a_star))
    # Scale the mean of a into the allowed range, then choose the sign.
    a = times(boost, a - sums[..., None] / k) + np.clip(sums, -allowed, allowed)[..., None] / k
    a = times(np.where(dot(a, a_star) >= 0, 1.0, -1.0), a)
    most = largest * signal_bound(w_star, a_star)
    a = times(np.minimum(1.0, most / (dot(a, a_star) + 1e-12)), a)
    return {"v": v, "a": a, "w_star": w_star, "a_star": a_star}


def sums_step(k):
    """The largest step of Lemma 4.4, for a number of patches."""
    return 2 * np.pi / (k + np.pi - 1)


def with_step_of_sums(v, a, w_star, a_star, share):
    """An instance with a step up to that of Lemma 4.4."""
    step = share * sums_step(a.shape[-1])
    return {"v": v, "a": a, "w_star": w_star, "a_star": a_star, "step": step}


def started_with_step(phi, a, a_star, boost, share, largest=np.inf):
    """A start with such a step."""
    return with_step_of_sums(**start(phi, a, a_star, boost, largest), share=share)


def teacher(k: int, kind: str) -> np.ndarray:
    """A structured teacher's output weights."""
    return {
        "one": np.eye(k)[0],
        "ones": np.ones(k),
        "balanced": np.array([(-1.0) ** i for i in range(k)]) if k % 2 == 0 else np.r_[np.ones(k - 1), -(k - 1.0)],
    }[kind]
