"""Appendix C: the terms of Equation (28) in orthogonal neighbourhoods, and the orders of their remainders.

Orders in ε are fitted slopes of the largest value met at each radius.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tutelage.claims import Claim, Form, fitted_order, integers, log_uniform, real
from tutelage.claims.mild_overparameterization.formulas import (
    PAPER,
    angles,
    cross_forms,
    curvature,
    hessian,
    inner,
    largest_of_own,
    norms,
    own_forms,
    units,
)
from tutelage.claims.mild_overparameterization.instances import (
    SampledDraws,
    at_most_one,
    axes,
    drawn,
    fixed,
    minima,
    orthogonal_to,
    owners,
    setting,
)
from tutelage.claims.mild_overparameterization.setting import sine_quotient

_RADII = np.geomspace(0.1, 1e-3, 5)
_GROUPS = ((2, 2, 3), (3, 3, 3), (3, 2, 4))  # teachers, neurons of each, dimension


def _remainders(count, random):
    """The largest value of each remainder at each radius, over ways in the orthogonal neighbourhood of equal splits."""
    for k, m, d in _GROUPS:
        laws = {**minima((m,) * k, d, 1 / m), "way": (m * k, d)}
        batch = drawn(laws, count // 40, random)
        minimum, v = batch["minimum"], batch["teacher"]
        way = at_most_one(orthogonal_to(minimum, batch["way"]))
        found: dict[str, list[np.ndarray]] = {}
        for radius in _RADII:
            g = radius / m * way
            w, unit = minimum + g, units(minimum + g)
            own, toward, cross = own_forms(w, w, g), own_forms(w, v, g), cross_forms(w, g)
            theta, gamma = angles(w, w), angles(w, v)
            # Of the first neuron: with the second of its teacher (0, 1), with the first of the next teacher (0, m).
            g0, g1, gm = g[:, 0], g[:, 1], g[:, m]
            sine, cosine = np.sin(theta[:, 0, 1]), np.cos(theta[:, 0, 1])
            square = inner(g0, g0) + inner(g0, v[:, 1]) ** 2
            values = {
                "norm": norms(w)[:, 0] - 1 / m,
                "cosine": np.cos(theta[:, 0, 1]) - 1,
                "sine": sine,
                "own_cosine": np.cos(gamma[:, 0, 0]) - 1,
                "own_sine": np.sin(gamma[:, 0, 0]),
                "other_cosine": np.cos(theta[:, 0, m]),
                "other_sine": np.sin(theta[:, 0, m]) - 1,
                "teacher_cosine": np.cos(gamma[:, 0, 1]),
                "teacher_sine": np.sin(gamma[:, 0, 1]) - 1,
                "students": own[:, 0, 1],
                "teacher": toward[:, 0, 0],
                "other_teacher": toward[:, 0, 1],
                "along": inner(g0, unit[:, 0]),
                "forty": _normal_part(g0, w[:, 0], w[:, m]) - inner(g0, v[:, 1]),
                "forty_one": own[:, 0, m] - square / (2 * np.pi),
                "forty_three": toward[:, 0, 1] - m * square / (2 * np.pi),
                "diagonal": own[:, 0].sum(-1) - toward[:, 0].sum(-1),
                "mixed": cross[:, 0, m] - inner(g0, gm) / 4 - inner(g0, v[:, 1]) * inner(gm, v[:, 0]) / (2 * np.pi),
                "angle": (theta[:, 0, m] - np.pi / 2) * inner(g0, gm),
                "forty_six": _normal_part(g0, w[:, m], w[:, 0]) * inner(unit[:, m], gm),
                "forty_seven": _normal_part(g0, w[:, 0], w[:, m]) * inner(unit[:, 0], gm)
                - inner(v[:, 0], gm) * inner(v[:, 1], g0),
                "same": cross[:, 0, 1] - inner(g0, g1) / 2,
                "same_angle": theta[:, 0, 1] * inner(g0, g1),
                "fifty": inner(unit[:, 1], g1) * (inner(unit[:, 0], g0) - cosine * inner(unit[:, 1], g0)) / sine,
                "fifty_one": inner(unit[:, 0], g1) * (inner(unit[:, 1], g0) - cosine * inner(unit[:, 0], g0)) / sine,
            }
            for name, value in values.items():
                found.setdefault(name, []).append(np.abs(value).max(keepdims=True))
        largest = {name: np.stack(rows, -1) for name, rows in found.items()}
        yield {"teachers": np.array([k]), "neurons": np.array([m]), **largest}


def _normal_part(way, one, other):
    """The part of a way along the unit normal of the other vector to the first: (way · other − …)/sin θ."""
    unit, far = units(one), units(other)
    cosine = inner(unit, far)
    return (inner(way, far) - cosine * inner(way, unit)) / np.sqrt(1 - cosine**2)


_FITTED = {
    "hypotheses": (
        "$w$ in the $\\epsilon$-orthogonal neighbourhood of $\\tilde w_{ij} = v_i/m$; $k = 2, 3$, $m = 2, 3$, $\\epsilon \\le 0.1/m$",
    ),
    "draw": _remainders,
    "relation": ">=",
    # A slope over two decades is good to a few hundredths. Most statements have the order 2.5.
    "right": lambda order=2.5: order - 0.05,
    "arithmetic": "fitted orders of the largest remainder, closed form in float64",
}


_CUBED: dict[str, Any] = {
    "corrected": Form("The same up to $O(\\epsilon^3)$.", order=3.0),
    "correction": "The print is true; the exponent 2.5 comes from the square roots in Equations (31) to (37), which are not there.",
    "control": Form("The same with $O(\\epsilon^{3.2})$.", order=3.2),
}


def _orders(instance, names):
    return fitted_order(_RADII, np.stack([instance[name] for name in names], axis=-2))


_ANGLES = ("norm", "cosine", "own_cosine", "other_cosine", "teacher_cosine")
_SINES = ("sine", "own_sine", "other_sine", "teacher_sine")

EQUATION_29 = Claim(
    id=f"{PAPER}.equation-29",
    title="norms and cosines near a minimum",
    **_FITTED,
    left=lambda instance: _orders(instance, _ANGLES),
    as_printed=Form(
        "$\\|w_{ij}\\| = \\frac1m + O(\\epsilon)$; cosines are $1 + O(\\epsilon)$ to neurons of the same teacher and to that teacher (both in fact up to "
        "$O(\\epsilon^2)$), and $O(\\epsilon)$ to others.",
        order=1.0,
    ),
    control=Form("All of these up to $O(\\epsilon^{1.2})$.", order=1.2),
)

EQUATION_31 = Claim(
    id=f"{PAPER}.equation-31",
    title="sines near a minimum",
    **_FITTED,
    left=lambda instance: _orders(instance, _SINES),
    as_printed=Form(
        "Sines are $O(\\sqrt\\epsilon)$ and $1 + O(\\sqrt\\epsilon)$. (In fact $O(\\epsilon)$ and $1 + O(\\epsilon^2)$.)",
        order=0.5,
    ),
    corrected=Form("They are $O(\\epsilon)$ and $1 + O(\\epsilon)$, which Lemma 8 needs.", order=1.0),
    correction="The print is true, but $\\theta = O(\\epsilon)$ in the proof of Lemma 8 does not follow from $\\cos\\theta = 1 + O(\\epsilon)$, its Equation (30): "
    "that is $1 + O(\\epsilon^2)$.",
    control=Form("They are $O(\\epsilon^{1.2})$ and $1 + O(\\epsilon^{1.2})$.", order=1.2),
)

_PAIRS = [
    {**minima((m,) * k, d, 1 / m), "way": (m * k, d), "radius": log_uniform(1e-3, 0.5)}
    for k, m, d in ((2, 2, 2), (3, 3, 3))
]


def _near(minimum, teacher, way, radius):
    """A student in the orthogonal neighbourhood, one neuron of the first teacher and one of the last."""
    way = at_most_one(orthogonal_to(minimum, way)) * radius[..., None, None] * norms(minimum)[..., :1, None]
    return {"one": minimum[..., 0, :], "other": minimum[..., -1, :], "way": way[..., 0, :], "far": way[..., -1, :]}


EQUATION_34 = Claim(
    id=f"{PAPER}.equation-34",
    place="Equation (34), second expression",
    title="inner product of neurons of two teachers",
    hypotheses="the neighbourhood of Theorem 6, $m \\ge 2$",
    draw=_PAIRS,
    build=_near,
    left=lambda one, other, way, far: inner(one + way, other + far),
    relation="==",
    right=lambda one, other, way, far, lengths=0.0: (
        inner(way, other) / norms(other) ** (1 - lengths)
        + inner(far, one) / norms(one) ** (1 - lengths)
        + inner(way, far)
    ),
    as_printed="The numerator is $g_{ij}\\cdot v_a + g_{ab}\\cdot v_i + g_{ij}\\cdot g_{ab}$.",
    as_meant=Form(
        "The numerator is $\\frac1m(g_{ij}\\cdot v_a + g_{ab}\\cdot v_i) + g_{ij}\\cdot g_{ab}$.", lengths=1.0
    ),
    supplied="the first expression of the same line",
    correction="The factor $1/m$ is lost; the order is right.",
    control=Form("With the power 0.99 of $1/m$.", lengths=0.99),
)

LEMMA_5_1 = Claim(
    id=f"{PAPER}.lemma-5.students",
    title="terms of neurons of one teacher",
    **_FITTED,
    left=lambda students: fitted_order(_RADII, students),
    as_printed="$g_{ij}^\\top h_1(w_{ij}, w_{il})g_{ij} = O(\\epsilon^{2.5})$.",
    **_CUBED,
)

LEMMA_5_2 = Claim(
    id=f"{PAPER}.lemma-5.teacher",
    title="terms of a neuron and its teacher",
    **_FITTED,
    left=lambda teacher: fitted_order(_RADII, teacher),
    as_printed="$g_{ij}^\\top h_1(w_{ij}, v_i)g_{ij} = O(\\epsilon^{2.5})$.",
    **_CUBED,
)

EIGENVALUE = Claim(
    id=f"{PAPER}.section-C.eigenvalue",
    title="largest eigenvalue of the diagonal terms",
    hypotheses="$w, v \\ne 0$, $d \\ge 2$",
    draw=[{"w": real((d,)), "v": real((d,))} for d in (2, 3, 5)],
    left=largest_of_own,
    relation="==",
    right=sine_quotient,
    tolerance=1e-8,
    as_printed="The largest eigenvalue of $h_1(w, v)$ is $\\sin\\theta_{w,v}\\|v\\|/\\|w\\|$.",
    as_meant=Form("It is $\\sin\\theta_{w,v}\\|v\\|/(\\pi\\|w\\|)$.", factor=1 / np.pi),
    supplied="the proofs of Theorems 3 and 4, which have it",
    correction="The factor $1/\\pi$ is missing; the proofs of Theorems 3 and 4 have it. Only an upper bound is needed here.",
    control=Form("It is $1.01\\sin\\theta_{w,v}\\|v\\|/(\\pi\\|w\\|)$.", factor=1.01 / np.pi),
)

LEMMA_6 = Claim(
    id=f"{PAPER}.lemma-6",
    title="the diagonal terms cancel",
    **_FITTED,
    left=lambda diagonal: fitted_order(_RADII, diagonal),
    as_printed="$\\sum g_{ij}^\\top h_1(w_{ij}, w_{ab})g_{ij} - \\sum g_{ij}^\\top h_1(w_{ij}, v_l)g_{ij} = O(\\epsilon^{2.5})$.",
    **_CUBED,
)

EQUATION_39 = Claim(
    id=f"{PAPER}.equation-39",
    place="Equations (39), (40), end of (42)",
    title="ways along a neuron and along a normal",
    **_FITTED,
    left=lambda instance: _orders(instance, ("along", "forty")),
    as_printed=Form(
        "$g_{ij}\\cdot\\bar w_{ij} = O(\\epsilon^2)$; along the unit normal the way is $g_{ij}\\cdot v_a + O(\\epsilon^{1.5})$.",
        order=1.5,
    ),
    corrected=Form("Both up to $O(\\epsilon^2)$.", order=2.0),
    correction=_CUBED["correction"].replace("2.5", "1.5"),
    control=Form("Both up to $O(\\epsilon^{2.2})$.", order=2.2),
)


def _along_normal(one, other, way, power, factor):
    """Both expressions of Equation (42): the way along the normal as an inner product, and term by term."""
    neuron, teacher = one + way, units(other)
    cosine = inner(units(neuron), teacher)
    sine = np.sqrt(1 - cosine**2)
    first = inner(way, teacher - cosine[..., None] * units(neuron)) / sine
    second = inner(way, teacher) / sine - factor * cosine * inner(way, neuron) / (norms(neuron) * sine)
    return np.stack([first**power, second], -1)


EQUATION_42 = Claim(
    id=f"{PAPER}.equation-42",
    place="Equation (42), first line",
    title="a way along the normal to another teacher",
    hypotheses="the neighbourhood of Theorem 6, $a \\ne i$",
    glyph=True,
    draw=_PAIRS,
    build=_near,
    left=lambda one, other, way, power=2.0, factor=1.0: _along_normal(one, other, way, power, factor)[..., 0],
    relation="==",
    right=lambda one, other, way, power=2.0, factor=1.0: _along_normal(one, other, way, power, factor)[..., 1],
    scale=1e-4,
    as_printed="$\\frac{\\langle g_{ij}, v_a - \\cos\\gamma\\,\\bar w_{ij}\\rangle^2}{\\sin^2\\gamma} = \\frac{\\langle g_{ij}, v_a\\rangle}{\\sin\\gamma} - "
    "\\frac{\\cos\\gamma\\,\\langle g_{ij}, w_{ij}\\rangle}{\\|w_{ij}\\|\\sin\\gamma}$.",
    as_meant=Form("The same without the squares.", power=1.0),
    supplied="Equation (40), of which it is the counterpart, and Equation (43), where the square is taken",
    correction="The squares belong to the next display.",
    control=Form("Without the squares, and 1.01 times the second term.", power=1.0, factor=1.01),
)

EQUATION_41 = Claim(
    id=f"{PAPER}.equation-41",
    title="diagonal terms of another teacher",
    **_FITTED,
    left=lambda instance: _orders(instance, ("forty_one", "forty_three")),
    as_printed="$g_{ij}^\\top h_1(w_{ij}, w_{ab})g_{ij} = \\frac1{2\\pi}(\\|g_{ij}\\|^2 + (g_{ij}\\cdot v_a)^2) + O(\\epsilon^{2.5})$, and $m$ times that with $v_a$.",
    control=Form("Both up to $O(\\epsilon^{3.2})$.", order=3.2),
)

OTHER_TEACHER = Claim(
    id=f"{PAPER}.section-C.index",
    title="terms of a neuron and another teacher",
    **_FITTED,
    glyph=True,
    left=lambda other_teacher: fitted_order(_RADII, other_teacher),
    as_printed=Form(
        "$g_{ij}^\\top h_1(w_{ij}, v_a)g_{ij} = O(\\epsilon^{2.5})$ for $a \\ne i$.",
        recipe="""
# The first of two orthonormal teachers has the neuron (1/m)v_1 + e v_2: h1 along the way is m e^2 / pi to leading order.
m, e = neurons, np.geomspace(0.01, 0.001, 5)
size, way = np.hypot(1 / m, e), e
sine = (1 / m) / size  # of the angle to the second teacher
along = way * e / size  # along the neuron
normal = (way - (e / size) * along) / sine
values = sine / (2 * np.pi * size) * (way**2 - along**2 + normal**2)
left = np.polyfit(np.log(e), np.log(values), 1)[0]
""",
    ),
    as_meant=Form("$g_{ij}^\\top h_1(w_{ij}, v_i)g_{ij} = O(\\epsilon^{2.5})$.", left=LEMMA_5_2.left),
    supplied="Lemma 5, which is cited",
    correction="$v_i$ is meant: with another teacher the term is of order $\\epsilon^2$, Equation (43).",
    control=Form("The corrected form with $O(\\epsilon^{3.2})$.", left=LEMMA_5_2.left, order=3.2),
)

LEMMA_7 = Claim(
    id=f"{PAPER}.lemma-7",
    title="terms of neurons of two teachers",
    **_FITTED,
    left=lambda mixed: fitted_order(_RADII, mixed),
    as_printed="$g_{ij}^\\top h_2(w_{ij}, w_{ab})g_{ab} = \\frac14g_{ij}\\cdot g_{ab} + \\frac1{2\\pi}(g_{ij}\\cdot v_a)(g_{ab}\\cdot v_i) + O(\\epsilon^{2.5})$.",
    **_CUBED,
)

EQUATION_45 = Claim(
    id=f"{PAPER}.equation-45",
    title="the three terms of Lemma 7",
    **_FITTED,
    left=lambda instance: _orders(instance, ("angle", "forty_six", "forty_seven")),
    as_printed="$(\\pi-\\theta)g_{ij}\\cdot g_{ab} = \\frac\\pi2g_{ij}\\cdot g_{ab} + O(\\epsilon^3)$; the second term is $O(\\epsilon^3)$; the third is $(v_i\\cdot g_{ab})(v_a\\cdot g_{ij})$ "
    "up to $O(\\epsilon^{2.5})$.",
    **{**_CUBED, "control": Form("All three up to $O(\\epsilon^{3.2})$.", order=3.2)},
)


def _coefficients(number):
    """(2n)!/(4ⁿ(n!)²(2n + 1)), by recursion from n = 0."""
    steps = np.arange(1, 201)
    products = np.concatenate([[1.0], np.cumprod((2 * steps - 1) / (2 * steps))]) / (2 * np.arange(201) + 1)
    return products[np.asarray(number).astype(int)]


COEFFICIENTS = Claim(
    id=f"{PAPER}.section-C.coefficients",
    title="Taylor coefficients of arccos",
    hypotheses="$\\arccos x = \\frac\\pi2 - \\sum c_nx^{2n+1}$, $n$ from 0 to 200; the print has $2^{2^n}$ for $4^n$ in $c_n$",
    draw={"number": integers(0, 200)},
    left=_coefficients,
    relation="<=",
    right=lambda number, first=0.5, later=0.5: np.where(number < 1, first, later),
    known=2.0,
    as_printed="$c_n \\le \\frac12$ for all $n \\ge 0$.",
    corrected=Form(
        "$c_n \\le 1$, with equality for $n = 0$; $c_n \\le \\frac16$ for $n \\ge 1$.", first=1.0, later=1 / 6
    ),
    correction="$c_0 = 1$, the coefficient of $x$; the conclusion $\\theta = \\frac\\pi2 + O(\\epsilon)$ needs bounded coefficients only.",
    control=Form("$c_n \\le 0.165$ for $n \\ge 1$.", first=1.0, later=0.165),
)

LEMMA_8 = Claim(
    id=f"{PAPER}.lemma-8",
    title="cross terms of neurons of one teacher",
    **_FITTED,
    left=lambda instance: _orders(instance, ("same", "same_angle")),
    as_printed=Form(
        "$g_{ij}^\\top h_2(w_{ij}, w_{il})g_{il} = \\frac12g_{ij}\\cdot g_{il} + O(\\epsilon^3)$, and $(\\pi-\\theta)g_{ij}\\cdot g_{il} = \\pi g_{ij}\\cdot g_{il} + O(\\epsilon^3)$.",
        order=3.0,
    ),
    control=Form("The same with $O(\\epsilon^{3.2})$.", order=3.2),
)

EQUATION_50 = Claim(
    id=f"{PAPER}.equation-50",
    title="the terms with normals of Lemma 8",
    **_FITTED,
    left=lambda instance: _orders(instance, ("fifty", "fifty_one")),
    as_printed=Form(
        "Both are $O(\\epsilon^{3.5})$.",
        order=3.5,
        recipe="""
# Two neurons of one teacher, v/m + e a and v/m + e b, in three dimensions: the first term of the two.
m, v, a, b = neurons, np.array([1.0, 0, 0]), np.array([0.0, 1, 0]), np.array([0.0, 0, 1])
radii, values = np.geomspace(0.01, 0.001, 5), []
unit = lambda x: x / np.linalg.norm(x)
for e in radii:
    one, two = unit(v / m + e * a), unit(v / m + e * b)
    c = one @ two
    values.append((two @ (e * b)) * (one @ (e * a) - c * two @ (e * a)) / np.sqrt(1 - c**2))
left = np.polyfit(np.log(radii), np.log(values), 1)[0]
""",
    ),
    corrected=Form("Both are $O(\\epsilon^3)$, and of that order.", order=3.0),
    correction="The sine in the denominator is taken as $O(\\sqrt\\epsilon)$, an upper bound; it is of the order of $\\|g_{ij} - g_{il}\\|$, as is the bracket in the numerator. Lemma 8 stands: "
    "its remainder is $O(\\epsilon^3)$.",
    control=Form("Both are $O(\\epsilon^{3.2})$.", order=3.2),
)

BARS = Claim(
    id=f"{PAPER}.equation-50.norms",
    place="Equation (50), second line",
    title="a way along its neuron",
    hypotheses="the neighbourhood of Theorem 6, $m \\ge 2$",
    glyph=True,
    draw=_PAIRS,
    build=_near,
    left=lambda one, way: inner(units(one + way), way),
    relation="==",
    right=lambda one, way, power=0.0: inner(way, way) / norms(one + way) ** power,
    scale=1e-4,
    as_printed="$\\langle\\bar w_{il}, g_{il}\\rangle = \\|g_{il}\\|^2/\\|\\bar w_{il}\\|$, that is $\\|g_{il}\\|^2$.",
    as_meant=Form("It is $\\|g_{il}\\|^2/\\|w_{il}\\|$.", power=1.0),
    supplied="Equation (51), where the norms have no bars",
    correction="Bars too many: $\\bar w_{il}$ has norm one, $w_{il}$ about $\\frac1m$.",
    control=Form("With the power 0.99 of the norm.", power=0.99),
)


# Lemma 9 and the end of the proof -------------------------------------------------------------------------------------


def _diagonal(vectors):
    return np.diagonal(vectors, axis1=-2, axis2=-1)


LEMMA_9 = Claim(
    id=f"{PAPER}.lemma-9",
    title="an inequality of traces",
    hypotheses="$u_1, \\ldots, u_n \\in \\mathbb R^n$",
    draw=[{"vectors": real((n, n))} for n in (1, 2, 3, 6)],
    left=lambda vectors: np.sum(vectors * np.swapaxes(vectors, -1, -2), (-2, -1)) - np.sum(_diagonal(vectors) ** 2, -1),
    relation=">=",
    right=lambda vectors, factor=1.0: np.sum(_diagonal(vectors) ** 2, -1) - factor * np.sum(vectors**2, axis=(-2, -1)),
    scale=lambda vectors: np.sum(vectors**2, axis=(-2, -1)),
    as_printed="$\\sum_{i\\ne j}u_{ij}u_{ji} \\ge \\sum u_{ii}^2 - \\sum\\|u_i\\|^2$.",
    control=Form("The same with $\\frac{99}{100}\\sum\\|u_i\\|^2$.", factor=0.99),
)

EQUATION_28 = Claim(
    id=f"{PAPER}.equation-28",
    title="the Hessian along a way, term by term",
    hypotheses=("any student and way", "$H$ by Theorem 10"),
    draw=SampledDraws(
        [{**draw, "way": real(draw["student"].shape)} for draw in setting(((1, 1, 1), (2, 2, 2), (4, 3, 3)))]
    ),
    left=lambda student, teacher, way, factor=1.0: curvature(student, teacher, factor * way),
    relation="==",
    right=lambda student, teacher, way: inner(
        way.reshape(*way.shape[:-2], -1),
        (hessian(student, teacher) @ way.reshape(*way.shape[:-2], -1, 1))[..., 0],
    ),
    tolerance=1e-6,
    as_printed="It is the sum of $\\frac12\\|g_{ij}\\|^2$, of the terms $h_1$ with neurons, minus those with teachers, and of the terms $h_2$.",
    control=Form("1.01 times the way on one side.", factor=1.01),
)

_SUMS = [
    {"way": real((k * m, k)), "belongs": fixed(owners((m,) * k)), "teacher": axes(k, k)}
    for k, m in ((2, 1), (2, 2), (3, 2))
]


def _double_sum(way, belongs, teacher):
    """The sum over neurons of different teachers of (g_ij · v_a)(g_ab · v_i)."""
    x, different = way @ np.swapaxes(teacher, -1, -2), 1 - np.swapaxes(belongs, -1, -2) @ belongs
    mixed = x @ belongs  # g_ij · v_a for every neuron ab
    return np.sum(different * mixed * np.swapaxes(mixed, -1, -2), axis=(-2, -1))


def _by_sums(way, belongs, teacher, factor=1.0):
    """The sum over different teachers of (g_i · v_a)(g_a · v_i)."""
    x = (belongs @ way) @ np.swapaxes(teacher, -1, -2)
    return factor * (np.sum(x * np.swapaxes(x, -1, -2), (-2, -1)) - np.sum(_diagonal(x) ** 2, -1))


def _printed_sum(way, belongs, teacher):
    """The sum over neurons of different teachers of (g_ij · v_i)(g_ab · v_i), as printed."""
    x, different = way @ np.swapaxes(teacher, -1, -2), 1 - np.swapaxes(belongs, -1, -2) @ belongs
    mixed = x @ belongs
    return np.sum(different * np.swapaxes(mixed, -1, -2) * _diagonal(mixed)[..., :, None], axis=(-2, -1))


SIMPLIFIED = Claim(
    id=f"{PAPER}.section-C.simplified",
    title="sums over the neurons of each teacher",
    hypotheses="any ways",
    glyph=True,
    draw=_SUMS,
    left=_printed_sum,
    relation="==",
    right=_by_sums,
    scale=lambda way: np.sum(way**2, axis=(-2, -1)),
    as_printed="$\\sum_{a\\ne i}(g_{ij}\\cdot v_i)(g_{ab}\\cdot v_i) = \\sum_{a\\ne i}(g_i\\cdot v_a)(g_a\\cdot v_i)$.",
    as_meant=Form("With $v_a$ in the first product.", left=_double_sum),
    supplied="Equation (58), which it simplifies",
    correction="One index; in the orthogonal neighbourhood the printed left-hand side would be zero.",
    control=Form("The corrected form times 1.01.", left=_double_sum, factor=1.01),
)

EQUATION_60 = Claim(
    id=f"{PAPER}.equation-60",
    title="the two sums of Equation (58)",
    hypotheses="ways with $g_i\\cdot v_i = 0$ in Equation (60)",
    draw=_SUMS,
    build=lambda way, belongs, teacher: {
        "way": orthogonal_to(np.swapaxes(belongs, -1, -2) @ teacher, way),
        "belongs": belongs,
        "teacher": teacher,
    },
    left=lambda way, belongs, teacher: _by_sums(way, belongs, teacher, 1.0),
    relation=">=",
    right=lambda way, belongs, factor=1.0: -factor * np.sum((belongs @ way) ** 2, axis=(-2, -1)),
    scale=lambda way: np.sum(way**2, axis=(-2, -1)),
    as_printed="$\\sum_{a\\ne i}(g_i\\cdot v_a)(g_a\\cdot v_i) \\ge -\\sum\\|g_i\\|^2$, an equality for rotations (and $\\sum_{a\\ne i}g_i\\cdot g_a = \\|g\\|^2 - \\sum\\|g_i\\|^2$).",
    control=Form("The same with $0.99\\sum\\|g_i\\|^2$.", factor=0.99),
)
