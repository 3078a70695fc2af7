"""Theorem 5 and Appendix E: starts with random directions and fitted norms, in the whole space or in a subspace."""

from __future__ import annotations

import numpy as np
from scipy.integrate import quad
from scipy.optimize import nnls
from scipy.stats import beta

from tutelage.claims import scan
from tutelage.claims.base import Claim, Effort, Form, Outcome
from tutelage.claims.local_convergence import formulas as f
from tutelage.claims.local_convergence import instances
from tutelage.claims.local_convergence.descent import descend
from tutelage.claims.local_convergence.formulas import PAPER
from tutelage.claims.scan import Cases, Scan, Several


def _teachers(r: int, d: int) -> np.ndarray:
    """Unit teachers, a radian apart in the plane of the first two axes or along the first axes."""
    if d == 2:
        turn = 0.3 + np.arange(r)
        return np.stack([np.cos(turn), np.sin(turn)], axis=-1)
    return np.eye(d)[:r] + 0.2 * np.ones((r, d)) / np.sqrt(d)


def fit(directions: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Students along given directions with norms by non-negative least squares, for one network."""
    gram = f.kernel(directions, directions)
    factor = np.linalg.cholesky(gram + 1e-13 * np.trace(gram) * np.eye(len(gram)))
    found, _ = nnls(factor.T, np.linalg.solve(factor, f.kernel(directions, targets).sum(axis=1)))
    return f.students_of(found[:, None] * directions)


def _fitted_losses(r: int, d: int, m: int, runs: int, seed: int, samples: int | None = None):
    """Students and losses of Algorithm 1, or of Algorithm 2 if a number of samples is given."""
    random = np.random.default_rng([seed, r, d, m])
    targets, starts = _teachers(r, d), []
    for _ in range(runs):
        directions = random.normal(size=(m, d))
        if samples is not None:
            x = random.normal(size=(samples, d))
            labels = np.abs(x @ targets.T).sum(axis=1)
            moment = (x.T * labels) @ x / samples - labels.mean() * np.eye(d)
            basis = np.linalg.eigh(moment)[1][:, -r:]
            directions = directions @ basis @ basis.T
        starts.append(fit(f.units(directions), targets))
    students = np.stack(starts)
    return students, f.loss(students, targets)


# Lemma E.1 and its proof -------------------------------------------------------------------------------------------------------------


def _random_starts(constant: float):
    def outcomes(effort: Effort, seed: int):
        share = 0.1
        for r, d, epsilon in ((1, 2, 0.01), (2, 2, 0.05), (1, 3, 0.02), (2, 3, 0.2)):
            size = f.norms(_teachers(r, d)).max()
            m = max(int(constant * (r * size / np.sqrt(epsilon)) ** d * r * np.log(1 / share)), 1)
            runs = effort.runs // 5
            _, losses = _fitted_losses(r, d, m, runs, seed)
            missed = np.mean(~(losses <= epsilon))
            witness = {"r": r, "d": d, "m": m, "epsilon": epsilon, "left": missed, "right": share}
            yield Outcome(float(share - missed), runs, witness)

    return Cases(outcomes, "fractions of starts that miss ε; with this many students the losses are far below it")


LEMMA_E_1 = Claim(
    id=f"{PAPER}.lemma-E.1",
    place="Lemma E.1 and Algorithm 1",
    title="random directions with fitted norms",
    hypotheses=("$r \\le 2$, $d \\in \\{2, 3\\}$, $\\epsilon$ from 0.01 to 0.2, $\\delta = \\frac1{10}$",),
    as_printed=Form(
        "With $m \\ge O((rw_{max}/\\sqrt{\\epsilon})^dr\\log(1/\\delta))$ students the loss is at most $\\epsilon$ with probability $1 - \\delta$; judged with the constant $\\frac15$, which is observed.",
        _random_starts(0.2),
    ),
    control=Form("The same with the constant $\\frac1{1000}$.", _random_starts(1e-3)),
    arithmetic="non-negative least squares with exact Gram matrices",
)


def _cap(lines: bool, factor: float = 2.0):
    """The probability that a random direction is within γ of a given one (or of its line), by its density."""

    def draw(count, random):
        count = 200
        dimension = random.integers(2, 7, size=count)
        return {"dimension": dimension, "gamma": random.uniform(0.4, np.pi / 2, size=count)}

    def check(i):
        formula = np.zeros(len(i["gamma"]))
        exact = np.zeros_like(formula)
        for k, (d, gamma) in enumerate(zip(i["dimension"], i["gamma"], strict=True)):
            part = quad(lambda t, d=d: np.sin(t) ** (d - 2), 0, gamma)[0]
            whole = quad(lambda t, d=d: np.sin(t) ** (d - 2), 0, np.pi)[0]
            formula[k] = factor * part / whole
            exact[k] = _cap_probability(int(d), float(gamma)) * (2 if lines else 1)
        return scan.equal(exact, formula, tolerance=1e-8)

    return Scan(draw, check)


def _cap_probability(d: int, gamma: float) -> float:
    """P(∠(w, e) ≤ γ) from the law of the first coordinate: its square is a beta variable."""
    return float(0.5 * beta.sf(np.cos(gamma) ** 2, 0.5, (d - 1) / 2))


CAP = Claim(
    id=f"{PAPER}.section-E.1.cap",
    place="Section E.1, probability of a direction close to a teacher",
    title="probability of a cap",
    hypotheses=(
        "$w$ uniform on the sphere, $\\gamma \\le \\frac\\pi2$, $2 \\le d \\le 6$",
        "the denominator read as an integral up to $\\pi$ (the print has $\\gamma$, which would give 2)",
    ),
    as_printed=Form(
        "$P(\\angle(w, w^*_i) \\le \\gamma) = 2\\int_0^\\gamma\\sin^{d-2}\\theta\\,d\\theta\\big/\\int_0^\\pi\\sin^{d-2}\\theta\\,d\\theta$.",
        _cap(lines=False),
        recipe="""
w = np.random.default_rng(0).normal(size=(400_000, int(dimension)))
left = np.mean(w[:, 0] >= np.cos(gamma) * np.linalg.norm(w, axis=1))  # sampled
t = (np.arange(100_000) + 0.5) / 100_000
density = lambda top: top * np.mean(np.sin(top * t) ** (dimension - 2))
right = 2 * density(gamma) / density(np.pi)
""",
    ),
    corrected=Form(
        "The same for the angle between lines, $\\min\\{\\angle(w, w^*_i), \\angle(w, -w^*_i)\\}$.", _cap(lines=True)
    ),
    correction="The factor 2 is that of both signs of $w$. The order is $\\gamma^{d-1}$, better than the printed $\\gamma^d$, with a constant that depends on $d$.",
    control=Form("The angle between lines with the factor 1.", _cap(lines=True, factor=1.0)),
    arithmetic="beta distributions against integrals",
)


# Lemmas E.2 to E.5 ---------------------------------------------------------------------------------------------------------------------


def moment_matrix(targets: np.ndarray) -> np.ndarray:
    r"""$E[f^*(x)(xx^\top - I)] = \sqrt{2/\pi}\sum_i\|w^*_i\|\bar w^*_i\bar w_i^{*\top}$."""
    directions = f.units(targets)
    return np.sqrt(2 / np.pi) * np.einsum("...i,...ia,...ib->...ab", f.norms(targets), directions, directions)


def _moments(factor: float):
    def draw(count, random):
        return {"teachers": random.normal(size=(64, 3, 2)) * 10.0 ** random.uniform(-1, 1, size=(64, 3, 1))}

    def check(i):
        nodes, weights = np.polynomial.legendre.leggauss(30)
        total = np.zeros((len(i["teachers"]), 2, 2))
        for k in range(3):
            target = i["teachers"][:, k]
            middle = np.arctan2(target[:, 1], target[:, 0])
            # Half circles between the kinks of this neuron; E‖x‖ = √(π/2) and E‖x‖³ = 3√(π/2) in the plane.
            for centre in (middle, middle + np.pi):
                turn = centre[:, None] + np.pi / 2 * nodes
                points = np.stack([np.cos(turn), np.sin(turn)], axis=-1)
                values = np.abs(np.einsum("npd,nd->np", points, target)) * weights / 4
                square = 3 * np.einsum("np,npa,npb->nab", values, points, points)
                total += np.sqrt(np.pi / 2) * (square - np.sum(values, axis=1)[:, None, None] * np.eye(2))
        return scan.equal(total, factor * moment_matrix(i["teachers"]))

    return Scan(draw, check, "the constant is √(2/π)")


LEMMA_E_2 = Claim(
    id=f"{PAPER}.lemma-E.2",
    place="Lemma E.2 and Equation (14)",
    title="the moment matrix spans the teachers",
    hypotheses=("three teachers in the plane",),
    as_printed=Form(
        "$E[f^*(x)(xx^\\top - I)] = c\\sum_i\\|w^*_i\\|\\bar w^*_i\\bar w_i^{*\\top}$; judged with $c = \\sqrt{2/\\pi}$.",
        _moments(1.0),
    ),
    control=Form("The same with $c = 1$.", _moments(np.sqrt(np.pi / 2))),
    arithmetic="closed form against Gauss–Legendre rules on the circle",
)


def _sampled_moments(power: float):
    def outcomes(effort: Effort, seed: int):
        random = np.random.default_rng(seed)
        for r, d in ((1, 2), (3, 8), (2, 32)):
            targets = _teachers(r, d)
            for epsilon in (0.5, 0.2, 0.1):
                count = int(np.ceil(d * epsilon**-power))
                errors = []
                for _ in range(effort.runs // 20):
                    x = random.normal(size=(count, d))
                    labels = np.abs(x @ targets.T).sum(axis=1)
                    sampled = (x.T * labels) @ x / count - labels.mean() * np.eye(d)
                    errors.append(np.linalg.norm(sampled - moment_matrix(targets), ord=2))
                left, right = np.quantile(errors, 0.8), 6 * r * f.norms(targets).max() * epsilon
                witness = {"r": r, "d": d, "epsilon": epsilon, "samples": count, "left": left, "right": right}
                yield Outcome(float((right - left) / max(left, right)), len(errors), witness)

    return Cases(outcomes)


LEMMA_E_3 = Claim(
    id=f"{PAPER}.lemma-E.3",
    place="Lemma E.3",
    title="the sampled moment matrix",
    hypotheses=(
        "$N = d/\\epsilon^2$ samples, without logarithms; $r \\le 3$, $d \\le 32$, $\\epsilon \\ge 0.1$, probability $\\frac45$",
    ),
    as_printed=Form(
        "$\\|\\hat M - M\\|_2 = O(rw_{max}\\epsilon)$; judged with the constant 6, which is observed.",
        _sampled_moments(2.0),
    ),
    control=Form("The same with $N = d$ samples.", _sampled_moments(0.0)),
    arithmetic="sampled matrices against the closed form",
)


def _projected(constant: float):
    """Perturbations of norm ε: random ones, and ones that hide the smallest teacher behind another direction."""

    def of(r, d):
        def draw(count, random):
            count = count // 20
            targets = instances.teachers(count, random, r, d)
            noise = random.normal(size=(count, d, d))
            noise = noise + np.swapaxes(noise, 1, 2)
            smallest = f.norms(targets).argmin(axis=1)
            hidden = f.units(np.take_along_axis(targets, smallest[:, None, None], axis=1))[:, 0]
            other = f.units(random.normal(size=(count, d)))
            swap = other[:, :, None] * other[:, None, :] - hidden[:, :, None] * hidden[:, None, :]
            noise = np.where(np.arange(count)[:, None, None] % 2 == 0, noise, swap)
            epsilon = 10.0 ** random.uniform(-4, 0, size=count) * f.norms(targets).max(axis=1)
            noise *= (epsilon / np.linalg.norm(noise, ord=2, axis=(1, 2)))[:, None, None]
            return {"teachers": targets, "noise": noise, "epsilon": epsilon}

        def check(i):
            targets = i["teachers"]
            basis = np.linalg.eigh(moment_matrix(targets) + i["noise"])[1][..., -min(r, d) :]
            projected = np.einsum("nda,nba,nib->nid", basis, basis, targets)
            left = 2 * f.loss(f.students_of(projected), targets)
            return scan.at_most(left, constant * r**2 * f.norms(targets).max(axis=1) * i["epsilon"])

        return Scan(draw, check)

    return Several(
        [of(1, 2), of(2, 3), of(2, 6), of(4, 6)], "the teachers' projections serve, with the constant 2√(π/2)"
    )


LEMMA_E_4 = Claim(
    id=f"{PAPER}.lemma-E.4",
    place="Lemma E.4",
    title="vectors in the estimated subspace that fit the teacher",
    hypotheses=("$\\|M - \\hat M\\|_2 = \\epsilon$, random perturbations and ones that hide the smallest teacher",),
    as_printed=Form(
        "There are $v^{(i)}$ in the span of the $r$ leading eigenvectors of $\\hat M$ with $E[(\\sum|v^{(i)}\\cdot x| - \\sum|w^*_i\\cdot x|)^2] = O(r^2w_{max}\\epsilon)$; judged with the projections of "
        "the teachers and the constant $2\\sqrt{\\pi/2}$.",
        _projected(2 * np.sqrt(np.pi / 2)),
    ),
    control=Form("The same with the constant $\\frac1{10}$.", _projected(0.1)),
)


def _subspace_starts(students: float, samples: float):
    def outcomes(effort: Effort, seed: int):
        share = 0.1
        for r, d, epsilon in ((1, 6, 0.05), (2, 6, 0.2)):
            size = f.norms(_teachers(r, d)).max()
            m = max(int(students * (r * size / np.sqrt(epsilon)) ** r * r * np.log(1 / share)), 1)
            count = max(int(samples * d * r**6 * size**4 / epsilon**2), d)
            runs = effort.runs // 10
            _, losses = _fitted_losses(r, d, m, runs, seed, samples=count)
            missed = np.mean(~(losses <= epsilon))
            witness = {"r": r, "d": d, "m": m, "samples": count, "epsilon": epsilon, "left": missed, "right": share}
            yield Outcome(float(share - missed), runs, witness)

    return Cases(outcomes)


LEMMA_E_5 = Claim(
    id=f"{PAPER}.lemma-E.5",
    place="Lemma E.5 and Algorithm 2",
    title="random directions in an estimated subspace",
    hypotheses=("$r \\le 2$, $d = 6$, $\\epsilon \\in \\{0.05, 0.2\\}$, $\\delta = \\frac1{10}$",),
    as_printed=Form(
        "With $m \\ge O((rw_{max}/\\sqrt{\\epsilon})^rr\\log(1/\\delta))$ students and $N = \\tilde O(dr^6w_{max}^4/\\epsilon^2)$ samples the loss is at most $\\epsilon$ with probability $1-\\delta$; judged with "
        "the constants 1 and $\\frac12$, which are observed.",
        _subspace_starts(1.0, 0.5),
    ),
    control=Form("The same with $d$ samples.", _subspace_starts(1.0, 0.0)),
    arithmetic="sampled subspaces, non-negative least squares with exact Gram matrices",
)


# Theorem 5 ----------------------------------------------------------------------------------------------------------------------------


def _global(fraction: float):
    """Descent from both starts: the loss after T = r w_max/(ε η) steps."""

    def outcomes(effort: Effort, seed: int):
        share = 0.1
        for r, d, m, samples in ((2, 2, 10, None), (2, 6, 10, 2000)):
            targets = _teachers(r, d)
            students, before = _fitted_losses(r, d, m, effort.runs // 10, seed, samples=samples)
            size = f.norms(targets).max()
            eta, epsilon = 0.1 / (r * size), 2e-4
            steps = max(int(fraction * 0.01 * r * size / (epsilon * eta)), 1)
            _, losses = descend(
                students, np.broadcast_to(targets, (len(students), r, d)), np.full(len(students), eta), steps
            )
            missed = np.mean(~(losses[-1] <= epsilon))
            witness = {"r": r, "d": d, "m": m, "steps": steps}
            witness |= {"before": np.median(before), "after": np.median(losses[-1])}
            yield Outcome(float(share - missed), len(students), witness)

    return Cases(outcomes)


THEOREM_5 = Claim(
    id=f"{PAPER}.theorem-5",
    place="Theorem 5",
    title="global convergence from fitted starts",
    hypotheses=(
        "two teachers; 10 students in the plane by Algorithm 1, 10 students in dimension 6 by Algorithm 2 with 2000 samples",
        "$\\eta = 0.1/(rw_{max})$",
    ),
    as_printed=Form(
        "With probability $1 - \\delta$, $L(W^{(T)}) \\le \\epsilon$ for $T = O(rw_{max}/(\\epsilon\\eta))$; judged with $\\epsilon = 2\\cdot10^{-4}$, the observed constant $\\frac1{100}$ and "
        "$\\delta = \\frac1{10}$.",
        _global(1.0),
    ),
    control=Form("The same with a thousandth of the steps.", _global(0.001)),
    arithmetic="fitted starts, then exact gradients in float64",
)

APPENDIX = (LEMMA_E_1, CAP, LEMMA_E_2, LEMMA_E_3, LEMMA_E_4, LEMMA_E_5)
