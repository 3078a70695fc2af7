r"""Runs of Algorithm 1 in a few numbers, whatever the size of the filter and the number of patches.

The filter stays in the plane of its start and $w^*$. Of the output weights, what moves the filter and the sums is the
signal $a\cdot a^*$ and the sum $\mathbf 1\cdot a$, which obey a recursion of their own; so does $\|a - a^*\|^2$. Teachers enter by
$k$, $\|a^*\|$ and $\mathbf 1\cdot a^*$, with $\|w^*\| = 1$: otherwise $\|w^*\|a^*$ takes the place of $a^*$. Many runs are followed at
once, in NumPy.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tutelage.claims.convolutional_filter.formulas import dot, norm, total
from tutelage.claims.convolutional_filter.instances import sums_step
from tutelage.claims.laws import Law, Space, choice, integers, log_uniform, uniform

# A run in NumPy: angle, signal and sum at every step, the start among them; then the length of the filter.
RUN = """def run(phi, signal, total, length, mean=1.0):
    size = 1.0
    for _ in range(length + 1):
        yield phi, signal, total, size
        g = (np.pi - phi) * np.cos(phi) + np.sin(phi)
        push = step * signal * (np.pi - phi) * np.sin(phi) / (2 * np.pi * size)
        phi, size = np.abs(phi - np.arctan(push / size)), np.sqrt(size**2 + push**2)
        shrink, gap = 1 - step * (np.pi - mean) / (2 * np.pi), step * mean * (sums - total) / (2 * np.pi)
        signal = shrink * signal + step * (g - mean) * square / (2 * np.pi) + gap * sums
        total = shrink * total + step * (g - mean) * sums / (2 * np.pi) + gap * k
"""
# The numbers of a student and a teacher that are given as vectors, |v| = 1.
NUMBERS = """scale = np.linalg.norm(w_star)
k, square, sums = len(a), scale**2 * a_star @ a_star, scale * a_star.sum()
phi, signal, total = np.arccos(v @ w_star / scale), scale * a @ a_star, a.sum()
"""


# Runs are asked now and then whether they rest: whether a step moves angle and signal by less than this times its size.
_PIECE, _RESTS = 200, 1e-9


@dataclass(frozen=True)
class State:
    """Students on their way, and their teachers, each number an array.

    Attributes:
        phi: The angle between the filters.
        signal: The signal a·a*.
        total: The sum 1·a.
        k: The number of patches.
        square: The teacher's |a*|².
        sums: The teacher's 1·a*.
        step: The step.
        size: The length of the filter.
        distance: The squared distance of the output weights from the teacher's, where it is wanted.
        mean: 2π times the square of the mean of a neuron, over that of its square: one for Gaussian inputs.
    """

    phi: Any
    signal: Any
    total: Any
    k: Any
    square: Any
    sums: Any
    step: Any
    size: Any = 1.0
    distance: Any = None
    mean: Any = 1.0

    @property
    def value(self):
        r"""$g(\phi)$."""
        return (np.pi - self.phi) * np.cos(self.phi) + np.sin(self.phi)

    @property
    def rate(self):
        r"""$\lambda$ of Lemma 4.5."""
        return self.signal * (np.pi - self.phi) / (2 * np.pi * self.size**2)

    @property
    def bound(self):
        """The bound of Lemma C.2 on the signal."""
        return self.square + self.sums**2

    @property
    def beta(self):
        r"""The initial signal $\beta^0$, at the start."""
        return np.minimum(self.signal, (self.value - 1) * self.square)

    @property
    def loss(self):
        """Theorem 2.1, from the distance."""
        outputs = (np.pi - 1) * self.distance + (self.total - self.sums) ** 2
        return (outputs + 2 * (np.pi - self.value) * self.signal) / (4 * np.pi)

    def stepped(self) -> "State":
        """Return the state after one step."""
        return self.after(1)

    def run(self, length: int) -> Iterator["State"]:
        """Yield the states of a run, the start among them."""
        yield self
        # What no step changes is computed once: runs are most of the time that judging this paper takes. Signal and sum
        # obey one recursion: a − a* shrinks, moves by `gap` along the ones and by `pull` along a*.
        rest = self.step / (2 * np.pi)
        shrink, weight = 1 - rest * (np.pi - self.mean), rest * self.mean
        shape = np.broadcast_shapes(*(np.shape(value) for value in vars(self).values() if value is not None))
        pair, teacher, ones = (
            np.stack([np.broadcast_to(one, shape) for one in both])
            for both in ((self.signal, self.total), (self.square, self.sums), (self.sums, self.k))
        )
        phi, size, distance = self.phi, self.size, self.distance
        for _ in range(length):
            left, sine, squared = np.pi - phi, np.sin(phi), size**2
            push = self.step * (pair[0] * left / (2 * np.pi * squared)) * size * sine
            pull = rest * (left * np.cos(phi) + sine - np.pi)
            gap = weight * (self.sums - pair[1])
            away = pair - teacher
            if distance is not None:
                along = 2 * shrink * (gap * away[1] + pull * away[0]) + 2 * gap * pull * self.sums
                moved = shrink**2 * distance + self.k * gap**2 + pull**2 * self.square + along
                distance = np.maximum(moved, 0.0)
            pair = teacher + shrink * away + gap * ones + pull * teacher
            # A step may pass the teacher's direction.
            phi, size = np.abs(phi - np.arctan(push / size)), np.sqrt(squared + push**2)
            signal, total = pair
            yield State(phi, signal, total, self.k, self.square, self.sums, self.step, size, distance, self.mean)

    def after(self, length: int) -> "State":
        """Return the state after so many steps."""
        *_, last = self.run(length)
        return last

    def ends(self, length: int) -> "State":
        """Return where runs rest, or are after so many steps; those that rest are not followed on."""
        given = {name: value for name, value in vars(self).items() if value is not None}
        arrays = np.broadcast_arrays(*given.values())
        values = {name: np.array(array, dtype=float) for name, array in zip(given, arrays, strict=True)}
        left, state = np.arange(arrays[0].size), State(**values)
        for first in range(0, length, _PIECE):
            before = state.after(min(_PIECE, length - first) - 1)
            state = before.stepped()
            for name, kept in values.items():
                kept[left] = getattr(state, name)
            moved = np.abs(state.phi - before.phi) + np.abs(state.signal - before.signal) / state.square
            still = ~(moved < _RESTS * state.step)
            left, state = left[still], State(**{name: getattr(state, name)[still] for name in values})
            if not len(left):
                break
        return State(**values)


def state_of(v, a, w_star, a_star, step, mean=1.0) -> State:
    """Return the state of students and teachers given as vectors, those of a batch or one."""
    scale = norm(w_star)
    teacher = scale[..., None] * a_star
    unit = w_star / scale[..., None]
    along = dot(v, unit)
    across = norm(v - along[..., None] * unit)
    gap = a - teacher
    return State(
        np.arctan2(across, along),
        dot(a, teacher),
        total(a),
        float(a.shape[-1]),
        dot(teacher, teacher),
        total(teacher),
        step,
        norm(v),
        dot(gap, gap),
        mean,
    )


START_OF_RUN = "Theorem 3.1's conditions, $\\|w^*\\| = \\|v^0\\| = 1$, $k \\le 50$"

# Starts that satisfy Theorem 3.1's conditions, in these numbers ----------------------------------------------------------

_DRAWN: dict[str, Law] = {
    "phi": uniform(0.0, np.pi / 2),
    "length": log_uniform(0.03, 30.0),
    "strength": log_uniform(1e-6, 1e3),
    "share": uniform(0.0, 1.0),
}
# One patch, where the signal is the sum times the teacher's; and more, where neither tells the other.
STARTS = [
    {**_DRAWN, "k": choice((1.0,))},
    {**_DRAWN, "k": integers(2, 50), "lean": uniform(0.0, 0.99), "part": uniform(-1.0, 1.0)},
]


def begun(phi, length, strength, k, lean=1.0, part=None, largest=np.inf) -> State:
    r"""A start with $a^0\cdot a^* > 0$, $|\mathbf 1\cdot a^0| \le |\mathbf 1\cdot a^*|$, $\phi^0 < \pi/2$, $\|w^*\| = \|v^0\| = 1$.

    Args:
        phi: The angle.
        length: The teacher's norm |a*|.
        strength: The signal over the bound of Lemma C.2.
        k: The number of patches.
        lean: The teacher's cosine with the ones; below one, so that every signal and sum is that of some output weights.
        part: The sum over the teacher's; of one patch it follows from the signal.
        largest: The largest strength.
    """
    sums, bound = lean * np.sqrt(k) * length, length**2 * (1 + lean**2 * k)
    if part is None:
        signal = np.minimum(strength, 1.0) * np.minimum(largest * bound, length**2)
        return State(phi, signal, signal / sums, k, length**2, sums, 0.0)
    return State(phi, np.minimum(strength, largest) * bound, part * sums, k, length**2, sums, 0.0)


def sampled(draw, count, random):
    """Instances of laws, their boundaries among them."""
    space = Space(draw)
    return space.values(np, space.sample(random, count))


def largest_step(state: State):
    """The step of Lemma C.3, its constants as printed, with β⁰ for β*."""
    small = np.minimum(state.beta / 8, 1.0) * np.cos(state.phi) / state.bound
    return np.minimum(small, sums_step(state.k))


_NUMBERS = ("phi", "signal", "total", "k", "square", "sums", "step")


def shown(state: State) -> dict[str, Any]:
    """The numbers of a start, by name."""
    return dict(zip(_NUMBERS, np.broadcast_arrays(*(getattr(state, name) for name in _NUMBERS)), strict=True))


def followed_from(instance: dict[str, Any]) -> State:
    """The start with these numbers."""
    return State(**{name: instance[name] for name in _NUMBERS}, distance=instance.get("distance"))
