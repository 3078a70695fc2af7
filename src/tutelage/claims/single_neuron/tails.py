r"""Appendix C up to C.2: the tails behind Lemma 5.1, and the rates of flow and descent."""

import numpy as np
from scipy.special import chdtrc, erf, ndtr

from tutelage.claims import Claim, Form, integers, log_uniform, real, uniform, unit
from tutelage.claims.single_neuron.formulas import PAPER, TAIL, dot, norm

# The proof of Lemma 5.1 -----------------------------------------------------------------------------------------------

EQUATION_7 = Claim(
    id=f"{PAPER}.equation-7",
    title="comparing two random numbers through a constant",
    hypotheses="$A, B$ with values 0, 1, 2 and any joint law; $c = 1$",
    draw={"masses": uniform(0, 1, (3, 3))},
    build=lambda masses: {"joint": masses / np.sum(masses + 1e-12, (-1, -2), keepdims=True)},
    left=lambda joint: np.sum(joint * np.tril(np.ones((3, 3))), (-1, -2)),
    relation=">=",
    right=lambda joint, shift=0.0: np.sum(joint[..., 1:, :], (-1, -2)) - np.sum(joint[..., :, 1:], (-1, -2)) + shift,
    known=0.0,
    as_printed="$P(A \\ge B) \\ge P(A \\ge c) - P(B \\ge c)$.",
    control=Form("$P(A \\ge B) \\ge P(A \\ge c) - P(B \\ge c) + 0.01$.", shift=0.01),
    arithmetic="exact sums",
)

ERF = Claim(
    id=f"{PAPER}.section-C.erf",
    title="a lower bound on the error function",
    hypotheses="$0 < z < 1$",
    draw={"z": uniform(1e-6, 1)},
    left=lambda z: erf(z),
    relation=">=",
    right=lambda z, slope: slope * z,
    as_printed=Form(
        "$\\mathrm{erf}(z) \\ge z/3$. More is true, and judged: $\\mathrm{erf}(z) \\ge 0.8427z$, with equality at one.",
        slope=float(erf(1)),
    ),
    control=Form("$\\mathrm{erf}(z) \\ge 0.85z$.", slope=0.85),
)

GAUSSIAN_TAIL = Claim(
    id=f"{PAPER}.section-C.gaussian-tail",
    title="bound on a Gaussian tail",
    hypotheses="$\\tau \\le 1/(d\\sqrt2)$; `product` is $\\tau d$",
    defect=TAIL,
    draw={"product": uniform(1e-3, np.sqrt(0.5))},
    left=lambda product: ndtr(-2 * product),  # w₁ ≥ 2τ²d
    relation=">=",
    right=lambda product, constant=0.25: 0.5 - constant * product,
    as_printed="$P(w_1 \\ge 2\\tau^2d) = \\frac12 - \\frac12\\mathrm{erf}(\\sqrt2\\tau d) \\ge \\frac12 - \\frac1{3\\sqrt2}\\tau d \\ge \\frac12 - \\frac14\\tau d$.",
    corrected=Form(
        "$\\frac12 - \\frac12\\mathrm{erf}(\\sqrt2\\tau d) \\ge \\frac12 - \\sqrt{2/\\pi}\\,\\tau d$.",
        constant=np.sqrt(2 / np.pi),
    ),
    correction="$\\mathrm{erf}(z) \\ge z/3$ is true but bounds the wrong side; $\\mathrm{erf}(z) \\le 2z/\\sqrt\\pi$ is needed.",
    control=Form("$\\ge \\frac12 - 0.79\\tau d$.", constant=0.79),
)

CHI_SQUARE_TAIL = Claim(
    id=f"{PAPER}.section-C.chi-square-tail",
    title="a chi-square tail",
    hypotheses="$1 \\le d \\le 4000$; compared as exponents over $d$",
    draw={"dimension": integers(1, 4000)},
    left=lambda dimension: -np.log(chdtrc(dimension, 2 * dimension)) / dimension,
    relation=">=",
    right=lambda rate: rate,
    known=0.0,
    as_printed=Form("$P(\\|w\\|^2 \\ge 2\\tau^2d) \\le (2e^{-1})^{d/2}$.", rate=(1 - np.log(2)) / 2),
    control=Form("It is at most $e^{-0.156d}$.", rate=0.156),
    arithmetic="exact probabilities",
)

CHI_SQUARE = Claim(
    id=f"{PAPER}.section-C.chi-square",
    title="base of a chi-square tail",
    hypotheses="$1 \\le d \\le 100$",
    draw={"dimension": integers(1, 100)},
    left=lambda dimension: (2 / np.e) ** (dimension / 2),
    relation="<=",
    right=lambda dimension, base=1.2: base**-dimension,
    as_printed="$(2e^{-1})^{d/2} \\le 1.2^{-d}$.",
    corrected=Form("$(2e^{-1})^{d/2} \\le 1.1658^{-d}$.", base=1.1658),
    correction="$\\sqrt{e/2} = 1.16582$, below 1.2.",
    control=Form("$(2e^{-1})^{d/2} \\le 1.166^{-d}$.", base=1.166),
)


# The rates of flow and descent ----------------------------------------------------------------------------------------

SAFE = Claim(
    id=f"{PAPER}.section-C.1.safe",
    title="close to the teacher the angle is acute",
    hypotheses="$\\|w - v\\| \\le 1$, $\\|v\\| = 1$, $d = 2, 3$",
    draw=[{"v": unit(d), "w": real((d,))} for d in (2, 3)],
    where=lambda w, v: norm(w - v) <= 1,
    left=lambda w, v: dot(w, v),
    relation=">=",
    right=lambda w, factor=0.5: factor * dot(w, w),
    as_printed="$\\langle w, v\\rangle \\ge \\frac12\\|w\\|^2$, so that $\\theta(w, v) < \\frac\\pi2$.",
    control=Form("$\\langle w, v\\rangle \\ge 0.51\\|w\\|^2$.", factor=0.51),
)

RATE = Claim(
    id=f"{PAPER}.section-C.1.rate",
    title="the constant 210",
    hypotheses="$\\theta(w, v) \\le \\pi/2$, that is $\\delta \\ge \\pi/2$",
    draw={"delta": uniform(np.pi / 2, np.pi)},
    left=lambda delta: np.sin(delta / 4) ** 3 / (8 * np.sqrt(2)),
    relation=">=",
    right=lambda denominator=210.0: 1 / denominator,
    known=0.0,
    as_printed="$\\frac1{8\\sqrt2}\\sin^3(\\delta/4) \\ge \\frac1{210}$.",
    control=Form("$\\ge \\frac1{201}$.", denominator=201.0),
)

EQUATION_9 = Claim(
    id=f"{PAPER}.equation-9",
    title="contraction of one step",
    hypotheses="$0 < \\eta \\le \\lambda/(2c)$; `rate` is $\\lambda$, `bound` is $c$",
    draw={"rate": log_uniform(1e-6, 1), "bound": log_uniform(1e-3, 1e3), "share": uniform(0, 1)},
    # Both sides over η: the comparison is not spoiled by rounding to one.
    left=lambda rate, bound, share, most=1.0: -rate + most * share * rate / (2 * bound) * bound,
    relation="<=",
    right=lambda rate: -rate / 2,
    as_printed="$1 - \\eta\\lambda + \\eta^2c \\le 1 - \\eta\\lambda/2$ (printed as strict, with equality at the largest step).",
    control=Form("The same for $\\eta \\le 1.01\\lambda/(2c)$.", most=1.01),
)
