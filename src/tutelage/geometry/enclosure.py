r"""Proofs that there is one critical point, by Newton–Kantorovich's theorem in ball arithmetic.

**Theorem.** Let $g = \nabla L$ be differentiable in the closed ball of radius $R$ around $c$, with derivative $H$ of
Lipschitz constant $\Lambda$ there, $\|g(c)\| \le \gamma$, and all eigenvalues of $H(c)$ of absolute value at least
$\lambda > 0$. If

$$\Lambda R < \lambda\qquad\text{and}\qquad\frac\gamma\lambda + \frac{\Lambda r^2}{2\lambda} \le r
\quad\text{for } r = R \text{ and for some } r = r_0 \le R,$$

there is exactly one critical point within $R$ of $c$; it is within $r_0$ of $c$, and the Hessian has as many negative
eigenvalues everywhere in the larger ball as at $c$, and none that is zero.

*Proof.* $T(x) = x - H(c)^{-1}g(x)$ has $\|T(c) - c\| \le \gamma/\lambda$ and, by Taylor's formula,
$\|T(x) - T(c)\| \le \Lambda\|x - c\|^2/(2\lambda)$, so that it maps both balls into themselves; its derivative
$H(c)^{-1}(H(c) - H(x))$ is at most $\Lambda R/\lambda < 1$, so that it is a contraction. Its fixed points are the zeros
of $g$. By Weyl's inequality eigenvalues move by at most $\Lambda R < \lambda$ from $c$ to any point of the ball. ∎

**Eigenvalues.** Of a symmetric $H$ they are enclosed from any matrix $X$ of approximate eigenvectors. Let
$\|X^\top X - I\| \le \delta < 1$ and $X^\top HX = D + E$ with $D$ diagonal. By Weyl the eigenvalues $\mu_k$ of
$X^\top HX$ differ from the sorted entries of $D$ by at most $\|E\|$, and by Ostrowski's theorem
$\mu_k = \vartheta_k\lambda_k$ with $\vartheta_k \in [1 - \delta, 1 + \delta]$.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tutelage.geometry.ball_arithmetic import (
    NotProved,
    Singular,
    balls,
    entrywise,
    exact,
    flint_module,
    floats,
    frobenius,
)
from tutelage.geometry.ball_losses import LossInBalls

if TYPE_CHECKING:
    from flint import arb, arb_mat

# Newton's method is given up after so many steps; from a point that float64 can be brought to, six are enough.
_STEPS = 30

# A Hessian is used again for steps shorter than this.
_SHORT = 1e-7

# Part of λ that ΛR is aimed at; the conditions ask for less than one.
_SHARE = 0.9

# Eigenvalues below this part of the largest one, in float64, are not worth an attempt.
_SINGULAR = 1e-11


@dataclass(frozen=True)
class Enclosure:
    """The numbers of the theorem in the module's text, floats that are meant exactly, for a critical point.

    Attributes:
        gradient_norm: The number γ.
        least_curvature: The number λ.
        lipschitz: The number Λ.
        radius: The radius of the smaller ball.
        unique_radius: The radius of the larger ball.
        eigenvalues: Lower and upper bounds of the different eigenvalues at the critical point, in increasing order.
        index: Number of negative eigenvalues.
        parameters: Number of all eigenvalues, with repetitions.
        excess: The loss of the critical point above half the variance of the noise, in a ball.
    """

    gradient_norm: float
    least_curvature: float
    lipschitz: float
    radius: float
    unique_radius: float
    eigenvalues: np.ndarray
    index: int
    parameters: int
    excess: arb


def at_least(value: arb) -> float:
    """Return a float that is not above any number of a ball, close to it."""
    return 0.0 - at_most(-value)  # never a negative zero


def at_most(value: arb) -> float:
    """Return a float that is not below any number of a ball, close to it."""
    flint = flint_module()
    if not value.is_finite():
        return math.inf
    result = float(value.upper())
    while not flint.arb(result) >= value:
        result = math.nextafter(result, math.inf)
    return result


def conditions_hold(gradient_norm: float, least_curvature: float, lipschitz: float, inner: float, outer: float) -> bool:
    """Whether the conditions of the theorem in the module's text hold for these numbers, exactly.

    Args:
        gradient_norm: The number γ.
        least_curvature: The number λ.
        lipschitz: The number Λ.
        inner: The radius of the smaller ball.
        outer: The radius of the larger ball.
    """
    numbers = (gradient_norm, least_curvature, lipschitz, inner, outer)
    if not all(math.isfinite(number) and number >= 0 for number in numbers):
        return False
    ball = flint_module().arb
    gamma, least, constant = ball(gradient_norm), ball(least_curvature), ball(lipschitz)
    into = all(gamma + constant * ball(r) ** 2 / 2 <= least * ball(r) for r in (inner, outer))
    return bool(least > 0 and ball(inner) <= ball(outer) and constant * ball(outer) < least and into)


def eigenvalue_bounds(matrix: arb_mat) -> tuple[list[arb], list[arb]]:
    """Return lower and upper bounds of all eigenvalues of a symmetric matrix in balls, in increasing order.

    Raises:
        NotProved: If approximate eigenvectors are not close to orthogonal.
    """
    flint = flint_module()
    middle = floats(matrix)
    if not np.isfinite(middle).all():
        raise NotProved("the Hessian is not finite in ball arithmetic")
    vectors = exact(np.linalg.eigh((middle + middle.T) / 2)[1])
    turned = vectors.transpose()
    product = (turned * (matrix * vectors)).tolist()
    gram = (turned * vectors).tolist()
    diagonal = [product[i][i] for i in range(len(product))]
    for i in range(len(product)):
        product[i][i] = flint.arb(0)
        gram[i][i] = gram[i][i] - 1
    error, defect = (frobenius(flint.arb_mat(rows)).upper() for rows in (product, gram))
    if not defect < 1:
        raise NotProved("approximate eigenvectors are not close to orthogonal")
    # Sorted bounds are bounds of the sorted entries.
    lower = sorted((entry - error).lower() for entry in diagonal)
    upper = sorted((entry + error).upper() for entry in diagonal)
    return (
        [(bound / (1 + defect if bound >= 0 else 1 - defect)).lower() for bound in lower],
        [(bound / (1 - defect if bound >= 0 else 1 + defect)).upper() for bound in upper],
    )


def enclosed(loss: LossInBalls, students: arb_mat, zero: bool = False) -> Enclosure:
    """Prove that there is one critical point around a centre, with the precision of `flint.ctx`.

    Args:
        loss: The loss.
        students: The centre, in balls that contain it.
        zero: Whether the loss above the noise is known to be zero at the centre, which is a critical point then.

    Returns:
        The critical point's enclosure; only returned if the conditions of the theorem hold.

    Raises:
        NotProved: If they do not, with the reason.
    """
    flint = flint_module()
    gradient_norm = 0.0 if zero else at_most(frobenius(loss.gradient(students)))
    excess = flint.arb(0) if zero else loss.excess(students)
    bounds = [(low, high, 1) for low, high in zip(*eigenvalue_bounds(loss.hessian(students)), strict=True)]
    least_norm = min(float(frobenius(flint.arb_mat([row]))) for row in loss.vectors(students).tolist())
    return concluded(gradient_norm, bounds, lambda radius: loss.lipschitz(students, radius), least_norm, excess)


def concluded(
    gradient_norm: float,
    bounds: list[tuple[arb, arb, int]],
    lipschitz_within: Callable[[float], arb],
    least_norm: float,
    excess: arb,
) -> Enclosure:
    """Apply the theorem in the module's text to what is enclosed at a centre.

    Args:
        gradient_norm: The number γ; zero at a critical point.
        bounds: Lower and upper bounds of the eigenvalues of the Hessian at the centre, and how often each is repeated.
        lipschitz_within: A Lipschitz constant of the Hessian in a ball of given radius, or raises.
        least_norm: The smallest norm of a neuron, about.
        excess: The loss above half the variance of the noise, at the centre.

    Raises:
        NotProved: If the conditions of the theorem do not hold, with the reason.
    """
    flint = flint_module()
    left_open = sum(number for low, high, number in bounds if not (low > 0 or high < 0))
    if left_open:
        raise Singular(f"the Hessian is not shown to be regular: {left_open} of its eigenvalues may be zero")
    index = sum(number for _, high, number in bounds if high < 0)
    least = min(at_least(low) if low > 0 else -at_most(high) for low, high, _ in bounds)
    outer = _outer_radius(lipschitz_within, least_norm, least)
    lipschitz = at_most(lipschitz_within(outer))
    inner = at_most(2 * flint.arb(gradient_norm) / flint.arb(least))
    if not conditions_hold(gradient_norm, least, lipschitz, inner, outer):
        raise NotProved(
            f"no critical point is shown to be near: the gradient's norm is up to {gradient_norm:.3g}, the smallest "
            f"curvature {least:.3g} or more, and the Hessian's Lipschitz constant up to {lipschitz:.3g}"
        )
    drift = flint.arb(lipschitz) * flint.arb(inner)
    # Sorted bounds are bounds of the sorted eigenvalues.
    lower = sorted(at_least(low - drift) for low, _, _ in bounds)
    upper = sorted(at_most(high + drift) for _, high, _ in bounds)
    parameters = sum(number for *_, number in bounds)
    eigenvalues = np.array([lower, upper]).T
    # By Taylor's formula around the critical point, where the gradient is zero.
    curvature = flint.arb(float(np.abs(eigenvalues).max())) + drift
    spread = flint.arb(0, (curvature * flint.arb(inner) ** 2 / 2).upper())
    return Enclosure(gradient_norm, least, lipschitz, inner, outer, eigenvalues, index, parameters, excess + spread)


def _outer_radius(lipschitz_within: Callable[[float], arb], least_norm: float, least: float) -> float:
    """Return a radius for which ΛR is a good part of λ: nothing is proved here, but that no neuron is zero inside."""
    radius = 0.5 * least_norm
    for _ in range(200):
        bound = float(lipschitz_within(radius))
        if bound * radius <= _SHARE * least:
            break
        # Λ falls with the radius: the quotient is a radius that is too small, at worst by the factor that Λ falls.
        radius = max(0.95 * _SHARE * least / bound, 0.7 * radius)
    return radius


def refined(loss: LossInBalls, start: np.ndarray, digits: int) -> list[list[int]]:
    """Return a point close to a critical point, in units of `10^-digits`, by Newton's method; nothing is proved here.

    Raises:
        NotProved: If Newton's method does not get anywhere.
    """
    matrix = flint_module().arb_mat

    def gradient(students: np.ndarray) -> np.ndarray:
        return balls(loss.gradient(matrix(students.tolist())).tolist())

    def inverse(students: np.ndarray) -> np.ndarray:
        hessian = floats(loss.hessian(matrix(students.tolist())))
        if not np.isfinite(hessian).all():
            raise NotProved("the Hessian is not finite in ball arithmetic")
        values, vectors = np.linalg.eigh((hessian + hessian.T) / 2)
        zero = int((np.abs(values) <= _SINGULAR * np.abs(values).max()).sum())
        if zero:
            raise Singular(f"the Hessian is singular: {zero} of its eigenvalues are zero up to rounding")
        return vectors / values @ vectors.T

    return converged(start, gradient, inverse, digits)


def converged(
    start: np.ndarray,
    gradient: Callable[[np.ndarray], np.ndarray],
    inverse: Callable[[np.ndarray], np.ndarray],
    digits: int,
    scale: np.ndarray | float = 1.0,
) -> list[list[int]]:
    """Return where a gradient is zero, in units of `10^-digits`, by Newton's method; nothing is proved here.

    Args:
        start: A matrix in float64.
        gradient: The gradient at a matrix of balls.
        inverse: The inverse of the Hessian at a matrix of balls, in float64. It is used again for short steps: each
            then gains about as many digits as that has.
        digits: Decimal digits.
        scale: Factors of the entries in the lengths of steps.

    Raises:
        NotProved: If Newton's method does not get anywhere.
    """
    current, newton = balls(start), np.zeros(0)
    step = best = math.inf
    for _ in range(_STEPS):
        if step > _SHORT:
            newton = inverse(current)
        slope = gradient(current)
        size = max((abs(entry.mid()) for entry in slope.flat), key=float)
        if size == 0:
            break
        # Scaled to one, so that float64 holds it, however small it is.
        direction = (newton @ floats(slope / size).ravel()).reshape(start.shape)
        length = float(size) * float(np.linalg.norm(direction * scale))
        if not math.isfinite(length) or length > max(1.0, float(np.linalg.norm(start))):
            raise NotProved(f"Newton's method leaves the point, by a step of length {length:.3g}")
        if step <= _SHORT and length > 0.5 * best:
            break  # the gradient is no longer known better than up to the radii of its balls
        current = entrywise(lambda entry: entry.mid(), current - balls(direction) * size)
        step, best = length, min(best, length)
        if length < 10.0 ** -(digits + 3):
            break
    else:
        raise NotProved(f"Newton's method does not converge in {_STEPS} steps")
    unit, half = 10**digits, flint_module().arb(0.5)
    return [[int((entry * unit + half).mid().floor().unique_fmpz()) for entry in row] for row in current]
