r"""Figure 2: $f(x, y) = x^2y^2$, which is one-point strongly convex only across its minima."""

import numpy as np
import polars as pl

from tutelage.plot import BLUE, GREY, ORANGE, SEQUENTIAL, panels
from tutelage.studies.base import Arrays, Conclusion, Picture, Pieces, Study, Values, chosen, printed
from tutelage.studies.expectations import at_least, below, described, within


def _gradient(x, y):
    return 2 * x * y**2, 2 * x**2 * y


def _pieces(values: Values):
    return {"grid": {}}


def _measure(values: Values, seed: int) -> Arrays:
    random = np.random.default_rng(seed)
    x, y = random.uniform(-2, 2, size=(2, values.samples))
    # Hessian [[2y², 4xy], [4xy, 2x²]].
    determinant = 4 * x**2 * y**2 - 16 * x**2 * y**2
    gx, gy = _gradient(x, y)
    identity = gx**2 + gy**2 - 4 * (x * y) ** 2 * (x**2 + y**2)
    # One-point quotient towards (0, b), with b = y (straight across the minima) and with b at random.
    heights = random.uniform(0.5, 2, size=values.samples)
    small = random.uniform(-0.1, 0.1, size=values.samples)
    across = _gradient(small, heights)[0] * small / small**2
    other = heights + random.uniform(-0.1, 0.1, size=values.samples)
    slanted = _gradient(small, other)
    squared = small**2 + (other - heights) ** 2
    towards = (slanted[0] * small + slanted[1] * (other - heights)) / squared
    quotient = (slanted[0] ** 2 + slanted[1] ** 2) / (2 * (small * other) ** 2)
    return {
        "determinant": determinant,
        "identity": identity,
        "across": across,
        "heights": heights,
        "towards": towards,
        "quotient": quotient,
    }


def _conclude(values: Values, pieces: Pieces) -> Conclusion:
    arrays = pieces["grid"]
    expectations = (
        described(
            "share of points with a negative determinant of the Hessian",
            "almost everywhere: not locally convex",
            (arrays["determinant"] < 0).mean(),
            (arrays["determinant"] < 0).all(),
        ),
        below(
            "towards (0, b), smallest one-point quotient in a standard neighbourhood",
            "not positive: not one-point strongly convex",
            arrays["towards"].min(),
            1e-3,
        ),
        at_least(
            "across the minima, for b between 1/2 and 2: smallest one-point quotient", 2.0, arrays["across"].min()
        ),
        within("the same over b², mean", 2.0, (arrays["across"] / arrays["heights"] ** 2).mean(), 1e-9),
        below("largest error of |∇f|² = 4 f (x² + y²)", "an identity", np.abs(arrays["identity"]).max(), 1e-9),
    )
    remarks = (
        "Straight across the minima the quotient is 2b², where (0, b) is the minimum: the printed parameter 2 holds for |b| ≥ 1 only. It "
        "tends to zero at the origin, where two lines of minima cross.",
    )
    x = np.linspace(-1.5, 1.5, 121)
    grid_x, grid_y = np.meshgrid(x, x)
    surface = grid_x**2 * grid_y**2
    figure, (left, right) = panels(columns=2, height=2.8)
    image = left.contourf(x, x, surface, levels=20, cmap=SEQUENTIAL)
    figure.colorbar(image, ax=left, label="$x^2y^2$")
    left.axhline(0, color="w", linewidth=1)
    left.axvline(0, color="w", linewidth=1)
    left.set(xlabel="$x$", ylabel="$y$", aspect="equal")
    right.plot(
        arrays["heights"], arrays["towards"], ".", color=BLUE, markersize=1, alpha=0.4, label="in every direction"
    )
    order = np.argsort(arrays["heights"])
    right.plot(arrays["heights"][order], arrays["across"][order], color=ORANGE, label="straight across: $2b^2$")
    right.axhline(2, color=GREY, linestyle=":", linewidth=1)
    right.set(xlabel="height of the minimum, $b$", ylabel="one-point quotient towards $(0, b)$")
    right.legend(loc="upper left")
    caption = (
        "Left: level sets of f(x, y) = x²y²; the white lines are its minima. Right: the one-point quotient ⟨∇f(w), w − w̃⟩/|w − w̃|² towards "
        "a minimum w̃ = (0, b), for points within 0.1 of it in every direction, and straight across the line of minima."
    )
    frame = pl.DataFrame({name: arrays[name] for name in ("heights", "towards", "across", "quotient")})
    return Conclusion(expectations, (Picture("figure-2", caption, figure),), {"quotients": frame}, remarks)


STUDY = Study(
    id="mild_overparameterization.figure-2",
    place="Figure 2",
    title="one-point convexity across the minima",
    question="Is x²y² nowhere convex, not one-point strongly convex, and yet so straight across its minima?",
    settings=(printed("function", "x²y²"), chosen("samples", 4000, paper=100_000)),
    pieces=_pieces,
    measure=_measure,
    conclude=_conclude,
)
