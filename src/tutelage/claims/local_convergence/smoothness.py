r"""Section 4 and Appendix D: how the loss grows around the minima, smoothness, and its technical lemmas."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tutelage.claims import scan
from tutelage.claims.base import Claim, Form
from tutelage.claims.local_convergence import formulas as f
from tutelage.claims.local_convergence import instances
from tutelage.claims.local_convergence.formulas import PAPER
from tutelage.claims.scan import Scan, Several

# Section 4 ----------------------------------------------------------------------------------------------------------------------


def _one_student(low: float, high: float):
    def draw(count, random):
        return {"delta": np.pi / 2 * np.append(10.0 ** -random.uniform(0, 3, size=count // 8), 1.0)}

    def check(i):
        delta = i["delta"]
        students = np.stack([np.cos(delta), np.sin(delta)], axis=-1)[:, None]
        quotient = f.loss(students, np.array([[1.0, 0.0]])) / delta**2
        return {
            "margin": np.minimum(quotient - low, high - quotient) + 1e-9,
            "left": quotient,
            "right": high + 0 * delta,
        }

    return Scan(draw, check, "the loss is 1 − (2/π)(sin δ + (π/2 − δ)cos δ), δ²/2 for small δ")


EXACT = Claim(
    id=f"{PAPER}.section-4.exact",
    place="Section 4, first paragraph",
    title="one student: the loss grows with the square of the angle",
    hypotheses=("$r = m = 1$, $\\|w\\| = \\|w^*\\| = 1$, $\\delta \\le \\frac\\pi2$",),
    as_printed=Form(
        "$L = \\Theta(\\delta^2)$; judged as $0.14\\,\\delta^2 \\le L \\le \\frac12\\delta^2$, the lower constant observed.",
        _one_student(0.14, 0.5),
    ),
    control=Form("$L \\le 0.4\\,\\delta^2$.", _one_student(0.14, 0.4)),
)


def _two_students(constant: float, power: float):
    def draw(count, random):
        return {"delta": np.append(10.0 ** -random.uniform(0, 3, size=count // 8), [1.0, 1e-3])}

    def check(i):
        delta = i["delta"]
        half = 0.5 * np.stack([np.ones_like(delta), np.tan(delta)], axis=-1)
        students = f.students_of(np.stack([half, half * [1.0, -1.0]], axis=1))
        losses = f.loss(students, np.array([[1.0, 0.0]]))
        formula = (delta - np.sin(delta) * np.cos(delta)) / (np.pi * np.cos(delta) ** 2)
        quotient = losses / (2 / (3 * np.pi) * delta**power)
        # Rounding of the loss beside δ³.
        exact = 1e-13 - np.abs(losses - formula)
        return {
            "margin": np.minimum(np.minimum(quotient - 0.9, constant - quotient) / constant, 1e3 * exact),
            "left": losses,
            "right": formula,
        }

    return Scan(draw, check, "the loss is (δ − sin δ cos δ)/(π cos²δ), 2δ³/(3π) for small δ")


CLAIM_2 = Claim(
    id=f"{PAPER}.claim-2",
    place="Claim 2 and Figure 2",
    title="two students: the loss grows with the cube of the angle",
    hypotheses=(
        "$r = 1$, $m = 2$, one student on either side of $w^*$ in a plane with it, $\\|w_i\\| = 1/\\sqrt{2\\cos\\delta}$, $10^{-3} \\le \\delta \\le 1$",
    ),
    as_printed=Form(
        "$L = \\Theta(\\delta^3)$; judged with the exact value $(\\delta - \\sin\\delta\\cos\\delta)/(\\pi\\cos^2\\delta)$, and as between 0.9 and 3 times $\\frac2{3\\pi}\\delta^3$.",
        _two_students(3.0, 3.0),
    ),
    control=Form("The same with $\\delta^{2.9}$.", _two_students(1.2, 2.9)),
)


def _flat(students: int):
    """The second difference of the loss at a minimum, in the direction in which the students part."""

    def draw(count, random):
        return {"step": 10.0 ** -random.uniform(2.5, 4, size=count // 20)}

    def check(i):
        base = np.zeros((len(i["step"]), students, 2))
        base[..., 0] = 1 / np.sqrt(students)
        move = np.zeros_like(base)
        move[:, :, 1] = (1.0, -1.0)[:students]
        moved = [f.loss(base + s * i["step"][:, None, None] * move, np.array([[1.0, 0.0]])) for s in (1, -1)]
        curvature = (moved[0] + moved[1]) / i["step"] ** 2
        return scan.at_most(curvature, 3 * i["step"] + 1e-6)

    return Scan(draw, check, "along the direction in which the students part, the curvature falls with the step")


DEGENERATE = Claim(
    id=f"{PAPER}.section-4.degenerate",
    place="Section 4, below Claim 2",
    title="with more students than teachers the Hessian is degenerate",
    hypotheses=("$r = 1$, $m = 2$, both students at the teacher",),
    as_printed=Form(
        "The Hessian at the global minimum has a zero eigenvalue: the second difference tends to zero with the step.",
        _flat(2),
    ),
    control=Form("The same for $m = 1$.", _flat(1)),
)


# Lemmas 12 and 13 -----------------------------------------------------------------------------------------------------------------


def _smoothness(first: float, second: float, third: float):
    def check(i):
        students, targets = i["students"], i["teachers"]
        r, largest = targets.shape[1], f.norms(targets).max(axis=1)
        random = np.random.default_rng(len(students))
        losses = np.maximum(f.loss(students, targets), 0.0)
        slope = f.gradient(students, targets)
        moves = random.normal(size=students.shape) * (random.uniform(size=(*students.shape[:2], 1)) < 0.7)
        # Steps along the gradient, along the students themselves, and anywhere.
        kind = np.arange(len(students))[:, None, None] % 3
        moves = np.where(
            kind == 0, slope / (f.frobenius(slope)[:, None, None] + 1e-300), np.where(kind == 1, students, moves)
        )
        moves = moves * 10.0 ** random.uniform(-3, 0.5, size=(len(students), 1, 1)) * np.sqrt(largest)[:, None, None]
        size = f.frobenius(moves)
        left = f.loss(students + moves, targets) - losses - np.sum(slope * moves, axis=(1, 2))
        right = (
            first * (r * largest) ** 0.25 * np.sqrt(losses) * size**1.5
            + second * r * largest * size**2
            + third * size**4
        )
        shown = {**scan.at_most(left, right + 1e-13 * (r * largest) ** 2), "moves": moves}
        return instances.given(losses <= (r * largest) ** 2 / 2, shown)

    shapes = (*instances.SHAPES, *instances.LARGER)
    return Several([instances.scans(check, shapes=shapes), instances.scans(check, scales=(-0.5, 0.7), shapes=shapes)])


LEMMA_12 = Claim(
    id=f"{PAPER}.lemma-12",
    place="Lemma 12",
    title="smoothness",
    hypotheses=(
        "Assumption 2, $L(W) \\le \\frac12r^2w_{max}^2$; steps along the gradient, along the students, and random ones",
    ),
    as_printed=Form(
        "$L(W+U) \\le L(W) + \\langle\\nabla L(W), U\\rangle + O(r^{1/4}w_{max}^{1/4})L^{1/2}\\|U\\|_F^{3/2} + O(rw_{max})\\|U\\|_F^2 + O(1)\\|U\\|_F^4$; judged with the "
        "constants 4, 8 and 2, which are observed.",
        _smoothness(4.0, 8.0, 2.0),
    ),
    control=Form("The same with the constants 0.1, 0.1 and 0.1.", _smoothness(0.1, 0.1, 0.1)),
)


def _lipschitz(constant: float):
    def check(i):
        students, targets = i["students"], i["teachers"]
        bulk = targets.shape[1] * f.norms(targets).max(axis=1)
        shown = scan.at_most(f.frobenius(f.gradient(students, targets)) ** 2, constant * bulk**3)
        return instances.given(f.loss(students, targets) <= bulk**2 / 2, shown)

    shapes = (*instances.SHAPES, *instances.LARGER)
    return instances.scans(check, "a sharper bound is 8 L Σ|w|²", shapes=shapes, scales=(-0.5, 1.0))


LEMMA_13 = Claim(
    id=f"{PAPER}.lemma-13",
    place="Lemma 13",
    title="the gradient is bounded",
    hypotheses=("Assumption 2, $L(W) \\le \\frac12r^2w_{max}^2$",),
    as_printed=Form(
        "$\\|\\nabla L\\|_F^2 = O(r^3w_{max}^3)$; judged with the constant $8\\sqrt{\\pi/2}$, which $\\|\\nabla L\\|_F^2 \\le 8L\\sum\\|w_j\\|^2$ and Lemma C.3 give.",
        _lipschitz(8 * np.sqrt(np.pi / 2)),
    ),
    control=Form("The same with the constant 1.", _lipschitz(1.0)),
)


# Appendix D -------------------------------------------------------------------------------------------------------------------------


def _remainder(factor: float):
    r"""The bound on $\|I_j\|^2$ in the proof of Lemma 12, with the factor of its last term."""

    def draw(count, random):
        count = count // 4
        w = f.units(random.normal(size=(count, 3)))
        return {"w": w, "u": 10.0 ** random.uniform(-4, 1, size=(count, 1)) * f.units(random.normal(size=(count, 3)))}

    def check(i):
        w, u = i["w"], i["u"]
        alpha = f.products(w + u)
        beta = f.norms(w)[:, None] * w + f.stretched(w, u)
        turn = f.angles(w[:, None], alpha[:, None])[:, 0, 0]
        mixed = (1 - 2 / np.pi * turn)[:, None] * alpha + (2 / np.pi * np.sin(turn) * f.norms(alpha))[
            :, None
        ] * f.units(w)
        left = f.norms(alpha) ** 2 + f.norms(beta) ** 2 - 2 * np.sum(mixed * beta, axis=1)
        phi = f.angles(beta[:, None], w[:, None])[:, 0, 0]
        wedge = f.norms(beta) ** 2 * (phi - np.sin(phi) * np.cos(phi)) / np.pi
        shown = scan.at_most(left, 2 * f.norms(alpha - beta) ** 2 + factor * wedge)
        return instances.given(left > 1e-11 * f.norms(alpha) ** 2, shown)

    return Scan(draw, check)


REMAINDER = Claim(
    id=f"{PAPER}.section-D.1.remainder",
    place="Section D.1, bound on $\\|I_j\\|^2$",
    title="remainder of one neuron",
    hypotheses=("one student $w$ with $\\|w\\| = 1$ and a step $u$ of any size, $d = 3$",),
    as_printed=Form(
        "$\\|I_j\\|^2 \\le 2\\|\\alpha - \\beta\\|^2 + 2E[(\\beta\\cdot x)^2\\mathbb 1_{\\mathrm{sgn}(\\beta\\cdot x) \\ne \\mathrm{sgn}(w\\cdot x)}]$.",
        _remainder(2.0),
        recipe="""
alpha = np.linalg.norm(w + u) * (w + u)
beta = np.linalg.norm(w) * w + np.linalg.norm(w) * u + (w @ u) * w / np.linalg.norm(w)
x = np.random.default_rng(0).normal(size=(4_000_000, 3))
b, side = x @ beta, np.sign(x @ w)
left = np.mean((np.abs(x @ alpha) - b * side) ** 2)  # sampled
right = 2 * np.sum((alpha - beta) ** 2) + 2 * np.mean(b**2 * (np.sign(b) != side))
""",
    ),
    corrected=Form("The same with $8E[\\cdots]$.", _remainder(8.0)),
    correction="$(\\mathrm{sgn}(\\beta\\cdot x) - \\mathrm{sgn}(w\\cdot x))^2$ is 4 where the signs differ, which is left out. Only the hidden constant of Lemma 12 changes.",
    control=Form("The same with $3E[\\cdots]$.", _remainder(3.0)),
)


def _summed(power: float):
    r"""Along $L_{t+1} = L_t - \frac{\eta\kappa^2}4L_t^2$, the slowest sequence that the proof allows."""

    def draw(count, random):
        count = count // 20
        kappa = 10.0 ** random.uniform(-2, 1, size=count)
        start = 10.0 ** random.uniform(-3, 0, size=count)
        eta = random.uniform(0.01, 1, size=count) / (kappa**2 * start)
        return {"kappa": kappa, "start": start, "eta": eta}

    def check(i):
        value = i["start"].copy()
        for _ in range(100):
            value = value - i["eta"] * i["kappa"] ** 2 / 4 * value**2
        return scan.at_most(1 / i["start"], 1 / value - 100 * i["eta"] * i["kappa"] ** power / 4)

    return Scan(draw, check)


SUMMED = Claim(
    id=f"{PAPER}.section-D.3.sum",
    place="Section D.3, second display from the end",
    title="the steps of Theorem 4 added up",
    hypotheses=("$L_{t+1} = L_t - \\frac{\\eta\\kappa^2}4L_t^2$, 100 steps",),
    as_printed=Form(
        "$\\frac1{L_0} \\le \\frac1{L_t} - \\frac{t\\eta\\kappa}4$.",
        _summed(1.0),
        recipe="""
value = start
for _ in range(100):
    value = value - eta * kappa**2 / 4 * value**2
left, right = 1 / start, 1 / value - 100 * eta * kappa / 4
""",
    ),
    corrected=Form("$\\frac1{L_0} \\le \\frac1{L_t} - \\frac{t\\eta\\kappa^2}4$.", _summed(2.0)),
    correction="$\\kappa$ should be squared, as in the line before, in the conclusion and in Appendix F.",
    control=Form("The same with $\\kappa^{3/2}$.", _summed(1.5)),
)


def _derivative_change(i, norm: str):
    def derivative(w):
        size, unit = f.norms(w)[..., None, None], f.units(w)
        return size * (np.eye(w.shape[-1]) + unit[..., :, None] * unit[..., None, :])

    return np.linalg.norm(
        derivative(i["w"] + i["u"]) - derivative(i["w"]), ord={"frobenius": "fro", "operator": 2}[norm], axis=(-2, -1)
    )


def _smooth_map(norm: str, constant: float | Callable[[int], float]):
    """Is the derivative of g Lipschitz with a constant, which may depend on the dimension?"""

    def of(d):
        bound = constant(d) if callable(constant) else constant

        def draw(count, random):
            count = count // 40
            w = 10.0 ** random.uniform(-3, 1, size=(count, 1)) * random.normal(size=(count, d))
            w[::5] = 0.0
            u = 10.0 ** random.uniform(-3, 1, size=(count, 1)) * random.normal(size=(count, d))
            # Along the student, across it, and through zero.
            u[1::5] = -w[1::5] * random.uniform(0, 3, size=(len(w[1::5]), 1)) - 1e-9
            return {"w": w, "u": u}

        return Scan(draw, lambda i: scan.at_most(_derivative_change(i, norm), bound * f.norms(i["u"])))

    return Several([of(d) for d in (1, 2, 3, 8)])


LEMMA_D_1 = Claim(
    id=f"{PAPER}.lemma-D.1",
    place="Lemma D.1",
    title="the map from students to products is smooth",
    hypotheses=("$g(w) = \\|w\\|w$, $d \\in \\{1, 2, 3, 8\\}$",),
    as_printed=Form(
        "$g$ is $(1+\\sqrt3)$-smooth: $\\|\\nabla g(w+u) - \\nabla g(w)\\| \\le (1+\\sqrt3)\\|u\\|$ in the operator norm.",
        _smooth_map("operator", 1 + np.sqrt(3)),
    ),
    control=Form("$g$ is 1.9-smooth (it is 2-smooth).", _smooth_map("operator", 1.9)),
)

FROBENIUS = Claim(
    id=f"{PAPER}.section-D.4.frobenius",
    place="Proof of Lemma D.1, last display",
    title="smoothness in the Frobenius norm",
    hypotheses=LEMMA_D_1.hypotheses,
    as_printed=Form(
        "$\\|\\nabla g(w+u) - \\nabla g(w)\\|_F \\le (1+\\sqrt3)\\|u\\|$.",
        _smooth_map("frobenius", 1 + np.sqrt(3)),
        recipe="""
def derivative(w):
    size = np.linalg.norm(w)
    return size * np.eye(len(w)) + (np.outer(w, w) / size if size else 0.0)

left = np.linalg.norm(derivative(w + u) - derivative(w))
right = (1 + np.sqrt(3)) * np.linalg.norm(u)
""",
    ),
    corrected=Form(
        "$\\|\\nabla g(w+u) - \\nabla g(w)\\|_F \\le \\sqrt{d+3}\\,\\|u\\|$, and $\\|\\nabla g(w+u) - \\nabla g(w)\\|_2 \\le 2\\|u\\|$ in the operator norm.",
        Several([_smooth_map("frobenius", lambda d: np.sqrt(d + 3)), _smooth_map("operator", 2.0)]),
    ),
    correction="$\\|I\\|_F = \\sqrt d$ is taken for one. In the Frobenius norm the constant is $\\sqrt{d+3}$ (at $w = 0$), which exceeds $1+\\sqrt3$ for $d \\ge 5$; in the operator norm it "
    "is 2, which is all that Lemma 12 needs.",
    control=Form(
        "The Frobenius norm with the constant $\\sqrt{d+2}$.", _smooth_map("frobenius", lambda d: np.sqrt(d + 2))
    ),
)


def _wedge_square(factor: float, low: float):
    def draw(count, random):
        return {"phi": np.pi * np.append(10.0 ** -random.uniform(0, 2, size=60), [0.5, 1.0])}

    def check(i):
        phi = i["phi"]
        nodes, weights = np.polynomial.legendre.leggauss(30)
        # In polar coordinates: the angles between the lines orthogonal to β and to α, E r² = 2.
        turn = np.pi / 2 + phi[:, None] / 2 * (nodes + 1)
        value = 2 * 2 * np.sum(phi[:, None] / 2 * weights * np.cos(turn) ** 2, axis=1) / (2 * np.pi)
        exact = factor * (phi - np.sin(phi) * np.cos(phi)) / np.pi
        order = value / phi**3
        margin = np.minimum(np.minimum(1e-10 - np.abs(value - exact), order - low), 2 / (3 * np.pi) - order + 1e-9)
        return {"margin": margin, "left": value, "right": exact}

    return Scan(draw, check)


LEMMA_D_2 = Claim(
    id=f"{PAPER}.lemma-D.2",
    place="Lemma D.2",
    title="second moment on a wedge",
    hypotheses=("unit vectors at the angle $\\phi \\in (0, \\pi]$",),
    as_printed=Form(
        "$E[(\\beta\\cdot x)^2\\mathbb 1_{\\mathrm{sgn}(\\alpha\\cdot x) \\ne \\mathrm{sgn}(\\beta\\cdot x)}] = \\frac1\\pi(\\phi - \\sin\\phi\\cos\\phi) = \\Theta(\\phi^3)$; the quotient lies between $\\pi^{-3}$ and "
        "$\\frac2{3\\pi}$.",
        _wedge_square(1.0, np.pi**-3 - 1e-9),
    ),
    control=Form("The same with $\\frac2\\pi$.", _wedge_square(2.0, 0.0)),
    arithmetic="closed form against Gauss–Legendre rules",
)


def _stretched_mean(constant: float):
    def draw(count, random):
        return {"phi": np.append(np.pi * random.uniform(size=count // 8), [0.0, np.pi / 2, np.pi])}

    def check(i):
        phi = i["phi"]
        along = (1 - 2 * phi / np.pi) * np.cos(phi) + 2 / np.pi * np.sin(phi)
        across = (1 - 2 * phi / np.pi) * np.sin(phi)
        return scan.at_most((2 * along) ** 2 + across**2, constant + 0 * phi)

    return Scan(draw, check, "the largest value is 4, at parallel vectors")


LEMMA_D_3 = Claim(
    id=f"{PAPER}.lemma-D.3",
    place="Lemma D.3",
    title="the gradient of one pair is bounded",
    hypotheses=("unit vectors at any angle",),
    as_printed=Form(
        "$\\|E[|\\alpha\\cdot x|(I + \\beta\\beta^\\top)x\\,\\mathrm{sgn}(\\beta\\cdot x)]\\|^2 = O(1)$; judged with the constant 4.",
        _stretched_mean(4.0),
    ),
    control=Form("The same with the constant 3.", _stretched_mean(3.0)),
)


def _sum_of_neurons(constant: float):
    def of(n, d):
        def check(i):
            vectors = i["vectors"]
            return scan.at_most(
                np.sum(f.kernel(vectors, vectors), axis=(1, 2)), constant * np.sum(f.norms(vectors), axis=1) ** 2
            )

        return Scan(lambda count, random: {"vectors": random.normal(size=(count // 20, n, d)) ** 3}, check)

    return Several([of(1, 1), of(2, 2), of(5, 2), of(20, 10)])


LEMMA_D_4 = Claim(
    id=f"{PAPER}.lemma-D.4",
    place="Lemma D.4",
    title="second moment of a sum of neurons",
    hypotheses=("up to 20 vectors in up to 10 dimensions",),
    as_printed=Form(
        "$E[(\\sum|\\alpha_i\\cdot x|)^2] \\le c_0(\\sum\\|\\alpha_i\\|)^2$; judged with $c_0 = 1$ (the proof has $c_0 = 2$).",
        _sum_of_neurons(1.0),
    ),
    control=Form("The same with $c_0 = 2/\\pi$, which is a lower bound.", _sum_of_neurons(2 / np.pi)),
)

SECTION_4 = (EXACT, CLAIM_2, DEGENERATE)
MAIN = (LEMMA_12, LEMMA_13)
APPENDIX = (REMAINDER, SUMMED, LEMMA_D_1, FROBENIUS, LEMMA_D_2, LEMMA_D_3, LEMMA_D_4)
