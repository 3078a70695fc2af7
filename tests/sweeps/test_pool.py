"""Pieces of work in processes."""

import contextlib
import math
import os
import subprocess
import sys
import time

import dying
import pytest
from dying import die_once, run_id, sleep_and_tell

from tutelage.sweeps import PieceFailed, in_processes
from tutelage.sweeps.pool import WorkersFailed, _Waiting, spread


def test_every_piece_is_done_once():
    """All results come, each under the name of its piece, whatever the number of processes."""
    pieces = {f"piece {n}": (n, 2) for n in range(5)}
    expected = {name: math.pow(*arguments) for name, arguments in pieces.items()}
    assert dict(in_processes(math.pow, pieces, workers=1)) == expected
    results = list(in_processes(math.pow, pieces, workers=2))
    assert len(results) == 5 and dict(results) == expected


def test_a_worker_goes_on_with_its_family():
    """First its own family, then one that nobody works on, then the one with most left; a piece put back is next."""
    keys = ("a1", "b1", "b2", "a2", "c1", "b3", "a3", "b4")
    waiting = _Waiting([(key, (), 1) for key in keys], family=lambda key: key[0])

    def take(own, *others):
        return waiting.take(own, others)[0]

    assert [take(None), take(None, "a"), take("a", "b")] == ["a1", "b1", "a2"]
    assert [take("a", "b"), take("a", "b"), take("c", "b"), take("c", "b")] == ["a3", "c1", "b2", "b3"]
    waiting.put_back(("a2", (), 2))
    assert len(waiting) == 2 and [take("c", "b"), take("a", "b")] == ["a2", "b4"] and not waiting


@pytest.mark.parametrize("workers", [1, 2])
def test_families_lose_nothing(workers):
    """Every piece is begun and done once, whatever belongs together."""
    begun, pieces = [], {f"{name}{n}": (n, 2) for n in range(4) for name in "abc"}
    results = list(in_processes(math.pow, pieces, workers, family=lambda name: name[0], begin=begun.append))
    assert sorted(results) == sorted((name, math.pow(*arguments)) for name, arguments in pieces.items())
    assert sorted(begun) == sorted(pieces)


def test_nothing_to_do():
    """No pieces, no processes."""
    assert list(in_processes(math.pow, {}, workers=2)) == []


def test_workers_are_other_processes_with_one_device():
    """A worker is a process of its own, and JAX will see one device in it."""
    seen = dict(in_processes(os.getenv, {"a": ("JAX_NUM_CPU_DEVICES",), "b": ("JAX_NUM_CPU_DEVICES",)}, workers=2))
    assert seen == {"a": "1", "b": "1"}


def test_an_interruption_never_reaches_a_worker(tmp_path):
    """Ctrl-C is blocked in a worker from its very first instruction, also in the one started first."""
    script = tmp_path / "script.py"
    script.write_text(
        "from tutelage.sweeps import in_processes\n"
        "from dying import blocks_interruptions\n"
        "BLOCKED = blocks_interruptions()\n"  # a worker loads the script before it does anything else
        "def blocked():\n    return BLOCKED\n"
        "if __name__ == '__main__':\n"
        "    print(blocked(), sorted(in_processes(blocked, {'a': (), 'b': ()}, workers=2)))\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.path.dirname(dying.__file__)}
    result = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, env=environment, check=True)
    assert result.stdout.strip() == "False [('a', True), ('b', True)]"


@pytest.mark.parametrize("workers", [1, 2])
def test_a_failing_piece_is_named(workers):
    """An error says which piece failed, and why."""
    with pytest.raises(PieceFailed, match=r"bad: ValueError"):
        list(in_processes(math.sqrt, {"good": (1.0,), "bad": (-1.0,)}, workers=workers))


def test_a_killed_worker_is_replaced(tmp_path):
    """A piece whose worker is killed is begun again, and the others are done once."""
    pieces = {f"piece {n}": (str(tmp_path / str(n)), n, n in (1, 3)) for n in range(5)}
    results = list(in_processes(die_once, pieces, workers=2))
    assert sorted(results) == [(f"piece {n}", n) for n in range(5)]


def test_a_piece_that_always_kills_is_named():
    """After three deaths the piece is given up, and the error says how its worker ended."""
    with pytest.raises(PieceFailed, match=r"^(one|other): its worker was killed 3 times, exit code 7"):
        list(in_processes(os._exit, {"one": (7,), "other": (7,)}, workers=2))


def test_workers_live_on():
    """What a worker has loaded is there for the next piece: there are no more processes than workers."""
    seen = {value for _, value in in_processes(run_id, {str(n): () for n in range(8)}, workers=2)}
    assert 1 <= len(seen) <= 2 and os.getpid() not in seen


def test_workers_that_cannot_start():
    """An error while workers are prepared is raised once, in its own words."""
    with pytest.raises(WorkersFailed, match="ValueError: math domain error"):
        list(spread(math.sqrt, [("a", (1.0,))], 1, prepare=(math.sqrt, (-1.0,))))
    with pytest.raises(WorkersFailed, match="exit code 3"):
        list(spread(math.sqrt, [("a", (1.0,))], 1, prepare=(os._exit, (3,))))


def test_workers_end_when_nobody_listens(tmp_path):
    """Closing the iterator kills workers in the middle of their pieces."""
    pieces = [(n, (str(tmp_path / str(n)), 0.0 if n == 0 else 600.0)) for n in range(3)]
    with contextlib.closing(spread(sleep_and_tell, pieces, 2)) as outcomes:
        assert next(outcomes)[0] == 0
        while len(list(tmp_path.glob("[0-9]"))) < 2:
            time.sleep(0.01)
    # What is being written has another name.
    for path in tmp_path.glob("[0-9]"):
        with pytest.raises(ProcessLookupError):
            os.kill(int(path.read_text()), 0)
