r"""Theorems 1, 4 and 6 and Appendix F: descent close to the minima, and gradients over samples."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from tutelage.claims import scan
from tutelage.claims.base import Claim, Effort, Form, Outcome
from tutelage.claims.local_convergence import formulas as f
from tutelage.claims.local_convergence import instances
from tutelage.claims.local_convergence.formulas import CLOSED_FORMS, DIFFERENCES, PAPER
from tutelage.claims.scan import Cases, Scan, worst_outcome

_STEPS = 3000
_SHAPES = ((1, 2, 2), (2, 5, 3), (3, 6, 2))


def descend(students: np.ndarray, targets: np.ndarray, step: np.ndarray, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Descend on the exact loss; the students reached, and the losses before every step and after the last."""
    students = students.copy()
    losses = np.zeros((steps + 1, len(students)))
    for t in range(steps):
        losses[t] = f.loss(students, targets)
        students -= step[:, None, None] * f.gradient(students, targets)
    losses[steps] = f.loss(students, targets)
    return students, losses


def across(count: int) -> dict[str, np.ndarray]:
    """One teacher on the first axis, a student close to it, and a small one exactly across it; several sizes."""
    size = np.geomspace(0.05, 0.5, count)
    students = np.zeros((count, 2, 2))
    students[:, 0, 0] = 0.9
    students[:, 1, 1] = size
    return {"students": students, "teachers": np.broadcast_to([[1.0, 0.0]], (count, 1, 2)).copy()}


@lru_cache(maxsize=4)
def _runs(count: int, seed: int):
    """Runs from starts of small loss, of several shapes, with steps of a tenth of 1/(r w_max) and less."""
    runs = []
    for number, shape in enumerate((*_SHAPES, None)):
        random = np.random.default_rng([seed, number])
        drawn = across(8) if shape is None else instances.near_minima(8 * count, random, *shape, scales=(-1.5, 0.0))
        students, targets = drawn["students"], drawn["teachers"]
        r, largest = targets.shape[1], f.norms(targets).max(axis=1)
        bulk = r * largest
        threshold = 0.02 * (f.separation(targets) / r) ** 3 * f.norms(targets).min(axis=1) ** 2
        kept = np.flatnonzero(f.loss(students, targets) <= threshold)[:count]
        step = np.where(np.arange(len(kept)) % 2, 0.1, 0.02) / bulk[kept]
        ends, losses = descend(students[kept], targets[kept], step, _STEPS)
        runs.append((students[kept], targets[kept], step, ends, losses))
    return runs


def _rate(power: float, constant: float):
    """L_t ≤ C (rw)² (t η / (r w))^{-power}, over all steps; time in units in which it does not change with the scale."""

    def test(effort: Effort, seed: int) -> Outcome:
        outcomes, slopes = [], []
        for students, targets, step, _, losses in _runs(effort.runs // 8, seed):
            bulk = targets.shape[1] * f.norms(targets).max(axis=1)
            time = np.arange(1, _STEPS + 1)[:, None] * step * bulk
            bound = constant * bulk**2 / time**power
            margins = (bound - losses[1:]) / np.maximum(bound, losses[1:])
            resolved = losses[_STEPS] > 1e-13 * bulk**2
            late = -np.log(losses[_STEPS] / losses[_STEPS // 2])[resolved] / np.log(2)
            slopes.extend(late[np.isfinite(late)])
            row, column = np.unravel_index(margins.argmin(), margins.shape)
            witness = {"students": students[column], "teachers": targets[column], "step": step[column]}
            witness |= {"steps": row + 1, "left": losses[row + 1, column], "right": bound[row, column]}
            outcomes.append(Outcome(float(margins[row, column]), margins.size, witness))
        low, middle, high = np.quantile(slopes, [0.1, 0.5, 0.9])
        note = f"losses fall like t^-p at the end, p = {low:.1f}, {middle:.1f}, {high:.1f} (tenth, half, nine tenths of the runs)"
        return worst_outcome(outcomes, note)

    return test


THEOREM_4 = Claim(
    id=f"{PAPER}.theorem-4",
    place="Theorem 4",
    title="local convergence",
    hypotheses=(
        "Assumptions 1 and 2, $L(W^{(0)}) \\le \\frac1{50}(\\Delta/r)^3w_{min}^2$, $\\eta \\in \\{0.1, 0.02\\}/(rw_{max})$",
        "also one teacher with a student exactly across it; 3000 steps",
    ),
    as_printed=Form(
        "$L(W^{(T)}) \\le \\epsilon$ for $T = O(rw_{max}/(\\epsilon\\eta))$: $L(W^{(t)}) \\le C\\,rw_{max}/(\\eta t)$ at every step, judged with $C = \\frac1{20}$, which is observed.",
        _rate(1.0, 0.05),
    ),
    control=Form("$L(W^{(t)}) \\le (rw_{max})^2(\\eta rw_{max}t)^{-3}$.", _rate(3.0, 1.0)),
    arithmetic="exact gradients in float64; 3000 steps",
)


def _matches(kind: str, short: bool = False):
    """After descent: do all students point along a teacher, or do those that do not have no mass?"""

    def outcomes(effort: Effort, seed: int):
        for students, targets, step, ends, losses in _runs(effort.runs // 8, seed):
            reached = students if short else ends
            turn = f.own_angles(f.line_angles(reached, targets))
            bulk = targets.shape[1] * f.norms(targets).max(axis=1)
            if kind == "all":
                # Rates are slow: a student counts as matching once it is within half a radian.
                margins = 0.5 - turn.max(axis=1)
            else:
                stray = np.sum(f.norms(reached) ** 2 * turn**2, axis=1) / bulk
                margins = np.minimum(0.05 - stray, 1e-3 - (losses[0] if short else losses[-1]) / bulk**2)
            lowest = int(margins.argmin())
            witness = {"students": students[lowest], "teachers": targets[lowest], "step": step[lowest]}
            witness |= {"left": turn[lowest].max(), "right": 0.5}
            yield Outcome(float(margins[lowest]), len(margins), witness)

    return Cases(outcomes)


THEOREM_1 = Claim(
    id=f"{PAPER}.theorem-1",
    place="Theorem 1 (informal)",
    title="all students come to match a teacher",
    hypotheses=("the starts of Theorem 4, 3000 steps; angles between lines",),
    as_printed=Form(
        "If the loss is small enough at first, descent converges to a global minimum where all students match a teacher in direction; judged as an "
        "angle below one half.",
        _matches("all"),
        recipe="""
w, v = students.copy(), teachers
unit = lambda a: a / np.linalg.norm(a, axis=1, keepdims=True)

def gradient(w):
    vectors = np.concatenate([np.linalg.norm(w, axis=1)[:, None] * w, v])
    signs = np.array([1.0] * len(w) + [-1.0] * len(v))
    turn = np.arccos(np.clip(unit(w) @ unit(vectors).T, -1, 1))
    slopes = (1 - 2 / np.pi * turn) * signs @ vectors
    slopes += (2 / np.pi * np.sin(turn) * signs @ np.linalg.norm(vectors, axis=1))[:, None] * unit(w)
    along = np.sum(unit(w) * slopes, axis=1, keepdims=True)
    return np.linalg.norm(w, axis=1)[:, None] * (slopes + along * unit(w))

for _ in range(3000):
    w = w - step * gradient(w)
cosines = np.abs(unit(w) @ unit(v).T).max(axis=1)
left = np.arccos(np.clip(cosines, -1, 1)).max()  # a student that never turns; its norm tends to zero
right = 0.5
""",
    ),
    corrected=Form(
        "The loss tends to zero, and students that do not match lose their mass: $\\sum_j\\|w_j\\|^2\\delta_j^2 \\le 0.05\\,rw_{max}$ and $L \\le 10^{-3}(rw_{max})^2$ "
        "at the end.",
        _matches("mass"),
    ),
    correction="A student exactly across the only teacher never turns, by symmetry, however small the loss: its norm falls like $t^{-1/2}$ (and the loss like $t^{-2}$), and in the limit it is zero and has no direction. Close to it, "
    "students need a very long time to turn. The limit is a global minimum, where Theorem 2 speaks of non-zero students only.",
    control=Form("The corrected form at the start.", _matches("mass", short=True)),
    arithmetic="exact gradients in float64; 3000 steps",
)


# Appendix F -------------------------------------------------------------------------------------------------------------------------


def sampled_gradient(students, targets, inputs, half: bool):
    r"""The gradient of the empirical loss, $\frac1N\sum R(x_k)^2$ as printed or half of it, for one student network."""
    product = inputs @ f.products(students).T
    residual = np.abs(product).sum(axis=1) - np.abs(inputs @ targets.T).sum(axis=1)
    slopes = (np.sign(product) * residual[:, None]).T @ inputs / len(inputs)
    return (1.0 if half else 2.0) * f.stretched(students, slopes)


_CASES = ((1, 2, 2), (2, 3, 3), (2, 4, 8))


def _concentrates(half: bool, fraction: float = 1.0):
    """How often the sampled gradient is within ε of the population's, for ε a fifth of it and N as printed with 4."""

    def outcomes(effort: Effort, seed: int):
        for number, (r, m, d) in enumerate(_CASES):
            random = np.random.default_rng([seed, number])
            targets = f.units(random.normal(size=(r, d)))
            students = f.students_of(0.7 * f.units(random.normal(size=(m, d))))
            exact = f.gradient(students, targets)
            tolerance, share = f.frobenius(exact) / 5, 0.2
            samples = max(int(fraction * 4 * r**3 * d**2 / (tolerance**2 * share)), 1)
            samples = min(samples, 200_000)
            repeats = effort.runs // 10
            errors = [
                f.frobenius(sampled_gradient(students, targets, random.normal(size=(samples, d)), half) - exact)
                for _ in range(repeats)
            ]
            missed = np.mean(~(np.array(errors) <= tolerance))
            witness = {"students": students, "teachers": targets, "samples": samples, "tolerance": tolerance}
            yield Outcome(float(share - missed), repeats, witness)

    return Cases(outcomes)


LEMMA_F_1 = Claim(
    id=f"{PAPER}.lemma-F.1",
    place="Lemma F.1 and Section 3.4",
    title="sampled gradients are close to the population gradient",
    hypotheses=(
        "fixed $W$ with $L = O(r^2w_{max}^2)$, unit teachers",
        "$\\epsilon = \\frac15\\|\\nabla L\\|_F$, $\\delta = \\frac15$, $N = 4r^3w_{max}^3d^2\\epsilon^{-2}\\delta^{-1}$, at most 200,000",
    ),
    as_printed=Form(
        "With $\\hat L(W) = \\frac1N\\sum_kR(x_k)^2$, $\\|\\nabla\\hat L(W) - \\nabla L(W)\\|_F \\le \\epsilon$ with probability $1 - \\delta$.",
        _concentrates(half=False),
        recipe=CLOSED_FORMS
        + DIFFERENCES
        + """
x = np.random.default_rng(0).normal(size=(int(samples), students.shape[1]))
norms = np.linalg.norm(students, axis=1)
residual = np.abs(x @ students.T) @ norms - np.abs(x @ teachers.T).sum(axis=1)
slopes = (np.sign(x @ students.T) * 2 * residual[:, None]).T @ x / len(x)
along = np.sum(students * slopes, axis=1) / norms**2
sampled = norms[:, None] * (slopes + along[:, None] * students)
left = np.linalg.norm(sampled - gradient(students, teachers))
right = tolerance
""",
    ),
    corrected=Form("The same with $\\hat L(W) = \\frac1{2N}\\sum_kR(x_k)^2$.", _concentrates(half=True)),
    correction="The printed empirical loss lacks the factor one half of Equation (1), so that its gradient has the mean $2\\nabla L$. With it the lemma holds, and is loose: the error is of the order "
    "$\\sqrt{d\\,L\\,rw_{max}/N}$, by $E[R^2\\|x\\|^2] \\approx d\\,E[R^2]$.",
    control=Form("The corrected form with a thousandth of the samples.", _concentrates(half=True, fraction=1e-3)),
    arithmetic="sampled gradients against closed forms",
)


def _fourth_moment(equality: bool, factor: float = 4.0):
    def draw(count, random):
        count = count // 100
        return {"students": random.normal(size=(count, 2, 2)), "teachers": random.normal(size=(count, 2, 2))}

    def check(i):
        turn = (np.arange(2000) + 0.5) * 2 * np.pi / 2000
        points = np.stack([np.cos(turn), np.sin(turn)], axis=-1)
        square = f.residual(i["students"], i["teachers"], points) ** 2
        first = f.units(i["students"])[:, 0]
        along = np.einsum("pd,nd->np", points, first) ** 2
        # In the plane E‖x‖⁴ = 8, and the direction is independent.
        size = 8 * f.norms(i["students"])[:, 0] ** 2
        left, right = size * np.mean(square * (1 + 3 * along), axis=1), factor * size * np.mean(square, axis=1)
        return scan.equal(left, right, tolerance=1e-3) if equality else scan.at_most(left, right)

    return Scan(draw, check)


FOURTH_MOMENT = Claim(
    id=f"{PAPER}.section-F.moment",
    place="Appendix F, proof of Lemma F.1, second display",
    title="second moment of a sampled gradient",
    hypotheses=("two students and two teachers in the plane",),
    as_printed=Form(
        "$E\\|R(x)\\|w_j\\|(I + \\bar w_j\\bar w_j^\\top)x\\,\\mathrm{sgn}(w_j\\cdot x)\\|^2 = 4\\|w_j\\|^2E[\\|x\\|^4R(\\bar x)^2]$.",
        _fourth_moment(equality=True),
        recipe="""
x = np.random.default_rng(0).normal(size=(2_000_000, 2))
residual = sum(np.linalg.norm(w) * np.abs(x @ w) for w in students) - sum(np.abs(x @ v) for v in teachers)
w = students[0] / np.linalg.norm(students[0])
square = np.sum(x**2, axis=1)
left = students[0] @ students[0] * np.mean(residual**2 * (square + 3 * (x @ w) ** 2))  # sampled
right = 4 * students[0] @ students[0] * np.mean(square * residual**2)
""",
    ),
    corrected=Form("The same with $\\le$.", _fourth_moment(equality=False)),
    correction="$\\|(I + \\bar w\\bar w^\\top)\\bar x\\|^2 = 1 + 3(\\bar w\\cdot\\bar x)^2 \\le 4$ is an inequality; nothing else is used.",
    control=Form("The same with $\\le$ and the factor 2.", _fourth_moment(equality=False, factor=2.0)),
)


def _mini_batches(fraction: float):
    """Stochastic descent on the printed empirical loss from losses of several tenths to 0.02, one and two teachers."""

    def outcomes(effort: Effort, seed: int):
        for r, m, d in ((1, 2, 2), (2, 3, 2)):
            random = np.random.default_rng([seed, r])
            targets = np.eye(2)[:r]
            epsilon, share, eta = 0.02 * r, 0.5, 0.1 / r
            batch = int(1e-4 * r**5 * d**2 / (eta * epsilon**3 * share))
            steps = max(int(fraction * 0.5 * r / (epsilon * eta)), 1)
            repeats = effort.runs // 20
            ends, starts = [], []
            for _ in range(repeats):
                shares = np.array([0.5, 0.5] if r == 1 else [1.0, 0.5, 0.5])
                own = np.concatenate([targets, targets[:1] if r == 1 else targets[1:]])
                products = shares[:, None] * own + 0.8 * shares[:, None] * random.normal(size=(m, d))
                students = f.students_of(products)
                starts.append(float(f.loss(students, targets)))
                for _ in range(steps):
                    students = students - eta * sampled_gradient(
                        students, targets, random.normal(size=(batch, d)), half=False
                    )
                ends.append(float(f.loss(students, targets)))
            # A run that has diverged to no number has missed too.
            missed = np.mean(~(np.array(ends) <= epsilon))
            witness = {"teachers": targets, "batch": batch, "steps": steps}
            witness |= {"starts": np.array(starts), "ends": np.array(ends)}
            yield Outcome(float(share - missed), repeats, witness)

    return Cases(outcomes)


THEOREM_6 = Claim(
    id=f"{PAPER}.theorem-6",
    place="Theorem 6",
    title="local convergence of stochastic descent",
    hypotheses=(
        "one and two orthonormal teachers in the plane, $\\epsilon = 0.02r$, $\\delta = \\frac12$, $\\eta = 0.1/r$",
        "$N = 10^{-4}r^5w_{max}^5d^2\\eta^{-1}\\epsilon^{-3}\\delta^{-1}$ fresh samples a step",
    ),
    as_printed=Form(
        "$L(W^{(T)}) \\le \\epsilon$ with probability $1 - \\delta$ for $T = O(rw_{max}/(\\epsilon\\eta))$; judged with $T = \\frac12rw_{max}/(\\epsilon\\eta)$ and the constant $10^{-4}$ in $N$, both observed.",
        _mini_batches(1.0),
    ),
    control=Form("The same with $T$ a hundredth of it.", _mini_batches(0.01)),
    arithmetic="sampled gradients, exact losses",
)

APPENDIX = (LEMMA_F_1, FOURTH_MOMENT)
