"""Section 2: how long descent takes for outer functions of one degree and of two."""

from functools import partial

import numpy as np

from tutelage.claims import Claim, Form
from tutelage.claims.weight_sharing.formulas import PAPER
from tutelage.claims.weight_sharing.plane import FLOW, growth

PLANE = """
def parts(p, q, r):
    s = p * p + q * q
    D = np.sqrt((1 + 2 * s) * (1 + 2 * r * r))
    rho = 2 * p * r / D
    f = 4 / np.pi / np.sqrt(1 - rho**2)
    return (2 / np.pi * np.arcsin(2 * s / (1 + 2 * s)), 2 / np.pi * np.arcsin(rho), 4 / np.pi / ((1 + 2 * s)
        * np.sqrt(1 + 4 * s)), f * (r / D - rho * p / (1 + 2 * s)), -f * rho * q / (1 + 2 * s))
def losses(d, k, low, n=1.0, r=0.0):  # along plain descent with step 1, unshared, from norm n; all patches but the first alike
    r = r or np.sqrt(12) / np.pi * k
    p1, q1 = p, q = n / np.sqrt(d), n * np.sqrt(1 - 1 / d)
    teacher = parts(r, 0.0, r)[0]
    while True:
        o1, v1, c1, bp1, bq1 = parts(p1, q1, r)
        o, v, c, bp, bq = parts(p, q, r)
        high = o1 * o ** (k - 1) - 2 * v1 * v ** (k - 1) + teacher**k
        yield (low * (o1 - 2 * v1 + teacher) + high) / 2, teacher**k
        a, b = low + o ** (k - 1), low + v ** (k - 1)
        p1, q1 = p1 - a * c1 * p1 + b * bp1, q1 - a * c1 * q1 + b * bq1
        a, b = o1 * o ** (k - 2), v1 * v ** (k - 2)
        p, q = p - a * c * p + b * bp, q - a * c * q + b * bq
def iterations(*case):  # until a quarter of the teacher's high part is left
    return next(t for t, (loss, high) in enumerate(losses(*case)) if loss < 0.25 * high)
"""


_AT_LEAST = {"left": lambda exponent: exponent, "relation": ">=", "right": lambda degree: degree / 4}
_THEORY = "Theorem 3, the theory that the sentence announces: at least $d^{k/4}$ iterations, from starts with entries $\\pm c$"
_AS_THEOREM_3 = "It grows at least as $d^{k/4}$ for degree $k$, from starts with entries $\\pm1$."

DEGREE = Claim(
    id=f"{PAPER}.section-2.degree",
    title="iterations for a basis function",
    hypotheses=(
        "$\\sigma = \\operatorname{erf}$, $\\|u_0\\| = \\sqrt{12}k/\\pi$, $g^* = g^*_{\\rm high}$ of degree $k \\le 6$, known",
        "a start of norm one whose cosines are $1/\\sqrt d$, with a positive product",
        "judged by the exponent of $d$ in the time to half the loss, up to 0.25",
    ),
    scope="remark",
    defect="$d^{\\rm degree}$ is more than any theorem of the paper says",
    draw=partial(growth, patches=range(1, 7), low=False),
    left=lambda exponent, degree, shift: np.abs(exponent - (degree - 1) * (degree - shift) / degree),
    relation="<=",
    right=0.1,
    note="exponents of d fitted to times of dimensions up to 1e8",
    as_printed=Form(
        "The number of iterations needed to learn $h^*$ grows as $d^{\\rm degree}$.",
        left=lambda exponent, degree: np.abs(exponent - degree),
        right=0.25,
        recipe=PLANE
        + """
left = abs(np.log(iterations(1e8, 2, 0) / iterations(1e4, 2, 0)) / np.log(1e4) - 2)  # the exponent, against degree 2
""",
    ),
    as_meant=Form(
        _AS_THEOREM_3,
        draw=partial(growth, patches=range(1, 7), low=False, constant_entries=(True,)),
        **_AT_LEAST,
    ),
    supplied=_THEORY,
    corrected=Form(
        "It grows as $d^{(k-1)(k-2)/k}$ for degree $k \\ge 3$, as $\\log d$ for degree 2 and not at all for degree 1 (exponents up "
        "to 0.1).",
        shift=2.0,
    ),
    correction="The component along the teacher grows as the product of $k-1$ others, each of size $t^{-1/(2k-2)}/\\sqrt d$ because "
    "the norms decay meanwhile; integrating gives the exponent $(k-1)(k-2)/k$: 0, 0, 2/3, 3/2, 12/5, 10/3. Starts with entries "
    "$\\pm c$, of norm $c\\sqrt d$, take at least $d$ (degree 1) or $d^{3/2}$ (degree 3 and more) for their norm alone.",
    control=Form("It grows as $d^{(k-1)(k-1.8)/k}$.", shift=1.8),
    arithmetic=FLOW,
)

UNSHARED = Claim(
    id=f"{PAPER}.section-2.unshared",
    title="iterations without sharing for both degrees",
    hypotheses=(
        "as for a basis function, with $g^* = g^*_{\\rm both}$ and unshared weights, $2 \\le k \\le 7$",
        "judged by the exponent of $d$ in the time until the loss is a quarter of $E[(p^{(k)})^2]$, up to 0.25",
    ),
    scope="remark",
    defect="$d^{\\rm degree}$ is more than any theorem of the paper says",
    draw=partial(growth, patches=range(2, 8), low=True),
    left=lambda exponent, degree, shift: np.abs(exponent - (degree - 2) * (degree - 1 - shift) / (degree - 1)),
    relation="<=",
    right=0.1,
    note="exponents of d fitted to times of dimensions up to 1e8",
    as_printed=Form(
        "The number of iterations still grows as $d^{\\text{high-degree}}$.",
        left=lambda exponent, degree: np.abs(exponent - degree),
        right=0.25,
        recipe=PLANE
        + """
left = abs(np.log(iterations(1e8, 3, 1) / iterations(1e4, 3, 1)) / np.log(1e4) - 3)  # the exponent, against degree 3
""",
    ),
    as_meant=Form(
        _AS_THEOREM_3,
        draw=partial(growth, patches=range(2, 8), low=True, constant_entries=(True,)),
        **_AT_LEAST,
    ),
    supplied=_THEORY,
    corrected=Form(
        "It grows as $d^{(k-2)(k-3)/(k-1)}$ for $k \\ge 4$ (exponents up to 0.1): still a separation, from $k = 4$ on.",
        shift=2.0,
    ),
    correction="The low degree teaches the first patch in a time independent of $d$, and then helps the others: $k-1$ factors "
    "are left. For $k = 2$ and $3$ nothing but a constant and $\\log d$ remain, and unshared weights learn the target too.",
    control=Form("It grows as $d^{(k-2)(k-2.8)/(k-1)}$.", shift=1.8),
    arithmetic=FLOW,
)
