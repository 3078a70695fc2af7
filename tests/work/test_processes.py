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

from tutelage.work.engines import Call, Done, Here, Lost, Raised, choose_engine
from tutelage.work.processes import Processes, WorkersFailed, _Waiting

ENGINES = {"this process": Here(), "one process": Processes(1), "two processes": Processes(2)}
engines = pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)


def calls(function, pieces):
    """Pieces by key as an engine takes them; those whose keys begin with one letter are a family."""
    return [Call(key, function, arguments, key[0]) for key, arguments in pieces.items()]


def values(engine, function, pieces, **options):
    """What an engine makes of pieces that are all done."""
    return [(key, ending.value) for key, ending in engine.compute(calls(function, pieces), **options)]


@engines
def test_every_piece_is_done_once(engine):
    """All results come, each under the key of its piece, and every piece is begun once, whatever belongs together."""
    begun, pieces = [], {f"{name}{n}": (n, 2) for n in range(4) for name in "abc"}
    results = values(engine, math.pow, pieces, begin=begun.append)
    assert sorted(results) == sorted((name, math.pow(*arguments)) for name, arguments in pieces.items())
    assert sorted(begun) == sorted(pieces)


def test_a_worker_goes_on_with_its_family():
    """First its own family, then one that nobody works on, then the one with most left; a piece put back is next."""
    keys = ("a1", "b1", "b2", "a2", "c1", "b3", "a3", "b4")
    waiting = _Waiting(calls(len, dict.fromkeys(keys, ())))

    def take(own, *others):
        return waiting.take(own, others).key

    assert [take(None), take(None, "a"), take("a", "b")] == ["a1", "b1", "a2"]
    assert [take("a", "b"), take("a", "b"), take("c", "b"), take("c", "b")] == ["a3", "c1", "b2", "b3"]
    waiting.put_back(Call("a2", len, (), "a"))
    assert waiting and [take("c", "b"), take("a", "b")] == ["a2", "b4"] and not waiting


@engines
def test_nothing_to_do(engine):
    """No pieces, no processes."""
    assert list(engine.compute([])) == []


def test_engines_by_their_options():
    """One process per core unless told otherwise."""
    assert choose_engine(3).name == "3 processes" and choose_engine(1).name == "1 process"
    assert choose_engine().workers >= 1 and Here().name == "this process"


def test_workers_are_other_processes_with_one_device():
    """A worker is a process of its own, and JAX will see one device in it."""
    seen = dict(values(Processes(2), os.getenv, {"a": ("JAX_NUM_CPU_DEVICES",), "b": ("JAX_NUM_CPU_DEVICES",)}))
    assert seen == {"a": "1", "b": "1"}


def test_an_interruption_never_reaches_a_worker(tmp_path):
    """Ctrl-C is blocked in a worker from its very first instruction, also in the one started first."""
    script = tmp_path / "script.py"
    script.write_text(
        "from tutelage.work.engines import Call\nfrom tutelage.work.processes import Processes\n"
        "from dying import blocks_interruptions\n"
        "BLOCKED = blocks_interruptions()\n"  # a worker loads the script before it does anything else
        "def blocked():\n    return BLOCKED\n"
        "if __name__ == '__main__':\n"
        "    calls = [Call(key, blocked, ()) for key in 'ab']\n"
        "    print(blocked(), sorted((key, one.value) for key, one in Processes(2).compute(calls)))\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.path.dirname(dying.__file__)}
    result = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, env=environment, check=True)
    assert result.stdout.strip() == "False [('a', True), ('b', True)]"


@engines
def test_a_piece_that_raises(engine):
    """An error is what came of that piece, and of no other."""
    found = dict(engine.compute(calls(math.sqrt, {"good": (1.0,), "bad": (-1.0,)})))
    assert found["good"] == Done(1.0) and found["bad"] == Raised("ValueError: math domain error")


class Unloadable:
    """Can be sent to a worker, which cannot make it again."""

    def __reduce__(self):
        return math.sqrt, (-1.0,)


def test_a_piece_that_cannot_be_loaded():
    """Arguments that a worker cannot load are an error of their piece, not the death of the worker."""
    found = dict(Processes(1).compute(calls(len, {"a": (Unloadable(),), "b": ("b",)})))
    assert found == {"a": Raised("ValueError: math domain error"), "b": Done(1)}


def test_a_killed_worker_is_replaced(tmp_path):
    """A piece whose worker is killed is begun again, and the others are done once."""
    pieces = {f"piece {n}": (str(tmp_path / str(n)), n, n in (1, 3)) for n in range(5)}
    assert sorted(values(Processes(2), die_once, pieces)) == [(f"piece {n}", n) for n in range(5)]


def test_a_piece_that_always_kills_is_lost():
    """After three deaths the piece is given up, and what came of it says how its worker ended."""
    found = dict(Processes(2).compute(calls(os._exit, {"one": (7,), "other": (7,)})))
    assert found == dict.fromkeys(("one", "other"), Lost("its worker was killed 3 times, exit code 7"))


def test_workers_live_on():
    """What a worker has loaded is there for the next piece: there are no more processes than workers."""
    seen = {value for _, value in values(Processes(2), run_id, {str(n): () for n in range(8)})}
    assert 1 <= len(seen) <= 2 and os.getpid() not in seen


def test_workers_that_cannot_start():
    """An error while workers are prepared is raised once, in its own words."""
    with pytest.raises(WorkersFailed, match="ValueError: math domain error"):
        list(Processes(1).compute(calls(math.sqrt, {"a": (1.0,)}), prepare=(math.sqrt, (-1.0,))))
    with pytest.raises(WorkersFailed, match="exit code 3"):
        list(Processes(1).compute(calls(math.sqrt, {"a": (1.0,)}), prepare=(os._exit, (3,))))


def test_workers_end_when_nobody_listens(tmp_path):
    """Closing the iterator kills workers in the middle of their pieces."""
    pieces = {str(n): (str(tmp_path / str(n)), 0.0 if n == 0 else 600.0) for n in range(3)}
    with contextlib.closing(Processes(2).compute(calls(sleep_and_tell, pieces))) as endings:
        assert next(endings)[0] == "0"
        while len(list(tmp_path.glob("[0-9]"))) < 2:
            time.sleep(0.01)
    # What is being written has another name.
    for path in tmp_path.glob("[0-9]"):
        with pytest.raises(ProcessLookupError):
            os.kill(int(path.read_text()), 0)
