r"""Networks with two layers, $x \mapsto s\,\bigl(\sum_i a_i\,\sigma(w_i\cdot x + b_i) + c\bigr)$, learned in part.

With $a_i = 1$, no biases, no constant and $s = 1$ it is a committee; with one such neuron, a neuron.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PyTree

from tutelage.activations import Activation
from tutelage.activations.constant import One
from tutelage.arrays import of_jax
from tutelage.duals.special import quotient
from tutelage.errors import invalid
from tutelage.models.base import Model, Neurons, Neuronwise, Symmetry, safe_norm


class Layers(NamedTuple):
    """The parts of a network with two layers; `None` for those that it does not have, or does not learn."""

    weights: Float[Array, "neuron dim"] | None
    output: Float[Array, " neuron"] | None = None
    biases: Float[Array, " neuron"] | None = None
    constant: Float[Array, ""] | None = None


PARTS: tuple[str, ...] = Layers._fields

# Two neurons are in a channel if their vectors differ by less than this part of their norms, and their output weights
# cancel up to this part of the smaller one.
_CLOSE, _CANCELLED = 0.5, 0.2
# Vectors this close to each other, or unit vectors, count as the same.
_SAME = 1e-6


def _sharing(rows: np.ndarray, output: np.ndarray, parallel: bool, turned: bool = False) -> Int[np.ndarray, " neuron"]:
    """Return a label for every neuron, the same for those that share one function.

    Args:
        rows: Vectors, with biases.
        output: Output weights.
        parallel: Whether neurons with parallel vectors share a function; else their vectors must be equal.
        turned: Whether neurons with opposite vectors share it too, as for an even or odd activation.
    """
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    compared = rows / np.where(norms > 0, norms, 1.0) if parallel else rows
    signs = (1.0, -1.0) if turned else (1.0,)
    near = np.min([np.linalg.norm(compared[:, None] - sign * compared, axis=-1) for sign in signs], axis=0) <= _SAME
    near &= (output != 0) & (output != 0)[:, None]
    return np.where(near.any(axis=1), near.argmax(axis=1), np.arange(len(rows)))


def _equal_shares(rows: np.ndarray, signs: np.ndarray, members: np.ndarray) -> np.ndarray:
    """Return rows with equal shares, among the members of one sign each, in the functions that neurons share.

    Positive shares lie between zero and one, and there all is one connected set; where there are negative ones too, the
    critical points are of another kind (Fukumizu and Amari, 2000), so that they are kept apart.
    """
    whole = members @ (signs[:, None] * rows)
    # The sign of the whole, as seen by each neuron; where everything cancels there is nothing to share.
    leading = np.sign(np.sum(whole * rows, axis=1))
    alike = members * (signs == leading[:, None])
    mixed = (alike.sum(axis=1) > 0) & (alike.sum(axis=1) < members.sum(axis=1))
    own = signs == leading
    numbers = np.where(own, alike.sum(axis=1), members.sum(axis=1) - alike.sum(axis=1))
    totals = np.where(mixed & own, 2.0, 1.0) / np.maximum(numbers, 1)
    return np.where((leading == 0)[:, None], rows, (totals * leading)[:, None] * whole)


class TwoLayer(Neuronwise):
    r"""The network $x \mapsto s\,\bigl(\sum_i a_i\,\sigma(w_i\cdot x + b_i) + c\bigr)$.

    Its parameters are a `Layers` of the parts that are learned; where these are the weights alone, their matrix.

    Attributes:
        activation: The activation $\sigma$.
        learn: The parts that are learned, in the order of `Layers`.
        fixed: The values of the others; `None` for output weights one, and for no weights, biases and constant.
        scale: The factor $s$; `None` for one.
        single: Whether there is one neuron, whose weights are a vector and not a matrix.
    """

    activation: Activation
    learn: tuple[str, ...] = eqx.field(static=True, default=("weights",))
    fixed: Layers = Layers(None)
    scale: Float[Array, ""] | None = None
    single: bool = eqx.field(static=True, default=False)
    patches = None
    plain = True

    @property
    def bare(self) -> bool:
        """Whether the parameters are the weights themselves."""
        return self.learn == ("weights",)

    @property
    def shapes(self):
        sizes = [part.shape[0] for part in self.fixed[:3] if part is not None]
        number: Any = sizes[0] if sizes else "neuron"
        if self.bare:
            return ("dim",) if self.single else (number, "dim")
        whole = Layers((number, "dim"), (number,), (number,), ())  # type: ignore[arg-type]
        return Layers(*(shape if name in self.learn else None for name, shape in zip(PARTS, whole, strict=True)))  # type: ignore[arg-type]

    def parts(self, parameters: PyTree) -> Layers:
        """Return all parts, those that are fixed too."""
        if self.bare:
            return self.fixed._replace(weights=parameters[None] if self.single else parameters)
        return Layers(*(mine if own is None else own for mine, own in zip(self.fixed, parameters, strict=True)))

    def _with(self, parameters: PyTree, **parts: Any) -> PyTree:
        """Return the parameters with other values of parts that are learned."""
        if not self.bare:
            return parameters._replace(**parts)
        weights = parts.get("weights", parameters)
        return weights[0] if self.single and "weights" in parts else weights

    @property
    def biased(self) -> bool:
        return "biases" in self.learn or self.fixed.biases is not None

    @property
    def fixed_coefficients(self) -> bool:
        return not {"output", "constant"} & {*self.learn}

    def _neurons(self, parameters: PyTree) -> tuple[Neurons, ...]:
        weights, output, biases, constant = self.parts(parameters)
        assert weights is not None
        coefficients = np.ones(weights.shape[0]) if output is None else output
        scaled: Callable = (lambda numbers: numbers) if self.scale is None else (lambda numbers: self.scale * numbers)
        groups = (Neurons(self.activation, weights, scaled(coefficients), biases),)
        if constant is None:
            return groups
        return (*groups, Neurons(One(), jnp.zeros((1, weights.shape[1])), scaled(constant[None])))

    def _vectors(self, parameters: PyTree) -> Float[Array, "vector dim"]:
        if "weights" in self.learn:
            weights = self.parts(parameters).weights
            assert weights is not None
            return weights
        assert self.fixed.weights is not None
        return jnp.zeros((0, self.fixed.weights.shape[1]))

    def _with_vectors(self, parameters: PyTree, vectors: Float[Array, "vector other"]) -> PyTree:
        return self._with(parameters, weights=vectors) if "weights" in self.learn else parameters

    @property
    def degree(self) -> int | None:
        if "output" in self.learn:
            return 1
        return None if self.fixed.biases is not None else self.activation.homogeneity or None

    def rows(self, parameters: PyTree) -> Float[Array, "neuron row"]:
        weights = self._vectors(parameters)
        # Biases that are learned beside fixed vectors are no neurons that could be moved as a whole.
        if not {"weights", "biases"} <= {*self.learn}:
            return weights
        return jnp.concatenate([weights, parameters.biases[:, None]], axis=1)

    def with_rows(self, parameters: PyTree, rows: Float[Array, "other row"]) -> PyTree:
        if "biases" not in self.learn:
            return self._with(parameters, weights=rows)
        return self._with(parameters, weights=rows[:, :-1], biases=rows[:, -1])

    def reordered(self, parameters: PyTree, order: Int[np.ndarray, " neuron"]) -> PyTree:
        if self.bare:
            return self._with(parameters, weights=self._vectors(parameters)[order])
        parts = {name: getattr(parameters, name) for name in self.learn if name != "constant"}
        return self._with(parameters, **{name: part[order] for name, part in parts.items()})

    def weights(self, rows: Float[Array, "*neuron row"]) -> Float[Array, "*neuron row"]:
        return rows

    def rows_of(self, weights: Float[Array, "*neuron row"]) -> Float[Array, "*neuron row"]:
        return weights

    def doubled(self, neuron: int) -> "TwoLayer":
        if self.single:
            raise invalid(
                "objective", "be of a committee", "one of a neuron", "Use problems.committee with one student"
            )

        def wider(part):
            if part is None:
                return None
            entries = np.asarray(part)
            return of_jax(np.insert(entries, neuron, entries[neuron], axis=0))

        weights, output, biases, constant = self.fixed
        fixed = Layers(wider(weights), wider(output), wider(biases), constant)
        return TwoLayer(self.activation, self.learn, fixed, self.scale)

    def symmetry(self, parameters: PyTree) -> Symmetry | None:
        """Return the symmetries: neurons may be exchanged with their biases and output weights.

        Numbers that are fixed are labels, those that are learned go along with the vectors.
        """
        if "weights" not in self.learn:
            return None
        number = self._vectors(parameters).shape[0]
        fixed = [np.asarray(part) for part in (self.fixed.output, self.fixed.biases) if part is not None]
        labels = np.unique(np.stack(fixed, axis=1), axis=0, return_inverse=True)[1] if fixed else np.zeros(number, int)
        even = self.activation.parity == "even" and self.fixed.biases is None
        learned = [np.asarray(getattr(parameters, name)) for name in ("biases", "output") if name in self.learn]
        numbers = np.stack(learned, axis=1) if learned else None
        return Symmetry(labels.reshape(-1), even, numbers=numbers, biased=even and "biases" in self.learn)

    @property
    def _rescaled(self) -> bool:
        r"""Whether $(\lambda w, \lambda b, a/\lambda^p)$ computes the same for all $\lambda > 0$, and is a student."""
        power = self.activation.homogeneity
        movable = "weights" in self.learn and self.fixed.biases is None
        return movable and power is not None and (power == 0 or "output" in self.learn)

    def canonical(self, parameters: PyTree) -> PyTree:
        r"""Return the student with $|a_i| = 1$ where neurons may be rescaled, and $a_i \ge 0$ for an odd activation.

        A neuron with $a_i = 0$ stays as it is. Of a discontinuous activation, which sees directions alone, the vectors
        have norm one. Neurons that compute multiples of one function have equal shares in it; where the shares of some
        are negative, which makes other critical points, these add up to minus the whole.
        """
        if not self._rescaled and "output" not in self.learn:
            return parameters
        rows, power = self.rows(parameters), self.activation.homogeneity
        factor, output = jnp.ones(rows.shape[0]), self.parts(parameters).output
        if self._rescaled and power == 0:
            factor = quotient(1.0, safe_norm(rows))
        elif self._rescaled:
            assert power is not None and output is not None
            alive = output != 0
            factor = jnp.where(alive, jnp.abs(output) ** (1.0 / power), 1.0)
            output = jnp.where(alive, jnp.sign(output), 0.0)
        if "output" not in self.learn:
            return self.with_rows(parameters, factor[:, None] * rows)
        assert output is not None
        if self.activation.parity == "odd" and "weights" in self.learn and self.fixed.biases is None:
            factor, output = jnp.where(output < 0, -factor, factor), jnp.abs(output)
        if "weights" not in self.learn:
            return self._with(parameters, output=output)
        rows, output = np.asarray(factor[:, None] * rows), np.asarray(output)
        even = self.activation.parity == "even" and self.fixed.biases is None
        labels = _sharing(self._with_fixed_biases(rows), output, self._rescaled and power == 1, turned=even)
        if even:  # vectors that share a function shall look the same way
            rows = np.where(np.sum(rows * rows[labels], axis=1) < 0, -1.0, 1.0)[:, None] * rows
        members = np.equal.outer(labels, labels).astype(float)
        shares = members / members.sum(axis=1, keepdims=True)
        if self._rescaled and power == 1:
            rows = _equal_shares(rows, output, members)
        elif not self._rescaled:
            output = shares @ output
        return self._with(self.with_rows(parameters, jnp.asarray(rows)), output=jnp.asarray(output))

    def _with_fixed_biases(self, rows: np.ndarray) -> np.ndarray:
        """Return rows with the biases that are not learned behind them, which tell neurons apart."""
        return rows if self.fixed.biases is None else np.column_stack([rows, np.asarray(self.fixed.biases)])

    def redundancy(self, parameters: PyTree) -> dict[str, int]:
        power, modes = self.activation.homogeneity, {}
        output = self.parts(parameters).output
        if self._rescaled:
            alive = np.any(np.asarray(self.rows(parameters)) != 0, axis=1)
            modes["rescalings"] = int(np.sum(alive if power == 0 else alive | (np.asarray(output) != 0)))
        if {"weights", "output"} <= {*self.learn} and power in (None, 1):
            rows, output = np.asarray(self.rows(parameters)), np.asarray(output)
            turned = self.activation.parity != "none"
            labels = _sharing(self._with_fixed_biases(rows), output, self._rescaled, turned)
            modes["shares"] = len(labels) - len(set(labels.tolist()))
        return modes

    def channel(self, parameters: PyTree, gradient: Callable[[PyTree], PyTree]) -> dict[int, float]:
        r"""Return two neurons whose output weights grow with opposite signs while their vectors meet, or none.

        Such a pair computes less and less of a neuron and more and more of a derivative,
        $a\,(\sigma(w\cdot x + v\cdot x/a) - \sigma(w\cdot x)) \to v\cdot x\,\sigma'(w\cdot x)$: the loss falls as the
        output weights run away, ever more slowly. Of an odd activation one of the two may have both signs turned.

        Args:
            parameters: A student.
            gradient: The gradient of its loss, which must fall as the output weights grow and $v$ stays.

        Reference:
            Martinelli, van Meegen, Şimşek, Gerstner, Brea, Flat channels to infinity in neural loss landscapes, 2025.
        """
        if not {"weights", "output"} <= {*self.learn} or (self.biased and "biases" not in self.learn):
            return {}
        by_all = gradient(parameters)
        rows, output = np.asarray(self.rows(parameters)), np.asarray(parameters.output)
        slopes, by_output = np.asarray(self.rows(by_all)), np.asarray(by_all.output)
        norms = np.maximum(np.linalg.norm(rows, axis=1), 1e-300)
        sizes = np.minimum(np.abs(output)[:, None], np.abs(output))
        growth = np.sign(output) * by_output
        for sign in (1.0, -1.0) if self.activation.parity == "odd" else (1.0,):
            between = rows[:, None] - sign * rows
            apart = np.linalg.norm(between, axis=-1) / np.maximum(norms[:, None], norms)
            cancel = np.abs(output[:, None] + sign * output) <= _CANCELLED * sizes
            # The derivative of the loss as both output weights grow by the same amount, a times the difference fixed.
            turning = np.sum((slopes[:, None] - sign * slopes) * between, axis=-1) / (2 * np.maximum(sizes, 1e-300))
            falling = growth[:, None] + growth - turning < 0
            # Smaller ones than those of a usual network are no sign of running away.
            found = np.argwhere(np.triu(cancel & (apart <= _CLOSE) & (sizes > 1.0) & falling, 1))
            if len(found):
                return {neuron: float(output[neuron]) for neuron in found[0].tolist()}
        return {}

    def contains(self, parameters: PyTree, teacher: Model, target: PyTree) -> bool:
        assert isinstance(teacher, TwoLayer)
        theirs = teacher.parts(target)
        missing = [name for name in ("biases", "constant") if name not in self.learn]
        given = self.fixed.biases, *(getattr(theirs, name) for name in missing)
        if "weights" not in self.learn or any(np.any(part) for part in given if part is not None):
            return False
        spare = self._vectors(parameters).shape[0] - teacher._vectors(target).shape[0]
        if spare < 0 or "output" in self.learn:
            return spare >= 0
        if spare and "constant" not in self.learn and float(self.activation(of_jax(np.zeros(())))) != 0:
            return False  # no neuron is known to compute nothing
        mine, other = (
            np.asarray(group[0].coefficients) for group in (self._neurons(parameters), teacher._neurons(target))
        )
        if self.fixed.biases is None and self.activation.homogeneity:
            mine, other = np.sign(mine), np.sign(other)  # vectors and biases can be rescaled
        return bool((np.concatenate([mine, other]) == mine[0]).all() and mine[0])
