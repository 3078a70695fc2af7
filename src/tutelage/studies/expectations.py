"""Ways to compare what was published with what was measured."""

from __future__ import annotations

from typing import Any

import numpy as np

from tutelage.studies.base import Expectation


def within(what: str, published: float, measured: Any, tolerance: float) -> Expectation:
    """A published number, met up to a tolerance."""
    met = abs(measured - published) <= tolerance
    return Expectation(what, float(published), float(measured), float(tolerance), bool(met))


def at_least(what: str, published: float, measured: Any, tolerance: float = 0.0) -> Expectation:
    """A published lower bound, which sampling may miss by a tolerance."""
    met = measured >= published - tolerance
    return Expectation(what, f"≥ {published:g}", float(measured), float(tolerance), bool(met))


def at_most(what: str, published: float, measured: Any, tolerance: float = 0.0) -> Expectation:
    """A published upper bound, which sampling may miss by a tolerance."""
    met = measured <= published + tolerance
    return Expectation(what, f"≤ {published:g}", float(measured), float(tolerance), bool(met))


def described(
    what: str, published: str, measured: Any, ok: bool | np.bool_, tolerance: str | None = None
) -> Expectation:
    """A behaviour described in words, with the check of it made by the caller; measured is a number, or words."""
    return Expectation(what, published, measured if isinstance(measured, str) else float(measured), tolerance, bool(ok))


def below(what: str, published: str, measured: Any, limit: float, tolerance: str | None = None) -> Expectation:
    """A behaviour described in words that shows in a number below a limit, of which `tolerance` may say why."""
    return described(what, published, measured, measured < limit, tolerance or f"below {limit:g}")


def above(what: str, published: str, measured: Any, limit: float, tolerance: str | None = None) -> Expectation:
    """A behaviour described in words that shows in a number above a limit, of which `tolerance` may say why."""
    return described(what, published, measured, measured > limit, tolerance or f"above {limit:g}")
