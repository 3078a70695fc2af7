"""Saying that programs are being compiled, where that takes long: XLA is silent, for half a minute at worst."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

# Events of JAX: a program has been translated, so that its compilation begins; and the compilation has ended.
_BEGINS = "/jax/core/compile/jaxpr_to_mlir_module_duration"
_ENDS = "/jax/core/compile/backend_compile_duration"
# Seconds between two looks at the clock, and after which there is something to say.
_EVERY, _PATIENCE = 0.2, 1.0


class Compilations:
    """The compilations that are going on.

    Args:
        say: Called once, from the time on at which one has taken longer than that, until none is left.
        clock: The time in seconds.
    """

    def __init__(self, say: Callable[[], None], clock: Callable[[], float] = time.monotonic):
        self.begun: list[float] = []
        self._say, self._clock = say, clock
        self._said = False

    def heed(self, event: str, duration_secs: float = 0.0, **details: str | int) -> None:
        """Take note of an event of `jax.monitoring`."""
        if event == _BEGINS:
            self.begun.append(self._clock())
        elif event == _ENDS and self.begun:
            self.begun.pop(0)
            self._said = self._said and bool(self.begun)

    def look(self) -> None:
        """Say it if it is time."""
        begun = self.begun[:1]
        if begun and not self._said and self._clock() - begun[0] >= _PATIENCE:
            self._said = True
            self._say()


@contextmanager
def announced(say: Callable[[], None]) -> Iterator[Compilations]:
    """Call a function, from another thread, whenever a compilation takes longer than a second."""
    from jax import monitoring

    compilations, over = Compilations(say), threading.Event()

    def watch() -> None:
        while not over.wait(_EVERY):
            compilations.look()

    watcher = threading.Thread(target=watch, name="compilations", daemon=True)
    monitoring.register_event_duration_secs_listener(compilations.heed)
    watcher.start()
    try:
        yield compilations
    finally:
        over.set()
        watcher.join()
        monitoring.unregister_event_duration_listener(compilations.heed)
