"""How long exact population descent takes, against the dimension and the degree."""

from itertools import cycle

import numpy as np
import polars as pl

from tutelage.claims.weight_sharing.formulas import teacher_norm
from tutelage.claims.weight_sharing.plane import (
    learning_time,
    predicted_exponent,
    shared_learning_time,
    teacher_square,
)
from tutelage.dynamics import GradientDescent, descend, loss_below, step_limit
from tutelage.objectives import population
from tutelage.plot import BLACK, COLOURS, panels
from tutelage.problems import parity
from tutelage.statistics import exponent
from tutelage.studies.base import Arrays, Conclusion, Picture, Pieces, Study, Values, chosen, printed
from tutelage.studies.expectations import at_least, below, described, within
from tutelage.studies.tables import table


def _targets(values: Values):
    pairs = [("high", degree) for degree in values.degrees] + [
        ("both", degree) for degree in values.degrees if degree > 1
    ]
    return {f"{kind}-{degree}": {"kind": kind, "degree": degree} for kind, degree in pairs}


def _pieces(values: Values):
    return {"descent": {"kind": "descent", "degree": 0}, **_targets(values)}


def _dimensions(values: Values, degree: int, low: bool) -> np.ndarray:
    """Dimensions for which times stay below a limit beyond which floats do not resolve them."""
    power = max(predicted_exponent(degree, low), 0.5)
    return np.geomspace(30, 10 ** min(8.0, values.longest / power), values.points)


def _measure(values: Values, seed: int, kind: str, degree: int) -> Arrays:
    if kind == "descent":
        return _descent(values, seed)
    low = kind == "both"
    dimensions = _dimensions(values, degree, low)
    unshared = [learning_time(degree, float(d), 1.0, low, values.goal) for d in dimensions]
    # The longest curves are the slowest: exponents are fitted to the larger half.
    later = dimensions[len(dimensions) // 2 :]
    entries = [learning_time(degree, float(d), float(np.sqrt(d)), low, values.goal) for d in later]
    shared = [shared_learning_time(degree, float(d), 1.0, low, values.goal) for d in dimensions]
    return {
        "dimension": dimensions,
        "unshared": np.array(unshared),
        "shared": np.array(shared),
        "later": later,
        "constant_entries": np.array(entries),
    }


def _descent(values: Values, seed: int) -> Arrays:
    """Plain descent with step one in the full space, beside gradient flow in the plane: both degrees, three patches."""
    patches, rows = 3, []
    random = np.random.default_rng(seed)
    for dimension in values.checked:
        target = np.zeros(dimension)
        target[0] = teacher_norm(patches)
        for sharing in (False, True):
            objective = population(parity(target, patches, sharing=sharing))
            start = random.choice([-1.0, 1.0], size=(dimension,) if sharing else (patches, dimension)) / np.sqrt(
                dimension
            )
            # On the teacher's side in every patch.
            start[..., 0] = np.abs(start[..., 0])
            stop = loss_below(values.goal * teacher_square(patches)) | step_limit(100_000)
            runs = descend(objective, start[None], GradientDescent(1.0), stop)
            time = (shared_learning_time if sharing else learning_time)(
                patches, float(dimension), 1.0, True, values.goal
            )
            rows.append((dimension, sharing, int(runs.steps[0]), time))
    dimension, sharing, steps, times = (np.array(column) for column in zip(*rows, strict=True))
    return {"dimension": dimension, "sharing": sharing, "steps": steps, "time": times}


def _exponent(dimension: np.ndarray, time: np.ndarray) -> float:
    """The exponent through the larger half of the dimensions."""
    half = len(dimension) // 2
    return exponent(dimension[half:], time[half:])


def _rows(arrays: Arrays, kind: str, degree: int):
    yield {
        "target": kind,
        "degree": degree,
        "printed": float(degree),
        "predicted": predicted_exponent(degree, kind == "both"),
        "unshared": _exponent(arrays["dimension"], arrays["unshared"]),
        "shared": _exponent(arrays["dimension"], arrays["shared"]),
        "constant_entries": exponent(arrays["later"], arrays["constant_entries"]),
        "largest_dimension": arrays["dimension"][-1],
    }


def _conclude(values: Values, pieces: Pieces) -> Conclusion:
    frame = table(_targets(values), pieces, _rows)
    high, both = frame.filter(target="high"), frame.filter(target="both")

    def of(table: pl.DataFrame, degree: int, column: str = "unshared") -> float:
        return float(table.filter(degree=degree)[column].item())

    top = max(values.degrees)
    errors = np.abs(frame["unshared"].to_numpy() - frame["predicted"].to_numpy())
    steps = pieces["descent"]
    ratio = steps["steps"] / steps["time"]
    expectations = (
        within(f"exponent of d, degree {top} alone", top, of(high, top), 0.5),
        within(f"exponent of d, both degrees, unshared, high degree {top}", top, of(both, top), 0.5),
        below(
            "largest exponent of d with sharing, both degrees",
            "iterations polynomial in the degree, whatever d",
            both["shared"].to_numpy().max(),
            0.1,
        ),
        at_least(f"exponent of d, both degrees, unshared, degree {top}: Theorem 3's k/4", top / 4, of(both, top)),
        described(
            "steps of plain descent over the time of gradient flow, both degrees, k = 3",
            "the same (a step of one)",
            f"{ratio.min():.2f} to {ratio.max():.2f}",
            (np.abs(ratio - 1) < 0.4).all(),
            "within 40 %: steps are coarse",
        ),
    )
    remarks = (
        "Measured exponents are those of (k−1)(k−2)/k for degree k alone, and of (k−2)(k−3)/(k−1) for both degrees without sharing, "
        f"within {errors.max():.2f}: while the component along the teacher is small, norms decay like t^(−1/(2k−2)) and slow the "
        "growth of the product of k−1 components.",
        "Degree 1 takes a constant time and degree 2 a multiple of log d. Sharing divides the time of a single degree by k and "
        "changes no exponent; with both degrees it removes the dependence on d.",
        "Starts with entries ±1, as in Theorem 3, have norm √d: they take at least d for degree 1 and d^1.5 from degree 3 on, to "
        "shrink, and then as long as others.",
    )
    pictures = (_times_picture(values, pieces), _exponents_picture(frame))
    return Conclusion(expectations, pictures, {"exponents": frame}, remarks)


def _times_picture(values: Values, pieces: Pieces) -> Picture:
    figure, (left, right) = panels(columns=2, sharey=True, height=3.0)
    for panel, kind in ((left, "high"), (right, "both")):
        low = kind == "both"
        for degree, colour in zip((degree for degree in values.degrees if degree > low), cycle(COLOURS), strict=False):
            arrays = pieces[f"{kind}-{degree}"]
            d, time = arrays["dimension"], arrays["unshared"]
            panel.plot(d, time, "o-", color=colour, markersize=2.5, linewidth=1, label=f"k = {degree}")
            power = predicted_exponent(degree, low)
            if power > 0:
                panel.plot(d, time[-1] * (d / d[-1]) ** power, color=BLACK, linestyle=":", linewidth=0.8)
            if low:
                panel.plot(d, arrays["shared"], "--", color=colour, linewidth=0.8)
        panel.set(xscale="log", yscale="log", xlabel="dimension d")
    left.set_title("degree k alone")
    right.set_title("degrees 1 and k; dashed: shared")
    left.set_ylabel("time to learn")
    left.legend(loc="upper center", ncols=3)
    right.legend(loc="upper center", ncols=3)
    left.set_ylim(0.5, 1e17)
    caption = (
        "Time of gradient flow on the exact population loss until half of the high part of the loss is left, against the dimension, "
        "for starts of norm one with cosines 1/√d. Left: the high degree alone, without sharing. Right: low and high degree, without "
        "sharing (lines) and with sharing (dashed). Dotted: the predicted powers."
    )
    return Picture("time-to-learn", caption, figure)


def _exponents_picture(frame: pl.DataFrame) -> Picture:
    figure, (panel,) = panels(width=3.8)
    for kind, colour, label in (
        ("high", COLOURS[0], "degree k alone"),
        ("both", COLOURS[3], "degrees 1 and k, unshared"),
    ):
        rows = frame.filter(target=kind)
        k = np.linspace(1 if kind == "high" else 2, rows["degree"].to_numpy().max(), 100)
        power = np.maximum(predicted_exponent(k, kind == "both"), 0)  # type: ignore[arg-type]
        panel.plot(k, power, color=colour, linewidth=0.8, linestyle=":")
        panel.plot(rows["degree"], rows["unshared"], "o", color=colour, label=label)
    degrees = np.arange(1, frame["degree"].to_numpy().max() + 1)
    panel.plot(degrees, degrees, color=BLACK, linewidth=0.9, label="printed: $d^k$")
    panel.plot(degrees, degrees / 4, color=BLACK, linewidth=0.9, linestyle="--", label="Theorem 3: $d^{k/4}$")
    panel.set(xlabel="degree k", ylabel="exponent of d")
    panel.legend(loc="upper left")
    caption = (
        "Exponents of d in the time to learn, fitted (dots), predicted (dotted: (k−1)(k−2)/k and (k−2)(k−3)/(k−1)) and printed "
        "(lines)."
    )
    return Picture("exponents", caption, figure)


STUDY = Study(
    id="weight_sharing.time-to-learn",
    place="Section 2 (d to the degree) and Theorems 3 and 4",
    title="time to learn against dimension and degree",
    question="How does the time of exact population descent grow with the dimension, for one degree and for two, with sharing and "
    "without?",
    settings=(
        printed("activation", "erf", note="Section 4.1"),
        printed("teacher", "|u₀| = √12·k/π", note="Section 4.6"),
        chosen(
            "start",
            "norm one, cosine 1/√d in every patch",
            note="entries ±1/√d and a teacher on an axis, with a positive product",
        ),
        chosen("goal", 0.25, note="fraction of E[p²] at which the high degree counts as half learned"),
        chosen("degrees", (1, 2, 3, 4, 5, 6), paper=(1, 2, 3, 4, 5, 6, 7, 8)),
        chosen("points", 7, paper=17, note="dimensions per curve"),
        chosen("longest", 12.0, note="decimal digits of the longest time; floats resolve no more"),
        chosen("checked", (1000,), paper=(100, 1000, 10_000, 100_000), note="dimensions of plain descent"),
    ),
    pieces=_pieces,
    measure=_measure,
    conclude=_conclude,
)
