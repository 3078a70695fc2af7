"""From the tables of a cell to objects of the library."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial, reduce
from operator import or_
from pathlib import Path as FilePath
from typing import Any

import jax
import numpy as np

from tutelage import dynamics
from tutelage.errors import MalformedData, TutelageError, invalid, printable
from tutelage.files import digest
from tutelage.inputs import Inputs
from tutelage.objectives import Objective, empirical
from tutelage.problems import Problem
from tutelage.sweeps.specification.arrays import Arrays, file_content
from tutelage.sweeps.specification.cell import Cell
from tutelage.sweeps.specification.families import DataFile
from tutelage.sweeps.specification.fields import Stored, TomlTable
from tutelage.sweeps.specification.issues import Issue, dotted
from tutelage.sweeps.specification.locate import Path
from tutelage.sweeps.specification.procedures import STOP_FUNCTIONS, Parts, solvers

# Large grids must not keep all that they have built.
_MOST_KNOWN = 200


class Unusable(TutelageError):
    """A cell that is well formed and that the library refuses; its arguments are issues, what is wrong and where."""

    def __str__(self) -> str:
        return printable("; ".join(f"{dotted(issue.path)}: {issue.text}" for issue in self.args))


@dataclass(frozen=True)
class Built:
    """What a cell says, as objects of the library.

    Attributes:
        problem: The problem.
        objective: The objective.
        starts: Draws starts: a function of the first run and the number of runs.
        method: The method.
        stop: When runs end; `None` for the library's default.
        record: What is remembered.
        finish: A Newton finish.
        floor: What label noise adds to the loss.
    """

    problem: Problem
    objective: Objective
    starts: Callable[[int, int], Any]
    method: Any
    stop: Any
    record: Any
    finish: Any
    floor: float


def build(cell: Cell, arrays: Arrays, known: dict[Any, Any] | None = None) -> Built:
    """Build the objects of a cell.

    Args:
        cell: The cell.
        arrays: The arrays that it refers to.
        known: What was built before, by what was said of it: cells of a grid share most of it.

    Raises:
        Unusable: If the library refuses something; which field, and why.
    """
    made = _Builder(arrays)
    known = {} if known is None else known
    issues: list[Issue] = []

    def once(make: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that makes what a table says, and its problem where it needs one, once for all cells."""

        def made_once(table: TomlTable, *problem: Problem) -> Any:
            said = (make.__name__, table.model_dump_json(), cell.problem.model_dump_json() if problem else "")
            if said not in known:
                if len(known) >= _MOST_KNOWN:
                    known.clear()
                known[said] = make(table, *problem)
            return known[said]

        return made_once

    def section(name: str, make: Callable[..., Any], *needed: Any) -> Any:
        """Return what a section stands for; note what is wrong and go on, so that everything that is wrong is seen."""
        table = getattr(cell, name)
        if any(one is None for one in needed) or table is None:
            return None
        try:
            with _refused((name,), table):
                return make(table, *needed)
        except Unusable as error:
            issues.extend(error.args)
            return None

    problem = section("problem", once(made.problem))
    objective = section("objective", once(made.objective), problem)
    starts = section("starts", lambda *needed: once(made.starts)(*needed)(cell.runs, cell.seed), problem)
    method = section("method", once(made.value))
    stop = section("stop", once(_stop))
    record = section("record", once(_record))
    finish = section("finish", once(made.value))
    if finish is not None and stop is not None and stop.gradient is None:
        text = "needs `stop.gradient_norm`: a Newton finish ends where the gradient is that small."
        issues.append(Issue(("finish",), text))
    if issues:
        raise Unusable(*issues)
    # The loss of a sample has its own noise in it, which nobody knows beforehand.
    sampled = objective.exactness.kind == "sampling"
    floor = 0.0 if sampled else 0.5 * float(problem.noise) ** 2
    return Built(problem, objective, starts, method, stop, record, finish, floor)


@contextmanager
def _refused(path: Path, table: Any) -> Iterator[None]:
    """Say of an error of the library which field of the specification it is about."""
    try:
        yield
    except Unusable as error:
        raise Unusable(*(Issue((*path, *issue.path), issue.text) for issue in error.args)) from error
    except Exception as error:
        # The library's own errors are sentences; others (a number too large, no memory) say what they are.
        text = str(error).splitlines()[0] if str(error) else ""
        text = text if isinstance(error, (TutelageError, ValueError)) else f"{type(error).__name__}: {text}"
        argument, _, rest = text.removeprefix("`").partition("` ")
        fields = type(table).model_fields if isinstance(table, TomlTable) else {}
        if text.startswith("`") and argument in fields:
            raise Unusable(Issue((*path, argument), rest)) from error
        raise Unusable(Issue(path, text)) from error


@dataclass(frozen=True)
class _Builder:
    arrays: Arrays

    def value(self, value: Any) -> Any:
        """Return what a value of a specification stands for."""
        if isinstance(value, Stored):
            return self.arrays.get(value.digest)
        if isinstance(value, Parts):
            return tuple(self.value(part) for part in value.parts)
        if isinstance(value, DataFile):
            return self._data_file(value)
        if isinstance(value, TomlTable):
            assert value.function is not None
            return value.function(**self._values(value.arguments()))
        return value

    def _values(self, said: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the arguments of a table stand for."""
        arguments = {}
        for name, value in said.items():
            if name == "solver":
                arguments[name] = solvers()[value]()
            elif name == "scale" and value == "none":
                arguments[name] = None
            else:
                with _refused((name,), value):
                    arguments[name] = self.value(value)
        return arguments

    def _data_file(self, value: DataFile) -> str:
        if digest(file_content(FilePath(value.file))) != value.digest:
            raise MalformedData(f"{value.file} has changed since the sweep began: restore it, or begin another sweep.")
        return value.file

    def problem(self, table: TomlTable) -> Problem:
        """Return a problem; the teacher's dimension is that of the inputs."""
        said = table.arguments()
        law = said.pop("inputs", None)
        arguments = self._values(said)
        if law is not None:
            teacher = next(arguments[name] for name in ("teacher", "target", "filter") if name in arguments)
            with _refused(("inputs",), law):
                arguments["inputs"] = self._law(law, int(np.shape(teacher)[-1]))
        assert table.function is not None
        return table.function(**arguments)

    def _law(self, law: TomlTable, dimension: int) -> Inputs:
        assert law.function is not None
        if law.law == "mixture":  # type: ignore[attr-defined]
            components = []
            for number, component in enumerate(law.components):  # type: ignore[attr-defined]
                with _refused(("components", number), component):
                    components.append(self._law(component, dimension))
            weights = {} if law.weights is None else {"weights": self.value(law.weights)}  # type: ignore[attr-defined]
            return law.function(components, **weights)
        arguments = self._values(law.arguments())
        if "dimension" in type(law).model_fields:
            arguments.setdefault("dimension", dimension)
        return law.function(**arguments)

    def objective(self, table: TomlTable, problem: Problem) -> Objective:
        """Return an objective; a fixed sample is drawn from the problem or given."""
        assert table.function is not None
        if table.kind != "empirical":  # type: ignore[attr-defined]
            return table.function(problem, **self._values(table.arguments()))
        inputs, samples = table.inputs, table.samples  # type: ignore[attr-defined]
        if (inputs is None) == (samples is None):
            raise MalformedData("needs either `samples` (a number, drawn with `sample_seed`) or `inputs` (an array).")
        if samples is None:
            return empirical(problem, **self._values(table.arguments()))
        if table.labels is not None:  # type: ignore[attr-defined]
            raise invalid("labels", "be left out where samples are drawn", "an array", "Give `inputs` as well")
        drawn, labels = problem.sample(jax.random.key(table.sample_seed), samples)  # type: ignore[attr-defined]
        return empirical(problem, drawn, labels)

    def starts(self, table: TomlTable, problem: Problem) -> Callable[[int, int], Callable[[int, int], Any]]:
        """Return a function of the runs and the seed of a cell that returns its `Built.starts`."""
        arguments = self._values(table.arguments())
        for name, value in arguments.items():
            if isinstance(value, str) and value == "teacher":
                arguments[name] = problem.target
        if table.law == "given":  # type: ignore[attr-defined]
            return _given(problem.points(arguments["points"], "points"))
        law = table.function
        assert law is not None

        def draw(seed: int, first: int, count: int) -> Any:
            return law(problem, runs=count, seed=seed, first_run=first, **arguments)

        # Refuse what does not fit without drawing: a law that computes with NumPy has passed its checks by then.
        with suppress(jax.errors.JAXTypeError):
            jax.eval_shape(lambda: draw(0, 0, 1))
        return lambda runs, seed: partial(draw, seed)


def _given(points: Any) -> Callable[[int, int], Callable[[int, int], Any]]:
    number = jax.tree.leaves(points)[0].shape[0]

    def of_cell(runs: int, seed: int) -> Callable[[int, int], Any]:
        if number < runs:
            remedy = "Lower `runs`, or give more starts"
            raise invalid("points", f"have a start for each of the {runs} runs", f"{number} starts", remedy)
        return lambda first, count: jax.tree.map(lambda leaf: leaf[first : first + count], points)

    return of_cell


def _record(table: TomlTable) -> Any:
    return dynamics.record(*table.quantities, **table.arguments())  # type: ignore[attr-defined]


def _stop(table: TomlTable) -> Any:
    chosen = []
    for name, value in table:
        if value is not None and name in STOP_FUNCTIONS:
            try:
                chosen.append(STOP_FUNCTIONS[name](value))
            except TutelageError as error:
                # A stop has one argument, which the specification calls by the name of the stop.
                raise Unusable(Issue((name,), str(error).partition("` ")[2])) from error
    return reduce(or_, chosen) if chosen else None
