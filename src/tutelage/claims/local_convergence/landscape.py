r"""The gradient bound (Theorem 3), the descent direction behind it (Lemmas 7 and C.1) and Lemma 8.

Statements for losses below a threshold $\epsilon_0 = \mathrm{poly}(\Delta, 1/r, 1/w_{max}, w_{min})$ are judged for $10^{-11}w_{max}^2 \le L
\le \epsilon_0 = \frac1{100}(\Delta/r)^3w_{min}^2$: below the lower end float64 does not resolve the loss.

The print names no constants. A constant that its proof gives is used where there is one. The others are *observed*: chosen with
a margin after the instances were seen, so that a verdict says that the constant does not grow along the families that are
searched (students from as many as the teachers to 32 times as many, up to sixteen teachers, separations from 0.06 to a right
angle, norms of different sizes, losses over many decades), and no more.
"""

import numpy as np

from tutelage.claims import Claim, Effort, Form, Relation, integers, log_uniform
from tutelage.claims.local_convergence import formulas as f
from tutelage.claims.local_convergence import instances
from tutelage.claims.local_convergence.formulas import ACUTE, CLOSED_FORMS, LINES, PAPER

SMALL = "Assumptions 1 and 2, $L \\le \\epsilon_0 = \\frac1{100}(\\Delta/r)^3w_{min}^2$"
TURNED = "signs of the students chosen so that each has an acute angle to its nearest teacher"


class Small:
    """The sizes that every statement of this kind is about, and whether the loss is below the threshold."""

    def __init__(self, students: np.ndarray, targets: np.ndarray):
        self.loss = f.loss(students, targets)
        sizes = f.norms(targets)
        self.largest, self.smallest = sizes.max(axis=-1), sizes.min(axis=-1)
        self.r = targets.shape[-2]
        self.separation = f.separation(targets)
        self.threshold = 0.01 * (self.separation / self.r) ** 3 * self.smallest**2
        self.holds = (self.loss <= self.threshold) & (self.loss >= 1e-11 * self.largest**2)
        # Where the hypotheses fail the loss may be zero or negative by rounding.
        self.loss = np.where(self.holds, self.loss, self.largest**2)

    def arrays(self) -> dict[str, np.ndarray]:
        """The sizes by name, one entry per instance."""
        sizes = {"loss": self.loss, "largest": self.largest, "smallest": self.smallest, "separation": self.separation}
        return {**sizes, "r": self.r + 0 * self.loss, "small": self.holds}


def is_small(small):
    """The condition of statements about small losses."""
    return small


def _reach(targets, losses, constant: float = 4.0):
    r"""The angle $\delta_{max} = C\,rw_{max}w_{min}^{-5/3}\epsilon^{1/3}$, by default with the constant that suffices for Lemma 8."""
    sizes = f.norms(targets)
    return constant * sizes.shape[1] * sizes.max(axis=1) * sizes.min(axis=1) ** (-5 / 3) * np.cbrt(losses)


# Theorem 3 ------------------------------------------------------------------------------------------------------------


def _quotient(students, targets, power: float):
    r"""$\|\nabla L\|\,w^{2\alpha - 3/2}L^{-\alpha}\sqrt r$, which does not change with the scale of the teacher."""
    small = Small(students, targets)
    size = f.frobenius(f.gradient(students, targets)) * np.sqrt(small.r)
    return small, size * small.largest ** (2 * power - 1.5) / small.loss**power


def _searched(samples: int, random, shape, power: float, generations: int):
    """Networks of one shape whose gradients were made small at their losses, by random moves of the students."""
    i = instances.near_minima(instances.number(samples // 2, shape), random, *shape)
    students, targets = i["students"], i["teachers"]
    small, value = _quotient(students, targets, power)
    value = np.where(small.holds, value, np.inf)
    for _ in range(generations):
        size = f.norms(students).max(axis=1)[:, None, None] * np.sqrt(small.loss / small.largest**2)[:, None, None]
        step = size * 10.0 ** random.uniform(-2, 0.5, size=size.shape) * random.normal(size=students.shape)
        step *= random.uniform(size=(*students.shape[:2], 1)) < 0.5
        moved, found = _quotient(students + step, targets, power)
        better = moved.holds & (found < value)
        students = np.where(better[:, None, None], students + step, students)
        value = np.where(better, found, value)
    return students, targets


def smallest_gradients(effort: Effort, seed: int, power: float, generations: int = 30, shapes=instances.SHAPES[1:]):
    """Search for small gradients at given losses: random moves of the students that are kept if the quotient falls.

    Returns:
        Losses over the square of the largest norm and quotients, an array of each for every shape, and the worst instance.
    """
    losses, quotients, worst = [], [], (np.inf, {})
    for number, shape in enumerate(shapes):
        random = np.random.default_rng([seed, number])
        students, targets = _searched(effort.samples, random, shape, power, generations)
        small, value = _quotient(students, targets, power)
        losses.append((small.loss / small.largest**2)[small.holds])
        quotients.append(value[small.holds])
        value = np.where(small.holds, value, np.inf)
        lowest = int(value.argmin())
        if value[lowest] < worst[0]:
            worst = float(value[lowest]), {"students": students[lowest], "teachers": targets[lowest]}
    return losses, quotients, worst[1]


def _between_pairs(count, mass):
    r"""The loss and its gradient's norm with `count` orthonormal teachers and stray students of a total mass between all pairs of lines.

    By symmetry the students at the teachers only shrink, and all stray ones are pushed alike, along themselves: the loss is
    $cA^2$ for the mass $A$, and the gradient has the norm $4L/\sqrt A$.
    """
    line, near, apart = (2 / np.pi * (np.cos(t) + t * np.sin(t)) for t in (0.0, np.pi / 6, np.pi / 4))
    own = (1 + 4 * (count - 2) * near + (count * (count - 1) - 4 * count + 7) * line) / (count * (count - 1))
    fitted = (2 * apart + (count - 2) * line) ** 2 / (count * (1 + (count - 1) * line))
    loss = (own - fitted) / 2 * mass**2
    return loss, 4 * loss / np.sqrt(mass)


def _small_gradients(count, random):
    searched = (_searched(count // 20, random, shape, 0.75, 30) for shape in instances.ALL[1:])
    for students, targets in (*searched, *(drawn.values() for drawn in instances.many_teachers(random))):
        size = f.frobenius(f.gradient(students, targets))
        yield {"students": students, "teachers": targets, "size": size, **Small(students, targets).arrays()}


THEOREM_3 = Claim(
    id=f"{PAPER}.theorem-3",
    title="gradient lower bound",
    hypotheses=(
        SMALL,
        "$r \\le 16$, $m \\le 64$, $d \\le 16$, signs of the students arbitrary; and up to 1000 orthonormal teachers with stray students between all pairs",
    ),
    draw=_small_gradients,
    where=is_small,
    left=lambda size: size,
    relation=">=",
    right=lambda loss, separation, r, constant=0.9, per_teacher=0.25: (
        constant * separation**0.75 * r**-per_teacher * loss**0.75
    ),
    also=[
        Relation(
            {"count": integers(2, 1000), "mass": log_uniform(1e-6, 1e-4)},
            left=lambda count, mass: _between_pairs(count, mass)[1],
            relation=">=",
            right=lambda count, mass, constant=0.9, per_teacher=0.25: (
                constant * (np.pi / 2) ** 0.75 * count**-per_teacher * _between_pairs(count, mass)[0] ** 0.75
            ),
            scale=0.0,
        )
    ],
    as_printed="$\\|\\nabla L\\|_F \\ge \\kappa L$ with $\\kappa = \\Theta(r^{-1/2}w_{max}^{-1/2})$; judged as $\\|\\nabla L\\|_F \\ge 0.9(\\Delta^3/r)^{1/4}L^{3/4}$, which "
    "is stronger: below the threshold it gives $\\kappa = 2.8(r/w_{min})^{1/2}$. (The constant is observed: stray students at $(e_i \\pm e_j)/\\sqrt2$ beside "
    "orthonormal teachers tend to 0.907 from above as $r$ grows, and those in all gaps of a fan to 1.142. Below any threshold that falls with $r$, "
    "$\\kappa L$ itself is far from sharp.)",
    control=Form("The same with $r^{-0.24}$ for $r^{-1/4}$.", per_teacher=0.24),
    arithmetic="closed form in float64; random instances and a search by random moves",
)


# Appendix B -----------------------------------------------------------------------------------------------------------


def _spread(students, targets, near):
    """Size of the descent direction with q spread by norm over the students nearby, and its two sums."""
    mass = np.einsum("nji,nj->ni", near, f.norms(students) ** 2)
    q = near * f.norms(students)[..., None] / np.maximum(mass, 1e-300)[:, None]
    goals = students - np.einsum("nji,nid->njd", q, targets)
    unit = f.units(students)
    direction = f.frobenius(goals - np.sum(unit * goals, axis=-1, keepdims=True) * unit / 2) ** 2
    own = np.sum(f.norms(targets) ** 2 / np.maximum(mass, 1e-300), axis=1)
    return {"direction": direction, "total": np.sum(f.norms(students) ** 2, axis=1) + own, "full": np.all(mass > 0, 1)}


@instances.once
def _directions(count, random):
    """Networks, near minima and far from them, with the descent direction for students within reach of their teachers.

    The first has nearly all of a teacher's mass at its negative.
    """
    uneven = np.array([[1e-2, 0.0], [-np.sqrt(1 - 1e-4), 1e-4]])
    pair = {"students": uneven[None].repeat(8, 0), "teachers": np.eye(2)[None, :1].repeat(8, 0)}
    drawings = (instances.networks(count, random, scales=scales) for scales in (instances.NEAR, (-0.5, 1.0)))
    for drawn in (pair, *(one for some in drawings for one in some)):
        students, targets = drawn["students"], drawn["teachers"]
        small = Small(students, targets)
        turned = f.turned(students, targets)
        reach = np.where(small.holds, _reach(targets, small.loss), np.pi)
        found = {"slope": f.frobenius(f.gradient(students, targets)), **small.arrays()}
        for name, signed in (("", students), ("turned_", turned)):
            spread = _spread(signed, targets, _near(signed, targets, reach))
            found |= {f"{name}{key}": value for key, value in spread.items()}
        yield {**drawn, **found}


DIRECTION_SIZE = Claim(
    id=f"{PAPER}.section-B.size",
    title="size of the descent direction",
    hypotheses="any students and teachers, no $T_i(\\delta_{max})$ empty; $q_{ij} = \\|w_j\\|/\\sum_{j\\in T_i(\\delta_{max})}\\|w_j\\|^2$",
    draw=_directions,
    where=lambda full: full,
    left=lambda direction: direction,
    relation="<=",
    right=lambda total, constant=1.0: constant * total,
    as_printed="$\\sum\\|(I + \\bar w_j\\bar w_j^\\top)^{-1}(w_j - q_{ij}w^*_i)\\|^2 \\le 2\\sum\\|w_j\\|^2 + 2\\sum_i\\|w^*_i\\|^2/\\sum_{j\\in "
    "T_i(\\delta_{max})}\\|w_j\\|^2$; judged without the factors 2, which is stronger: the radial part is halved.",
    control=Form("The same with the factor 0.98.", constant=0.98),
)


def _bounded_direction(slope, direction, turned_direction, largest, r, lines=0.0):
    size = turned_direction if lines else direction
    return np.stack([slope * np.sqrt(size), 3 * r * largest], -1)


EQUATION_7 = Claim(
    id=f"{PAPER}.equation-7",
    title="the gradient bound from the descent direction",
    hypotheses=(SMALL, "$q_{ij}$ as before, $\\delta_{max} = 4rw_{max}w_{min}^{-5/3}\\epsilon^{1/3}$"),
    draw=_directions,
    where=lambda full, turned_full, small, lines=0.0: (turned_full if lines else full) & small,
    left=_bounded_direction,
    relation=">=",
    right=lambda loss, direction, turned_direction, lines=0.0, factor=1.0: np.stack(
        [factor * loss, turned_direction if lines else direction], -1
    ),
    as_printed=Form(
        "$\\|\\nabla L\\|_F(\\sum\\|(I + \\bar w_j\\bar w_j^\\top)^{-1}(w_j - q_{ij}w^*_i)\\|^2)^{1/2} \\ge L$, and the second factor is $O(rw_{max})^{1/2}$; "
        "judged with $3rw_{max}$, which is observed (the proof gives $8.5rw_{max}$).",
        recipe=CLOSED_FORMS
        + """
(teacher,) = teachers  # one is enough
size = np.linalg.norm(teacher)
near = [angle(w, teacher) <= 4 * size ** (-2 / 3) * loss(students, teachers) ** (1 / 3) for w in students]
mass = sum([w @ w for w, close in zip(students, near) if close])
left, right = 3 * size, 0.0
for w, close in zip(students, near):
    goal = w - (np.linalg.norm(w) / mass * teacher if close else 0 * teacher)  # q is large on a small student
    along = (w @ goal) / (w @ w) * w
    right = right + np.sum((goal - along / 2) ** 2)
""",
    ),
    as_meant=Form(f"The same with the {TURNED}.", lines=1.0),
    supplied=ACUTE,
    correction="It rests on Lemma 8: where nearly all of a teacher's mass is at $-w^*_i$, what is in $T_i(\\delta_{max})$ may be as small as one likes, and $q$ as large.",
    defect=LINES,
    control=Form("That with $2.1L$; $\\|R\\|^2 = 2L$ is approached.", lines=1.0, factor=2.1),
)


# Lemma 7 and Lemma C.1: the descent direction -------------------------------------------------------------------------


def correlation(students, targets, near):
    r"""The smallest $\sum_j\langle\nabla_{w_j}L, (I+\bar w_j\bar w_j^\top)^{-1}(w_j - q_{ij}w^*_i)\rangle$ over all sequences $q$ of Lemma 7.

    It is linear in $q$, so that the smallest value has $q_{ij} = 1/\|w_j\|$ on one near student of every teacher.

    Args:
        students: Students, `[..., student, dim]`.
        targets: Teachers, `[..., teacher, dim]`.
        near: Which students $q$ may be on, `[..., student, teacher]`, non-zero ones; a teacher without any has no term.
    """
    slopes = f.slopes(students, students, targets)
    pulls = np.where(near, np.einsum("...jd,...id->...ji", slopes, targets), -np.inf).max(axis=-2)
    still = np.sum(f.products(students) * slopes, axis=(-2, -1))
    return still - np.sum(np.where(near.any(axis=-2), pulls, 0.0), axis=-1)


def _near(students, targets, reach):
    turn = f.angles(students, targets)
    return f.membership(turn) & (turn <= reach[..., None, None]) & (f.norms(students) > 0)[..., None]


def _threshold(targets):
    r"""The threshold of Lemma 7, $\Delta^9r^{-15}(w_{min}/w_{max})^{18}w_{min}^2$, but for its constant.

    By the proof of Lemma C.1 the correlation is $2L$ up to an error of the order $w_{max}\delta_{max}^2\sum_i\|v_i\|$, and by Lemma 10
    $\sum_i\|v_i\| \le \sqrt r\|v\|$ is of the order $\sqrt r\Delta^{-3/2}L^{1/2}$ if $\|R_1\|^2$ is of the order $L$: the error is below $L$ if
    $L$ is below this, with a small constant.
    """
    sizes = f.norms(targets)
    return f.separation(targets) ** 9 / float(sizes.shape[1]) ** 15 * sizes.min(axis=1) ** 20 / sizes.max(axis=1) ** 18


def _tilted(count, random, r, limit):
    """Teachers in the plane, students that miss them slightly, and tiny ones at both ends of the reach of Lemma 7.

    A residual with a slope across a teacher's line is where the correlation is smallest beside the loss.
    """
    turn = np.pi / r * (np.arange(r) + random.uniform(0, 0.3, size=(count, r)))
    sizes = 10.0 ** (random.uniform(-0.1, 0.1, size=(count, r)) * (random.uniform(size=(count, 1)) < 0.5))
    targets = sizes[..., None] * np.stack([np.cos(turn), np.sin(turn)], axis=-1)
    missed = random.normal(size=(count, 2 * r))
    spectrum, vectors = np.linalg.eigh(f.sign_matrix(targets))
    # Half of them along the eigenvector that costs least.
    missed = np.where(np.arange(count)[:, None] % 2, vectors[..., 0], missed)
    losses = limit * _threshold(targets) * 10.0 ** -random.uniform(0, 2, size=count)
    cost = np.sum(spectrum * np.einsum("nab,na->nb", vectors, missed) ** 2, axis=1) / 2
    main = targets + (np.sqrt(losses / cost)[:, None] * missed).reshape(count, r, 2)
    ends = turn[..., None] + 0.98 * _reach(targets, losses)[:, None, None] * np.array([1.0, -1.0])
    tiny = 1e-3 * np.sqrt(losses)[:, None, None, None] * np.stack([np.cos(ends), np.sin(ends)], axis=-1)
    products = np.concatenate([main, tiny.reshape(count, 2 * r, 2)], axis=1)
    return {"students": f.students_of(products), "teachers": targets}


def _on_circle(students, targets):
    """The loss and the smallest correlation by Equation (12), by rules on the circle, for losses far below rounding."""
    points, weights, values = f.on_circle(students, targets)
    losses = 0.5 * np.sum(weights * values**2, axis=1)
    near = _near(students, targets, _reach(targets, losses))
    taught = np.einsum("npd,nid->npi", points, targets)
    learned = np.sign(np.einsum("npd,njd->npj", points, students))
    pulls = np.einsum("np,npi,npj->nji", weights * values, taught, learned, optimize=True)
    own = np.einsum("np,npi->ni", weights * values, np.abs(taught))
    worst = np.where(near, pulls - own[:, None], -np.inf).max(axis=1)
    return losses, 2 * losses - np.sum(np.where(near.any(axis=1), worst, 0.0), axis=1), near


def _correlations(count, random, limit=5e-11):
    """Networks below the threshold, with their losses and the smallest correlations of Lemma 7."""
    around = instances.networks(count, random, shapes=((1, 2, 2), (1, 4, 3)), scales=(-5.0, -3.0))
    for drawn in (*around, *(_tilted(count // 8, random, r, limit) for r in (1, 2, 3))):
        students, targets = drawn["students"], drawn["teachers"]
        resolved = 1e-11 if len(students[0]) == 2 or targets.shape[2] == 3 else 1e-26
        if resolved == 1e-26:
            losses, right, near = _on_circle(students, targets)
        else:
            losses = f.loss(students, targets)
            near = _near(students, targets, _reach(targets, np.maximum(losses, 0)))
            right = correlation(students, targets, near)
        counted = (losses <= limit * _threshold(targets)) & (losses >= resolved * f.norms(targets).max(axis=1) ** 2)
        yield {**drawn, "loss": losses, "correlation": right, "small": counted & near.any(axis=1).all(axis=1)}


LEMMA_7 = Claim(
    id=f"{PAPER}.lemma-7",
    title="a direction of descent",
    hypotheses=(
        "Assumptions 1 and 2, $r \\le 3$, $L \\le \\epsilon_0 = 5\\cdot10^{-11}\\Delta^9r^{-15}(w_{min}/w_{max})^{18}w_{min}^2$",
        "$\\delta_{max} = 4rw_{max}w_{min}^{-5/3}\\epsilon^{1/3}$, all $T_i(\\delta_{max})$ non-empty, as they must be for a sequence $q_{ij}$; the "
        "worst of all sequences",
    ),
    draw=_correlations,
    where=is_small,
    left=lambda correlation: correlation,
    relation=">=",
    right=lambda loss: loss,
    scale=0.0,
    as_printed="$\\sum_i\\sum_{j\\in T_i}\\langle\\nabla_{w_j}L, (I+\\bar w_j\\bar w_j^\\top)^{-1}(w_j - q_{ij}w^*_i)\\rangle \\ge L$.",
    control=Form("The same with $10^{-9}$ in place of $5\\cdot10^{-11}$.", limit=1e-9),
    arithmetic="closed form in float64; Gauss–Legendre rules on the circle for smaller losses",
    note="the correlation tends to 2L from below; for one teacher of norm one it is below L on some networks from L = 1.2e-7 on",
)


def _orders(r, largest, ratio, separation, share, power):
    """Logarithms of ε, a share of the printed threshold, and of the error: the numbers themselves underflow."""
    smallest = np.log(largest * ratio)
    r, largest, separation = np.log(r), np.log(largest), np.log(separation)
    epsilon = np.log(share) + power * separation + 80 * smallest - 162 * r - 78 * largest
    alpha = 2.75 * r + 0.25 * largest - 1.5 * separation + 0.375 * epsilon
    reach = r + largest - 5 / 3 * smallest + epsilon / 3
    return epsilon, 2 * r + largest + alpha + 2 * reach


THRESHOLD = Claim(
    id=f"{PAPER}.section-C.1.threshold",
    title="the threshold of Lemma 7",
    hypotheses="hidden constants one, $\\Delta \\le \\frac\\pi2$, $\\epsilon \\le \\epsilon_0$, $r \\le 1000$",
    draw={
        "r": integers(1, 1000),
        "largest": log_uniform(1e-3, 1e3),
        "ratio": log_uniform(1e-3, 1),
        "separation": log_uniform(1e-3, np.pi / 2),
        "share": log_uniform(1e-3, 1),
    },
    left=lambda r, largest, ratio, separation, share, power=36.0: (
        _orders(r, largest, ratio, separation, share, power)[1]
        - _orders(r, largest, ratio, separation, share, power)[0]
    ),
    relation="<=",
    right=1e-9,
    scale=1.0,
    as_printed="$r^2w_{max}\\alpha\\delta_{max}^2 \\le \\epsilon$ for $\\epsilon \\le \\epsilon_0 = \\Delta^{36}w_{min}^{80}r^{-162}w_{max}^{-78}$; in logarithms.",
    control=Form("The same with $\\Delta^{35.9}$.", power=35.9),
)


def _general_directions(count, random):
    """Networks, with the smallest correlation of Lemma C.1 for the smallest reach and for one that has all students."""
    for scales in (instances.NEAR, (-1.0, 1.0)):
        for drawn in instances.networks(count, random, scales=scales):
            students, targets = drawn["students"], drawn["teachers"]
            turn = f.angles(students, targets)
            own = np.where(f.membership(turn) & (f.norms(students) > 0)[..., None], turn, np.inf)
            bulk = targets.shape[1] ** 2 * f.norms(targets).max(axis=1)
            alpha = f.norms(f.gaps(students, targets)).max(axis=1)
            full = np.all(np.any(np.isfinite(own), axis=1), axis=1)
            for reach in (own.min(axis=1).max(axis=1), np.where(np.isfinite(own), own, 0).max(axis=(1, 2))):
                near = np.isfinite(own) & (own <= reach[:, None, None])
                error = bulk * alpha * np.where(np.isfinite(reach), reach, 0.0) ** 2
                smallest = correlation(students, targets, near)
                square = 2 * f.loss(students, targets)
                yield {**drawn, "correlation": smallest, "square": square, "error": error, "full": full}


LEMMA_C_1 = Claim(
    id=f"{PAPER}.lemma-C.1.direction",
    title="the descent direction in terms of the average neurons",
    hypotheses="any loss; all $T_i(\\delta_{max})$ non-empty, $\\|v_i\\| \\le \\alpha$; the worst of all sequences $q_{ij}$",
    draw=_general_directions,
    where=lambda full: full,
    left=lambda correlation: correlation,
    relation=">=",
    right=lambda square, error, constant=2 / np.pi: square - constant * error,
    scale=lambda teachers: 1e-3 * np.sum(f.norms(teachers), -1) ** 2,
    as_printed="$\\sum\\langle\\nabla_{w_j}L, (I+\\bar w_j\\bar w_j^\\top)^{-1}(w_j - q_{ij}w^*_i)\\rangle \\ge \\|R\\|^2 - O(r^2w_{max}\\alpha\\delta_{max}^2)$; "
    "judged with the constant $2/\\pi$: the proof gives $6/\\pi$, and the mean of $|\\bar v\\cdot x||\\bar w^*_i\\cdot x|$ on the wedge is at most "
    "$\\sin^2(\\delta_j)/\\pi$ for acute angles, for $\\bar v$ across $w^*_i$ in its plane.",
    control=Form("The same with the constant 0.6.", constant=0.6),
)


# Lemma 8 --------------------------------------------------------------------------------------------------------------


def _needed(students, targets, losses):
    """The constants that two reaches need for each student, and the masses by teacher, relative to the teacher's norm.

    The reaches are δ_max as printed, and that of the nearest teacher by its own norm, without the number of teachers.
    """
    turn, sizes = f.angles(students, targets), f.norms(targets)
    mass = f.norms(students)[..., None] ** 2 * f.membership(turn) / sizes[:, None]
    each = np.cbrt(losses[:, None] / np.take_along_axis(sizes, f.nearest(turn), axis=1) ** 2)
    units = np.stack([np.broadcast_to(_reach(targets, losses, 1.0)[:, None], each.shape), each], -1)
    return f.own_angles(turn)[..., None] / units, mass


def _nearby(count, random):
    """Networks, rings among them, with what is near each teacher, for students as they are and with their signs chosen."""
    rings = (instances.cones(m, random) for m in (2, 4, 8, 16, 32, 64))
    alone = instances.networks(count, random, shapes=((1, 4, 3), (1, 9, 4)), scales=(-3.0, -0.5))
    for drawn in (*instances.networks(count, random, shapes=instances.ALL), *alone, *rings):
        students, targets = drawn["students"], drawn["teachers"]
        small = Small(students, targets)
        needed, mass = _needed(students, targets, small.loss)
        turned_needed, turned_mass = _needed(f.turned(students, targets), targets, small.loss)
        turned = {"turned_needed": turned_needed, "turned_mass": turned_mass}
        yield {**drawn, "needed": needed, "mass": mass, **turned, "small": small.holds}


def _least_mass(needed, mass, turned_needed, turned_mass, lines=0.0, constant=4.0, each=0):
    needed, mass = (turned_needed, turned_mass) if lines else (needed, mass)
    return np.min(np.sum(mass * (needed[..., each] <= constant)[..., None], -2), -1)


LEMMA_8 = Claim(
    id=f"{PAPER}.lemma-8",
    title="every teacher has students nearby",
    hypotheses=(SMALL, "$\\delta_{max} = 4rw_{max}w_{min}^{-5/3}\\epsilon^{1/3}$, the constant observed"),
    draw=_nearby,
    where=is_small,
    left=_least_mass,
    relation=">=",
    right=0.5,
    as_printed=Form(
        "$T_i(\\delta_{max})$ is not empty and $\\sum_{j\\in T_i(\\delta_{max})}\\|w_j\\|^2 \\ge \\frac12\\|w^*_i\\|$ for all $i$.",
        recipe=CLOSED_FORMS
        + """
(teacher,) = teachers  # one is enough
size = np.linalg.norm(teacher)
reach = 4 * size ** (-2 / 3) * loss(students, teachers) ** (1 / 3)
near = [w for w in students if np.linalg.norm(w) > 0 and angle(w, teacher) <= reach]
left = sum([w @ w for w in near]) / size  # the mass nearby: none, if the students point the other way
""",
    ),
    as_meant=Form(f"The same with the {TURNED}.", lines=1.0),
    supplied=ACUTE,
    corrected=Form(
        f"The same with $\\delta_{{max}} = 4(\\epsilon/\\|w^*_i\\|^2)^{{1/3}}$ for the $i$th teacher, whatever $r$, and the {TURNED}.",
        lines=1.0,
        each=1,
    ),
    correction="$-w^*_i$ fits as well as $w^*_i$, but is not in $T_i(\\delta)$ for $\\delta < \\pi$: angles must be those of lines. The teacher's own norm takes the "
    "place of $r^3w_{max}^3w_{min}^{-5}$: what happens within $\\delta$ of a teacher does not depend on the others. With a teacher's mass on two students "
    "at $\\pm\\delta$ the loss is $\\frac2{3\\pi}\\delta^3$, so that $C > 1.68$ for $r = 1$. A ring of students with half of the mass is worse: $C > 2.66$ "
    "for two of them, 3.23 for eight in five dimensions, 3.52 for 64, and $(6\\pi/(\\sqrt2-1))^{1/3} = 3.57$ in the limit. For $r = 1$ nothing is worse "
    "than a ring: the smallest loss with less than half of the mass nearby is a convex problem, whose conditions of optimality it satisfies. 4 suffices, "
    "for all $r$ tried.",
    defect=LINES,
    control=Form("The corrected form with the constant 3.5 instead of 4.", lines=1.0, constant=3.5, each=1),
)
