"""A model, a law of inputs and a method, each added as the recipes of CONTRIBUTING say, and nothing else touched.

As a program, `python newcomers.py FOLDER` takes them through a sweep, an atlas, and a study in a report. It is a
process of its own, because specifications read the packages when they are imported: here the newcomers are put into
them first, as their lines in `__init__.py` would.
"""

import json
import sys
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import tutelage as tl
from tutelage import activations
from tutelage.activations import Activation
from tutelage.dynamics.base import Stepwise, Traits, step_size
from tutelage.inputs import Inputs
from tutelage.inputs.base import unsupported
from tutelage.models.base import NeuronModel, Neurons, Symmetry
from tutelage.problems.constructors import _problem


class Alternating(NeuronModel):
    r"""The sum $\sum_i (-1)^i\sigma(w_i\cdot x)$; vectors of one sign may be exchanged."""

    activation: Activation
    patches = None

    @property
    def shapes(self):
        return ("neuron", "dim")

    def _neurons(self, parameters):
        signs = (-1.0) ** jnp.arange(parameters.shape[0])
        return (Neurons(self.activation, parameters, signs),)

    def _vectors(self, parameters):
        return parameters

    def _with_vectors(self, parameters, vectors):
        return vectors

    def symmetry(self, parameters):
        return Symmetry(np.arange(parameters.shape[0]) % 2, self.activation.parity == "even")

    def canonical(self, parameters):
        return parameters

    def redundancy(self, parameters):
        return {}

    def channel(self, parameters, gradient):
        return {}

    def contains(self, parameters, teacher, target):
        return parameters.shape[0] >= teacher.vectors(target).shape[0]


def alternating(
    teacher: object,
    students: int,
    activation: str | Activation = "relu",
    inputs: Inputs | None = None,
    noise: float = 0.0,
) -> tl.problems.Problem:
    """A difference of neurons that learns another."""
    vectors = jnp.asarray(teacher, float)
    model = Alternating(activations.get(activation))
    return _problem("alternating", model, model, vectors, inputs, noise, students)


class Corners(Inputs):
    """Multiples of unit vectors, both signs, all equally probable."""

    dimension: int = eqx.field(static=True)
    size: float = eqx.field(static=True)

    @property
    def name(self):
        return f"corners({self.dimension})"

    @property
    def symmetry(self):
        return "reflection"

    @property
    def surrounds_zero(self):
        return False

    def mean(self):
        return jnp.zeros(self.dimension)

    def covariance(self):
        return self.size**2 / self.dimension * jnp.eye(self.dimension)

    def atoms(self):
        points = self.size * jnp.concatenate([jnp.eye(self.dimension), -jnp.eye(self.dimension)])
        return points, jnp.full(2 * self.dimension, 0.5 / self.dimension)

    def _draw(self, key, shape):
        points, _ = self.atoms()
        return points[jax.random.randint(key, shape, 0, len(points))]

    def _density(self, basis):
        raise unsupported("plane density", self, "a law of finite support has no density")

    def _radial_moment(self, order):
        raise unsupported("radial moment", self, "it is not rotation symmetric")

    def _characteristic(self, frequency):
        points, weights = self.atoms()
        return jnp.exp(1j * (frequency @ points.T)) @ weights.astype(complex)


def corners(dimension: int, size: float = 1.0) -> Corners:
    """Inputs at the corners of an octahedron."""
    return Corners(dimension, size)


class HeavyBall(Stepwise):
    r"""Descent with momentum, $v \leftarrow \mu v - \eta\nabla L$, $w \leftarrow w + v$."""

    step: jax.Array
    momentum: float

    def __init__(self, step: float, momentum: float = 0.5):
        self.step, self.momentum = step_size("step", step), momentum

    @property
    def traits(self):
        return Traits()

    def init(self, objective, point):
        return jax.tree.map(jnp.zeros_like, point)

    def advance(self, objective, point, gradient, state, step, key):
        speed = jax.tree.map(lambda v, g: self.momentum * v - self.step * g, state, gradient)
        return jax.tree.map(jnp.add, point, speed), speed


tl.problems.alternating = alternating
tl.inputs.corners = corners
tl.dynamics.HeavyBall = HeavyBall


def _measure(values, seed, students):
    problem = alternating(np.eye(2), students, inputs=tl.inputs.gaussian(2))
    reached = tl.descend(
        tl.population(problem), tl.starts.xavier(problem, 4, seed=seed), HeavyBall(0.3), tl.dynamics.step_limit(50)
    )
    return {"loss": np.asarray(reached.losses)}


def _conclude(values, pieces):
    from tutelage.studies import Conclusion, described

    lowest = min(float(arrays["loss"].min()) for arrays in pieces.values())
    return Conclusion((described("loss", "falls", f"{lowest:.1e}", lowest < 0.1),), (), {})


def sweep(folder: Path) -> dict:
    """All three in the specification of a sweep."""
    from tutelage.sweeps import Sweep, run_sweep
    from tutelage.work.engines import Here

    law = {"law": "corners", "size": 1.5}
    made = Sweep(
        {"family": "alternating", "teacher": np.eye(2), "students": 2, "activation": "softplus", "inputs": law},
        {"kind": "heavy_ball", "step": 0.3, "momentum": 0.6},
        3,
        stop={"step_limit": 40},
        grid={"problem.students": [2, 3]},
    )
    results = run_sweep(made, folder, engine=Here())
    table = results.summary()
    return {"runs": int(table["runs"].sum()), "failed": int(table["failed"].sum()), "loss": float(table["loss"].max())}


def atlas() -> dict:
    """Critical points of the model, up to the symmetries that it states."""
    teacher = np.eye(4)
    objective = tl.population(alternating(teacher, 4))
    # The teacher, the teacher with two vectors of one sign exchanged, and with two of different signs.
    copies = np.stack([teacher, teacher[[2, 1, 0, 3]], teacher[[1, 0, 2, 3]]])
    found = tl.atlas(objective, copies)
    return {"counts": [entry.count for entry in found], "left_out": found.left_out}


def report(folder: Path) -> dict:
    """A study of the newcomers, run and shown."""
    from tutelage.reports import studies_folder, write_report
    from tutelage.studies import Study, chosen, convolutional_filter, find, reproduce

    study = Study(
        id="convolutional_filter.newcomers",
        place="nowhere",
        title="newcomers",
        question="Do they get along?",
        settings=(chosen("most", 2),),
        pieces=lambda values: {f"{n} students": {"students": n} for n in range(2, values.most + 1)},
        measure=_measure,
        conclude=_conclude,
        beyond=True,
    )
    convolutional_filter.STUDIES = (*convolutional_filter.STUDIES, study)
    (done,) = reproduce(find([study.id]), studies_folder(folder), workers=1)
    write_report(folder)
    page = (folder / "convolutional_filter.html").read_text(encoding="utf-8")
    return {"verdict": done.manifest["verdict"], "shown": "Do they get along?" in page}


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    print(json.dumps({"sweep": sweep(folder / "sweep"), "atlas": atlas(), "report": report(folder / "report")}))
