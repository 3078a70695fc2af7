r"""Appendix C: the inequalities from which the proofs of Section 5 are put together."""

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import erf
from scipy.stats import binom

from tutelage.claims import scan
from tutelage.claims.base import Claim, Form
from tutelage.claims.pointwise import Family, Pointwise, at_most, equal
from tutelage.claims.scan import Scan
from tutelage.claims.single_neuron.legacy import PAPER, nonzero, sigmoid, unit

# The proof of Lemma 5.1 -----------------------------------------------------------------------------------------------


def _tail(constant: float):
    def draw(count, random):
        return {
            "product": np.concatenate(
                [np.geomspace(1e-6, np.sqrt(0.5), 200), np.sqrt(0.5) * random.uniform(size=count)]
            )
        }

    def check(i):
        exact = 0.5 - 0.5 * erf(np.sqrt(2) * i["product"])
        return scan.at_most(0.5 - constant * i["product"], exact)

    return Scan(draw, check)


GAUSSIAN_TAIL = Claim(
    id=f"{PAPER}.section-C.gaussian-tail",
    place="Appendix C, proof of Lemma 5.1, first term of Equation (7)",
    title="bound on a Gaussian tail",
    hypotheses=("$\\tau \\le 1/(d\\sqrt2)$; `product` is $\\tau d$",),
    as_printed=Form(
        "$\\frac12 - \\frac12\\mathrm{erf}(\\sqrt2\\tau d) \\ge \\frac12 - \\frac1{3\\sqrt2}\\tau d \\ge \\frac12 - \\frac14\\tau d$.",
        _tail(0.25),
        recipe="from math import erf\nleft = 0.5 - 0.25 * product\nright = 0.5 - 0.5 * erf(np.sqrt(2) * product)\n",
    ),
    corrected=Form(
        "$\\frac12 - \\frac12\\mathrm{erf}(\\sqrt2\\tau d) \\ge \\frac12 - \\sqrt{2/\\pi}\\,\\tau d$.",
        _tail(np.sqrt(2 / np.pi)),
    ),
    correction="$\\mathrm{erf}(z) \\ge z/3$ is true but bounds the wrong side; $\\mathrm{erf}(z) \\le 2z/\\sqrt\\pi$ is needed.",
    control=Form("$\\ge \\frac12 - 0.7\\tau d$.", _tail(0.7)),
)


def _powers(base: float):
    def draw(count, random):
        return {"dimension": np.arange(1, 101)}

    def check(i):
        return scan.at_most((2 / np.e) ** (i["dimension"] / 2), base ** -i["dimension"].astype(float))

    return Scan(draw, check)


CHI_SQUARE = Claim(
    id=f"{PAPER}.section-C.chi-square",
    place="Appendix C, proof of Lemma 5.1, second term of Equation (7)",
    title="base of a chi-square tail",
    hypotheses=("$1 \\le d \\le 100$",),
    as_printed=Form(
        "$(2e^{-1})^{d/2} \\le 1.2^{-d}$.",
        _powers(1.2),
        recipe="left = (2 / np.e) ** (dimension / 2)\nright = 1.2 ** -float(dimension)\n",
    ),
    corrected=Form("$(2e^{-1})^{d/2} \\le 1.165^{-d}$.", _powers(1.165)),
    correction="$\\sqrt{e/2} = 1.1658$, below 1.2.",
    control=Form("$(2e^{-1})^{d/2} \\le 1.17^{-d}$.", _powers(1.17)),
)


def _events(shift: float):
    def draw(count, random):
        return {"joint": random.dirichlet(np.full(9, 0.3), size=count // 4).reshape(-1, 3, 3)}

    def check(i):
        joint = i["joint"]  # of A and B, each with the values 0, 1, 2
        at_least = np.tril(np.ones((3, 3)))
        left = joint[:, 1:, :].sum(axis=(1, 2)) - joint[:, :, 1:].sum(axis=(1, 2))
        right = np.sum(joint * at_least, axis=(1, 2))
        return {"left": left + shift, "right": right, "margin": right - left - shift}

    return Scan(draw, check)


EQUATION_7 = Claim(
    id=f"{PAPER}.equation-7",
    place="Equation (7)",
    title="comparing two random numbers through a constant",
    hypotheses=("$A, B$ with values 0, 1, 2 and any joint law; $c = 1$",),
    as_printed=Form("$P(A \\ge B) \\ge P(A \\ge c) - P(B \\ge c)$.", _events(0.0)),
    control=Form("$P(A \\ge B) \\ge P(A \\ge c) - P(B \\ge c) + 0.1$.", _events(0.1)),
    arithmetic="exact sums",
)


# The rates of flow and descent ----------------------------------------------------------------------------------------


def _constant(denominator: float):
    def check(i):
        return scan.at_most(1 / denominator, np.sin(i["delta"] / 4) ** 3 / (8 * np.sqrt(2)))

    return Scan(lambda count, random: {"delta": np.linspace(np.pi / 2, np.pi, 100)}, check)


RATE = Claim(
    id=f"{PAPER}.section-C.1.rate",
    place="Appendix C.1, the constant of Theorem 5.3",
    title="the constant 210",
    hypotheses=("$\\theta(w, v) \\le \\pi/2$, that is $\\delta \\ge \\pi/2$",),
    as_printed=Form("$\\frac1{8\\sqrt2}\\sin^3(\\delta/4) \\ge \\frac1{210}$.", _constant(210.0)),
    control=Form("$\\ge \\frac1{200}$.", _constant(200.0)),
)


def _step_ratio(most: float):
    def draw(count, random):
        rate = np.minimum(1.0, 10.0 ** random.uniform(-6, 1, size=count))
        bound = 10.0 ** random.uniform(-3, 3, size=count)
        share = np.where(np.arange(count) % 2, 1.0, random.uniform(size=count))
        return {"rate": rate, "bound": bound, "step": most * share * rate / (2 * bound)}

    def check(i):
        # Both sides over η: the comparison is not spoiled by rounding to one.
        return scan.at_most(-i["rate"] + i["step"] * i["bound"], -i["rate"] / 2)

    return Scan(draw, check)


EQUATION_9 = Claim(
    id=f"{PAPER}.equation-9",
    place="Equation (9)",
    title="contraction of one step",
    hypotheses=("$0 < \\eta \\le \\lambda/(2c)$",),
    as_printed=Form("$1 - \\eta\\lambda + \\eta^2c \\le 1 - \\eta\\lambda/2$.", _step_ratio(1.0)),
    control=Form("The same for $\\eta \\le \\lambda/c$.", _step_ratio(2.0)),
)


# The proof of Lemma C.2 -----------------------------------------------------------------------------------------------


def _increment(least: float, factor: float = 3.0):
    """One input, for which the change of |w − v|² is exact; c₁ = |x|², c₂ = 1."""

    def check(i):
        w, v, x, step = i["w"], i["v"], i["x"], i["step"]
        residual = jnp.maximum(w @ x, 0) - jnp.maximum(v @ x, 0)
        moved = w - step * jnp.where(w @ x > 0, residual, 0.0) * x
        before = jnp.sum((w - v) ** 2)
        change = jnp.abs(jnp.sum((moved - v) ** 2) - before)
        return at_most(change, factor * step * (x @ x) ** 2 * before, 1e-9 * step * (x @ x) * before + 1e-300)

    def build(raw):
        v = unit(raw["v"])
        size = least + 10 ** (2 * jnp.tanh(raw["s"]))
        x = unit(raw["x"]) * jnp.sqrt(size)
        # With a step of at most 1/c₁² as well as one: Equation (11) needs η ≤ 1 for η² ≤ η.
        step = (0.1 + 0.9 * sigmoid(raw["t"])) / jnp.maximum(1.0, size**2)
        gap = nonzero(raw["w"])
        return {"w": v + gap * (1 + 0.1 / jnp.linalg.norm(gap)), "v": v, "x": x, "step": step}

    return Pointwise(check, [Family({"w": (2,), "v": (2,), "x": (2,), "s": (), "t": ()}, build)])


EQUATION_11 = Claim(
    id=f"{PAPER}.equation-11",
    place="Equation (11)",
    title="change of the squared distance in one stochastic step",
    hypotheses=(
        "ReLU, one input with $\\|x\\|^2 = c_1$, so that $c_2 = 1$",
        "$\\eta$ between a tenth and one times $\\min\\{1, 1/c_1^2\\}$",
    ),
    as_printed=Form(
        "$|X_i - X_{i-1}| \\le 3\\eta c_1^2c_2^4X_{i-1}$ for $X_i = \\|w_i - v\\|^2$.",
        _increment(0.0),
        recipe="""
residual = max(w @ x, 0) - max(v @ x, 0)
moved = w - step * (residual if w @ x > 0 else 0.0) * x
before = np.sum((w - v) ** 2)
left = abs(np.sum((moved - v) ** 2) - before)
right = 3 * step * (x @ x) ** 2 * before
""",
    ),
    corrected=Form("The same under $c_1c_2^2 \\ge 1$.", _increment(1.0)),
    correction="$|\\langle g, w - v\\rangle| \\le c_1c_2^2\\|w - v\\|^2$, which is at most $c_1^2c_2^4\\|w - v\\|^2$ only if $c_1c_2^2 \\ge 1$. In general "
    "$|X_i - X_{i-1}| \\le (2\\eta c_1c_2^2 + \\eta^2c_1^2c_2^4)X_{i-1}$.",
    control=Form("The corrected form with one half in place of 3.", _increment(1.0, 0.5)),
)


def _maximal(divisor: float):
    """A walk of ±1 steps: the probability that it exceeds ε/2 within m steps, exactly, against exp(−ε²/(divisor·m))."""

    def draw(count, random):
        lengths, levels = np.meshgrid([16, 64, 256], np.arange(1, 40))
        return {"length": lengths.ravel(), "level": levels.ravel()}

    def check(i):
        length, level = i["length"], i["level"]
        # Reflection: P(max ≥ k) = 2P(S > k) + P(S = k); S = 2·ups − length.
        most = 2 * binom.sf((length + level) // 2, length, 0.5)
        most = most + np.where((length + level) % 2 == 0, binom.pmf((length + level) // 2, length, 0.5), 0.0)
        # Exceeding ε/2 for every ε/2 below the level k.
        shown = scan.at_most(most, np.exp(-((2.0 * level) ** 2) / (divisor * length)))
        # Absolute margins: the worst case is then one that can be seen in a sample.
        return shown | {"margin": np.where(level <= length, shown["right"] - shown["left"], np.inf)}

    return Scan(draw, check)


EQUATION_13 = Claim(
    id=f"{PAPER}.equation-13",
    place="Equation (13), first inequality",
    title="constant of the maximal Azuma inequality",
    hypotheses=("a martingale with increments of at most $a_i$; judged on a walk of steps $\\pm1$",),
    as_printed=Form(
        "$P(\\sup_i\\tilde X_i - \\tilde X_0 > \\epsilon/2) \\le \\exp(-\\epsilon^2/(2\\sum_ia_i^2))$.",
        _maximal(2.0),
        recipe="""
steps = np.random.default_rng(0).choice([-1, 1], size=(100_000, int(length)))
left = np.mean(np.cumsum(steps, axis=1).max(axis=1) >= level)  # sampled; epsilon/2 just below the level
right = np.exp(-((2 * level) ** 2) / (2 * length))
""",
    ),
    corrected=Form("$\\le \\exp(-\\epsilon^2/(8\\sum_ia_i^2))$.", _maximal(8.0)),
    correction="The deviation is $\\epsilon/2$, so that its square is $\\epsilon^2/4$. Lemma C.2 has room for the factor 4.",
    control=Form("$\\le \\exp(-\\epsilon^2/(4\\sum_ia_i^2))$.", _maximal(4.0)),
    arithmetic="exact binomial probabilities",
)


# The proof of Lemma C.3 and of Theorem 5.3 (3) ------------------------------------------------------------------------


def _epoch_fits(cap: float, largest: float = 60.0):
    """With the step of Lemma C.3 and m = 1/(9ηc₁c₂²), is Equation (15) satisfied? c₂ = 1, ε₁ = 1, both over the rest."""

    def draw(count, random):
        return {"rate": np.minimum(cap, 10.0 ** random.uniform(-4, 2, size=count))}

    def check(i):
        # η = λκ/(60c₁³) and (15) asks for 1/(9ηc₁) ≤ κ/(512c₁⁴η²), that is η ≤ 9κ/(512c₁³).
        return scan.at_most(i["rate"] / largest, np.full_like(i["rate"], 9 / 512))

    return Scan(draw, check)


EQUATION_15 = Claim(
    id=f"{PAPER}.equation-15",
    place="Equation (15) and the choice of the step after it",
    title="the step satisfies the condition on the epoch",
    hypotheses=(
        "$\\eta = \\lambda\\epsilon_1^2\\epsilon_2^2c_3^2/(60c_1^3c_2^6\\log\\frac2\\delta)$, $m = 1/(9\\eta c_1c_2^2)$, $\\epsilon_1 \\to 1$",
    ),
    as_printed=Form(
        "$m \\le \\epsilon_2^2c_3^2/(512c_1^4c_2^8\\eta^2\\log\\frac2\\delta)$ for $\\lambda = \\alpha^4\\beta\\gamma^2/210$; both sides as bounds on $\\eta$, "
        "without common factors.",
        _epoch_fits(np.inf),
        recipe="left = rate / 60\nright = 9 / 512\n",
    ),
    corrected=Form("The same for $\\lambda \\le 1$, as in part (2) of Theorem 5.3.", _epoch_fits(1.0)),
    correction="The condition is $\\lambda\\epsilon_1^2 \\le 540/512$; large inputs have $\\lambda > 1$ and need $\\min\\{1, \\lambda\\}$ in the step.",
    control=Form("The corrected form with 50 in place of 60.", _epoch_fits(1.0, 50.0)),
)


def _path_of_means(printed: bool, factor: float = 1.0):
    """The mean after two stochastic steps, exactly, for inputs uniform on three points."""

    def check(i):
        points, v, step = i["points"], i["v"], i["step"]

        def gradients(w):
            residual = jnp.maximum(points @ w, 0) - jnp.maximum(points @ v, 0)
            return jnp.where(points @ w > 0, residual, 0.0)[:, None] * points

        def gradient(w):
            return jnp.mean(gradients(w), axis=0)

        first = i["w"] - step * gradients(i["w"])
        mean = jnp.mean(first, axis=0)
        left = jnp.mean(jax.vmap(lambda w: w - step * gradient(w))(first), axis=0)
        right = mean - factor * step * (gradient(mean) if printed else jnp.mean(jax.vmap(gradient)(first), axis=0))
        return equal(left, right, 1e-3)

    def build(raw):
        points = jnp.tanh(raw["points"])
        v = unit(raw["v"])
        return {"w": v + unit(raw["w"]) * sigmoid(raw["s"]), "v": v, "points": points, "step": 0.5 * sigmoid(raw["t"])}

    shapes = {"w": (2,), "v": (2,), "points": (3, 2), "s": (), "t": ()}
    return Pointwise(check, [Family(shapes, build)])


MEAN_PATH = Claim(
    id=f"{PAPER}.equation-14",
    place="Equation (14), the path of means",
    title="the mean of stochastic runs is not a run of gradient descent",
    hypotheses=("ReLU, inputs uniform on three points in the plane, $\\|w_0 - v\\| < 1$, $\\eta \\le \\frac12$",),
    as_printed=Form(
        "$\\tilde w_i = E[w_i]$ satisfies $\\tilde w_i = \\tilde w_{i-1} - \\eta\\nabla F(\\tilde w_{i-1})$; judged after two steps.",
        _path_of_means(printed=True),
        recipe="""
def gradients(w):
    residual = np.maximum(points @ w, 0) - np.maximum(points @ v, 0)
    return np.where(points @ w > 0, residual, 0.0)[:, None] * points
first = w - step * gradients(w)
second = np.mean([u - step * gradients(u).mean(axis=0) for u in first], axis=0)
mean = first.mean(axis=0)
left = mean - second  # the second step of the mean
right = step * gradients(mean).mean(axis=0)
""",
    ),
    corrected=Form("$\\tilde w_i = \\tilde w_{i-1} - \\eta E[\\nabla F(w_{i-1})]$.", _path_of_means(printed=False)),
    correction="The gradient of $F$ is not linear, so that the mean of the gradients is not the gradient at the mean. The conclusion of "
    "Lemma C.3 can be had from Lemma C.1, which bounds $E\\|w_i - v\\|^2$ directly.",
    control=Form("The corrected form with a step one per cent larger.", _path_of_means(printed=False, factor=1.01)),
    arithmetic="exact sums in float64",
)


def _squares(printed: bool, factor: float = 1.0):
    def check(i):
        left = jnp.sum((i["a"] + i["b"]) ** 2)
        first, second = jnp.linalg.norm(i["a"]), jnp.linalg.norm(i["b"])
        return at_most(left, first**2 + second**2 if printed else factor * (first + second) ** 2, 1e-12)

    return Pointwise(check, [Family({"a": (2,), "b": (2,)}, lambda raw: {"a": raw["a"], "b": raw["b"]})])


SQUARES = Claim(
    id=f"{PAPER}.section-C.3.squares",
    place="Appendix C.3, proof of Lemma C.3, first line of the last display",
    title="triangle inequality for squares",
    hypotheses=("any vectors $a = \\tilde w_m - v$ and $b = w_m - \\tilde w_m$",),
    as_printed=Form(
        "$\\|w_m - v\\|^2 \\le \\|\\tilde w_m - v\\|^2 + \\|w_m - \\tilde w_m\\|^2$.",
        _squares(printed=True),
        recipe="left = np.sum((a + b) ** 2)\nright = np.sum(a**2) + np.sum(b**2)\n",
    ),
    corrected=Form("$\\|w_m - v\\| \\le \\|\\tilde w_m - v\\| + \\|w_m - \\tilde w_m\\|$.", _squares(printed=False)),
    correction="The triangle inequality holds for norms, not for their squares; the cross term vanishes in the mean only.",
    control=Form("The squared sum of norms times 0.9 is enough.", _squares(printed=False, factor=0.9)),
)


def _halves(sign: float):
    def draw(count, random):
        return {"x": np.concatenate([np.geomspace(1e-6, 0.999, 200), random.uniform(1e-6, 0.999, size=count)])}

    def check(i):
        return scan.at_most((1 + sign * i["x"]) ** (1 / i["x"]), np.full_like(i["x"], 0.5))

    return Scan(draw, check)


EXPONENTIAL = Claim(
    id=f"{PAPER}.section-C.3.exponential",
    place="Appendix C.3, proof of Lemma C.3, after the last display",
    title="a bound on powers",
    hypotheses=("$0 < x < 1$",),
    as_printed=Form("$(1 + x)^{1/x} \\le \\frac12$.", _halves(1.0), recipe="left = (1 + x) ** (1 / x)\nright = 0.5\n"),
    corrected=Form("$(1 - x)^{1/x} \\le \\frac12$, with $x = \\eta\\lambda/2$.", _halves(-1.0)),
    correction="A sign: $(1 + x)^{1/x} \\ge 2$, while $(1 - x)^{1/x} \\le 1/e$, which is what is used.",
    control=Form("$(1 + x/2)^{1/x} \\le \\frac12$.", _halves(0.5)),
)


def _drawn_epochs(count, random):
    # Of ratios λ/(c₁c₂²) up to 1/(210π), the largest possible.
    return {
        "ratio": 10.0 ** random.uniform(-6, -2.82, size=count),
        "epsilon_2": 10.0 ** -random.uniform(0.1, 8, size=count),
    }


def _enough_epochs(base: float):
    def check(i):
        epochs = np.ceil(20 * np.log(1 / i["epsilon_2"]) / np.log(base) / i["ratio"])
        return scan.at_most(0.5 ** (epochs * i["ratio"] / 20), i["epsilon_2"])

    return Scan(_drawn_epochs, check)


EPOCHS = Claim(
    id=f"{PAPER}.section-C.3.epochs",
    place="Appendix C.3, proof of Theorem 5.3 (3), number of epochs",
    title="number of epochs",
    hypotheses=(
        "`ratio` is $\\lambda/(c_1c_2^2)$",
        "$\\log$ is the natural logarithm, as in the bounds on probabilities",
    ),
    as_printed=Form(
        "$(\\frac12)^{t\\lambda/(20c_1c_2^2)} \\le \\epsilon_2$ for $t = \\lceil20c_1c_2^2\\log(1/\\epsilon_2)/\\lambda\\rceil$.",
        _enough_epochs(np.e),
        recipe="left = 0.5 ** (np.ceil(20 * np.log(1 / epsilon_2) / ratio) * ratio / 20)\nright = epsilon_2\n",
    ),
    corrected=Form("The same with the logarithm of base 2.", _enough_epochs(2.0)),
    correction="$2^{-\\log(1/\\epsilon_2)} = \\epsilon_2^{\\log2} > \\epsilon_2$ for the natural logarithm.",
    control=Form("The same with the logarithm of base 2.2.", _enough_epochs(2.2)),
)


def _length(constant: float):
    def check(i):
        # Both in units of 1/(ηλ): t·m = ⌈20 log(1/ε₂)/ratio⌉·ratio/9.
        epochs = np.ceil(20 * np.log(1 / i["epsilon_2"]) / i["ratio"])
        return scan.at_most(epochs * i["ratio"] / 9, constant * np.log(1 / i["epsilon_2"]) + i["ratio"] / 9)

    return Scan(_drawn_epochs, check)


LENGTH = Claim(
    id=f"{PAPER}.section-C.3.length",
    place="Appendix C.3, proof of Theorem 5.3 (3), number of iterations",
    title="number of iterations",
    hypotheses=("$t$ epochs of $m = 1/(9\\eta c_1c_2^2)$ iterations", "up to one epoch, for rounding up"),
    as_printed=Form(
        "$T = tm = 2\\log(1/\\epsilon_2)/(\\lambda\\eta)$, in units of $1/(\\lambda\\eta)$.",
        _length(2.0),
        recipe="left = np.ceil(20 * np.log(1 / epsilon_2) / ratio) * ratio / 9\n"
        "right = 2 * np.log(1 / epsilon_2) + ratio / 9\n",
    ),
    corrected=Form("$tm \\le \\frac{20}9\\log(1/\\epsilon_2)/(\\lambda\\eta)$ and one epoch.", _length(20 / 9)),
    correction="$20/9$ is rounded down to 2. The theorem's number of iterations is still enough, the true rate being at least $2\\lambda$.",
    control=Form("The same with 2.1.", _length(2.1)),
)

BEFORE_LEMMAS = (EQUATION_7, GAUSSIAN_TAIL, CHI_SQUARE, RATE, EQUATION_9)
OF_LEMMA_C_2 = (EQUATION_11, EQUATION_13)
OF_LEMMA_C_3 = (EQUATION_15, SQUARES, EXPONENTIAL, EPOCHS, LENGTH)
