r"""What the studies of this paper share: the inputs, and stochastic training of many students on the same batches.

Symbols as in the paper: teacher $u_0$, shared student $w_0$, unshared student $w_1, \dots, w_k$, $k$ patches of dimension $d$.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from tutelage.activations import ReLU
from tutelage.arrays import of_jax
from tutelage.dynamics import GradientDescent, Runs, descend, record, step_limit
from tutelage.inputs import Inputs, gaussian, mnist_patches, photo_patches
from tutelage.models.base import Model, Unambiguous
from tutelage.models.composite import OUTER_FUNCTIONS, OuterLayer
from tutelage.objectives import stream
from tutelage.points import template_of
from tutelage.problems import Problem
from tutelage.studies.compiling import LITTLE_EFFORT

DATA = {"gaussian": "Gaussian inputs", "mnist": "MNIST patches", "photos": "photograph patches"}
OUTERS = ("low", "high", "both")


def inputs_of(data: str, dimension: int) -> Inputs:
    """The law of one patch: standard Gaussian, or image patches of zero mean and unit mean variance."""
    if data == "gaussian":
        return gaussian(dimension)
    return mnist_patches(10) if data == "mnist" else photo_patches(5)


def teacher_of(inputs: Inputs, norm: float, seed: int) -> np.ndarray:
    """A teacher's vector: a random direction with a given norm."""
    direction = np.random.default_rng([seed, 1]).normal(size=inputs.dimension)
    return norm * direction / np.linalg.norm(direction)


class Student(NamedTuple):
    """One kind of student: which outer function, whether it is learned, and whether weights are shared."""

    outer: str
    learned: bool
    sharing: bool

    @property
    def known(self) -> np.ndarray:
        """One at the outer function that it knows, zero at the others, and at all of them where it learns its own."""
        return np.array([float(self.outer == name and not self.learned) for name in OUTERS])


class Network(NamedTuple):
    """The parameters of a student of any kind; what its kind is does not move."""

    first: Float[Array | np.ndarray, "patch dim"]  # a shared vector is the first row
    sharing: Float[Array | np.ndarray, ""]
    known: Float[Array | np.ndarray, " outer"]
    learned: OuterLayer | None  # counts where none is known; `None` if no network learns its outer function


class AnyKind(Unambiguous):
    """Shared or unshared vectors, tanh, and a known or a learned outer function, by what its parameters say.

    All kinds are runs of one `descend`, which share batches and one program.
    """

    patches: int = eqx.field(static=True)
    units: int = eqx.field(static=True)  # of a learned outer function; zero for none

    @property
    def shapes(self):
        layer: Any = OuterLayer((self.units, self.patches), (self.units,), (self.units,), ())  # type: ignore[arg-type]
        first: Any = (self.patches, "dim")
        return Network(first, (), (len(OUTERS),), layer if self.units else None)  # type: ignore[arg-type]

    def _predict(self, parameters: Network, inputs: Float[Array, "batch patch dim"]) -> Float[Array, " batch"]:
        kind = jax.lax.stop_gradient(parameters)
        rows = jnp.where(kind.sharing > 0, parameters.first[:1], parameters.first)
        hidden = jnp.tanh(jnp.einsum("bpd,pd->bp", inputs, rows))
        outputs = _outers(hidden) @ kind.known
        if parameters.learned is None:
            return outputs
        return outputs + (1 - jnp.sum(kind.known)) * parameters.learned(hidden, ReLU())

    def _vectors(self, parameters: Network) -> Float[Array, "patch dim"]:
        return jnp.where(parameters.sharing > 0, parameters.first[:1], parameters.first)

    def _with_vectors(self, parameters: Network, vectors: Float[Array, "patch dim"]) -> Network:
        return parameters._replace(first=vectors)

    def symmetry(self, parameters: Network) -> None:
        return None

    def contains(self, parameters: Network, teacher: Model, target: PyTree) -> bool:
        return False


def _outers(hidden: Float[Array, "batch patch"]) -> Float[Array, "batch outer"]:
    """All outer functions side by side."""
    return jnp.stack([jax.vmap(OUTER_FUNCTIONS[name])(hidden) for name in OUTERS], axis=-1)


def start(student: Student, scale: float, patches: int, dimension: int, units: int, random) -> Network:
    """A start: entries of the first layer of a size, in units of 1/√d, and the usual uniform law for a learned outer function.

    It has a layer of `units` units, all zero if the outer function is known.
    """
    shape = (dimension,) if student.sharing else (patches, dimension)
    first = np.broadcast_to(scale / np.sqrt(dimension) * random.normal(size=shape), (patches, dimension))
    layer = None
    if units:
        inner, outer = 1 / np.sqrt(patches), 1 / np.sqrt(units)
        sizes = ((inner, (units, patches)), (inner, (units,)), (outer, (units,)), (outer, ()))
        draw = random.uniform if student.learned else lambda low, high, shape: np.zeros(shape)
        layer = OuterLayer(*(of_jax(draw(-size, size, shape)) for size, shape in sizes))
    return Network(first, np.array(float(student.sharing)), student.known, layer)


def train(
    inputs: Inputs,
    starts: Sequence[Network],
    teachers: Sequence[tuple[np.ndarray, str]],
    step: float,
    batch: int,
    iterations: int,
    kept: Sequence[int],
    seed: int,
) -> tuple[np.ndarray, Runs]:
    """Train students by stochastic descent, all on the same batches.

    Args:
        inputs: Law of one patch.
        starts: The starts.
        teachers: The vector and the outer function of the teacher of each.
        step: Step of the descent.
        batch: Batch size.
        iterations: Number of steps.
        kept: The steps before which the losses of their batches are kept.
        seed: Seed of the batches.

    Returns:
        The losses, `[student, kept]`, not a number once a run has diverged; and the runs.
    """
    patches = starts[0].first.shape[0]
    units = 0 if starts[0].learned is None else len(starts[0].learned.output)
    student, teacher = AnyKind(patches, units), AnyKind(patches, 0)
    targets = [
        Network(np.tile(vector, (patches, 1)), np.array(1.0), Student(outer, learned=False, sharing=True).known, None)
        for vector, outer in teachers
    ]
    template = template_of(student.shapes).sized(dim=inputs.dimension)
    problem = Problem("composite", student, teacher, jax.tree.map(of_jax, targets[0]), inputs, 0.0, template)
    runs = descend(
        stream(problem, batch, shared=True),
        _stacked(starts),
        GradientDescent(step),
        step_limit(iterations),
        record("loss", steps=kept),
        seed=seed,
        teachers=_stacked(targets),
    )
    curves = [dict(zip(*runs.curve("loss", run), strict=True)) for run in range(len(runs))]
    return np.array([[curve.get(step, np.nan) for step in kept] for curve in curves]), runs


def _stacked(trees: Sequence):
    return jax.tree.map(lambda *leaves: np.stack(leaves), *trees)


def cosines(runs: Runs, teachers: Sequence[tuple[np.ndarray, str]]) -> np.ndarray:
    """The mean cosine of the vectors of each student with its teacher."""
    rows, vectors = np.asarray(runs.points.first), np.stack([vector for vector, _ in teachers])[:, None]
    rows = np.where(np.asarray(runs.points.sharing)[:, None, None] > 0, rows[:, :1], rows)
    norms = np.linalg.norm(rows, axis=-1) * np.linalg.norm(vectors, axis=-1)
    return np.mean(np.sum(rows * vectors, axis=-1) / (norms + 1e-300), axis=-1)


def zero_losses(inputs: Inputs, teachers: np.ndarray, patches: int, samples: int, seed: int) -> np.ndarray:
    """Return the losses of a student that is zero, by sampling, `[teacher, outer]`; the samples are the same for all."""
    return np.asarray(_zero_losses(inputs, teachers, np.array(seed), patches, samples))


@partial(jax.jit, static_argnames=("patches", "samples"), compiler_options=LITTLE_EFFORT)
def _zero_losses(inputs: Inputs, teachers, seed, patches: int, samples: int):
    drawn = inputs.sample(jax.random.key(seed), (samples, patches))
    return jax.vmap(lambda teacher: 0.5 * jnp.mean(_outers(jnp.tanh(drawn @ teacher)) ** 2, axis=0))(teachers)
