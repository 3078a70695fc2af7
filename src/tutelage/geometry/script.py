"""Certificates as programs: a script that checks one with mpmath alone, from the definition of the loss."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from tutelage.geometry.balls import BallLoss
    from tutelage.geometry.certificate import Certificate

_TEXT = '''"""Checks a certificate of a critical point; needs Python and mpmath, and nothing else.

{theorem}
"""

from mpmath import atan2, fsum, matrix, mp, mpf, norm, pi, sqrt

mp.dps = {digits}
CENTRE = {centre}
TEACHER = {teacher}
SLOPES, VARIANCE, NOISE = {slopes}, {variance}, {noise}
REACH, INNER, GRADIENT, LEAST, LIPSCHITZ = {numbers}
LOSS, INDEX = {loss}, {index}

W = [[mpf(entry) for entry in row] for row in CENTRE]
V = [[mpf(entry) for entry in row] for row in TEACHER]
n, d = len(W), len(W[0])
a, b = map(mpf, SLOPES)
alpha, beta = mpf(VARIANCE) * (b - a) ** 2 / (2 * pi), mpf(VARIANCE) * (a**2 + b**2) / 2


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
    both = fsum(dual(w, u) for w in W for u in W) / 2 - fsum(dual(w, v) for w in W for v in V)
    return both + fsum(dual(u, v) for u in V for v in V) / 2 + mpf(NOISE) ** 2 / 2


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
                plus = [own_block(W[i], u) for k, u in enumerate(W) if k != i]
                minus = [own_block(W[i], v) for v in V]
                block = [
                    [beta * (r == s) + fsum(x[r][s] for x in plus) - fsum(x[r][s] for x in minus) for s in range(d)]
                    for r in range(d)
                ]
            else:
                block = mixed_block(W[i], W[j])
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
    even = mpf(VARIANCE) * ((b - a) / 2) ** 2
    norms = [sqrt(dot(w, w)) for w in W]
    total = fsum(sqrt(dot(v, v)) for v in V) + fsum(norms) + n * radius
    cubic = max(3 * sqrt(mpf(3)) / pi * even * (total - x - radius) / (x - radius) ** 2 for x in norms)
    return cubic + (3 * sqrt(mpf(n)) * 4 / pi * even / (min(norms) - radius) if n > 1 else 0)


R, r, g, m, K = (mpf(number) for number in (REACH, INNER, GRADIENT, LEAST, LIPSCHITZ))
G = [
    [fsum(column) for column in zip(*([pull(w, u) for u in W] + [[-x for x in pull(w, v)] for v in V]))] for w in W
]
H = hessian()
tiny = mpf(10) ** (20 - mp.dps)
CHECKS = {{
    "gradient at the centre": norm([x for row in G for x in row]) <= g + tiny,
    "no eigenvalue in (-m, m), and the index": negative(H, -m) == negative(H, m) == INDEX,
    "Lipschitz constant": min(sqrt(dot(w, w)) for w in W) > R and lipschitz(R) <= K,
    "K R < m": K * R < m,
    "g + K R^2/2 <= m R": g + K * R**2 / 2 <= m * R,
    "g + K r^2/2 <= m r, r <= R": g + K * r**2 / 2 <= m * r and r <= R,
    "loss": mpf(LOSS[0]) - tiny <= loss() <= mpf(LOSS[1]) + tiny,
}}
for name, holds in CHECKS.items():
    print("holds" if holds else "FAILS", name)
raise SystemExit(0 if all(CHECKS.values()) else 1)
'''


def script(certificate: Certificate, rows: tuple[tuple[str, ...], ...], loss: BallLoss) -> str:
    """Return the program that checks a certificate.

    Args:
        certificate: The certificate, with a proof.
        rows: Its centre in full.
        loss: The problem.
    """
    numbers = ("unique_radius", "radius", "gradient_norm", "least_curvature", "lipschitz")
    return _TEXT.format(
        theorem=str(certificate).replace("\\", "\\\\"),
        digits=certificate.digits + 30,
        centre=_shown(rows),
        teacher=_shown(tuple(tuple(repr(float(entry)) for entry in row) for row in np.asarray(loss.teacher))),
        slopes=(repr(loss.left), repr(loss.right)),
        variance=repr(repr(loss.scale)),
        noise=repr(repr(loss.noise)),
        # Floats are meant exactly, and `mpf` reads them so.
        numbers=", ".join(repr(getattr(certificate, name)) for name in numbers),
        loss=certificate.loss,
        index=certificate.index,
    )


def _shown(rows: tuple[tuple[str, ...], ...]) -> str:
    return "[\n" + "".join(f"    {list(row)!r},\n" for row in rows) + "]"
