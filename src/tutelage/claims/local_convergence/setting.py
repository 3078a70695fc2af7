"""Section 2 and Appendix A: the loss, why it is parameterized so, what a loss of zero says, and ReLU networks."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import nnls

from tutelage.claims import scan
from tutelage.claims.base import Claim, Effort, Form, Outcome
from tutelage.claims.local_convergence import formulas as f
from tutelage.claims.local_convergence import instances
from tutelage.claims.local_convergence.formulas import CLOSED_FORMS, DIFFERENCES, PAPER
from tutelage.claims.scan import Cases, Scan, Several
from tutelage.models import WithLinear
from tutelage.objectives import population
from tutelage.problems import homogeneous


def _circle(angles: np.ndarray) -> np.ndarray:
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1)


def _mean_square(students: np.ndarray, targets: np.ndarray) -> np.ndarray:
    r"""$E[R(x)^2]$ in the plane by its definition."""
    _, weights, values = f.on_circle(students, targets)
    return np.sum(weights * values**2, axis=1)


def _loss_is(factor: float):
    """Compare the library's closed form with the integral of the definition over the plane."""

    def test(effort: Effort, seed: int) -> Outcome:
        random = np.random.default_rng(seed)
        target = np.array([[0.9, 0.3], [-0.5, 1.2]])
        students = random.normal(size=(effort.samples, 3, 2)) * 10.0 ** random.uniform(
            -3, 1, size=(effort.samples, 3, 1)
        )
        students[0] = 0.0
        students[1] = f.students_of(np.concatenate([target, target[:1] * 0]))
        students[2] = -students[1]
        objective = population(homogeneous(target, 3))
        losses = np.asarray(jax.jit(jax.vmap(lambda w: objective.loss(w)))(jnp.asarray(students)))
        values = factor * _mean_square(students, np.broadcast_to(target, (effort.samples, 2, 2)))
        errors = np.abs(values - losses) / (1 + np.sum(students**2, axis=(1, 2)) ** 2)
        worst = int(errors.argmax())
        witness = {"students": students[worst], "teachers": target, "left": losses[worst], "right": values[worst]}
        return Outcome(1e-9 - float(errors[worst]), len(losses), witness)

    return test


EQUATION_1 = Claim(
    id=f"{PAPER}.equation-1",
    place="Definition 1 and Equation (1)",
    title="population loss",
    hypotheses=("two teachers and three students in the plane, zero and antiparallel students among them",),
    as_printed=Form(
        "$L(W) = E[\\frac12(\\sum_i\\|w_i\\||w_i\\cdot x| - \\sum_i|w^*_i\\cdot x|)^2]$: the closed form of the library is this "
        "integral.",
        _loss_is(0.5),
    ),
    control=Form("The same without the factor one half.", _loss_is(1.0)),
    arithmetic="closed form in float64 against Gauss–Legendre rules on the circle",
)


def _smooth(weighted: bool):
    """Is the gradient Lipschitz, zero students included? Pairs of points at all distances, around zero too."""

    def draw(count, random):
        count = count // 8
        targets = instances.teachers(count, random, 2, 3)
        size = 10.0 ** random.uniform(-6, 0.5, size=(count, 1, 1))
        students = size * random.normal(size=(count, 3, 3))
        moves = size * 10.0 ** random.uniform(-3, 1, size=(count, 1, 1)) * random.normal(size=(count, 3, 3))
        return {"students": students, "moves": moves, "teachers": targets}

    def slope(students, targets):
        if weighted:
            return f.gradient(students, targets)
        # Students Σ|w·x| without the norm: their products are the students themselves.
        return f.slopes(students, f.students_of(students), targets)

    def check(i):
        students, moves, targets = i["students"], i["moves"], i["teachers"]
        change = f.frobenius(slope(students + moves, targets) - slope(students, targets))
        mass = np.sum(f.norms(targets), axis=1) + np.sum(f.norms(students) ** 2 + f.norms(moves) ** 2, axis=1)
        return scan.at_most(change, 12 * mass * f.frobenius(moves))

    return Scan(draw, check, "a Lipschitz constant of 12 (Σ|w*| + Σ|w|² + Σ|u|²) suffices")


SMOOTH = Claim(
    id=f"{PAPER}.section-2.smooth",
    place="Section 2, choice of the architecture",
    title="the norm as output weight makes the loss smooth",
    hypotheses=("two teachers, three students of any size, moved by any amount $U$",),
    as_printed=Form(
        "With $\\|w_i\\|$ as output weight the gradient is Lipschitz, at zero neurons too; judged with the constant "
        "$12(\\sum\\|w^*_i\\| + \\sum\\|w_i\\|^2 + \\|U\\|_F^2)$.",
        _smooth(True),
    ),
    control=Form("The same for students $\\sum_i|w_i\\cdot x|$.", _smooth(False)),
)


def _relu_zero(turn: float):
    """Teachers that add up to zero, and students at their negatives, turned by an angle."""

    def outcomes(effort: Effort, seed: int):
        random = np.random.default_rng(seed)
        for r in (3, 5):
            spokes = _circle(2 * np.pi * np.arange(r) / r + random.uniform()) * random.uniform(0.5, 2)
            students = f.students_of(-_circle(np.arctan2(spokes[:, 1], spokes[:, 0]) + turn) * f.norms(spokes)[:, None])
            loss = float(population(homogeneous(spokes, r, activation="relu")).loss(jnp.asarray(students)))
            apart = f.angles(students, spokes).min()
            # Both must hold: no loss, and no student along a teacher.
            margin = np.minimum(1e-12 - loss / np.sum(f.norms(spokes)) ** 2, apart - 0.1)
            yield Outcome(float(margin), 1, {"teachers": spokes, "students": students, "left": loss, "right": 0.0})

    return Cases(outcomes)


CLAIM_1 = Claim(
    id=f"{PAPER}.claim-1",
    place="Claim 1 and Section A.2",
    title="with ReLU a loss of zero says nothing on directions",
    hypotheses=(
        "three or five teachers in the plane, at equal angles, that add up to zero, students with $\\|w_i\\|w_i = -w^*_i$",
    ),
    as_printed=Form(
        "The loss with ReLU is zero, and no student points along a teacher.",
        _relu_zero(0.0),
    ),
    control=Form("The same with the students turned by a tenth of a radian.", _relu_zero(0.1)),
)


# Theorem 2 ------------------------------------------------------------------------------------------------------------


def _zero_loss(lines: bool, tolerance: float = 1e-6):
    """Global minima: the mass of every teacher split among students on its line, of either sign, zeros among them."""

    def draw(count, random):
        count, r, m, d = count // 8, 3, 7, 3
        targets = instances.teachers(count, random, r, d)
        share = random.exponential(size=(count, m)) * (random.uniform(size=(count, m)) < 0.8)
        owner = np.arange(m) % r
        share[:, :r] += 1e-3
        totals = np.stack([share[:, owner == i].sum(axis=1) for i in range(r)], axis=1)
        signs = random.choice([-1.0, 1.0], size=(count, m, 1))
        students = f.students_of((share / totals[:, owner])[:, :, None] * targets[:, owner]) * signs
        return {"students": students, "teachers": targets}

    def check(i):
        turn = (f.line_angles if lines else f.angles)(i["students"], i["teachers"]).min(axis=-1)
        if lines:
            turn = np.where(f.norms(i["students"]) > 0, turn, 0.0)
        shown = scan.at_most(turn.max(axis=-1), tolerance)
        zero = f.loss(i["students"], i["teachers"]) <= 1e-12 * np.sum(f.norms(i["teachers"]), axis=1) ** 2
        return instances.given(zero, shown)

    return Scan(draw, check)


def _only_minima(nonnegative: bool = True):
    """Can any other directions reach a loss of zero? A stray student of mass one, all else fitted by least squares."""

    def outcomes(effort: Effort, seed: int):
        random = np.random.default_rng(seed)
        for number in range(effort.runs // 4):
            r, d = (1, 2, 3)[number % 3], 2 + number % 2
            targets = f.units(random.normal(size=(r, d)))
            stray = f.units(random.normal(size=(1, d)))
            others = np.concatenate([targets, -targets, f.units(random.normal(size=(12, d))), -stray])
            apart = f.line_angles(stray, targets).min()
            basis = np.concatenate([others, stray])
            gram = f.kernel(basis, basis)
            # The stray student and the teachers, of norm three, on one side; everything else, with any mass, on the other.
            wanted = np.concatenate([np.zeros(len(others)), [-1.0]])
            wanted[:r] += 3.0
            factor = np.linalg.cholesky(gram + 1e-12 * np.eye(len(gram)))
            columns, values = factor.T[:, :-1], factor.T @ wanted
            found = nnls(columns, values)[0] if nonnegative else np.linalg.lstsq(columns, values)[0]
            error = wanted - np.append(found, 0.0)
            loss = 0.5 * error @ gram @ error
            witness = {"teachers": 3 * targets, "stray": stray[0], "left": 1e-4 * apart**4, "right": loss}
            yield Outcome(float(loss / apart**4 - 1e-4), 1, witness)

    return Cases(outcomes, "smallest loss with a stray student of mass one, over δ⁴")


THEOREM_2 = Claim(
    id=f"{PAPER}.theorem-2",
    place="Theorem 2",
    title="a loss of zero means that students match teachers",
    hypotheses=("Assumption 1, absolute values, loss zero",),
    as_printed=Form(
        "At loss zero the direction of every student is that of a teacher, $\\angle(w_j, w^*_i) = 0$ for some $i$.",
        _zero_loss(lines=False),
        recipe=CLOSED_FORMS
        + """
assert abs(loss(students, teachers)) < 1e-9 * np.sum(np.linalg.norm(teachers, axis=1)) ** 2
left = max(min(angle(w, v) for v in teachers) for w in students if w.any())  # a student at the negative of a teacher
right = 0.0
""",
    ),
    corrected=Form(
        "At loss zero every non-zero student is parallel or antiparallel to a teacher; with a stray student of mass one at an "
        "angle $\\delta$ to the lines of up to three teachers of norm three, the loss is at least $10^{-4}\\delta^4$, whatever the others are.",
        Several([_zero_loss(lines=True), _only_minima()]),
    ),
    correction="$-w^*_i$ is the same neuron as $w^*_i$, at the angle $\\pi$ in the paper's notation, and zero neurons have no direction. "
    "The proof by Lemma C.4 shares the oversight.",
    control=Form("The corrected form with output weights of either sign.", _only_minima(nonnegative=False)),
)


# Appendix A -----------------------------------------------------------------------------------------------------------


def _fitted_linear(factor: float):
    def test(effort: Effort, seed: int) -> Outcome:
        random = np.random.default_rng(seed)
        targets = random.normal(size=(2, 3))
        objective = population(homogeneous(targets, 3, activation="relu", linear=True))
        students = random.normal(size=(effort.samples, 3, 3)) * 10.0 ** random.uniform(
            -2, 1, size=(effort.samples, 1, 1)
        )
        linear = factor * (targets.sum(axis=0) - f.products(students).sum(axis=1))

        def at(w, b):
            point = WithLinear(w, b)
            return objective.loss(point), objective.gradient(point).linear

        losses, slopes = jax.jit(jax.vmap(at))(jnp.asarray(students), jnp.asarray(linear))
        scale = 1 + np.sum(students**2, axis=(1, 2))
        margins = 1e-9 - np.maximum(
            np.abs(np.asarray(losses) - f.loss(students, targets) / 4) / scale**2,
            np.abs(np.asarray(slopes)).max(axis=1) / scale,
        )
        worst = int(margins.argmin())
        witness = {"students": students[worst], "teachers": targets, "linear": linear[worst]}
        return Outcome(float(margins[worst]), len(margins), witness)

    return test


SECTION_A_1 = Claim(
    id=f"{PAPER}.section-A.1",
    place="Section A.1",
    title="a fitted linear term turns ReLU into absolute values",
    hypotheses=("two ReLU teachers and three students in dimension 3, standard Gaussian inputs",),
    as_printed=Form(
        "The best linear term is $\\beta = \\frac12\\sum w^*_i - \\frac12\\sum\\|w_i\\|w_i$; with it the ReLU loss is the loss (1) of the "
        "halved networks, which is a quarter of (1).",
        _fitted_linear(0.5),
    ),
    control=Form("The same with twice that $\\beta$.", _fitted_linear(1.0)),
    arithmetic="the library's closed forms for ReLU with a linear term, against those for absolute values",
)


def _relu_difference(factor: float):
    def draw(count, random):
        return {"teachers": random.normal(size=(count, 3, 2)), "x": random.normal(size=(count, 2))}

    def check(i):
        product = np.einsum("nid,nd->ni", i["teachers"], i["x"])
        left = np.sum(np.maximum(-product, 0) - np.maximum(product, 0), axis=1)
        return scan.equal(left, factor * product.sum(axis=1), 1e-3)

    return Scan(draw, check)


SECTION_A_2 = Claim(
    id=f"{PAPER}.section-A.2.difference",
    place="Section A.2, displayed equation",
    title="networks with opposite neurons differ by a linear function",
    hypotheses=("students with $\\|w_i\\|w_i = -w^*_i$; that the teachers add up to zero is used afterwards",),
    as_printed=Form(
        "$f(x) - f^*(x) = 2\\sum_iw^*_i\\cdot x$.",
        _relu_difference(2.0),
        recipe="left = np.sum(np.maximum(-teachers @ x, 0) - np.maximum(teachers @ x, 0))\nright = 2 * np.sum(teachers @ x)\n",
    ),
    corrected=Form("$f(x) - f^*(x) = -\\sum_iw^*_i\\cdot x$.", _relu_difference(-1.0)),
    correction="$\\mathrm{ReLU}(-z) - \\mathrm{ReLU}(z) = -z$: the factor is $-1$, not 2. Nothing depends on it, since the sum is zero.",
    control=Form("The same with the factor $+1$.", _relu_difference(1.0)),
)


# Section 5.4: the loss and the gradient as they are recalled there -----------------------------------------------------


def _recalled_loss(factor: float):
    def check(i):
        students, targets = i["students"], i["teachers"]
        losses = f.loss(students, targets)
        shown = scan.equal(losses, factor * _mean_square(students, targets), tolerance=1e-4)
        return instances.given(losses > 1e-9 * np.sum(f.norms(targets), axis=1) ** 2, shown)

    return instances.scans(check, shapes=((1, 2, 2), (3, 6, 2)), scales=(-0.7, 0.0))


RECALLED_LOSS = Claim(
    id=f"{PAPER}.section-5.4.loss",
    place="Section 5.4 (and $L^{1/2} = \\|R\\|$ in Section 5.3)",
    title="the loss in terms of the residual",
    hypotheses=("students and teachers in the plane",),
    as_printed=Form(
        "$L(W) = E[R(x)^2]$.",
        _recalled_loss(1.0),
        recipe=CLOSED_FORMS
        + """
left = loss(students, teachers)
x = np.random.default_rng(0).normal(size=(2_000_000, 2))
residual = sum(np.linalg.norm(w) * np.abs(x @ w) for w in students) - sum(np.abs(x @ v) for v in teachers)
right = np.mean(residual**2)  # sampled
""",
    ),
    corrected=Form("$L(W) = \\frac12E[R(x)^2]$.", _recalled_loss(0.5)),
    correction="Equation (1) has a factor one half, which the appendix keeps.",
    control=Form("$L(W) = \\frac34E[R(x)^2]$.", _recalled_loss(0.75)),
    arithmetic="closed form against Gauss–Legendre rules on the circle",
)


def _recalled_gradient(form: str):
    def check(i):
        students, targets = i["students"], i["teachers"]
        slopes = f.slopes(students, students, targets)
        right = {
            "printed": slopes,
            "scaled": f.norms(students)[..., None] * slopes,
            "full": f.stretched(students, slopes),
        }[form]
        # Central differences of the loss along every coordinate.
        left = np.zeros_like(students)
        for j in range(students.shape[1]):
            for k in range(students.shape[2]):
                step = np.zeros_like(students[0])
                step[j, k] = 1e-5
                left[:, j, k] = (f.loss(students + step, targets) - f.loss(students - step, targets)) / 2e-5
        return scan.equal(left, right, 1e-3, tolerance=1e-5)

    def draw(count, random):
        count = count // 40
        targets = f.units(random.normal(size=(count, 2, 3))) * random.uniform(0.5, 2, size=(count, 2, 1))
        sizes = 10.0 ** random.uniform(-1, 0.5, size=(count, 3, 1))
        return {"students": sizes * f.units(random.normal(size=(count, 3, 3))), "teachers": targets}

    return Scan(draw, check)


RECALLED_GRADIENT = Claim(
    id=f"{PAPER}.section-5.4.gradient",
    place="Section 5.4, below the definition of the residual",
    title="the gradient in terms of the residual",
    hypotheses=("two teachers, three students of norms from 0.1 to 3 in dimension 3",),
    as_printed=Form(
        "$\\nabla_{w_j}L(W) = E[R(x)\\,x\\,\\mathrm{sgn}(w_j\\cdot x)]$.",
        _recalled_gradient("printed"),
        recipe=CLOSED_FORMS
        + DIFFERENCES
        + """
left = gradient(students, teachers)
x = np.random.default_rng(0).normal(size=(400_000, 3))
residual = sum(np.linalg.norm(w) * np.abs(x @ w) for w in students) - sum(np.abs(x @ v) for v in teachers)
right = np.array([np.mean((residual * np.sign(x @ w))[:, None] * x, axis=0) for w in students])  # sampled
""",
    ),
    corrected=Form(
        "$\\nabla_{w_j}L(W) = \\|w_j\\|(I + \\bar w_j\\bar w_j^\\top)E[R(x)\\,x\\,\\mathrm{sgn}(w_j\\cdot x)]$.",
        _recalled_gradient("full"),
    ),
    correction="That is the gradient in the product $\\|w_j\\|w_j$. The factor $\\|w_j\\|(I + \\bar w_j\\bar w_j^\\top)$, which the appendix has, is "
    "left out; it is the factor that makes small stray neurons slow.",
    control=Form("The same with $\\|w_j\\|$ alone as factor.", _recalled_gradient("scaled")),
    arithmetic="closed forms against central differences of the loss",
)

MAIN = (EQUATION_1, SMOOTH, CLAIM_1, THEOREM_2)
RECALLED = (RECALLED_LOSS, RECALLED_GRADIENT)
APPENDIX = (SECTION_A_1, SECTION_A_2)
