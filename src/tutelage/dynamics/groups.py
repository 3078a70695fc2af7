"""How methods that replace groups of steps by fewer gradients choose the length of a group.

Level zero is one plain step. A longer group is taken again, longer or shorter, by what is estimated of its difference
from plain steps; where none is accurate enough, some plain steps are made before it is tried again.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

# A run begins with so many plain steps. Where groups are not accurate enough it makes some before it tries again: as
# many as the smaller number at first, and twice as many each time, up to the larger one.
_FIRST_PLAIN, _PLAIN = 128, (8, 512)
# The group that is tried first: the shorter ones gain too little.
_FIRST_LEVEL = 3
# By how much a group may be longer or shorter than the one before, given its error.
_SAFETY, _LEAST_FACTOR, _MOST_FACTOR = 0.85, 0.3, 2.5


class Place(NamedTuple):
    """Where a run stands among its groups of steps."""

    stage: Int[Array, ""]  # stages made of the present group; all of them at its end
    level: Int[Array, ""]
    plain: Int[Array, ""]  # plain steps still to be made before a group is tried
    pause: Int[Array, ""]  # how many there are to be next time
    steps: Int[Array, ""]  # steps of descent made before the present group


def first_place() -> Place:
    """Return where a run begins."""
    zero = jnp.zeros((), int)
    return Place(zero, zero, zero + _FIRST_PLAIN, zero + _PLAIN[0], zero)


def judge(level, error, allowed) -> tuple[Bool[Array, ""], Float[Array, ""]]:
    """Return whether a group with an error of second order is good enough, and by how much to change the next one."""
    ratio = error / jnp.maximum(allowed, 1e-300)
    factor = jnp.clip(_SAFETY * jnp.maximum(ratio, 1e-3) ** -0.5, _LEAST_FACTOR, _MOST_FACTOR)
    return (level == 0) | (ratio <= 1.0), factor


def advanced(place: Place, steps: Int[Array, " level"], begins, ended, accepted, factor) -> Place:
    """Return the place after the next stage: of the present group or, where it has ended, of the next one.

    The next group is the longest that the error allows.

    Args:
        place: The present place.
        steps: How many steps of descent a level replaces.
        begins: Whether a group begins, the first of the run or another one.
        ended: Whether the present group has ended.
        accepted: Whether it is good enough.
        factor: By how much to change its length.
    """
    level, plain, pause = place.level, place.plain, place.pause
    allowed = jnp.sum(steps <= steps[level] * factor) - 1
    allowed = jnp.where(accepted, allowed, jnp.minimum(allowed, level - 1))
    plainly = level == 0
    useless = ~plainly & (allowed < 1)
    first = jnp.where(plain > 1, 0, _FIRST_LEVEL)
    next_pause = jnp.where(useless, jnp.minimum(2 * pause, _PLAIN[1]), pause)
    next_pause = jnp.where(accepted & (level > _FIRST_LEVEL), _PLAIN[0], next_pause)
    next_plain = jnp.where(plainly, plain - 1, jnp.where(useless, pause, 0))
    next_level = jnp.where(plainly, first, jnp.where(useless, 0, allowed))
    return Place(
        stage=jnp.where(begins, 1, place.stage + 1),
        level=jnp.where(ended, next_level, level),
        plain=jnp.where(ended, next_plain, plain),
        pause=jnp.where(ended, next_pause, pause),
        steps=place.steps + jnp.where(ended & accepted, steps[level], 0),
    )
