"""Constant against high probability: where starts succeed, and how fast they converge."""

import equinox as eqx
import numpy as np
import polars as pl

from tutelage.claims.single_neuron.convergence import start_probability
from tutelage.inputs import ball, gaussian, sphere, student_t
from tutelage.objectives import Objective, population
from tutelage.plot import COLOURS, GREY, RED, intervals, panels
from tutelage.problems import neuron
from tutelage.starts import gaussian as gaussian_starts
from tutelage.statistics import straight_line
from tutelage.studies.base import Arrays, Conclusion, Picture, Pieces, Study, Values, chosen, printed
from tutelage.studies.expectations import above, at_least, below, described
from tutelage.studies.single_neuron.common import paths
from tutelage.studies.tables import share, table

# Radii are chosen so that every law has the identity as its covariance: rates can be compared.
_LAWS = {
    "Gaussian": gaussian,
    "sphere": lambda d: sphere(d, radius=np.sqrt(d)),
    "ball": lambda d: ball(d, radius=np.sqrt(d + 2)),
    "heavy tails": lambda d: student_t(d, degrees=5),
}
# Iterations between two entries of a curve.
_EVERY = 5


def _pieces(values: Values):
    small = {
        f"small-d{d}-tau{tau:g}": {"kind": "small", "d": d, "tau": tau, "law": "Gaussian"}
        for d in values.dimensions
        for tau in values.taus
    }
    standard = {
        f"standard-d{d}-{law.replace(' ', '-')}": {"kind": "standard", "d": d, "tau": 0.0, "law": law}
        for law in _LAWS
        for d in values.dimensions
    }
    return {**small, **standard}


def _measure(values: Values, seed: int, kind: str, d: int, tau: float, law: str) -> Arrays:
    inputs = _LAWS[law](d)
    problem = neuron(np.eye(d)[0], inputs=inputs)
    # Small starts are given in units of the largest variance that Lemma 5.1 allows, 1/(d√2).
    scale = tau / (d * np.sqrt(2)) if kind == "small" else 1 / np.sqrt(d)
    starts = np.asarray(gaussian_starts(problem, values.runs, scale=scale, seed=seed))
    objective = population(problem)
    # Heavy tails have a larger variance in this parametrisation: keep the step times the curvature fixed.
    step = values.step / np.asarray(inputs.covariance())[0, 0]
    objective, followed = _in_plane(objective, starts) if objective.span_suffices else (objective, starts)
    path, _ = paths(objective, followed, step, values.iterations // _EVERY, _EVERY)
    return {
        "distance": np.linalg.norm(path - np.asarray(objective.target), axis=-1),
        "step": _EVERY * np.arange(values.iterations // _EVERY + 1),
        "inside": ((starts - np.eye(d)[0]) ** 2).sum(axis=1) <= 1 - 2 * scale**2 * d,
        "scale": np.asarray(scale),
    }


def _in_plane(objective: Objective, starts: np.ndarray) -> tuple[Objective, np.ndarray]:
    """Return what descent sees of an objective and of starts: the plane of the teacher (first axis) and of a start.

    What a neuron sees of a spherical law is in the duals: one compiled program serves all laws and dimensions.
    """
    plane = neuron([1.0, 0.0])
    across = np.linalg.norm(starts[:, 1:], axis=1)
    flat = eqx.tree_at(lambda o: (o.problem, o.target), objective, (plane, plane.target))
    return flat, np.stack([starts[:, 0], across], axis=1)


def _rate(step: np.ndarray, curves: np.ndarray) -> float:
    """Median over runs of the slope of log distance², over the last decades before rounding."""
    rates = []
    for curve in curves:
        use = (curve < 0.3) & (curve > 1e-7)
        if use.sum() > 5:
            rates.append(-2 * straight_line(step[use], np.log(curve[use]))[0])
    return float(np.median(rates)) if rates else float("nan")


def _conclude(values: Values, pieces: Pieces) -> Conclusion:

    def rows(arrays: Arrays, kind: str, d: int, tau: float, law: str):
        success = arrays["distance"][:, -1] < values.found
        scale = float(arrays["scale"])
        yield {
            "starts": kind,
            "law": law,
            "d": d,
            "tau": scale,
            "relative_tau": tau,
            **share("success", success),
            "inside": arrays["inside"].mean(),
            "exact_inside": start_probability(d, scale),
            "printed_bound": 0.5 - 0.25 * scale * d - 1.2 ** (-d),
            "corrected_bound": 0.5 - 3 / (2 * np.sqrt(2 * np.pi)) * scale * d if d > 1 else None,
            "inside_that_succeed": float(success[arrays["inside"]].mean()) if arrays["inside"].any() else None,
            "rate": _rate(arrays["step"], arrays["distance"][success]) / values.step,
        }

    frame = table(_pieces(values), pieces, rows)
    small = frame.filter(starts="small")
    standard = frame.filter(starts="standard")
    excess = (small["exact_inside"] - small["printed_bound"]).to_numpy()
    inside = small["inside_that_succeed"].drop_nulls().to_numpy()
    sampling = np.abs(small["inside"].to_numpy() - small["exact_inside"].to_numpy())
    errors = np.sqrt(0.25 / values.runs)
    largest = standard.filter(d=max(values.dimensions))["success"].to_numpy().min()
    rates = standard["rate"].to_numpy()
    guaranteed = 1 / 210  # α⁴βγ²/210 with α, β, γ at most 1
    expectations = (
        at_least("probability of |w − v|² ≤ 1 − 2τ²d minus Lemma 5.1's bound, smallest", 0.0, excess.min()),
        at_least(
            "the same minus 1/2 − 3/(2√(2π)) τd, the corrected bound for d ≥ 2, smallest",
            0.0,
            (small["exact_inside"] - small["corrected_bound"]).drop_nulls().to_numpy().min(),
        ),
        below(
            "the same probability, sampled against quadrature: largest difference",
            "equal",
            sampling.max(),
            4 * errors,
            "4 standard errors",
        ),
        described(
            "starts inside that ball that find the teacher", "all (Theorem 5.3)", inside.min(), inside.min() == 1
        ),
        above(
            f"N(0, I/d) starts that find the teacher under spherical laws, d = {max(values.dimensions)}",
            "all but an exponentially small part (Theorem 6.4)",
            largest,
            1 - 3 / values.runs,
        ),
        above(
            "rate of |w − v|² per unit of time, smallest over laws and dimensions",
            f"at least λ, which is at most {guaranteed:.4f}",
            np.nanmin(rates),
            guaranteed,
        ),
    )
    line = frame.filter(d=1)["success"].to_numpy()
    if line.size:
        # Starts on the other side shrink to zero and stay there.
        what = "starts on a line that find the teacher, largest distance from one half over laws and sizes"
        expectations += (below(what, "one half", np.abs(line - 0.5).max(), 4 * errors, "4 standard errors"),)
    remarks = (
        f"Small starts succeed far more often than the probability near 1/2 that Lemma 5.1 provides: "
        f"{small['success'].to_numpy().min():.0%} at least. The lemma asks for an acute angle; under a Gaussian law the angle falls "
        "from everywhere, and only the time to leave the neighbourhood of zero grows.",
        f"Near the teacher |w − v|² falls as exp(−{np.nanmedian(rates):.2f} t) under laws with identity covariance. The Hessian there "
        f"is half the covariance, which gives {-2 * np.log(1 - values.step / 2) / values.step:.2f} for this step and 1 for gradient "
        f"flow. The guaranteed rate is smaller by a factor of at least {np.nanmin(rates) / guaranteed:.0f}.",
    )
    return Conclusion(expectations, (_picture(values, frame, pieces),), {"success": frame}, remarks)


def _picture(values: Values, frame: pl.DataFrame, pieces: Pieces) -> Picture:
    figure, (left, middle, right) = panels(columns=3, width=2.7, height=2.5)
    own = frame.filter(starts="small", relative_tau=0.1).sort("d")
    x, y = own["d"].to_numpy(), own["success"].to_numpy()
    intervals(x, y, own["low"], own["high"], left, label="finds the teacher")
    left.plot(x, own["exact_inside"], "s-", color=COLOURS[1], label="Lemma 5.1's event")
    left.plot(x, own["printed_bound"], "--", color=RED, label="printed bound")
    left.plot(x, own["corrected_bound"], ":", color=COLOURS[2], label="corrected bound")
    left.set(xscale="log", xlabel="dimension $d$", ylabel="probability", ylim=(0.15, 1.05))
    left.set_title(r"$w \sim N(0, \tau^2 I)$, $\tau = 0.1/(d\sqrt{2})$")
    left.legend(loc="center right", bbox_to_anchor=(1.0, 0.62))
    # Laws hardly differ: earlier curves are wider, so that all are seen.
    for law, colour, width in zip(_LAWS, COLOURS, (7, 5, 3, 1), strict=False):
        own = frame.filter(starts="standard", law=law).sort("d")
        middle.plot(own["d"], own["success"], "o-", color=colour, linewidth=width, markersize=width + 2, label=law)
        arrays = pieces[f"standard-d{values.dimensions[-1]}-{law.replace(' ', '-')}"]
        median = np.median(arrays["distance"], axis=0)
        right.semilogy(arrays["step"] * values.step, median, color=colour, linewidth=width, label=law)
    middle.set(xscale="log", xlabel="dimension $d$", ylabel="finds the teacher", ylim=(-0.05, 1.05))
    middle.set_title("$w \\sim N(0, I/d)$")
    middle.legend(loc="lower right")
    time = np.array([0.0, values.step * values.iterations])
    right.semilogy(time, np.exp(-time / 420), color=GREY, linestyle="--", label="guaranteed")
    right.set(xlabel="time (step × iterations)", ylabel=r"$\|w - v\|$, median", ylim=(1e-9, 3), xlim=(0, 50))
    right.set_title(f"$d = {values.dimensions[-1]}$")
    caption = (
        f"A ReLU neuron, {values.runs} starts per point. Left: small Gaussian starts, a tenth of the size that Lemma 5.1 allows: fraction "
        "that finds the teacher, exact probability of the lemma's event, and its bound. Middle: N(0, I/d) starts under spherical "
        "laws. Right: median distance to the teacher, with the guaranteed rate (dashed, for the largest constants possible)."
    )
    return Picture("success", caption, figure)


STUDY = Study(
    id="single_neuron.success-rates",
    place="Lemma 5.1, Theorems 5.3 and 6.4",
    title="constant and high probability of success",
    question="How often do small Gaussian starts and standard ones find the teacher, and how fast does the distance decay, "
    "beside what is guaranteed?",
    settings=(
        printed("activation", "ReLU"),
        printed("small_starts", "N(0, τ²I) with τ ≤ 1/(d√2)", note="Lemma 5.1"),
        printed("standard_starts", "N(0, I/d)", note="below Theorem 6.4"),
        chosen("dimensions", (1, 2, 10, 100), paper=(1, 2, 3, 5, 10, 20, 50, 100, 300)),
        chosen("taus", (0.1, 1.0), paper=(0.01, 0.1, 0.3, 1.0), note="in units of 1/(d√2)"),
        chosen("laws", tuple(_LAWS), note="scaled to identity covariance, heavy tails by the step"),
        chosen("runs", 200, paper=5000),
        chosen("step", 0.5),
        chosen("iterations", 250),
        chosen("found", 1e-6, note="distance at which the teacher has been found"),
    ),
    pieces=_pieces,
    measure=_measure,
    conclude=_conclude,
)
