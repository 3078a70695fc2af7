"""Functions for worker processes that end in the middle of their work."""

import os
import signal
import time
from pathlib import Path


def die_once(mark: str, value: int, deadly: bool) -> int:
    """Return a value; the first time, if told so, kill the process instead."""
    if deadly and not Path(mark).exists():
        Path(mark).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return value


def blocks_interruptions() -> bool:
    """Return whether Ctrl-C is kept from this process."""
    return signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def run_id() -> int:
    """Return which process this is, after a moment."""
    time.sleep(0.02)
    return os.getpid()


def sleep_and_tell(path: str, seconds: float) -> None:
    """Write down which process this is, and sleep."""
    temporary = Path(f"{path}.tmp")
    temporary.write_text(str(os.getpid()))
    temporary.rename(path)
    time.sleep(seconds)
