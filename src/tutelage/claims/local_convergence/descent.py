r"""Theorems 1, 4 and 6, Section D.3 and Appendix F: descent close to the minima, and gradients over samples."""

import numpy as np

from tutelage.claims import Chance, Claim, Form, real, uniform, unit
from tutelage.claims.local_convergence import formulas as f
from tutelage.claims.local_convergence import instances
from tutelage.claims.local_convergence.formulas import CLOSED_FORMS, HALF, PAPER, SLOPES
from tutelage.claims.local_convergence.landscape import Small
from tutelage.dynamics import GradientDescent, descend, record, step_limit
from tutelage.objectives import population, stream
from tutelage.problems import homogeneous

_STEPS, _EVERY = 1000, 20
_SHAPES = ((1, 32, 3), (2, 5, 3), (3, 6, 2))


def across(count: int) -> dict[str, np.ndarray]:
    """One teacher on the first axis, a student close to it, and a small one exactly across it; several sizes."""
    size = np.geomspace(0.05, 0.5, count)
    students = np.zeros((count, 2, 2))
    students[:, 0, 0] = 0.9
    students[:, 1, 1] = size
    return {"students": students, "teachers": np.broadcast_to([[1.0, 0.0]], (count, 1, 2)).copy()}


def _threshold(targets):
    return 0.02 * (f.separation(targets) / targets.shape[-2]) ** 3 * f.norms(targets).min(-1) ** 2


def _starts(count: int, random, shape):
    """Starts of small loss for several teachers of a shape, a batch per teacher; those far from the threshold left out."""
    drawn = instances.teachers(256, random, shape[0], shape[2])
    bulk = shape[0] * f.norms(drawn).max(-1)
    order = np.argsort(-_threshold(drawn) / bulk**2)
    # Well separated ones of about equal norms, whose threshold is largest.
    for number, targets in enumerate(drawn[order[:24:3]]):
        # With one teacher every other network has two students.
        r, m, d = shape
        few = 2 if r == 1 and number % 2 else m
        near = instances.near_minima(40 * count, random, r, few, d, scales=(-1.5, 0.0), targets=targets)["students"]
        losses, most = f.loss(near, targets), _threshold(targets)
        yield near[(losses <= most) & (losses >= 0.1 * most)][:count], targets


def _descended(students, targets, share):
    r"""Runs of 1000 steps of a share of 1/(r w_max), with their losses now and then and where students end.

    A step of $\eta$ with students $w_j$ and teachers $w^*_i$ is one of 1 with $\sqrt\eta\,w_j$ and $\eta\,w^*_i$, whose products
    are $\eta$ times as large and whose loss is $\eta^2$ times that: so runs with steps of their own are one call. Not compiled:
    a shape is met once.
    """
    bulk = targets.shape[-2] * f.norms(targets).max(-1)
    step = share / bulk
    scale = step[:, None, None]
    own = scale * targets
    runs = descend(
        population(homogeneous(own[0], students.shape[1])),
        np.sqrt(scale) * students,
        GradientDescent(1.0),
        step_limit(_STEPS),
        record("loss", every=_EVERY),
        teachers=own,
        compiled=False,
    )
    curves = [runs.curve("loss", run) for run in range(len(runs))]
    times, losses = (np.stack(parts) for parts in zip(*curves, strict=True))
    ends = np.asarray(runs.points) / np.sqrt(scale)
    found = {"students": students, "teachers": targets, "step": step, "bulk": bulk, "ends": ends}
    found |= {"times": times, "losses": losses / step[:, None] ** 2}
    for name, reached in (("before", students), ("after", ends)):
        turn = f.own_angles(f.line_angles(reached, targets))
        found[f"turn_{name}"] = np.max(np.where(f.norms(reached) > 0, turn, 0.0), axis=1)
        found[f"stray_{name}"] = np.sum(f.norms(reached) ** 2 * turn**2, axis=1)
    return found


def _runs_of(shape):
    """The runs of a shape that Theorems 1 and 4 are judged on; first, with one teacher, ones with a student across it, with two, ones with students between."""

    @instances.once
    def runs(count, random):
        r, m, d = shape
        several = []
        if r <= 2:
            own = (across(8) if r == 1 else instances.pairs(2, random, 0.25))["students"]
            # Between two teachers there are four students; the fifth is zero, and stays so.
            students, targets = np.zeros((len(own), 2 if r == 1 else m, d)), np.eye(d)[:r]
            students[:, : own.shape[1], :2] = own
            several.append((students[f.loss(students, targets) <= _threshold(targets)], targets, 0.25))
        for number, (students, targets) in enumerate(_starts(max(count // 40, 2), random, shape)):
            several.append((students, targets, (0.25, 0.1)[number // 2 % 2]))
        for size in sorted({some.shape[1] for some, _, _ in several}):
            alike = [one for one in several if one[0].shape[1] == size]
            targets = np.concatenate([np.broadcast_to(own, (len(some), *own.shape)) for some, own, _ in alike])
            share = np.concatenate([np.full(len(some), share) for some, _, share in alike])
            yield _descended(np.concatenate([some for some, _, _ in alike]), targets, share)

    return runs


_RUNS = [_runs_of(shape) for shape in _SHAPES]
_LOCAL = (
    "Assumptions 1 and 2, $L(W^{(0)}) \\le \\frac1{50}(\\Delta/r)^3w_{min}^2$, $\\eta \\in \\{0.25, 0.1\\}/(rw_{max})$, 1000 steps",
    "$r \\le 3$, $m \\le 32$, 24 teachers; also one teacher with a student exactly across it, and two with students exactly between them",
)

THEOREM_4 = Claim(
    id=f"{PAPER}.theorem-4",
    title="local convergence",
    hypotheses=_LOCAL,
    draw=_RUNS,
    runs=True,
    left=lambda losses: losses[..., 1:],
    relation="<=",
    right=lambda teachers, step, times, power=2.0: (
        6.1 * teachers.shape[-2] / (f.separation(teachers) ** 3 * step**2)[..., None] / times[..., 1:] ** power
    ),
    known=lambda losses: losses[..., :1] + 0 * losses[..., 1:],
    as_printed="$L(W^{(T)}) \\le \\epsilon$ for $T = O(rw_{max}/(\\epsilon\\eta))$: $L(W^{(t)}) = O(rw_{max}/(\\eta t))$ at every step; judged as $L(W^{(t)}) \\le 6.1\\,r\\Delta^{-3}(\\eta t)^{-2}$, "
    "which is stronger: from below the threshold it gives $0.35\\,w_{min}/(r\\eta t)$. (The bound of Theorem 3 gives $4/0.9^4 = 6.1$ for small steps; with students "
    "between two orthonormal teachers it is 2.1 in the limit of many steps.)",
    control=Form("The same with $t^{-2.3}$ for $t^{-2}$.", power=2.3),
    arithmetic="exact gradients in float64; 1000 steps",
)

THEOREM_1 = Claim(
    id=f"{PAPER}.theorem-1",
    title="all students come to match a teacher",
    hypotheses=(*_LOCAL, "angles between lines; one and three teachers"),
    draw=_RUNS[::2],
    runs=True,
    left=lambda stray_after, losses, bulk: np.stack([stray_after / bulk, losses[..., -1] / bulk**2], -1),
    relation="<=",
    right=lambda most: most * np.array([0.0125, 1e-5]),
    known=lambda stray_before, losses, bulk: np.stack([stray_before / bulk, losses[..., 0] / bulk**2], -1),
    as_printed=Form(
        "If the loss is small enough at first, descent converges to a global minimum where all students match a teacher in direction; judged as an angle below "
        "one half.",
        left=lambda turn_after: turn_after,
        right=0.5,
        known=lambda turn_before: turn_before,
        recipe="""
w, v = students[students.any(axis=1)], teachers  # zero students stay zero
unit = lambda a: a / np.linalg.norm(a, axis=1, keepdims=True)

def gradient(w):
    vectors = np.concatenate([np.linalg.norm(w, axis=1)[:, None] * w, v])
    signs = np.array([1.0] * len(w) + [-1.0] * len(v))
    turn = np.arccos(np.clip(unit(w) @ unit(vectors).T, -1, 1))
    slopes = (1 - 2 / np.pi * turn) * signs @ vectors
    slopes += (2 / np.pi * np.sin(turn) * signs @ np.linalg.norm(vectors, axis=1))[:, None] * unit(w)
    along = np.sum(unit(w) * slopes, axis=1, keepdims=True)
    return np.linalg.norm(w, axis=1)[:, None] * (slopes + along * unit(w))

for _ in range(1000):
    w = w - step * gradient(w)
cosines = np.abs(unit(w) @ unit(v).T).max(axis=1)
left = np.arccos(np.clip(cosines, -1, 1)).max()  # a student that never turns; its norm tends to zero
""",
    ),
    as_meant=Form(
        "The loss tends to zero, and students that do not match lose their mass: $\\sum_j\\|w_j\\|^2\\delta_j^2 \\le \\frac1{80}rw_{max}$ and $L \\le 10^{-5}(rw_{max})^2$ at "
        "the end.",
        most=1.0,
    ),
    supplied="Section 3.2, whose Theorem 4 is the formal version, and Theorem 2, which speaks of the limit",
    correction="A student exactly across the only teacher never turns, by symmetry, however small the loss: its norm falls like $t^{-1/2}$ (and the loss like "
    "$t^{-2}$), and in the limit it is zero and has no direction. Close to it, students need a very long time to turn. The limit is a global minimum, where Theorem "
    "2 speaks of non-zero students only.",
    control=Form("The same with 0.7 times both bounds.", most=0.7),
    arithmetic="exact gradients in float64; 1000 steps",
)


@instances.once
def _one_step(count, random):
    """Networks of small loss, and what one step gains, along the gradient and along one that might be sampled."""
    for drawn in instances.networks(count, random, shapes=instances.ALL, scales=(-2.0, -0.3)):
        students, targets = drawn["students"], drawn["teachers"]
        small = Small(students, targets)
        bulk = small.r * small.largest
        step = 10.0 ** random.uniform(-3, -1, size=len(students)) / bulk
        slope = f.gradient(students, targets)
        found = {"after": f.loss(students - step[:, None, None] * slope, targets), "slope": f.frobenius(slope)}
        # A sampled gradient may be half of the gradient, or half of it away in any direction.
        noise = random.normal(size=slope.shape)
        noise *= (found["slope"] / f.frobenius(noise) / 2)[:, None, None]
        found["sampled"] = slope + np.where(np.arange(len(slope))[:, None, None] % 2, -slope / 2, noise)
        first_order = step * found["slope"] ** 2
        gain = f.loss(students, targets) - f.loss(students - step[:, None, None] * found["sampled"], targets)
        found |= {"gain": gain / np.maximum(first_order, 1e-300), "resolved": first_order > 1e-9 * bulk**2}
        yield {**drawn, **found, "step": step, "bulk": bulk, **small.arrays()}


STEP = Claim(
    id=f"{PAPER}.section-D.3.step",
    title="how much one step gains",
    hypotheses="$L \\le \\frac1{100}(\\Delta/r)^3w_{min}^2$, $\\eta \\le 0.1/(rw_{max})$, $\\kappa = 2.8(r/w_{min})^{1/2}$ as in Theorem 3",
    draw=_one_step,
    where=lambda small: small,
    left=lambda after: after[..., None],
    relation="<=",
    right=lambda loss, step, slope, r, smallest, gain: np.stack(
        [loss - gain * step * slope**2, loss - 2.8**2 / 4 * step * r / smallest * loss**2], -1
    ),
    known=lambda loss: loss[..., None],
    scale=lambda bulk: 1e-6 * bulk[..., None] ** 2,
    as_printed=Form(
        "$L(W^{(t+1)}) \\le L(W^{(t)}) - (\\eta - O(\\cdots))\\|\\nabla L\\|_F^2 \\le L(W^{(t)}) - \\frac{\\eta\\kappa^2}4L(W^{(t)})^2$; the first judged as $0.7\\eta$, which "
        "is observed.",
        gain=0.7,
    ),
    control=Form("The same with $0.85\\eta$.", gain=0.85),
)


# Appendix F -----------------------------------------------------------------------------------------------------------


def sampled_gradient(students, targets, inputs, half: bool):
    r"""The gradient of the empirical loss, $\frac1N\sum R(x_k)^2$ as printed or half of it, for one student network."""
    product = inputs @ f.products(students).T
    residual = np.abs(product).sum(axis=1) - np.abs(inputs @ targets.T).sum(axis=1)
    slopes = (np.sign(product) * residual[:, None]).T @ inputs / len(inputs)
    return (1.0 if half else 2.0) * f.stretched(students, slopes)


def _errors(count, random, half=0, sharp=0):
    """Errors of sampled gradients for ε a fifth of the gradient, with N as printed with the constant 4, or a sharper N."""
    for r, m, d in ((1, 2, 2), (2, 3, 3), (2, 4, 8)):
        targets = f.units(random.normal(size=(r, d)))
        students = f.students_of(0.7 * f.units(random.normal(size=(m, d))))
        exact = f.gradient(students, targets)
        tolerance = f.frobenius(exact) / 5
        needed = 8 * (d + 2) * f.loss(students, targets) * np.sum(students**2) if sharp else 4 * r**3 * d**2
        samples = min(int(needed / (tolerance**2 * 0.2)), 200_000)
        errors = [
            f.frobenius(sampled_gradient(students, targets, random.normal(size=(samples, d)), bool(half)) - exact)
            for _ in range(count // 8)
        ]
        drawn = {"students": students, "teachers": targets}
        yield instances.case(**drawn, samples=samples, tolerance=tolerance, errors=errors)


LEMMA_F_1 = Claim(
    id=f"{PAPER}.lemma-F.1",
    title="sampled gradients are close to the population gradient",
    hypotheses=(
        "fixed $W$ with $L = O(r^2w_{max}^2)$, unit teachers",
        "$\\epsilon = \\frac15\\|\\nabla L\\|_F$, $\\delta = \\frac15$, $N = 4r^3w_{max}^3d^2\\epsilon^{-2}\\delta^{-1}$, at most 200,000",
    ),
    draw=_errors,
    runs=True,
    build=lambda instance, factor=1.0: {
        **{name: value for name, value in instance.items() if name not in ("half", "sharp", "factor")},
        "successes": np.sum(instance["errors"] <= factor * instance["tolerance"][..., None], -1),
        "trials": np.sum(instance["errors"] >= 0, -1),
    },
    left=Chance(),
    relation=">=",
    right=0.8,
    as_printed=Form(
        "With $\\hat L(W) = \\frac1N\\sum_kR(x_k)^2$, $\\|\\nabla\\hat L(W) - \\nabla L(W)\\|_F \\le \\epsilon$ with probability $1 - \\delta$.",
        recipe=CLOSED_FORMS
        + SLOPES
        + """
x = np.random.default_rng(0).normal(size=(int(samples), students.shape[1]))
norms = np.linalg.norm(students, axis=1)
residual = np.abs(x @ students.T) @ norms - np.abs(x @ teachers.T).sum(axis=1)
slopes = (np.sign(x @ students.T) * 2 * residual[:, None]).T @ x / len(x)
along = np.sum(students * slopes, axis=1) / norms**2
sampled = norms[:, None] * (slopes + along[:, None] * students)
left = float(np.linalg.norm(sampled - gradient(students, teachers)) <= tolerance)  # one trial: it is always missed
""",
    ),
    as_meant=Form("The same with $\\hat L(W) = \\frac1{2N}\\sum_kR(x_k)^2$.", half=1, sharp=0),
    supplied="Equation (1), and the proof, whose sampled gradient has no factor two",
    corrected=Form(
        "With $\\hat L = \\frac1{2N}\\sum_kR(x_k)^2$ it is enough that $N \\ge 8(d+2)L\\sum\\|w_j\\|^2\\epsilon^{-2}\\delta^{-1}$, which is $O(d\\,L\\,rw_{max}\\epsilon^{-2}\\delta^{-1})$.",
        half=1,
        sharp=1,
    ),
    correction="The printed empirical loss lacks the factor one half of Equation (1), so that its gradient has the mean $2\\nabla L$. With it the lemma holds, and is "
    "loose: $R$ is homogeneous, so that $E[R^2\\|x\\|^2] = 2(d+2)L$, the mean square of the error is at most $8(d+2)L\\sum\\|w_j\\|^2/N$, and Chebyshev's inequality "
    "gives the sharper number.",
    defect=HALF,
    control=Form("That with $\\frac15\\epsilon$.", half=1, sharp=1, factor=0.2),
    arithmetic="sampled gradients against closed forms",
)

_TURNS = (np.arange(180) + 0.5) * 2 * np.pi / 180
_POINTS = np.stack([np.cos(_TURNS), np.sin(_TURNS)], axis=-1)


def _pairs(count, random):
    sizes = 10.0 ** random.uniform(-1, 1, size=(count // 40, 2, 1))
    return {
        "students": sizes * random.normal(size=(count // 40, 2, 2)),
        "teachers": random.normal(size=(count // 40, 2, 2)),
    }


def _fourth_moments(students, teachers, extra=3.0):
    """8‖w‖²E[R²(1 + extra·(w̄·x̄)²)] for the first student, in the plane, where E‖x‖⁴ = 8."""
    square = f.residual(students, teachers, _POINTS) ** 2
    along = np.einsum("pd,...d->...p", _POINTS, f.units(students)[..., 0, :]) ** 2
    return 8 * f.norms(students)[..., 0] ** 2 * np.mean(square * (1 + extra * along), -1)


_SAMPLED_MOMENT = """
x = np.random.default_rng(0).normal(size=(1_000_000, 2))
residual = sum(np.linalg.norm(w) * np.abs(x @ w) for w in students) - sum(np.abs(x @ v) for v in teachers)
w = students[0] / np.linalg.norm(students[0])
square = np.sum(x**2, axis=1)
moment = students[0] @ students[0] * np.mean(residual**2 * (square + 3 * (x @ w) ** 2))  # sampled
"""

FOURTH_MOMENT = Claim(
    id=f"{PAPER}.section-F.moment",
    title="second moment of a sampled gradient",
    hypotheses="two students and two teachers in the plane",
    draw=_pairs,
    left=_fourth_moments,
    relation="<=",
    right=lambda students, teachers, factor: 8 * factor * f.loss(students, teachers) * f.norms(students)[..., 0] ** 2,
    as_printed=Form(
        "$E\\|R(x)\\|w_j\\|(I + \\bar w_j\\bar w_j^\\top)x\\,\\mathrm{sgn}(w_j\\cdot x)\\|^2 = 4\\|w_j\\|^2E[\\|x\\|^4R(\\bar x)^2]$.",
        factor=4.0,
        relation="==",
        right=lambda students, teachers, factor: factor * _fourth_moments(students, teachers, 0.0),
        recipe=f"{_SAMPLED_MOMENT}left = moment\nright = 4 * students[0] @ students[0] * np.mean(square * residual**2)\n",
    ),
    as_meant=Form(
        "The same with $\\le$.",
        factor=4.0,
        right=lambda students, teachers, factor: factor * _fourth_moments(students, teachers, 0.0),
    ),
    supplied="the next line, which bounds it from above",
    corrected=Form("It is at most $8(d+2)L\\|w_j\\|^2$.", factor=4.0),
    correction="$R$ is homogeneous, so that $E[\\|x\\|^4R(\\bar x)^2] = 2(d+2)L$. $\\|(I + \\bar w\\bar w^\\top)\\bar x\\|^2 = 1 + 3(\\bar w\\cdot\\bar x)^2 \\le 4$ is an inequality; nothing else is used.",
    glyph=True,
    control=Form("It is at most $6.4(d+2)L\\|w_j\\|^2$.", factor=3.2),
)

VARIANCE = Claim(
    id=f"{PAPER}.section-F.variance",
    title="variance of a sampled gradient",
    hypotheses="two students and two teachers in the plane",
    draw=_pairs,
    left=lambda students, teachers: (
        _fourth_moments(students, teachers) - np.sum(f.gradient(students, teachers)[..., 0, :] ** 2, -1)
    ),
    relation="<=",
    right=lambda students, teachers, factor=2.0, mean=2.0: (
        factor * _fourth_moments(students, teachers) + mean * np.sum(f.gradient(students, teachers)[..., 0, :] ** 2, -1)
    ),
    as_printed=Form(
        "$E\\|X - \\nabla_{w_j}L\\|^2 = 2E\\|X\\|^2 + 2\\|\\nabla_{w_j}L\\|^2$ for the sampled gradient $X$ with mean $\\nabla_{w_j}L$.",
        relation="==",
        recipe=_SAMPLED_MOMENT
        + """
slopes = np.mean((residual * np.sign(x @ w))[:, None] * x, axis=0)
mean = np.linalg.norm(students[0]) * (slopes + (w @ slopes) * w)
left, right = moment - mean @ mean, 2 * moment + 2 * mean @ mean
""",
    ),
    as_meant="The same with $\\le$.",
    supplied="the conclusion, which needs an upper bound",
    corrected=Form("$E\\|X - \\nabla_{w_j}L\\|^2 \\le E\\|X\\|^2$.", factor=1.0, mean=0.0),
    correction="It is an inequality; the variance is $E\\|X\\|^2 - \\|\\nabla_{w_j}L\\|^2$, less than a half of the right-hand side.",
    glyph=True,
    control=Form("$E\\|X - \\nabla_{w_j}L\\|^2 \\le 0.97E\\|X\\|^2$.", factor=0.97, mean=0.0),
)

INNER = Claim(
    id=f"{PAPER}.section-F.inner",
    title="sampled gradients point along the gradient",
    hypotheses="$\\|\\nabla\\hat L - \\nabla L\\| \\le \\frac12\\|\\nabla L\\|$",
    draw={"slope": real((3,)), "direction": unit(3), "share": uniform(0, 1)},
    build=lambda slope, direction, share, reach=0.5: {
        "slope": slope,
        "sampled": slope + (reach * share * f.norms(slope))[..., None] * direction,
    },
    left=lambda slope, sampled: np.stack([-np.sum(slope * sampled, -1), np.sum(sampled**2, -1)], -1),
    relation="<=",
    right=lambda slope, sampled: np.stack(
        [-np.sum(slope**2, -1) / 2, 2 * np.sum(slope**2, -1) + 2 * np.sum((sampled - slope) ** 2, -1)], -1
    ),
    as_printed="$\\langle\\nabla L, \\nabla\\hat L\\rangle \\ge \\frac12\\|\\nabla L\\|^2$ and $\\|\\nabla\\hat L\\|^2 \\le 2\\|\\nabla L\\|^2 + 2\\|\\nabla\\hat L - \\nabla L\\|^2$.",
    control=Form("The same with 0.51 for $\\frac12$ in the hypothesis.", reach=0.51),
)


SAMPLED_STEP = Claim(
    id=f"{PAPER}.section-F.step",
    title="how much one step along a sampled gradient gains",
    hypotheses="$L \\le \\frac1{100}(\\Delta/r)^3w_{min}^2$, $\\eta \\le 0.1/(rw_{max})$, $\\|\\nabla\\hat L - \\nabla L\\| \\le \\frac12\\|\\nabla L\\|$",
    draw=_one_step,
    where=lambda small, resolved: small & resolved,
    left=lambda gain: gain,
    relation=">=",
    right=lambda step, bulk, share=1.0, less=5.0: share - less * np.sqrt(step * bulk),
    as_printed=Form(
        "$L(W+U) \\le L(W) - (\\eta - O(\\eta^{3/2}r^{1/2}w_{max}^{1/2}))\\|\\nabla L\\|_F^2$; judged with the constant 5, and false with any as $\\eta \\to 0$.",
        recipe=CLOSED_FORMS
        + """
moved = students - step * sampled  # a sampled gradient that is as far away as the proof allows
left = (loss(students, teachers) - loss(moved, teachers)) / (step * slope**2)
""",
    ),
    as_meant=Form(
        "The same with $\\frac12\\eta - O(\\cdots)$ for $\\eta - O(\\cdots)$, judged with the constant $\\frac14$, which is observed.",
        share=0.5,
        less=0.25,
    ),
    supplied="the display before it, $\\langle\\nabla L, \\nabla\\hat L\\rangle \\ge \\frac12\\|\\nabla L\\|^2$, and the next line, which has $\\frac14\\eta$",
    correction="The inner product is known to be at least half of $\\|\\nabla L\\|^2$, and not more; the next line, with $\\frac14\\eta\\kappa^2$, stands.",
    control=Form("That with the constant $\\frac1{10}$.", share=0.5, less=0.1),
)


def _mini_batches(count, random):
    """Descent on fresh samples from losses well above ε, one and two teachers: losses along rw/(εη) steps."""
    for r, m, d in ((1, 2, 2), (2, 3, 2)):
        targets = np.eye(2)[:r]
        epsilon, eta = 0.02 * r, 0.1 / r
        batch, limit = int(5e-7 * r**5 * d**2 / (eta * epsilon**3 * 0.1)), int(r / (epsilon * eta))
        shares = np.array([0.5, 0.5] if r == 1 else [1.0, 0.5, 0.5])[:, None]
        own = shares * np.concatenate([targets, targets[-1:]])
        students = f.students_of(own + 0.8 * shares * random.normal(size=(2 * count, m, d)))
        students = students[f.loss(students, targets) > 2 * epsilon][: count // 4]
        # The printed empirical loss has no factor one half: its gradient is twice the library's.
        runs = descend(
            stream(homogeneous(targets, m), batch),
            students,
            GradientDescent(2 * eta),
            step_limit(limit),
            record(every=limit // 100, students=lambda student: student),
            seed=int(random.integers(2**31)),
        )
        along = np.stack([runs.curve("students", run)[1] for run in range(len(students))])
        yield instances.case(batch=batch, epsilon=epsilon, losses=f.loss(along, targets))


def _stayed(batch, epsilon, losses, steps=0.03):
    """How many runs are within ε from a share of all steps on; one that has diverged to no number is not."""
    late = losses[..., int(np.ceil(100 * steps)) :] <= epsilon[..., None, None]
    return {
        "batch": batch,
        "losses": losses,
        "successes": np.sum(late.all(-1), -1),
        "trials": losses.shape[-2] + 0 * batch,
    }


THEOREM_6 = Claim(
    id=f"{PAPER}.theorem-6",
    title="local convergence of stochastic descent",
    hypotheses=(
        "one and two orthonormal teachers in the plane, $\\epsilon = 0.02r < \\frac12L(W^{(0)})$, $\\delta = \\frac1{10}$, $\\eta = 0.1/r$",
        "$N = 5\\cdot10^{-7}r^5w_{max}^5d^2\\eta^{-1}\\epsilon^{-3}\\delta^{-1}$ fresh samples per step, 25 and 200",
    ),
    draw=_mini_batches,
    runs=True,
    build=_stayed,
    left=Chance(),
    relation=">=",
    right=0.9,
    as_printed="$L(W^{(T)}) \\le \\epsilon$ with probability $1 - \\delta$ for $T = O(rw_{max}/(\\epsilon\\eta))$; judged for all $T$ from $\\frac3{100}$ of "
    "$rw_{max}/(\\epsilon\\eta)$ to the whole of it; these constants and that in $N$ are observed.",
    control=Form("The same from $\\frac1{100}$ on.", steps=0.01),
    arithmetic="sampled gradients, exact losses",
)
