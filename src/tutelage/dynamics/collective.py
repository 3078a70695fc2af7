r"""Many steps of gradient descent on a large committee at the price of three gradients.

Steps of gradient descent are kept short by the few directions in which all neurons move together, whose curvature
grows with their number; all others would allow steps that grow with it. With the collective curvature $A$ at the
origin $y_0$ of a group of $n$ steps (`objectives.population.collective`), $z = y - y_0$ and $N(z) = -\nabla L(y_0 +
z) + Az$, descent with step $\eta$ satisfies

$$z_n = \eta\sum_{j<n}(1 - \eta A)^{n-1-j}N(z_j),$$

where the sums over powers are known and $N$ varies slowly. It is interpolated linearly: by its value at $0$ alone up
to $r_1 = (n + 1)/3$, by the values at $0$ and $r_1$ up to $r_2 = (2n - 1)/3$, by those at $0$ and $r_2$ up to $n$.
Since $\sum_{j<n}j(j - r_2) = 0$, the last is exact for quadratic $N$ wherever $A$ vanishes: with $\sum_{j<r}(1 - \eta
m)^{r-1-j}j^l = S_l(r)$,

$$z_{r} = \eta\Bigl(S_0(r)N_0 + \frac{S_1(r)}{r'}(N_{r'} - N_0)\Bigr), \qquad S_0 = \frac{1 - (1-\eta m)^r}{\eta m},
\quad S_1 = \frac{r - S_0}{\eta m},$$

at each eigenvalue $m$ of $A$, and $S_0 = r$, $S_1 = r(r-1)/2$ elsewhere. This is the third-order exponential
Runge–Kutta method whose last stages are those of Heun, for sums instead of integrals. What a second-order rule leaves
of the steps of descent,

$$y_n - y_0 = \tfrac h2 (f_0 + f_n) - \tfrac\eta2 (f_n - f_0) + O(h^3), \qquad h = n\eta, \quad f = -\nabla L,$$

is larger than the error of the third-order one, and is what is limited; without its collective part, which is
forgotten within a group.

Reference: M. Hochbruck, A. Ostermann, Exponential integrators, Acta Numerica 19, 2010.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from tutelage.arrays import of_jax
from tutelage.checks import positive
from tutelage.dynamics.base import Method, Traits, norm, select
from tutelage.dynamics.groups import Place, advanced, first_place, judge
from tutelage.errors import UnsupportedCombination
from tutelage.objectives import Objective
from tutelage.objectives.population.collective import collective, has_collective

_STAGES = 3
_LONGEST, _GROWTH = 800, 1.18
# Below this product of step and curvature a mode is no stiffer than the rest, and is treated like it.
_STIFF = 1e-2


def _lengths() -> np.ndarray:
    """Return the lengths of groups: one plain step, then numbers of which both thirds are whole."""
    lengths = [1, 8]
    while lengths[-1] < _LONGEST:
        lengths.append(3 * int(np.ceil((_GROWTH * lengths[-1] - 2) / 3)) + 2)
    return np.array(lengths)


_LENGTHS = _lengths()


class _State(NamedTuple):
    origin: Float[Array, "neuron dim"]  # where the present group of steps began
    slope: Float[Array, "neuron dim"]  # the gradient there
    base: Float[Array, "neuron dim"]  # where the collective curvature is taken: the end of the last group
    place: Place


class CollectiveDescent(Method):
    r"""Gradient descent with a constant step on a committee, up to hundreds of steps in three gradients.

    Follows the path of `GradientDescent(step)`: what all neurons do together is summed in closed form, and the rest,
    which changes slowly, is interpolated. Where the estimated difference is too large, plain steps are made. A step
    of the run is one gradient; the run's time counts the steps of descent that it stands for.

    Args:
        step: The step of gradient descent; one with which descent is stable.
        tolerance: Largest estimated difference of a group from gradient descent, by a rule of lower order than the
        one that
            is used, relative to how far it moves.
    """

    step: Float[Array, ""]
    tolerance: Float[Array, ""]

    def __init__(self, step: float, tolerance: float = 1e-2):
        self.step = of_jax(positive("step", step))
        self.tolerance = of_jax(positive("tolerance", tolerance))

    @property
    def traits(self) -> Traits:
        return Traits(equivariant=True, steady_step=self.step)

    def init(self, objective: Objective, point) -> _State:
        if not has_collective(objective):
            raise UnsupportedCombination(
                f"`CollectiveDescent` needs the population loss of a committee of neurons with two slopes, and the "
                f"{objective.problem.name} problem has none. Pass ChebyshevDescent instead."
            )
        return _State(point, jnp.zeros_like(point), point, first_place())

    def advance(self, objective, point, gradient, state: _State, step, key):
        lengths, begun = jnp.asarray(_LENGTHS), state.place
        ended = begun.stage == jnp.where(begun.level == 0, 1, _STAGES)
        begins = ended | (step == 0)
        base = select(begins, point, state.base)
        modes = collective(objective, base)
        moved = point - state.origin
        along_moved, along_slope, along_gradient = map(modes.coordinates, (moved, state.slope, gradient))

        # What a rule of second order leaves of a group that has ended, without its collective part.
        h = self.step * lengths[begun.level]
        before, after = 0.5 * (h + self.step), 0.5 * (h - self.step)
        along = along_moved.changed(along_slope, before).changed(along_gradient, after)
        square = jnp.sum((moved + before * state.slope + after * gradient) ** 2)
        error = jnp.sqrt(jnp.maximum(square - along.mean @ along.mean - along.second**2, 0.0))
        accepted, factor = judge(begun.level, error, self.tolerance * norm(moved))

        renewed = begins & (accepted | (step == 0))
        origin = select(renewed, point, state.origin)
        slope = select(renewed, gradient, state.slope)
        along_slope = select(renewed, along_gradient, along_slope)
        along_moved = jax.tree.map(lambda part: jnp.where(renewed, 0.0, part), along_moved)
        place = advanced(begun, lengths, begins, ended, accepted, factor)
        length, first = lengths[place.level], place.stage == 1
        early, late = (length + 1) // 3, (2 * length - 1) // 3
        reached = jnp.where(first, early, jnp.where(place.stage == 2, late, length))
        known = jnp.where(place.stage == 2, early, late)

        stiffness = self.step * modes.curvatures
        stiff = stiffness > _STIFF
        bulk_zeroth, bulk_linear = reached * 1.0, 0.5 * reached * (reached - 1)
        zeroth, linear = _sums(reached, jnp.where(stiff, stiffness, 1.0))
        zeroth, linear = jnp.where(stiff, zeroth, bulk_zeroth), jnp.where(stiff, linear, bulk_linear)
        share, bulk_share = (jnp.where(first, 0.0, sums / known) for sums in (linear, bulk_linear))
        bulk_rest = bulk_zeroth - bulk_share
        # In the modes N has a part A z besides the gradient.
        turned = share * jnp.where(stiff, modes.curvatures, 0.0)
        along = modes.function(bulk_rest, zeroth - share, along_slope)
        along = along.changed(modes.function(bulk_share, share, along_gradient))
        along = along.changed(modes.function(0.0, turned, along_moved), -1.0)
        moved = bulk_rest * slope + bulk_share * gradient + modes.expanded(along)
        moved = jnp.where(place.level == 0, slope, moved)
        return origin - self.step * moved, _State(origin, slope, base, place)

    def time(self, state: _State, step) -> Float[Array, ""]:
        length = jnp.asarray(_LENGTHS)[state.place.level]
        share = jnp.asarray([0, 1 / 3, 2 / 3, 1])[state.place.stage]
        return state.place.steps + jnp.where(state.place.level == 0, state.place.stage, share * length)


def _sums(steps, stiffness):
    """Return the sums of powers of one minus the stiffness, constant and linear weights."""
    factor = 1.0 - stiffness
    # The power of a negative number to a whole one.
    power = jnp.abs(factor) ** steps * jnp.where((factor < 0) & (steps % 2 == 1), -1.0, 1.0)
    zeroth = (1.0 - power) / stiffness
    return zeroth, (steps - zeroth) / stiffness
