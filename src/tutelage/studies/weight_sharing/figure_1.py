"""Figure 1: shared and unshared weights on targets of low, high and both degrees, trained on batches."""

import numpy as np
import polars as pl

from tutelage.inputs import Inputs
from tutelage.plot import BLUE, COLOURS, GREY, RED, panels
from tutelage.studies.base import Arrays, Conclusion, Picture, Pieces, Study, Values, chosen, printed
from tutelage.studies.expectations import above, below
from tutelage.studies.tables import table
from tutelage.studies.weight_sharing.common import (
    DATA,
    OUTERS,
    Student,
    cosines,
    inputs_of,
    start,
    teacher_of,
    train,
    zero_losses,
)

_LEARNED, _FAILED = 0.2, 0.5
_TAIL = 200


def _every(values: Values) -> int:
    """How far apart the iterations are whose batch losses are looked at: looking at all would take a third of the time."""
    return max(values.block // 5, 1)


_STUDENTS = [
    Student(outer, learned, sharing) for learned in (False, True) for outer in OUTERS for sharing in (True, False)
]


def _pieces(values: Values):
    return {data: {"kind": "train", "data": data} for data in values.data} | {
        "varied": {"kind": "vary", "data": "gaussian"}
    }


def _measure(values: Values, seed: int, kind: str, data: str) -> Arrays:
    inputs = inputs_of(data, values.dimension)
    return _vary(values, seed, inputs) if kind == "vary" else _train(values, seed, inputs, data)


def _train(values: Values, seed: int, inputs: Inputs, data: str) -> Arrays:
    number = values.seeds if data == "gaussian" else values.image_seeds
    seeds = [1000 * seed + run for run in range(number)]
    vectors = np.stack([teacher_of(inputs, values.teacher_norm, run) for run in seeds])
    starts, teachers = [], []
    for run, vector in zip(seeds, vectors, strict=True):
        random = np.random.default_rng([run, 2])
        for student in _STUDENTS:
            starts.append(start(student, values.start_scale, values.patches, inputs.dimension, values.units, random))
            teachers.append((vector, student.outer))
    every = _every(values)
    kept = range(0, values.iterations, every)
    losses, runs = train(inputs, starts, teachers, values.step, values.batch, values.iterations, kept, seed)
    loss = losses.reshape(number, len(_STUDENTS), -1)
    # Curves are shown as means over a few iterations.
    block = values.block // every
    blocks = loss[..., : loss.shape[-1] // block * block].reshape(*loss.shape[:2], -1, block).mean(axis=-1)
    pairs = zip(vectors, seeds, strict=True)
    zero = np.concatenate([_zero_losses(values, inputs, teacher[None], run) for teacher, run in pairs])
    covariance = np.asarray(inputs.covariance())
    return {
        "loss": blocks,
        "final": loss[..., -_TAIL // every :].mean(axis=-1),
        "zero": zero,
        "cosine": cosines(runs, teachers).reshape(number, -1),
        "effective_dimension": np.trace(covariance) ** 2 / np.sum(covariance**2),
    }


def _zero_losses(values: Values, inputs: Inputs, teachers: np.ndarray, seed: int) -> np.ndarray:
    return zero_losses(inputs, teachers, values.patches, values.samples, seed + 10_000)


def _vary(values: Values, seed: int, inputs: Inputs) -> Arrays:
    """Final losses on both degrees for many starts, by scale of the start; the outer function is known."""
    random = np.random.default_rng([seed, 3])
    starts = [
        start(Student("both", learned=False, sharing=sharing), scale, values.patches, values.dimension, 0, random)
        for sharing in (True, False)
        for scale in np.repeat(values.scales, values.starts)
    ]
    vectors = np.stack([teacher_of(inputs, norm * values.teacher_norm, seed) for norm, _ in values.variations])
    factors = np.array([factor for _, factor in values.variations])
    final = np.empty((len(vectors), 2, len(values.scales), values.starts))
    for factor in np.unique(factors):
        own = np.flatnonzero(factors == factor)
        teachers = [(vector, "both") for vector in vectors[own] for _ in starts]
        iterations, step = values.varied_iterations, factor * values.step
        kept = range(max(iterations - _TAIL, 0), iterations, _every(values))
        losses, _ = train(inputs, starts * len(own), teachers, step, values.batch, iterations, kept, seed)
        final[own] = losses.mean(axis=-1).reshape(-1, *final.shape[1:])
    return {"final": final, "zero": _zero_losses(values, inputs, vectors, seed)}


def _final(values: Values, pieces: Pieces) -> pl.DataFrame:
    def rows(arrays: Arrays, data: str):
        for index, student in enumerate(_STUDENTS):
            ratio = arrays["final"][:, index] / arrays["zero"][:, OUTERS.index(student.outer)]
            high = arrays["final"][:, index] / arrays["zero"][:, OUTERS.index("high")]
            yield {
                "data": data,
                "outer": student.outer,
                "outer_function": "learned" if student.learned else "known",
                "sharing": student.sharing,
                "seeds": len(ratio),
                "final_mean": ratio.mean(),
                "final_least": ratio.min(),
                "final_largest": ratio.max(),
                "least_of_high_part": high.min(),
                "solved": (ratio < _LEARNED).mean(),
                "cosine": np.abs(arrays["cosine"][:, index]).mean(),
            }

    return table({data: {"data": data} for data in values.data}, pieces, rows)


def _expectations(values: Values, frame: pl.DataFrame):
    for data in values.data:
        if data == "photos":
            continue  # the paper has no photographs: nothing is published
        name = DATA[data]

        def cell(outer: str, column: str, sharing: tuple[bool, ...] = (True, False), data=data) -> np.ndarray:
            rows = (pl.col("data") == data) & (pl.col("outer") == outer) & pl.col("sharing").is_in(sharing)
            return frame.filter(rows)[column].to_numpy()

        yield above(
            f"{name}, high degree: smallest final loss of all runs, relative to predicting zero",
            "clear failure of both architectures, known and learned outer function",
            cell("high", "final_least").min(),
            _FAILED,
        )
        yield below(
            f"{name}, low degree: largest final loss of all runs",
            "success of both architectures, known and learned outer function",
            cell("low", "final_largest").max(),
            _LEARNED,
        )
        yield below(
            f"{name}, both degrees, shared: largest final loss of all runs",
            "converges very quickly",
            cell("both", "final_largest", (True,)).max(),
            _LEARNED,
        )
        yield above(
            f"{name}, both degrees, unshared: smallest final loss of all runs, relative to the high part",
            "the high frequency component has not been learnt",
            cell("both", "least_of_high_part", (False,)).min(),
            0.8,
        )


def _varied(values: Values, pieces: Pieces) -> pl.DataFrame:
    arrays = pieces["varied"]
    # Relative to the high part: for a short teacher it is a small part of the loss.
    relative = arrays["final"] / arrays["zero"][:, OUTERS.index("high"), None, None, None]
    learns, fails = (relative[:, 0] < _LEARNED).mean(axis=-1), (relative[:, 1] > 0.8).mean(axis=-1)
    norms, steps = np.repeat(values.variations, len(values.scales), axis=0).T
    return pl.DataFrame(
        {
            "teacher_norm": norms * values.teacher_norm,
            "step": steps * values.step,
            "start_scale": list(values.scales) * len(values.variations),
            "starts": [values.starts] * len(norms),
            "shared_learns": learns.ravel(),
            "unshared_fails": fails.ravel(),
        }
    )


def _conclude(values: Values, pieces: Pieces) -> Conclusion:
    frame, varied = _final(values, pieces), _varied(values, pieces)
    expectations = tuple(_expectations(values, frame))
    dimensions = {data: float(pieces[data]["effective_dimension"]) for data in values.data}
    broken = varied.filter(pl.min_horizontal("shared_learns", "unshared_fails") < 0.9)
    scales = sorted(set(broken["start_scale"].to_list()))
    where = "nowhere" if not scales else f"at start scales {', '.join(f'{scale:g}' for scale in scales)}"
    cells = f"{len(broken)} of {len(varied)}"
    remarks = [
        "The print leaves out |u₀|, the starts and the scale of the loss. With ½(·)², |u₀| = √12·5/π and entries of standard "
        "deviation 0.1/√d it shows what the paper describes, on Gaussian inputs.",
        f"Other choices, {values.starts} starts each: the picture (shared weights learn both degrees, unshared ones leave the high "
        f"degree) breaks for more than one start in ten in {cells} cells, {where}. Long starts saturate tanh, and gradients vanish; "
        "norm of the teacher and scale of the loss matter little.",
        "Image patches are close to low-dimensional. Their effective dimension (tr Σ)²/tr Σ² is "
        + ", ".join(f"{value:.3g} for {DATA[data]}" for data, value in dimensions.items())
        + "; the fewer, the easier the high degree, for both architectures.",
        "With a learned outer function a shared vector may end at −u₀: the outer function absorbs the sign.",
    ]
    if "photos" in values.data:
        rows = frame.filter(data="photos", outer="high")
        remarks.append(
            f"On photographs (not in the paper) {rows['solved'].to_numpy().mean():.0%} of the runs learn the high degree alone, "
            "shared or not: there the separation disappears."
        )
    pictures = tuple(_picture(values, pieces[data], data) for data in values.data)
    pictures += (_varied_picture(values, varied),)
    return Conclusion(expectations, pictures, {"final": frame, "varied": varied}, tuple(remarks))


def _picture(values: Values, arrays: Arrays, data: str) -> Picture:
    figure, axes = panels(rows=2, columns=3, width=2.5, height=1.9, sharex=True, sharey=True)
    steps = (np.arange(arrays["loss"].shape[-1]) + 0.5) * values.block
    for index, student in enumerate(_STUDENTS):
        panel = axes[3 * (not student.learned) + OUTERS.index(student.outer)]
        colour, style = (RED, "--") if student.sharing else (BLUE, "-")
        # Relative to predicting zero, which differs from teacher to teacher on images.
        curves = arrays["loss"][:, index] / arrays["zero"][:, OUTERS.index(student.outer), None]
        panel.fill_between(steps, curves.min(axis=0), curves.max(axis=0), color=colour, alpha=0.15, linewidth=0)
        # Shared above unshared, dashed, so that both are seen where they coincide.
        name, order = ("shared", 3) if student.sharing else ("unshared", 2)
        panel.plot(steps, curves.mean(axis=0), color=colour, linestyle=style, label=name, zorder=order)
    for column, outer in enumerate(OUTERS):
        for row in range(2):
            panel = axes[3 * row + column]
            panel.axhline(1, color=GREY, linewidth=0.7, linestyle=":")
            panel.set(ylim=(0, 1.4), xlim=(0, values.iterations), xlabel="iteration")
            panel.set_xticks(np.linspace(0, values.iterations, 4))
            panel.set_title(f"{outer}, {'known' if row else 'learned'} outer function")
    axes[0].set_ylabel("relative loss")
    axes[3].set_ylabel("relative loss")
    axes[0].legend(loc="upper right")
    caption = (
        f"{DATA[data]}: loss of a batch (mean of {values.block // _every(values)} of {values.block} iterations) over iterations of stochastic descent, mean and range of "
        f"{arrays['loss'].shape[0]} seeds. Columns: outer function of low, high and both degrees; rows: learned and known outer "
        "function. Losses are relative to that of predicting zero (dotted)."
    )
    return Picture(f"figure-1-{data}", caption, figure)


def _varied_picture(values: Values, varied: pl.DataFrame) -> Picture:
    figure, (left, right) = panels(columns=2, sharey=True)
    for number, (norm, factor) in enumerate(values.variations):
        rows = varied[number * len(values.scales) : (number + 1) * len(values.scales)]
        label = f"|u₀| = {norm * values.teacher_norm:.3g}, step {factor * values.step:g}"
        marker, colour = "osD^v"[number % 5], COLOURS[number]
        # Slightly apart, so that equal fractions stay visible.
        scales = rows["start_scale"].to_numpy() * 1.06 ** (number - 1.5)
        left.plot(scales, rows["shared_learns"], marker=marker, color=colour, label=label)
        right.plot(scales, rows["unshared_fails"], marker=marker, color=colour, label=label)
    for panel, title in ((left, "shared weights learn both"), (right, "unshared weights leave the high degree")):
        panel.set(xscale="log", xlabel="scale of the start, times √d", ylim=(-0.05, 1.08))
        panel.set_title(title)
    left.set_ylabel("fraction of starts")
    left.legend(loc="lower left")
    caption = (
        f"What the picture depends on: fraction of {values.starts} starts, Gaussian inputs, both degrees, known outer function, after "
        f"{values.varied_iterations} iterations, for other scales of the start, norms of the teacher and steps (a step of 1 is a loss "
        "without the factor ½)."
    )
    return Picture("sensitivity", caption, figure)


STUDY = Study(
    id="weight_sharing.figure-1",
    place="Figure 1 and Section 2",
    title="shared and unshared weights on low, high and both degrees",
    question="Does training on batches show what Figure 1 shows, on Gaussian inputs and on image patches, with a known and a "
    "learned outer function, and how much does it depend on what the print leaves out?",
    settings=(
        printed("patches", 5, note="k"),
        printed("dimension", 75, note="d for Gaussian inputs; MNIST patches have 100, photograph patches 75"),
        printed("step", 0.5),
        printed("batch", 128),
        printed("iterations", 3000),
        printed("units", 50, note="ReLU units of a learned outer function"),
        chosen("loss", "½(·)²", note="the print says squared loss; without ½ the step is twice as large"),
        chosen("teacher_norm", float(np.sqrt(12) * 5 / np.pi), note="√12·k/π, as in Section 4.6"),
        chosen("start_scale", 0.1, note="standard deviation of the first layer's entries, times √d"),
        chosen("outer_start", "uniform in ±1/√fan-in", note="weights and biases of a learned outer function"),
        chosen("data", ("gaussian", "mnist", "photos"), note="photographs are ours"),
        chosen("pixels", "mean patch subtracted, one gain for unit mean variance", note="the print says zero mean"),
        chosen("seeds", 3, paper=32, note="teachers and starts; batches are the same for all"),
        chosen("image_seeds", 2, paper=32),
        chosen(
            "block", 25, note="iterations of a point of a curve; the losses of about five of their batches are averaged"
        ),
        chosen("samples", 20_000, note="for the loss of predicting zero"),
        chosen(
            "variations", ((1.0, 1.0), (1.0, 2.0), (0.2, 1.0), (4.0, 1.0)), note="teacher norm and step, as factors"
        ),
        chosen(
            "scales",
            (0.1, 3.0, 10.0, 30.0),
            paper=(0.01, 0.1, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0),
            note="start scales tried",
        ),
        chosen("starts", 8, paper=64, note="starts of each variation"),
        chosen("varied_iterations", 1500, paper=3000),
    ),
    pieces=_pieces,
    measure=_measure,
    conclude=_conclude,
)
