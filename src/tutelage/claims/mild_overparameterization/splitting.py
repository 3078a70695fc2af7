"""Section 4 and Appendix E: splitting neurons turns non-global minima into saddles."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from tutelage.claims.base import Claim, Effort, Form, Outcome, worst_of
from tutelage.claims.mild_overparameterization.formulas import (
    BLOCK,
    PAPER,
    RECIPE,
    SCALE,
    angles,
    gradient,
    hessian,
    loss,
    norms,
    own_blocks,
    reduced,
    units,
)
from tutelage.claims.mild_overparameterization.instances import Batches, near, teachers
from tutelage.claims.scan import at_most

# Minima found by descent ----------------------------------------------------------------------------------------------

# Students, teachers, dimension, runs: fewer students than teachers, and as many, where spurious minima are common.
_CASES = (
    (1, 1, 2, 4), (1, 2, 2, 16), (1, 3, 5, 16), (2, 3, 3, 24), (3, 4, 4, 24), (5, 6, 6, 24),
    (6, 6, 6, 24), (7, 7, 7, 24), (8, 8, 10, 16), (9, 9, 9, 24), (12, 12, 12, 12),
)  # fmt: skip


@lru_cache
def found_minima(seed: int, plenty: int = 1) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
    """Return pairs of minima `[minimum, student, dim]` and their teacher: ends of descent, polished by Newton's method.

    Kept are those with a gradient below 1e-11 and no negative eigenvalue. Some are global.
    """
    found = []
    for number, k, d, runs in _CASES:
        random = np.random.default_rng([seed, number, k, d])
        teacher = np.linalg.qr(random.normal(size=(d, d)))[0][:k]
        w = random.normal(size=(runs * plenty, number, d)) / np.sqrt(d)
        if number == k and k > 5:
            # Near the most common spurious minimum one neuron has turned away from its teacher, against the others.
            turned = np.broadcast_to(teacher, w.shape).copy()
            turned[:, -1] = 0.8 * teacher[:-1].mean(0) * np.sqrt(k) - 0.6 * teacher[-1]
            w[::2] = (turned + 0.1 * random.normal(size=w.shape))[::2]
        target = np.broadcast_to(teacher, (len(w), k, d))
        for _ in range(700):
            w = w - 2.5 / max(k, 3) * gradient(w, target)
        for _ in range(12):
            slope = gradient(w, target).reshape(len(w), -1, 1)
            # Zero eigenvalues of rotations that fix the teachers are left alone.
            values, vectors = np.linalg.eigh(hessian(w, target))
            coordinates = np.swapaxes(vectors, 1, 2) @ slope
            step = vectors @ np.where(values[..., None] > 1e-7, coordinates / np.maximum(values, 1e-7)[..., None], 0.0)
            length = np.linalg.norm(step, axis=(1, 2), keepdims=True)
            w = w - (step * np.minimum(1.0, 0.1 / np.maximum(length, 1e-300))).reshape(w.shape)
        # Asked the other way round, runs that end at something that is not a number would be dropped in silence.
        large = np.linalg.norm(gradient(w, target), axis=(1, 2)) >= 1e-11
        concave = np.linalg.eigvalsh(hessian(w, target))[:, 0] <= -1e-9
        found.append((w[~(large | concave)], teacher))
    return tuple(found)


def _minima(effort: Effort, seed: int, *, spurious: bool = True):
    """Yield students, one teacher for all of them, and losses: non-global minima, or global ones."""
    for w, teacher in found_minima(seed, 1 if effort.samples <= 512 else 8):
        target = np.broadcast_to(teacher, (len(w), *teacher.shape))
        zero = loss(w, target) < 1e-12
        keep = ~zero if spurious else zero
        if keep.any():
            yield w[keep], target[keep]


def split(student: np.ndarray, neuron: int, fraction: float) -> np.ndarray:
    """Return students with one neuron split in two parallel ones."""
    parts = np.stack([fraction * student[:, neuron], (1 - fraction) * student[:, neuron]], axis=1)
    return np.concatenate([student[:, :neuron], parts, student[:, neuron + 1 :]], axis=1)


_FRACTIONS = (1e-3, 0.2, 0.5, 0.9)


def _way_down(w, v, neuron: int, fraction: float) -> np.ndarray:
    """Return how much the loss falls along (u, −u) from a split neuron, u the lowest eigenvector of its reduced block."""
    _, vectors = np.linalg.eigh(reduced(w, v)[:, neuron])
    u = vectors[..., 0]
    base, start = split(w, neuron, fraction), loss(w, v)
    best = np.zeros(len(w))
    for size in np.geomspace(1e-3, 1, 10) * min(fraction, 1 - fraction):
        moved = base.copy()
        moved[:, neuron] += size * u
        moved[:, neuron + 1] -= size * u
        best = np.maximum(best, start - loss(moved, v))
    return best


def _some_split(spurious: bool = True):
    """Theorem 8: the neuron whose reduced block is lowest makes a saddle for all fractions, and a way down at the ends."""

    def test(effort: Effort, seed: int) -> Outcome:
        found, largest = [], 0.0
        for w, v in _minima(effort, seed, spurious=spurious):
            k = v.shape[1]
            lowest = np.linalg.eigvalsh(reduced(w, v))[..., 0]
            for number in range(len(w)):
                one, target, neuron = w[number : number + 1], v[number : number + 1], int(lowest[number].argmin())
                total = norms(one).sum()
                largest = max(largest, float(total / k))
                if total > k * (1 + 1e-9):
                    continue
                margins = [float(norms(one).min()) - 1e-6]
                for fraction in _FRACTIONS:
                    point = split(one, neuron, fraction)
                    values = np.linalg.eigvalsh(hessian(point, target))[0]
                    still = 1e-8 - float(np.abs(gradient(point, target)).max())
                    margins += [-values[0] - 1e-6, values[-1], still * 1e6]
                margins.append(float(_way_down(one, target, neuron, 1e-2)[0]) * 1e6 - 1e-6)
                shown = {"student": one[0], "teacher": target[0], "neuron": neuron}
                found.append((float(np.min(margins)), shown))
        return worst_of(found, note=f"minima found by descent; the largest norm sum is {largest:.4f} k")

    return test


_FOUND = "local minima found by descent: $n < k$ up to 5, $n = k$ from 6 to 12"

THEOREM_8 = Claim(
    id=f"{PAPER}.theorem-8",
    place="Theorem 8",
    title="a split that turns a non-global minimum into a saddle",
    hypotheses=("$n \\le k$, a non-global minimum with $\\sum\\|w_i\\| \\le k$", _FOUND + "; for $n < k$ all minima"),
    as_printed=Form(
        "No neuron is zero, and some neuron can be split such that a saddle results for all fractions, and no minimum for a fraction of zero or one.",
        _some_split(),
    ),
    control=Form("The same at global minima with $n = k$.", _some_split(spurious=False)),
    arithmetic="minima to a gradient of 1e-11, closed form in float64",
)


def _every_split(spurious: bool = True):
    def test(effort: Effort, seed: int) -> Outcome:
        found, tried, skipped = [], 0, 0
        for w, v in _minima(effort, seed, spurious=spurious):
            lowest = np.linalg.eigvalsh(reduced(w, v))[..., 0]
            for neuron in range(w.shape[1]):
                chosen = ~(lowest[:, neuron] >= -1e-6) if spurious else np.ones(len(w), bool)
                skipped += int((~chosen).sum())
                if not chosen.any():
                    continue
                one, target = w[chosen], v[chosen]
                for fraction in (0.1, 0.5):
                    point = split(one, neuron, fraction)
                    values = np.linalg.eigvalsh(hessian(point, target))
                    still = 1e-8 - np.abs(gradient(point, target)).max((1, 2))
                    found.append((float(np.min([-values[:, 0] - 1e-6, values[:, -1], still * 1e6])), {}))
                found.append((float(_way_down(one, target, neuron, 1e-2).min()) * 1e6 - 1e-6, {}))
                tried += len(one)
        return worst_of(found, tried, f"{skipped} neurons have a reduced block without a negative eigenvalue")

    return test


THEOREM_9 = Claim(
    id=f"{PAPER}.theorem-9",
    place="Theorem 9",
    title="every neuron with an indefinite reduced block",
    hypotheses=("a differentiable non-global minimum, $H'_{ii}$ not positive semidefinite", _FOUND),
    as_printed=Form(
        "Splitting such a neuron gives a saddle for all fractions, and no minimum for a fraction of zero or one.",
        _every_split(),
    ),
    control=Form("The same for every neuron of a global minimum.", _every_split(spurious=False)),
    arithmetic="minima to a gradient of 1e-11, closed form in float64",
)


# Lemmas 12 and 13 -----------------------------------------------------------------------------------------------------


def _random_splits(count, random):
    for number, k, d in ((1, 1, 2), (2, 2, 2), (2, 1, 3), (3, 3, 3)):
        teacher = teachers(k, d, count, random)
        w = random.normal(size=(count, number, d))
        fraction = random.uniform(0.01, 0.99, count)
        fraction[::4] = 1e-3
        yield {
            "student": w,
            "teacher": teacher,
            "fraction": fraction,
            "direction": units(random.normal(size=(count, d))),
        }


def _split_each(i) -> np.ndarray:
    first = i["student"][:, :1]
    fraction = i["fraction"][:, None, None]
    return np.concatenate([fraction * first, (1 - fraction) * first, i["student"][:, 1:]], axis=1)


def _split_hessian(kind: str):
    def check(i):
        w, v = i["student"], i["teacher"]
        count, number, d = w.shape
        whole = hessian(w, v).reshape(count, number, d, number, d)
        order = np.concatenate([[0], np.arange(number)])
        expected = whole[:, order][:, :, :, order].copy()
        block, half = reduced(w, v)[:, 0], 0.5 * np.eye(d)
        fraction = i["fraction"][:, None, None]
        power = 2 if kind == "control" else 1
        expected[:, 0, :, 0] = half + block / fraction**power
        expected[:, 1, :, 1] = half + block / (1 - fraction) ** power
        expected[:, 0, :, 1] = expected[:, 1, :, 0] = half
        found = hessian(_split_each(i), v).reshape(expected.shape)
        return near(found, expected, 0.1, 1e-9)

    return Batches(_random_splits, check)


LEMMA_12 = Claim(
    id=f"{PAPER}.lemma-12.hessian",
    place="Lemma 12",
    title="the Hessian after a split",
    hypotheses=("any differentiable point, minimum or not; fractions from 0.001 to 0.99", SCALE),
    as_printed=Form(
        "The blocks of the split neuron are $\\frac12I + \\frac1\\alpha H'_{ii}$, $\\frac12I$ and $\\frac12I + \\frac1{1-\\alpha}H'_{ii}$; the others are copies.",
        _split_hessian("printed"),
    ),
    control=Form("The same with $\\alpha^2$ and $(1-\\alpha)^2$.", _split_hessian("control")),
)


def _split_critical(whole: float):
    def test(effort: Effort, seed: int) -> Outcome:
        found, tried = [], 0
        for w, v in _minima(effort, seed):
            for neuron in range(w.shape[1]):
                for fraction in (1e-3, 0.4):
                    parts = split(w, neuron, fraction)
                    parts[:, neuron + 1] *= whole
                    slope = np.abs(gradient(parts, v)).max((1, 2))
                    found.append((1e-9 - float(slope.max()), {}))
                    tried += len(w)
        return worst_of(found, tried, "largest entry of the gradient at split minima")

    return test


LEMMA_12_CRITICAL = Claim(
    id=f"{PAPER}.lemma-12.critical",
    place="Lemma 12",
    title="a split minimum is critical",
    hypotheses=(_FOUND,),
    as_printed=Form("The gradient at the split point is zero, for all neurons and fractions.", _split_critical(1.0)),
    control=Form("The same if the second part is a tenth too long.", _split_critical(1.1)),
    arithmetic="minima to a gradient of 1e-11, closed form in float64",
)


def _second_block(kind: str):
    def check(i):
        w, v = i["student"], i["teacher"]
        d = w.shape[2]
        found = hessian(_split_each(i), v)[:, d : 2 * d, d : 2 * d]
        block = reduced(w, v)[:, 0] / (1 - i["fraction"])[:, None, None]
        return near(found, block + {"printed": 0.0, "corrected": 0.5, "control": 1.0}[kind] * np.eye(d), 0.1, 1e-9)

    return Batches(_random_splits, check)


SECOND_BLOCK = Claim(
    id=f"{PAPER}.section-E.block",
    place="Appendix E, end of the proof of Lemma 12",
    title="the block of the second part",
    hypotheses=("as Lemma 12", SCALE),
    as_printed=Form(
        "$H_{i+1,i+1} = \\frac1{1-\\alpha}H'_{ii}$.",
        _second_block("printed"),
        recipe=RECIPE
        + BLOCK
        + """
part, rest = (1 - fraction) * student[0], np.concatenate([[fraction * student[0]], student[1:]])
reduced = lambda a, others: sum(h1(a, b) for b in others) - sum(h1(a, b) for b in teacher)
left = 0.5 * np.eye(len(part)) + reduced(part, rest)  # Theorem 10
right = reduced(student[0], student[1:]) / (1 - fraction)
""",
    ),
    corrected=Form(
        "$H_{i+1,i+1} = \\frac12I + \\frac1{1-\\alpha}H'_{ii}$, as the lemma says.", _second_block("corrected")
    ),
    correction="A misprint in the proof: $\\frac12I$ is missing.",
    control=Form("With $I$ in place of $\\frac12I$.", _second_block("control")),
)


def _opposite_ways(factor: float):
    def check(i):
        w, v, u = i["student"], i["teacher"], i["direction"]
        way = np.zeros((len(w), w.shape[1] + 1, w.shape[2]))
        way[:, 0], way[:, 1] = u, -u
        flat = way.reshape(len(w), -1)
        found = np.einsum("ni,nij,nj->n", flat, hessian(_split_each(i), v), flat)
        value = np.einsum("ni,nij,nj->n", u, reduced(w, v)[:, 0], u)
        return near(found, factor * value * (1 / i["fraction"] + 1 / (1 - i["fraction"])), 0.1, 1e-9)

    return Batches(_random_splits, check)


LEMMA_13 = Claim(
    id=f"{PAPER}.lemma-13",
    place="Lemma 13",
    title="curvature between the two parts",
    hypotheses=("any differentiable point; $u$ a unit vector; the saddles are judged in Theorems 8 and 9", SCALE),
    as_printed=Form(
        "Along $(u, -u)$ in the two parts the second derivative is $u^\\top H'_{ii}u\\,(\\frac1\\alpha + \\frac1{1-\\alpha})$: where that is negative, a split minimum is a saddle.",
        _opposite_ways(1.0),
    ),
    control=Form("Half of that.", _opposite_ways(0.5)),
)


def _sphere_mean(factor: float):
    def check(i):
        w, v = i["w"][:, None], i["v"][:, None]
        mean = np.trace(own_blocks(w, v)[:, 0, 0], axis1=1, axis2=2) / w.shape[-1]
        cosine = np.sum(units(i["w"]) * units(i["v"]), -1)
        expected = np.sqrt(1 - cosine**2) * norms(i["v"]) / (2 * np.pi * norms(i["w"]))
        return near(mean, factor * expected, 1e-6, 1e-7)

    def draw(count, random):
        for d in (2, 3, 6):
            yield {"w": random.normal(size=(count, d)), "v": random.normal(size=(count, d))}

    return Batches(draw, check)


EQUATION_70 = Claim(
    id=f"{PAPER}.equation-70",
    place="Equation (70)",
    title="mean of the diagonal terms over the sphere",
    hypotheses=("$u$ uniform on the unit sphere, $d \\ge 2$",),
    as_printed=Form("$E[u^\\top h_1(w, v)u] = \\sin\\theta_{w,v}\\|v\\|/(2\\pi\\|w\\|)$.", _sphere_mean(1.0)),
    control=Form("It is 1.1 times that.", _sphere_mean(1.1)),
)


# The proof of Theorem 8 -----------------------------------------------------------------------------------------------


def _sine_sums(least: float):
    def check(i):
        k = i["teacher"].shape[1]
        total = np.sin(angles(i["student"], i["teacher"])).sum(-1)[:, 0]
        return at_most(np.full(len(total), k - least), total + 1e-9)

    def draw(count, random):
        for k, d in ((1, 1), (1, 2), (2, 2), (3, 3), (3, 5), (8, 8)):
            teacher = teachers(k, d, count, random)
            w = random.normal(size=(count, 1, d))
            w[::3] = teacher[::3, :1] + 10.0 ** random.uniform(-4, 0, size=(len(w[::3]), 1, 1)) * w[::3]
            yield {"student": w, "teacher": teacher}

    return Batches(draw, check)


SINE_SUMS = Claim(
    id=f"{PAPER}.section-E.sines",
    place="Appendix E, proof of Theorem 8",
    title="angles of a neuron to the teachers",
    hypotheses=("$w_i \\ne 0$, orthonormal teachers, $d \\ge k$",),
    as_printed=Form("$\\sum_j\\sin\\theta_{w_i,v_j} \\ge k - 1$.", _sine_sums(1.0)),
    control=Form("It is at least $k - \\frac9{10}$.", _sine_sums(0.9)),
)


def _unit_students(count, random):
    """Students with n = k unit neurons that are not the teachers: random, repeated, reversed, or in other dimensions."""
    for k, d in ((1, 2), (2, 2), (3, 3), (2, 3)):
        teacher = teachers(k, d, count, random)
        w = units(random.normal(size=(count, k, d)))
        rows = np.arange(count)
        signed = teacher * random.choice([-1.0, 1.0], size=(count, k, 1))
        signed[:, 0] = -teacher[:, 0]
        w[rows % 3 == 0] = signed[rows % 3 == 0]
        if k > 1:
            repeated = teacher.copy()
            repeated[:, 1] = teacher[:, 0]
            w[rows % 3 == 1] = repeated[rows % 3 == 1]
        yield {"student": w, "teacher": teacher}


def _mixed(kind: str):
    def check(i):
        w, v = i["student"], i["teacher"]
        if kind == "printed":
            coordinates = np.sort(np.abs(np.einsum("nid,njd->nij", w, v)), axis=-1)
            second = coordinates[..., -2].max(-1) if v.shape[1] > 1 else np.ones(len(w))
            return {"margin": second - 1e-6, "left": second, "right": np.full(len(w), 1e-6)}
        own = np.sin(angles(w, w)).sum(-1) - np.sin(angles(w, v)).sum(-1)
        slope = np.sqrt(np.sum(gradient(w, v) ** 2, axis=(1, 2)))
        strict = -own.min(-1) - 1e-6
        return {"margin": np.maximum(strict, slope - 1e-6) if kind == "corrected" else strict}

    return Batches(_unit_students, check)


MIXED = Claim(
    id=f"{PAPER}.section-E.equality",
    place="Appendix E, proof of Theorem 8, case of equality",
    title="unit neurons that are not the teachers",
    hypotheses=("$n = k$, $\\|w_i\\| = 1$, not a permutation of the teachers",),
    as_printed=Form(
        "Some neuron has two coordinates, in the basis of the teachers, that are not zero.",
        _mixed("printed"),
        recipe="left, right = np.max(np.sort(np.abs(student @ teacher.T), axis=1)[:, -2]), 1e-6  # left should be above right\n",
    ),
    corrected=Form(
        "Inequality (72) is strict for some neuron, or the point is not critical: what the theorem needs.",
        _mixed("corrected"),
    ),
    correction="Neurons may also be repeated, opposite to teachers, or orthogonal to all of them. Repeated ones make the positive terms of (72) smaller; with an opposite "
    "one and all others at teachers there is equality, but the gradient is not zero. Theorem 8 stands.",
    control=Form("Inequality (72) is strict for some neuron.", _mixed("control")),
)


APPENDIX = (LEMMA_12_CRITICAL, LEMMA_12, SECOND_BLOCK, LEMMA_13, EQUATION_70, SINE_SUMS, MIXED)
