r"""Sections C.4.4 and C.7: Hermite test functions, and students that are far from all teachers (Lemma C.4)."""

from itertools import combinations, permutations, product
from math import lgamma

import numpy as np

from tutelage.claims import Claim, Form, Relation, fitted_order, integers, log_uniform, uniform
from tutelage.claims.local_convergence import formulas as f
from tutelage.claims.local_convergence import instances
from tutelage.claims.local_convergence.formulas import ACUTE, DIAGONAL, LINES, PAPER


def hermite_polynomials(x: np.ndarray, most: int) -> np.ndarray:
    """The normalized Hermite polynomials up to a degree, at all points: `[degree, ...]`."""
    values = [np.ones_like(x), x]
    for k in range(1, most):
        values.append((x * values[k] - np.sqrt(k) * values[k - 1]) / np.sqrt(k + 1))
    return np.stack(values)


def hermite_coefficient(k: int) -> float:
    r"""Lemma C.6: the coefficient of $|x|$ at the normalized Hermite polynomial of an even degree.

    $\hat\sigma_k = (-1)^{k/2-1}\sqrt{2/(\pi k!)}\,(k-3)!!$ for $k \ge 2$, with $(-1)!! = 1$.
    """
    if k == 0:
        return float(np.sqrt(2 / np.pi))
    half = k // 2 - 1
    # (2n − 1)!! = (2n)!/(2ⁿ n!) with n = k/2 − 1.
    double = lgamma(2 * half + 1) - half * np.log(2) - lgamma(half + 1)
    return float((-1) ** half * np.exp(0.5 * (np.log(2 / np.pi) - lgamma(k + 1)) + double))


def hermite_norm_square(targets: np.ndarray, degree: int) -> np.ndarray:
    r"""$\|h\|^2 = \frac\pi2 + \hat\sigma_l^{-2}\sum_{k,k'}\langle\bar w^*_k, \bar w^*_{k'}\rangle^l$ for the test function of Section C.4.4."""
    cosines = np.cos(f.angles(targets, targets))
    return np.pi / 2 + np.sum(cosines**degree, axis=(-2, -1)) / hermite_coefficient(degree) ** 2


# Section C.7 ----------------------------------------------------------------------------------------------------------


def _coefficients(count, random):
    """The coefficients of degrees 0 to 40 by Gauss–Legendre rules, and in closed form."""
    nodes, weights = np.polynomial.legendre.leggauss(400)
    x = 7.5 * (nodes + 1)
    measure = 7.5 * weights * np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)
    degrees = np.arange(0, 41, 2)
    closed = np.array([hermite_coefficient(int(k)) for k in degrees])
    return {"degree": degrees, "integral": 2 * hermite_polynomials(x, 40)[::2] @ (measure * x), "closed": closed}


LEMMA_C_6 = Claim(
    id=f"{PAPER}.lemma-C.6.coefficients",
    title="Hermite coefficients of the absolute value",
    hypotheses="even degrees up to 40 (odd ones vanish by symmetry)",
    draw=_coefficients,
    left=lambda integral: integral,
    relation="==",
    right=lambda closed, factor=1.0: factor * closed,
    scale=1e-2,
    tolerance=1e-7,
    as_printed="$\\hat\\sigma_0 = \\sqrt{2/\\pi}$, $\\hat\\sigma_2 = \\sqrt{1/\\pi}$, $\\hat\\sigma_k = (-1)^{k/2-1}\\sqrt{2/(\\pi k!)}\\,(k-3)!!$ for even $k \\ge 4$.",
    control=Form("One per cent more.", factor=1.01),
    arithmetic="closed form against a Gauss–Legendre rule",
)


def _large_degrees(count, random):
    sizes = 2 ** np.arange(6, 15)
    return {"sizes": sizes[None], "squares": np.array([[hermite_coefficient(int(k)) ** 2 for k in sizes]])}


COEFFICIENT_ORDER = Claim(
    id=f"{PAPER}.lemma-C.6.order",
    title="order of the Hermite coefficients",
    hypotheses="even degrees from $2^6$ to $2^{14}$",
    draw=_large_degrees,
    left=lambda sizes, squares: fitted_order(sizes, squares),
    relation="==",
    right=lambda power=1.5: -power,
    tolerance=0.005,
    as_printed=Form(
        "$\\hat\\sigma_k^2 = \\Theta(k^{-3/2})$: the fitted power of $k$ is $-\\frac32$.",
        recipe="""
logs, square, k = [], 2 / np.pi / 2, 2  # the square of the second coefficient, and each from the one before
for number in range(6, 15):
    while k < 2**number:
        square, k = square * (k - 1) ** 2 / ((k + 1) * (k + 2)), k + 2
    logs.append(np.log(square))
steps = np.arange(9) - 4  # of the logarithms of k, in units of log 2, around their mean
left = sum([step * one for step, one in zip(steps, logs)]) / (60 * np.log(2))  # the fitted power of k
""",
    ),
    corrected=Form(
        "$\\hat\\sigma_k^2 = \\Theta(k^{-5/2})$; they are $(2/\\pi)^{3/2}k^{-5/2}$ for large $k$.", power=2.5
    ),
    correction="$(k-3)!!^2/k! = (k-1)!!/(k!!\\,(k-1)^2)$, and $(k-1)!!/k!!$ is of the order $k^{-1/2}$: the power is $-\\frac52$. The bound of Lemma "
    "C.4's proof on its test function grows accordingly.",
    control=Form("The fitted power is $-2.45$.", power=2.45),
)


def _tables(count, random):
    """E[h_m(x)h_n(y)] for correlated variables, degrees up to 8, by rules that are exact for these."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    weights, degrees = weights / weights.sum(), np.arange(9)
    correlations, tables = np.linspace(-1, 1, 21), []
    for rho in correlations:
        second = hermite_polynomials(rho * nodes[:, None] + np.sqrt(1 - rho**2) * nodes, 8)
        tables.append(
            np.einsum("x,y,mx,nxy->mn", weights, weights, hermite_polynomials(nodes, 8), second, optimize=True)
        )
    wanted = np.stack([np.diag(rho**degrees) for rho in correlations])
    return {"correlation": correlations, "table": np.stack(tables), "wanted": wanted}


CLAIM_C_1 = Claim(
    id=f"{PAPER}.claim-C.1",
    title="Hermite polynomials of correlated normal variables",
    hypotheses="degrees up to 8, correlations from $-1$ to 1",
    draw=_tables,
    left=lambda table: table,
    relation="==",
    right=lambda wanted, factor=1.0: factor * wanted,
    as_printed="$E[h_m(x)h_n(y)] = \\rho^n\\delta_{mn}$.",
    control=Form("One per cent more.", factor=1.01),
    arithmetic="Gauss–Hermite rules, exact for these degrees",
)


# Section C.4.4 --------------------------------------------------------------------------------------------------------

COSINE = Claim(
    id=f"{PAPER}.section-C.4.4.cosine",
    title="the correlation falls with the angle",
    hypotheses="even $l \\ge 2$, any angle",
    draw={"half": integers(1, 40), "phi": uniform(0, np.pi)},
    left=lambda half, phi: (np.cos(phi) ** 2) ** half,
    relation="<=",
    right=lambda phi, constant=1.0: 1 - constant * np.sin(phi) ** 2,
    also=[
        Relation(
            {"half": integers(1, 40), "part": uniform(0, 1)},
            left=lambda half, part: np.stack([(1 - part / half) ** half, (1 - 1 / half) ** half], -1),
            relation="<=",
            right=lambda part: np.stack([1 - part / 2, np.exp(-1) + 0 * part], -1),
        )
    ],
    as_printed="$\\cos^l\\phi \\le 1 - \\frac14\\sin^2\\phi$, by $\\cos^l\\phi \\le 1 - \\frac l4\\sin^2\\phi$ for $\\sin^2\\phi \\le 2/l$ and $(1 - 2/l)^{l/2} \\le 1/e$; the first judged without the factor $\\frac14$, which makes $\\pi^2$ in the lemma $\\frac14\\pi^2$.",
    control=Form("$\\cos^l\\phi \\le 1 - 1.01\\sin^2\\phi$.", constant=1.01),
)


def _far_away(separation, share, epsilon, end=np.pi, less=0.0):
    most = end - less * separation / 2
    degree = 2 * np.maximum(np.ceil(np.log(1 / epsilon) / -np.log(np.cos(separation / 2))), 1)
    return {"phi": separation / 2 + (most - separation / 2) * share, "degree": degree, "epsilon": epsilon}


FAR = Claim(
    id=f"{PAPER}.section-C.4.4.far",
    title="the correlation with other teachers is small",
    hypotheses="$l = 2\\max\\{\\lceil\\log(1/\\epsilon)/\\log(1/\\cos(\\Delta/2))\\rceil, 1\\}$, $\\epsilon \\le \\frac1{10}$",
    draw={"separation": log_uniform(0.05, np.pi / 2), "share": uniform(0, 1), "epsilon": log_uniform(1e-8, 0.1)},
    build=_far_away,
    left=lambda phi, degree: np.abs(np.cos(phi)) ** degree,
    relation="<=",
    right=lambda epsilon, power=1.0: epsilon**power,
    scale=0.0,
    as_printed="$\\cos^l\\phi \\le \\epsilon$ for $\\phi \\ge \\frac\\Delta2$.",
    as_meant=Form("The same for $\\frac\\Delta2 \\le \\phi \\le \\frac\\pi2$.", end=np.pi / 2),
    supplied=ACUTE,
    corrected=Form(
        "$\\cos^l\\phi \\le \\epsilon^2$ for $\\frac\\Delta2 \\le \\phi \\le \\pi - \\frac\\Delta2$.",
        less=1.0,
        power=2.0,
    ),
    correction="A student at $-w^*_k$ has the angle $\\pi$ and $\\cos^l\\phi = 1$: its line is that of a teacher. (By the choice of $l$ the bound is "
    "even $\\epsilon^2$.)",
    defect=LINES,
    control=Form("That with $\\epsilon^{2.1}$.", end=np.pi, less=1.0, power=2.1),
)


def _norms(count, random):
    """Orthonormal teachers, and the norm of the test function of the printed degree."""
    for r in (2, 4, 8):
        targets = np.linalg.qr(random.normal(size=(64, r, r)))[0]
        epsilon = 10.0 ** -random.uniform(1, 8, size=64)
        half = f.separation(targets) / 2
        degree = 2 * np.maximum(np.ceil(np.log(1 / epsilon) / -np.log(np.cos(half))), 1).astype(int)
        exact = np.array([hermite_norm_square(t, n) for t, n in zip(targets, degree.tolist(), strict=True)])
        yield {"teachers": targets, "epsilon": epsilon, "degree": degree, "exact": exact, "r": r + 0 * exact}


TEST_NORM = Claim(
    id=f"{PAPER}.section-C.4.4.norm",
    title="norm of the Hermite test function",
    hypotheses="$r \\in \\{2, 4, 8\\}$ orthonormal teachers, $\\epsilon \\le \\frac1{10}$, $l = 2\\lceil\\log(1/\\epsilon)/\\log(1/\\cos(\\Delta/2))\\rceil$",
    draw=_norms,
    left=lambda exact: exact,
    relation="<=",
    right=lambda degree, epsilon, r, diagonal=0.0, constant=10.0: (
        np.pi / 2 + constant * degree**2.5 * (r**2 * epsilon + diagonal * r)
    ),
    as_printed=Form(
        "$\\|h\\|^2 = \\frac\\pi2 + O(l^{3/2}r^2\\epsilon)$; judged as $\\frac\\pi2 + 10\\,l^{5/2}r^2\\epsilon$, with the right power of $l$ and an observed "
        "constant.",
        recipe="""
square = 2 / np.pi / 2  # of the second Hermite coefficient; each square from the one before
for k in range(2, degree, 2):
    square = square * (k - 1) ** 2 / ((k + 1) * (k + 2))
left = np.pi / 2 + np.sum((teachers @ teachers.T) ** degree) / square  # the diagonal terms are one
right = np.pi / 2 + 10 * degree**2.5 * len(teachers) ** 2 * epsilon
""",
    ),
    corrected=Form(
        "$\\|h\\|^2 \\le \\frac\\pi2 + (\\frac\\pi2)^{3/2}l^{5/2}(r + r^2\\epsilon)$.",
        diagonal=1.0,
        constant=(np.pi / 2) ** 1.5,
    ),
    correction="In $\\sum_{k,k'}\\langle\\bar w^*_k, \\bar w^*_{k'}\\rangle^l$ the terms $k = k'$ are one, not at most $\\epsilon$: $\\|h\\|$ is of the order $\\sqrt "
    "r\\,l^{5/4}$, not bounded.",
    defect=DIAGONAL,
    control=Form("The corrected form with 1.85 for $(\\frac\\pi2)^{3/2} = 1.97$.", diagonal=1.0, constant=1.85),
)


def _moved_mass(drawn):
    """Σ‖w‖²δ² with the angles of lines, the loss, and whether it is resolved and small."""
    students, targets = drawn["students"], drawn["teachers"]
    mass, epsilon = f.norms(students) ** 2, f.loss(students, targets)
    resolved = epsilon > 1e-11 * np.sum(f.norms(targets), axis=-1) ** 2
    small = resolved & (epsilon <= 0.01 * np.min(f.norms(targets), axis=-1) ** 2)
    lines = np.sum(mass * f.own_angles(f.line_angles(students, targets)) ** 2, axis=-1)
    return {**drawn, "lines": lines, "epsilon": np.where(resolved, epsilon, 1.0), "small": small}


@instances.once
def _strays(count, random):
    """Frames and other networks, with the best bound that the printed test function gives."""
    for drawn in (instances.frame(16, random), *instances.networks(count, random)):
        found, targets = _moved_mass(drawn), drawn["teachers"]
        r, half = targets.shape[-2], f.separation(targets) / 2
        mass = np.sum(f.norms(drawn["students"]) ** 2, axis=-1)
        bounds = [
            np.sqrt(2 * found["epsilon"] * hermite_norm_square(targets, degree))
            + (r - 1) * np.cos(half) ** degree * mass
            for degree in (2, 4, 6, 8, 12, 16, 24, 32, 48, 64)
        ]
        sizes = {"r": r + 0 * mass, "largest": f.norms(targets).max(axis=-1), "separation": 2 * half}
        yield {**found, **sizes, "hermite": np.min(np.stack(bounds), axis=0)}


_FRAMES = {"power": integers(1, 10), "mass": log_uniform(1e-16, 1e-14)}


def _frame_mass(power, mass):
    """Σ‖w‖²δ² for 4ᵏ orthonormal teachers and a student of a given mass on each row of a Hadamard matrix."""
    return 4.0**power * mass * np.arctan2(np.sqrt(4.0**power - 1), 1.0) ** 2


def _frame_loss(power, mass):
    """The loss there, the norms of the students at the teachers being fitted; by the sums of the kernel over all pairs."""
    r = 4.0**power
    turn = np.arctan2(np.sqrt(r - 1), 1.0)
    own = r + 2 / np.pi * r * (r - 1)
    cross = 2 / np.pi * r**2 * (np.sin(turn) + (np.pi / 2 - turn) * np.cos(turn))
    return mass**2 / 2 * (own - cross**2 / own)


def _printed_sum(power, mass):
    epsilon, r = _frame_loss(power, mass), 4.0**power
    logarithm = np.log(1 / epsilon) / (np.log(2.0) / 2)
    return 1000 * (np.sqrt(epsilon) + r**2 * epsilon + r**2 * epsilon**1.5 * logarithm**1.5)


HERMITE_BOUND = Claim(
    id=f"{PAPER}.section-C.4.4.bound",
    title="what the Hermite test function gives",
    hypotheses=(
        "Assumptions 1 and 2, $L \\le w_{min}^2/100$; angles to lines",
        "as printed: $r = 4^k$ orthonormal teachers, $k \\le 10$, and students at the rows of a Hadamard matrix",
    ),
    draw=_strays,
    where=lambda small: small,
    left=lambda lines: lines,
    relation="<=",
    right=lambda hermite, constant: constant * np.pi**2 * hermite,
    as_printed=Form(
        "$\\frac1{\\pi^2}\\sum_j\\|w_j\\|^2\\delta_j^2 = O(\\epsilon^{1/2} + r^2w_{max}\\epsilon + r^2\\epsilon^{3/2}\\log^{3/2}_{1/\\cos(\\Delta/2)}\\frac1\\epsilon)$; judged "
        "with the constant 1000, and false with any.",
        draw=_FRAMES,
        where=None,
        left=lambda power, mass: _frame_mass(power, mass) / np.pi**2,
        right=_printed_sum,
        scale=0.0,
    ),
    corrected=Form(
        "For every even $l$, $\\sum_j\\|w_j\\|^2\\delta_j^2 \\le \\frac{\\pi^2}4\\bigl(\\|h\\|\\sqrt{2\\epsilon} + (r-1)\\cos^l(\\Delta/2)\\sum_j\\|w_j\\|^2\\bigr)$ with $\\|h\\|^2 = "
        "\\frac\\pi2 + \\hat\\sigma_l^{-2}\\sum_{k,k'}\\langle\\bar w^*_k, \\bar w^*_{k'}\\rangle^l$, of the order $r\\,l^{5/2}$; judged with the best of ten $l$.",
        constant=0.25,
    ),
    correction="The terms $k = k'$ of $\\|h\\|^2$ are left out. What follows from the proof is $O(\\sqrt r\\,(\\Delta^{-2}\\log(r/\\epsilon))^{5/4}\\epsilon^{1/2})$, with a "
    "fixed $l$ only up to a floor.",
    defect=DIAGONAL,
    control=Form("A fifth of that.", constant=0.05),
)


def product_norm(targets: np.ndarray) -> np.ndarray:
    r"""The norm of a test function whose correlation with a unit neuron is $\prod_k\sin^2\angle(w, w^*_k)$; `[..., teacher, dim]`.

    The product is $\sum_jA_{2j}[w, \dots, w]$ with $A_{2j} = (-1)^j\sum_{|S|=j}\mathrm{sym}\bigotimes_{k\in S}\bar w^*_k\otimes\bar w^*_k$, and a Hermite
    polynomial of degree $l$ with coefficients $A$ has the correlation $\sqrt{l!}\,\hat\sigma_lA[w, \dots, w]$ and the square norm $l!\|A\|^2$:
    $\|h\|^2 = \sum_j\hat\sigma_{2j}^{-2}\|A_{2j}\|^2$, where products of symmetric tensors are permanents.

    In the plane a better one is homogeneous of degree one: the product is a sum of waves $p_le^{il\theta}$ of even frequencies,
    on which the mean of $|w\cdot x|$ acts as $\lambda_l = \frac2\pi(-1)^{l/2+1}/(l^2-1)$, and $\|h\|^2 = \sum|p_l|^2/(2\lambda_l^2)$.
    """
    r, d = targets.shape[-2:]
    if d == 2:
        grid = np.arange(64) * np.pi / 64
        points = np.stack([np.cos(grid), np.sin(grid)], -1)
        waves = np.fft.fft(np.prod(np.sin(f.angles(points, targets)) ** 2, -1), axis=-1) / 64
        frequency = 2 * np.abs(np.fft.fftfreq(64, 1 / 64))
        return np.sqrt(np.sum(np.abs(waves) ** 2 * (np.pi / 2 * (frequency**2 - 1)) ** 2 / 2, -1))
    cosines = np.einsum("...id,...jd->...ij", f.units(targets), f.units(targets))
    square = np.pi / 2
    for j in range(1, r + 1):
        orders = np.array(list(permutations(range(2 * j))))
        for rows, columns in product(combinations(range(r), j), repeat=2):
            entries = cosines[..., np.repeat(rows, 2), np.repeat(columns, 2)[orders]]
            square = square + np.mean(np.prod(entries, -1), -1) / hermite_coefficient(2 * j) ** 2
    return np.sqrt(square)


def _products(count, random):
    """Networks with Σ‖w‖²Π sin², and the norm of the test function whose correlation is that product."""
    plane = ((1, 1, 2), (1, 3, 2), (2, 4, 2), (3, 6, 2), (5, 8, 2))
    for scales in (instances.NEAR, (-2.0, 0.5)):
        for drawn in instances.networks(count, random, shapes=(*plane, (1, 3, 3), (2, 5, 3), (3, 8, 4)), scales=scales):
            found, (students, targets) = _moved_mass(drawn), drawn.values()
            masses = np.sum(f.norms(students) ** 2 * np.prod(np.sin(f.angles(students, targets)) ** 2, -1), -1)
            reach = np.sin(f.separation(targets) / 2) ** (2 * targets.shape[1] - 2)
            yield {
                **found,
                "product": masses,
                "norm": product_norm(targets),
                "reach": reach,
                "r": len(targets[0]) + 0 * reach,
            }


# What Σ‖w‖²δ² over √(rε) tends to with stray students along all diagonals of many orthonormal teachers.
_ROOT_R = np.pi**2 / 4 * np.sqrt(2 * np.pi / (np.pi - 3))

LEMMA_C_4 = Claim(
    id=f"{PAPER}.lemma-C.4.angles",
    title="students far from all teachers have little mass",
    # A student at −w* is a failure of its own, that of Theorem 2, and would hide the growth of the constant.
    hypotheses=(
        "Assumptions 1 and 2, $L \\le w_{min}^2/100$; angles to lines",
        "also up to 256 orthonormal teachers with stray students along all diagonals",
    ),
    draw=_products,
    where=lambda small: small,
    left=lambda product, lines, reach: np.stack([product, 4 / np.pi**2 * reach * lines, lines], -1),
    relation="<=",
    right=lambda norm, epsilon, r, factor: (
        factor * np.sqrt(np.stack([2 * norm**2, 2 * norm**2, _ROOT_R**2 * r], -1) * epsilon[..., None])
    ),
    also=[
        Relation(
            {"count": integers(2, 256), "mass": log_uniform(1e-4, 1e-3)},
            left=lambda count, mass: mass * np.arccos(count**-0.5) ** 2,
            relation="<=",
            right=lambda count, mass, factor=1.0: (
                factor * _ROOT_R * mass * np.sqrt(count * instances.along_diagonals(count)[0])
            ),
            scale=0.0,
        )
    ],
    as_printed=Form(
        "$\\sum_j\\|w_j\\|^2\\delta_j^2 = O(\\epsilon^{1/2})$; judged with the constant 1000, some sixty times what its proof gives for small $\\epsilon$, and false with "
        "any: on $r = 4^k$ orthonormal teachers, $k \\le 10$, with students at the rows of a Hadamard matrix.",
        draw=_FRAMES,
        where=None,
        left=_frame_mass,
        right=lambda power, mass: 1000 * np.sqrt(_frame_loss(power, mass)),
        scale=0.0,
    ),
    corrected=Form(
        "$\\sum_j\\|w_j\\|^2\\prod_k\\sin^2\\angle(w_j, w^*_k) \\le \\|h\\|\\sqrt{2\\epsilon}$ with $\\|h\\|^2 = \\sum_j\\hat\\sigma_{2j}^{-2}\\|\\sum_{|S|=j}\\mathrm{sym}"
        "\\bigotimes_{k\\in S}\\bar w^*_k\\otimes\\bar w^*_k\\|^2$, in the plane also with $\\|h\\|^2 = \\sum_l|p_l|^2/(2\\lambda_l^2)$, $p_l$ the coefficients of "
        "$\\prod_k\\sin^2(\\theta - \\theta_k)$ and $\\lambda_l = \\frac2\\pi(-1)^{l/2+1}/(l^2-1)$, where it is sharp; so that $\\sum_j\\|w_j\\|^2\\delta_j^2 \\le "
        "\\frac{\\pi^2}4\\sin^{-2(r-1)}(\\frac\\Delta2)\\,\\|h\\|\\sqrt{2\\epsilon}$, with angles to lines: $C(r, \\Delta)\\,\\epsilon^{1/2}$ without logarithm or floor; and $\\sum_j\\|w_j\\|^2\\delta_j^2 \\le 16.44\\sqrt{r\\epsilon}$, "
        "a constant that is observed.",
        factor=1.0,
    ),
    correction="No absolute constant serves all $r$: the proof leaves out the terms $k = k'$ of $\\|h\\|^2$. With orthonormal teachers and students at the rows of a "
    "Hadamard matrix the constant grows like $\\sqrt r$ (5 for $r = 2$, 172 for $r = 256$), at every loss. A test function whose correlation with a neuron is "
    "$\\prod_k(1 - \\langle\\bar w^*_k, w\\rangle^2)$ vanishes at every teacher: a sum of Hermite polynomials of even degrees up to $2r$, since "
    "no even Hermite coefficient of $|w\\cdot x|$ vanishes. Its $C(r, \\Delta)$ is exponential in $r$; what was tried needs $\\sqrt r$ alone, whatever $\\Delta$: with stray "
    "students along all diagonals of orthonormal teachers the quotient tends to $\\frac{\\pi^2}4\\sqrt{2\\pi/(\\pi-3)} = 16.44$, above which nothing was found. What is proved "
    "with polynomials is the bound of Section C.4.4, $O(\\sqrt r\\,(\\Delta^{-2}\\log(r/\\epsilon))^{5/4}\\epsilon^{1/2})$.",
    defect=DIAGONAL,
    control=Form("The corrected form with two thirds of the right-hand side.", factor=2 / 3),
)
