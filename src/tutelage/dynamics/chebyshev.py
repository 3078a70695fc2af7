r"""Many steps of gradient descent at the price of a few gradients, by stabilised Runge–Kutta–Chebyshev stages.

With $f = -\nabla L$, $n$ steps of gradient descent with step $\eta$ lead from $y_0$ to

$$y_n = y_0 + h f + \tfrac12\Bigl(1 - \tfrac1n\Bigr) h^2 f'f + O(h^3), \qquad h = n\eta.$$

An explicit Runge–Kutta method whose stability polynomial is $P_s(z) = a + b\,T_s(w_0 + w_1z)$, with

$$w_0 = 1 + \frac{2}{13s^2}, \quad w_1 = \Bigl(1 - \tfrac1n\Bigr)\frac{T_s'(w_0)}{T_s''(w_0)}, \quad
b = \frac{T_s''(w_0)}{(1 - 1/n)\,T_s'(w_0)^2}, \quad a = 1 - b\,T_s(w_0),$$

has the same expansion, since $P_s'(0) = 1$ and $P_s''(0) = 1 - 1/n$, and is stable for $h\lambda \le (1 + w_0)/w_1
\approx \tfrac23 s^2$: the number of steps that $s$ gradients replace grows like $s^2$. (With $n \to \infty$ this is the
classical method for flows.) By the Euler–Maclaurin formula descent satisfies

$$y_n - y_0 = \tfrac h2 (f_0 + f_n) - \tfrac\eta2 (f_n - f_0) + O(h^3),$$

and what the stages leave of this equation estimates their error.

Reference: B. P. Sommeijer, L. F. Shampine, J. G. Verwer, RKC: an explicit solver for parabolic PDEs, Journal of
Computational and Applied Mathematics 88, 1998 (stages and their recursion, for flows).
"""

from functools import lru_cache
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PyTree
from numpy.polynomial import chebyshev

from tutelage.arrays import of_jax
from tutelage.checks import positive
from tutelage.dynamics.base import Method, Traits, norm, select
from tutelage.dynamics.groups import Place, advanced, first_place, judge
from tutelage.objectives import Objective

# Numbers of stages. The first is gradient descent itself: one gradient, one step.
_STAGES = (1, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 18, 20, 22, 24, 27, 30)


class _Table(NamedTuple):
    """Coefficients of the stages, by level and stage; a level is a number of stages."""

    stages: np.ndarray  # [level]
    steps: np.ndarray  # [level] how many steps of descent a level replaces
    previous: np.ndarray  # [level, stage] μ
    before: np.ndarray  # [level, stage] ν
    slope: np.ndarray  # [level, stage] μ̃
    first_slope: np.ndarray  # [level, stage] γ̃
    reached: np.ndarray  # [level, stage] how far a stage is on its way, in [0, 1]


@lru_cache
def _table(stiffness: float) -> _Table:
    """Return the coefficients, where the step times the largest curvature is at most `stiffness`."""
    rows = [row for stages in _STAGES if (row := _level(stages, stiffness)) is not None]
    width = max(_STAGES) + 1
    padded = [[np.pad(part, (0, width - len(part))) for part in row[2:]] for row in rows]
    columns = [np.array(column) for column in zip(*padded, strict=True)]
    return _Table(np.array([row[0] for row in rows]), np.array([row[1] for row in rows]), *columns)


def _level(stages: int, stiffness: float):
    """Return the number of steps and the coefficients of a number of stages, or `None` where nothing is gained."""
    if stages == 1:
        one = np.array([0.0, 1.0])
        return 1, 1, np.zeros(2), np.zeros(2), one, np.zeros(2), one
    w0 = 1 + 2 / (13 * stages**2)
    value, first, second = np.array([_derivatives(j, w0) for j in range(stages + 1)]).T
    # (1 + w0)/w1 ≥ n · stiffness, with w1 = (1 − 1/n) T'/T'', is a linear condition on n.
    steps = int((1 + w0) * second[-1] / first[-1] / stiffness + 1)
    if steps <= stages:
        return None
    share = 1 - 1 / steps
    w1 = share * first[-1] / second[-1]
    b = np.empty(stages + 1)
    b[2:] = second[2:] / first[2:] ** 2 / share
    b[:2] = b[2]
    a = 1 - b * value
    previous, before, slope, first_slope = np.zeros((4, stages + 1))
    slope[1] = b[1] * w1
    j = np.arange(2, stages + 1)
    previous[2:] = 2 * b[j] * w0 / b[j - 1]
    before[2:] = -b[j] / b[j - 2]
    slope[2:] = 2 * b[j] * w1 / b[j - 1]
    first_slope[2:] = -a[j - 1] * slope[2:]
    return stages, steps, previous, before, slope, first_slope, b * first * w1


def _derivatives(degree: int, x: float) -> tuple[float, float, float]:
    """Return a Chebyshev polynomial and its first two derivatives."""
    series = np.eye(degree + 1)[degree]
    return tuple(float(chebyshev.chebval(x, chebyshev.chebder(series, order))) for order in range(3))  # type: ignore


class _State(NamedTuple):
    origin: PyTree  # where the present group of steps began
    slope: PyTree  # the gradient there
    previous: PyTree  # the stage before the present one
    place: Place


class ChebyshevDescent(Method):
    r"""Gradient descent with a constant step, many steps at the price of a few gradients.

    Follows the path of `GradientDescent(step)`: groups of $n$ steps are replaced by $s \approx \sqrt{3n}$ gradients
    where the estimated difference between the two is small against the distance, and by plain steps elsewhere. On a
    plateau this saves most of the gradients. A step of the run is one gradient; the run's time counts the steps of
    descent that it stands for.

    Args:
        step: The step of gradient descent; one with which descent is stable.
        tolerance: Largest estimated difference of a group from gradient descent, relative to how far it moves.
        stiffness: Bound on the step times the largest curvature; 2 is where descent becomes unstable.
    """

    step: Float[Array, ""]
    tolerance: Float[Array, ""]
    stiffness: float = eqx.field(static=True)

    def __init__(self, step: float, tolerance: float = 5e-3, stiffness: float = 2.0):
        self.step = of_jax(positive("step", step))
        self.tolerance = of_jax(positive("tolerance", tolerance))
        self.stiffness = positive("stiffness", stiffness)

    @property
    def traits(self) -> Traits:
        return Traits(equivariant=True, steady_step=self.step, keeps_gradients=True)

    def init(self, objective: Objective, point: PyTree) -> _State:
        nothing = jax.tree.map(jnp.zeros_like, point)
        return _State(point, nothing, nothing, first_place())

    def advance(self, objective, point, gradient, state: _State, step, key):
        table = jax.tree.map(jnp.asarray, _table(self.stiffness))
        ended = state.place.stage == table.stages[state.place.level]
        accepted, factor = self._judge(table, point, gradient, state)
        begins = ended | (step == 0)
        renewed = begins & (accepted | (step == 0))
        origin = select(renewed, point, state.origin)
        slope = select(renewed, gradient, state.slope)
        place = advanced(state.place, table.steps, begins, ended, accepted, factor)
        level, stage = place.level, place.stage

        h = self.step * table.steps[level]
        mu, nu = table.previous[level, stage], table.before[level, stage]
        slope_factor, first_factor = h * table.slope[level, stage], h * table.first_slope[level, stage]
        rest = 1 - mu - nu
        # At the first stage of a group the coefficients of all stages but the origin vanish, and so may what they meet.
        moved = jax.tree.map(
            lambda y0, y1, y2, g, g0: (
                rest * y0 + mu * y1 + nu * y2 - slope_factor * jnp.where(begins, g0, g) - first_factor * g0
            ),
            origin,
            point,
            state.previous,
            gradient,
            slope,
        )
        return moved, _State(origin, slope, point, place)

    def _judge(self, table: _Table, point, gradient, state: _State) -> tuple[Bool[Array, ""], Float[Array, ""]]:
        """Return whether a group that has ended is good enough, and by how much to change the next one."""
        h = self.step * table.steps[state.place.level]
        first, last = 0.5 * (h + self.step), 0.5 * (h - self.step)
        error = norm(
            jax.tree.map(
                lambda y0, y1, g0, g1: (y1 - y0) + first * g0 + last * g1, state.origin, point, state.slope, gradient
            ),
        )
        allowed = self.tolerance * norm(jax.tree.map(jnp.subtract, point, state.origin))
        return judge(state.place.level, error, allowed)

    def time(self, state: _State, step) -> Float[Array, ""]:
        table, place = jax.tree.map(jnp.asarray, _table(self.stiffness)), state.place
        return place.steps + table.reached[place.level, place.stage] * table.steps[place.level]
