"""Processes to be killed: copies of one that has imported everything already, which is most of the time of a fresh one.

`Forks("cheap_work", …)` starts an interpreter that imports these modules and nothing else; `start` lets it make a copy
of itself that calls `main` of a module, in a session of its own, like a program that somebody has started. Who asks
is the test, whose own process has threads and is better not copied.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HELPERS = Path(__file__).parent


class Forks:
    """An interpreter that has imported some modules, and makes copies of itself; a context.

    Args:
        modules: What it imports.
    """

    def __init__(self, *modules: str):
        self._parent = subprocess.Popen(
            [sys.executable, __file__, *modules],
            env=os.environ | {"PYTHONPATH": os.pathsep.join([str(HELPERS), *filter(None, sys.path)])},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def start(self, module: str, *arguments: str) -> Fork:
        """Call `main` of a module in a new process, where `sys.argv` has these arguments."""
        handle, errors = tempfile.mkstemp(prefix="errors of a fork ")
        os.close(handle)
        return Fork(self, self.ask("start", module, arguments, errors), Path(errors))

    def ask(self, *question: Any) -> Any:
        """Ask something of the interpreter."""
        assert self._parent.stdin is not None and self._parent.stdout is not None
        print(json.dumps(question), file=self._parent.stdin, flush=True)
        return json.loads(self._parent.stdout.readline())

    def __enter__(self) -> Forks:
        return self

    def __exit__(self, *_: object) -> None:
        self._parent.communicate()


class Fork:
    """A process, with the part of `subprocess.Popen` that tests use."""

    def __init__(self, forks: Forks, pid: int, errors: Path):
        self.pid, self.returncode = pid, None
        self._forks, self._errors = forks, errors

    def poll(self) -> int | None:
        if self.returncode is None:
            self.returncode = self._forks.ask("ended", self.pid)
        return self.returncode

    def kill(self) -> None:
        # Until it is asked for its end, it keeps its number.
        if self.returncode is None:
            os.kill(self.pid, signal.SIGKILL)

    def communicate(self, timeout: float = 600.0) -> tuple[None, bytes]:
        """Wait for its end, and return what it has said on standard error in second place."""
        deadline = time.monotonic() + timeout
        while self.poll() is None:
            assert time.monotonic() < deadline, "the process does not end"
            time.sleep(0.002)
        said = self._errors.read_bytes()
        self._errors.unlink()
        return None, said


def _copies() -> tuple[str, list[str]]:
    """Answer questions until there are no more; in a copy, return what it has to do."""
    for line in sys.stdin:
        match json.loads(line):
            case "start", module, arguments, errors:
                if not (answer := os.fork()):
                    os.setsid()
                    for handle, path, mode in ((0, os.devnull, os.O_RDONLY), (2, errors, os.O_WRONLY)):
                        opened = os.open(path, mode)
                        os.dup2(opened, handle)
                        os.close(opened)
                    os.dup2(2, 1)
                    return module, arguments
            case "ended", pid:
                found, status = os.waitpid(pid, os.WNOHANG)
                answer = os.waitstatus_to_exitcode(status) if found else None
        print(json.dumps(answer), flush=True)
    sys.exit()


if __name__ == "__main__":
    for name in sys.argv[1:]:
        importlib.import_module(name)
    module, arguments = _copies()
    sys.argv[1:] = arguments
    sys.modules[module].main()
