"""Sweeps without processes, where these are not what is tested."""

import pytest

from tutelage.sweeps import Range, running
from tutelage.work.engines import Here


@pytest.fixture
def here(monkeypatch) -> list[Range]:
    """Compute in this process; the ranges that were computed, in their order."""
    computed: list[Range] = []

    class Listed(Here):
        def compute(self, calls, prepare=None, begin=None):
            for call in calls:
                computed.append(call.arguments[1][1])
            yield from super().compute(calls, prepare, begin)

    monkeypatch.setattr(running, "choose_engine", lambda *_: Listed())
    return computed
