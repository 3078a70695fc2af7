"""Lemma F.1 and Theorem 6: gradients over samples, and runs on mini-batches."""

import numpy as np
import polars as pl
from matplotlib.ticker import NullFormatter

from tutelage.claims.local_convergence import formulas as f
from tutelage.claims.local_convergence.descent import sampled_gradient
from tutelage.dynamics import GradientDescent, descend, record, step_limit
from tutelage.objectives import population, stream
from tutelage.plot import COLOURS, GREY, panels
from tutelage.problems import homogeneous
from tutelage.statistics import exponent
from tutelage.studies.base import Arrays, Conclusion, Picture, Pieces, Study, Values, chosen, printed
from tutelage.studies.expectations import at_most, within
from tutelage.studies.local_convergence.common import near_teachers, spread_teachers


def _pieces(values: Values):
    pieces = {f"gradient-d{d}": {"kind": "gradient", "size": d} for d in values.dimensions}
    return pieces | {f"batch-{n}": {"kind": "batch", "size": n} for n in (*values.batches, 0)}


def _measure(values: Values, seed: int, kind: str, size: int) -> Arrays:
    if kind == "gradient":
        random, teachers = np.random.default_rng([seed, size]), spread_teachers(values.teachers, size, 1.0)
        students = near_teachers(np.random.default_rng([seed, 7]), teachers, values.students, values.scale)
        exact = f.gradient(students, teachers)
        errors = [
            [
                f.frobenius(sampled_gradient(students, teachers, random.normal(size=(n, size)), half=True) - exact)
                for _ in range(values.repeats)
            ]
            for n in values.samples
        ]
        return {"error": np.array(errors), "loss": f.loss(students, teachers), "mass": np.sum(students**2)}
    teachers = spread_teachers(values.teachers, values.dimension, 1.0)
    scales = np.full(values.runs, values.scale)
    starts = near_teachers(np.random.default_rng([seed, 8]), teachers, values.students, scales)
    problem = homogeneous(teachers, values.students)
    exact = population(problem)
    objective = stream(problem, size, shared=True) if size else exact
    quantities = record(loss=exact.loss, every=values.every, at_most=values.steps)
    runs = descend(objective, starts, GradientDescent(values.step), step_limit(values.steps), quantities, seed=seed)
    curves = [runs.curve("loss", run) for run in range(values.runs)]
    return {"steps": curves[0][0], "loss": np.stack([losses for _, losses in curves])}


def _conclude(values: Values, pieces: Pieces) -> Conclusion:
    samples, dimensions = np.array(values.samples, float), np.array(values.dimensions, float)
    means = np.array([np.sqrt(np.mean(pieces[f"gradient-d{d}"]["error"] ** 2, axis=1)) for d in values.dimensions])
    losses, mass = (
        np.array([float(pieces[f"gradient-d{d}"][name]) for d in values.dimensions]) for name in ("loss", "mass")
    )
    in_samples = float(np.mean([exponent(samples, row) for row in means]))
    scaled = means[:, -1] / np.sqrt(losses * mass)
    in_dimension = exponent(dimensions, scaled)
    constant = float((means * np.sqrt(samples) / np.sqrt(2 * losses * mass * (dimensions + 3))[:, None]).mean())
    # Losses over those of the population run from the same start.
    steps, exact = (pieces["batch-0"][name] for name in ("steps", "loss"))
    ratios = {n: pieces[f"batch-{n}"]["loss"] / exact for n in values.batches}
    expectations = (
        within("power of N in the error of a sampled gradient (Lemma F.1)", -0.5, in_samples, 0.05),
        at_most("power of d in it", 1.0, in_dimension, 0.1),
        at_most(
            f"loss after {values.steps} steps with batches of {max(values.batches):,}, over that of the population run (largest of "
            f"{values.runs} starts)",
            10.0,
            float(ratios[max(values.batches)][:, -1].max()),
        ),
    )
    remarks = (
        f"The error of a gradient over N samples is {constant:.2f} (2 L Σ‖w‖² (d+3)/N)^(1/2): it falls with the loss, and grows like the square root of d (d^{in_dimension:.2f} over these dimensions), not like d as in the lemma (N ~ d²).",
        f"Since the noise vanishes with the loss, runs on small batches follow the population run down to losses of {np.median(exact[:, -1]):.0e}: "
        f"with batches of {min(values.batches)} they end at {np.median(ratios[min(values.batches)][:, -1]):.2f} times its loss (median). Theorem 6 asks for N ~ ε⁻³.",
        "Empirical losses have the factor one half of Equation (1) here; as printed, without it, their gradient is twice the population's.",
    )
    table = pl.DataFrame(
        {
            "d": np.repeat(values.dimensions, len(samples)),
            "samples": np.tile(values.samples, len(dimensions)),
            "error": means.ravel(),
        }
    )
    figure, (left, middle, right) = panels(columns=3, width=2.7, height=2.5)
    for d, row, colour in zip(values.dimensions, means, COLOURS, strict=False):
        left.loglog(samples, row, "o-", color=colour, label=f"d = {d}")
    left.loglog(samples, 0.5 * means.min() * np.sqrt(samples[-1] / samples), ":", color=GREY, label="$N^{-1/2}$")
    left.set(xlabel="samples $N$", ylabel=r"$\|\nabla\hat L - \nabla L\|$")
    left.set_ylim(top=8)
    left.legend(loc="upper right", fontsize=7, ncols=2)
    middle.loglog(dimensions, scaled, "o-")
    middle.loglog(dimensions, scaled[0] * np.sqrt(dimensions / dimensions[0]), ":", color=GREY, label="$d^{1/2}$")
    middle.loglog(dimensions, scaled[0] * dimensions / dimensions[0], "--", color=GREY, label="$d$ (Lemma F.1)")
    middle.set(xlabel="dimension $d$", ylabel=r"error over $(L\,\sum\|w\|^2)^{1/2}$")
    middle.set_xticks(dimensions, [str(d) for d in values.dimensions])
    middle.xaxis.set_minor_formatter(NullFormatter())
    middle.yaxis.set_minor_formatter(NullFormatter())
    middle.set_ylim(0.5 * scaled.min(), 40 * scaled.min())
    middle.legend(loc="upper left")
    for (n, ratio), colour in zip(ratios.items(), COLOURS, strict=False):
        low, middle, high = np.quantile(ratio, [0.1, 0.5, 0.9], axis=0)
        right.fill_between(steps, low, high, color=colour, alpha=0.15, linewidth=0)
        right.plot(steps, middle, color=colour, label=f"batches of {n:,}")
    right.set(xlabel="step", ylabel="loss over the population run's")
    right.legend(loc="upper left", fontsize=7)
    caption = (
        f"{values.teachers} unit teachers, {values.students} students close to them. Left: error of a sampled gradient, root mean square of {values.repeats} draws. Middle: the error at N = {values.samples[-1]:,} against the "
        f"dimension, over the square root of loss and mass. Right: exact loss along descent with fresh batches, over that of the population run from the same start; median and middle "
        f"80 % of {values.runs} starts, d = {values.dimension}, step {values.step:g}."
    )
    return Conclusion(expectations, (Picture("samples", caption, figure),), {"errors": table}, remarks)


STUDY = Study(
    id="local_convergence.samples",
    place="Lemma F.1 and Theorem 6",
    title="gradients and runs on samples",
    question="How far are sampled gradients from the population's, as a function of samples and dimension, and do runs on fresh batches follow the population run?",
    settings=(
        printed("lemma", "N ≥ O(r³w³d²ε⁻²δ⁻¹)", note="Lemma F.1"),
        chosen("teachers", 2),
        chosen("students", 6),
        chosen("scale", 0.6, note="relative deviation of the students from the teachers"),
        chosen("dimensions", (2, 4, 8, 16, 32), paper=(2, 4, 8, 16, 32, 64, 128)),
        chosen("samples", (100, 1000, 10_000), paper=(100, 1000, 10_000, 100_000)),
        chosen("repeats", 20, paper=200),
        chosen("batches", (10, 100, 1000), paper=(10, 100, 1000, 10_000)),
        chosen("dimension", 8, note="of the runs"),
        chosen("step", 0.05),
        chosen("steps", 800, paper=8000),
        chosen("runs", 20, paper=100, note="starts; they share batches"),
        chosen("every", 10, note="steps between two losses of a curve"),
    ),
    pieces=_pieces,
    measure=_measure,
    conclude=_conclude,
)
