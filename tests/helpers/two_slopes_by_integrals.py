"""The loss of committees with two slopes from integrals over the plane, with any number of digits.

Shares no formula with the library: the dual is a sum of integrals of products of cosines, arc by arc between the kinks.
"""

from flint import arb

from tutelage.geometry.ball_arithmetic import exact
from tutelage.geometry.ball_losses import LossInBalls


def dual(w, v, loss: LossInBalls):
    """E[σ(w·x)σ(v·x)] as an integral over the angle in the plane of both vectors, arc by arc between the kinks."""
    norms = [sum((a * a for a in u), arb(0)).sqrt() for u in (w, v)]
    cosine = sum((a * b for a, b in zip(w, v, strict=True)), arb(0)) / (norms[0] * norms[1])
    theta, pi = cosine.acos(), arb.pi()

    def primitive(angle):  # of cos(φ)·cos(φ − θ)
        return (angle * cosine + (2 * angle - theta).sin() / 2) / 2

    # Signs of cos φ and of cos(φ − θ) between their zeros −π/2, θ − π/2, π/2 and θ + π/2.
    ends = (-pi / 2, theta - pi / 2, pi / 2, theta + pi / 2, 3 * pi / 2)
    signs = ((1, -1), (1, 1), (-1, 1), (-1, -1))
    slope = {1: arb(loss.right), -1: arb(loss.left)}
    total = arb(0)
    for (first, second), low, high in zip(signs, ends, ends[1:], strict=False):
        total += slope[first] * slope[second] * (primitive(high) - primitive(low))
    # The radius has mean square 2s, and the angle is uniform.
    return arb(loss.scale) * norms[0] * norms[1] * total / pi


def rows_of(flat, loss: LossInBalls) -> list[list]:
    size = loss.teacher.shape[1]
    return [flat[i : i + size] for i in range(0, len(flat), size)]


def half_mean_square(rows, loss: LossInBalls):
    """Half the mean square of a committee's output."""
    mean_square = arb(loss.scale) * (arb(loss.left) ** 2 + arb(loss.right) ** 2) / 2
    total = sum((mean_square * sum((a * a for a in w), arb(0)) / 2 for w in rows), arb(0))
    return total + sum((dual(w, u, loss) for i, w in enumerate(rows) for u in rows[:i]), arb(0))


def transcribed(flat, loss: LossInBalls):
    """The part of the loss that depends on the student, term by term."""
    students, teachers = rows_of(flat, loss), exact(loss.teacher).tolist()
    return half_mean_square(students, loss) - sum((dual(w, v, loss) for w in students for v in teachers), arb(0))
