"""Ways to compare what was published with what was measured."""

from __future__ import annotations

import numpy as np

from tutelage.studies.base import Expectation


def within(what: str, published: float, measured: float, tolerance: float) -> Expectation:
    """A published number, met up to a tolerance."""
    return Expectation(what, published, measured, tolerance, bool(abs(measured - published) <= tolerance))


def at_least(what: str, published: float, measured: float, tolerance: float = 0.0) -> Expectation:
    """A published lower bound, which sampling may miss by a tolerance."""
    return Expectation(what, f"≥ {published:g}", measured, tolerance, bool(measured >= published - tolerance))


def at_most(what: str, published: float, measured: float, tolerance: float = 0.0) -> Expectation:
    """A published upper bound, which sampling may miss by a tolerance."""
    return Expectation(what, f"≤ {published:g}", measured, tolerance, bool(measured <= published + tolerance))


def described(
    what: str, published: str, measured: float | str, ok: bool | np.bool_, tolerance: str | None = None
) -> Expectation:
    """A behaviour described in words, with the check of it made by the caller."""
    return Expectation(what, published, measured, tolerance, bool(ok))
