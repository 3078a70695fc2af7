"""Theorem 5 and Appendix E: starts with random directions and fitted norms, in the whole space or in a subspace."""

import numpy as np
from scipy.special import betainc, comb

from tutelage.claims import Chance, Claim, Form, integers, log_uniform, uniform
from tutelage.claims.local_convergence import formulas as f
from tutelage.claims.local_convergence import instances
from tutelage.claims.local_convergence.formulas import ACUTE, PAPER
from tutelage.dynamics import GradientDescent, descend, record, step_limit
from tutelage.objectives import population
from tutelage.problems import homogeneous
from tutelage.starts import fitted, subspace

_SHARE = 0.1


def _teachers(r: int, d: int) -> np.ndarray:
    """Unit teachers, a radian apart in the plane of the first two axes or along the first axes."""
    if d == 2:
        turn = 0.3 + np.arange(r)
        return np.stack([np.cos(turn), np.sin(turn)], axis=-1)
    return np.eye(d)[:r] + 0.2 * np.ones((r, d)) / np.sqrt(d)


def _students_needed(r, d, epsilon, size, constant):
    return max(int(constant * (r * size / np.sqrt(epsilon)) ** d * r * np.log(1 / _SHARE)), r)


def _within(instance, factor=1.0):
    """How many starts are within a multiple of ε."""
    found = {name: value for name, value in instance.items() if name != "factor"}
    near = found["losses"] <= factor * found["epsilon"][..., None]
    return {**found, "successes": np.sum(near, -1), "trials": near.shape[-1] + 0 * found["epsilon"]}


_STARTS = {"runs": True, "build": _within, "left": Chance(), "relation": ">=", "right": 1 - _SHARE}


# Lemma E.1 and its proof ----------------------------------------------------------------------------------------------


def _random_starts(count, random):
    for r, d, epsilon in ((1, 2, 0.01), (2, 2, 0.05), (1, 3, 0.02), (2, 3, 0.2)):
        targets = _teachers(r, d)
        m = _students_needed(r, d, epsilon, f.norms(targets).max(), 0.05)
        starts = fitted(homogeneous(targets, m), count // 2, seed=int(random.integers(2**31)))
        yield instances.case(r=r, d=d, m=m, epsilon=epsilon, losses=f.loss(np.asarray(starts), targets))


LEMMA_E_1 = Claim(
    id=f"{PAPER}.lemma-E.1",
    title="random directions with fitted norms",
    hypotheses="$r \\le 2$, $d \\in \\{2, 3\\}$, $\\epsilon$ from 0.01 to 0.2, $\\delta = \\frac1{10}$",
    draw=_random_starts,
    **_STARTS,
    as_printed="With $m \\ge O((rw_{max}/\\sqrt{\\epsilon})^dr\\log(1/\\delta))$ students the loss is at most $\\epsilon$ with probability $1 - \\delta$; judged with the constant "
    "$\\frac1{20}$, which is observed.",
    control=Form("The same with $\\frac15\\epsilon$.", factor=0.2),
    arithmetic="non-negative least squares with exact Gram matrices",
)


def _cap(dimension, gamma):
    """P(angle of the lines of w and w* ≤ γ), γ ≤ π/2: the square of the first coordinate is a beta variable."""
    half = (dimension - 1) / 2
    small, large = betainc(half, 0.5, np.sin(gamma) ** 2), 1 - betainc(0.5, half, np.cos(gamma) ** 2)
    return np.where(gamma < np.pi / 4, small, large)


_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(40)


def _sines(dimension, top):
    turn = top[..., None] / 2 * (_NODES + 1)
    return np.sum(top[..., None] / 2 * _WEIGHTS * np.sin(turn) ** (dimension[..., None] - 2), -1)


CAP = Claim(
    id=f"{PAPER}.section-E.1.cap",
    title="probability of a cap",
    hypotheses="$w$ uniform on the sphere, $0.4 \\le \\gamma \\le \\frac\\pi2$, $2 \\le d \\le 6$",
    draw={"dimension": integers(2, 6), "gamma": uniform(0.4, np.pi / 2)},
    left=lambda dimension, gamma: _cap(dimension, gamma),
    relation="==",
    right=lambda dimension, gamma, whole=0.0, factor=2.0: (
        factor * _sines(dimension, gamma) / _sines(dimension, whole * np.pi + (1 - whole) * gamma)
    ),
    tolerance=1e-8,
    as_printed=Form(
        "$P(\\angle(w, w^*_i) \\le \\gamma) = 2\\int_0^\\gamma\\sin^{d-2}\\theta\\,d\\theta\\big/\\int_0^\\gamma\\sin^{d-2}\\theta\\,d\\theta$, which is 2.",
        left=lambda dimension, gamma: _cap(dimension, gamma) / 2,
        recipe="""
w = np.random.default_rng(0).normal(size=(400_000, int(dimension)))
left = np.mean(w[:, 0] >= np.cos(gamma) * np.linalg.norm(w, axis=1))  # sampled
t = (np.arange(100_000) + 0.5) / 100_000
part = gamma * np.mean(np.sin(gamma * t) ** (dimension - 2))
right = 2 * part / part
""",
    ),
    as_meant=Form(
        "$P(\\angle \\le \\gamma) = 2\\int_0^\\gamma\\sin^{d-2}\\theta\\,d\\theta\\big/\\int_0^\\pi\\sin^{d-2}\\theta\\,d\\theta$ for the angle between lines, "
        "$\\min\\{\\angle(w, w^*_i), \\angle(w, -w^*_i)\\}$.",
        whole=1.0,
    ),
    supplied=f"the probability, which is below one: the denominator runs to $\\pi$; and {ACUTE}",
    correction="$\\gamma$ in the denominator should be $\\pi$, and the factor 2 is that of both signs of $w$.",
    glyph=True,
    control=Form("The same with 2.02 for 2.", whole=1.0, factor=2.02),
    arithmetic="beta distributions against integrals",
)

CAP_ORDER = Claim(
    id=f"{PAPER}.section-E.1.order",
    title="how likely a direction close to a teacher is",
    hypotheses="$w$ uniform on the sphere, angles between lines, $\\gamma \\le \\frac\\pi2$, $2 \\le d \\le 50$",
    draw={"dimension": integers(2, 50), "gamma": log_uniform(0.05, np.pi / 2)},
    left=_cap,
    relation=">=",
    right=lambda dimension, gamma, less=1.0: (2 * gamma / np.pi) ** (dimension - less) * (1 - 1e-12),
    scale=0.0,
    as_printed="$P = \\Omega(\\gamma^d)$; judged as $P \\ge (2\\gamma/\\pi)^{d-1}$, which is stronger; a constant to the power of $d$ is hidden.",
    control=Form("$P \\ge (2\\gamma/\\pi)^{d-1.01}$; for $d = 2$, $P = 2\\gamma/\\pi$.", less=1.01),
)


def _missed(teachers, chance, delta, alone=1.0, factor=1.0):
    """The probability that one of r disjoint caps is met by none of m directions, by inclusion and exclusion."""
    wanted = alone * teachers * np.log(1 / delta) + (1 - alone) * np.log(teachers / delta)
    count, k = np.ceil(factor * wanted / chance)[..., None], np.arange(1, 13)
    empty = comb(teachers[..., None], k) * np.maximum(1 - k * chance[..., None], 0) ** count
    return np.sum(np.where(k % 2, empty, -empty), -1)


NUMBER = Claim(
    id=f"{PAPER}.section-E.1.number",
    title="enough directions for every teacher at once",
    hypotheses="$r \\le 12$ teachers, caps that do not overlap, of probability $p \\le \\frac1{2r}$; $p^{-1}\\log(1/\\delta)$ students for one teacher",
    draw={
        "teachers": integers(1, 12),
        "part": log_uniform(1e-4, 1),
        "delta": uniform(1e-3, 0.999),
    },
    build=lambda teachers, part, delta: {"teachers": teachers, "chance": part / (2 * teachers), "delta": delta},
    where=lambda delta, most=1.0: delta <= most,
    left=_missed,
    relation="<=",
    right=lambda delta: delta,
    as_printed=Form(
        "With $m = O(r\\gamma^{-d}\\log\\frac1\\delta)$ students every teacher has one within $\\gamma$, with probability $1 - \\delta$.",
        recipe="""
from math import ceil, comb, log
r, p = int(teachers), float(chance)
m = ceil(r * log(1 / delta) / p)
left = sum((-1) ** (k + 1) * comb(r, k) * (1 - k * p) ** m for k in range(1, r + 1))  # some teacher has none
""",
    ),
    as_meant=Form("The same for $\\delta \\le \\frac12$.", most=0.5),
    supplied="the probability $1 - \\delta$, which is meant to be large",
    corrected=Form(
        "$m = p^{-1}\\log(r/\\delta)$ students are enough, for all $\\delta$: $\\log r$ takes the place of the factor $r$.",
        alone=0.0,
    ),
    correction="By the union bound $m = p^{-1}\\log(r/\\delta)$ is enough. That is less than $rp^{-1}\\log(1/\\delta)$ for $\\delta \\le \\frac12$, and more where $\\delta$ is "
    "close to one: there the printed number tends to zero.",
    control=Form("That with $0.98\\log(r/\\delta)$.", most=1.0, alone=0.0, factor=0.98),
)


def _nearby(count, random):
    """Teachers with a student of the same norm at angles up to γ from each: the feasible point of the proof."""
    for r, d in ((1, 2), (2, 3), (4, 6)):
        targets = instances.teachers(count // 40, random, r, d)
        gamma = 10.0 ** random.uniform(-2, 0.2, size=(len(targets), 1, 1))
        units = f.units(targets)
        other = random.normal(size=targets.shape)
        other = f.units(other - np.sum(other * units, -1, keepdims=True) * units)
        learned = f.norms(targets)[..., None] * (np.cos(gamma) * units + np.sin(gamma) * other)
        bulk = r * f.norms(targets).max(axis=1)
        students = f.students_of(learned)
        yield {
            "students": students,
            "teachers": targets,
            "gamma": gamma[:, 0, 0],
            "bulk": bulk,
            "loss": f.loss(students, targets),
        }


CLOSE = Claim(
    id=f"{PAPER}.section-E.1.loss",
    title="students close to all teachers have a small loss",
    hypotheses="a student with the norm of each teacher at an angle of at most $\\gamma$",
    draw=_nearby,
    left=lambda loss: loss,
    relation="<=",
    right=lambda bulk, gamma, constant=0.5: constant * bulk**2 * gamma**2,
    as_printed="$L = O(r^2w_{max}^2\\gamma^2)$; judged with the constant $\\frac12$.",
    control=Form("The same with the constant 0.49, below that of one teacher.", constant=0.49),
)


# Lemmas E.2 to E.5 ----------------------------------------------------------------------------------------------------


def moment_matrix(targets: np.ndarray) -> np.ndarray:
    r"""$E[f^*(x)(xx^\top - I)] = \sqrt{2/\pi}\sum_i\|w^*_i\|\bar w^*_i\bar w_i^{*\top}$."""
    directions = f.units(targets)
    return np.sqrt(2 / np.pi) * np.einsum("...i,...ia,...ib->...ab", f.norms(targets), directions, directions)


def _moments_by_rules(teachers):
    """The same in the plane, by rules on half circles between the kinks; E‖x‖ = √(π/2) and E‖x‖³ = 3√(π/2)."""
    nodes, weights = np.polynomial.legendre.leggauss(30)
    middle = np.arctan2(teachers[..., 1], teachers[..., 0])
    turn = (middle[..., None, None] + np.array([0.0, np.pi])[:, None] + np.pi / 2 * nodes).reshape(*middle.shape, -1)
    points = np.stack([np.cos(turn), np.sin(turn)], axis=-1)
    values = np.abs(np.einsum("...ipd,...id->...ip", points, teachers)) * np.tile(weights, 2) / 4
    square = 3 * np.einsum("...ip,...ipa,...ipb->...ab", values, points, points)
    return np.sqrt(np.pi / 2) * (square - np.sum(values, axis=(-2, -1))[..., None, None] * np.eye(2))


LEMMA_E_2 = Claim(
    id=f"{PAPER}.lemma-E.2",
    title="the moment matrix spans the teachers",
    hypotheses="three teachers in the plane",
    draw=lambda count, random: {
        "teachers": random.normal(size=(256, 3, 2)) * 10.0 ** random.uniform(-1, 1, size=(256, 3, 1))
    },
    left=_moments_by_rules,
    relation="==",
    right=lambda teachers, factor=1.0: factor * moment_matrix(teachers),
    as_printed="$E[f^*(x)(xx^\\top - I)] = c\\sum_i\\|w^*_i\\|\\bar w^*_i\\bar w_i^{*\\top}$; judged with $c = \\sqrt{2/\\pi}$.",
    control=Form("One per cent more.", factor=1.01),
    arithmetic="closed form against Gauss–Legendre rules on the circle",
)


def _sampled_moments(count, random):
    """How often the sampled matrix is within a multiple of r w_max ε, for N = d/ε² samples."""
    for r, d in ((1, 2), (3, 8), (2, 32)):
        targets = _teachers(r, d)
        for epsilon in (0.5, 0.2, 0.1):
            samples = int(np.ceil(d * epsilon**-2))
            errors = []
            for _ in range(count // 10):
                x = random.normal(size=(samples, d))
                labels = np.abs(x @ targets.T).sum(axis=1)
                sampled = (x.T * labels) @ x / samples - labels.mean() * np.eye(d)
                errors.append(np.linalg.norm(sampled - moment_matrix(targets), ord=2))
            quotients = np.array(errors) / (r * f.norms(targets).max() * epsilon)
            yield instances.case(r=r, d=d, epsilon=epsilon, samples=samples, quotients=quotients)


LEMMA_E_3 = Claim(
    id=f"{PAPER}.lemma-E.3",
    title="the sampled moment matrix",
    hypotheses="$N = d/\\epsilon^2$ samples, without logarithms; $r \\le 3$, $d \\le 32$, $\\epsilon \\ge 0.1$, $\\delta = \\frac15$",
    draw=_sampled_moments,
    runs=True,
    build=lambda instance, constant=3.0: {
        **{name: value for name, value in instance.items() if name != "constant"},
        "successes": np.sum(instance["quotients"] <= constant, -1),
        "trials": np.sum(instance["quotients"] >= 0, -1),
    },
    left=Chance(),
    relation=">=",
    right=0.8,
    as_printed="$\\|\\hat M - M\\|_2 = O(rw_{max}\\epsilon)$ with probability $1 - \\delta$; judged with the constant 3, which is observed.",
    control=Form("The same with the constant 1.", constant=1.0),
    arithmetic="sampled matrices against the closed form",
)


def _projections(count, random):
    """Perturbations of norm ε, random ones and ones that hide the smallest teacher, and the loss of projected teachers."""
    count = count // 20
    for r, d in ((1, 2), (2, 3), (2, 6), (4, 6)):
        targets = instances.teachers(count, random, r, d)
        noise = random.normal(size=(count, d, d))
        noise = noise + np.swapaxes(noise, 1, 2)
        smallest = f.norms(targets).argmin(axis=1)
        hidden = f.units(np.take_along_axis(targets, smallest[:, None, None], axis=1))[:, 0]
        other = random.normal(size=(count, d))
        other = f.units(other - np.sum(other * hidden, -1, keepdims=True) * hidden)
        swap = other[:, :, None] * other[:, None, :] - hidden[:, :, None] * hidden[:, None, :]
        noise = np.where(np.arange(count)[:, None, None] % 2 == 0, noise, swap)
        epsilon = 10.0 ** random.uniform(-4, 0, size=count) * f.norms(targets).max(axis=1)
        # Just enough to hide a single teacher.
        epsilon[1::4] = 0.501 * np.sqrt(2 / np.pi) * f.norms(targets).min(axis=1)[1::4]
        noise *= (epsilon / np.linalg.norm(noise, ord=2, axis=(1, 2)))[:, None, None]
        basis = np.linalg.eigh(moment_matrix(targets) + noise)[1][..., -min(r, d) :]
        projected = np.einsum("nda,nba,nib->nid", basis, basis, targets)
        square = 2 * f.loss(f.students_of(projected), targets)
        yield {
            "teachers": targets,
            "noise": noise,
            "square": square,
            "size": r**2 * f.norms(targets).max(axis=1) * epsilon,
        }


LEMMA_E_4 = Claim(
    id=f"{PAPER}.lemma-E.4",
    title="vectors in the estimated subspace that fit the teacher",
    hypotheses="$\\|M - \\hat M\\|_2 = \\epsilon$, random perturbations and ones that hide the smallest teacher",
    draw=_projections,
    left=lambda square: square,
    relation="<=",
    right=lambda size, constant=2 * (np.pi / 2) ** 0.5: constant * size,
    as_printed="There are $v^{(i)}$ in the span of the $r$ leading eigenvectors of $\\hat M$ with $E[(\\sum|v^{(i)}\\cdot x| - \\sum|w^*_i\\cdot x|)^2] = O(r^2w_{max}\\epsilon)$; "
    "judged with the projections of the teachers and the constant $2\\sqrt{\\pi/2} = 2.51$, which follows, and is reached where the perturbation just hides the only teacher.",
    control=Form("The same with the constant 2.45.", constant=2.45),
)


def _subspace_starts(count, random):
    for r, d, epsilon in ((1, 6, 0.05), (2, 6, 0.2)):
        targets = _teachers(r, d)
        size = f.norms(targets).max()
        m = _students_needed(r, r, epsilon, size, 0.05)
        samples = max(int(0.1 * d * r**6 * size**4 / epsilon**2), d)
        starts = subspace(homogeneous(targets, m), count // 2, samples, seed=int(random.integers(2**31)))
        yield instances.case(
            r=r, d=d, m=m, samples=samples, epsilon=epsilon, losses=f.loss(np.asarray(starts), targets)
        )


LEMMA_E_5 = Claim(
    id=f"{PAPER}.lemma-E.5",
    title="random directions in an estimated subspace",
    hypotheses="$r \\le 2$, $d = 6$, $\\epsilon \\in \\{0.05, 0.2\\}$, $\\delta = \\frac1{10}$",
    draw=_subspace_starts,
    **_STARTS,
    as_printed="With $m \\ge O((rw_{max}/\\sqrt{\\epsilon})^rr\\log(1/\\delta))$ students and $N = \\tilde O(dr^6w_{max}^4/\\epsilon^2)$ samples the loss is at most $\\epsilon$ with "
    "probability $1-\\delta$; judged with the constants $\\frac1{20}$ and $\\frac1{10}$, which are observed.",
    control=Form("The same with $\\frac15\\epsilon$.", factor=0.2),
    arithmetic="sampled subspaces, non-negative least squares with exact Gram matrices",
)


# Theorem 5 ------------------------------------------------------------------------------------------------------------


def _global(count, random):
    """Descent from both starts, and the losses now and then up to r w_max/(100 ε η) steps."""
    epsilon = 1e-3
    for r, d in ((2, 2), (2, 6)):
        targets = _teachers(r, d)
        size = f.norms(targets).max()
        m = _students_needed(r, 2, 0.2, size, 0.1)
        problem, runs, seed = homogeneous(targets, m), count // 2, int(random.integers(2**31))
        students = fitted(problem, runs, seed=seed) if d == 2 else subspace(problem, runs, 5000, seed=seed)
        eta = 0.25 / (r * size)
        every = int(2.5e-4 * r * size / (epsilon * eta))
        ended = descend(
            population(problem), students, GradientDescent(eta), step_limit(40 * every), record("loss", every=every)
        )
        losses = np.stack([ended.curve("loss", run)[1] for run in range(runs)])
        yield instances.case(r=r, d=d, m=m, epsilon=epsilon, losses=losses)


def _reached(r, d, m, epsilon, losses, constant=0.01):
    """How many runs are within ε after so many steps."""
    there = losses[..., int(np.ceil(constant / 2.5e-4 - 1e-9))] <= epsilon[..., None]
    trials = there.shape[-1] + 0 * r
    return {"r": r, "d": d, "m": m, "losses": losses, "successes": np.sum(there, -1), "trials": trials}


THEOREM_5 = Claim(
    id=f"{PAPER}.theorem-5",
    title="global convergence from fitted starts",
    hypotheses=(
        "two teachers; students in the plane by Algorithm 1, and in dimension 6 by Algorithm 2 with 5000 samples, as many as Lemma E.1 needs for "
        "$\\epsilon_{init} = \\frac15$ with the constant $\\frac1{10}$ (nine and eleven)",
        "$\\eta = \\frac14/(rw_{max})$",
    ),
    draw=_global,
    runs=True,
    build=_reached,
    left=Chance(),
    relation=">=",
    right=1 - _SHARE,
    as_printed="With probability $1 - \\delta$, $L(W^{(T)}) \\le \\epsilon$ for $T = O(rw_{max}/(\\epsilon\\eta))$; judged with $\\epsilon = 10^{-3}$, the observed constant "
    "$\\frac1{100}$ and $\\delta = \\frac1{10}$.",
    control=Form("The same with three tenths of the steps.", constant=0.003),
    arithmetic="fitted starts, then exact gradients in float64",
)
