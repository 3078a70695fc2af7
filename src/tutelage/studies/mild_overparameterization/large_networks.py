"""What others proved of these minima as the number of neurons grows: losses, spectra, and where they begin."""

import numpy as np
import polars as pl

from tutelage.errors import MissingDependency
from tutelage.geometry import family
from tutelage.plot import COLOURS, GREY, panels
from tutelage.statistics import exponent
from tutelage.studies.base import Arrays, Conclusion, Picture, Pieces, Study, Values, chosen
from tutelage.studies.expectations import below, described, within
from tutelage.studies.tables import table

# A class is named by its blocks and the place of its minimum among those of the class, by loss: the first is the global one.
_PLACE = "Beyond Section 4: Y. Arjevani and M. Field, A tale of symmetry II, NeurIPS 2021 (abstract)"
_TERMS = 3
# Eigenvalues of the global minimum that do not grow tend to these.
_LIMITS = (0.25 - 1 / (2 * np.pi), 0.25, 0.25 + 1 / (2 * np.pi))


def _name(blocks: str, place: int) -> str:
    return f"{blocks.replace(',', '+')}-{place}"


def _pieces(values: Values):
    # The longest first.
    return {_name(blocks, place): {"blocks": blocks, "place": place} for blocks, place in reversed(values.classes)}


def _measure(values: Values, seed: int, blocks: str, place: int) -> Arrays:
    symmetry = family(blocks)
    first = values.neurons[0]
    point = [point for point in symmetry.points(first, seed=seed) if "minimum" in point.kind][place]
    losses, spectra = [], []
    for neurons in values.neurons:
        if neurons > point.neurons:
            point = symmetry.point(neurons, symmetry.follow(point, neurons).tables[-1])
        losses.append(point.loss)
        spectra.append(np.array([[one.eigenvalue, one.multiplicity] for one in point.spectrum]))
    number = max(len(one) for one in spectra)
    padded = [np.pad(one, ((0, number - len(one)), (0, 0))) for one in spectra]
    begins = [event.neurons for event in symmetry.follow(point, values.fewest).events if event.kind == "crossing"]
    return {
        "loss": np.array(losses),
        "spectrum": np.array(padded),
        "begins": np.array(begins[-1:]),
        **_expansions(symmetry, point),
    }


def _expansions(symmetry, point) -> Arrays:
    """Return exponents and coefficients of the loss, and the limits of the eigenvalues; nothing without python-flint."""
    try:
        series = symmetry.expand(point, terms=_TERMS)
    except MissingDependency:
        return {}
    growing = [one for many in series.eigenvalues.values() for one in many]
    return {
        "exponents": np.array(series.loss.exponents),
        "coefficients": np.array(series.loss.coefficients),
        "errors": np.array(series.loss.errors),
        "limits": np.array([one.coefficients[0] for one in growing if one.exponents[0] == 0]),
    }


def _sorted_apart(first: np.ndarray, second: np.ndarray, neurons: float) -> tuple[float, float]:
    """Return the largest difference of two spectra, smallest with smallest and so on, and how many eigenvalues grow with k.

    Those that grow are left out of the difference.
    """
    kept = [one[(one[:, 1] > 0) & (one[:, 0] < 0.1 * neurons)] for one in (first, second)]
    ends = [np.cumsum(one[:, 1]) for one in kept]
    if ends[0][-1] != ends[1][-1]:
        return float("inf"), float("nan")
    # Both are constant between neighbouring ends of groups.
    places = np.unique(np.concatenate(ends))
    values = [one[np.searchsorted(end, places), 0] for one, end in zip(kept, ends, strict=True)]
    return float(np.abs(values[0] - values[1]).max()), float(neurons**2 - ends[0][-1])


def _rows(arrays: Arrays, blocks: str, place: int):
    if "exponents" in arrays:
        for power, value, error in zip(arrays["exponents"], arrays["coefficients"], arrays["errors"], strict=True):
            yield {"blocks": blocks, "minimum": place, "exponent": power, "coefficient": value, "error": error}
    else:
        yield {"blocks": blocks, "minimum": place, "exponent": None, "coefficient": None, "error": None}


def _conclude(values: Values, pieces: Pieces) -> Conclusion:
    neurons = np.array(values.neurons, float)
    whole = pieces["k-0"]
    spurious = [one for one in values.classes if tuple(one) != ("k", 0)]
    decaying = [_name(*one) for one in spurious if one[0] != "k"]
    apart, growing = {}, []
    for one in spurious:
        spectra = pieces[_name(*one)]["spectrum"]
        pairs = [_sorted_apart(*both) for both in zip(whole["spectrum"], spectra, neurons, strict=True)]
        apart[_name(*one)] = np.array([distance for distance, _ in pairs])
        growing += [number - k for (_, number), k in zip(pairs, neurons, strict=True)]
    first, begins = pieces["k-1+1-1"], pieces["k-1+1-1"]["begins"]
    slopes = [exponent(neurons, distances) for distances in apart.values()]
    expectations = [
        within(
            f"exponent of the loss in k, blocks {name[:-2].replace('+', ', ')}",
            -1,
            exponent(neurons, pieces[name]["loss"]),
            0.05,
        )
        for name in decaying
    ]
    expectations += [
        described(
            "spectra of global and spurious minima: exponent in k of the largest difference, over the classes",
            "they coincide to order k^(-1/2)",
            max(slopes),
            max(slopes) < -0.45,
            "below -0.45",
        ),
        described(
            "number of eigenvalues that grow with k, minus k",
            "Θ(k) of them grow linearly, all others are near small positive constants",
            max(growing),
            min(growing) == max(growing) == 1,
            "1 for every class and k",
        ),
        described(
            "real number of neurons at which the class k-1, 1 becomes a minimum",
            "saddles turn into minima at fractional dimensions; spurious minima are known from k = 6 on",
            begins[0] if begins.size else float("nan"),
            begins.size == 1 and 5 < begins[0] < 6,
            "between 5 and 6",
        ),
    ]
    remarks = []
    if "limits" in first:
        limits = np.concatenate([pieces[_name(*one)]["limits"] for one in values.classes])
        distance = np.abs(limits[:, None] - np.array(_LIMITS)).min(axis=1).max()
        expectations += [
            within("k times the loss of blocks k-1, 1 as k grows, ½ − 2/π²", 0.5 - 2 / np.pi**2, first["coefficients"][0], 1e-9),
            below(
                "largest distance of a limit of eigenvalues from ¼ − 1/(2π), ¼ and ¼ + 1/(2π), all classes",
                "the spectra agree in the limit",
                distance,
                1e-9,
            ),
        ]  # fmt: skip
        constant = pieces["k-1"]["coefficients"][0]
        remarks.append(
            f"The second minimum with one block of all neurons does not fade: its loss tends to {constant:.10f}, which is ½ − 1/π."
        )
    else:
        remarks.append("Series with many digits need python-flint, the extra `certify`, and were left out.")
    frame = table(_pieces(values), pieces, _rows).sort(
        "blocks", "minimum", pl.col("exponent"), descending=[False, False, True]
    )
    return Conclusion(tuple(expectations), (_picture(neurons, pieces, apart),), {"expansions": frame}, tuple(remarks))


def _picture(neurons: np.ndarray, pieces: Pieces, apart: dict[str, np.ndarray]) -> Picture:
    figure, axes = panels(columns=2, width=3.2, height=2.6)
    for number, (name, distances) in enumerate(apart.items()):
        blocks, colour = name.rsplit("-", 1)[0].replace("+", ", "), COLOURS[number % len(COLOURS)]
        axes[0].loglog(neurons, pieces[name]["loss"], "o-", color=colour, label=f"blocks ${blocks}$")
        axes[1].loglog(neurons, distances, "o-", color=colour)
    axes[0].loglog(neurons, 0.5 / neurons, "--", color=GREY, linewidth=1, label="$k^{-1}$")
    axes[1].loglog(neurons, 1 / np.sqrt(neurons), "--", color=GREY, linewidth=1, label="$k^{-1/2}$")
    axes[0].set(xlabel="$k$", ylabel="loss")
    axes[1].set(xlabel="$k$", ylabel="largest difference of eigenvalues")
    for panel in axes:
        panel.legend(loc="best")
    caption = (
        "Families of spurious minima as the number of neurons grows. Left: their losses. Right: how far their spectra are from that of the "
        "global minimum, eigenvalues in order; those that grow with k left out."
    )
    return Picture("large-networks", caption, figure)


STUDY = Study(
    id="mild_overparameterization.large-networks",
    place=_PLACE,
    title="families of minima as k grows",
    question="Do the losses of spurious minima fall like 1/k, and do their spectra become that of the global minimum, as was proved?",
    settings=(
        chosen(
            "classes",
            (("k", 0), ("k", 1), ("k-1,1", 1)),
            paper=(("k", 0), ("k", 1), ("k-1,1", 1), ("k-2,2", 1), ("k-3,3", 1)),
            note="blocks, and which of the minima by loss",
        ),
        chosen("neurons", (256, 1024, 4096, 16384), paper=(256, 1024, 4096, 16384, 65536), note="k"),
        chosen("fewest", 5, note="where a family is followed to, to find where it begins"),
    ),
    pieces=_pieces,
    measure=_measure,
    conclude=_conclude,
    beyond=True,
)
