r"""Section 3.4 and Appendix C: one-point strong convexity in most directions.

Here $g_{ij} = w_{ij} - \tilde w_{ij}$ is the way of neuron $j$ of teacher $i$ from a global minimum, $g_i = \sum_jg_{ij}$ and
$g = \sum_ig_i$. Orders in $\epsilon$ are fitted slopes of the largest value met at each radius.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from tutelage.claims.base import Claim, Effort, Form, Outcome, worst_of
from tutelage.claims.mild_overparameterization.formulas import (
    PAPER,
    SCALE,
    angles,
    cross_blocks,
    curvature,
    norms,
    own_blocks,
)
from tutelage.claims.mild_overparameterization.instances import (
    Batches,
    at_most_one,
    minima,
    near,
    orthogonal_to,
    slopes,
)
from tutelage.claims.scan import at_most

MARGINAL = 1 - 2 / np.pi


class Group(NamedTuple):
    """Neurons of each teacher, and the dimension."""

    sizes: tuple[int, ...]
    dimension: int


def owners(group: Group) -> np.ndarray:
    """Return the teacher of every neuron."""
    return np.repeat(np.arange(len(group.sizes)), group.sizes)


def sums(ways: np.ndarray, group: Group) -> np.ndarray:
    """Return the ways summed over the neurons of each teacher, `[..., teacher, dim]`."""
    owner = owners(group)
    return np.stack([ways[..., owner == i, :].sum(-2) for i in range(len(group.sizes))], axis=-2)


def bound(ways: np.ndarray, group: Group, marginal: float = MARGINAL) -> np.ndarray:
    """Return the right-hand side of Theorem 6 without its remainder."""
    parts = sums(ways, group)
    return 0.25 * (np.sum(parts.sum(-2) ** 2, axis=-1) + marginal * np.sum(parts**2, axis=(-2, -1)))


def structured(group: Group, batch, random: np.random.Generator) -> np.ndarray:
    r"""Return ways of many kinds, the longest neuron's of length one.

    Random ones; random ones of many sizes; ones that cancel within each teacher's group; and rotations of whole groups
    into each other, $g_{ij} = \alpha_{ij}\sum_aK_{ia}v_a$ with an antisymmetric $K$, on which the bound is an equality to
    second order.
    """
    minimum, teacher = batch["minimum"], batch["teacher"]
    count, number, _ = minimum.shape
    ways = random.normal(size=minimum.shape)
    ways[::4] *= 10.0 ** random.uniform(-3, 0, size=(len(ways[::4]), number, 1))
    owner, k = owners(group), len(group.sizes)
    for i, size in enumerate(group.sizes):
        if size > 1:
            mine = ways[1::4][:, owner == i]
            ways[1::4, owner == i] = mine - mine.mean(axis=1, keepdims=True)
    turn = random.normal(size=(count, k, k))
    turn = np.einsum("nij,njd->nid", turn - np.swapaxes(turn, 1, 2), teacher)
    shares = norms(minimum)[..., None]
    together = shares * turn[:, owner]
    ways[2::4] = together[2::4]
    ways[3::4] = together[3::4] + 0.1 * ways[3::4]
    if k == 1:
        ways[2::4] = random.normal(size=ways[2::4].shape)
    return at_most_one(ways)


def lowest(margin: Callable, ways: np.ndarray, radius, project: Callable, rounds: int, random: np.random.Generator):
    """Return the lowest margins that random steps find within a radius, and the ways there."""
    ways = project(ways)
    ways = ways * np.minimum(1.0, radius / np.maximum(norms(ways).max(-1), 1e-300)[:, None, None])
    best = margin(ways)
    for _ in range(rounds):
        size = 10.0 ** random.uniform(-4, 0, size=(len(ways), 1, 1)) * norms(ways).max(-1)[:, None, None]
        chosen = random.uniform(size=(*ways.shape[:2], 1)) < 0.5
        moved = project(ways + size * chosen * random.normal(size=ways.shape))
        moved = moved * np.minimum(1.0, radius / np.maximum(norms(moved).max(-1), 1e-300)[:, None, None])
        values = margin(moved)
        # What is not a number is kept once it is met.
        better = (values < best) | np.isnan(values)
        ways[better], best[better] = moved[better], values[better]
    return best, ways


# Theorem 6, Example 1 and Remark 1 ------------------------------------------------------------------------------------

_RADII = np.geomspace(0.1, 1e-3, 5)
_EQUAL = (
    Group((1, 1), 2),
    Group((2, 2), 2),
    Group((1, 1, 1), 3),
    Group((2, 2), 3),
    Group((3,), 2),
    Group((2, 2, 2), 3),
)
_UNEQUAL = (Group((2, 1), 2), Group((3, 1), 3), Group((2, 3), 2))


def _deficit_order(
    groups: Sequence[Group], order: float, *, equal: bool = True, normalised: bool = False, together: bool = False
):
    """Does the bound fail by a term of at least this order? The deficit at each radius is the largest one found."""

    def test(effort: Effort, seed: int) -> Outcome:
        random = np.random.default_rng(seed)
        entries, tried = [], 0
        for group in groups:
            batch = minima(group.sizes, group.dimension, max(32, min(effort.samples // 8, 256)), random, smallest=0.1)
            if equal:
                owner = owners(group)
                batch["minimum"] = batch["teacher"][:, owner] / np.asarray(group.sizes)[owner][:, None]
            shortest = norms(batch["minimum"]).min(-1)[:, None, None]

            def project(ways, batch=batch, group=group):
                if together:
                    owner = owners(group)
                    ways = (sums(ways, group) / np.asarray(group.sizes)[:, None])[:, owner]
                return orthogonal_to(batch["minimum"], ways)

            def margin(ways, batch=batch, group=group):
                square = np.maximum(np.sum(ways**2, axis=(-2, -1)), 1e-300) if normalised else 1.0
                return (curvature(batch["minimum"] + ways, batch["teacher"], ways) - bound(ways, group)) / square

            start, deficits = structured(group, batch, random), []
            for radius in _RADII:
                found, ways = lowest(
                    margin, radius * shortest * start, radius * shortest, project, effort.generations, random
                )
                deficits.append(np.maximum(-found.min(), 1e-300))
                tried += (effort.generations + 1) * len(found)
            if np.max(deficits) < 1e-13:
                continue
            fitted = float(slopes(_RADII, np.asarray(deficits)))
            pick = int(np.argmin(found))
            shown = {"teacher": batch["teacher"][pick], "minimum": batch["minimum"][pick], "way": ways[pick]}
            shown |= {"radii": _RADII, "deficits": np.asarray(deficits), "fitted": fitted}
            entries.append((fitted - order, shown))
        outcome = worst_of(entries, tried)
        note = f"the deficit grows like ε^{outcome.margin + order:.2f} where the statement allows ε^{order:g}"
        return replace(outcome, note=outcome.note or note)

    return test


THEOREM_6 = Claim(
    id=f"{PAPER}.theorem-6",
    place="Theorem 6, Equation (3)",
    title="one-point strong convexity in most directions",
    hypotheses=(
        "$n = mk$, $\\tilde w_{ij} = v_i/m$, $w$ in the $\\epsilon$-orthogonal neighbourhood; $k \\le 3$, $m \\le 3$, $\\epsilon \\le 0.1/m$",
        SCALE,
    ),
    as_printed=Form(
        "$(w - \\tilde w)^\\top H(w)(w - \\tilde w) \\ge \\frac14(\\|g\\|^2 + (1 - \\frac2\\pi)\\sum\\|g_i\\|^2) - O(\\epsilon^{2.5})$. (The remainder is "
        "in fact $O(\\epsilon^3)$, and it is negative where whole groups are rotated.)",
        _deficit_order(_EQUAL, 2.5),
    ),
    control=Form("The same with $O(\\epsilon^{3.5})$.", _deficit_order(_EQUAL, 3.5)),
    arithmetic="fitted orders of the largest deficit found, closed form in float64",
)

REMARK_1 = Claim(
    id=f"{PAPER}.remark-1",
    place="Remark 1",
    title="Theorem 6 at other global minima",
    hypotheses=("any differentiable global minimum; shares of at least a tenth, unequal group sizes", SCALE),
    as_printed=Form(
        "Theorem 6 extends to all differentiable global minima, with constants that grow as neurons shrink.",
        _deficit_order(_UNEQUAL, 2.5, equal=False),
    ),
    control=Form("The same with $O(\\epsilon^{3.5})$.", _deficit_order(_UNEQUAL, 3.5, equal=False)),
    arithmetic="fitted orders of the largest deficit found, closed form in float64",
)

EXACT_CASE = Claim(
    id=f"{PAPER}.example-1.exact",
    place="Example 1, first case",
    title="as many students as teachers",
    hypotheses=("$m = 1$, as Theorem 6", SCALE),
    as_printed=Form(
        "Divided by $\\|w - \\tilde w\\|^2$, the left-hand side is at least $\\frac14 - \\frac1{2\\pi} + \\|g\\|^2/(4\\sum\\|g_i\\|^2) - O(\\sqrt\\epsilon)$. "
        "(In fact up to $O(\\epsilon)$.)",
        _deficit_order((Group((1, 1), 2), Group((1, 1, 1), 3), Group((1, 1), 3)), 0.5, normalised=True),
    ),
    control=Form(
        "The same with $O(\\epsilon^{1.5})$.",
        _deficit_order((Group((1, 1), 2), Group((1, 1, 1), 3), Group((1, 1), 3)), 1.5, normalised=True),
    ),
    arithmetic="fitted orders of the largest deficit found, closed form in float64",
)

_COPIES = (Group((2, 2), 2), Group((3, 3), 2), Group((2, 2, 2), 3))

EQUAL_CASE = Claim(
    id=f"{PAPER}.example-1.equal",
    place="Example 1, second case",
    title="equal neurons of each teacher",
    hypotheses=("$w_{ij}$ equal for all $j$, as Theorem 6", SCALE),
    as_printed=Form(
        "Divided by $\\|w - \\tilde w\\|^2$, it is at least $m(\\frac14 - \\frac1{2\\pi}) + \\|g\\|^2/(4\\sum\\|g_{ij}\\|^2) - O(\\sqrt\\epsilon)$.",
        _deficit_order(_COPIES, 0.5, normalised=True, together=True),
    ),
    control=Form("The same with $O(\\epsilon^{1.5})$.", _deficit_order(_COPIES, 1.5, normalised=True, together=True)),
    arithmetic="fitted orders of the largest deficit found, closed form in float64",
)


def _never_cancelling(i):
    """The third case as printed: the neurons themselves cancel within each group."""
    total = i["student"].reshape(len(i["student"]), 2, 2, -1).sum(2)
    largest = np.abs(total).max((-2, -1))
    return {"margin": np.where(np.isnan(largest), np.nan, np.where(largest < 1e-6, 1.0, np.inf))}


def _near_minimum(count, random):
    for radius in (0.3, 0.1, 0.01):
        batch = minima((2, 2), 3, count, random, smallest=0.5)
        ways = radius * at_most_one(orthogonal_to(batch["minimum"], random.normal(size=batch["minimum"].shape)))
        yield {**batch, "student": batch["minimum"] + ways}


def _cancelling(order: float):
    """The largest one-point quotient at each radius among ways that cancel within each group."""

    def test(effort: Effort, seed: int) -> Outcome:
        random, found, tried = np.random.default_rng(seed), [], 0
        for group in (Group((2, 2), 2), Group((3, 3), 3), Group((2,), 2)):
            batch = minima(group.sizes, group.dimension, effort.samples, random, smallest=0.2)
            owner = owners(group)
            ways = orthogonal_to(batch["minimum"], random.normal(size=batch["minimum"].shape))
            for i in range(len(group.sizes)):
                ways[:, owner == i] -= ways[:, owner == i].mean(1, keepdims=True)
            ways, largest = at_most_one(ways), []
            for radius in _RADII:
                moved = 0.2 * radius * ways
                square = np.sum(moved**2, axis=(-2, -1))
                largest.append(np.abs(curvature(batch["minimum"] + moved, batch["teacher"], moved) / square).max())
            tried += len(ways) * len(_RADII)
            found.append((float(slopes(_RADII, np.asarray(largest))) - order, {}))
        outcome = worst_of(found, tried)
        return replace(outcome, note=outcome.note or f"the quotient is of order ε^{outcome.margin + order:.2f}")

    return test


BALANCED_CASE = Claim(
    id=f"{PAPER}.example-1.balanced",
    place="Example 1, third case",
    title="ways that cancel for each teacher",
    hypotheses=("$w$ in the $\\epsilon$-orthogonal neighbourhood, $m \\ge 2$", SCALE),
    as_printed=Form(
        "If $\\sum_jw_{ij} = 0$ for every teacher, the quotient is of order at most $\\sqrt\\epsilon$.",
        Batches(_near_minimum, _never_cancelling, "near a minimum the neurons of a teacher sum to about the teacher"),
    ),
    corrected=Form(
        "If $\\sum_jg_{ij} = 0$ for every teacher, it is. (In fact of order $\\epsilon$.)", _cancelling(0.5)
    ),
    correction="The ways $g_{ij}$ are meant to cancel, not the neurons: in the orthogonal neighbourhood $\\sum_jw_{ij}\\cdot v_i = 1$.",
    control=Form("The corrected form with order $\\epsilon^{1.5}$.", _cancelling(1.5)),
    arithmetic="fitted orders, closed form in float64",
)


# Lemmas 5 to 9 --------------------------------------------------------------------------------------------------------


_REMAINDERS = (Group((2, 2), 2), Group((3, 3), 3), Group((2, 2, 2), 4))


def _residual_order(residual: Callable, order: float, groups: Sequence[Group] = _REMAINDERS):
    """Fitted order of the largest residual in shrinking orthogonal neighbourhoods of equal splits."""

    def test(effort: Effort, seed: int) -> Outcome:
        random, found, tried = np.random.default_rng(seed), [], 0
        for group in groups:
            m, k = group.sizes[0], len(group.sizes)
            batch = minima(group.sizes, group.dimension, effort.samples // 2, random)
            minimum = batch["teacher"][:, owners(group)] / m
            ways = at_most_one(orthogonal_to(minimum, random.normal(size=minimum.shape)))
            largest = []
            for radius in _RADII:
                moved = radius / m * ways
                largest.append(np.abs(residual(minimum + moved, moved, batch["teacher"], m, k)).max())
            tried += len(ways) * len(_RADII)
            # A slope over two decades is good to a few hundredths.
            found.append((float(slopes(_RADII, np.asarray(largest))) - order + 0.05, {}))
        outcome = worst_of(found, tried)
        note = f"the remainder is of order ε^{outcome.margin - 0.05 + order:.2f}"
        return replace(outcome, note=outcome.note or note)

    return test


def _quadratic(way, block):
    return np.einsum("...i,...ij,...j->...", way, block, way)


def _lemma_5_students(w, g, v, m, k):
    return _quadratic(g[:, 0], own_blocks(w[:, :1], w[:, 1:2])[:, 0, 0])


def _lemma_5_teacher(w, g, v, m, k):
    return _quadratic(g[:, 0], own_blocks(w[:, :1], v[:, :1])[:, 0, 0])


def _lemma_6(w, g, v, m, k):
    return _quadratic(g[:, 0], own_blocks(w[:, :1], w).sum((1, 2)) - own_blocks(w[:, :1], v).sum((1, 2)))


def _lemma_7(w, g, v, m, k):
    found = np.einsum("ni,nij,nj->n", g[:, 0], cross_blocks(w[:, :1], w[:, m : m + 1])[:, 0, 0], g[:, m])
    products = np.sum(g[:, 0] * v[:, 1], -1) * np.sum(g[:, m] * v[:, 0], -1)
    return found - np.sum(g[:, 0] * g[:, m], -1) / 4 - products / (2 * np.pi)


def _lemma_8(w, g, v, m, k):
    found = np.einsum("ni,nij,nj->n", g[:, 0], cross_blocks(w[:, :1], w[:, 1:2])[:, 0, 0], g[:, 1])
    return found - np.sum(g[:, 0] * g[:, 1], -1) / 2


_ORTHOGONAL = (
    "$w$ in the $\\epsilon$-orthogonal neighbourhood of $\\tilde w_{ij} = v_i/m$; $k = 2, 3$, $m = 2, 3$, $\\epsilon \\le 0.1/m$",
)
_ORDERS = "fitted orders of the largest remainder, closed form in float64"


def _order_claim(name: str, place: str, title: str, residual: Callable, statement: str, order: float) -> Claim:
    return Claim(
        id=f"{PAPER}.{name}",
        place=place,
        title=title,
        hypotheses=_ORTHOGONAL,
        as_printed=Form(statement, _residual_order(residual, order)),
        control=Form("The same with $O(\\epsilon^{3.5})$.", _residual_order(residual, 3.5)),
        arithmetic=_ORDERS,
    )


LEMMA_5_1 = _order_claim(
    "lemma-5.students",
    "Lemma 5 (1)",
    "terms of neurons of one teacher",
    _lemma_5_students,
    "$g_{ij}^\\top h_1(w_{ij}, w_{il})g_{ij} = O(\\epsilon^{2.5})$. (In fact $O(\\epsilon^3)$: the angle is of order $\\epsilon$.)",
    2.5,
)
LEMMA_5_2 = _order_claim(
    "lemma-5.teacher",
    "Lemma 5 (2)",
    "terms of a neuron and its teacher",
    _lemma_5_teacher,
    "$g_{ij}^\\top h_1(w_{ij}, v_i)g_{ij} = O(\\epsilon^{2.5})$. (In fact $O(\\epsilon^3)$.)",
    2.5,
)
LEMMA_6 = _order_claim(
    "lemma-6",
    "Lemma 6",
    "the diagonal terms cancel",
    _lemma_6,
    "$\\sum g_{ij}^\\top h_1(w_{ij}, w_{ab})g_{ij} - \\sum g_{ij}^\\top h_1(w_{ij}, v_l)g_{ij} = O(\\epsilon^{2.5})$. (In fact $O(\\epsilon^3)$.)",
    2.5,
)
LEMMA_7 = _order_claim(
    "lemma-7",
    "Lemma 7",
    "terms of neurons of two teachers",
    _lemma_7,
    "$g_{ij}^\\top h_2(w_{ij}, w_{ab})g_{ab} = \\frac14g_{ij}\\cdot g_{ab} + \\frac1{2\\pi}(g_{ij}\\cdot v_a)(g_{ab}\\cdot v_i) + O(\\epsilon^{2.5})$.",
    2.5,
)
LEMMA_8 = _order_claim(
    "lemma-8",
    "Lemma 8",
    "cross terms of neurons of one teacher",
    _lemma_8,
    "$g_{ij}^\\top h_2(w_{ij}, w_{il})g_{il} = \\frac12g_{ij}\\cdot g_{il} + O(\\epsilon^3)$.",
    3.0,
)


def _largest_eigenvalue(factor: float):
    def check(i):
        w, v = i["w"][:, None], i["v"][:, None]
        largest = np.linalg.eigvalsh(own_blocks(w, v)[:, 0, 0])[:, -1]
        return near(largest, factor * np.sin(angles(w, v)[:, 0, 0]) * norms(i["v"]) / norms(i["w"]), 1e-3, 1e-9)

    def draw(count, random):
        for d in (2, 3, 5):
            yield {"w": random.normal(size=(count, d)), "v": random.normal(size=(count, d))}

    return Batches(draw, check)


EIGENVALUE = Claim(
    id=f"{PAPER}.section-C.eigenvalue",
    place="Appendix C, proof of Lemma 5",
    title="largest eigenvalue of the diagonal terms",
    hypotheses=("$w, v \\ne 0$, $d \\ge 2$",),
    as_printed=Form(
        "The largest eigenvalue of $h_1(w, v)$ is $\\sin\\theta_{w,v}\\|v\\|/\\|w\\|$.",
        _largest_eigenvalue(1.0),
        recipe="""
unit = lambda a: a / np.linalg.norm(a)
c = unit(w) @ unit(v)
n = unit(unit(v) - c * unit(w))
right = np.sqrt(1 - c**2) * np.linalg.norm(v) / np.linalg.norm(w)
inner = np.eye(len(w)) - np.outer(unit(w), unit(w)) + np.outer(n, n)
left = np.linalg.eigvalsh(right / (2 * np.pi) * inner)[-1]  # Equation (6)
""",
    ),
    corrected=Form("It is $\\sin\\theta_{w,v}\\|v\\|/(\\pi\\|w\\|)$.", _largest_eigenvalue(1 / np.pi)),
    correction="The factor $1/\\pi$ is missing; the proofs of Theorems 3 and 4 have it. Only an upper bound is needed here.",
    control=Form("It is $\\sin\\theta_{w,v}\\|v\\|/(2\\pi\\|w\\|)$.", _largest_eigenvalue(1 / (2 * np.pi))),
)


def _traces(factor: float):
    def check(i):
        u = i["vectors"]
        diagonal = np.einsum("nii->ni", u)
        left = np.sum(diagonal**2, -1) - factor * np.sum(u**2, axis=(1, 2))
        right = np.einsum("nij,nji->n", u, u) - np.sum(diagonal**2, -1)
        scale = np.sum(u**2, axis=(1, 2))
        return at_most(left / scale + 1, right / scale + 1)

    def draw(count, random):
        for size in (1, 2, 3, 6):
            u = random.normal(size=(count, size, size))
            # Equality for antisymmetric entries off the diagonal.
            u[::3] = u[::3] - np.swapaxes(u[::3], 1, 2) + np.eye(size) * random.normal(size=(len(u[::3]), 1, size))
            yield {"vectors": u}

    return Batches(draw, check)


LEMMA_9 = Claim(
    id=f"{PAPER}.lemma-9",
    place="Lemma 9",
    title="an inequality of traces",
    hypotheses=("$u_1, \\ldots, u_n \\in \\mathbb R^n$; antisymmetric ones, on which it is an equality, among them",),
    as_printed=Form("$\\sum_{i\\ne j}u_{ij}u_{ji} \\ge \\sum u_{ii}^2 - \\sum\\|u_i\\|^2$.", _traces(1.0)),
    control=Form("The same with $\\frac9{10}\\sum\\|u_i\\|^2$.", _traces(0.9)),
)

# After Theorem 7 ------------------------------------------------------------------------------------------------------


def _absorbed(factor: float):
    def check(i):
        parts = i["parts"]
        whole, each = np.sum(parts.sum(1) ** 2, -1), np.sum(parts**2, axis=(1, 2))
        return at_most(factor * (1 + MARGINAL / parts.shape[1]) * whole, whole + MARGINAL * each)

    def draw(count, random):
        for k, d in ((1, 1), (2, 1), (2, 3), (5, 5)):
            parts = random.normal(size=(count, k, d))
            parts[::3] = parts[::3, :1] + 1e-3 * parts[::3]
            yield {"parts": parts}

    return Batches(draw, check)


ABSORBED = Claim(
    id=f"{PAPER}.section-3.5.absorbed",
    place="Section 3.5, after Theorem 7",
    title="the terms of each teacher, absorbed",
    hypotheses=("any $g_1, \\ldots, g_k$ with sum $g$",),
    as_printed=Form(
        "The terms $\\|g_i\\|^2$ can be absorbed in $\\|g\\|^2$ by increasing the constant: "
        "$\\|g\\|^2 + (1 - \\frac2\\pi)\\sum\\|g_i\\|^2 \\ge (1 + (1 - \\frac2\\pi)/k)\\|g\\|^2$.",
        _absorbed(1.0),
    ),
    control=Form("The same with 1.01 times the right-hand side.", _absorbed(1.01)),
)

MAIN = (THEOREM_6, EXACT_CASE, EQUAL_CASE, BALANCED_CASE, REMARK_1)
APPENDIX = (LEMMA_5_1, LEMMA_5_2, EIGENVALUE, LEMMA_6, LEMMA_7, LEMMA_8, LEMMA_9)
AFTER_THEOREM_7 = (ABSORBED,)
