r"""Population descent on smooth parities in a few numbers, whatever the dimension.

Under Gaussian inputs a patch's vector never leaves the plane of its start and the teacher: two numbers per patch, $p$ along
the teacher and $q$ across. The dimension enters through the start alone. For a teacher along an axis, a start with
coordinates $\pm c$ has the cosine $\pm1/\sqrt d$ exactly. If the product of these signs over patches is positive, all
patches with the same role move alike, and two numbers describe them all.
"""

import math
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.integrate import LSODA

from tutelage.claims import fitted_order
from tutelage.claims.weight_sharing.formulas import teacher_norm

FLOW = "gradient flow in the plane of start and teacher, LSODA with relative tolerance 1e-8"
_MOST_STEPS = 20_000


def patch_parts(p, q, radius):
    r"""Return $V(w, w)$, $V(u_0, w)$, $c_1(w)$ and both coordinates of $\tilde b$, for $w = (p, q)$, $u_0 = (r, 0)$."""
    # A flow asks for single numbers, which NumPy takes ten times as long for.
    functions: Any = (math.sqrt, math.asin) if isinstance(p, float) else (np.sqrt, np.arcsin)
    sqrt, arcsin = functions
    square = p * p + q * q
    first, second = 1 + 2 * square, 1 + 2 * radius**2
    rho = 2 * p * radius / sqrt(first * second)
    own = 2 / np.pi * arcsin(2 * square / first)
    factor = 4 / np.pi / (first * sqrt(1 + 4 * square))
    # Written so that nothing cancels: 1 − ρ² has the numerator 1 + 2|w|² + 2r² + 4r²q².
    slope = 4 / np.pi * radius / (first * sqrt(first + 2 * radius**2 * (1 + 2 * q * q)))
    return own, 2 / np.pi * arcsin(rho), factor, slope * (1 + 2 * q * q), -slope * 2 * p * q


def plane_gradient(state, patches: int, low: bool, radius: float):
    """The gradients of an unshared student in its first patch and in each of the others, which are all alike."""
    state = state.tolist()
    own_1, cross_1, factor_1, *pull_1 = patch_parts(state[0], state[1], radius)
    own, cross, factor, *pull = patch_parts(state[2], state[3], radius)
    first, first_cross = low + own ** (patches - 1), low + cross ** (patches - 1)
    rest = own_1 * own ** (patches - 2) if patches > 1 else 0.0
    rest_cross = cross_1 * cross ** (patches - 2) if patches > 1 else 0.0
    return np.array(
        [
            first * factor_1 * state[0] - first_cross * pull_1[0],
            first * factor_1 * state[1] - first_cross * pull_1[1],
            rest * factor * state[2] - rest_cross * pull[0],
            rest * factor * state[3] - rest_cross * pull[1],
        ]
    )


def plane_loss(state, patches: int, low: bool, radius: float) -> float:
    """The loss of an unshared student: of both degrees, or of the high one alone."""
    state = state.tolist()
    own_1, cross_1, *_ = patch_parts(state[0], state[1], radius)
    own, cross, *_ = patch_parts(state[2], state[3], radius)
    teacher = patch_parts(radius, 0.0, radius)[0]
    high = 0.5 * (own_1 * own ** (patches - 1) - 2 * cross_1 * cross ** (patches - 1) + teacher**patches)
    return high + low * 0.5 * (own_1 - 2 * cross_1 + teacher)


def plane_start(dimension: float, norm: float, power: float = 0.5) -> np.ndarray:
    r"""A start of given norm with the cosine $d^{-\text{power}}$ in every patch."""
    cosine = dimension**-power
    return norm * np.tile([cosine, np.sqrt(1 - cosine**2)], 2)


@lru_cache(maxsize=4096)
def learning_time(
    patches: int,
    dimension: float,
    norm: float,
    low: bool,
    goal: float,
    reach: float | None = None,
    power: float = 0.5,
) -> float:
    r"""The time of gradient flow until the loss of an unshared student is below `goal` times the teacher's high part.

    Descent with a step $\eta \le 1$ takes this time over $\eta$ as long as a step changes little. With shared weights and the
    high degree alone, the gradient is $k$ times that of a patch and the time is $1/k$ of this one.

    Args:
        patches: Number of patches, the high degree.
        dimension: Dimension of a patch; any number above one.
        norm: Norm of every patch's start.
        low: Whether the target has the term of degree one too.
        goal: Fraction of the teacher's $E[(p^{(k)})^2]$; 0.25 is half of the loss of a student that is zero.
        reach: Norm of the teacher; that of Section 4.6 if left out.
        power: Of $1/d$, in the cosines of the start.
    """
    radius = float(teacher_norm(patches)) if reach is None else reach
    threshold = goal * teacher_square(patches, reach)

    def field(_, state):
        return -plane_gradient(state, patches, low, radius)

    start = plane_start(dimension, norm, power)
    return _time_until(field, start, lambda state: plane_loss(state, patches, low, radius) < threshold)


@lru_cache(maxsize=4096)
def shared_learning_time(patches: int, dimension: float, norm: float, low: bool, goal: float) -> float:
    """The same time for a shared vector; see `learning_time`."""
    radius = float(teacher_norm(patches))
    teacher = patch_parts(radius, 0.0, radius)[0]
    threshold = goal * teacher**patches

    def field(_, state):
        own, cross, factor, along, across = patch_parts(state[0], state[1], radius)
        first, second = low + patches * own ** (patches - 1), low + patches * cross ** (patches - 1)
        return np.array([second * along - first * factor * state[0], second * across - first * factor * state[1]])

    def loss(state):
        own, cross, *_ = patch_parts(state[0], state[1], radius)
        high = 0.5 * (own**patches - 2 * cross**patches + teacher**patches)
        return high + low * 0.5 * (own - 2 * cross + teacher)

    return _time_until(field, plane_start(dimension, norm)[:2], lambda state: loss(state) < threshold)


def shared_step(p, q, patches, radius):
    """One step of size one of projected descent on both degrees, for many shared vectors of their own k and teacher."""
    own, cross, factor, along, across = patch_parts(p, q, radius)
    first, second = 1 + patches * own ** (patches - 1), 1 + patches * cross ** (patches - 1)
    p, q = p + second * along - first * factor * p, q + second * across - first * factor * q
    inside = np.minimum(1.0, radius / np.maximum(np.hypot(p, q), 1e-300))
    return inside * p, inside * q


def shared_ends(p, q, patches, most, done):
    """Follow projected descent until `done`, which takes p, q and how far the last step went, or for `most` steps.

    Args:
        p: Components along the teacher, which has the norm of Section 4.6, one per run.
        q: Components across.
        patches: Numbers of patches.
        most: Numbers of steps.
        done: Takes the runs that are left, by number, their p and q, and the length of the last step; runs that are done
            are not followed on.

    Returns:
        Where runs end, and after how many steps they were done; infinity if they were not.
    """
    ends, counts = np.array([p, q], dtype=float), np.full(len(p), np.inf)
    left, (p, q) = np.arange(len(p)), ends
    k, reach = patches, teacher_norm(patches)
    for step in range(1, int(np.max(most)) + 1):
        before, (p, q) = (p, q), shared_step(p, q, k, reach)
        ended = done(left, p, q, np.hypot(p - before[0], q - before[1]))
        over = ended | (most[left] <= step)
        if not over.any():
            continue
        ends[:, left], counts[left[ended]] = (p, q), step
        left, p, q = left[~over], p[~over], q[~over]
        k, reach = patches[left], teacher_norm(patches[left])
        if not len(left):
            break
    return ends, counts


def _time_until(field, start: np.ndarray, reached) -> float:
    """The time at which gradient flow reaches a condition; not a number if it does not within what floats resolve."""
    solver = LSODA(field, 0.0, start, 1e40, rtol=1e-8, atol=1e-14)
    for _ in range(_MOST_STEPS):
        if reached(solver.y):
            return float(solver.t)
        before = solver.t
        solver.step()
        # Times whose differences are no longer resolved are of no use.
        if solver.status == "failed" or solver.t == before:
            break
    return float("nan")


def predicted_exponent(patches: int, low: bool) -> float:
    r"""The power of $d$ in the time to learn, for starts of norm one: $(m-1)(m-2)/m$ with $m = k$, or $m = k-1$ with `low`.

    While a patch is far from the teacher its norm decays like $t^{-1/(2m-2)}$, by its own term, and the component along the
    teacher grows as the product of $m - 1$ such components. With the low degree, the first patch is learned in a time that
    does not depend on $d$, and the other $m = k - 1$ are left.
    """
    factors = patches - 1 if low else patches
    return (factors - 1) * (factors - 2) / factors


def fitted_exponent(
    patches: int,
    low: bool,
    constant_entries: bool = False,
    goal: float = 0.25,
    reach: float | None = None,
    cosine: float = 0.5,
) -> float:
    """The power of d in the learning time, fitted to dimensions up to 10⁸, or to times up to 10¹².

    Args:
        patches: Number of patches.
        low: Whether the target has the term of degree one too.
        constant_entries: Whether starts have entries ±1 (norm √d) instead of norm one.
        goal: As for `learning_time`.
        reach: As for `learning_time`.
        cosine: The power there.
    """
    # The high part of a short teacher need not be learned.
    predicted = predicted_exponent(patches, low) if reach is None else 0.0
    power = max(predicted, 1.5 if constant_entries else 0.5)
    dimensions = 10 ** (np.array([0.7, 0.85, 1.0]) * min(8.0, 12 / power))
    norms = np.sqrt(dimensions) if constant_entries else np.ones(3)
    times = [
        learning_time(patches, float(d), float(norm), low, goal, reach, cosine)
        for d, norm in zip(dimensions, norms, strict=True)
    ]
    return float(fitted_order(dimensions, times))


def growth(
    count,
    random,
    patches,
    low: bool,
    constant_entries=(False,),
    loss: float | None = None,
    reach: float | None = None,
    cosines=(0.5,),
):
    """The fitted exponents of several cases, as an experiment of `tutelage.claims` measures them.

    Args:
        count: Not used: all cases are measured.
        random: Not used: nothing is drawn.
        patches: Numbers of patches, the high degrees.
        low: Whether the target has the term of degree one too.
        constant_entries: Kinds of starts; see `fitted_exponent`.
        loss: The loss that counts as learned; half of the loss of the high degree if left out.
        reach: Norm of the teacher; that of Section 4.6 if left out.
        cosines: Powers of 1/d in the cosines of the starts.
    """
    cases = [(k, constant, power) for k in patches for constant in constant_entries for power in cosines]
    goals = [0.25 if loss is None else loss / teacher_square(k, reach) for k, _, _ in cases]
    exponents = [
        fitted_exponent(k, low, constant, goal, reach, power)
        for (k, constant, power), goal in zip(cases, goals, strict=True)
    ]
    degree, constant, power = zip(*cases, strict=True)
    return {
        "degree": np.array(degree, dtype=float),
        "constant_entries": np.array(constant),
        "cosine": np.array(power),
        "exponent": np.array(exponents),
    }


def teacher_square(patches: int, reach: float | None = None) -> float:
    """The teacher's $E[(p^{(k)})^2]$."""
    radius = float(teacher_norm(patches)) if reach is None else reach
    return patch_parts(radius, 0.0, radius)[0] ** patches
