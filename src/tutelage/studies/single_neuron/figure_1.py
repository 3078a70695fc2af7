"""Figure 1: under Gaussian inputs with a mean, the angle to the teacher grows before it falls."""

import jax
import jax.numpy as jnp
import numpy as np
import polars as pl

from tutelage.geometry import line_angles
from tutelage.inputs import gaussian
from tutelage.objectives import Objective, population
from tutelage.plot import BLACK, COLOURS, GREY, panels
from tutelage.problems import neuron
from tutelage.studies.base import Arrays, Conclusion, Picture, Pieces, Study, Values, chosen, printed
from tutelage.studies.expectations import above, below, described
from tutelage.studies.single_neuron.common import paths

_X, _Y = (-1.3, 1.5), (-1.1, 1.4)


def _objective(values: Values) -> Objective:
    return population(neuron(values.target, inputs=gaussian(2, mean=values.mean)))


def _pieces(values: Values):
    return {"paths": {"kind": "paths"}, "surface": {"kind": "surface"}}


def _measure(values: Values, seed: int, kind: str) -> Arrays:
    objective = _objective(values)
    if kind == "surface":
        x, y = np.linspace(*_X, values.grid), np.linspace(*_Y, values.grid)
        points = jnp.stack(jnp.meshgrid(x, y), axis=-1).reshape(-1, 2)
        losses = jax.jit(jax.vmap(lambda student: objective.loss(student)))(points)
        return {"x": x, "y": y, "loss": np.asarray(losses).reshape(values.grid, values.grid)}
    place, loss = paths(
        objective, np.array(values.starts), values.step, values.iterations // values.every, values.every
    )
    return {"step": values.every * np.arange(place.shape[1]), "place": place, "loss": loss}


def _conclude(values: Values, pieces: Pieces) -> Conclusion:
    step, place = pieces["paths"]["step"], pieces["paths"]["place"]
    target = np.array(values.target)
    angle = np.asarray(line_angles(place, target[None], signed=True))[..., 0]
    peak = angle.argmax(axis=1)
    distance = np.linalg.norm(place[:, -1] - target, axis=-1)
    names = [f"({x:g}, {y:g})".replace("-", "−") for x, y in values.starts]
    rows = pl.DataFrame(
        {
            "start": names,
            "first_angle": angle[:, 0],
            "largest_angle": angle.max(axis=1),
            "largest_at": step[peak],
            "last_angle": angle[:, -1],
            "last_distance": distance,
            "last_loss": pieces["paths"]["loss"],
        }
    )
    expectations = [
        below(
            f"from {name}: distance to the teacher after {values.iterations:,} iterations",
            "eventually reaches the global minimum",
            found,
            values.reached,
        )
        for name, found in zip(names, distance, strict=True)
    ]
    expectations += [
        described(
            f"from {name}: the angle, at first",
            "initially increasing rather than decreasing",
            f"{angle[i, 0]:.3f} rises to {angle[i].max():.3f} at iteration {step[peak[i]]:,}"
            if peak[i]
            else f"falls from {angle[i, 0]:.3f}",
            peak[i] > 0,
        )
        for i, name in enumerate(names)
    ]
    expectations.append(
        above(
            "largest angle from the first two starts",
            "appears to attain every value in (0, π]",
            angle[:2].max(),
            0.95 * np.pi,
            "at least 0.95 π",
        )
    )
    remarks = (
        "The third start is opposite to the teacher: its angle is π at the outset, the largest there is, and can only fall.",
        *(
            f"From {name} the angle reaches π at about iteration {step[peak[i]]:,}, where the path crosses the line through the "
            f"teacher behind the origin; it is {angle[i].max():.4f} at the nearest recorded iteration."
            for i, name in enumerate(names)
            if peak[i]
        ),
        "Each angle also falls to zero once on the way, where the path crosses that line in front of the origin, and rises again.",
    )
    figure, (left, right) = panels(columns=2, height=2.8)
    surface = pieces["surface"]
    left.contour(surface["x"], surface["y"], np.sqrt(surface["loss"]), levels=18, colors=GREY, linewidths=0.5)
    for path, curve, name, colour in zip(place, angle, names, COLOURS, strict=False):
        left.plot(*path.T, color=colour)
        left.plot(*path[0], "o", color=colour)
        right.plot(step, curve, color=colour, label=f"from {name}")
    left.plot(*target, "x", color=BLACK, markersize=7, markeredgewidth=2)
    left.set(xlabel="$w_1$", ylabel="$w_2$", aspect="equal", xlim=_X, ylim=_Y)
    right.set(xlabel="iteration", ylabel="angle to the teacher (rad)", xlim=(0, values.iterations))
    right.set_yticks([0, np.pi / 2, np.pi], ["0", "π/2", "π"])
    right.legend(loc="upper right")
    caption = (
        f"Descent on the exact loss of a ReLU neuron, inputs N((0, 1), I), teacher (1, 0), step {values.step:g}. Left: paths on "
        "level lines of the square root of the loss; the cross is the teacher. Right: the angle to the teacher."
    )
    return Conclusion(tuple(expectations), (Picture("figure-1", caption, figure),), {"angles": rows}, remarks)


STUDY = Study(
    id="single_neuron.figure-1",
    place="Figure 1 and Section 6.2",
    title="the angle grows before it falls",
    question="Under a Gaussian law with a mean, does the angle to the teacher first grow, from each of the three starts, and "
    "does descent still find the teacher?",
    settings=(
        printed("mean", (0.0, 1.0), note="of the inputs, whose covariance is the identity"),
        printed("target", (1.0, 0.0)),
        printed("step", 1e-3),
        printed("starts", ((-1.0, 1.0), (-1.0, 0.5), (-1.0, 0.0))),
        chosen("iterations", 25_000, note="long enough to converge"),
        chosen("every", 10, note="iterations between two entries of a path"),
        chosen("grid", 81, note="points per side of the loss surface"),
        chosen("reached", 0.01, note="distance at which the teacher has been found"),
    ),
    pieces=_pieces,
    measure=_measure,
    conclude=_conclude,
)
