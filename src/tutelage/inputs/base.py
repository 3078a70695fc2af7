"""The contract of an input law: sampling, moments, symmetry, plane marginals.

A law is a frozen module. The public methods of `Inputs` check their arguments once, here; a concrete law
supplies the formulas (the methods whose names start with an underscore). What a law cannot give exactly it
refuses by name with `UnsupportedCombination`; nothing is ever estimated by sampling instead.
"""

import abc
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Complex, Float, PRNGKeyArray

from tutelage import checks
from tutelage._html import facts
from tutelage.arrays import of_jax
from tutelage.errors import UnsupportedCombination, invalid
from tutelage.instant import evaluated, instantly
from tutelage.modules import Module

if TYPE_CHECKING:  # a type checker would take an abstract variable for an argument of the constructor
    from typing import ClassVar as Abstract
else:
    from equinox import AbstractVar as Abstract

Symmetry: TypeAlias = Literal["rotation", "reflection", "none"]
"""What leaves a law unchanged: every orthogonal map, the map from $x$ to $-x$, or nothing that is known."""

PlaneDensity: TypeAlias = Callable[[Float[ArrayLike, "*batch 2"]], Float[Array, "*batch"]]
"""A density on a plane, from points with two coordinates on the last axis to densities."""

Atoms: TypeAlias = tuple[Float[Array, "atom dim"], Float[Array, " atom"]]
"""The points of a law of finite support, one per row, and their probabilities."""


class Inputs(Module):
    r"""The law of one input $x \in \mathbb{R}^d$.

    Attributes:
        dimension: The number of coordinates $d$.
        name: A short human name for messages, such as `gaussian(3)`.
        symmetry: The strongest symmetry the law is known to have: `"rotation"` (invariant under every
            orthogonal map), `"reflection"` ($x$ and $-x$ have the same law) or `"none"`.
        surrounds_zero: Whether inputs come close to every point of every hyperplane through zero, up to their scale.
            Otherwise functions that agree on the inputs may have other kinks: on a box of positive numbers all neurons
            with positive weights are linear, and on corners of a cube $(u + v) + (u - v)$ makes up for $2u$.
    """

    dimension: Abstract[int]
    name: Abstract[str]
    symmetry: Abstract[Symmetry]
    surrounds_zero: Abstract[bool]

    @abc.abstractmethod
    def mean(self) -> Float[Array, " dim"]:
        """The mean $E[x]$."""

    @abc.abstractmethod
    def covariance(self) -> Float[Array, "dim dim"]:
        """The covariance $E[(x - E x)(x - E x)^T]$."""

    @abc.abstractmethod
    def atoms(self) -> Atoms | None:
        """The points and weights of a law of finite support, or `None` if it has none or too many to list."""

    @abc.abstractmethod
    def _draw(self, key: PRNGKeyArray, shape: tuple[int, ...]) -> Float[Array, "*shape dim"]:
        """Independent samples; `shape` has been checked."""

    @abc.abstractmethod
    def _density(self, basis: Float[Array, "2 dim"]) -> PlaneDensity:
        """The density of `basis @ x`; the rows of `basis` are orthonormal."""

    @abc.abstractmethod
    def _radial_moment(self, order: float) -> float:
        """The moment $E|x|^p$; asked only of laws whose symmetry is `"rotation"`."""

    @abc.abstractmethod
    def _characteristic(self, frequency: Float[Array, "*batch dim"]) -> Complex[Array, "*batch"]:
        """The characteristic function; the shape of `frequency` has been checked."""

    def __repr__(self) -> str:
        return self.name

    def _repr_html_(self) -> str:
        return facts(self.name, {"law": type(self).__name__, "dimension": self.dimension, "symmetry": self.symmetry})

    @instantly
    def second_moment(self) -> Float[Array, "dim dim"]:
        """The uncentred second moment $E[x x^T]$."""
        mean = self.mean()
        return self.covariance() + mean[:, None] * mean[None, :]

    def sample(self, key: PRNGKeyArray, shape: int | tuple[int, ...] = ()) -> Float[Array, "*shape dim"]:
        """Draw independent inputs.

        Args:
            key: A JAX random key; the same key gives the same inputs.
            shape: How many, as a number or a tuple; the coordinates come last.

        Returns:
            An array of shape `(*shape, dimension)`.

        Raises:
            InvalidArgument: If `key` is no key, or `shape` is not a whole number or a tuple of them that fits into
                memory.
        """
        sizes = shape if isinstance(shape, (tuple, list)) else (shape,)
        sizes = tuple(checks.count("shape", size, least=0) for size in sizes)
        checks.affordable("shape", shape, math.prod(sizes) * self.dimension, "so many inputs")
        return self._draw(checks.random_key("key", key), sizes)

    def plane_density(self, first: Float[ArrayLike, " dim"], second: Float[ArrayLike, " dim"]) -> PlaneDensity:
        """The density of the input projected on the plane of two vectors.

        Args:
            first: A vector; its direction is the first axis of the plane.
            second: A vector; what is left of it orthogonal to `first` gives the second axis. Where the two
                vectors do not span a plane, `plane_basis` says how it is completed.

        Returns:
            A function from points `(..., 2)`, coordinates in `plane_basis(first, second)`, to densities
            `(...)`.

        Raises:
            UnsupportedCombination: If the projection has no density, or none in closed form.
            InvalidArgument: If a vector does not have `dimension` finite entries.
        """
        vectors = [checks.finite_array(argument, one) for argument, one in (("first", first), ("second", second))]
        for argument, vector in zip(("first", "second"), vectors, strict=True):
            if vector.shape != (self.dimension,):
                raise invalid(
                    argument,
                    f"be a vector of {self.dimension} entries, the dimension of {self.name}",
                    f"shape {vector.shape}",
                    "Pass a vector in the space of the inputs",
                )
        if self.dimension < 2:
            raise unsupported("plane density", self, "it lives on a line, which contains no plane")
        density = self._density(plane_basis(*vectors))

        def at(points: Float[ArrayLike, "*batch 2"]) -> Float[Array, "*batch"]:
            array = checks.finite_array("points", points)
            if array.ndim == 0 or array.shape[-1] != 2:
                raise invalid("points", "have two coordinates on the last axis", f"shape {array.shape}", "Reshape them")
            return density(array)

        return at

    def radial_moment(self, order: float) -> float:
        """The radial moment $E|x|^p$ of a rotation-symmetric law.

        Args:
            order: The exponent $p$, any real number; a moment that diverges, or is beyond the range of numbers, is
                `inf`.

        Raises:
            UnsupportedCombination: If the law is not rotation symmetric.
        """
        order = checks.finite_number("order", order)
        if self.symmetry != "rotation":
            raise unsupported("radial moment", self, "it is not rotation symmetric")
        try:
            return self._radial_moment(order)
        except OverflowError:
            return math.inf

    def characteristic(self, frequency: Float[ArrayLike, "*batch dim"]) -> Complex[Array, "*batch"]:
        r"""The characteristic function $E[e^{i t \cdot x}]$.

        Args:
            frequency: The vector $t$, or a batch of them with the coordinates last.

        Raises:
            UnsupportedCombination: If it is not known in closed form.
            InvalidArgument: If the last axis of `frequency` does not have `dimension` finite entries.
        """
        array = checks.finite_array("frequency", frequency)
        if array.ndim == 0 or array.shape[-1] != self.dimension:
            raise invalid(
                "frequency",
                f"have {self.dimension} entries on its last axis, the dimension of {self.name}",
                f"shape {array.shape}",
                "Pass one frequency per coordinate",
            )
        return evaluated(self._characteristic, array)


class Discrete(Inputs):
    """A law of finite support, which is not invariant under rotations."""

    surrounds_zero = False

    def _density(self, basis: Float[Array, "2 dim"]) -> PlaneDensity:
        raise unsupported("plane density", self, "a law of finite support has no density")

    def _radial_moment(self, order: float) -> float:
        raise unsupported("radial moment", self, "it is not rotation symmetric")


def checked_dimension(value: Any) -> int:
    """Return the dimension of a law, or raise if it is not a whole number above zero, or one input fills the memory."""
    dimension = checks.count("dimension", value)
    checks.affordable("dimension", dimension, dimension, "one input")
    return dimension


def identity(law: Inputs) -> Float[Array, "dim dim"]:
    """Return the identity matrix in the space of the inputs, or raise if it does not fit into memory."""
    checks.affordable("dimension", law.dimension, law.dimension**2, f"the covariance of {law.name}")
    return of_jax(np.eye(law.dimension))


def unsupported(quantity: str, law: Inputs, reason: str) -> UnsupportedCombination:
    """Build the error for a quantity that a law does not have in closed form."""
    return UnsupportedCombination(f"The {quantity} of {law.name} is not available: {reason}.")


def plane_basis(first: Float[Array, " dim"], second: Float[Array, " dim"]) -> Float[Array, "2 dim"]:
    """An orthonormal basis of a plane that contains two vectors, by Gram–Schmidt.

    Where the vectors span less than a plane (parallel, antiparallel or zero vectors) it is completed by a
    coordinate axis: the first one for a zero `first`, the one farthest from `first` for a `second` parallel
    to it. The plane then still contains both vectors. Can be compiled and batched.

    Args:
        first: A vector of at least two entries.
        second: Another one.

    Returns:
        Two orthonormal rows.

    Raises:
        InvalidArgument: If they are not two finite vectors of equally many entries, at least two.
    """
    one = checks.finite_array("first", first, dimensions=1)
    other = checks.finite_array("second", second, dimensions=1)
    if one.shape[0] < 2:
        raise invalid("first", "have at least two entries", f"{one.shape[0]}", "A line contains no plane")
    if other.shape != one.shape:
        raise invalid("second", f"have {one.shape[0]} entries, as `first`", f"{other.shape[0]}", "Pass another vector")
    return _plane_basis(one, other)


@instantly
def _plane_basis(first: Float[Array, " dim"], second: Float[Array, " dim"]) -> Float[Array, "2 dim"]:
    axes = jnp.eye(1, first.shape[0], dtype=first.dtype)[0]
    start = _direction(first, axes)
    direction = _direction(second, start)
    rest = direction - (direction @ start) * start
    # Below this size the rest is rounding error of the subtraction and its direction means nothing.
    parallel = jnp.max(jnp.abs(rest)) <= 8 * jnp.finfo(first.dtype).eps
    farthest = jnp.arange(first.shape[0]) == jnp.argmin(jnp.abs(start))
    rest = jnp.where(parallel, farthest.astype(first.dtype), rest)
    # Once more after normalising: a rest that was small is far from orthogonal, relative to its size, before.
    rest = _direction(rest - (rest @ start) * start, axes)
    rest = rest - (rest @ start) * start
    return jnp.stack([start, rest / jnp.linalg.norm(rest)])


def _direction(vector: Float[Array, " dim"], fallback: Float[Array, " dim"]) -> Float[Array, " dim"]:
    """`vector` over its norm, or `fallback` for the zero vector; safe from underflow and to differentiate."""
    size = jnp.max(jnp.abs(vector))
    scaled = jnp.where(size > 0, vector / jnp.where(size > 0, size, 1.0), fallback)
    return scaled / jnp.linalg.norm(scaled)


def checked_weights(weights: Any, number: int, *, of: str) -> Float[np.ndarray, " number"]:
    """Return probabilities that sum to exactly what rounding allows, or raise.

    Args:
        weights: Non-negative numbers that sum to 1 within 1e-9, or `None` for equal weights.
        number: How many there must be.
        of: What is weighted, for the message ("points").
    """
    if weights is None:
        return np.full(number, 1.0 / number)
    array = np.asarray(checks.finite_array("weights", weights, dimensions=1))
    if array.shape[0] != number:
        raise invalid(
            "weights",
            f"have one entry for each of the {number} {of}",
            f"{array.shape[0]} entries",
            "Pass as many weights, or leave them out for equal ones",
        )
    if (array < 0).any():
        raise invalid(
            "weights",
            "be non-negative",
            f"{array.min()} at index {int(array.argmin())}",
            "Pass probabilities",
        )
    if abs(array.sum() - 1.0) > 1e-9:
        raise invalid("weights", "sum to 1", f"a sum of {array.sum()}", "Divide them by their sum")
    return array / array.sum()
