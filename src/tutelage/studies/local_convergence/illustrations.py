"""Figures 2 and 3, computed: the two-student example, the nonlinear region, and the test function."""

import numpy as np
import polars as pl

from tutelage.claims.local_convergence import formulas as f
from tutelage.claims.local_convergence.strips import detected, level
from tutelage.plot import BLACK, BLUE, COLOURS, GREY, ORANGE, RED, panels
from tutelage.statistics import exponent
from tutelage.studies.base import Arrays, Conclusion, Picture, Pieces, Study, Values, chosen, printed
from tutelage.studies.expectations import below, within
from tutelage.studies.local_convergence.common import two_students


def _pieces(values: Values):
    return {"example": {"kind": "example"}, "strip": {"kind": "strip"}}


def _measure(values: Values, seed: int, kind: str) -> Arrays:
    if kind == "example":
        delta = np.geomspace(values.smallest, 1.0, values.points)
        target = np.array([[1.0, 0.0]])
        turned = np.stack([np.cos(delta), np.sin(delta)], axis=-1)
        pair = two_students(delta)
        return {
            "delta": delta,
            "one": f.loss(turned[:, None], target),
            "two": f.loss(pair, target),
            "gradient": f.frobenius(f.gradient(pair, target)),
        }
    tau = np.full(values.points, values.width)
    phi = np.linspace(0, np.pi / 2, values.points)
    return {"tau": tau, "phi": phi, "detected": detected(tau, phi), "level": level(tau)}


def _slope(x, y):
    return exponent(x[: len(x) // 2], y[: len(x) // 2])


def _conclude(values: Values, pieces: Pieces) -> Conclusion:
    example, strip = pieces["example"], pieces["strip"]
    delta = example["delta"]
    exact = (delta - np.sin(delta) * np.cos(delta)) / (np.pi * np.cos(delta) ** 2)
    expectations = (
        within("exponent of the loss of one student in δ", 2.0, _slope(delta, example["one"]), 0.02),
        within("exponent of the loss of two students in δ (Claim 2)", 3.0, _slope(delta, example["two"]), 0.02),
        below(
            "loss of two students against (δ − sin δ cos δ)/(π cos²δ): largest difference",
            "Θ(δ³), no constant printed",
            np.abs(example["two"] - exact).max(),
            1e-12,
        ),
        below(
            "correlation of the test function with a neuron at an angle φ, over that at φ = 0: at φ = 0.5",
            "almost zero for neurons far from the teacher",
            np.interp(0.5, strip["phi"], strip["detected"]) / strip["detected"][0],
            0.2,
        ),
    )
    remarks = (
        f"For two students the gradient falls like δ^{_slope(delta, example['gradient']):.2f}, so that it is of the order L^(2/3) along this family: neither the exponent "
        "1/2 of a Polyak–Łojasiewicz inequality nor the exponent 1 of Theorem 3.",
        "The residual of the two students is zero outside the wedge between their kinks, and positive inside: twice the smaller of the two terms.",
    )
    pictures = (_figure_2(values, example), _figure_3(values, strip))
    return Conclusion(expectations, pictures, {"example": pl.DataFrame(dict(example))}, remarks)


def _figure_2(values: Values, example: Arrays) -> Picture:
    figure, (left, middle, right) = panels(columns=3, width=2.6, height=2.5)
    delta = values.shown
    for turn, name in ((0.0, "$w^*$"), (delta, "$w_1$"), (-delta, "$w_2$")):
        size = 1.0 if turn == 0 else 1 / np.sqrt(2 * np.cos(delta))
        colour = BLUE if turn == 0 else BLACK
        left.annotate(
            "", (size * np.cos(turn), size * np.sin(turn)), (0, 0), arrowprops={"arrowstyle": "->", "color": colour}
        )
        left.text(size * np.cos(turn) + 0.04, size * np.sin(turn), name, color=colour, va="center")
    left.plot([0, 0], [-0.6, 0.6], color=GREY, linewidth=0)
    arc = np.linspace(0, delta, 50)  # δ is the angle of one student to the teacher
    left.plot(0.35 * np.cos(arc), 0.35 * np.sin(arc), color=GREY, linewidth=0.8)
    left.text(0.38, 0.07, "δ", color=GREY)
    left.set(xlabel="$w_1$", ylabel="$w_2$", xlim=(-0.1, 1.25), ylim=(-0.6, 0.6), aspect="equal")
    middle.loglog(example["delta"], example["one"], color=BLUE, label="one student")
    middle.loglog(example["delta"], example["two"], color=RED, label="two students")
    middle.loglog(example["delta"], 2 / (3 * np.pi) * example["delta"] ** 3, ":", color=BLACK, label="2δ³/(3π)")
    middle.set(xlabel="angle δ", ylabel="loss")
    middle.legend(loc="lower right")
    turn = np.linspace(-np.pi / 2, np.pi / 2, 800) + np.pi / 2
    points = np.stack([np.cos(turn), np.sin(turn)], axis=-1)
    half = np.array([np.cos(delta), np.sin(delta)]) / (2 * np.cos(delta))
    products = np.stack([half, half * [1.0, -1.0]])
    residual = np.abs(points @ products.T).sum(axis=1) - np.abs(points[:, 0])
    right.plot(turn, residual, color=RED)
    right.axvspan(np.pi / 2 - delta, np.pi / 2 + delta, color=GREY, alpha=0.2, linewidth=0)
    right.set(xlabel="direction of x", ylabel="residual at ‖x‖ = 1")
    right.set_xticks([0, np.pi / 2, np.pi], ["0", "π/2", "π"])
    caption = (
        f"The warm-up example. Left: the teacher and two students at δ = {delta:g}, drawn to scale. Middle: loss against the angle, for one student of norm one and for two whose "
        "products add up to the teacher. Right: the residual of the two on the unit circle; grey: where they disagree on the sign."
    )
    return Picture("figure-2", caption, figure)


def _figure_3(values: Values, strip: Arrays) -> Picture:
    figure, (left, middle, right) = panels(columns=3, width=2.6, height=2.5)
    tau, g = values.width, float(strip["level"][0])
    x = np.linspace(-1, 1, 801)
    left.axvspan(-tau, tau, color=GREY, alpha=0.25, linewidth=0)
    left.plot(x, np.abs(x), color=BLUE, label="$|w^*·x|$")
    far = np.cos(1.0) * x + np.sin(1.0) * 0.8
    left.plot(x, np.abs(far), color=ORANGE, label="$|w·x|$, φ = 1")
    left.set(xlabel="$w^*·x$", ylabel="neuron along a line", ylim=(-0.05, 1.7))
    left.legend(loc="upper center")
    middle.axvspan(-tau, tau, color=GREY, alpha=0.25, linewidth=0)
    middle.plot(x, np.where(np.abs(x) <= tau, np.abs(x) - g, 0.0), color=RED)
    middle.set(xlabel="$w^*·x$", ylabel="test function h")
    right.plot(strip["phi"], strip["detected"] / strip["detected"][0], color=COLOURS[2], label="exact")
    right.plot(
        strip["phi"][8:],
        np.cos(strip["phi"][8:]) ** 2 * tau / (np.sqrt(2 * np.pi) * np.sin(strip["phi"][8:])),
        ":",
        color=BLACK,
        label="narrow strips",
    )
    right.set(xlabel="angle φ to the teacher", ylabel="correlation with h, relative", ylim=(-0.02, 1.02))
    right.set_xticks([0, np.pi / 4, np.pi / 2], ["0", "π/4", "π/2"])
    right.legend(loc="upper right")
    caption = (
        f"The nonlinear region |w*·x| ≤ τ (grey, τ = {tau:g}) and the test function. Left: within it the teacher has a kink, a neuron at another angle is linear. Middle: the test "
        "function, orthogonal to constants. Right: its exact correlation with a neuron at the angle φ, over that with the teacher; dotted, the limit of narrow strips."
    )
    return Picture("figure-3", caption, figure)


STUDY = Study(
    id="local_convergence.figures-2-3",
    place="Figures 2 and 3, Claim 2",
    title="two students, and a test function",
    question="How does the loss grow when two students share a teacher, and what does the test function of Section 5.3 see?",
    settings=(
        printed("example", "r = 1, m = 2, ‖w‖ = 1/√(2 cos δ)"),
        chosen("shown", 0.45, note="angle that is drawn"),
        chosen("smallest", 1e-3),
        chosen("points", 121, paper=481),
        chosen("width", 0.2, note="τ, the half-width of the strip"),
    ),
    pieces=_pieces,
    measure=_measure,
    conclude=_conclude,
)
