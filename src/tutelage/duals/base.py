r"""What a dual is: the expectation $K(w, v) = E[\sigma(w\cdot x)\,\tau(v\cdot x)]$ and its derivatives.

A dual is written once as a scalar formula; batching over neurons happens here and in the objectives. Two
operations carry everything: `gram` evaluates $K$ for all pairs, and `pull` sums its gradients in the first
argument,

$$\operatorname{pull}(W, V, C)_i = \sum_j C_{ij}\,\nabla_{w} K(w_i, v_j).$$

`pull` is differentiable again (forward mode) at every pair of non-zero vectors, parallel ones included, which
gives Hessian–vector products and Hessians.
"""

import abc
import operator
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from tutelage.checks import flag
from tutelage.instant import evaluated
from tutelage.modules import Module
from tutelage.points import Sizes, fitted_array

if TYPE_CHECKING:  # a type checker would take an abstract variable for an argument of the constructor
    from typing import ClassVar as Abstract
else:
    from equinox import AbstractVar as Abstract


class Kernel(Module):
    """The dual of an ordered pair of activations under an input law.

    The public methods check what they are given once, here; a kernel supplies the formulas (the methods whose names
    start with an underscore).

    Attributes:
        dimension: Dimension of the inputs; `None` where vectors of any dimension will do.
    """

    dimension: Abstract[int | None]

    @abc.abstractmethod
    def _gram(self, first: Float[Array, "n dim"], second: Float[Array, "m dim"], same: bool) -> Float[Array, "n m"]:
        """Return $K$ for all pairs of rows, which have been checked."""

    @abc.abstractmethod
    def _pull(
        self, first: Float[Array, "n dim"], second: Float[Array, "m dim"], weights: Float[Array, "n m"], same: bool
    ) -> Float[Array, "n dim"]:
        """Return the weighted sums of gradients; rows and weights have been checked."""

    @abc.abstractmethod
    def _error_estimate(self, first: Float[Array, "n dim"], second: Float[Array, "m dim"]) -> Float[Array, "n m"]:
        """Return the estimate of the error; the rows have been checked."""

    def gram(
        self, first: Float[Array, "n dim"], second: Float[Array, "m dim"], same: bool = False
    ) -> Float[Array, "n m"]:
        """Return $K$ for all pairs of rows.

        Args:
            first: Weight vectors of the first activation.
            second: Weight vectors of the second activation.
            same: Whether both are the same array; the diagonal is then evaluated without rounding error in the
                angle.

        Raises:
            InvalidArgument: If an array is not real and finite, or its shape does not fit. So in all methods.
        """
        return evaluated(self._gram, *self._rows(first, second, _sizes(self)), flag("same", same))

    def pull(
        self,
        first: Float[Array, "n dim"],
        second: Float[Array, "m dim"],
        weights: Float[Array, "n m"],
        same: bool = False,
    ) -> Float[Array, "n dim"]:
        """Return the weighted sums of gradients in the first argument (see the module's text)."""
        sizes = _sizes(self)
        rows = self._rows(first, second, sizes)
        factors = fitted_array("weights", weights, ("n", "m"), sizes)
        return evaluated(self._pull, *rows, factors, flag("same", same))

    def error_estimate(self, first: Float[Array, "n dim"], second: Float[Array, "m dim"]) -> Float[Array, "n m"]:
        """Return an estimate of the error of `gram` beyond rounding; zero for a closed form."""
        return evaluated(self._error_estimate, *self._rows(first, second, _sizes(self)))

    def _rows(self, first, second, sizes: Sizes) -> tuple[Array, Array]:
        return fitted_array("first", first, ("n", "dim"), sizes), fitted_array("second", second, ("m", "dim"), sizes)


def _sizes(kernel: Kernel) -> Sizes:
    return {} if kernel.dimension is None else {"dim": kernel.dimension}


class ClosedForm(Kernel):
    """A dual without any error but rounding."""

    def _error_estimate(self, first, second):
        return jnp.zeros((first.shape[0], second.shape[0]))


def over_pairs(function: Callable, first: Float[Array, "n dim"], second: Float[Array, "m dim"]):
    """Return a function of two vectors for all pairs of rows."""
    return jax.vmap(lambda w: jax.vmap(lambda v: function(w, v))(second))(first)


class Zero(ClosedForm):
    """The dual of a pair whose expectation vanishes by symmetry."""

    dimension = None

    def _gram(self, first, second, same=False):
        return jnp.zeros((first.shape[0], second.shape[0]))

    def _pull(self, first, second, weights, same=False):
        return jnp.zeros_like(first)


class Sum(Kernel):
    """A sum of duals.

    Attributes:
        parts: The duals.
        factors: What each is multiplied by, as the shares of the components of a mixture of laws; `None` for ones.
    """

    parts: tuple[Kernel, ...]
    factors: tuple[Float[Array, ""], ...] | None = None

    @property
    def dimension(self) -> int | None:
        return next((part.dimension for part in self.parts if part.dimension is not None), None)

    def _sum(self, terms: Iterator[Array]) -> Any:
        return sum(terms) if self.factors is None else sum(map(operator.mul, self.factors, terms))

    def _gram(self, first, second, same=False):
        return self._sum(part._gram(first, second, same) for part in self.parts)

    def _pull(self, first, second, weights, same=False):
        return self._sum(part._pull(first, second, weights, same) for part in self.parts)

    def _error_estimate(self, first, second):
        return self._sum(part._error_estimate(first, second) for part in self.parts)


class Transformed(Kernel):
    r"""The dual under $x = Lz$, from the one under $z$: $K(w, v) = K_z(L^\top w, L^\top v)$."""

    kernel: Kernel
    factor: Float[Array, "dim latent"]

    @property
    def dimension(self) -> int:
        return self.factor.shape[0]

    def _gram(self, first, second, same=False):
        return self.kernel._gram(first @ self.factor, second @ self.factor, same)

    def _pull(self, first, second, weights, same=False):
        return self.kernel._pull(first @ self.factor, second @ self.factor, weights, same) @ self.factor.T

    def _error_estimate(self, first, second):
        return self.kernel._error_estimate(first @ self.factor, second @ self.factor)


@eqx.filter_custom_jvp
def differentiable_gram(
    forward: Kernel,
    backward: Kernel | None,
    first: Float[Array, "n dim"],
    second: Float[Array, "m dim"],
    same: bool,
) -> Float[Array, "n m"]:
    """Return $K$ for all pairs of rows, with derivatives by the gradients that `pull` sums.

    A closed form of the value itself may have none at parallel or zero vectors.

    Args:
        forward: The dual.
        backward: The dual in the other order; `None` where the second rows are constants.
        first: Weight vectors of the first activation.
        second: Weight vectors of the second activation.
        same: Whether both are the same array.
    """
    return forward._gram(first, second, same)


@differentiable_gram.def_jvp
def _gram_by_pulls(primals, tangents):
    forward, backward, first, second, same = primals
    _, _, by_first, by_second, _ = tangents
    value = differentiable_gram(forward, backward, first, second, same)
    change = jnp.zeros_like(value)
    if by_first is not None:
        change = change + _by_pairs(forward, first, second, by_first, same)
    if by_second is not None and backward is not None:
        change = change + _by_pairs(backward, second, first, by_second, same).T
    return value, change


def _by_pairs(kernel: Kernel, first, second, direction, same: bool) -> Float[Array, "n m"]:
    r"""Return $\nabla_wK(w_i, v_j)\cdot d_i$ for all pairs: `pull` is linear in its weights, and this its transpose."""
    zeros = jnp.zeros((first.shape[0], second.shape[0]))
    return jax.vjp(lambda weights: kernel._pull(first, second, weights, same), zeros)[1](direction)[0]


class Dual(Module):
    r"""A pair of activations with its dual in both orders, as a differentiable function of two vectors.

    Calling it returns $K(w, v)$; `jax.grad`, `jax.jvp` and `jax.hessian` use the closed derivatives of the kernels.
    """

    forward: Kernel
    backward: Kernel

    def __call__(self, first: Float[Array, " dim"], second: Float[Array, " dim"]) -> Float[Array, ""]:
        return evaluated(_evaluate, self, *self._vectors(first=first, second=second))

    def own(self, vector: Float[Array, " dim"]) -> Float[Array, ""]:
        r"""Return $K(w, w)$ for a pair of equal activations, differentiable and exact where $K$ itself is singular."""
        return evaluated(_evaluate_own, self, *self._vectors(vector=vector))

    def error_estimate(self, first: Float[Array, " dim"], second: Float[Array, " dim"]) -> Float[Array, ""]:
        """Return an estimate of the error beyond rounding; zero for a closed form."""
        rows = (vector[None] for vector in self._vectors(first=first, second=second))
        return self.forward.error_estimate(*rows)[0, 0]

    def _vectors(self, **vectors) -> list[Array]:
        sizes = _sizes(self.forward)
        return [fitted_array(name, vector, ("dim",), sizes) for name, vector in vectors.items()]


@jax.custom_jvp
def _evaluate(dual: Dual, first, second):
    return dual.forward._gram(first[None], second[None], False)[0, 0]


@_evaluate.defjvp
def _evaluate_jvp(primals, tangents):
    dual, first, second = primals
    _, first_direction, second_direction = tangents
    one = jnp.ones((1, 1))
    by_first = dual.forward._pull(first[None], second[None], one, False)[0]
    by_second = dual.backward._pull(second[None], first[None], one, False)[0]
    return _evaluate(dual, first, second), by_first @ first_direction + by_second @ second_direction


@jax.custom_jvp
def _evaluate_own(dual: Dual, vector):
    return dual.forward._gram(vector[None], vector[None], True)[0, 0]


@_evaluate_own.defjvp
def _evaluate_own_jvp(primals, tangents):
    dual, vector = primals
    _, direction = tangents
    half = dual.forward._pull(vector[None], vector[None], jnp.ones((1, 1)), True)[0]
    return _evaluate_own(dual, vector), 2 * half @ direction
