"""Figure 1: twenty students and three teachers in the plane, in three regimes."""

import numpy as np
from matplotlib.ticker import MaxNLocator

from tutelage.dynamics import GradientDescent, descend, record, step_limit
from tutelage.objectives import population
from tutelage.plot import BLACK, BLUE, GREY, RED, panels
from tutelage.problems import homogeneous
from tutelage.studies.base import Arrays, Conclusion, Picture, Pieces, Study, Values, chosen, printed
from tutelage.studies.expectations import above, below, described
from tutelage.studies.local_convergence.common import own_angles, stray_mass
from tutelage.studies.tables import table

_REGIMES = {
    "lazy": "(a) lazy, output weights ±‖w‖",
    "large": "(a') large start, as printed",
    "mean-field": "(b) mean field",
    "local": "(c) local",
}


def _teachers(values: Values) -> np.ndarray:
    turn = np.deg2rad(values.degrees)
    return np.stack([np.cos(turn), np.sin(turn)], axis=-1)


def _pieces(values: Values):
    return {regime: {"regime": regime} for regime in _REGIMES}


def _student(student):
    return student


def _measure(values: Values, seed: int, regime: str) -> Arrays:
    random = np.random.default_rng([seed, list(_REGIMES).index(regime)])
    m, teachers = values.students, _teachers(values)
    start = random.normal(size=(m, 2))
    # Signs in all regimes, so that one compiled program follows all of them.
    signs, step = np.ones(m), values.step
    if regime == "lazy":
        # Every neuron twice, with both signs: the network starts at zero, whatever the scale.
        start[m // 2 :] = start[: m // 2]
        start *= values.lazy_scale / np.linalg.norm(start, axis=1, keepdims=True)
        signs = np.repeat([1.0, -1.0], m // 2)
        step = values.step * 0.05 / values.lazy_scale**2
    elif regime == "large":
        start *= values.lazy_scale / np.linalg.norm(start, axis=1, keepdims=True)
        step = values.step * 0.05 / values.lazy_scale**2
    elif regime == "mean-field":
        start *= values.small_scale
    else:
        share = np.sqrt(len(teachers) / m)
        start = share * (teachers[np.arange(m) % len(teachers)] + values.local_scale * start)
    runs = descend(
        population(homogeneous(teachers, m, signs=signs)),
        start[None],
        GradientDescent(step),
        step_limit(values.iterations),
        record("loss", every=max(values.iterations // 3000, 1), at_most=4000, place=_student),
    )
    return {"place": runs.curve("place", 0)[1], "loss": runs.curve("loss", 0)[1], "step": runs.curve("loss", 0)[0]}


def _conclude(values: Values, pieces: Pieces) -> Conclusion:
    teachers = _teachers(values)

    def rows(arrays: Arrays, regime: str):
        place, loss = arrays["place"], arrays["loss"]
        moved = np.linalg.norm(place[-1] - place[0], axis=1) / np.linalg.norm(place[0], axis=1)
        turn = own_angles(place[-1], teachers)
        yield {
            "regime": regime,
            "first_loss": loss[0],
            "last_loss": loss[-1],
            "median_move": np.median(moved),
            "largest_move": moved.max(),
            "median_angle": np.median(turn),
            "largest_angle": turn.max(),
            "matched_mass": 1 - float(stray_mass(place[-1], teachers, values.matched)),
        }

    frame = table(_pieces(values), pieces, rows)
    by = {row["regime"]: row for row in frame.iter_rows(named=True)}
    expectations = (
        described(
            "(a) with output weights ±‖w‖: largest relative move of a student, and the loss",
            "student neurons do not move much",
            f"{by['lazy']['largest_move']:.3f}; loss {by['lazy']['first_loss']:.2g} → {by['lazy']['last_loss']:.2g}",
            by["lazy"]["largest_move"] < 0.1 and by["lazy"]["last_loss"] < 0.01 * by["lazy"]["first_loss"],
            "below 0.1, loss a hundredth",
        ),
        below(
            "(a) with Definition 1 as printed: median relative move of a student",
            "student neurons do not move much",
            by["large"]["median_move"],
            0.1,
        ),
        above(
            "(b) fraction of the students' mass along a teacher",
            "student neurons converge to one of the directions of teacher neurons",
            by["mean-field"]["matched_mass"],
            0.95,
        ),
        below(
            "(c) largest angle of a student to a teacher at the end",
            "students converge locally and match teacher neurons",
            by["local"]["largest_angle"],
            values.matched,
        ),
    )
    remarks = (
        "The print gives no scales, and does not say which model panel (a) uses. With Definition 1 there is no lazy regime: all output weights "
        "are positive, so that a large network starts far above the teacher and every student has to shrink. With output weights ±‖w‖ and every "
        "neuron doubled, the network starts at zero and students hardly move.",
        f"In (b) the slowest students are still {by['mean-field']['largest_angle']:.2f} rad away after {values.iterations:,} steps: small students turn slowly.",
    )
    return Conclusion(expectations, (_picture(values, pieces, teachers),), {"regimes": frame}, remarks)


def _picture(values: Values, pieces: Pieces, teachers: np.ndarray) -> Picture:
    figure, axes = panels(columns=4, width=2.3, height=2.5)
    for axis, (regime, title) in zip(axes, _REGIMES.items(), strict=True):
        place = pieces[regime]["place"]
        # The start of a run from a large scale would hide where it ends.
        size = 1.15 * (np.abs(place[-1]).max() if regime == "large" else np.abs(place).max())
        for line in teachers:
            axis.plot(*(2 * size * np.outer([-1, 1], line)).T, color=BLUE, linewidth=1, zorder=1)
        for student in range(place.shape[1]):
            axis.plot(*place[:, student].T, color=BLACK, linewidth=0.7, zorder=2)
        axis.plot(*place[0].T, "o", color=GREY, markersize=2.5, zorder=3)
        axis.plot(*place[-1].T, "o", color=RED, markersize=3, zorder=4)
        axis.set(title=title, xlabel="$w_1$", xlim=(-size, size), ylim=(-size, size), aspect="equal")
        axis.xaxis.set_major_locator(MaxNLocator(4))
        axis.yaxis.set_major_locator(MaxNLocator(4))
    axes[0].set_ylabel("$w_2$")
    caption = (
        f"{values.students} students and three unit teachers in the plane, descent on the exact loss. Blue: lines of the teachers; black: paths; grey: "
        f"starts; red: ends after {values.iterations:,} steps. (a) output weights ±‖w‖, norms {values.lazy_scale:g}; (a') Definition 1 from the same norms, "
        f"starts outside the frame; (b) N(0, {values.small_scale:g}²I) starts; (c) starts close to the teachers."
    )
    return Picture("figure-1", caption, figure)


STUDY = Study(
    id="local_convergence.figure-1",
    place="Figure 1",
    title="lazy, mean-field and local",
    question="Do three scales of the start show the three regimes: students that hardly move, students that turn to the teachers, and students that "
    "match nearby teachers?",
    settings=(
        printed("students", 20),
        printed("dimension", 2),
        printed("teachers", 3),
        chosen("degrees", (15.0, 75.0, 150.0), note="directions of the teachers, of norm one; the print gives none"),
        chosen("lazy_scale", 3.0, note="norms of the students in (a)"),
        chosen("small_scale", 0.03, note="standard deviation of the starts in (b)"),
        chosen("local_scale", 0.15, note="relative deviation of the starts in (c)"),
        chosen("step", 0.1),
        chosen("iterations", 6000, paper=100_000),
        chosen("matched", 0.1, note="angle at which a student matches a teacher"),
    ),
    pieces=_pieces,
    measure=_measure,
    conclude=_conclude,
)
