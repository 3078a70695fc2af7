"""Appendix C along whole runs: bounds on the signal, the angle and the norm, and the end of the second phase."""

import jax
import jax.numpy as jnp
import numpy as np

from tutelage.claims.base import Claim, Effort, Form, Outcome
from tutelage.claims.convolutional_filter import instances
from tutelage.claims.convolutional_filter.formulas import angle, exact, g, initial_signal, path
from tutelage.claims.convolutional_filter.instances import PAPER
from tutelage.claims.pointwise import Family, Pointwise, at_most, given
from tutelage.models import FilterAndOutput

_LENGTH = 300


def _path(i, length=_LENGTH):
    return path(i["v"], i["a"], i["w_star"], i["a_star"], i["step"], length)


def _along(check, build, constant: float = 1.0, corners=()):
    return Pointwise(check, instances.families(build, most=lambda i: instances.printed_step(i, constant)), corners)


def _norms(i):
    return jnp.sum(i["a_star"] ** 2) + jnp.sum(i["a_star"]) ** 2


def _invariants(constant: float):
    """The smallest margin of all invariants of Section 4.1 and of Lemma 4.5, over all steps of a run."""

    def check(i):
        trace, step = _path(i), i["step"]
        phi, signal, total = trace.phi, trace.signal, trace.total
        squares, square, sum_square = jnp.sin(phi) ** 2, jnp.sum(i["a_star"] ** 2), jnp.sum(i["a_star"]) ** 2
        sums = total * jnp.sum(i["a_star"])
        rate = (jnp.pi - phi) * signal / (2 * jnp.pi * trace.size**2)
        predicted = (1 - step * (jnp.pi - 1) / (2 * jnp.pi)) * signal
        predicted = predicted + step * ((g(phi) - 1) * square + sum_square - sums) / (2 * jnp.pi)
        margins = {
            "angle_decreases": jnp.min(phi[:-1] - phi[1:]),
            "signal_positive": jnp.min(signal) / _norms(i),
            "sum_small": jnp.min(sum_square - sums) / _norms(i),
            "angle_contracts": jnp.min((1 - step * jnp.cos(phi) * rate)[:-1] * squares[:-1] - squares[1:]),
            "signal_equation": 1e-9 - jnp.max(jnp.abs(signal[1:] - predicted[:-1])) / _norms(i),
        }
        return {"margin": jnp.min(jnp.stack(list(margins.values()))), **margins}

    return _along(check, instances.bounded_signal, constant)


INVARIANTS = Claim(
    id=f"{PAPER}.section-4.1.invariants",
    place="Section 4.1, summary after Lemma 4.4",
    title="all invariants hold at every step of a run",
    hypotheses=(
        "$\\|w^*\\| = \\|v^0\\| = 1$, $\\phi^0 < \\pi/2$, $a^0\\cdot a^* > 0$, $|\\mathbf 1\\cdot a^0| \\le |\\mathbf 1\\cdot a^*|$",
        "$a^0\\cdot a^* \\le \\|a^*\\|^2 + (\\mathbf 1\\cdot a^*)^2$ (the base of Lemma C.2)",
        "the step of Lemma C.3",
    ),
    as_printed=Form(
        "At each of the first 300 steps the angle does not increase (Lemma 4.2), $a^t\\cdot a^* > 0$ (Lemma 4.3), "
        "$(\\mathbf 1\\cdot a^t)(\\mathbf 1\\cdot a^*) \\le (\\mathbf 1\\cdot a^*)^2$ (Lemma 4.4), $\\sin^2\\phi^t$ contracts as in "
        "Lemma 4.5, and the signal follows Equation (4) with $\\|a^*\\|^2$ in its middle term.",
        _invariants(1.0),
    ),
    control=Form("The same with steps fifty times as large.", _invariants(50.0)),
)


# A signal so large that the first step overshoots: the angle grows, and stays large as the filter is long by then.
_LARGE_SIGNAL = {
    "v": np.array([np.cos(0.3), np.sin(0.3)]),
    "a": np.array([7e3, -7e3]),
    "w_star": np.array([1.0, 0.0]),
    "a_star": np.array([0.7, -0.7]),
    "step": 0.2,
}


def _signal_from_below(build, factor: float = 1.0, corners=()):
    def check(i):
        phi = angle(i["v"], i["w_star"])
        goal = (g(phi) - 1) / (jnp.pi - 1) * jnp.sum(i["a_star"] ** 2)
        least = jnp.minimum(i["a"] @ i["a_star"], goal)
        return at_most(factor * least, jnp.min(_path(i).signal), _norms(i))

    return _along(check, build, corners=corners)


COROLLARY_C_1 = Claim(
    id=f"{PAPER}.corollary-C.1",
    place="Corollary C.1",
    title="lower bound on the signal",
    hypotheses=("Theorem 3.1's conditions, $\\|w^*\\| = \\|v^0\\| = 1$, the step of Lemma C.3",),
    as_printed=Form(
        "$a^t\\cdot a^* \\ge \\min\\{a^0\\cdot a^*, \\frac{g(\\phi^0)-1}{\\pi-1}\\|a^*\\|^2\\}$ for all $t$.",
        _signal_from_below(instances.admissible, corners=[_LARGE_SIGNAL]),
        recipe="""
norm = np.linalg.norm
curve = lambda phi: (np.pi - phi) * np.cos(phi) + np.sin(phi)
phi = np.arccos(v @ w_star / norm(v))
right = min(a @ a_star, (curve(phi) - 1) / (np.pi - 1) * a_star @ a_star)
signals = []
for _ in range(300):
    phi = np.arccos(np.clip(v @ w_star / norm(v), -1, 1))
    across = w_star - v * (v @ w_star) / (v @ v)
    new_v = v + step * (a @ a_star) * (np.pi - phi) * across / (2 * np.pi * norm(v))
    a = a - step / (2 * np.pi) * (a.sum() + (np.pi - 1) * a - (a_star.sum() + (curve(phi) - 1) * a_star))
    v = new_v
    signals.append(a @ a_star)
left = min(signals)  # it should be at least the right-hand side
""",
    ),
    corrected=Form(
        "The same if $a^0\\cdot a^* \\le \\|a^*\\|^2 + (\\mathbf 1\\cdot a^*)^2$.",
        _signal_from_below(instances.bounded_signal),
    ),
    correction="The bound needs an angle that never grows, Lemma 4.2, and that needs a step that is small for the signal. The step of Lemma C.3 is, if the "
    "signal obeys Lemma C.2 at the start; Theorem 3.1's conditions do not bound it.",
    control=Form(
        "The corrected form with twice the right-hand side.", _signal_from_below(instances.bounded_signal, 2.0)
    ),
)


def _signal_after(fraction: float):
    """After 1/η steps from any signal, how much of |a*|² is there, where g(φ) − 1 is at least ½?"""

    def check(i):
        phi = angle(i["v"], i["w_star"])
        trace = path(i["v"], i["a"], i["w_star"], i["a_star"], i["step"], 200)
        reached = trace.signal[-1]
        left = fraction * (g(phi) - 1) / (jnp.pi - 1) * jnp.sum(i["a_star"] ** 2)
        return given(g(phi) - 1 >= 0.5, at_most(left, reached, _norms(i)))

    def build(raw):
        start = instances.admissible(raw)
        return {**start, "step": jnp.asarray(1 / 200)}

    return Pointwise(check, instances.families(build))


COROLLARY_C_2 = Claim(
    id=f"{PAPER}.corollary-C.2",
    place="Corollary C.2",
    title="the signal after 1/η steps",
    hypotheses=(
        "Theorem 3.1's conditions, $\\|w^*\\| = \\|v^0\\| = 1$",
        "$g(\\phi) - 1 \\ge \\frac12$",
        "$\\eta = 1/200$",
    ),
    as_printed=Form(
        "After $1/\\eta$ steps $a\\cdot a^* \\ge c\\,\\|a^*\\|^2$, the half of $\\Theta$ that its proof argues; judged with the constant "
        "$c = \\frac14\\frac{g(\\phi)-1}{\\pi-1}$.",
        _signal_after(0.25),
    ),
    control=Form("The same with $c = \\frac{g(\\phi)-1}{\\pi-1}$.", _signal_after(1.0)),
)


def _signal_from_above(build, factor: float = 1.0):
    return _along(lambda i: at_most(jnp.max(_path(i).signal), factor * _norms(i), _norms(i)), build)


LEMMA_C_2 = Claim(
    id=f"{PAPER}.lemma-C.2",
    place="Lemma C.2",
    title="upper bound on the signal",
    hypotheses=("Theorem 3.1's conditions, $\\|w^*\\| = \\|v^0\\| = 1$, the step of Lemma C.3",),
    as_printed=Form(
        "$a^t\\cdot a^* \\le (\\|a^*\\|^2 + (\\mathbf 1\\cdot a^*)^2)\\|w^*\\|^2$ for all $t \\ge 0$.",
        _signal_from_above(instances.admissible),
        recipe="left = a @ a_star  # already at the start\nright = (a_star @ a_star + a_star.sum() ** 2) * (w_star @ w_star)\n",
    ),
    corrected=Form(
        "The same if it holds at $t = 0$, as it does for the start of Theorem 3.2.",
        _signal_from_above(instances.bounded_signal),
    ),
    correction="The induction has no base: Theorem 3.1's conditions bound $\\mathbf 1\\cdot a^0$ but not $a^0\\cdot a^*$. With the "
    "bound at $t = 0$ as a hypothesis it holds for all $t$. Lemmas 4.5 and C.3, whose proofs cite this one, are judged with that hypothesis too.",
    control=Form(
        "The corrected form with half the right-hand side.", _signal_from_above(instances.bounded_signal, 0.5)
    ),
)


def _joint_induction(rate: float, most_norm: float):
    def check(i):
        trace = _path(i)
        signal = initial_signal(i["v"], i["a"], i["w_star"], i["a_star"])
        cosine = jnp.cos(angle(i["v"], i["w_star"]))
        bound = (1 - i["step"] * cosine * signal * rate) ** jnp.arange(_LENGTH + 1)
        margins = jnp.minimum(bound - jnp.sin(trace.phi) ** 2, (most_norm - trace.size) / most_norm)
        return {"margin": jnp.min(margins), "largest_norm": jnp.max(trace.size)}

    return _along(check, instances.bounded_signal)


LEMMA_C_3 = Claim(
    id=f"{PAPER}.lemma-C.3",
    place="Lemma C.3",
    title="the angle contracts and the norm stays below two",
    hypotheses=(
        "Theorem 3.1's conditions, $\\|w^*\\| = \\|v^0\\| = 1$",
        "the step of Lemma C.3 with $\\beta^*$ read as $\\beta^0$",
        "$a^0\\cdot a^* \\le \\|a^*\\|^2 + (\\mathbf 1\\cdot a^*)^2$ (see Lemma C.2)",
    ),
    as_printed=Form(
        "$\\sin^2\\phi^t \\le (1 - \\eta\\cos\\phi^0\\beta^0/8)^t$ and $\\|v^t\\| \\le 2$ for all $t$.",
        _joint_induction(1 / 8, 2.0),
    ),
    control=Form("The same with the rate $4\\eta\\cos\\phi^0\\beta^0$.", _joint_induction(4.0, 2.0)),
)


def _tame(raw):
    """An admissible start with a teacher of unit size, and a step small enough for all invariants."""
    start = instances.bounded_signal({**raw, "a_star": raw["a_star"] / (jnp.linalg.norm(raw["a_star"]) + 1e-150)})
    k = start["a"].shape[0]
    step = jnp.minimum(jnp.pi / (k + jnp.pi - 1), 1 / _norms(start))
    return {**start, "step": step}


def _accuracy(raw):
    """An accuracy between 5e-4 and ½."""
    return 0.5 * 10.0 ** (-3 / (1 + jnp.exp(-raw["e"])))


def _sum_reached(factor: float, base: float):
    """After T steps, T a multiple of the printed order, is the sum of output weights where Lemma C.4 says?"""

    def check(i):
        a, a_star, step, accuracy = i["a"], i["a_star"], i["step"], i["accuracy"]
        k = a.shape[0]
        size, sums = jnp.linalg.norm(a_star), jnp.abs(jnp.sum(a_star))
        rate = step * (k + jnp.pi - 1) / (2 * jnp.pi)
        needed = base + jnp.log(jnp.abs(jnp.sum(a_star) - jnp.sum(a)) / (accuracy * size) + 1e-300) / rate
        trace = path(i["v"], a, i["w_star"], a_star, step, _LENGTH)
        last = jnp.clip(jnp.ceil(needed), 0, _LENGTH).astype(int)
        allowed = (jnp.pi - g(angle(i["v"], i["w_star"])) <= accuracy * size / sums) & (needed < _LENGTH)
        gap = jnp.abs(jnp.sum(a_star) - trace.total[last])
        return given(allowed, at_most(gap, factor * accuracy * size, 1e-9 * size))

    def build(raw):
        start = _tame(raw)
        accuracy = _accuracy(raw)
        # Close enough to the teacher's direction for the hypothesis: π − g(φ) ≈ ½πφ² there.
        w_star, v = start["w_star"], start["v"]
        tilt = 0.3 * jnp.sqrt(accuracy) / (1 + jnp.exp(-raw["t"]))
        v = w_star + tilt * (v - w_star * (v @ w_star))
        return {**start, "v": v / jnp.linalg.norm(v), "accuracy": accuracy}

    return Pointwise(check, instances.families(build, more={"t": (), "e": ()}))


LEMMA_C_4 = Claim(
    id=f"{PAPER}.lemma-C.4",
    place="Lemma C.4",
    title="the sum of output weights converges",
    hypotheses=(
        "Theorem 3.1's conditions, $\\|w^*\\| = \\|a^*\\| = 1$, a step of at most $\\min\\{\\pi/(k+\\pi-1), 1/(1+(\\mathbf 1\\cdot a^*)^2)\\}$",
        "$\\pi - g(\\phi^0) \\le \\epsilon\\|a^*\\|/|\\mathbf 1\\cdot a^*|$",
        "the hidden constant of $T$ set to $2\\pi k/(k+\\pi-1)$, plus one step",
    ),
    as_printed=Form(
        "After $T$ steps $|\\mathbf 1\\cdot a^* - \\mathbf 1\\cdot a^T| \\le 2\\epsilon\\|a^*\\|$.",
        _sum_reached(2.0, 1.0),
    ),
    control=Form("The same with $\\epsilon/2$ for $2\\epsilon$.", _sum_reached(0.5, 1.0)),
)


def _output_reached(after: int, constant: float):
    def check(i):
        a, a_star, accuracy = i["a"], i["a_star"], i["accuracy"]
        size = jnp.linalg.norm(a_star)
        reached = path(i["v"], a, i["w_star"], a_star, i["step"], after).output[-1]
        left = jnp.linalg.norm(a_star - reached)
        return at_most(left, constant * accuracy * size, 1e-9 * size)

    def build(raw):
        start = _tame(raw)
        a, a_star, w_star, v = start["a"], start["a_star"], start["w_star"], start["v"]
        k = a.shape[0]
        accuracy = _accuracy(raw)
        size, sums = jnp.linalg.norm(a_star), jnp.abs(jnp.sum(a_star))
        # The hypotheses: direction close to the teacher's, and the sum within ε/k of the teacher's.
        tilt = 0.5 * jnp.sqrt(accuracy * jnp.minimum(1.0, size / (sums + 1e-9))) / (1 + jnp.exp(-raw["t"]))
        v = w_star + tilt * (v - w_star * (v @ w_star))
        a = a - jnp.mean(a) + (jnp.sum(a_star) + accuracy / k * size * jnp.tanh(raw["t"])) / k
        return {**start, "v": v / jnp.linalg.norm(v), "a": a, "accuracy": accuracy}

    return Pointwise(check, instances.families(build, more={"t": (), "e": ()}))


LEMMA_C_5 = Claim(
    id=f"{PAPER}.lemma-C.5",
    place="Lemma C.5",
    title="the output weights converge",
    hypotheses=(
        "$\\|w^*\\| = 1$",
        "$\\pi - g(\\phi^0) \\le \\epsilon\\|a^*\\|/|\\mathbf 1\\cdot a^*|$",
        "$|\\mathbf 1\\cdot a^* - \\mathbf 1\\cdot a^0| \\le \\frac\\epsilon k\\|a^*\\|$",
    ),
    as_printed=Form(
        "After $T$ steps $\\|a^* - a^0\\| \\le C\\epsilon\\|a^*\\|$: a statement on the start; judged with $C = 10$.",
        _output_reached(after=0, constant=10.0),
        recipe="norm = np.linalg.norm\nleft = norm(a_star - a)\nright = 10 * accuracy * norm(a_star)\n",
    ),
    corrected=Form(
        "After 300 such steps $\\|a^* - a^T\\| \\le C\\epsilon\\|a^*\\|$ with $C = 2$.",
        _output_reached(after=_LENGTH, constant=2.0),
    ),
    correction="$a^0$ in the conclusion should be $a^T$.",
    control=Form("The corrected form after a single step.", _output_reached(after=1, constant=2.0)),
)


def _constant_needed(effort: Effort, seed: int) -> Outcome:
    """The smallest C of Lemma C.6 along teachers with more and more patches, all deviations of one sign."""
    sizes, accuracy, constants = 4 ** np.arange(1, 6), 1.0, []
    w_star = np.eye(2)[0]
    loss = jax.jit(lambda a, a_star: exact(w_star, a_star).loss(FilterAndOutput(jnp.asarray(w_star), a)))
    for k in sizes:
        a_star = instances.teacher(int(k), "one")
        constants.append(float(loss(a_star + accuracy / np.sqrt(k), a_star)) / accuracy)
    power = float(np.polyfit(np.log(sizes[-3:]), np.log(constants[-3:]), 1)[0])
    witness = {"sizes": sizes, "accuracy": accuracy, "constants": np.array(constants)}
    return Outcome(0.1 - power, len(sizes), witness, f"the constant needed grows like the power {power:.2f} of k")


def _final_loss(constant: float):
    """ℓ ≤ Cε|a*|²|w*|² under the hypotheses of Lemma C.6 and Lemma C.4's bound on the sums."""

    def check(i):
        v, a, w_star, a_star, accuracy = (i[name] for name in ("v", "a", "w_star", "a_star", "accuracy"))
        size = jnp.sum(a_star**2)
        loss = exact(w_star, a_star).loss(FilterAndOutput(v, a))
        sums = jnp.abs(jnp.sum(a) - jnp.sum(a_star))
        allowed = (jnp.pi - g(angle(v, w_star)) <= accuracy) & (sums <= 2 * accuracy * jnp.sqrt(size))
        return given(allowed, at_most(loss, constant * accuracy * size, 1e-9 * size))

    def build(raw):
        w_star = raw["w_star"] / (jnp.linalg.norm(raw["w_star"]) + 1e-150)
        a_star = instances.nonzero(raw["a_star"])
        accuracy = 2 * _accuracy(raw)
        direction = raw["a"] / (jnp.linalg.norm(raw["a"]) + 1e-150)
        a = a_star + accuracy * jnp.linalg.norm(a_star) * direction
        across = raw["v"] - w_star * (raw["v"] @ w_star)
        tilt = 0.7 * jnp.sqrt(accuracy) / (1 + jnp.exp(-raw["t"]))
        v = w_star + tilt * across / (jnp.linalg.norm(across) + 1e-150)
        return {"v": v, "a": a, "w_star": w_star, "a_star": a_star, "accuracy": accuracy}

    families = [Family({"v": (2,), "a": (k,), "w_star": (2,), "a_star": (k,), "t": (), "e": ()}, build) for k in (1, 8)]
    return Pointwise(check, families)


LEMMA_C_6 = Claim(
    id=f"{PAPER}.lemma-C.6",
    place="Lemma C.6",
    title="the loss at the end of the second phase",
    hypotheses=(
        "$\\|w^*\\| = 1$",
        "$\\pi - g(\\phi) \\le \\epsilon \\le 1$",
        "$\\|a - a^*\\| \\le \\epsilon\\|a^*\\|$",
    ),
    as_printed=Form(
        "$\\ell \\le C\\epsilon\\|a^*\\|^2$ with an absolute constant: the smallest $C$ that serves does not grow with $k$.",
        _constant_needed,
        recipe="""
left = []
for k in sizes:
    a_star = np.eye(k)[0]
    a = a_star + accuracy / np.sqrt(k)  # and v = w*
    loss = ((np.pi - 1) * np.sum((a - a_star) ** 2) + (a.sum() - a_star.sum()) ** 2) / (4 * np.pi)  # Theorem 2.1, corrected
    left.append(loss / accuracy)  # the constant that this k needs; it should be bounded
right = len(left) * [left[0]]
""",
    ),
    corrected=Form(
        "$\\ell \\le \\epsilon\\|a^*\\|^2$ if moreover $|\\mathbf 1\\cdot a - \\mathbf 1\\cdot a^*| \\le 2\\epsilon\\|a^*\\|$, which Lemma "
        "C.4 provides.",
        _final_loss(1.0),
    ),
    correction="The loss contains $(\\mathbf 1\\cdot a - \\mathbf 1\\cdot a^*)^2/(4\\pi)$, up to $k\\epsilon^2\\|a^*\\|^2/(4\\pi)$ under the "
    "printed hypotheses: no absolute constant serves all $k$. Lemma C.4's bound on the sums must be a hypothesis.",
    control=Form("The corrected form with $\\epsilon/20$.", _final_loss(0.05)),
)

CLAIMS = (INVARIANTS, COROLLARY_C_1, COROLLARY_C_2, LEMMA_C_2, LEMMA_C_3, LEMMA_C_4, LEMMA_C_5, LEMMA_C_6)
