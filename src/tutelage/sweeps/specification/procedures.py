"""Starts, methods, stops and records as tables of a specification, made from the library's signatures."""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Callable, Collection
from functools import lru_cache
from typing import Annotated, Any, Literal

import optax
from pydantic import BeforeValidator, Field, create_model

from tutelage import dynamics, starts
from tutelage.dynamics.records import QUANTITIES
from tutelage.sweeps.specification.families import ARRAY, functions_of
from tutelage.sweeps.specification.fields import (
    INTEGER,
    TomlTable,
    either,
    members_of,
    named,
    one_table,
    problem_with,
    table_of,
)
from tutelage.sweeps.specification.issues import meant, shown

# Starts.


class Parts(TomlTable):
    """A student of several arrays, in the order of the problem's documentation."""

    parts: list[ARRAY]  # type: ignore[valid-type]


def _student_form(value: Any) -> str:
    if isinstance(value, str):
        return "word"
    return "parts" if isinstance(value, Parts) or (isinstance(value, dict) and "parts" in value) else "array"


STUDENT = either(_student_form, {"word": Literal["teacher"], "parts": Parts, "array": ARRAY})


def given(points: Any) -> Any:
    """Starts that are written down or kept in a file, runs first."""
    return points


_NOT_FIELDS = ("problem", "runs", "seed", "first_run")
_STARTS = {
    name: law for name, law in functions_of(starts).items() if "problem" in inspect.signature(law).parameters
} | {"given": given}
START_TABLES = {
    name: table_of(law, {"point": STUDENT, "points": STUDENT}, key="law", name=name, skip=_NOT_FIELDS)
    for name, law in _STARTS.items()
}
STARTS = named("law", START_TABLES, "starts", {"product": "it is given by a function; use it from Python."})

# Step sizes: a number, or a schedule of Optax.


def _numeric(annotation: Any, default: Any) -> Any:
    """Return the type of an argument of Optax that a specification can give, or `None`."""
    members = set(members_of(annotation))
    if annotation is bool or isinstance(default, bool):
        return bool
    if annotation is int:
        return INTEGER
    return float if float in members else None


def _optax_family(
    module: Any,
    key: str,
    chosen: Callable[[str, Any], Any],
    kinds: dict[str, Any],
    extra: dict[str, Any] | None = None,
) -> dict[str, type[TomlTable]]:
    tables = {}
    for name, function in sorted(vars(module).items()):
        if not inspect.isfunction(function) or name.startswith("_") or not chosen(name, function):
            continue
        parameters = inspect.signature(function).parameters.values()
        found = {p.name: kinds.get(p.name, _numeric(p.annotation, p.default)) for p in parameters}
        try:
            tables[name] = table_of(function, found, key=key, name=name, extra=extra)
        except TypeError:  # it needs what cannot be written down
            continue
    return tables


def _is_schedule(name: str, function: Any) -> bool:
    # Without its boundaries, which are a dictionary of numbers, a piecewise schedule says nothing.
    return (
        name.endswith(("schedule", "decay")) and "boundaries_and_scales" not in inspect.signature(function).parameters
    )


SCHEDULE_TABLES = _optax_family(optax.schedules, "schedule", _is_schedule, {})
SCHEDULE = named("schedule", SCHEDULE_TABLES, "schedule")
STEP = either(
    lambda value: "schedule" if isinstance(value, (dict, TomlTable)) else "number",
    {"number": float, "schedule": SCHEDULE},
)


_DEPRECATED = ("optimistic_adam",)  # Optax has a second version of it


def _is_transformation(name: str, function: Any) -> bool:
    parameters = inspect.signature(function).parameters
    # Those with randomness of their own would give all runs the same, and a line search needs the loss.
    refused = {"key", "seed", "linesearch"} & set(parameters)
    return "learning_rate" in parameters and not refused and not name.startswith("scale_by") and name not in _DEPRECATED


TRANSFORMATION_TABLES = _optax_family(
    optax, "name", _is_transformation, {"learning_rate": STEP}, {"kind": (Literal["optax"], ...)}
)

# Methods.


@lru_cache
def solvers() -> dict[str, Any]:
    """Return the solvers of a gradient flow, by name."""
    import diffrax  # takes a fifth of a second, and only a flow with a solver of its own needs it

    kinds = {name: kind for name, kind in vars(diffrax).items() if inspect.isclass(kind)}
    bases = diffrax.AbstractERK, diffrax.AbstractAdaptiveSolver
    return {
        name: kind
        for name, kind in kinds.items()
        if all(issubclass(kind, base) for base in bases) and not name.startswith("Abstract")
    }


def _name_among(known: Callable[[], Collection[str]]) -> Any:
    """Return the type of a name; which ones there are is asked when there is one."""

    def check(value: Any) -> Any:
        names = known()
        if not isinstance(value, str) or value not in names:
            raise problem_with(f"must be one of {', '.join(names)}, but received {shown(value)}.{meant(value, names)}")
        return value

    return Annotated[str, BeforeValidator(check)]


_METHOD_KINDS: dict[str, Any] = {
    "step": STEP,
    "projection": one_table(table_of(dynamics.Ball, {}), "projection"),
    "solver": _name_among(solvers),
}


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


_METHODS = {
    _snake(name): method
    for name, method in vars(dynamics).items()
    if inspect.isclass(method)
    and issubclass(method, dynamics.Method)
    and not inspect.isabstract(method)
    and method is not dynamics.OptaxMethod
}
METHOD_TABLES = {name: table_of(method, _METHOD_KINDS, key="kind", name=name) for name, method in _METHODS.items()}
_OPTAX = "optax"


def _method_form(value: Any) -> str:
    kind = value.get("kind") if isinstance(value, dict) else getattr(value, "kind", None)
    return "transformation" if kind == _OPTAX else "method"


METHOD = either(
    _method_form,
    {
        "method": named("kind", METHOD_TABLES, "method", also=(_OPTAX,)),
        "transformation": named("name", TRANSFORMATION_TABLES, "optax"),
    },
)

# Stops: the library's functions of one argument that return one.


def _no_wall_time(value: Any) -> Any:
    if value is None:
        return value
    raise problem_with("must be left out: where a run ends would depend on the machine. Use `step_limit`.")


_STOPS = functions_of(dynamics, dynamics.Stop)
STOP_FUNCTIONS = {name: stop for name, stop in _STOPS.items() if name != "wall_time"}


def _only_type(function: Callable[..., Any]) -> Any:
    (name,) = inspect.signature(function).parameters
    kind = typing.get_type_hints(function)[name]
    return INTEGER if kind is int else kind


_STOP_FIELDS: dict[str, Any] = {name: (_only_type(stop) | None, None) for name, stop in STOP_FUNCTIONS.items()}
_STOP_FIELDS["wall_time"] = (Annotated[None, BeforeValidator(_no_wall_time)], Field(None, exclude=True))
STOP = one_table(create_model("stop_table", __base__=TomlTable, **_STOP_FIELDS), "stop")

# Records.


RECORD = one_table(
    table_of(
        dynamics.record,
        {"steps": list[INTEGER]},
        skip=("names", "functions"),
        extra={"quantities": (Annotated[list[_name_among(lambda: QUANTITIES)], Field(min_length=1)], ["loss"])},
    ),
    "record",
)
_FINISHES = {"newton": dynamics.Newton, "newton_krylov": dynamics.NewtonKrylov}
FINISH = named("kind", {name: table_of(kind, {}, key="kind", name=name) for name, kind in _FINISHES.items()}, "finish")
