"""Counting what XLA compiles."""

import contextlib
from collections.abc import Iterator

import jax

_EVENT = "/jax/core/compile/backend_compile_duration"
_compiled: list[str] = []


def _listen(event: str, seconds: float, **details) -> None:
    if event == _EVENT:
        _compiled.append(str(details.get("fun_name")))


jax.monitoring.register_event_duration_secs_listener(_listen)


@contextlib.contextmanager
def compilations() -> Iterator[list[str]]:
    """A list that grows by the name of every program that is compiled in the meantime."""
    begin, names = len(_compiled), []
    yield names
    names.extend(_compiled[begin:])
