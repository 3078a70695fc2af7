"""Sections 2, 3.3 and 5.4 and Appendix A: the loss, why it is parameterized so, what a loss of zero says, and ReLU networks."""

import numpy as np
from scipy.optimize import nnls

from tutelage.claims import Claim, Form, log_uniform, real, uniform
from tutelage.claims.local_convergence import formulas as f
from tutelage.claims.local_convergence import instances
from tutelage.claims.local_convergence.formulas import ACUTE, CLOSED_FORMS, HALF, LINES, PAPER, SLOPES


def _moved_networks(count, random):
    """Students of any size, moved by any amount, and how their gradients change."""
    count = count // 8
    targets = instances.teachers(count, random, 2, 3)
    size = 10.0 ** random.uniform(-6, 0.5, size=(count, 1, 1))
    students = size * random.normal(size=(count, 3, 3))
    moves = size * 10.0 ** random.uniform(-3, 1, size=(count, 1, 1)) * random.normal(size=(count, 3, 3))
    # Half of them one student along a teacher, through zero.
    students[::2, 1:], moves[::2, 1:] = 0.0, 0.0
    students[::2, 0] = size[::2, 0] * targets[::2, 0]
    moves[::2, 0] = random.uniform(-3, 3, size=(len(moves[::2]), 1)) * students[::2, 0]
    change = f.frobenius(f.gradient(students + moves, targets) - f.gradient(students, targets))
    mass = np.sum(f.norms(targets), axis=1) + np.sum(f.norms(students) ** 2 + f.norms(moves) ** 2, axis=1)
    drawn = {"students": students, "moves": moves, "teachers": targets}
    return {**drawn, "change": change, "bound": mass * f.frobenius(moves)}


SMOOTH = Claim(
    id=f"{PAPER}.section-2.smooth",
    title="the norm as output weight makes the loss smooth",
    hypotheses="two teachers, up to three students of any size, moved by any amount $U$",
    draw=_moved_networks,
    left=lambda change: change,
    relation="<=",
    right=lambda bound, constant=8.0: constant * bound,
    as_printed="With $\\|w_i\\|$ as output weight the gradient is Lipschitz, at zero neurons too; judged with the constant $8(\\sum\\|w^*_i\\| + "
    "\\sum\\|w_i\\|^2 + \\|U\\|_F^2)$, which is observed.",
    control=Form("The same with $6.3(\\cdots)$.", constant=6.3),
)

HOMOGENEOUS = Claim(
    id=f"{PAPER}.section-2.homogeneous",
    title="output weights that are not negative are no restriction",
    hypotheses="three neurons in the plane, output weights $a_i > 0$",
    draw={"a": log_uniform(1e-3, 10, (3,)), "u": real((3, 2)), "x": real((2,))},
    left=lambda a, u, x: np.sum(a * np.abs(np.sum(u * x[..., None, :], -1)), -1),
    relation="==",
    right=lambda a, u, x, power=0.5: np.sum(
        (a / f.norms(u)) ** (2 * power) * f.norms(u) * np.abs(np.sum(u * x[..., None, :], -1)), -1
    ),
    as_printed="$\\sum_ia_i|u_i\\cdot x| = \\sum_i\\|w_i\\||w_i\\cdot x|$ with $w_i = (a_i/\\|u_i\\|)^{1/2}u_i$.",
    control=Form("The same with the power 0.505.", power=0.505),
)


def _cancelling(random, count, r, d):
    """Teachers, with a pair of students of opposite output weights besides."""
    vectors = random.normal(size=(count, 2 * r + 2, d))
    vectors[:, r : 2 * r], vectors[:, -1] = vectors[:, :r], vectors[:, -2]
    return vectors, np.array([1.0] * r + [-1.0] * r + [1.0, -1.0])


def _with_signs(count, random):
    for r, d in ((1, 2), (2, 3), (3, 3)):
        vectors, signs = _cancelling(random, count // 100, r, d)
        apart = f.line_angles(vectors[:, -1:], vectors[:, :r]).min(axis=(1, 2))
        yield {"vectors": vectors, "signs": np.broadcast_to(signs, (len(vectors), len(signs))), "apart": apart}


CANCEL = Claim(
    id=f"{PAPER}.section-2.cancel",
    title="with output weights of both signs students may cancel",
    hypotheses="one to three teachers, as many students at them, and two more of opposite output weights, a tenth of a radian away",
    draw=_with_signs,
    where=lambda apart: apart >= 0.1,
    left=lambda vectors, signs, last=1.0: np.einsum(
        "...ij,...i,...j->...", f.kernel(vectors, vectors), signs * _weights(signs, last), signs * _weights(signs, last)
    ),
    relation="<=",
    right=1e-12,
    scale=1.0,
    as_printed=Form("The loss is zero, and two students do not match a teacher.", slack=1e-9),
    control=Form("The same with output weights 1 and $-1.001$.", last=1.001, slack=1e-9),
)


def _weights(signs, last):
    weights = np.ones_like(signs)
    weights[..., -1] = last
    return weights


def _spokes(tilt, turn=0.0):
    """Teachers in the plane that add up to zero, about at equal angles; students at their negatives, turned."""
    r = tilt.shape[-1] + 1
    angle = 2 * np.pi * np.arange(r - 1) / r + tilt
    spokes = np.stack([np.cos(angle), np.sin(angle)], -1)
    spokes = np.concatenate([spokes, -spokes.sum(-2, keepdims=True)], -2)
    rotation = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
    return {"teachers": spokes, "students": f.students_of(-spokes @ rotation)}


CLAIM_1 = Claim(
    id=f"{PAPER}.claim-1",
    title="with ReLU a loss of zero says nothing on directions",
    hypotheses="three or five teachers in the plane that add up to zero, students with $\\|w_i\\|w_i = -w^*_i$",
    draw=[{"tilt": uniform(-0.1, 0.1, (r - 1,))} for r in (3, 5)],
    build=_spokes,
    left=lambda students, teachers: np.stack(
        [f.relu_loss(students, teachers, np.zeros(2)), -f.angles(students, teachers).min((-2, -1))], -1
    ),
    relation="<=",
    right=np.array([1e-12, -0.1]),
    scale=1.0,
    as_printed="The loss with ReLU is zero, and every student is a tenth of a radian and more from every teacher.",
    control=Form("The same with the students turned by a hundredth of a radian.", turn=0.01),
)


# Theorem 2 ------------------------------------------------------------------------------------------------------------


def _minima(count, random):
    """Global minima: the mass of every teacher split among students on its line, of either sign, zeros among them."""
    count, r, m, d = count // 8, 3, 7, 3
    targets = instances.teachers(count, random, r, d)
    share = random.exponential(size=(count, m)) * (random.uniform(size=(count, m)) < 0.8)
    owner = np.arange(m) % r
    share[:, :r] += 1e-3
    totals = np.stack([share[:, owner == i].sum(axis=1) for i in range(r)], axis=1)
    signs = random.choice([-1.0, 1.0], size=(count, m, 1))
    students = f.students_of((share / totals[:, owner])[:, :, None] * targets[:, owner]) * signs
    return {"students": students, "teachers": targets}


def _strays(count, random):
    """The smallest loss with a stray student of mass one, all others fitted by non-negative least squares."""
    for r, d in ((1, 2), (2, 2), (3, 3), (4, 4), (6, 3)):
        found = []
        for _ in range(count // 4):
            targets = f.units(random.normal(size=(r, d)))
            near = targets[:1] + 10.0 ** random.uniform(-1.5, 0.5) * random.normal(size=(1, d))
            stray = f.units(near)
            # Students on the lines of the teachers, around the stray one, and anywhere.
            around = f.units(stray + 0.3 * random.normal(size=(12, d)))
            others = np.concatenate([targets, around, f.units(random.normal(size=(12, d)))])
            basis = np.concatenate([others, stray])
            gram = f.kernel(basis, basis)
            wanted = np.concatenate([3.0 * np.ones(r), np.zeros(24), [-1.0]])
            factor = np.linalg.cholesky(gram + 1e-12 * np.eye(len(gram))).T
            error = wanted - np.append(nnls(factor[:, :-1], factor @ wanted)[0], 0.0)
            found.append((3 * targets, stray[0], 0.5 * error @ gram @ error, f.line_angles(stray, targets)[0]))
        parts = (np.stack(part) for part in zip(*found, strict=True))
        yield dict(zip(("teachers", "stray", "loss", "apart"), parts, strict=True))


THEOREM_2 = Claim(
    id=f"{PAPER}.theorem-2",
    title="a loss of zero means that students match teachers",
    hypotheses=("Assumption 1, absolute values, loss zero", "up to six teachers in up to four dimensions"),
    draw=_strays,
    runs=True,
    left=lambda loss: loss,
    relation=">=",
    right=lambda apart, constant: constant * np.prod(np.sin(apart), -1) ** 4,
    as_printed=Form(
        "At loss zero the direction of every student is that of a teacher, $\\angle(w_j, w^*_i) = 0$ for some $i$.",
        draw=_minima,
        runs=False,
        where=lambda students, teachers: f.loss(students, teachers) <= 1e-12 * np.sum(f.norms(teachers), -1) ** 2,
        left=lambda students, teachers: np.max(f.angles(students, teachers).min(-1), -1),
        relation="<=",
        right=1e-6,
        recipe=CLOSED_FORMS
        + """
assert abs(loss(students, teachers)) < 1e-9 * np.sum(np.linalg.norm(teachers, axis=1)) ** 2
left = max(min(angle(w, v) for v in teachers) for w in students if np.linalg.norm(w) > 0)  # a student at the negative of a teacher
right = 0.0
""",
    ),
    as_meant=Form(
        "At loss zero every non-zero student is on the line of a teacher: with a student of mass one at the angles $\\delta_k$ to the lines of "
        "teachers of norm three the loss is at least $\\frac14\\prod_k\\sin^4\\delta_k$, whatever the others are (a constant that is observed).",
        constant=0.25,
    ),
    supplied=ACUTE,
    correction="$-w^*_i$ is the same neuron as $w^*_i$, at the angle $\\pi$ in the paper's notation, and zero neurons have no direction: with "
    "absolute values a direction is a line.",
    defect=LINES,
    control=Form("The same with the constant 0.28.", constant=0.28),
    note="smallest losses with a stray student of mass one",
)


def _ways(first, second):
    """Minima on a way from one to another; rows are teachers, columns students, entries signed shares of the teachers.

    Every teacher's mass is gathered in one student, moved to the student that has it at the end (what is there moves to a
    student without mass before), and spread. Between neighbours on the way shares move along straight lines.
    """

    def gathered(shares):
        largest = np.abs(shares) == np.abs(shares).max(axis=1, keepdims=True)
        return np.sign(shares) * (largest & (np.cumsum(largest, axis=1) == 1))

    way, goal = [first, gathered(first)], gathered(second)
    for i, wanted in enumerate(goal):
        state, place = way[-1].copy(), np.flatnonzero(wanted)[0]
        if np.array_equal(state[i], wanted):
            continue
        there = np.flatnonzero(state[:, place])
        if len(there):
            empty = np.flatnonzero(~state.any(axis=0))
            # Without a student to spare two students change places.
            aside = empty[0] if len(empty) else np.flatnonzero(state[i])[0]
            state[there[0]] = np.arange(len(wanted)) == aside
            if len(empty):
                way.append(state.copy())
        state[i] = wanted
        way.append(state)
    return [*way, second]


def _connections(count, random, extra=1):
    """Pairs of minima, and the largest loss on a way from one to the other."""
    for r, d in ((1, 2), (2, 2), (3, 3), (4, 3)):
        targets, m, found = f.units(random.normal(size=(count // 400, r, d))), r + extra, []
        for teachers in targets:
            ends = []
            for _ in range(2):
                owner = random.permutation(np.append(np.arange(r), random.integers(r, size=extra)))
                shares = (owner == np.arange(r)[:, None]) * random.exponential(size=m)
                ends.append(shares / shares.sum(axis=1, keepdims=True) * random.choice([-1.0, 1.0], size=m))
            way = np.stack(_ways(*ends))
            part = np.linspace(0, 1, 6)[:, None, None, None]
            shares = ((1 - part) * way[:-1] + part * way[1:]).reshape(-1, r, m)
            found.append((*ends, f.loss(f.students_of(np.swapaxes(shares, 1, 2) @ teachers), teachers).max()))
        first, second, most = (np.stack(part) for part in zip(*found, strict=True))
        yield {"teachers": targets, "first": first, "second": second, "most": most}


CONNECTED = Claim(
    id=f"{PAPER}.section-4.connected",
    title="with more students than teachers the minima are connected",
    hypotheses="up to four unit teachers, one student more or more, any two global minima",
    draw=_connections,
    left=lambda most: most,
    relation="<=",
    right=1e-12,
    scale=1.0,
    as_printed="There is a way from one minimum to the other along which the loss is zero.",
    control=Form("The same with as many students as teachers, along straight lines between the minima.", extra=0),
)

POLYNOMIAL = Claim(
    id=f"{PAPER}.section-3.3.polynomial",
    title="when the number of students is polynomial",
    hypotheses=(
        "$\\Delta = 1/r$, $w_{min} = w_{max} = 1$, $r = \\log d/\\log\\log d$",
        "$\\epsilon_{init} = \\Delta^{36}r^{-162}$, the threshold of Lemma 7's proof",
    ),
    draw={"log_d": log_uniform(10, 1e60)},
    left=lambda log_d: (100 * log_d / np.log(log_d) + 1) * np.log(log_d / np.log(log_d)),
    relation="<=",
    right=lambda log_d, power=101.0: power * log_d,
    as_printed="$(r/\\sqrt{\\epsilon_{init}})^rr$ students are polynomially many in $d$: at most $d^{101}$.",
    control=Form("They are at most $d^{95}$.", power=95.0),
)


# Appendix A -----------------------------------------------------------------------------------------------------------


def _fitted(students, teachers, factor):
    """The linear term, and its distance from the best one."""
    missing = np.sum(teachers, -2) - np.sum(f.products(students), -2)
    return factor * missing, (factor - 0.5) * missing


SECTION_A_1 = Claim(
    id=f"{PAPER}.section-A.1",
    title="a fitted linear term turns ReLU into absolute values",
    hypotheses="two ReLU teachers and three students in dimension 3, standard Gaussian inputs",
    draw={"students": real((3, 3)), "teachers": real((2, 3))},
    left=lambda students, teachers, factor=0.5: f.relu_loss(students, teachers, _fitted(students, teachers, factor)[0]),
    relation="==",
    right=lambda students, teachers: f.loss(students, teachers) / 4,
    scale=lambda students, teachers: np.sum(students**2, (-2, -1)) ** 2 + np.sum(teachers**2, (-2, -1)),
    as_printed="With $\\beta = \\frac12\\sum w^*_i - \\frac12\\sum\\|w_i\\|w_i$ the ReLU loss is the loss (1) of the halved networks, which is a quarter "
    "of (1). (Any other $\\beta$ adds half of the square of its distance.)",
    control=Form("The same with $0.505$ for $\\frac12$ in $\\beta$.", factor=0.505),
    arithmetic="closed forms for ReLU against those for absolute values",
)


def _relu_mean(students, teachers, atoms, shift, skew=0.0):
    """The ReLU loss with β as printed and a shift, over atoms and their negatives, whose share is a half less a skew."""
    beta = _fitted(students, teachers, 0.5)[0] + shift
    points = np.concatenate([atoms, -atoms], -2)
    share = np.repeat([0.5 + skew, 0.5 - skew], atoms.shape[-2]) / atoms.shape[-2]
    products = [np.einsum("...pd,...id->...pi", points, rows) for rows in (f.products(students), teachers)]
    learned, taught = (np.sum(np.maximum(product, 0), -1) for product in products)
    return np.sum(share * (np.sum(points * beta[..., None, :], -1) + learned - taught) ** 2, -1) / 2


SYMMETRIC = Claim(
    id=f"{PAPER}.section-A.1.symmetric",
    title="it does so for all symmetric inputs",
    hypotheses=("inputs uniform on four points of $\\mathbb R^3$ and their negatives", "two teachers, three students"),
    draw={"students": real((3, 3)), "teachers": real((2, 3)), "atoms": real((4, 3)), "shift": real((3,))},
    left=_relu_mean,
    relation="==",
    right=lambda students, teachers, atoms, shift: np.mean(
        f.residual(students, teachers, atoms) ** 2 / 8 + np.sum(atoms * shift[..., None, :], -1) ** 2 / 2, -1
    ),
    as_printed="For symmetric inputs the printed $\\beta$ is the best one: with $\\beta + b$ the ReLU loss is a quarter of (1) and $\\frac12E[(b\\cdot x)^2]$.",
    control=Form("The same with probabilities of 0.51 and 0.49 for a point and its negative.", skew=0.01),
)


def _difference(teachers, x):
    product = np.sum(teachers * x[..., None, :], -1)
    return np.sum(np.maximum(-product, 0) - np.maximum(product, 0), -1)


SECTION_A_2 = Claim(
    id=f"{PAPER}.section-A.2.difference",
    title="networks with opposite neurons differ by a linear function",
    hypotheses="students with $\\|w_i\\|w_i = -w^*_i$",
    draw={"teachers": real((3, 2)), "x": real((2,))},
    build=lambda teachers, x, centred=0.0: {"teachers": teachers - centred * teachers.mean(-2, keepdims=True), "x": x},
    left=_difference,
    relation="==",
    right=lambda teachers, x, factor=2.0: factor * np.sum(teachers * x[..., None, :], (-2, -1)),
    scale=lambda teachers, x: np.sum(np.abs(teachers), (-2, -1)) * np.sum(np.abs(x), -1),
    as_printed="$f(x) - f^*(x) = 2\\sum_iw^*_i\\cdot x$.",
    as_meant=Form("The same if $\\sum_iw^*_i = 0$: both sides vanish.", factor=2.0, centred=1.0),
    supplied="the sentence before it, where the teachers add up to zero",
    corrected=Form("$f(x) - f^*(x) = -\\sum_iw^*_i\\cdot x$.", factor=-1.0),
    correction="$\\mathrm{ReLU}(-z) - \\mathrm{ReLU}(z) = -z$: the factor is $-1$, not 2. Nothing depends on it, since the sum is zero.",
    control=Form("The same with the factor $-1.01$.", factor=-1.01),
)


# Section 5.4: the loss and the gradient as they are recalled there ----------------------------------------------------


def _mean_squares(count, random):
    """Networks in the plane with their losses, in closed form and by the definition."""
    for drawn in instances.networks(count, random, shapes=((1, 2, 2), (3, 6, 2)), scales=(-0.7, 0.0)):
        _, weights, values = f.on_circle(**drawn)
        yield {**drawn, "loss": f.loss(**drawn), "square": np.sum(weights * values**2, axis=1)}


RECALLED_LOSS = Claim(
    id=f"{PAPER}.section-5.4.loss",
    title="the loss in terms of the residual",
    hypotheses="students and teachers in the plane",
    draw=_mean_squares,
    where=lambda loss, teachers: loss > 1e-7 * np.sum(f.norms(teachers), -1) ** 2,
    left=lambda loss: loss,
    relation="==",
    right=lambda square, factor=1.0: factor * square,
    tolerance=1e-6,
    as_printed=Form(
        "$L(W) = E[R(x)^2]$.",
        recipe=CLOSED_FORMS
        + """
left = loss(students, teachers)
right = square(students, teachers)
""",
    ),
    as_meant=Form("$L(W) = \\frac12E[R(x)^2]$.", factor=0.5),
    supplied="Equation (1), and the appendix, which has $\\|R\\|^2 = 2L$",
    correction="Equation (1) has a factor one half, which the appendix keeps.",
    defect=HALF,
    control=Form("$L(W) = 0.505E[R(x)^2]$.", factor=0.505),
    arithmetic="closed form against Gauss–Legendre rules on the circle",
)


def _differences(count, random):
    """Networks with the gradients of their losses by central differences, and E[R x sgn(w·x)]."""
    count = count // 40
    targets = f.units(random.normal(size=(count, 2, 3))) * random.uniform(0.5, 2, size=(count, 2, 1))
    students = 10.0 ** random.uniform(-1, 0.5, size=(count, 3, 1)) * f.units(random.normal(size=(count, 3, 3)))
    moves = 1e-5 * np.eye(9).reshape(9, 1, 3, 3)
    changes = [f.loss(students + sign * moves, targets) for sign in (1, -1)]
    gradient = ((changes[0] - changes[1]) / 2e-5).T.reshape(count, 3, 3)
    return {
        "students": students,
        "teachers": targets,
        "gradient": gradient,
        "slopes": f.slopes(students, students, targets),
    }


RECALLED_GRADIENT = Claim(
    id=f"{PAPER}.section-5.4.gradient",
    title="the gradient in terms of the residual",
    hypotheses="two teachers, three students of norms from 0.1 to 3 in dimension 3",
    draw=_differences,
    left=lambda gradient: gradient,
    relation="==",
    right=lambda students, slopes, size=0.0, along=0.0: (
        f.norms(students)[..., None] ** size
        * (slopes + along * np.sum(f.units(students) * slopes, -1, keepdims=True) * f.units(students))
    ),
    scale=1e-3,
    tolerance=1e-5,
    as_printed=Form(
        "$\\nabla_{w_j}L(W) = E[R(x)\\,x\\,\\mathrm{sgn}(w_j\\cdot x)]$.",
        recipe=CLOSED_FORMS
        + SLOPES
        + """
left = gradient(students, teachers)
right = np.stack([slope(w, students, teachers) for w in students])
""",
    ),
    as_meant=Form(
        "$\\nabla_{w_j}L(W) = \\|w_j\\|(I + \\bar w_j\\bar w_j^\\top)E[R(x)\\,x\\,\\mathrm{sgn}(w_j\\cdot x)]$.",
        size=1.0,
        along=1.0,
    ),
    supplied="Sections C.5, D.1 and D.2, where the factor stands",
    correction="That is the gradient in the product $\\|w_j\\|w_j$. The factor $\\|w_j\\|(I + \\bar w_j\\bar w_j^\\top)$, which the appendix has, is left "
    "out; it is the factor that makes small stray neurons slow.",
    control=Form("The same with $\\|w_j\\|(I + 0.99\\bar w_j\\bar w_j^\\top)$.", size=1.0, along=0.99),
    arithmetic="closed forms against central differences of the loss",
)
