"""When to end a run."""

from collections.abc import Callable
from functools import partial
from typing import Any

import equinox as eqx
from jaxtyping import Array, Float

from tutelage.arrays import of_jax
from tutelage.checks import count, finite_number, one_of, positive
from tutelage.errors import invalid
from tutelage.modules import Module

DEFAULT_STEPS = 100_000


def _optional(check: Callable, argument: str, kind: Callable) -> Callable[[Any], Any]:
    """Return what checks a condition that may be left out, and makes it a value of one kind."""
    return lambda value: None if value is None else kind(check(argument, value))


class Stop(Module):
    """Conditions that end a run, whichever comes first. Combine them with `|`.

    Attributes:
        gradient: End as `converged` where the gradient's norm is at most this.
        loss: End as `converged` where the loss is at most this.
        change: End as `converged` after a step that moved the student by at most this.
        steps: End as `step_limit` after so many steps; 100,000 if no condition says otherwise.
        seconds: End as `time_limit` after so much wall time of the whole batch.
    """

    gradient: Float[Array, ""] | None = eqx.field(default=None, converter=_optional(positive, "gradient", of_jax))
    loss: Float[Array, ""] | None = eqx.field(default=None, converter=_optional(finite_number, "loss", of_jax))
    change: Float[Array, ""] | None = eqx.field(default=None, converter=_optional(positive, "change", of_jax))
    steps: int | None = eqx.field(default=None, converter=_optional(partial(count, least=0), "steps", int))
    seconds: float | None = eqx.field(default=None, converter=_optional(positive, "seconds", float))

    def __or__(self, other: "Stop") -> "Stop":
        if not isinstance(other, Stop):
            return NotImplemented
        names = ("gradient", "loss", "change", "steps", "seconds")
        both = [name for name in names if getattr(self, name) is not None and getattr(other, name) is not None]
        if both:
            raise invalid("stop", "name each condition once", f"two conditions on {both[0]}", "Keep one of them")
        merged = {
            name: getattr(self, name) if getattr(self, name) is not None else getattr(other, name) for name in names
        }
        return Stop(**merged)

    def compiled(self) -> "Stop":
        """Return the conditions that a compiled program checks; the limits do not compile another one."""
        return Stop(self.gradient, self.loss, self.change)

    def describe(self, condition: str) -> str:
        """Return a condition in words."""
        one_of("condition", condition, ("gradient", "loss", "change"))
        return {
            "gradient": f"gradient norm at most {float(self.gradient or 0):g}",
            "loss": f"loss at most {float(self.loss or 0):g}",
            "change": f"change at most {float(self.change or 0):g}",
        }[condition]


def gradient_norm(tolerance: float) -> Stop:
    """End a run where the norm of the gradient is at most `tolerance`."""
    return Stop(gradient=positive("tolerance", tolerance))


def loss_below(value: float) -> Stop:
    """End a run where the loss is at most `value`."""
    return Stop(loss=finite_number("value", value))


def parameter_change(tolerance: float) -> Stop:
    """End a run after a step that moved the student by at most `tolerance`."""
    return Stop(change=positive("tolerance", tolerance))


def step_limit(steps: int) -> Stop:
    """End a run after `steps` steps."""
    return Stop(steps=count("steps", steps, least=0))


def wall_time(seconds: float) -> Stop:
    """End all runs after `seconds` of wall time; what they had reached is kept."""
    return Stop(seconds=positive("seconds", seconds))
