"""Instances for the claims of the local-convergence paper: teachers of many shapes, students close to the minima.

All draws are NumPy arrays, instances first, so that one call makes thousands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import combinations, product

import numpy as np
from scipy.linalg import hadamard
from scipy.special import comb

from tutelage.claims.local_convergence import formulas as f

# Teachers, students, dimensions: one teacher, as many students as teachers, more, more teachers than dimensions.
SHAPES = ((1, 1, 1), (1, 2, 2), (2, 2, 2), (2, 5, 3), (3, 6, 2), (3, 8, 4))

# Many students of few teachers, and many teachers: families along which a hidden constant could drift.
LARGER = ((1, 32, 3), (2, 24, 4), (6, 9, 6), (8, 12, 8))
ALL = (*SHAPES, *LARGER)

# Powers of ten by which students are moved away from a minimum.
NEAR = (-4.0, -0.3)


def number(count: int, shape: tuple[int, int, int]) -> int:
    """How many instances of a shape to draw: fewer of the larger ones, whose cost grows with the pairs of neurons."""
    r, m, _ = shape
    return max(int(count * min(1.0, 121 / (r + m) ** 2)), 32)


def teachers(count: int, random: np.random.Generator, r: int, d: int) -> np.ndarray:
    """Teachers: spread or in a cluster of any width, with equal or unequal norms of any scale; `[count, r, d]`."""
    spread = f.units(random.normal(size=(count, r, d)))
    centre = f.units(random.normal(size=(count, 1, d)))
    width = 10.0 ** random.uniform(-1.2, 0, size=(count, 1, 1))
    clustered = f.units(centre + width * spread)
    directions = np.where(random.uniform(size=(count, 1, 1)) < 0.5, spread, clustered)
    directions = directions * random.choice([-1.0, 1.0], size=(count, r, 1))
    sizes = 10.0 ** random.uniform(-0.5, 0.5, size=(count, r, 1))
    sizes = np.where(random.uniform(size=(count, 1, 1)) < 0.5, 1.0, sizes)
    return directions * sizes * 10.0 ** random.uniform(-1, 1, size=(count, 1, 1))


def near_minima(
    count: int,
    random: np.random.Generator,
    r: int,
    m: int,
    d: int,
    scales: tuple[float, float] = NEAR,
    flip: bool = True,
    targets: np.ndarray | None = None,
) -> dict[str, np.ndarray]:
    """Teachers, and students close to a global minimum in one of many ways.

    The mass of every teacher is split among its students; students are tilted by a common scale, so that the average
    stays at the teacher for half of the instances; some students are small and point anywhere. In a third of the
    instances the averages are settled: the mean of the residual against every `x sgn(w*·x)` vanishes, which leaves
    large residuals with small gradients. Teachers may be given, the same for all.
    """
    targets = teachers(count, random, r, d) if targets is None else np.broadcast_to(targets, (count, r, d))
    sizes = np.max(f.norms(targets), axis=1)[:, None, None]
    scale = 10.0 ** random.uniform(*scales, size=(count, 1, 1))
    owner = np.concatenate([np.arange(r), random.integers(r, size=m - r)])
    share = random.exponential(size=(count, m)) ** 2 + 1e-9
    totals = np.stack([share[:, owner == i].sum(axis=1) for i in range(r)], axis=1)
    share = (share / totals[:, owner])[:, :, None]
    own = targets[:, owner]
    # Tilted students, whose tilts cancel for half of the instances, where a teacher has several.
    tilt = scale * random.normal(size=(count, m, d)) * f.norms(own)[:, :, None]
    means = np.stack([(share * tilt)[:, owner == i].sum(axis=1) for i in range(r)], axis=1)
    tilt = np.where(random.uniform(size=(count, 1, 1)) < 0.5, tilt - means[:, owner], tilt)
    near = share * (own + tilt)
    # Small students anywhere; the first of every teacher stays.
    away = scale ** random.uniform(0.5, 2, size=(count, 1, 1)) * sizes * f.units(random.normal(size=(count, m, d)))
    strays = (random.uniform(size=(count, m, 1)) < 0.3) & (np.arange(m)[:, None] >= r)
    strays &= random.uniform(size=(count, 1, 1)) < 0.6
    kept = np.where(strays, away, near)
    # What stray students took from a teacher's mass goes to its first student.
    lost = np.stack([np.where(strays, near, 0.0)[:, owner == i].sum(axis=1) for i in range(r)], axis=1)
    kept[:, :r] += lost
    settled = settle(kept, targets)
    chosen = np.where(random.uniform(size=(count, 1, 1)) < 1 / 3, settled, kept)
    students = f.students_of(chosen)
    if flip:
        students = students * random.choice([-1.0, 1.0], size=(count, m, 1))
    return {"students": students, "teachers": targets}


def case(**found: object) -> dict[str, np.ndarray]:
    """A case of an experiment, as one instance."""
    return {name: np.asarray(value)[None] for name, value in found.items()}


def once(measure: Callable) -> Callable:
    """Return a function that measures the same, but once for all claims that are judged with one effort and seed."""

    @lru_cache(maxsize=2)
    def kept(count: int, seed: int):
        return list(measure(count, np.random.default_rng(seed)))

    return lambda count, random: kept(count, int(random.integers(2**31)))


def networks(
    count: int,
    random: np.random.Generator,
    shapes: Sequence[tuple[int, int, int]] = SHAPES,
    scales: tuple[float, float] = NEAR,
    flip: bool = True,
) -> Iterator[dict[str, np.ndarray]]:
    """Students close to minima, a batch per shape."""
    for shape in shapes:
        yield near_minima(number(count // 8, shape), random, *shape, scales, flip)


def settle(kept: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Move the first products so that the mean residual against every `x sgn(w*·x)` vanishes to first order."""
    count, r, d = targets.shape
    slopes = f.slopes(targets, f.students_of(kept), targets).reshape(count, r * d, 1)
    matrix = f.sign_matrix(targets) + 1e-12 * np.eye(r * d)
    moves = -np.linalg.solve(matrix, slopes).reshape(count, r, d)
    # Only small moves are first-order moves.
    small = f.norms(moves)[:, :, None] < 0.3 * f.norms(targets)[:, :, None]
    moved = kept.copy()
    moved[:, :r] += np.where(np.all(small, axis=1, keepdims=True), moves, 0.0)
    return moved


def _with_strays(
    targets: np.ndarray, directions: np.ndarray, random: np.random.Generator, largest: float = 0.1
) -> dict[str, np.ndarray]:
    """Unit teachers with a student at each, and stray students of equal mass, from tiny to small; averages settled."""
    mass = largest * 10.0 ** np.append(random.uniform(-3, 0, size=10), [-3, 0])[:, None, None]
    fitted = np.broadcast_to(targets, (len(mass), *targets.shape)).copy()
    products = np.concatenate([fitted, mass * directions], axis=1)
    return {"students": f.students_of(settle(settle(products, fitted), fitted)), "teachers": fitted}


def fan(r: int, random: np.random.Generator) -> dict[str, np.ndarray]:
    r"""Teachers at equal angles in the plane and a stray student in the middle of each gap.

    Nothing else that was tried in the plane has smaller gradients: they tend to $1.142(\Delta^3/r)^{1/4}L^{3/4}$.
    """
    turn = np.pi / r * np.arange(r)
    lines, middles = (np.stack([np.cos(at), np.sin(at)], axis=-1) for at in (turn, turn + np.pi / (2 * r)))
    return _with_strays(lines, middles, random)


def frame(r: int, random: np.random.Generator) -> dict[str, np.ndarray]:
    """Orthonormal teachers, and stray students on the rows of a Hadamard matrix: as far from all teachers as can be."""
    return _with_strays(np.eye(r), hadamard(r) / np.sqrt(r), random)


def roots(d: int) -> np.ndarray:
    r"""The lines of the roots $(e_i \pm e_j)/\sqrt2$ of $D_d$, and for $d = 8$ those of $E_8$ besides, 120 in all."""
    lines = [np.eye(d)[i] + sign * np.eye(d)[j] for i, j in combinations(range(d), 2) for sign in (1.0, -1.0)]
    if d == 8:
        lines += [np.array((1.0, *signs)) for signs in product((1.0, -1.0), repeat=7) if np.prod(signs) > 0]
    return f.units(np.stack(lines))


def pairs(r: int, random: np.random.Generator, largest: float = 0.1) -> dict[str, np.ndarray]:
    r"""Orthonormal teachers, and stray students between all pairs of lines: the smallest gradients that were found."""
    return _with_strays(np.eye(r), roots(r)[: r * (r - 1)], random, largest)


def all_signs(r: int, random: np.random.Generator) -> dict[str, np.ndarray]:
    """Orthonormal teachers, and stray students along all diagonals."""
    signs = np.array([(1.0, *rest) for rest in product((1.0, -1.0), repeat=r - 1)])
    return _with_strays(np.eye(r), signs / np.sqrt(r), random)


@lru_cache(maxsize=1)
def _diagonals() -> tuple[np.ndarray, np.ndarray]:
    def line(cosine):
        return 2 / np.pi * (np.sqrt(1 - cosine**2) + cosine * np.arcsin(cosine))

    r, opposite = np.arange(1, 257), np.arange(257)
    cosines = np.maximum(1 - 2 * opposite / r[:, None], -1.0)
    own = np.sum(comb(r[:, None], opposite) * 0.5 ** r[:, None] * line(cosines), axis=1)
    cross, teachers = line(r**-0.5), (1 + (r - 1) * 2 / np.pi) / r
    return (own - cross**2 / teachers) / 2, own - 2 * cross * r**-0.5 + 1 / r


def along_diagonals(r: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The loss and ‖R₂‖² with `r` orthonormal teachers, at most 256, and stray students of total mass one along all diagonals.

    The students at the teachers shrink alike, and all stray ones, equally far from all teachers, belong to the first.
    """
    place = np.asarray(r).astype(int) - 1
    return _diagonals()[0][place], _diagonals()[1][place]


def many_teachers(random: np.random.Generator) -> Iterator[dict[str, np.ndarray]]:
    """Networks with up to sixteen teachers, along which the powers of their number in hidden constants show."""
    yield from (fan(r, random) for r in (1, 2, 3, 4, 6, 8, 12, 16))
    yield from (frame(r, random) for r in (2, 4, 8, 16))
    yield from (pairs(r, random) for r in (3, 4, 8))
    yield all_signs(6, random)


def cones(students: int, random: np.random.Generator) -> dict[str, np.ndarray]:
    r"""One unit teacher, with just over half of its mass on students around it, all at one angle, the rest along it.

    The students lie along the other axes in both directions. With more of them, in more dimensions, the loss is smaller for
    the same angle: $\frac1{6\pi}\delta^3$ for two and $\frac{\sqrt2-1}{6\pi}\delta^3$ in the limit.
    """
    d = students // 2 + 1
    angles = 10.0 ** np.append(random.uniform(-2.3, -0.7, size=30), [-2.3, -0.7])
    across = np.concatenate([np.eye(d)[1:], -np.eye(d)[1:]])
    around = np.eye(d)[0] + np.tan(angles)[:, None, None] * across
    middle = np.broadcast_to(np.eye(d)[0], (len(angles), 1, d))
    share = 0.5001
    products = np.concatenate([share / students * around, (1 - share) * middle], axis=1)
    return {"students": f.students_of(products), "teachers": middle.copy()}
