"""Runs all tests in two passes side by side, as `make test` does: `python tests/passes.py WORKERS [options of pytest]`.

Most tests compile more than they run, and are given programs that compile in half the time. Those marked as optimized
get the programs that users get; they run in one process beside the workers of the others, which often wait, for a page
or for a process that they have started, and give way to them where there is no core to spare. What this pass says is
shown when the other one has ended.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from typing import IO

# One process per core: threads inside of it would only fight over the same cores.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
ONE_XLA_THREAD = "--xla_cpu_multi_thread_eigen=false"
QUICK_XLA = "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false"
# How far the second pass gives way: it has a third of the weight of the others, and what they leave. With less it would
# hardly move on a machine that others keep busy.
NICENESS = 5
# Pytest's exit codes: all passed; no test was selected, as may be where arguments select some.
FINE = (0, 5)


def started(marked: str, workers: str, flags: str, arguments: Sequence[str], output: IO | None = None):
    """Start the tests that are marked so, in as many processes."""
    flags = " ".join((os.environ.get("XLA_FLAGS", ""), ONE_XLA_THREAD, flags))
    return subprocess.Popen(
        [sys.executable, "-m", "pytest", "-n", workers, "--dist", "worksteal", "-m", marked, *arguments],
        env=os.environ | ONE_THREAD | {"XLA_FLAGS": flags},
        stdout=output,
        stderr=subprocess.STDOUT if output else None,
        preexec_fn=(lambda: os.nice(NICENESS)) if output else None,
    )


def ended(passes: Sequence[subprocess.Popen]) -> list[int]:
    """Wait for passes, and return their exit codes; Ctrl-C reaches them too, and they say where they were."""
    try:
        return [one.wait() for one in passes]
    except KeyboardInterrupt:
        return [one.wait() for one in passes]


def main(workers: str, *arguments: str) -> int:
    """Run both passes, and return an exit code."""
    with tempfile.TemporaryFile() as said:
        most = started("not optimized", workers, QUICK_XLA, arguments)
        if workers == "1":
            ended([most])
        codes = ended([most, started("optimized", "0", "", arguments, said)])
        said.seek(0)
        shutil.copyfileobj(said, sys.stdout.buffer)
    return max((code for code in codes if code not in FINE), default=0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
