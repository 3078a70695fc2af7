"""Nesterov's accelerated descent, restarted where its momentum points uphill."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from tutelage.dynamics.base import Stepwise, Traits, add_scaled, size_at, step_size
from tutelage.objectives import Objective


class _Momentum(NamedTuple):
    """The end of the last gradient step, and the weight $t_k$ that grows by about one half a step."""

    settled: PyTree
    weight: Float[Array, ""]


class AcceleratedDescent(Stepwise):
    r"""Nesterov's accelerated descent with adaptive restart.

    From the student $y_k$, at which the gradient is taken,

    $$x_{k+1} = y_k - \eta\nabla L(y_k),\qquad y_{k+1} = x_{k+1} + \frac{t_k - 1}{t_{k+1}}\,(x_{k+1} - x_k),\qquad
    t_{k+1} = \tfrac12\bigl(1 + \sqrt{1 + 4t_k^2}\bigr),$$

    with $x_0 = y_0$ the start and $t_0 = 1$. Where $\nabla L(y_k)\cdot(x_{k+1} - x_k) > 0$ the momentum points uphill:
    it is thrown away and $t_k$ begins again at one. There is nothing to tune but the step, and a step costs what one of
    plain descent costs.

    It is meant for losses that are flat around their minima, where plain descent is sublinear: with more students than
    teachers it takes tens of times fewer steps. It is another path, though: from one start it may end at another
    minimum than plain descent, and its loss is not monotone. The largest stable step is about two thirds of that of
    plain descent.

    Args:
        step: The step $\eta$, or a function of the step number.

    References:
        Y. Nesterov, *A method of solving a convex programming problem with convergence rate O(1/k²)*, 1983.
        B. O'Donoghue, E. Candès, *Adaptive Restart for Accelerated Gradient Schemes*, 2015 (the gradient scheme of
        Section 3.2).
    """

    step: Float[Array, ""] | Callable

    def __init__(self, step: float | Callable):
        self.step = step_size("step", step)

    @property
    def traits(self) -> Traits:
        return Traits(equivariant=True)

    def init(self, objective: Objective, point: PyTree) -> PyTree:
        return _Momentum(point, jnp.ones(()))

    def advance(self, objective, point, gradient, state, step, key):
        settled = add_scaled(point, -size_at(self.step, step), gradient)
        progress = jax.tree.map(jnp.subtract, settled, state.settled)
        uphill = sum(jnp.sum(g * p) for g, p in zip(jax.tree.leaves(gradient), jax.tree.leaves(progress), strict=True))
        weight = jnp.where(uphill > 0, 1.0, state.weight)
        following = 0.5 * (1.0 + jnp.sqrt(1.0 + 4.0 * weight * weight))
        return add_scaled(settled, (weight - 1.0) / following, progress), _Momentum(settled, following)
