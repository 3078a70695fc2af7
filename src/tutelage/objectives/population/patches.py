"""Population losses of the models that read independent patches, from duals of single patches."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PyTree

from tutelage.duals import Dual, Mean, Quadrature, dual, mean
from tutelage.duals.moments import Atomic
from tutelage.duals.norms import binary_scale, safe_norm
from tutelage.duals.special import quotient
from tutelage.errors import UnsupportedCombination
from tutelage.inputs import Gaussian
from tutelage.models import Convolution, FilterAndOutput, Parity, Wave
from tutelage.objectives.base import Expected, Reduction
from tutelage.objectives.exactness import Exactness
from tutelage.objectives.population.neuron_sum import exactness_of, is_rotation_invariant, uses_quadrature
from tutelage.objectives.population.reduction import reduced_to_span
from tutelage.objectives.population.totals import loss_total
from tutelage.problems import Problem


class PatchObjective(Expected):
    """A population loss of a model that reads patches."""

    def _gradient(self, point: PyTree, key) -> PyTree:
        return jax.grad(self._loss)(point, key)

    def with_target(self, target: PyTree) -> "PatchObjective":
        problem = self.problem.with_teacher(target)
        return eqx.tree_at(lambda o: (o.problem, o.target), self, (problem, problem.target))

    def _reduced(self, points: PyTree, teachers: PyTree) -> Reduction:
        return reduced_to_span(self, points, teachers)

    def _neuron_curvatures(self, point: PyTree, neurons: Int[Array, " chosen"]) -> Float[Array, "chosen dim dim"]:
        raise self._without_curvatures()

    def _hessian_lipschitz(self, point: PyTree, radius: Float[Array, ""]) -> Float[Array, ""]:
        return jnp.asarray(jnp.inf)


class DualsOfPatches(PatchObjective):
    """A population loss made of the dual and the mean of one patch.

    Attributes:
        problem: The problem.
        target: The teacher's parameters.
        dual: Dual of one patch.
        mean: Mean of one patch.
        quadrature: How finely integrals are taken; `None` where there are none.
    """

    problem: Problem
    target: PyTree
    dual: Dual
    mean: Mean
    quadrature: Quadrature | None

    @property
    def exactness(self) -> Exactness:
        for part in jax.tree.leaves(self.dual, is_leaf=lambda node: isinstance(node, Atomic)):
            if isinstance(part, Atomic):
                return Exactness("exact sum", detail=f"over a support of {part.points.shape[0]} points for each patch")
        return exactness_of(self.quadrature)

    @property
    def span_suffices(self) -> bool:
        return is_rotation_invariant(self.problem, (self.dual, self.mean))


class ConvolutionLoss(DualsOfPatches):
    r"""The population loss of a one-filter network; build one with `population`.

    Patches are independent, so that for two such networks with filters $w, w'$, output weights $a, a'$, dual $K$ and
    means $M$ of one patch,

    $$E[ff'] = a\cdot a'\,\bigl(K(w, w') - M(w)M(w')\bigr) + (\mathbf 1\cdot a)(\mathbf 1\cdot a')\,M(w)M(w').$$

    The convolutional-filter paper prints its loss (Theorem 2.1) from this, for ReLU; the cross term there misses a
    factor $1/(2\pi)$.
    """

    def _product(self, first: FilterAndOutput, second: FilterAndOutput, both: Float[Array, ""], means=None):
        """Return E[ff'], given the dual of the two filters and, if at hand, the product of their means."""
        means = self.mean(first.filter) * self.mean(second.filter) if means is None else means
        sums = jnp.sum(first.output) * jnp.sum(second.output)
        return (first.output @ second.output) * (both - means) + sums * means

    def _loss(self, point: FilterAndOutput, key) -> Float[Array, ""]:
        target, (student, scale) = self.target, self._scaled(point)
        if self._direction_only and self.span_suffices:
            # The student's own dual does not depend on its direction: evaluated at a fixed unit vector, nothing is left
            # to cancel in the gradient.
            axis = target.filter / safe_norm(target.filter)
            fixed = FilterAndOutput(axis, student.output)
            own = self._product(fixed, fixed, self.dual.own(axis))
            means = self.mean(axis) * self.mean(target.filter)
        else:
            own, means = scale**2 * self._product(student, student, self.dual.own(student.filter)), None
        cross = scale * self._product(student, target, self.dual(student.filter, target.filter), means)
        constant = 0.5 * self._product(target, target, self.dual.own(target.filter)) + 0.5 * self.problem.noise**2
        return loss_total((0.5 * own, -cross, constant), point)

    @property
    def _direction_only(self) -> bool:
        student: Convolution = self.problem.student  # type: ignore[assignment]
        return student.normalized and student.activation.homogeneity == 1

    def _scaled(self, point: FilterAndOutput) -> tuple[FilterAndOutput, Float[Array, ""]]:
        """Return filter and output weights that compute the same up to a factor, and the factor."""
        student: Convolution = self.problem.student  # type: ignore[assignment]
        if not self._direction_only:
            return point, student.scale(point.filter)
        # The filter enters through its direction alone. A zero filter computes the zero function.
        # In units of its own size: of a short filter, a third power of its norm would underflow in the Hessian.
        filter = point.filter / binary_scale(jnp.max(jnp.abs(point.filter)))
        unit = filter * quotient(jnp.ones(()), safe_norm(filter))
        return FilterAndOutput(unit, jnp.where(jnp.any(unit != 0), point.output, 0.0)), jnp.ones(())

    def _singular(self, point: FilterAndOutput) -> Bool[Array, ""]:
        student: Convolution = self.problem.student  # type: ignore[assignment]
        smooth = student.activation.kink is None and not student.normalized
        return jnp.zeros((), bool) if smooth else jnp.all(point.filter == 0)

    def _error_estimate(self, point: FilterAndOutput) -> Float[Array, ""]:
        student, scale = self._scaled(point)
        own, cross = (self._product_error(student, other) for other in (student, self.target))
        return 0.5 * scale**2 * own + scale * cross

    def _product_error(self, first: FilterAndOutput, second: FilterAndOutput) -> Float[Array, ""]:
        """Return an estimate of the error of `_product`, from those of the dual and of the means."""
        both = self.dual.error_estimate(first.filter, second.filter)
        means = jnp.abs(self.mean(first.filter)) * self.mean.error_estimate(second.filter)
        means = means + jnp.abs(self.mean(second.filter)) * self.mean.error_estimate(first.filter)
        outputs = first.output @ second.output
        others = jnp.sum(first.output) * jnp.sum(second.output) - outputs
        return jnp.abs(outputs) * both + jnp.abs(others) * means


class ParityLoss(DualsOfPatches):
    r"""The population loss of sums of products of neurons over patches; build one with `population`.

    Patches are independent, so that with the dual $K$ and the mean $M$ of one patch and degrees $r \le s$,

    $$E\Bigl[\prod_{l\le r}\sigma(w_l\cdot x_l)\prod_{l\le s}\sigma(u_l\cdot x_l)\Bigr]
      = \prod_{l\le r}K(w_l, u_l)\prod_{r<l\le s}M(u_l).$$

    For odd activations the means vanish, and different degrees decouple (the weight-sharing paper's Lemma 3).
    """

    def _products(self, first: Float[Array, "vector dim"], second: Float[Array, "vector dim"] | None = None):
        """Return the expected product of two sums of products; of one with itself if the second is left out."""
        student: Parity = self.problem.student  # type: ignore[assignment]
        both = self._per_patch(self.dual.own, first) if second is None else self._per_patch(self.dual, first, second)
        first_means = self._per_patch(self.mean, first)
        second_means = first_means if second is None else self._per_patch(self.mean, second)
        total = jnp.zeros(())
        for r in student.degrees:
            for s in student.degrees:
                rest = _product(first_means, s, r) if r > s else _product(second_means, r, s)
                total = total + _product(both, 0, min(r, s)) * rest
        return total

    def _per_patch(self, function, *vectors: Float[Array, "vector dim"]) -> Float[Array, " patch"]:
        """Return a number per patch; one for all of them where all vectors are shared."""
        if all(array.shape[0] == 1 for array in vectors):
            return function(*(array[0] for array in vectors))[None]
        patches = self.problem.student.patches
        return jax.vmap(function)(*(jnp.broadcast_to(array, (patches, array.shape[1])) for array in vectors))

    def _loss(self, point: Float[Array, "..."], key) -> Float[Array, ""]:
        student, target = self.problem.student.vectors(point), self.target[None]
        constant = 0.5 * self._products(target) + 0.5 * self.problem.noise**2
        return loss_total((0.5 * self._products(student), -self._products(student, target), constant), point)

    def _singular(self, point: Float[Array, "..."]) -> Bool[Array, ""]:
        student: Parity = self.problem.student  # type: ignore[assignment]
        if student.activation.kink is None:
            return jnp.zeros((), bool)
        return jnp.any(jnp.all(student.vectors(point) == 0, axis=-1))

    def _error_estimate(self, point: Float[Array, "..."]) -> Float[Array, ""]:
        student = self.problem.student.vectors(point)
        patches = self.problem.student.patches
        assert patches is not None
        own = jax.vmap(lambda w: self.dual.error_estimate(w, w))(student)
        cross = jax.vmap(lambda w: self.dual.error_estimate(w, self.target))(student)
        # No factor of a product is larger than the largest E[σ²] (Cauchy–Schwarz).
        largest = jnp.maximum(jnp.max(jax.vmap(self.dual.own)(student)), self.dual.own(self.target))
        terms = len(self.problem.student.degrees) ** 2 * patches  # type: ignore[attr-defined]
        return terms * jnp.maximum(1.0, largest) ** (patches - 1) * (jnp.max(own) + jnp.max(cross))


def _product(factors: Float[Array, " patch"], begin: int, end: int) -> Float[Array, ""]:
    """Return the product over patches from `begin` to `end`.

    A number that all patches share gives a power, whose derivatives take a fraction of the time to compile.
    """
    return factors[0] ** (end - begin) if factors.shape[0] == 1 else jnp.prod(factors[begin:end])


class WaveLoss(PatchObjective):
    r"""The population loss of the wave; build one with `population`.

    With the characteristic function $\chi$ of one patch under a law with $x \sim -x$, $\chi(w) = \prod_l\chi(w_l)$ and
    the second moment $S$,

    $$L = \tfrac{c^2}2(w_1 - u_0)^\top S\,(w_1 - u_0) + \tfrac14(1 + \chi(2w)) - \tfrac12(\chi(w - \bar u_0) +
    \chi(w + \bar u_0)) + \tfrac14(1 + \chi(2\bar u_0)).$$

    Linear and cosine part do not mix, because one is odd and the other even (the weight-sharing paper's Equation 2).

    Attributes:
        problem: The problem.
        target: The teacher's vector.
    """

    problem: Problem
    target: Float[Array, " dim"]
    exactness = Exactness("closed form")

    @property
    def span_suffices(self) -> bool:
        return self._variance is not None

    @property
    def _variance(self) -> float | None:
        inputs = self.problem.inputs
        return inputs.variance if isinstance(inputs, Gaussian) and inputs.centred else None

    def _characteristic(self, rows: Float[Array, "patch dim"]) -> Float[Array, ""]:
        if self._variance is not None:
            return jnp.exp(-0.5 * self._variance * jnp.sum(rows**2))
        return jnp.prod(self.problem.inputs.characteristic(rows).real)

    def _mass(self, vector: Float[Array, " dim"]) -> Float[Array, ""]:
        if self._variance is not None:
            return self._variance * jnp.sum(vector**2)
        return vector @ self.problem.inputs.second_moment() @ vector

    def _loss(self, point: Float[Array, "..."], key) -> Float[Array, ""]:
        student: Wave = self.problem.student  # type: ignore[assignment]
        rows = student.rows(point)
        target = jnp.broadcast_to(self.target, rows.shape)
        waves = (
            0.25 * (1 + self._characteristic(2 * rows))
            - 0.5 * (self._characteristic(rows - target) + self._characteristic(rows + target))
            + 0.25 * (1 + self._characteristic(2 * target))
        )
        linear = 0.5 * student.slope**2 * self._mass(rows[0] - self.target)
        return linear + waves + 0.5 * self.problem.noise**2

    def _error_estimate(self, point: Float[Array, "..."]) -> Float[Array, ""]:
        return jnp.zeros(())

    def _singular(self, point: Float[Array, "..."]) -> Bool[Array, ""]:
        return jnp.zeros((), bool)


def patch_loss(problem: Problem, quadrature: Quadrature) -> DualsOfPatches:
    """Build the population loss of a one-filter network, or of sums of products over patches."""
    activation = problem.student.activation  # type: ignore[attr-defined]
    both = dual(activation, activation, problem.inputs, quadrature)
    average = mean(activation, problem.inputs, quadrature)
    kind = ConvolutionLoss if isinstance(problem.student, Convolution) else ParityLoss
    return kind(problem, problem.target, both, average, quadrature if uses_quadrature((both, average)) else None)


def wave_loss(problem: Problem, quadrature: Quadrature) -> WaveLoss:
    """Build the population loss of the wave."""
    if problem.inputs.symmetry == "none":
        raise UnsupportedCombination(
            f"The wave has a closed form only under laws with x and −x alike, not under {problem.inputs.name}. "
            "Use `empirical` or `stream` to sample."
        )
    problem.inputs.characteristic(np.zeros(problem.dimension))  # raises the law's refusal now, not later
    return WaveLoss(problem, problem.target)
