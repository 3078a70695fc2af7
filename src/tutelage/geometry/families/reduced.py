r"""Loss, gradient and Hessian of block-constant students in closed form, for blocks of any real sizes.

The dual of ReLU is $K(w, v) = \tfrac14w\cdot v + \tfrac1{2\pi}|w||v|(1 + \varphi(c))$ with the cosine $c$ and sine $s$
of the angle $\theta$, and $\varphi(c) = c\arcsin c - c^2/(1+s)$, which is about $c^2/2$ for small $c$. With
the signed measure $\mu$ of students (plus) and teachers (minus), $m = \int w\,d\mu$ and $t = \int|w|\,d\mu$,

$$L = \tfrac12\iint K\,d\mu\,d\mu = \tfrac18|m|^2 + \tfrac1{4\pi}t^2 + \tfrac1{4\pi}\iint|w||v|\varphi\,d\mu\,d\mu,$$
$$\nabla_wL = \tfrac14m + \tfrac1{2\pi}\Bigl(t\,\hat w + \int|v|\bigl(\arcsin c\;\hat v - \tfrac{c^2}{1+s}\hat w\bigr)
d\mu(v)\Bigr).$$

In this form large numbers of neurons do not cancel each other: $k^2$ pairs with cosines of order $1/k$ add up to
numbers of order one. For the vectors $x$ that belong to one teacher, with signs $q_x$ and
$\psi = \varphi(1) - \varphi(c) = \pi\sin^2\tfrac\theta2 + \theta c - s$,

$$\sum_{x,y}q_xq_y|x||y|\varphi_{xy} = \varphi(1)\Bigl(\sum_xq_x|x|\Bigr)^2 - \sum_{x\ne y}q_xq_y|x||y|\psi_{xy},$$

which is as small as a student is close to its teacher. Sines come from Lagrange's identity,
$|w|^2|v|^2 - (w\cdot v)^2 = \sum_{a<b}m_am_b(w_av_b - w_bv_a)^2$ over classes of coordinates of sizes $m_a$. Second
derivatives are those of `tutelage.geometry.balls`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tutelage.geometry.families.arithmetic import angle, pi, reciprocal, root, square
from tutelage.geometry.families.layout import NOBODY, Layout


@dataclass(frozen=True)
class Geometry:
    """Norms, units and angles of the vectors of a student and its teachers; leading axes are runs.

    Attributes:
        layout: The blocks and orbits.
        students: The table, `[…, orbit, column]`, of floats or balls as the sizes of the blocks are.
    """

    layout: Layout
    students: np.ndarray

    def part(self, chosen: np.ndarray) -> Geometry:
        """Return the geometry of some of the runs, with what is known of them already."""
        found = Geometry(self.layout, self.students[chosen])
        for name in ("vectors", "norms", "first", "second", "_products", "angle", "_both", "cosine", "sine", "lengths"):
            if (known := self.__dict__.get(name)) is not None:
                several = tuple(one[chosen] for one in known) if isinstance(known, tuple) else known[chosen]
                found.__dict__[name] = several
        return found

    @cached_property
    def vectors(self) -> np.ndarray:
        """The tables of students and teachers."""
        return self.layout.vectors(self.students)

    @cached_property
    def norms(self) -> np.ndarray:
        """Norms of the vectors of all orbits."""
        return root((self.layout.widths * square(self.vectors)).sum(axis=-1))

    @cached_property
    def first(self) -> np.ndarray:
        """The first vectors of all types of pairs, on their classes of coordinates."""
        pairs = self.layout.pairs
        return self.vectors[..., pairs.first[:, None], pairs.first_cells]

    @cached_property
    def second(self) -> np.ndarray:
        """The second vectors."""
        pairs = self.layout.pairs
        return self.vectors[..., pairs.second[:, None], pairs.second_cells]

    @cached_property
    def lengths(self) -> tuple[np.ndarray, np.ndarray]:
        """Norms of the first and of the second vectors."""
        return self.norms[..., self.layout.pairs.first], self.norms[..., self.layout.pairs.second]

    @cached_property
    def _products(self) -> tuple[np.ndarray, np.ndarray]:
        """Inner products, and areas of parallelograms."""
        sizes, x, y = self.layout.pairs.classes, self.first, self.second
        squares: Any = 0
        for a in range(sizes.shape[-1]):
            for b in range(a):
                squares = squares + sizes[:, a] * sizes[:, b] * square(x[..., a] * y[..., b] - x[..., b] * y[..., a])
        return (sizes * x * y).sum(axis=-1), root(squares)

    @cached_property
    def angle(self) -> np.ndarray:
        """Angles of all types of pairs."""
        dot, area = self._products
        return angle(area, dot)

    @cached_property
    def _both(self) -> np.ndarray:
        return reciprocal(self.lengths[0] * self.lengths[1])

    @cached_property
    def cosine(self) -> np.ndarray:
        """Their cosines."""
        return self._products[0] * self._both

    @cached_property
    def sine(self) -> np.ndarray:
        """Their sines."""
        return self._products[1] * self._both

    @cached_property
    def total(self) -> np.ndarray:
        """The sum of all students less that of all teachers, `[…, block]`: equal within each block."""
        layout = self.layout
        total: Any = 0
        owners = (*layout.owners, *range(layout.blocks))
        for orbit, owner in enumerate(owners):
            row = self.vectors[..., orbit, :]
            share = layout.members[orbit] * row[..., :-1]
            if owner != NOBODY:
                share[..., owner] = row[..., -1] + (layout.sizes[owner] - 1) * row[..., owner]
            total = total + layout.signs[orbit] * share
        return total

    @cached_property
    def length(self) -> np.ndarray:
        """The sum of the norms of all students less that of all teachers."""
        return (self.layout.signs * self.layout.members * self.norms).sum(axis=-1)

    @cached_property
    def _signs(self) -> np.ndarray:
        pairs = self.layout.pairs
        return self.layout.signs[pairs.first] * self.layout.signs[pairs.second]

    def loss(self) -> np.ndarray:
        """Return the population loss."""
        layout, pairs, one = self.layout, self.layout.pairs, pi(self.norms)
        c, s, theta = self.cosine, self.sine, self.angle
        apart = c * (one / 2 - theta) - square(c) / (1 + s)
        together = -(one * square(np.sin(theta / 2)) + theta * c - s)
        parts = np.where(pairs.same, together, apart)
        bent = 2 * (self._signs * pairs.count * self.lengths[0] * self.lengths[1] * parts).sum(axis=-1)
        signed = layout.signs * self.norms
        for block, size in enumerate(layout.sizes):
            own = [orbit for orbit, owner in enumerate(layout.owners) if owner == block]
            group = signed[..., len(layout.owners) + block] + sum(signed[..., orbit] for orbit in own)
            bent = bent + (one / 2 - 1) * size * square(group)
        for orbit, owner in enumerate(layout.owners):
            if owner == NOBODY:
                bent = bent + (one / 2 - 1) * square(self.norms[..., orbit])
        mean = (np.array(layout.sizes, layout.dtype) * square(self.total)).sum(axis=-1)
        return mean / 8 + (square(self.length) + bent) / (4 * one)

    def gradient(self) -> np.ndarray:
        """Return the gradient as a table: entries of the full one; zero in cells that stand for nothing."""
        layout, pairs, one = self.layout, self.layout.pairs, pi(self.norms)
        number = len(layout.owners)
        c, s = self.cosine, self.sine
        asin, back = one / 2 - self.angle, square(c) / (1 + s)
        units = self.vectors * reciprocal(self.norms)[..., None]
        ends = (self.first, self.second)
        found = 0 * self.vectors
        # Seen from the first vector, and from the second; pairs within an orbit are counted once, and seen from both.
        for here in (0, 1):
            orbits = (pairs.first, pairs.second)[here]
            cells = (pairs.first_cells, pairs.second_cells)[here]
            others = layout.signs[(pairs.second, pairs.first)[here]]
            lengths = self.lengths[1 - here]
            pull = (
                asin[..., None] * ends[1 - here]
                - (back * lengths * reciprocal(self.lengths[here]))[..., None] * (ends[here])
            )
            share = (others * pairs.count)[..., None] * pairs.classes * pull
            for place in range(len(orbits)):
                for column, cell in enumerate(cells[place]):
                    found[..., orbits[place], cell] += share[..., place, column]
        found = found[..., :number, :] * reciprocal(layout.weights)
        own = self.students * (one / 2 - 1)
        spread = np.asarray(self.length)[..., None, None] * units[..., :number, :]
        mean = self.total[..., [[*range(layout.blocks), max(owner, 0)] for owner in layout.owners]]
        return (mean / 4 + (spread + found + own) / (2 * one)) * (layout.weights != 0)

    def second_derivative(self, directions: np.ndarray) -> np.ndarray:
        """Return the Hessian's values at all pairs of some directions.

        Args:
            directions: Tables, `[direction, orbit, column]`.

        Returns:
            The symmetric matrix, `[…, direction, direction]`.
        """
        layout, pairs, one = self.layout, self.layout.pairs, pi(self.norms)
        number = len(layout.owners)
        still = np.zeros((len(directions), layout.blocks, layout.blocks + 1))
        moved = np.concatenate([directions, still], axis=1)
        a = np.moveaxis(moved[:, pairs.first[:, None], pairs.first_cells], 0, 1)  # [pair, direction, class]
        b = np.moveaxis(moved[:, pairs.second[:, None], pairs.second_cells], 0, 1)
        sizes = pairs.classes[:, None, :]
        aa, bb, ab = ((sizes * u) @ np.swapaxes(v, -1, -2) for u, v in ((a, a), (b, b), (a, b)))
        weighted = [
            vectors * reciprocal(lengths)[..., None] * pairs.classes
            for vectors, lengths in zip((self.first, self.second), self.lengths, strict=True)
        ]
        # Along both units: `[…, pair, direction]`.
        aw, av = ((a @ unit[..., None])[..., 0] for unit in weighted)
        bw, bv = ((b @ unit[..., None])[..., 0] for unit in weighted)
        c, weights = self.cosine, self._signs * pairs.count
        ratio, inverse = (self.lengths[1 - here] * reciprocal(self.lengths[here]) for here in (0, 1))
        over = weights * reciprocal(self.sine) / 2
        tall = weights * self.sine / 2
        slope = weights * (one / 2 - self.angle / 2)  # π times ¼ + ¼(1 − 2θ/π)
        ahead, behind = av - c[..., None] * aw, bw - c[..., None] * bv
        # Sums over pairs of outer products are products of matrices, and so are those of matrices that all runs share.
        own = _outer_sum(
            (-tall * ratio, aw, aw),
            (over * ratio, ahead, ahead),
            (-tall * inverse, bv, bv),
            (over * inverse, behind, behind),
        )
        crossed = _outer_sum((over, aw, bv), (over, av, bw), (-over * c, aw, bw), (-over * c, av, bv))
        own = own + _sum(tall * ratio, aa) + _sum(tall * inverse, bb)
        crossed = crossed + _sum(slope, ab)
        terms = own + crossed + np.swapaxes(crossed, -1, -2)
        there = (layout.weights[:number] * directions).reshape(len(directions), -1)
        plain = there @ directions.reshape(len(directions), -1).T
        return terms / one + plain / 2

    def jacobian(self) -> np.ndarray:
        """Return the derivatives of the gradient's entries in those of the table, cell by cell."""
        weights = self.layout.weights[self.layout.cells]
        return self.second_derivative(self.layout.units) / weights[:, None]


def _outer_sum(*parts: tuple[np.ndarray, np.ndarray, np.ndarray]) -> np.ndarray:
    """Return the sum over pairs and parts of a factor `[…, pair]` times the outer product of two vectors."""
    factors, first, second = (
        np.concatenate(part, axis=axis) for part, axis in zip(zip(*parts, strict=True), (-1, -2, -2), strict=True)
    )
    return np.swapaxes(factors[..., None] * first, -1, -2) @ second


def _sum(factors: np.ndarray, matrices: np.ndarray) -> np.ndarray:
    """Return the sum over pairs of a factor `[…, pair]` times a matrix `[pair, row, column]`."""
    flat = matrices.reshape(len(matrices), -1)
    return (factors[..., None, :] @ flat).reshape(*factors.shape[:-1], *matrices.shape[1:])
