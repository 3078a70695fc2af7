r"""The law of Theorem 3.1, on which descent is stuck: inputs $b_i e_i$, with $b_i$ against the likely sign of the start."""

import numpy as np

from tutelage.claims.single_neuron.hardness import escape, hard_problem
from tutelage.plot import COLOURS, GREY, RED, intervals, panels
from tutelage.starts import signs, uniform, xavier
from tutelage.studies.base import Arrays, Conclusion, Picture, Pieces, Study, Values, chosen, printed
from tutelage.studies.expectations import described
from tutelage.studies.tables import share, table

_STARTS = {"Xavier": xavier, "uniform": uniform, "Rademacher": signs}


def _pieces(values: Values):
    return {f"d-{d}": {"d": d} for d in sorted(values.dimensions, reverse=True)}


def _measure(values: Values, seed: int, d: int) -> Arrays:
    # All three laws of starts are symmetric: P(w_i > 0) = 1/2, for which the construction takes b_i = −1.
    problem = hard_problem(np.full(d, 0.5))
    return {
        name: _final_losses(np.asarray(draw(problem, values.runs, seed=seed)), values.step, values.iterations)
        for name, draw in _STARTS.items()
    }


def _final_losses(starts: np.ndarray, step: float, iterations: int) -> np.ndarray:
    r"""Return the losses at which descent ends, one for each start; the step is in units of $d$.

    At the input $-e_i$ a student is $\sigma(-w_i)$ and the teacher is $1/\sqrt d$, so that the loss is a sum over the
    coordinates, $\frac1{2d}\sum_i(\sigma(-w_i) - 1/\sqrt d)^2$, of curvature $1/d$: with a step of at most $d$ the residual
    of a coordinate that sees its input shrinks by the same factor at every step, and that of any other stays.
    """
    assert 0 < step <= 1
    seen, wanted = -starts, 1 / np.sqrt(starts.shape[1])
    residuals = np.where(seen > 0, (1 - step) ** iterations * (seen - wanted), -wanted)
    return 0.5 * np.mean(residuals**2, axis=1)


def _exact(d: int) -> float:
    """Probability that at least d/4 coordinates are dead, for symmetric starts: P(Bin(d, ½) ≤ 3d/4)."""
    return float(1 - escape(d, d))


def _rows(arrays: Arrays, d: int):
    for name in _STARTS:
        yield {
            "starts": name,
            "d": d,
            **share("stuck", arrays[name] >= 1 / (8 * d) - 1e-12),
            "exact": _exact(d),
            "printed_bound": 1 - np.exp(-d / 4),
            "proved_bound": 1 - np.exp(-d / 8),
            "mean_loss_times_d": arrays[name].mean() * d,
        }


def _conclude(values: Values, pieces: Pieces) -> Conclusion:
    frame = table(_pieces(values), pieces, _rows).sort("d", maintain_order=True)
    exact = np.array([_exact(d) for d in values.dimensions])
    dimensions = np.array(values.dimensions)
    violated = dimensions[1 - exact > np.exp(-dimensions / 4)]
    expected = frame["exact"].to_numpy()
    deviations = np.abs(frame["stuck"].to_numpy() - expected)
    errors = np.sqrt(np.maximum(expected * (1 - expected), 1e-9) / values.runs)
    expectations = (
        described(
            "runs stuck at a loss of at least 1/(8d), against the exact probability: largest deviation in standard errors",
            "the construction works for every product start",
            (deviations / (errors + 0.5 / values.runs)).max(),
            (deviations <= 4 * errors + 1.5 / values.runs).all(),
            "4 standard errors",
        ),
        described(
            "exact probability, at least 1 − exp(−d/4)",
            "in every dimension",
            "fails at d = " + ", ".join(str(d) for d in violated) if violated.size else "in every dimension",
            violated.size == 0,
        ),
        described(
            "exact probability, at least 1 − exp(−d/8)",
            "what Hoeffding's inequality gives",
            f"smallest excess {np.min(exact - 1 + np.exp(-dimensions / 8)):.2g}",
            (exact >= 1 - np.exp(-dimensions / 8)).all(),
        ),
    )
    remarks = (
        "A run is stuck exactly if at least a quarter of the start's coordinates are on the dead side of their input, whatever "
        "the method: for symmetric starts the probability is P(Bin(d, ½) ≤ 3d/4), and its complement falls as exp(−0.131 d). "
        "The printed exponent 1/4 is too large; Hoeffding's inequality with these numbers gives 1/8.",
        f"On average the loss stays at {frame['mean_loss_times_d'].to_numpy().mean():.3f}/d: half of the coordinates are dead.",
    )
    figure, (left, right) = panels(columns=2)
    for shift, (name, colour) in zip((0.94, 1.0, 1.06), zip(_STARTS, COLOURS, strict=False), strict=True):
        own = frame.filter(starts=name)
        x, y = own["d"].to_numpy(), own["stuck"].to_numpy()
        intervals(shift * x, y, own["low"], own["high"], left, fmt="o", color=colour, label=name, alpha=0.8)
    grid = np.arange(4, max(dimensions) + 1, 4)
    left.plot(grid, [_exact(int(d)) for d in grid], color=GREY, linewidth=1, label="exact")
    left.set(xscale="log", xlabel="dimension $d$", ylabel="fraction of runs stuck", ylim=(0.85, 1.01))
    left.legend(loc="lower right")
    shown = grid[grid <= 130]
    right.semilogy(shown, [max(escape(int(d), int(d)), 1e-300) for d in shown], color=GREY, label="exact")
    right.semilogy(shown, np.exp(-shown / 4), color=RED, linestyle="--", label="printed, $e^{-d/4}$")
    right.semilogy(shown, np.exp(-shown / 8), color=COLOURS[2], linestyle=":", label="proved, $e^{-d/8}$")
    right.set(xlabel="dimension $d$", ylabel="probability of not being stuck")
    right.legend(loc="lower left")
    caption = (
        f"Theorem 3.1's law. Left: fraction of {values.runs} runs of descent that end at a loss of at least 1/(8d), with 95 % "
        "intervals, and the exact probability. Right: the probability that a run is not stuck, with the printed bound and the "
        "one that the proof gives."
    )
    return Conclusion(expectations, (Picture("hard-law", caption, figure),), {"stuck": frame}, remarks)


STUDY = Study(
    id="single_neuron.hard-law",
    place="Theorem 3.1",
    title="inputs on which descent is stuck",
    question="On the constructed law, which fraction of runs ends above 1/(8d), for three kinds of product starts, and how does "
    "it compare with the exact probability and with the printed bound?",
    settings=(
        printed("activation", "ReLU, with derivative 0 at 0"),
        chosen("dimensions", (4, 8, 16, 32, 64, 128, 512), paper=(4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256, 512)),
        chosen("runs", 500, paper=5000, note="for each kind of start"),
        chosen("step", 0.5, note="in units of d"),
        chosen("iterations", 400),
    ),
    pieces=_pieces,
    measure=_measure,
    conclude=_conclude,
)
