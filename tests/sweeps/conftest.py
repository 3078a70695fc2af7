"""Sweeps without processes, where these are not what is tested."""

import pytest

from tutelage.sweeps import Shard
from tutelage.sweeps import engine as module
from tutelage.sweeps.pool import Done


@pytest.fixture
def here(monkeypatch) -> list[Shard]:
    """Compute in this process; the shards that were computed, in their order."""
    computed: list[Shard] = []

    def serial(function, pieces, prepare):
        prepare[0](*prepare[1])
        for shard, arguments in pieces:
            computed.append(shard)
            yield shard, Done(function(*arguments))

    monkeypatch.setattr(module, "_spreading", lambda *_: (serial, "this process"))
    return computed
