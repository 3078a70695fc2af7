r"""What the studies of this paper share: the inputs, and stochastic training of many students on the same batches.

Symbols as in the paper: teacher $u_0$, shared student $w_0$, unshared student $w_1, \dots, w_k$, $k$ patches of dimension $d$.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from tutelage.inputs import Inputs, gaussian, mnist_patches, photo_patches
from tutelage.models import FirstAndOuter, OuterLayer
from tutelage.problems import Problem, composite

DATA = {"gaussian": "Gaussian inputs", "mnist": "MNIST patches", "photos": "photograph patches"}
OUTERS = ("low", "high", "both")


def inputs_of(data: str, dimension: int) -> Inputs:
    """The law of one patch: standard Gaussian, or image patches of zero mean and unit mean variance."""
    if data == "gaussian":
        return gaussian(dimension)
    return mnist_patches(10) if data == "mnist" else photo_patches(5)


class Student(NamedTuple):
    """One kind of student: which outer function, whether it is learned, whether weights are shared, and its start."""

    outer: str
    learned: bool
    sharing: bool
    scale: float  # of the first layer's entries, in units of 1/√d
    step: float

    @property
    def name(self) -> str:
        """A name for tables and files."""
        known = "learned" if self.learned else "known"
        return f"{self.outer}-{known}-{'shared' if self.sharing else 'unshared'}"


def teacher_of(inputs: Inputs, norm: float, seed: int) -> np.ndarray:
    """A teacher's vector: a random direction with a given norm."""
    direction = np.random.default_rng([seed, 1]).normal(size=inputs.dimension)
    return norm * direction / np.linalg.norm(direction)


def _start(problem: Problem, student: Student, random: np.random.Generator, units: int):
    """A start: Gaussian entries in the first layer, and the usual uniform law for a learned outer function."""
    patches = problem.student.patches
    assert patches is not None
    shape = (problem.dimension,) if student.sharing else (patches, problem.dimension)
    first = student.scale / np.sqrt(problem.dimension) * random.normal(size=shape)
    if not student.learned:
        return jnp.asarray(first)
    inner, outer = 1 / np.sqrt(patches), 1 / np.sqrt(units)
    layer = OuterLayer(
        jnp.asarray(random.uniform(-inner, inner, size=(units, patches))),
        jnp.asarray(random.uniform(-inner, inner, size=units)),
        jnp.asarray(random.uniform(-outer, outer, size=units)),
        jnp.asarray(random.uniform(-outer, outer)),
    )
    return FirstAndOuter(jnp.asarray(first), layer)


def train(
    inputs: Inputs,
    students: Sequence[Student],
    teachers: np.ndarray,
    patches: int,
    batch: int,
    iterations: int,
    units: int,
    seeds: Sequence[int],
) -> Mapping[str, np.ndarray]:
    """Train every kind of student for every seed, all kinds on the same batches.

    Args:
        inputs: Law of one patch.
        students: The kinds of students.
        teachers: The teachers' vectors, one a seed.
        patches: Number of patches.
        batch: Batch size.
        iterations: Number of steps of stochastic descent.
        units: Units of a learned outer function.
        seeds: One run of every kind a seed.

    Returns:
        `loss`, the batch losses before each step, `[seed, student, iteration]`; `cosine`, the mean over patches of the
        final cosine with the teacher, `[seed, student]`.
    """
    problems = [
        composite(student.outer, teachers[0], patches, student.sharing, student.learned, units=units, inputs=inputs)
        for student in students
    ]
    starts = []
    for seed in seeds:
        random = np.random.default_rng([seed, 2])
        pairs = zip(problems, students, strict=True)
        starts.append([_start(problem, student, random, units) for problem, student in pairs])
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *starts)
    keys = jax.vmap(jax.random.key)(jnp.asarray(seeds))
    losses, ends = _train_all(
        problems, tuple(s.step for s in students), stacked, jnp.asarray(teachers), keys, batch, iterations
    )
    cosines = [
        _cosine(problem.student.vectors(end[run]) if not isinstance(end, FirstAndOuter) else end.first[run], teacher)
        for run, teacher in enumerate(teachers)
        for problem, end in zip(problems, ends, strict=True)
    ]
    return {
        "loss": np.moveaxis(np.asarray(losses), 1, 2),
        "cosine": np.array(cosines).reshape(len(teachers), len(students)),
    }


def _cosine(vectors, teacher) -> float:
    rows = np.atleast_2d(np.asarray(vectors))
    return float(np.mean(rows @ teacher / (np.linalg.norm(rows, axis=1) * np.linalg.norm(teacher) + 1e-300)))


@eqx.filter_jit
def _train_all(problems, steps, starts, teachers, keys, batch: int, iterations: int):
    def loss(point, problem, hidden, inputs):
        labels = jax.vmap(problem.teacher.outer)(hidden)
        return 0.5 * jnp.mean((problem.student.predict(point, inputs) - labels) ** 2)

    def one(points, teacher, key):
        def step(points, number):
            first = problems[0]
            inputs = first.inputs.sample(jax.random.fold_in(key, number), first.input_shape(batch))
            hidden = first.teacher.hidden(teacher, inputs)
            values, moved = [], []
            for problem, size, point in zip(problems, steps, points, strict=True):
                value, gradient = jax.value_and_grad(loss)(point, problem, hidden, inputs)
                values.append(value)
                moved.append(jax.tree.map(lambda leaf, slope, size=size: leaf - size * slope, point, gradient))
            return moved, jnp.stack(values)

        ends, values = jax.lax.scan(step, points, jnp.arange(iterations))
        return values, ends

    return jax.vmap(one)(starts, teachers, keys)


def train_starts(problem: Problem, step: float, starts, key, batch: int, iterations: int) -> np.ndarray:
    """Train many starts of one problem on the same batches; return losses, `[start, iteration]`."""
    return np.asarray(_train_starts(problem, step, starts, key, batch, iterations)).T


@eqx.filter_jit
def _train_starts(problem, step, starts, key, batch: int, iterations: int):
    def loss(point, inputs, labels):
        return 0.5 * jnp.mean((problem.student.predict(point, inputs) - labels) ** 2)

    def move(points, number):
        inputs = problem.inputs.sample(jax.random.fold_in(key, number), problem.input_shape(batch))
        labels = problem.teacher.predict(problem.target, inputs)
        values, gradients = jax.vmap(jax.value_and_grad(loss), in_axes=(0, None, None))(points, inputs, labels)
        return points - step * gradients, values

    return jax.lax.scan(move, starts, jnp.arange(iterations))[1]
