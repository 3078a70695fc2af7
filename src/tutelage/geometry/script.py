"""Certificates as programs: a script that checks one with mpmath alone, from the definition of the loss."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from tutelage.geometry.ball_losses import LossInBalls
    from tutelage.geometry.certificate import Certificate

_HEAD = '''"""Checks a certificate of a critical point; needs Python and mpmath, and nothing else.

{theorem}
"""

from mpmath import asin, cos, erf, exp, fsum, matrix, mp, mpf, norm, pi, quad, sin, sqrt

mp.dps = {digits}
CENTRE = {centre}
TEACHER = {teacher}
# Signs of the students' output weights, output weights of the teacher, and factors of both outputs.
SIGNS, OUTPUTS, FACTORS = {signs}, {outputs}, {factors}
# Rates of weight decay: of the entries of a row, and of the output weights where these are learned.
RATES, OUTPUT_RATE = {rates}, {output_rate}
SLOPES, VARIANCE, NOISE = {slopes}, {variance}, {noise}
REACH, INNER, GRADIENT, LEAST, LIPSCHITZ = {numbers}
LOSS, INDEX = {loss}, {index}

W = [[mpf(entry) for entry in row] for row in CENTRE]
f, g = map(mpf, FACTORS)
n, d = len(W), len(W[0])
a, b = map(mpf, SLOPES)


def dot(w, v):
    return fsum(x * y for x, y in zip(w, v))


'''

_FORMULAS = '''# Rows meet mu + sqrt(variance) (z, 0) with a standard normal z; the last number of mu is one for biases.
# Without mean and biases all laws of this variance that rotations do not change have the same duals.
MEAN, BIASED = {mean}, {biased}
mu = [mpf(entry) for entry in MEAN] + [mpf(1)] * BIASED
varying, whole, deviation = len(MEAN), len(mu), sqrt(mpf(VARIANCE))
W = [row + [mpf(0)] * (whole - d) for row in W]
V = [[mpf(entry) for entry in row] for row in TEACHER]
S, T = [f * sign for sign in SIGNS], [g * mpf(output) for output in OUTPUTS]
P, Q = (b + a) / 2, (b - a) / 2


def phi(x):
    return exp(-x * x / 2) / sqrt(2 * pi)


def sign(x):
    return erf(x / sqrt(mpf(2)))


def polar(w):
    """Norm and unit vector of what meets the inputs that vary, and the level."""
    size = sqrt(dot(w[:varying], w[:varying]))
    return size, [x / size for x in w[:varying]] + [mpf(0)] * BIASED, dot(mu, w) / (deviation * size)


def outer(x, y):
    return [[one * two for two in y] for one in x]


def combined(*terms):
    return [[fsum(c * m[i][j] for c, m in terms) for j in range(whole)] for i in range(whole)]


IDENTITY = [[mpf(i == j < varying) for j in range(whole)] for i in range(whole)]


KNOWN = dict()


def mixed_block(w, v, same):
    """What `_mixed_block` returns, computed once for each pair."""
    pair = frozenset([id(w), id(v)])
    if pair not in KNOWN:
        KNOWN[pair] = _mixed_block(w, v, same)
    return KNOWN[pair]


def _mixed_block(w, v, same):
    """E[sigma'(w.x) sigma'(v.x) x x^T], from the mean of two signs and its derivatives in the levels."""
    (_, x, h), (_, y, k) = polar(w), polar(v)
    c = dot(x, y)
    sine, close = sqrt(abs(1 - c * c)), mpf(10) ** (10 - mp.dps / 2)
    if same or sine < close:  # parallel: the signs differ between the levels
        turn = 1 if c > 0 else -1
        both, density = turn * (1 - abs(sign(h) - sign(turn * k))), mpf(0)
        apart = 0 if abs(h - turn * k) < close else 1 if turn * k > h else -1
        by_h, by_k = 2 * phi(h) * turn * apart, -2 * phi(k) * apart
    else:
        both = sign(h) * sign(k) + quad(
            lambda t: 2 / pi * exp(-(h * h + k * k - 2 * h * k * sin(t)) / (2 * cos(t) ** 2)), [0, asin(c)]
        )
        by_h, by_k = 2 * phi(h) * sign((k - h * c) / sine), 2 * phi(k) * sign((h - k * c) / sine)
        density = 4 * phi(h) * phi((k - h * c) / sine) / sine
    total = P * P + P * Q * (sign(h) + sign(k)) + Q * Q * both
    one, two = 2 * P * Q * phi(h) + Q * Q * by_h, 2 * P * Q * phi(k) + Q * Q * by_k
    linear = [deviation * (one * s + two * t) for s, t in zip(x, y)]
    square = mpf(VARIANCE)
    bend = Q * Q * density * square
    return combined(
        (total, outer(mu, mu)), (1, outer(mu, linear)), (1, outer(linear, mu)), (total * square, IDENTITY),
        (-h * one * square - c * bend, outer(x, x)), (-k * two * square - c * bend, outer(y, y)),
        (bend, outer(x, y)), (bend, outer(y, x)),
    )


def own_block(w, v):
    """E[sigma''(w.x) sigma(v.x) x x^T], given that w.x is zero."""
    (size, x, h), square = polar(w), mpf(VARIANCE)
    place = [m - deviation * h * s for m, s in zip(mu, x)]
    along = dot(v[:varying], x)
    rest = [s - along * t for s, t in zip(v[:varying], x)] + [mpf(0)] * BIASED
    mean, spread = dot(v, place), deviation * sqrt(dot(rest, rest))
    if spread < mpf(10) ** (8 - mp.dps) * sqrt(dot(v, v)):
        value, slope, peak = P * mean + Q * abs(mean), P, mpf(0)
    else:
        value = P * mean + Q * (2 * spread * phi(mean / spread) + mean * sign(mean / spread))
        slope, peak = P + Q * sign(mean / spread), 2 * Q * square**2 * phi(mean / spread) / spread
    factor = 2 * Q * phi(h) / (deviation * size)
    return combined(
        (factor * value, outer(place, place)), (factor * value * square, IDENTITY),
        (-factor * value * square, outer(x, x)), (factor * slope * square, outer(place, rest)),
        (factor * slope * square, outer(rest, place)), (factor * peak, outer(rest, rest)),
    )


def dual(w, v):
    return dot(w, pull(w, v))


def pull(w, v):
    return [dot(row, v) for row in mixed_block(w, v, w is v)]
'''

_CENTRED = '''

def lipschitz(radius):
    """A Lipschitz constant of the Hessian: third derivatives are at most 3 sqrt(3)/pi, 4/pi times `even`."""
    even = mpf(VARIANCE) * (f * Q) ** 2
    norms = [sqrt(dot(w, w)) for w in W]
    total = fsum(abs(t / f) * sqrt(dot(v, v)) for v, t in zip(V, T)) + fsum(norms) + n * radius
    cubic = max(3 * sqrt(mpf(3)) / pi * even * (total - x - radius) / (x - radius) ** 2 for x in norms)
    return cubic + (3 * sqrt(mpf(n)) * 4 / pi * even / (min(norms) - radius) if n > 1 else 0)
'''

_SHIFTED = '''

def lipschitz(radius):
    """A Lipschitz constant of the Hessian: Cauchy and Schwarz, given that a neuron's argument is zero."""
    square, steep = mpf(VARIANCE), max(abs(a), abs(b))
    centre = sqrt(dot(mu, mu))
    sizes = [abs(s) * (sqrt(dot(w, w)) + radius) for w, s in zip(W, S)]
    others = fsum(sizes) + fsum(abs(t) * sqrt(dot(v, v)) for v, t in zip(V, T))
    pure, mixed = [], []
    for w, s, size in zip(W, S, sizes):
        length, offset = polar(w)[0], abs(dot(mu, w))
        least = length - radius
        high = (offset + centre * radius) / (deviation * least)
        low = max(offset - centre * radius, 0) / (deviation * (length + radius))
        moment = (centre + deviation * high) ** 2 + square if any(MEAN) else max(1 + square * high**2, square)
        cubed, bend = sqrt(3 * moment**3), 2 * abs(Q) * steep * phi(low) / (deviation * least)
        along = (sqrt(mpf(15)) * high * moment**2 + 4 * deviation * cubed) / (deviation * least)
        own = 4 * abs(P * Q) * phi(low) / (deviation * least) * cubed
        pure.append(abs(s) * (bend * along * (others - size) + abs(s) * own))
        mixed.append(abs(s) * bend * cubed)
    return max(pure) + (3 * sqrt(mpf(n)) * max(mixed) * max(map(abs, S)) if n > 1 else 0)
'''

_TAIL = '''

def total(first, signs, second, others):
    return fsum(s * t * dual(w, v) for w, s in zip(first, signs) for v, t in zip(second, others))


def size(w):
    """What decay is a multiple of, where output weights are learned: a rescaling makes it as small as it can be."""
    return sqrt(fsum(mpf(rate) * x * x for rate, x in zip(RATES, w)))


decays, root = any(RATES), sqrt(mpf(OUTPUT_RATE or 0))


def decay(w):
    return (size(w) ** 2 / 2 if OUTPUT_RATE is None else root * size(w)) if decays else 0


def loss():
    both = total(W, S, W, S) / 2 - total(W, S, V, T) + total(V, T, V, T) / 2
    return both + mpf(NOISE) ** 2 / 2 + fsum(decay(w) for w in W)


def decay_of(w, r, s=None):
    """The gradient of decay in an entry of a row, or the second derivative in two."""
    if not decays:
        return 0
    rates = [mpf(rate) for rate in RATES]
    factor = 1 if OUTPUT_RATE is None else root / size(w)
    if s is None:
        return factor * rates[r] * w[r]
    whole = factor * rates[r] * (r == s)
    return whole if OUTPUT_RATE is None else whole - factor * rates[r] * w[r] * rates[s] * w[s] / size(w) ** 2


def hessian():
    H = matrix(n * d)
    for i in range(n):
        for j in range(n):
            block = [[S[i] * S[j] * x for x in row] for row in mixed_block(W[i], W[j], i == j)]
            if i == j:
                terms = [(S[i] * t, own_block(W[i], u)) for k, (u, t) in enumerate(zip(W, S)) if k != i]
                terms += [(-S[i] * t, own_block(W[i], v)) for v, t in zip(V, T)]
                block = [
                    [block[r][s] + fsum(t * x[r][s] for t, x in terms) + decay_of(W[i], r, s) for s in range(d)]
                    for r in range(d)
                ]
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


R, r, G, m, K = (mpf(number) for number in (REACH, INNER, GRADIENT, LEAST, LIPSCHITZ))
D = []
for w, s in zip(W, S):
    rows = [[s * t * x for x in pull(w, u)] for u, t in zip(W, S)]
    rows += [[-s * t * x for x in pull(w, v)] for v, t in zip(V, T)]
    D.append([fsum(column) + decay_of(w, place) for place, column in enumerate(list(zip(*rows))[:d])])
H = hessian()
norms = [sqrt(dot(w[:varying], w[:varying])) for w in W]
constant = lipschitz(R) if min(norms) > R else mp.inf
if decays and OUTPUT_RATE is not None:
    largest = sqrt(max(mpf(rate) for rate in RATES))
    least = min(size(w) for w in W) - largest * R
    constant = constant + root * largest**3 * 2 / sqrt(mpf(3)) / least**2 if least > 0 else mp.inf
tiny = mpf(10) ** (20 - mp.dps)
CHECKS = {{
    "gradient at the centre": norm([x for row in D for x in row]) <= G + tiny,
    "no eigenvalue in (-m, m), and the index": negative(H, -m) == negative(H, m) == INDEX,
    "Lipschitz constant": constant <= K,
    "K R < m": K * R < m,
    "g + K R^2/2 <= m R": G + K * R**2 / 2 <= m * R,
    "g + K r^2/2 <= m r, r <= R": G + K * r**2 / 2 <= m * r and r <= R,
    "loss": mpf(LOSS[0]) - tiny <= loss() <= mpf(LOSS[1]) + tiny,
}}
for name, holds in CHECKS.items():
    print("holds" if holds else "FAILS", name)
raise SystemExit(0 if all(CHECKS.values()) else 1)
'''


def script(certificate: Certificate, loss: LossInBalls) -> str:
    """Return the program that checks a certificate, of a proof with its centre in full, of a loss."""
    rows = certificate.decimals
    numbers = ("unique_radius", "radius", "gradient_norm", "least_curvature", "lipschitz")
    mean = np.zeros(loss.dimension) if loss.mean is None else loss.mean
    return (_HEAD + _FORMULAS + (_SHIFTED if loss.shifted else _CENTRED) + _TAIL).format(
        theorem=str(certificate).replace("\\", "\\\\"),
        digits=certificate.digits + 30,
        centre=_shown(rows),
        # Floats are meant exactly, and `mpf` reads them so; texts it would read as decimals.
        teacher=_shown(np.asarray(loss.teacher, float).tolist()),
        signs=[1] * len(rows) if loss.signs is None else np.sign(loss.signs).astype(int).tolist(),
        outputs=[1.0] * len(loss.teacher) if loss.outputs is None else np.asarray(loss.outputs, float).tolist(),
        factors=loss.factors,
        rates=[0.0] * len(rows[0]) if loss.decay is None else list(loss.decay.rates),
        output_rate=None if loss.decay is None else loss.decay.output,
        mean=np.asarray(mean, float).tolist(),
        biased=int(loss.biased),
        slopes=(loss.left, loss.right),
        variance=loss.scale,
        noise=loss.noise,
        numbers=", ".join(repr(getattr(certificate, name)) for name in numbers),
        loss=certificate.loss,
        index=certificate.index,
    )


def _shown(rows: Sequence[Sequence[str | float]]) -> str:
    return "[\n" + "".join(f"    {list(row)!r},\n" for row in rows) + "]"
