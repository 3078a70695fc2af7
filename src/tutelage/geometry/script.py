"""Certificates as programs: a script that checks one with mpmath alone, from the definition of the loss."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from tutelage.geometry.ball_losses import LossInBalls
    from tutelage.geometry.certificate import Certificate

_TEXT = '''"""Checks a certificate of a critical point; needs Python and mpmath, and nothing else.

{theorem}
"""

from mpmath import atan2, fsum, matrix, mp, mpf, norm, pi, sqrt

mp.dps = {digits}
CENTRE = {centre}
TEACHER = {teacher}
# Signs of the students' output weights, output weights of the teacher, and rates of norms and of half their squares.
SIGNS, OUTPUTS = {signs}, {outputs}
OF_NORMS, OF_SQUARES = {decay}
# What the outputs of student and teacher are multiplied with.
FACTORS = {factors}
SLOPES, VARIANCE, NOISE = {slopes}, {variance}, {noise}
REACH, INNER, GRADIENT, LEAST, LIPSCHITZ = {numbers}
LOSS, INDEX = {loss}, {index}

W = [[mpf(entry) for entry in row] for row in CENTRE]
f, g = map(mpf, FACTORS)
V = [[mpf(entry) * abs(mpf(output) * g / f) for entry in row] for row, output in zip(TEACHER, OUTPUTS)]
S, T = SIGNS, [1 if mpf(output) > 0 else -1 for output in OUTPUTS]
mu, rate = sqrt(mpf(OF_NORMS[0]) * mpf(OF_NORMS[1])), mpf(OF_SQUARES)
n, d = len(W), len(W[0])
a, b = map(mpf, SLOPES)
# The loss is f^2 times that of the students alone and the teachers times g/f.
variance = f**2 * mpf(VARIANCE)
alpha, beta = variance * (b - a) ** 2 / (2 * pi), variance * (a**2 + b**2) / 2


def dot(w, v):
    return fsum(x * y for x, y in zip(w, v))


def pair(w, v):
    """Squared norms, inner product, area of the parallelogram and angle."""
    p, q, c = dot(w, w), dot(v, v), dot(w, v)
    square = p * q - c * c
    area = sqrt(square) if square > p * q * mpf(10) ** (8 - mp.dps) else mpf(0)
    return p, q, c, area, atan2(area, c)


def dual(w, v):
    """E[sigma(w.x) sigma(v.x)] with slopes a and b, by integration over the angle in the plane of w and v."""
    p, q, c, area, angle = pair(w, v)
    return alpha * area + (beta - alpha * angle) * c


def loss():
    both = total(W, S, W, S) / 2 - total(W, S, V, T) + total(V, T, V, T) / 2
    return both + mpf(NOISE) ** 2 / 2 + fsum(mu * sqrt(dot(w, w)) + rate * dot(w, w) / 2 for w in W)


def total(first, signs, second, others):
    return fsum(s * t * dual(w, v) for w, s in zip(first, signs) for v, t in zip(second, others))


def pull(w, v):
    """The gradient of the dual in w."""
    p, q, c, area, angle = pair(w, v)
    return [(beta - alpha * angle) * y + alpha * area / p * x for x, y in zip(w, v)]


def own_block(w, v):
    p, q, c, area, angle = pair(w, v)
    if area == 0:
        return [[mpf(0)] * d for _ in range(d)]
    z = [y - c / p * x for x, y in zip(w, v)]
    return [
        [alpha / p * (area * ((i == j) - w[i] * w[j] / p) + z[i] * z[j] * p / area) for j in range(d)]
        for i in range(d)
    ]


def mixed_block(w, v):
    p, q, c, area, angle = pair(w, v)
    r = beta - alpha * angle
    if area == 0:
        return [[r * (i == j) for j in range(d)] for i in range(d)]
    return [
        [
            r * (i == j)
            + alpha / area * (w[i] * v[j] + v[i] * w[j] - c * (w[i] * w[j] / p + v[i] * v[j] / q))
            for j in range(d)
        ]
        for i in range(d)
    ]


def hessian():
    H = matrix(n * d)
    for i in range(n):
        for j in range(n):
            if i == j:
                terms = [(S[i] * t, own_block(W[i], u)) for k, (u, t) in enumerate(zip(W, S)) if k != i]
                terms += [(-S[i] * t, own_block(W[i], v)) for v, t in zip(V, T)]
                p = dot(W[i], W[i])
                block = [
                    [
                        (beta + rate + mu / sqrt(p)) * (r == s) - mu * W[i][r] * W[i][s] / sqrt(p) ** 3
                        + fsum(t * x[r][s] for t, x in terms)
                        for s in range(d)
                    ]
                    for r in range(d)
                ]
            else:
                block = [[S[i] * S[j] * x for x in row] for row in mixed_block(W[i], W[j])]
            for r in range(d):
                for s in range(d):
                    H[i * d + r, j * d + s] = block[r][s]
    return H


def negative(H, shift):
    """How many eigenvalues of H are below a shift: negative pivots, by Sylvester's law of inertia."""
    size = H.rows
    A = [[H[i, j] - shift * (i == j) for j in range(size)] for i in range(size)]
    count = 0
    for k in range(size):
        count += A[k][k] < 0
        for i in range(k + 1, size):
            factor = A[i][k] / A[k][k]
            if factor:
                A[i] = [x - factor * y if j > k else x for j, (x, y) in enumerate(zip(A[i], A[k]))]
    return count


def lipschitz(radius):
    """A Lipschitz constant of the Hessian: third derivatives are at most 3 sqrt(3)/pi, 4/pi times `even`."""
    even = variance * ((b - a) / 2) ** 2
    norms = [sqrt(dot(w, w)) for w in W]
    total = fsum(sqrt(dot(v, v)) for v in V) + fsum(norms) + n * radius
    cubic = max(3 * sqrt(mpf(3)) / pi * even * (total - x - radius) / (x - radius) ** 2 for x in norms)
    cubic += mu * 2 / sqrt(mpf(3)) / (min(norms) - radius) ** 2
    return cubic + (3 * sqrt(mpf(n)) * 4 / pi * even / (min(norms) - radius) if n > 1 else 0)


R, r, G, m, K = (mpf(number) for number in (REACH, INNER, GRADIENT, LEAST, LIPSCHITZ))
D = []
for w, s in zip(W, S):
    rows = [[s * t * x for x in pull(w, u)] for u, t in zip(W, S)]
    rows += [[-s * t * x for x in pull(w, v)] for v, t in zip(V, T)]
    D.append([fsum(column) + (rate + mu / sqrt(dot(w, w))) * x for x, column in zip(w, zip(*rows))])
H = hessian()
tiny = mpf(10) ** (20 - mp.dps)
CHECKS = {{
    "gradient at the centre": norm([x for row in D for x in row]) <= G + tiny,
    "no eigenvalue in (-m, m), and the index": negative(H, -m) == negative(H, m) == INDEX,
    "Lipschitz constant": min(sqrt(dot(w, w)) for w in W) > R and lipschitz(R) <= K,
    "K R < m": K * R < m,
    "g + K R^2/2 <= m R": G + K * R**2 / 2 <= m * R,
    "g + K r^2/2 <= m r, r <= R": G + K * r**2 / 2 <= m * r and r <= R,
    "loss": mpf(LOSS[0]) - tiny <= loss() <= mpf(LOSS[1]) + tiny,
}}
for name, holds in CHECKS.items():
    print("holds" if holds else "FAILS", name)
raise SystemExit(0 if all(CHECKS.values()) else 1)
'''


def script(certificate: Certificate, rows: tuple[tuple[str, ...], ...], loss: LossInBalls) -> str:
    """Return the program that checks a certificate.

    Args:
        certificate: The certificate, with a proof.
        rows: Its centre in full.
        loss: The problem.
    """
    rate, output = (0.0, None) if loss.decay is None else (loss.decay.rates[0], loss.decay.output)
    numbers = ("unique_radius", "radius", "gradient_norm", "least_curvature", "lipschitz")
    return _TEXT.format(
        theorem=str(certificate).replace("\\", "\\\\"),
        digits=certificate.digits + 30,
        centre=_shown(rows),
        # Floats are meant exactly, and `mpf` reads them so; texts it would read as decimals.
        teacher=_shown(np.asarray(loss.teacher, float).tolist()),
        signs=[1] * len(rows) if loss.signs is None else np.sign(loss.signs).astype(int).tolist(),
        outputs=[1.0] * len(loss.teacher) if loss.outputs is None else np.asarray(loss.outputs, float).tolist(),
        decay=((0.0 if output is None else rate, output or 0.0), rate if output is None else 0.0),
        factors=loss.factors,
        slopes=(loss.left, loss.right),
        variance=loss.scale,
        noise=loss.noise,
        numbers=", ".join(repr(getattr(certificate, name)) for name in numbers),
        loss=certificate.loss,
        index=certificate.index,
    )


def _shown(rows: Sequence[Sequence[str | float]]) -> str:
    return "[\n" + "".join(f"    {list(row)!r},\n" for row in rows) + "]"
