r"""All critical points of a layout: damped Newton steps from many starts in the few variables of the table.

In the coordinates $z = T\sqrt m$, with $m$ the number of entries that a cell of the table stands for, lengths are those
of the full space, the gradient is the full one, and the Hessian is its matrix on symmetric students. Steps are those of
Levenberg and Marquardt for $|g|^2$, which go to saddles as well as to minima.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations, product

import numpy as np

from tutelage.geometry.families.isotypes import isotypes
from tutelage.geometry.families.layout import NOBODY, Layout
from tutelage.geometry.families.reduced import Geometry

# Starts of a round, rounds at most, and steps of a round.
_STARTS, _ROUNDS, _STEPS = 192, 24, 120

# Rounds end when each point has been found so often, after so many rounds at least, and so many without anything new;
# one such round more for every seven points, since among many some are reached from few starts.
_OFTEN, _LEAST, _QUIET, _MANY = 4, 3, 2, 7

# A neuron of a smaller norm counts as zero, where the loss has no gradient.
_ZERO = 1e-8

# At the end, Newton's step as a part of the student's norm, and the gradient's entries, are rounding errors.
_CLOSE, _SMALL = 1e-8, 1e-9

# Curvatures below this part of the largest are those of a continuum, along which no step is made.
_FLAT = 1e-13

# Students at a smaller angle are parallel. Close to a continuum, points are known less well than elsewhere.
_PARALLEL = 1e-4

# Where a curvature among symmetric students is smaller, points are close to a continuum.
_REGULAR = 1e-7

# Points are equal if no neuron differs by more, as a part of its norm.
_EQUAL = 1e-5


def critical_tables(layout: Layout, seed: int = 0) -> list[np.ndarray]:
    """Return the tables of all critical points that are found, up to relabelling of blocks and orbits.

    Rounds of starts go on until every point has been found four times, and some rounds, two and more where there are
    many points, have found nothing new. Points with parallel students are left out: they are not isolated, since
    students on one ray may share their norms in any way, and compute what fewer students do.

    Args:
        layout: The blocks and orbits, with sizes in float64.
        seed: Seed of the starts.
    """
    generator = np.random.default_rng(seed)
    relabel = relabellings(layout)
    found: list[np.ndarray] = []
    images: list[np.ndarray] = []  # all equivalent ones of each
    counts: list[int] = []
    quiet = 0
    for number in range(1, _ROUNDS + 1):
        begun = starts(layout, _STARTS, generator)
        if found:
            # Some near what is known: points that a turning point has made are close to each other, others differ by
            # the part that one neuron plays, or lie on either side of a saddle.
            known, half = np.array(found), _STARTS // 2
            near = around(layout, known, half, generator), along(layout, known, half, generator)
            begun = np.concatenate([begun, *near, crossed(images, half, generator)])
        before = len(found)
        for table in isolated(layout, solved(layout, begun)):
            same = _place(layout, table, images)
            if same is not None:
                counts[same] += 1
            else:
                found.append(table)
                images.append(relabel(table))
                counts.append(1)
        quiet = quiet + 1 if len(found) == before else 0
        if found and number >= _LEAST and quiet >= _QUIET + len(found) // _MANY and min(counts) >= _OFTEN:
            break
    return found


def _place(layout: Layout, table: np.ndarray, images: list[np.ndarray]) -> int | None:
    """Return which known point a table is equivalent to, neurons being equal up to a part of their norms."""
    if not images:
        return None
    widths = layout.widths[: len(layout.owners)]
    norms = np.sqrt((widths * table**2).sum(axis=-1))
    distances = np.sqrt((widths * (np.array(images) - table) ** 2).sum(axis=-1)) / norms
    closest = distances.max(axis=-1).min(axis=-1)
    place = int(closest.argmin())
    return place if closest[place] <= _EQUAL else None


def starts(layout: Layout, number: int, generator: np.random.Generator) -> np.ndarray:
    r"""Return random tables: own entries of order one, others from $m^{-3/2}$ to $m^{-1/2}$ in a block of $m$."""
    widths = np.maximum(layout.widths[: len(layout.owners)], 1.0)
    shape = (number, *widths.shape)
    power = generator.choice([0.5, 1.0, 1.5], size=shape)
    tables = generator.normal(size=shape) / widths**power
    # Neurons that see their teachers, or look away from them, as most critical points have them.
    towards = generator.choice([1.0, 1.0, -1.0, 0.0], size=shape[:-1])
    tables[..., -1] = towards + 0.5 * tables[..., -1]
    return tables * (layout.weights != 0)


def around(layout: Layout, tables: np.ndarray, number: int, generator: np.random.Generator) -> np.ndarray:
    """Return tables near given ones, at distances of several orders, as parts of the norms of neurons."""
    chosen = tables[generator.integers(len(tables), size=number)]
    widths = layout.widths[: len(layout.owners)]
    norms = np.sqrt((widths * chosen**2).sum(axis=-1, keepdims=True))
    size = 10 ** generator.uniform(-2, 0, size=(number, 1, 1))
    noise = generator.normal(size=chosen.shape) / np.sqrt(np.maximum(widths, 1.0))
    return (chosen + size * norms * noise) * (layout.weights != 0)


def along(layout: Layout, tables: np.ndarray, number: int, generator: np.random.Generator) -> np.ndarray:
    """Return tables at some distance from given ones, along eigenvectors of small or negative curvature."""
    chosen = tables[generator.integers(len(tables), size=number)]
    vectors = np.linalg.eigh(isotypes(layout)[0].matrix(chosen))[1]
    place = generator.integers(min(4, vectors.shape[-1]), size=number)
    directions = vectors[np.arange(number), :, place] / np.sqrt(layout.weights[layout.cells])
    size = 10 ** generator.uniform(-2, 0.5, size=number) * generator.choice([-1.0, 1.0], size=number)
    chosen[(slice(None), *layout.cells)] += size[:, None] * directions
    return chosen


def crossed(images: list[np.ndarray], number: int, generator: np.random.Generator) -> np.ndarray:
    """Return tables whose rows are those of given ones, or of equivalent ones, each of any."""
    pool = np.concatenate(images)
    orbits = pool.shape[1]
    return pool[generator.integers(len(pool), size=(number, orbits)), np.arange(orbits)]


def isolated(layout: Layout, tables: list[np.ndarray]) -> list[np.ndarray]:
    """Return the tables without parallel students, and with a regular Hessian on symmetric ones."""
    if not tables:
        return []
    several = np.array(tables)
    students = layout.pairs.second < len(layout.owners)
    apart = (Geometry(layout, several).angle[:, students] >= _PARALLEL).all(axis=-1)
    curvatures = np.linalg.eigvalsh(isotypes(layout)[0].matrix(several))
    return [*several[apart & (np.abs(curvatures).min(axis=-1) > _REGULAR)]]


def solved(layout: Layout, tables: np.ndarray, steps: int = _STEPS) -> list[np.ndarray]:
    """Return the critical points that steps from the given tables reach, without those that reach none."""
    cells, scale = layout.cells, np.sqrt(layout.weights[layout.cells])
    directions = layout.units / scale[:, None, None]
    damping = np.full(len(tables), 1e-2)
    finished: list[np.ndarray] = []
    geometry = Geometry(layout, tables)
    gradient = geometry.gradient()[(..., *cells)]
    fresh = np.ones(len(tables), bool)
    values, vectors = np.empty((len(tables), len(scale))), np.empty((len(tables), len(scale), len(scale)))
    for _ in range(steps):
        size = np.linalg.norm(gradient * scale, axis=-1)
        # Where the last step was refused, the Hessian is still known.
        if fresh.any():
            values[fresh], vectors[fresh] = np.linalg.eigh(geometry.second_derivative(directions))
        along = np.squeeze(np.swapaxes(vectors, -1, -2) @ (gradient * scale)[..., None], -1)
        newton = along * np.where(np.abs(values) > _FLAT * np.abs(values).max(axis=-1, keepdims=True), 1 / values, 0.0)
        reach = np.linalg.norm(newton, axis=-1) / np.linalg.norm(tables[(..., *cells)] * scale, axis=-1)
        done = (reach <= _CLOSE) & (np.abs(gradient).max(axis=-1) <= _SMALL)
        damped = along * values / (values**2 + (damping * size)[:, None] + 1e-300)
        # One step of Newton's method more, where it is a rounding error anyway.
        step = -np.squeeze(vectors @ np.where(done[:, None], newton, damped)[..., None], -1)
        moved = tables + (step[:, :, None, None] * directions).sum(axis=1)
        there = Geometry(layout, moved)
        lost = (there.norms.min(axis=-1) < _ZERO) | (damping > 1e12)
        finished += [*moved[done & ~lost]]
        new = there.gradient()[(..., *cells)]
        better = np.linalg.norm(new * scale, axis=-1) < size
        tables = np.where(better[:, None, None], moved, tables)
        gradient = np.where(better[:, None], new, gradient)
        damping = np.where(better, 0.2 * damping, 8 * damping)
        keep = ~(done | lost)
        tables, gradient, damping = tables[keep], gradient[keep], damping[keep]
        values, vectors, fresh = values[keep], vectors[keep], better[keep]
        if not len(tables):
            break
        geometry = there.part(keep & better)
    return finished


def relabellings(layout: Layout) -> Callable[[np.ndarray], np.ndarray]:
    """Return the function from a table to those of all equivalent students of the same layout, itself first.

    Blocks of equal sizes may be exchanged, with the orbits that belong to them; so may orbits that belong to the same
    block, and single students, to which those of blocks of one teacher belong. In a block of two, the two students of
    an orbit may be exchanged.
    """
    single = [orbit for orbit, owner in enumerate(layout.owners) if owner == NOBODY or layout.sizes[owner] == 1]
    moves = []
    for order in permutations(range(layout.blocks)):
        if all(layout.sizes[a] == layout.sizes[b] for a, b in enumerate(order)):
            moves += [(order, rows) for rows in _orbit_orders(layout, order, single)]
    pairs = [orbit for orbit, owner in enumerate(layout.owners) if owner != NOBODY and layout.sizes[owner] == 2]

    def images(table: np.ndarray) -> np.ndarray:
        full = table.copy()
        for orbit in single:  # all entries at the blocks, none at an own teacher
            if layout.owners[orbit] != NOBODY:
                full[orbit, layout.owners[orbit]] = full[orbit, -1]
                full[orbit, -1] = 0.0
        found = []
        for order, rows in moves:
            moved = full[list(rows)][:, [*order, -1]]
            for swaps in product((False, True), repeat=len(pairs)):
                image = moved.copy()
                for orbit, swap in zip(pairs, swaps, strict=True):
                    if swap:
                        owner = layout.owners[orbit]
                        image[orbit, [owner, -1]] = image[orbit, [-1, owner]]
                for orbit in single:
                    owner = layout.owners[orbit]
                    if owner != NOBODY:
                        image[orbit, -1], image[orbit, owner] = image[orbit, owner], 0.0
                found.append(image)
        return np.array(found)

    return images


def _orbit_orders(layout: Layout, order: tuple[int, ...], single: list[int]) -> list[list[int]]:
    """Return the orders of orbits that fit an order of blocks: place by place, whose row is put there."""
    choices = []
    for orbit, owner in enumerate(layout.owners):
        if orbit in single:
            choices.append(single)
        else:
            choices.append([other for other, block in enumerate(layout.owners) if block == order[owner]])
    return [list(rows) for rows in product(*choices) if len(set(rows)) == len(rows)]
