r"""Critical points that form a continuum because several students share one neuron.

Let $\sigma$ have two slopes, so that $f\sigma(w\cdot x) = \sigma(fw\cdot x)$ for $f > 0$. A student of $n$ neurons that
are positive multiples of the $m < n$ neurons of another student $c$, those of neuron $i$ adding up to $c_i$, computes
what $c$ does. All such students, the *continuum* of $c$, are an open part of an affine space of dimension $n - m$.

**Theorem.** Let $c$ be a critical point with $m$ neurons and a regular Hessian of index $I$, and for each neuron with
$p_i > 1$ parts let the reduced block $H'_{ii} = E[(\text{student} - \text{teacher})\nabla^2\sigma(c_i\cdot x)]$, the
Hessian's block less that of the neuron's own dual, have $J_i$ negative eigenvalues, and only one that is zero. Then
every student of the continuum is a critical point of the same loss; its Hessian has $I + \sum_i(p_i - 1)J_i$
negative eigenvalues and exactly $n - m$ that are zero; and it has a neighbourhood in which all critical points belong
to the continuum. If there is no negative eigenvalue, all of them are local minima, strict but for the continuum.

*Proof.* Let the parts of neuron $i$ be $f_lc_i$ and move them by $f_ls + u_l$ with $\sum_lu_l = 0$: $s$ is what their
sum moves by. The function changes, to first order, as if $c_i$ had moved by $s$; second derivatives of $\sigma$ are
homogeneous of degree $-1$, so that the second-order term is
$\sum_lf_l^{-1}(f_ls + u_l)^\top H'_{ii}(f_ls + u_l) = s^\top H'_{ii}s + \sum_lf_l^{-1}u_l^\top H'_{ii}u_l$. So in the
coordinates $(s, u)$ the Hessian is that of $c$ and, beside it, $H'_{ii}$ with a positive definite form in the
$p_i - 1$ free ones of the $u_l$; by Sylvester's law of inertia indices add up. $H'_{ii}c_i = 0$ by homogeneity, which
gives $\sum_i(p_i - 1) = n - m$ zero eigenvalues, those along the continuum, and no others. Let $x$ be close to a
student $x_0$ of the continuum, and $y$ the point of it that is closest to $x$. The mean of the Hessian between both is
close to the one at $x_0$, since it is continuous (`tutelage.geometry.balls`), and $x - y$ is orthogonal to the kernel
of that; so $\nabla L(x) = \nabla L(x) - \nabla L(y)$ is not zero unless $x = y$, and $L(x) > L(y)$ where all other
eigenvalues are positive. ∎

**Signs and biases.** All of this holds for rows with biases, and for neurons with signs, if parts have the sign of
their neuron.

**Global minima.** If $c$ is the teacher, the loss is zero on the continuum, whatever the Hessian: $H' = 0$ there.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from tutelage.geometry.ball_arithmetic import (
    NotProved,
    Singular,
    balls_of,
    dot,
    exact,
    exact_decimals,
    flint_module,
    frobenius,
)
from tutelage.geometry.ball_losses import LossInBalls
from tutelage.geometry.enclosure import at_least, at_most, eigenvalue_bounds

if TYPE_CHECKING:
    from flint import arb

# Students at a smaller angle are parts of one neuron.
_PARALLEL = 1e-6

# Descent comes to global minima that form a continuum slowly: a student this close is said to be at one.
_NEAR = 0.1


def parts_of(loss: LossInBalls, vectors: np.ndarray) -> tuple[int, ...] | None:
    """Return which neuron of the merged student each student is a part of, or `None` if no two are parallel.

    Neurons whose output weights have different signs are parts of different neurons.
    """
    units = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-300)
    if loss.signs is not None:
        units = np.column_stack([units, loss.signs])
    parts: list[int] = []
    first: list[int] = []
    for row, unit in enumerate(units):
        distances = np.linalg.norm(units[first] - unit, axis=1) if first else np.ones(1)
        if distances.min() <= _PARALLEL:
            parts.append(int(distances.argmin()))
        else:
            parts.append(len(first))
            first.append(row)
    return tuple(parts) if len(first) < len(vectors) else None


def merged_loss(loss: LossInBalls, parts: tuple[int, ...]) -> LossInBalls:
    """Return the loss of the student in which the parts of each neuron are added up: with the signs of these."""
    if loss.signs is None:
        return loss
    return replace(loss, signs=loss.signs[[parts.index(part) for part in range(max(parts) + 1)]])


def merged_parts(vectors: np.ndarray, parts: tuple[int, ...]) -> np.ndarray:
    """Return the student in which the parts of each neuron are added up."""
    merged = np.zeros((max(parts) + 1, vectors.shape[1]))
    np.add.at(merged, list(parts), vectors)
    return merged


def whole_teacher(loss: LossInBalls) -> np.ndarray:
    """Return the teacher's vectors times the sizes of its output weights as fractions."""
    sizes = np.ones(len(loss.teacher)) if loss.outputs is None else np.abs(loss.outputs)
    rows = zip(sizes, loss.teacher, strict=True)
    return np.array([[Fraction(size) * Fraction(entry) for entry in row] for size, row in rows])


def shared_zero(loss: LossInBalls, vectors: np.ndarray) -> dict[str, Any] | None:
    """Return the numbers of the certificate of global minima near a student of more neurons than teachers, if any.

    The centre is the teacher; one of the students that share it, with zero loss, is within the distance that is given.
    """
    number = loss.teacher.shape[0]
    if len(vectors) <= number or vectors.shape[1] != loss.teacher.shape[1] or loss.factors[0] != loss.factors[1]:
        return None
    decimals = exact_decimals(whole_teacher(loss))
    cosines = vectors @ loss.teacher.T / np.linalg.norm(loss.teacher, axis=1)
    mine, theirs = (np.ones(1) if signs is None else np.sign(signs) for signs in (loss.signs, loss.outputs))
    cosines = np.where(mine[:, None] == theirs, cosines, -np.inf)
    parts = tuple(cosines.argmax(axis=1).tolist())
    if set(parts) != set(range(number)) or cosines.max(axis=1).min() <= 0:
        return None
    away = _distance(vectors, parts, balls_of(decimals))
    if away is None or not away < _NEAR:
        return None
    lowest = loss.lowest()
    return {
        "kind": "global minimum",
        "reason": _open(len(vectors) - number),
        "decimals": decimals,
        "parts": parts,
        "distance": at_most(away),
        "loss": (at_least(lowest), at_most(lowest)),
        "excess": (0.0, 0.0),
        # No eigenvalue is negative at a smallest loss, and along the continuum they are zero.
        "smallest_eigenvalue": (0.0, 0.0),
        "index": 0,
        **dict.fromkeys(("radius", "unique_radius", "gradient_norm", "least_curvature", "lipschitz"), 0.0),
    }


def _open(dimension: int) -> str:
    return f"one of a continuum of dimension {dimension}, of students that share neurons"


def _distance(vectors: np.ndarray, parts: tuple[int, ...], centre: Any) -> arb | None:
    """Return the distance of a student from one whose neurons are parts of a centre's, or `None` if one is not."""
    flint = flint_module()
    rows, wanted = exact(vectors).tolist(), centre.tolist()
    along = [dot(row, wanted[part]) for row, part in zip(rows, parts, strict=True)]
    totals = [flint.arb(0)] * len(wanted)
    for one, part in zip(along, parts, strict=True):
        totals[part] = totals[part] + one
    if not all(one > 0 for one in (*along, *totals)):
        return None
    nearest = [[entry * one / totals[part] for entry in wanted[part]] for one, part in zip(along, parts, strict=True)]
    return frobenius(flint.arb_mat(rows) - flint.arb_mat(nearest))


def with_parts(proof: dict[str, Any], loss: LossInBalls, vectors: np.ndarray, parts: tuple[int, ...]) -> dict[str, Any]:
    """Return the numbers of the certificate of a continuum, from those of its merged student.

    Args:
        proof: The numbers of the certificate of the merged student.
        loss: The loss.
        vectors: The student.
        parts: Which neuron of the merged student each of its neurons is a part of.

    Raises:
        NotProved: If reduced blocks have other zero eigenvalues, or a part looks away from its neuron.
    """
    flint = flint_module()
    centre = balls_of(proof["decimals"])
    drift = flint.arb(proof["lipschitz"]) * flint.arb(proof["radius"])
    away = _distance(vectors, parts, centre)
    if away is None:
        raise NotProved("a part of a neuron looks away from it")
    index, least = proof["index"], np.inf
    for neuron, number in Counter(parts).items():
        if number == 1:
            continue
        lower, upper = eigenvalue_bounds(loss.reduced_block(centre, neuron))
        signs = [(low > drift) - (high < -drift) for low, high in zip(lower, upper, strict=True)]
        if signs.count(0) != 1:
            raise Singular(f"{signs.count(0)} eigenvalues of a reduced block may be zero, where one is")
        index += (number - 1) * signs.count(-1)
        bounds = [low if sign > 0 else -high for low, high, sign in zip(lower, upper, signs, strict=True) if sign]
        least = min(least, *(at_least(bound) for bound in bounds))
    kind, reason = proof["kind"], proof["reason"]
    if index:
        kind, reason = ("saddle", "")
    return {
        **proof,
        "kind": kind,
        "reason": "; ".join(filter(None, [reason, _open(len(vectors) - len(proof["decimals"]))])),
        "parts": parts,
        "centre": None,
        "index": index,
        "split_curvature": least,
        "distance": at_most(away + flint.arb(proof["radius"])),
        "smallest_eigenvalue": (np.nan, np.nan) if index else (0.0, 0.0),
    }
