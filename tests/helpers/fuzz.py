"""Senseless calls of the public interface, made from right ones: each must end in a clear refusal or a sensible result.

A call is the one of `right_calls` with one or two arguments replaced by values of wrong shapes, types and sizes. Its
number alone decides which. What counts as a defect: any exception that is not tutelage's own, a message that is not one
clear line about a named argument, a result that is not finite (where the documentation does not say so), a call that
takes longer than a few seconds, and one that ends the process.

    python tests/helpers/fuzz.py --calls 10000            everything
    python tests/helpers/fuzz.py --only geometry.          names that begin with this
    python tests/helpers/fuzz.py --number 1234             one call, with its traceback
"""

from __future__ import annotations

import argparse
import dataclasses
import inspect
import json
import re
import resource
import select
import signal
import subprocess
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from right_calls import Call, right_calls, world

import tutelage as tl

_SECONDS = 20
_MEMORY = 6 << 30


def _ragged() -> Any:
    return [[1.0, 2.0], [3.0]]


def _generator() -> Any:
    return (number for number in (1.0, 2.0))


# Of arrays: what an honest mistake makes of the right one.
OF_ARRAYS: dict[str, Callable[[np.ndarray], Any]] = {
    "float32": lambda right: right.astype(np.float32),
    "whole numbers": lambda right: np.ceil(right).astype(int),
    "truth values": lambda right: right > 0,
    "complex": lambda right: right + 1j,
    "as objects": lambda right: right.astype(object),
    "as text": lambda right: right.astype(str),
    "a list": lambda right: right.tolist(),
    "a tuple": lambda right: tuple(right.tolist()) if right.ndim else right,
    "of JAX": lambda right: jnp.asarray(right),
    "NaN inside": lambda right: np.where(np.arange(right.size).reshape(right.shape) == 0, np.nan, right),
    "NaN inside, of JAX": lambda right: jnp.where(jnp.arange(right.size).reshape(right.shape) == 0, jnp.nan, right),
    "infinity inside": lambda right: np.where(np.arange(right.size).reshape(right.shape) == 0, np.inf, right),
    "masked": lambda right: np.ma.masked_less_equal(right, right.max()),
    "an axis more": lambda right: right[None],
    "an axis more at the end": lambda right: right[..., None],
    "an axis less": lambda right: right[0] if right.ndim else right,
    "shortened": lambda right: right[..., :-1] if right.ndim else right,
    "lengthened": lambda right: np.concatenate([right, right], axis=-1) if right.ndim else right,
    "transposed": lambda right: right.T,
    "empty": lambda right: right[:0] if right.ndim else right,
    "huge": lambda right: 1e300 * right,
    "tiny": lambda right: 1e-300 * right,
    "zero": lambda right: 0.0 * right,
    "negative": lambda right: -right,
}

VALUES: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "True": lambda: True,
    "False": lambda: False,
    "0": lambda: 0,
    "1": lambda: 1,
    "-1": lambda: -1,
    "2.5": lambda: 2.5,
    "-0.5": lambda: -0.5,
    "1e300": lambda: 1e300,
    "1e-300": lambda: 1e-300,
    "-1e300": lambda: -1e300,
    "1e25": lambda: 1e25,
    "2**63": lambda: 2**63,
    "10**30": lambda: 10**30,
    "10**400": lambda: 10**400,
    "-2**63": lambda: -(2**63),
    "10**13": lambda: 10**13,
    "2**62": lambda: 2**62,
    "nan": lambda: float("nan"),
    "inf": lambda: float("inf"),
    "-inf": lambda: float("-inf"),
    "1j": lambda: 1j,
    "a fraction": lambda: Fraction(1, 3),
    "np.float32(0.5)": lambda: np.float32(0.5),
    "np.int8(2)": lambda: np.int8(2),
    "jnp 0.5": lambda: jnp.asarray(0.5),
    "jnp nan": lambda: jnp.asarray(jnp.nan),
    "np.array([0.5])": lambda: np.array([0.5]),
    "text": lambda: "senseless",
    "digits": lambda: "3",
    "bytes": lambda: b"relu",
    "empty text": lambda: "",
    "a date": lambda: np.datetime64("2026-01-01"),
    "an object": object,
    "a type": lambda: int,
    "a function": lambda: lambda *_: None,
    "a function that fails": lambda: lambda *_: 1 / 0,
    "a set": lambda: {1, 2},
    "a dict": lambda: {"a": 1},
    "a generator": _generator,
    "an empty list": list,
    "an empty array": lambda: np.zeros((0, 3)),
    "a ragged list": _ragged,
    "a list of text": lambda: ["a", "b"],
    "a list of None": lambda: [None, None],
    "a vector": lambda: np.ones(3),
    "a matrix": lambda: np.ones((3, 3)),
    "a long vector": lambda: np.ones(7),
    "masked": lambda: np.ma.masked_array(np.ones(3), mask=[True, False, False]),
    "NaN": lambda: np.full((3, 3), np.nan),
    "objects": lambda: np.array([object()] * 3),
    "five axes": lambda: np.ones((1, 1, 1, 3, 3)),
    "a problem": lambda: world().problem,
    "an objective": lambda: world().objective,
    "an objective of a filter": lambda: world().convolution_objective,
    "a stream": lambda: tl.stream(world().problem, 2),
    "a law": lambda: tl.inputs.sphere(2),
    "an activation": tl.activations.Tanh,
    "runs": lambda: world().runs,
    "a key": lambda: jax.random.key(3),
    "several keys": lambda: jax.random.split(jax.random.key(3), 2),
}
# How large an argument may be that says how long to go on is the user's affair.
_LARGE = ("10**13", "2**62", "1e25", "1e300")
_RAISING = ("a type", "a function that fails", "an activation")


@dataclasses.dataclass(frozen=True)
class Case:
    """One senseless call: which call, and what stands in for which argument."""

    number: int
    call: Call
    changes: tuple[tuple[str, str], ...]  # argument and the name of its value

    def __str__(self) -> str:
        return f"{self.number}: {self.call.name}({', '.join(f'{name}={value}' for name, value in self.changes)})"

    def values(self) -> dict[str, Any]:
        """Return the values that stand in for arguments."""
        return {name: self._value(name, value) for name, value in self.changes}

    def _value(self, argument: str, value: str) -> Any:
        if value.startswith("right, "):
            return OF_ARRAYS[value.removeprefix("right, ")](_as_array(self.call.arguments[argument]))
        return VALUES[value]()


def _as_array(right: Any) -> np.ndarray:
    return np.asarray(right, dtype=float)


def _has_array(call: Call, argument: str) -> bool:
    right = call.arguments.get(argument)
    return isinstance(right, (np.ndarray, list)) and np.asarray(right).dtype.kind == "f"


def case(number: int, calls: Sequence[Call]) -> Case:
    """Return the senseless call of a number."""
    random = np.random.default_rng([2026, number])
    # By parameters, so that all are tried alike.
    weights = np.array([len(call.parameters) for call in calls], float)
    call = calls[random.choice(len(calls), p=weights / weights.sum())]
    names = [parameter.name for parameter in call.parameters]
    chosen = random.choice(len(names), size=min(len(names), 2 if random.random() < 0.2 else 1), replace=False)
    changes = []
    for index in sorted(chosen.tolist()):
        name = names[index]
        values = [value for value in VALUES if not (name in call.endless and value in _LARGE)]
        if name == "progress":  # what a function that only listens raises is the caller's own affair
            values = [value for value in values if value not in _RAISING]
        if _has_array(call, name) and random.random() < 0.5:
            values = [f"right, {value}" for value in OF_ARRAYS]
        changes.append((name, values[random.integers(len(values))]))
    return Case(number, call, tuple(changes))


def chosen_calls(prefix: str = "") -> list[Call]:
    """Return the right calls whose names begin with a prefix."""
    return [call for name, call in right_calls().items() if name.startswith(prefix) and call.parameters]


class TooLong(Exception):
    """A call that takes too long."""


def defect(case: Case) -> str | None:
    """Make a senseless call and return what is wrong with its end, or `None`."""

    def ring(*_: Any) -> None:
        raise TooLong

    previous = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, _SECONDS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = case.call.made(case.values())
    except TooLong:
        return f"takes longer than {_SECONDS} s"
    except tl.TutelageError as error:
        return _unclear(error)
    except BaseException as error:  # whatever else it is, a user must not see it
        if isinstance(error, KeyboardInterrupt):
            raise
        where = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__} at {where.filename.split('/site-packages/')[-1]}:{where.lineno}: {error}"[:300]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    if not case.call.unbounded and (place := _not_finite(result, "result")):
        # A loss may overflow, as documented, but is a number otherwise.
        overflows = case.call.name.endswith(".loss") and any(value == "right, huge" for _, value in case.changes)
        return None if overflows and place.endswith("= [inf]") else f"not finite: {place}"
    return None


def _unclear(error: tl.TutelageError) -> str | None:
    """Say why a refusal is not one clear line, or return `None`."""
    message = str(error)
    if "\n" in message or len(message) > 800:
        return f"a refusal of {len(message)} characters and {message.count(chr(10)) + 1} lines: {message[:200]}"
    if isinstance(error, tl.InvalidArgument) and not re.match(r"`[^`]+` must .+\.$", message):
        return f"a refusal that names no argument: {message[:200]}"
    return None


def _not_finite(value: Any, place: str, depth: int = 0) -> str:
    """Return where a result holds a number that is not finite; empty if nowhere."""
    if depth > 6:
        return ""
    if isinstance(value, (float, complex, np.ndarray, np.generic, jax.Array)):
        return _not_finite_array(value, place)
    if isinstance(value, dict):
        parts = value.items()
    elif isinstance(value, tuple) and hasattr(value, "_fields"):
        parts = zip(value._fields, value, strict=True)
    elif isinstance(value, (list, tuple)):
        parts = enumerate(value)
    elif _has_fields(value):
        parts = [(name, one) for name, one in vars(value).items() if not name.startswith("_")]
    else:
        return ""
    found = (_not_finite(one, f"{place}.{name}", depth + 1) for name, one in parts)
    return next((where for where in found if where), "")


def _has_fields(value: Any) -> bool:
    ours = type(value).__module__.startswith("tutelage")
    return ours and dataclasses.is_dataclass(value) and not inspect.isclass(value)


def _not_finite_array(value: Any, place: str) -> str:
    if isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
        return ""
    array = np.asarray(value)
    return "" if array.dtype.kind not in "fc" or np.isfinite(array).all() else f"{place} = {array.ravel()[:4]}"


def _limited_memory() -> None:
    """Let what asks for too much memory fail rather than slow down the machine."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    most = pages * resource.getpagesize() + _MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _work(numbers: range, prefix: str) -> None:
    """Make calls one after another, and print the end of each as a line: the parent sees which one was the last."""
    calls = chosen_calls(prefix)
    _limited_memory()
    for number in numbers:
        one = case(number, calls)
        print(json.dumps([str(one)]), flush=True)
        print(json.dumps([str(one), defect(one)]), flush=True)


def _supervise(numbers: range, prefix: str) -> Iterator[tuple[str, str | None]]:
    """Yield every call with its defect, from processes that are made anew where a call ends or blocks them."""
    begin = numbers.start
    while begin < numbers.stop:
        command = [sys.executable, __file__, "--worker", str(begin), str(numbers.stop), "--only", prefix]
        worker = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert worker.stdout is not None
        current, limit = "", 180
        while begin < numbers.stop:
            ready, _, _ = select.select([worker.stdout], [], [], limit)
            line = worker.stdout.readline() if ready else ""
            if not line:
                worker.kill()
                code = worker.wait()
                yield current, f"ended the process ({code})" if ready else "blocks the process"
                begin += 1
                break
            name, *end = json.loads(line)
            current, limit = name, 3 * _SECONDS
            if end:
                yield name, end[0]
                begin += 1
        worker.kill()
        worker.wait()


def main() -> int:
    """Make many calls and list the defects."""
    parser = argparse.ArgumentParser(description="Senseless calls of the public interface.")
    parser.add_argument("--calls", type=int, default=10_000, help="how many")
    parser.add_argument("--first", type=int, default=0, help="number of the first")
    parser.add_argument("--only", default="", help="only names that begin with this")
    parser.add_argument("--number", type=int, help="make one call, and show its end")
    parser.add_argument("--worker", type=int, nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        _work(range(*options.worker), options.only)
        return 0
    if options.number is not None:
        one = case(options.number, chosen_calls(options.only))
        print(one)
        print(one.call.made(one.values()))
        return 0
    defects, names = [], Counter()
    for name, wrong in _supervise(range(options.first, options.first + options.calls), options.only):
        if wrong is not None:
            print(f"{name}\n    {wrong}", flush=True)
            defects.append(name)
            names[name.split(": ", 1)[1].split("(")[0]] += 1
    print(f"{len(defects)} defects in {options.calls} calls", dict(names.most_common()))
    return int(bool(defects))


if __name__ == "__main__":
    sys.exit(main())
