r"""What the studies of this paper share: the inputs, and stochastic training of many students on the same batches.

Symbols as in the paper: teacher $u_0$, shared student $w_0$, unshared student $w_1, \dots, w_k$, $k$ patches of dimension $d$.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from tutelage.activations import ReLU
from tutelage.inputs import Inputs, gaussian, mnist_patches, photo_patches
from tutelage.models import OuterLayer
from tutelage.models.composite import OUTER_FUNCTIONS
from tutelage.studies.compiling import LITTLE_EFFORT

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


class _Kinds(NamedTuple):
    """What differs between students, as arrays: one compiled program serves all of them."""

    outer: Float[np.ndarray, "student outer"]  # one at the student's outer function, zero at the others
    sharing: Bool[np.ndarray, " student"]
    step: Float[np.ndarray, " student"]


class _Points(NamedTuple):
    """The parameters of students; those that learn their outer function come last."""

    first: Float[Array | np.ndarray, "student patch dim"]  # a shared vector is the first row
    outer: OuterLayer | None  # of the students that learn it


def _kinds(students: Sequence[Student]) -> _Kinds:
    outer = np.array([[float(student.outer == name) for name in OUTERS] for student in students])
    return _Kinds(outer, np.array([one.sharing for one in students]), np.array([one.step for one in students]))


def _start(student: Student, patches: int, dimension: int, units: int, random: np.random.Generator) -> _Points:
    """A start: Gaussian entries in the first layer, and the usual uniform law for a learned outer function."""
    shape = (dimension,) if student.sharing else (patches, dimension)
    first = np.broadcast_to(student.scale / np.sqrt(dimension) * random.normal(size=shape), (patches, dimension))
    if not student.learned:
        return _Points(first, None)
    inner, outer = 1 / np.sqrt(patches), 1 / np.sqrt(units)
    layer = OuterLayer(
        jnp.asarray(random.uniform(-inner, inner, size=(units, patches))),
        jnp.asarray(random.uniform(-inner, inner, size=units)),
        jnp.asarray(random.uniform(-outer, outer, size=units)),
        jnp.asarray(random.uniform(-outer, outer)),
    )
    return _Points(first, layer)


def _stacked(trees: Sequence):
    return jax.tree.map(lambda *leaves: np.stack(leaves), *trees)


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
        students: The kinds of students; those that learn their outer function last.
        teachers: The teachers' vectors, one per seed.
        patches: Number of patches.
        batch: Batch size.
        iterations: Number of steps of stochastic descent.
        units: Units of a learned outer function.
        seeds: One run of every kind a seed.

    Returns:
        `loss`, the batch losses before each step, `[seed, student, iteration]`; `cosine`, the mean over patches of the
        final cosine with the teacher, `[seed, student]`.
    """
    starts = []
    for seed in seeds:
        random = np.random.default_rng([seed, 2])
        points = [_start(student, patches, inputs.dimension, units, random) for student in students]
        layers = [point.outer for point in points if point.outer is not None]
        starts.append(_Points(np.stack([point.first for point in points]), _stacked(layers) if layers else None))
    kinds = _stacked([_kinds(students)] * len(seeds))
    losses, rows = _train(inputs, kinds, _stacked(starts), teachers, np.array(seeds), batch, iterations)
    return {"loss": np.moveaxis(np.asarray(losses), 1, 2), "cosine": _cosines(rows, teachers)}


def train_starts(
    inputs: Inputs,
    students: Sequence[Sequence[Student]],
    teachers: np.ndarray,
    starts: np.ndarray,
    batch: int,
    iterations: int,
    seed: int,
) -> np.ndarray:
    """Train students with known outer functions from given starts, for several teachers, all on the same batches.

    Args:
        inputs: Law of one patch.
        students: The kind of each student of each teacher; its scale is not used.
        teachers: The teachers' vectors.
        starts: The starts, `[student, patch, dim]`, the same for every teacher; a shared vector is the first row.
        batch: Batch size.
        iterations: Number of steps of stochastic descent.
        seed: Seed of the batches.

    Returns:
        The batch losses before each step, `[teacher, student, iteration]`.
    """
    kinds = _stacked([_kinds(one) for one in students])
    points = _stacked([_Points(starts, None)] * len(teachers))
    losses, _ = _train(inputs, kinds, points, teachers, np.array(seed), batch, iterations)
    return np.moveaxis(np.asarray(losses), 1, 2)


def _cosines(rows, teachers: np.ndarray) -> np.ndarray:
    """The mean cosine of the rows of each student with its teacher, `[seed, student]`."""
    rows, teachers = np.asarray(rows), teachers[:, None, None]
    norms = np.linalg.norm(rows, axis=-1) * np.linalg.norm(teachers, axis=-1)
    return np.mean(np.sum(rows * teachers, axis=-1) / (norms + 1e-300), axis=-1)


def zero_losses(inputs: Inputs, teachers: np.ndarray, patches: int, samples: int, seed: int) -> np.ndarray:
    """Return the losses of a student that is zero, by sampling, `[teacher, outer]`; the samples are the same for all."""
    return np.asarray(_zero_losses(inputs, teachers, np.array(seed), patches, samples))


@partial(jax.jit, static_argnames=("patches", "samples"), compiler_options=LITTLE_EFFORT)
def _zero_losses(inputs: Inputs, teachers, seed, patches: int, samples: int):
    drawn = inputs.sample(jax.random.key(seed), (samples, patches))
    return jax.vmap(lambda teacher: 0.5 * jnp.mean(_labels(teacher, drawn) ** 2, axis=0))(teachers)


@partial(jax.jit, static_argnames=("batch", "iterations"), compiler_options=LITTLE_EFFORT)
def _train(inputs: Inputs, kinds: _Kinds, starts: _Points, teachers, seeds, batch: int, iterations: int):
    """Train the students of several teachers, each teacher's on batches of their own or, with one seed, all on the same.

    Returns:
        Batch losses, `[teacher, iteration, student]`, and the vectors at the end, `[teacher, student, patch, dim]`.
    """
    patches = starts.first.shape[-2]

    def of_teacher(kinds, points, teacher, seed):
        def draw(number):
            return inputs.sample(jax.random.fold_in(jax.random.key(seed), number), (batch, patches))

        def step(points, number):
            # Always taken: XLA draws once in a branch, but else again for every order in which the batch is read.
            drawn = jax.lax.cond(number >= 0, draw, lambda _: jnp.zeros((batch, patches, inputs.dimension)), number)
            slopes, losses = jax.grad(_losses, has_aux=True)(points, kinds, drawn, _labels(teacher, drawn))
            return jax.tree.map(lambda leaf, slope: leaf - _last(kinds.step, leaf) * slope, points, slopes), losses

        ends, losses = jax.lax.scan(step, points, jnp.arange(iterations))
        return losses, _rows(kinds, ends)

    if seeds.ndim:
        # One after another: a batch then stays in the cache, and the program is smaller.
        return jax.lax.map(lambda one: of_teacher(*one), (kinds, starts, teachers, seeds))
    return jax.vmap(of_teacher, in_axes=(0, 0, 0, None))(kinds, starts, teachers, seeds)


def _losses(points: _Points, kinds: _Kinds, inputs, labels):
    """Return the sum of all losses, whose gradient holds that of every student, and the losses.

    The first layers of all students are one product of matrices.
    """
    hidden = jnp.tanh(jnp.einsum("bpd,spd->sbp", inputs, _rows(kinds, points)))
    learned = 0 if points.outer is None else len(points.outer.offset)
    known = len(hidden) - learned
    outputs = jnp.einsum("sbo,so->sb", _outers(hidden[:known]), kinds.outer[:known])
    if points.outer is not None:
        outputs = jnp.concatenate(
            [outputs, jax.vmap(lambda layer, hidden: layer(hidden, ReLU()))(points.outer, hidden[known:])]
        )
    losses = 0.5 * jnp.mean((outputs - kinds.outer @ labels.T) ** 2, axis=1)
    return jnp.sum(losses), losses


def _rows(kinds: _Kinds, points: _Points) -> Float[Array, "student patch dim"]:
    """The vector of each patch."""
    return jnp.where(kinds.sharing[:, None, None], points.first[:, :1], points.first)


def _last(steps: Float[Array, " student"], leaf: Array) -> Array:
    """The steps of the students that have a leaf, the last ones, shaped to multiply it."""
    return steps[len(steps) - len(leaf) :].reshape(-1, *(1,) * (leaf.ndim - 1))


def _labels(teacher: Float[Array, " dim"], inputs: Float[Array, "batch patch dim"]) -> Float[Array, "batch outer"]:
    """The teacher's outputs under each outer function."""
    return _outers(jnp.tanh(inputs @ teacher))


def _outers(hidden: Float[Array, "... patch"]) -> Float[Array, "... outer"]:
    """All outer functions side by side."""
    return jnp.stack([jnp.vectorize(OUTER_FUNCTIONS[name], signature="(p)->()")(hidden) for name in OUTERS], axis=-1)
