r"""Population losses of sums of neurons, by duals.

With a student $\sum_i c_i\sigma(w_i\cdot x)$ and a teacher $\sum_j c^*_j\tau(v_j\cdot x)$,

$$L = \tfrac12\sum_{i,i'} c_ic_{i'}K_{\sigma\sigma}(w_i, w_{i'}) - \sum_{i,j} c_ic^*_jK_{\sigma\tau}(w_i, v_j)
+ \tfrac12\sum_{j,j'} c^*_jc^*_{j'}K_{\tau\tau}(v_j, v_{j'}),$$

and all derivatives are sums of the duals' derivatives. Models with several groups of neurons, and models whose
neurons are functions of their parameters, go through the same sums and the chain rule. Where neurons have biases, all
vectors are $(w_i, b_i)$ and the inputs $(x, 1)$.
"""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Bool, Float, Int, PyTree

from tutelage.duals import Kernel, Quadrature, kernel
from tutelage.duals.base import differentiable_gram
from tutelage.duals.piecewise_linear import Axes, PiecewiseLinear
from tutelage.duals.quadrature import Integrated
from tutelage.instant import evaluated, instantly
from tutelage.models import Model, NeuronModel, Neurons, Neuronwise
from tutelage.objectives.base import Expected, Reduction
from tutelage.objectives.exactness import Exactness
from tutelage.objectives.population.reduction import reduced_to_span
from tutelage.objectives.population.totals import loss_total
from tutelage.problems import Problem


class NeuronSum(Expected):
    """The population loss of a sum of neurons; build one with `population`.

    Attributes:
        problem: The problem.
        target: The teacher's parameters (in reduced coordinates after a reduction).
        student_duals: Duals of the student's groups with each other.
        teacher_duals: Duals of the student's groups with the teacher's.
        own_duals: Duals of the teacher's groups with each other.
        constant: The part of the loss that does not depend on the student.
        quadrature: How finely integrals are taken; `None` where there are none.
        axes: Whether the teacher is one group of neurons on the first coordinate axes.
        biased: Whether any neuron has a bias, so that all vectors have one more number.
    """

    problem: Problem
    target: PyTree
    student_duals: tuple[tuple[Kernel, ...], ...]
    teacher_duals: tuple[tuple[Kernel, ...], ...]
    own_duals: tuple[tuple[Kernel, ...], ...]
    constant: Float[Array, ""]
    quadrature: Quadrature | None
    axes: bool = eqx.field(static=True)
    biased: bool = eqx.field(static=True)

    @property
    def exactness(self) -> Exactness:
        return exactness_of(self.quadrature)

    def _groups(self, point: PyTree) -> tuple[Neurons, ...]:
        return _groups_of(self.problem.student, point, self.biased)

    def _dense_teacher_groups(self) -> tuple[Neurons, ...]:
        return _groups_of(self.problem.teacher, self.target, self.biased)

    def _teacher_groups(self) -> tuple[Neurons, ...]:
        groups = self._dense_teacher_groups()
        return (groups[0]._replace(weights=Axes(groups[0].weights.shape[0])),) if self.axes else groups

    def _loss(self, point: PyTree, key) -> Float[Array, ""]:
        return _loss(self, point)

    def _value(self, point: PyTree) -> Float[Array, ""]:
        terms = [self.constant]
        groups, teachers = self._groups(point), self._teacher_groups()
        for i, group in enumerate(groups):
            for j, other in enumerate(groups):
                gram = self.student_duals[i][j]._gram(group.weights, other.weights, i == j)
                terms.append(0.5 * group.coefficients @ gram @ other.coefficients)
            for j, teacher in enumerate(teachers):
                gram = self.teacher_duals[i][j]._gram(group.weights, teacher.weights, False)
                terms.append(-(group.coefficients @ gram @ teacher.coefficients))
        return loss_total(tuple(terms), point)

    def _gradient(self, point: PyTree, key=None) -> PyTree:
        _, back = jax.vjp(self._trainable, point)
        groups, teachers = self._groups(point), self._teacher_groups()
        cotangents = [self._by_weights(i, groups, teachers) for i in range(len(groups))]
        if not self._fixed_coefficients:
            cotangents += [self._by_coefficients(i, groups, teachers) for i in range(len(groups))]
        (gradient,) = back(cotangents)
        return gradient

    @property
    def _fixed_coefficients(self) -> bool:
        student = self.problem.student
        return isinstance(student, Neuronwise) and student.fixed_coefficients

    def _trainable(self, point: PyTree) -> list[Array]:
        groups = self._groups(point)
        weights = [group.weights for group in groups]
        return weights if self._fixed_coefficients else weights + [group.coefficients for group in groups]

    def _pairs(self, i: int, groups, teachers):
        """Return what a group meets: dual, sign, neurons, and whether these are its own."""
        own = [(self.student_duals[i][j], 1.0, other, i == j) for j, other in enumerate(groups)]
        return own + [(self.teacher_duals[i][j], -1.0, teacher, False) for j, teacher in enumerate(teachers)]

    def _by_weights(self, i: int, groups, teachers) -> Float[Array, "neuron dim"]:
        """Return the gradient in the weights of one group."""
        group, total = groups[i], 0.0
        for dual, sign, other, same in self._pairs(i, groups, teachers):
            weights = group.coefficients[:, None] * (sign * other.coefficients)
            total = total + dual._pull(group.weights, other.weights, weights, same)
        return total  # type: ignore[return-value]

    def _by_coefficients(self, i: int, groups, teachers) -> Float[Array, " neuron"]:
        """Return the gradient in the coefficients of one group."""
        weights, total = groups[i].weights, 0.0
        backward = [*(row[i] for row in self.student_duals), *(None for _ in teachers)]
        for (dual, sign, other, same), back in zip(self._pairs(i, groups, teachers), backward, strict=True):
            if isinstance(other.weights, Axes):
                gram = dual._gram(weights, other.weights, same)  # type: ignore[arg-type]  # its own rule, which makes use of the axes
            else:
                gram = differentiable_gram(dual, back, weights, other.weights, same)
            total = total + gram @ (sign * other.coefficients)
        return total  # type: ignore[return-value]

    def _error_estimate(self, point: PyTree) -> Float[Array, ""]:
        total = jnp.zeros(())
        groups, teachers = self._groups(point), self._dense_teacher_groups()
        for i, group in enumerate(groups):
            for duals, others in ((self.student_duals[i], groups), (self.teacher_duals[i], teachers)):
                for dual, other in zip(duals, others, strict=True):
                    errors = dual._error_estimate(group.weights, other.weights)
                    total = total + jnp.abs(group.coefficients) @ errors @ jnp.abs(other.coefficients)
        return total

    def _singular(self, point: PyTree) -> Bool[Array, ""]:
        # A zero vector of an activation with a kink that counts, unless a change of variables smooths it out.
        student = self.problem.student
        if isinstance(student, Neuronwise) and not student.plain:
            return jnp.zeros((), bool)
        return jnp.any(
            jnp.stack(
                [
                    jnp.any(jnp.all(group.weights == 0, axis=-1) & (group.coefficients != 0))
                    for group in self._groups(point)
                    if group.activation.kink is not None
                ]
                or [jnp.zeros((), bool)]
            )
        )

    def _neuron_curvatures(self, point: PyTree, neurons: Int[Array, " chosen"]) -> Float[Array, "chosen dim dim"]:
        student = self.problem.student
        assert isinstance(student, Neuronwise)
        groups, teachers = self._groups(point), self._teacher_groups()

        def gradient(vector):
            # That of E[r φ(w)] in w, the residual r held fixed: its copy of the neuron itself stays.
            total = jnp.zeros_like(vector)
            for dual, sign, other, _ in self._pairs(0, groups, teachers):
                total = total + sign * dual._pull(vector[None], other.weights, other.coefficients[None], False)[0]
            return total

        return student.curvatures(point, groups[0], neurons, gradient)

    def _hessian_lipschitz(self, point: PyTree, radius: Float[Array, ""]) -> Float[Array, ""]:
        r"""Return a Lipschitz constant of the Hessian for plain neurons with two slopes; infinite for other models.

        The third derivatives of a dual with factor $qq'$ of its even part are bounded by $c_{30}qq'\|v\|/\|w\|^2$ in
        $w$ three times and by $c_{21}qq'/\|w\|$ in $w$ twice and $v$ once; $c_{21} = 4/\pi$, $c_{30} < 1.75$.
        """
        unknown = jnp.asarray(jnp.inf)
        own = self.student_duals[0][0]
        student = self.problem.student
        if not (isinstance(student, Neuronwise) and student.plain and isinstance(own, PiecewiseLinear)):
            return unknown
        if not student.fixed_coefficients:
            return unknown
        norms = jnp.linalg.norm(student.rows(point), axis=-1)
        factors = jnp.abs(self._groups(point)[0].coefficients)
        teaching = jnp.zeros(())
        for dual, group in zip(self.teacher_duals[0], self._dense_teacher_groups(), strict=True):
            if not isinstance(dual, PiecewiseLinear):
                return unknown
            sizes = jnp.abs(group.coefficients) * jnp.linalg.norm(group.weights, axis=-1)
            teaching = teaching + jnp.abs(dual.even) * jnp.sum(sizes)
        least = norms - radius
        most = norms + radius
        others = jnp.abs(own.even) * (jnp.sum(factors * most) - factors * most) + teaching
        cubic = jnp.max(1.75 * factors * others / least**2)
        steepest = jnp.max(factors) ** 2 * jnp.abs(own.even) * (4 / jnp.pi) / jnp.min(least)
        mixed = 3 * jnp.sqrt(float(norms.size)) * steepest
        bound = cubic + (mixed if norms.size > 1 else 0.0)
        return jnp.where(jnp.min(least) > 0, bound, jnp.inf)

    @property
    def span_suffices(self) -> bool:
        return is_rotation_invariant(self.problem, (self.student_duals, self.teacher_duals))

    def with_target(self, target: PyTree) -> "NeuronSum":
        problem = self.problem.with_teacher(target)
        constant = _constant(problem, self.own_duals, self.biased)
        return _with_axes(dataclasses.replace(self, problem=problem, target=problem.target, constant=constant))

    def _reduced(self, points: PyTree, teachers: PyTree) -> Reduction:
        reduction = reduced_to_span(self, points, teachers)
        assert isinstance(reduction.objective, NeuronSum)
        return reduction._replace(objective=_with_axes(reduction.objective))


@eqx.filter_custom_jvp
def _loss(objective: NeuronSum, point: PyTree) -> Float[Array, ""]:
    return objective._value(point)


@_loss.def_jvp
def _loss_jvp(primals, tangents):
    """Differentiate by the closed-form gradient: the formula of the value has no derivative at parallel vectors."""
    objective, point = primals
    of_objective, of_point = tangents
    change = jnp.zeros(())
    # Nothing stands for parts that the student does not have, and for those that do not move.
    slopes, moves = (
        jax.tree.leaves(tree, is_leaf=lambda leaf: leaf is None) for tree in (objective._gradient(point), of_point)
    )
    for slope, move in zip(slopes, moves, strict=True):
        change = change if move is None else change + jnp.sum(slope * move)
    if jax.tree.leaves(of_objective):
        # In the teacher there is the formula of the value only.
        change = change + eqx.filter_jvp(lambda other: other._value(point), (objective,), (of_objective,))[1]
    return _loss(objective, point), change


def neuron_sum(problem: Problem, quadrature: Quadrature) -> NeuronSum:
    """Build the population loss of a sum of neurons."""
    assert isinstance(problem.student, NeuronModel) and isinstance(problem.teacher, NeuronModel)
    groups = evaluated(problem.student._neurons, problem.zero())
    students = [group.activation for group in groups]
    teachers = evaluated(problem.teacher._neurons, problem.target)
    biased = any(group.biases is not None for group in (*groups, *teachers))

    def dual(sigma, tau):
        return kernel(sigma, tau, problem.inputs, quadrature, biased)

    own_duals = tuple(tuple(dual(one.activation, other.activation) for other in teachers) for one in teachers)
    objective = NeuronSum(
        problem=problem,
        target=problem.target,
        student_duals=tuple(tuple(dual(sigma, tau) for tau in students) for sigma in students),
        teacher_duals=tuple(tuple(dual(sigma, group.activation) for group in teachers) for sigma in students),
        own_duals=own_duals,
        constant=_constant(problem, own_duals, biased),
        quadrature=None,
        axes=False,
        biased=biased,
    )
    if uses_quadrature((objective.student_duals, objective.teacher_duals)):
        objective = eqx.tree_at(lambda o: o.quadrature, objective, quadrature, is_leaf=lambda x: x is None)
    return _with_axes(objective)


def _groups_of(model: Model, parameters: PyTree, biased: bool) -> tuple[Neurons, ...]:
    """Return the neurons of a model, with their biases among their vectors where a problem has biases."""
    groups = model._neurons(parameters)  # type: ignore[attr-defined]
    return tuple(group.with_bias() for group in groups) if biased else groups


@instantly
def _constant(problem: Problem, duals: tuple[tuple[Kernel, ...], ...], biased: bool) -> Float[Array, ""]:
    """Return half the mean square of the labels."""
    teachers = _groups_of(problem.teacher, problem.target, biased)
    total = jnp.asarray(problem.noise**2)
    for i, first in enumerate(teachers):
        for j, second in enumerate(teachers):
            gram = duals[i][j]._gram(first.weights, second.weights, i == j)
            total = total + first.coefficients @ gram @ second.coefficients
    return 0.5 * total


@instantly
def _on_axes(teacher: Model, target: PyTree) -> Bool[Array, ""]:
    weights = teacher._neurons(target)[0].weights  # type: ignore[attr-defined]
    return jnp.all(weights == jnp.eye(*weights.shape))


def _with_axes(objective: NeuronSum) -> NeuronSum:
    """Mark a teacher whose neurons are on the first coordinate axes, where the duals make use of it."""
    one_group = len(objective.own_duals) == 1
    structured = one_group and all(
        len(row) == 1 and isinstance(row[0], PiecewiseLinear) for row in objective.teacher_duals
    )
    axes = structured and _on_axes(objective.problem.teacher, objective.target)
    # Of a traced teacher nothing is known.
    return dataclasses.replace(objective, axes=not isinstance(axes, Tracer) and bool(axes))


def uses_quadrature(duals: PyTree) -> bool:
    """Whether any of a pytree of duals is an integral."""
    leaves = jax.tree.leaves(duals, is_leaf=lambda node: isinstance(node, Integrated))
    return any(isinstance(leaf, Integrated) for leaf in leaves)


def exactness_of(quadrature: Quadrature | None) -> Exactness:
    """Return how an expectation by duals is taken, given how finely integrals are, if there are any."""
    if quadrature is None:
        return Exactness("closed form")
    return Exactness("quadrature", quadrature.tolerance)


def is_rotation_invariant(problem: Problem, duals: PyTree) -> bool:
    """Whether duals see vectors only through their norms and angles: they then hold no arrays but numbers."""
    student = problem.student
    if isinstance(student, NeuronModel) and not len(student.vectors(problem.zero())):
        return False  # weights that are fixed stay where they are
    return problem.inputs.symmetry == "rotation" and all(
        np.ndim(leaf) == 0 for leaf in jax.tree.leaves(eqx.filter(duals, eqx.is_array))
    )
