r"""Checking printed certificates of critical points with mpmath, from the definitions; nothing of the library is used.

A certificate is its text: decimals of a centre $c$ and a few numbers. The problem is given by plain numbers: the
teacher's vectors, both slopes $a$ (below zero) and $b$, the variance $s$ of each input, the deviation of the noise.

**The loss.** With $\sigma(z) = b\,z^+ - a\,z^-$ and, by integration over the angle in the plane of $w$ and $v$,
$E[(w\cdot x)^+(v\cdot x)^+] = \tfrac s{2\pi}(D + (\pi - \theta)\,c)$, where $p = |w|^2$, $q = |v|^2$, $c = w\cdot v$,
$D = \sqrt{pq - c^2}$ and $\theta = \operatorname{atan2}(D, c)$,

$$K(w, v) = E[\sigma(w\cdot x)\sigma(v\cdot x)] = \alpha D + (\beta - \alpha\theta)\,c,\qquad
\alpha = \tfrac{s(b - a)^2}{2\pi},\quad\beta = \tfrac{s(a^2 + b^2)}2.$$

**Derivatives** in the three numbers $p, q, c$: $K_c = \beta - \alpha\theta$ and $K_p = \alpha D/2p$, since the
derivatives of $D$ and of $\theta$ cancel; hence $K_{cc} = \alpha/D$, $K_{pc} = -\alpha c/2pD$, $K_{pq} = \alpha/4D$ and
$K_{pp} = \alpha(q/4pD - D/2p^2)$. With the chain rule these give gradient and Hessian. Where $D = 0$, all terms of the
Hessian vanish in the limit but $K_cI$ of the mixed block.

**Third derivatives**, roughly. $\partial_w^2K = \tfrac\alpha{|w|}(|z|P + zz^\top/|z|)$ with
$P = I - \hat w\hat w^\top$ and $z = Pv$. A unit change of $v$ changes $z$ by at most 1, hence the bracket by at most
$1 + 3$. A unit change of $w$ changes $1/|w|$ by at most $1/|w|^2$, where the bracket is at most $2|v|$, and $\hat w$ by
at most $1/|w|$, hence $z = v - (v\cdot\hat w)\hat w$ by at most $|v|/|w|$, $P$ by at most $1/|w|$, and the bracket by
at most $(1 + 1 + 3)|v|/|w|$. So third derivatives are at most $7\alpha|v|/|w|^2$ and $4\alpha/|w|$. (The best constants
are about 2.6 and 2.)
"""

import itertools
import re
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from mpmath import mp, mpf

DIGITS = 130

# What the arithmetic here may err by; numbers that are checked differ from false ones by many orders more.
ERROR = mpf(10) ** -58

# The square of a sine below which two vectors are parallel: what remains of zero after rounding is smaller.
_PARALLEL = mpf(10) ** (8 - DIGITS)

_NUMBER = r"(-?[\d.]+(?:e[-+]?\d+)?)"


@dataclass(frozen=True)
class Problem:
    """A committee's problem in plain numbers.

    Attributes:
        teacher: The teacher's vectors.
        left: Slope below zero.
        right: Slope above zero.
        variance: Variance of each input.
        noise: Standard deviation of the label noise.
    """

    teacher: tuple[tuple[float, ...], ...]
    left: float = 0.0
    right: float = 1.0
    variance: float = 1.0
    noise: float = 0.0

    @property
    def alpha(self):
        """The number α of the module's text."""
        return mpf(self.variance) * (mpf(self.right) - mpf(self.left)) ** 2 / (2 * mp.pi)

    @property
    def beta(self):
        """The number β of the module's text."""
        return mpf(self.variance) * (mpf(self.left) ** 2 + mpf(self.right) ** 2) / 2

    @property
    def vectors(self) -> np.ndarray:
        """The teacher's vectors, exactly."""
        return exactly(self.teacher)


@dataclass(frozen=True)
class Printed:
    """What a certificate says; all numbers as they are printed."""

    kind: str
    rows: tuple[tuple[str, ...], ...]
    reach: str
    inner: str
    loss: tuple[str, str]
    index: int
    smallest: tuple[str, str]
    gradient: str
    least: str
    lipschitz: str


def read(text: str) -> Printed:
    """Read the text of a certificate."""

    def find(pattern: str) -> tuple[str, ...]:
        found = re.search(pattern.replace("#", _NUMBER), text)
        assert found, f"{pattern} is not in the text"
        return found.groups()

    rows = re.findall(r"^  \((.*)\)$", text, flags=re.MULTILINE)
    return Printed(
        kind=find(r"^Theorem \(([a-z ]+)\)")[0],
        rows=tuple(tuple(row.split(", ")) for row in rows),
        reach=find("within R = # of c")[0],
        inner=find("within r = # of c")[0],
        loss=find(r"loss is in \[#, #\]"),
        index=int(find(r"Hessian has (\d+) negative eigenvalues, none that is zero")[0]),
        smallest=find(r"smallest in \[#, #\]"),
        gradient=find("norm is at most g = #,")[0],
        least=find(r"with m = #\.")[0],
        lipschitz=find(r"constant K = #\.\n")[0],
    )


def exactly(rows) -> np.ndarray:
    """Return numbers, or their decimals, as an array of mpmath's."""
    return np.array([[mpf(entry) for entry in row] for row in rows], dtype=object)


def _dot(first, second):
    return mp.fdot(first, second)


def _gram(w, v):
    """Return p, q, c, D and θ of the module's text."""
    p, q, c = _dot(w, w), _dot(v, v), _dot(w, v)
    square = p * q - c * c
    d = mp.sqrt(square) if square > _PARALLEL * p * q else mpf(0)
    return p, q, c, d, mp.atan2(d, c)


def dual(problem: Problem, w, v):
    """Return K(w, v)."""
    _, _, c, d, angle = _gram(w, v)
    return problem.alpha * d + (problem.beta - problem.alpha * angle) * c


def loss(problem: Problem, students: np.ndarray):
    """Return the loss."""
    teachers = problem.vectors

    def total(first, second):
        return mp.fsum(dual(problem, w, v) for w in first for v in second)

    return (
        total(students, students) / 2
        - total(students, teachers)
        + total(teachers, teachers) / 2
        + mpf(problem.noise) ** 2 / 2
    )


def gradient(problem: Problem, students: np.ndarray) -> np.ndarray:
    """Return the gradient, one row per neuron."""
    alpha, beta = problem.alpha, problem.beta
    result = students * beta
    for i, w in enumerate(students):
        others = [(1, v) for j, v in enumerate(students) if j != i] + [(-1, v) for v in problem.vectors]
        for sign, v in others:
            p, _, _, d, angle = _gram(w, v)
            result[i] = result[i] + w * (sign * alpha * d / p) + v * (sign * (beta - alpha * angle))
    return result


# Arrays stand to the left of numbers: mpmath's numbers first try to read an array on their right as a number.
def _identity(size: int) -> np.ndarray:
    return np.eye(size, dtype=int).astype(object)


def _own_block(alpha, w, v) -> np.ndarray:
    p, q, c, d, _ = _gram(w, v)
    dimension = len(w)
    if d == 0:
        return np.full((dimension, dimension), mpf(0), dtype=object)
    pp, pc, cc = alpha * (q / (4 * p * d) - d / (2 * p * p)), -alpha * c / (2 * p * d), alpha / d
    cross = np.outer(w, v * (2 * pc))
    square = np.outer(w, w * (4 * pp)) + np.outer(v, v * cc)
    return _identity(dimension) * (alpha * d / p) + square + cross + cross.T


def _mixed_block(alpha, beta, w, v) -> np.ndarray:
    p, q, c, d, angle = _gram(w, v)
    block = _identity(len(w)) * (beta - alpha * angle)
    if d == 0:
        return block
    pq, pc, qc, cc = alpha / (4 * d), -alpha * c / (2 * p * d), -alpha * c / (2 * q * d), alpha / d
    return block + np.outer(w, v * (4 * pq) + w * (2 * pc)) + np.outer(v, v * (2 * qc) + w * cc)


def hessian(problem: Problem, students: np.ndarray) -> np.ndarray:
    """Return the Hessian; parameters in the order of the rows."""
    alpha, beta = problem.alpha, problem.beta
    number, dimension = students.shape
    result = np.full((number, dimension, number, dimension), mpf(0), dtype=object)
    for i, w in enumerate(students):
        own = _identity(dimension) * beta
        for j, v in enumerate(students):
            if j != i:
                own = own + _own_block(alpha, w, v)
            if j > i:
                block = _mixed_block(alpha, beta, w, v)
                result[i, :, j, :], result[j, :, i, :] = block, block.T
        for v in problem.vectors:
            own = own - _own_block(alpha, w, v)
        result[i, :, i, :] = own
    return result.reshape(number * dimension, number * dimension)


def negative_eigenvalues(matrix: np.ndarray, shift) -> int:
    """Return how many eigenvalues of a symmetric matrix are below a number: the signs of an LDLᵀ factorisation."""
    rest = matrix - _identity(len(matrix)) * shift
    negative = 0
    for i in range(len(rest)):
        pivot = rest[i, i]
        assert abs(pivot) > ERROR, "an eigenvalue of a leading block is the shift itself"
        negative += pivot < 0
        column = rest[i + 1 :, i]
        rest[i + 1 :, i + 1 :] = rest[i + 1 :, i + 1 :] - np.outer(column, column / pivot)
    return int(negative)


def _solved(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the solution of linear equations, by elimination without exchanges (leading blocks are regular)."""
    rest, values = matrix.copy(), right.copy()
    size = len(values)
    for i in range(size):
        factors = rest[i + 1 :, i] / rest[i, i]
        rest[i + 1 :, i:] = rest[i + 1 :, i:] - np.outer(factors, rest[i, i:])
        values[i + 1 :] = values[i + 1 :] - factors * values[i]
    for i in reversed(range(size)):
        values[i] = (values[i] - (_dot(rest[i, i + 1 :], values[i + 1 :]) if i + 1 < size else 0)) / rest[i, i]
    return values


def norm(array: np.ndarray):
    """Return the Euclidean norm of all entries."""
    return mp.norm(list(array.ravel()))


def rough_lipschitz(problem: Problem, students: np.ndarray, radius):
    """Return a bound of the Lipschitz constant of the Hessian within a radius, by the module's rough constants."""
    norms = [norm(w) for w in students]
    least = min(norms) - radius
    if not least > 0:
        return mp.inf
    others = mp.fsum(norms) + len(norms) * radius + mp.fsum(norm(v) for v in problem.vectors)
    return 7 * problem.alpha * others / least**2 + 3 * 4 * problem.alpha * mp.sqrt(len(norms)) / least


def steepest_change(problem: Problem, students: np.ndarray, radius, rounds: int = 2) -> float:
    """Return the largest difference quotient of the Hessian found within a radius; a Lipschitz constant is not smaller.

    Directions are improved from a random one: the next is the eigenvector along which the Hessian changed most.
    """
    direction = np.random.default_rng(0).normal(size=students.shape)
    most = 0.0
    for _ in range(rounds):
        direction = direction / np.linalg.norm(direction)
        step = exactly(direction.tolist()) * (radius * mpf("0.99"))
        ends = hessian(problem, students + step), hessian(problem, students - step)
        change = ((ends[0] - ends[1]) / (2 * norm(step))).astype(float)
        values, vectors = np.linalg.eigh((change + change.T) / 2)
        steepest = int(np.argmax(np.abs(values)))
        most = max(most, float(abs(values[steepest])))
        direction = vectors[:, steepest].reshape(students.shape)
    return most


def critical_point(problem: Problem, students: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return where a step of Newton's method from a student ends, and the Hessian at the student."""
    matrix = hessian(problem, students)
    step = _solved(matrix, gradient(problem, students).ravel())
    return students - step.reshape(students.shape), matrix


def fault(printed: Printed, problem: Problem) -> str | None:
    """Return a statement of a certificate that is not true; none of a good one."""
    with mp.workdps(DIGITS):
        return next((name for name, true in _statements(printed, problem) if not true), None)


def _statements(printed: Printed, problem: Problem):
    centre = exactly(printed.rows)
    parameters = centre.size
    reach, inner, slope, least, constant = (
        Fraction(number)
        for number in (printed.reach, printed.inner, printed.gradient, printed.least, printed.lipschitz)
    )
    yield "K R < m", constant * reach < least
    yield "g + K R²/2 ≤ m R", slope + constant * reach**2 / 2 <= least * reach
    yield "g + K r²/2 ≤ m r", slope + constant * inner**2 / 2 <= least * inner
    yield "r ≤ R", 0 <= inner <= reach

    yield "g bounds the gradient's norm", norm(gradient(problem, centre)) <= mpf(printed.gradient) + ERROR
    point, matrix = critical_point(problem, centre)
    for shift in (mpf(printed.least), -mpf(printed.least)):
        yield f"no eigenvalue within m of zero, {mp.sign(shift)}", negative_eigenvalues(matrix, shift) == printed.index
    radius = mpf(printed.reach)
    yield "K bounds changes of the Hessian", steepest_change(problem, centre, radius) <= float(constant)

    # Existence again, with the rough constant in place of the printed one.
    rough, small = rough_lipschitz(problem, centre, radius), 2 * mpf(printed.gradient) / mpf(printed.least)
    exists = mpf(printed.gradient) + rough * small**2 / 2 <= mpf(printed.least) * small and small <= radius
    yield "a critical point exists by a rough constant", exists and rough * small < mpf(printed.least)

    # Newton's method gains as many digits again, so that this is the critical point for all that follows.
    yield "Newton's method converges", norm(gradient(problem, point)) <= ERROR
    yield "the critical point is within r", norm(point - centre) <= mpf(printed.inner) + ERROR
    value, noise = loss(problem, point), mpf(problem.noise) ** 2 / 2
    low, high = (mpf(bound) for bound in printed.loss)
    yield "the loss is within its bounds", low - ERROR <= value <= high + ERROR
    curved = hessian(problem, point)
    low, high = (mpf(bound) for bound in printed.smallest)
    yield "no eigenvalue below the smallest", negative_eigenvalues(curved, low - ERROR) == 0
    yield "an eigenvalue below the upper bound of the smallest", negative_eigenvalues(curved, high + ERROR) > 0
    yield "the index", negative_eigenvalues(curved, mpf(0)) == printed.index

    realizable = len(centre) >= len(problem.teacher)
    lowest = abs(value - noise) <= ERROR
    yield (
        "the kind",
        {
            "global minimum": printed.index == 0 and lowest and realizable,
            "spurious minimum": printed.index == 0 and mpf(printed.loss[0]) > noise and realizable,
            "minimum": printed.index == 0,
            "saddle": 0 < printed.index < parameters,
            "maximum": printed.index == parameters,
        }[printed.kind],
    )


def dual_by_integral(problem: Problem, w, v):
    """Return K(w, v) from its definition: an integral over the angle in their plane, between the kinks."""
    angle = _gram(w, v)[4]
    quarter = mp.pi / 2

    def sigma(z):
        return (mpf(problem.right) if z > 0 else mpf(problem.left)) * z

    last = angle + quarter - (2 * mp.pi if angle > quarter else 0)
    corners = sorted([-mp.pi, -quarter, angle - quarter, quarter, last, mp.pi])
    integral = mp.fsum(
        mp.quad(lambda x: sigma(mp.cos(x)) * sigma(mp.cos(x - angle)), [begin, end])
        for begin, end in itertools.pairwise(corners)
    )
    return mpf(problem.variance) * norm(w) * norm(v) * integral / mp.pi
