"""Problems, input laws, activations and objectives as tables of a specification, made from the library's signatures."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from tutelage import inputs, objectives, problems
from tutelage.activations.registry import _REGISTRY as ACTIVATIONS
from tutelage.errors import MalformedData
from tutelage.models.composite import OUTER_FUNCTIONS
from tutelage.models.two_layer import PARTS
from tutelage.problems.two_layer import SCALES
from tutelage.sweeps.specification.fields import INTEGER, TomlTable, array_kind, either, named, problem_with, table_of
from tutelage.sweeps.specification.generators import MATRICES, VECTORS
from tutelage.sweeps.specification.issues import shown

COUNT: Any = Annotated[int, Field(ge=1, lt=2**31)]
VECTOR = array_kind(1, VECTORS)
MATRIX = array_kind(2, MATRICES)
ARRAY = array_kind(None)


def functions_of(module: Any, returned: type | None = None) -> dict[str, Callable[..., Any]]:
    """Return the public functions of a package that can be called with plain values, by name.

    Args:
        module: The package.
        returned: What they must return.
    """
    found = {}
    for name, value in vars(module).items():
        if not inspect.isfunction(value) or name.startswith("_"):
            continue
        hints = typing.get_type_hints(value)
        result = hints.get("return")
        needed = [p.name for p in inspect.signature(value).parameters.values() if p.default is inspect.Parameter.empty]
        # A function cannot be written in a specification, which would then be a program.
        if any(_is_function(hints.get(argument)) for argument in needed):
            continue
        if returned is None or (inspect.isclass(result) and issubclass(result, returned)):
            found[name] = value
    return found


def _is_function(annotation: Any) -> bool:
    return annotation is Callable or typing.get_origin(annotation) is Callable


ACTIVATION = named(
    "name", {name: table_of(make, {}, key="name", name=name) for name, make in ACTIVATIONS.items()}, "activation"
)


class DataFile(TomlTable):
    """A file that the library reads itself, with the digest of its content."""

    file: str
    digest: str


def _data_file(value: Any, info: Any) -> Any:
    if not isinstance(value, str):
        # Only a document, which nobody writes, may say where a file is and skip the check of its place.
        if info.context.folder is not None:
            raise problem_with(f"must be the path of a file in quotes, but received {shown(value)}.")
        return value
    try:
        return info.context.data_file(value)
    except MalformedData as error:
        raise problem_with(str(error)) from error


def _number_or(name: str, other: Any) -> Any:
    """Return the type of a number, or of something else of that name."""
    return either(lambda value: "number" if isinstance(value, (int, float)) else name, {"number": float, name: other})


_NUMBER_OR_VECTOR = _number_or("vector", VECTOR)
_LAW_KINDS: dict[str, Any] = {
    "mean": VECTOR,
    "covariance": MATRIX,
    "weights": VECTOR,
    "points": MATRIX,
    "array": MATRIX,
    "low": _NUMBER_OR_VECTOR,
    "high": _NUMBER_OR_VECTOR,
    "path": Annotated[DataFile, BeforeValidator(_data_file)],
}


def _law_table(name: str, law: Callable[..., Any], kinds: dict[str, Any]) -> type[TomlTable]:
    parameters = inspect.signature(law).parameters
    own = _LAW_KINDS | kinds
    if "scale" in parameters and typing.get_type_hints(law)["scale"] is not float:
        own["scale"] = Literal["unit_variance", "none"]
    # The teacher says the dimension; a specification that says it as well is checked.
    extra = {"dimension": (COUNT | None, None)} if "dimension" in parameters else {}
    return table_of(law, own, key="law", name=name, skip=("dimension",), extra=extra)


_LAWS = functions_of(inputs, inputs.Inputs)
_LAWS_OF_MIXTURES = {name: _law_table(name, law, {}) for name, law in _LAWS.items() if name != "mixture"}
# A mixture of mixtures is a mixture: one level says everything.
_MIXTURE = _law_table("mixture", inputs.mixture, {"components": list[named("law", _LAWS_OF_MIXTURES, "component")]})
LAW_TABLES = {name: _LAWS_OF_MIXTURES.get(name, _MIXTURE) for name in _LAWS}
LAW = named("law", LAW_TABLES, "inputs", {"spherical": "it is given by functions; use it from Python."})

_PART: Any = Literal[PARTS]
_PROBLEM_KINDS: dict[str, Any] = {
    "teacher_output": VECTOR,
    "teacher_biases": VECTOR,
    "teacher_constant": float,
    "learn": list[_PART],
    "weights": MATRIX,
    "output": VECTOR,
    "biases": VECTOR,
    "scale": _number_or("scale", Literal[SCALES]),  # type: ignore[valid-type]
    "decay": _number_or("rates", dict[_PART, float]),
    "target": VECTOR,
    "teacher": MATRIX,
    "filter": VECTOR,
    "output_weights": VECTOR,
    "signs": VECTOR,
    "degrees": list[INTEGER],
    "outer": Literal[tuple(OUTER_FUNCTIONS)],  # type: ignore[valid-type]
    "activation": ACTIVATION,
    "inputs": LAW,
}
PROBLEM_TABLES = {
    name: table_of(make, _PROBLEM_KINDS, key="family", name=name)
    for name, make in functions_of(problems, problems.Problem).items()
}
PROBLEM = named("family", PROBLEM_TABLES, "problem")

_SAMPLE = {"samples": (COUNT | None, None), "sample_seed": (Annotated[int, Field(ge=0, lt=2**32)], 0)}
OBJECTIVE_TABLES = {
    name: table_of(
        make,
        {"labels": VECTOR},
        key="kind",
        name=name,
        skip=("problem", "inputs") if name == "empirical" else ("problem",),
        # A fixed sample is drawn from the problem, or given.
        extra={"inputs": (ARRAY | None, None)} | _SAMPLE if name == "empirical" else {},
    )
    for name, make in functions_of(objectives, objectives.Objective).items()
}
OBJECTIVE = named("kind", OBJECTIVE_TABLES, "objective")
