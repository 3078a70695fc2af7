r"""Common ground of the single-neuron paper's claims, in NumPy, acting on the last axes.

Symbols: $w$ the student, $v$ the teacher ($\|v\| = 1$ unless stated otherwise), $\theta$ the angle between them, $F$ the
loss of Equation (1), $\eta$ the step, $d$ the dimension; $\alpha, \beta, \gamma$ the constants of Assumption 4.1 and
$c_1, c_2$ those of Assumption 5.2.

Under a spherical law ReLU has a gradient that depends on the law through $E[x_1^2]$ alone, since everything is homogeneous of
degree two in the input (judged as `section-D.reduction`): claims about such laws are judged in units of it, in the plane.
"""

from functools import cache

import numpy as np
from scipy.special import erf, expit, ndtr

from tutelage.claims import log_uniform, real, unit
from tutelage.claims.vectors import applied, dot, norm

PAPER = "single_neuron"

# Root errors that show in several places.
SCALE = "$c_1c_2^2 \\ge 1$ is taken for granted"
SQUARE = "the square of the mean gradient for the mean of the squares"
WEIGHT = "the weight $1/\\sqrt{1-y_1^2}$ of the circle is left out"
HOEFFDING = "$e^{-d/4}$ for Hoeffding's $e^{-d/8}$"
PERIOD = "a period of order $1/\\sqrt d$ is not asked for"
CHAIN_RULE = "the factor 2 of $\\partial_t\\|w\\|^2 = 2w\\cdot\\dot w$"
TAIL = "a lower bound on erf where an upper one is needed"
ATOMS = "starts with an atom at zero"
UNION = "constants of Lemma C.3 do not fit those of Theorem 5.3 (3)"


def in_plane(size, theta):
    """The student of a norm and an angle to the teacher, which is the first axis."""
    return np.stack([size * np.cos(theta), size * np.sin(theta)], -1)


def growth(opening):
    r"""$\sin o - o\cos o$, which is $\sin\theta + (\pi-\theta)\cos\theta$ for $o = \pi - \theta$, without cancellation."""
    small = opening**3 / 3 - opening**5 / 30 + opening**7 / 840
    return np.where(np.abs(opening) < 0.05, small, np.sin(opening) - opening * np.cos(opening))


def spherical_gradient(size, theta):
    r"""Equation (25) for a unit teacher on the first axis, in units of $E[x_1^2]$; for all spherical laws."""
    opening, bar = np.pi - theta, np.stack([np.cos(theta), np.sin(theta)], -1)
    teacher = np.stack([opening, 0 * opening], -1)
    return 0.5 * np.expand_dims(size, -1) * bar - (np.expand_dims(np.sin(theta), -1) * bar + teacher) / (2 * np.pi)


# Values and slopes of activations, by the library's names.
ACTIVATIONS = {
    "relu": (lambda z: np.maximum(z, 0), lambda z: np.where(z > 0, 1.0, 0.0)),
    "leaky_relu": (lambda z: np.where(z > 0, z, 0.01 * z), lambda z: np.where(z > 0, 1.0, 0.01)),
    "linear": (lambda z: z, np.ones_like),
    "softplus": (lambda z: np.logaddexp(0, z), expit),
    "tanh": (np.tanh, lambda z: np.cosh(np.clip(z, -350, 350)) ** -2.0),
    "sigmoid": (expit, lambda z: expit(z) * expit(-z)),
    "erf": (erf, lambda z: 2 / np.sqrt(np.pi) * np.exp(-(z**2))),
    "gelu": (lambda z: z * ndtr(z), lambda z: ndtr(z) + z * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)),
}


def two_slopes(z, left, right):
    """An activation with two slopes; the left one at zero."""
    return np.where(z > 0, right, left) * z


def terms(w, v, points, left, right):
    """Equation (3) for an activation with two slopes, at several points: one stochastic gradient per point."""
    student, teacher = applied(points, w), applied(points, v)
    left, right = np.asarray(left)[..., None], np.asarray(right)[..., None]
    residual = two_slopes(student, left, right) - two_slopes(teacher, left, right)
    return (residual * np.where(student > 0, right, left))[..., None] * points


def mean(weights, values):
    """Means of vectors over points with weights."""
    return np.sum(weights[..., None] * values, -2)


# Inputs on four points with weights within a factor 400, and activations with two slopes: a kink makes steps the hardest.
FINITE = [
    {
        "gap": real((d,)),
        "v": unit(d),
        "points": real((4, d)),
        "weights": log_uniform(1 / 400, 1, (4,)),
        "slopes": log_uniform(0.4, 2.7, (2,)),
    }
    for d in (1, 2)
]


def finite_law(gap, v, points, weights, slopes):
    """A law on a few points, a student that is not at the teacher, and the slopes of the activation."""
    w = v + gap * (1 + 0.1 / (norm(gap)[..., None] + 1e-150))
    return {"w": w, "v": v, "points": points, "weights": weights / np.sum(weights, -1, keepdims=True), "slopes": slopes}


def of_points(w, v, points, weights, slopes):
    """The gradient over a few points, and the mean square of its terms."""
    several = terms(w, v, points, slopes[..., 0], slopes[..., 1])
    return mean(weights, several), np.sum(weights * dot(several, several), -1)


_legendre = cache(np.polynomial.legendre.leggauss)


def sectors(theta, count=24):
    r"""Angles to the teacher and weights of a rule for the uniform law on a circle, exact on each side of every kink.

    The student is at the angle $\theta$; the signs of both arguments change at $\pm\pi/2$ and $\theta \pm \pi/2$.
    """
    nodes, masses = _legendre(count)
    theta = np.asarray(theta)[..., None]
    ends = [theta - np.pi / 2, np.pi / 2 + 0 * theta, theta + np.pi / 2, 3 * np.pi / 2 + 0 * theta]
    turns, weights = [], []
    for low, high in zip(ends, [*ends[1:], ends[0] + 2 * np.pi], strict=True):
        turns.append((low + high) / 2 + (high - low) / 2 * nodes)
        weights.append((high - low) / 2 * masses / (2 * np.pi))
    return np.concatenate(turns, -1), np.concatenate(weights, -1)


def over_circle(theta, function):
    r"""The mean of a function of $\cos\angle(y, w)$ and $\cos\angle(y, v)$, $y$ uniform on the circle."""
    turns, weights = sectors(theta)
    return np.sum(weights * function(np.cos(turns - np.asarray(theta)[..., None]), np.cos(turns)), -1)
