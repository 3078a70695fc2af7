"""From signatures of the library to Pydantic models: what a function takes is what a table may say."""

from __future__ import annotations

import inspect
import math
import types
import typing
from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, Literal, Union

import numpy as np
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag, create_model
from pydantic_core import PydanticCustomError

from tutelage.errors import MalformedData
from tutelage.sweeps.specification.issues import meant, shown

# The models by the tags that Pydantic puts into the place of an error, and by the fields that hold one kind of table.
TABLES: dict[str, type[TomlTable]] = {}

# Shapes and counters of the library have 32 bits or more; TOML has no bound.
INTEGER: Any = Annotated[int, Field(gt=-(2**31), lt=2**31)]

# No key of a specification begins so.
TAG = "="


class TomlTable(BaseModel):
    """A table of a specification; what is not a field of it is an error.

    Attributes:
        function: What the library builds from the fields.
        key: The field that names the member of a family, if there is one.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False, validate_default=True)

    function: ClassVar[Callable[..., Any] | None] = None
    key: ClassVar[str] = ""

    def arguments(self) -> dict[str, Any]:
        """Return what was said of the function's arguments, without those that were left out."""
        assert self.function is not None
        names = inspect.signature(self.function).parameters.keys() & type(self).model_fields.keys()
        values = {name: getattr(self, name) for name in names if name != self.key}
        return {name: value for name, value in values.items() if value is not None}


def problem_with(message: str) -> PydanticCustomError:
    """Return an error of a validator whose text is shown as it is."""
    return PydanticCustomError("specification", "{text}", {"text": message})


def members_of(annotation: Any) -> tuple[Any, ...]:
    """Return the members of a union, or the annotation alone."""
    origin = typing.get_origin(annotation)
    return typing.get_args(annotation) if origin in (Union, types.UnionType) else (annotation,)


def _class_hints(made: type) -> dict[str, Any]:
    """Return the types of the arguments of a class; that of a field with a converter is what it is converted to."""
    own = typing.get_type_hints(made)
    # Equinox writes the name of the type, which the module of the class need not know.
    said = typing.get_type_hints(made.__init__, localns={"Any": Any})
    return {name: own.get(name, hint) if hint is Any else hint for name, hint in said.items()}


def table_of(
    function: Callable[..., Any],
    kinds: Mapping[str, Any],
    *,
    key: str = "",
    name: str = "",
    skip: tuple[str, ...] = (),
    extra: Mapping[str, Any] | None = None,
) -> type[TomlTable]:
    """Return the model of a function's arguments.

    Args:
        function: The function or class.
        kinds: Types of fields, by the name of the argument, where the annotation does not tell; `None` leaves it out.
        key: The field that names the function in its family.
        name: The name it has there.
        skip: Arguments that are not fields.
        extra: Further fields, as Pydantic takes them.

    Raises:
        TypeError: If an argument without a default has no type here.
    """
    parameters = [p for p in inspect.signature(function).parameters.values() if p.name not in skip]
    known = dict(kinds)
    if any(parameter.name not in known for parameter in parameters):
        hints = _class_hints(function) if inspect.isclass(function) else typing.get_type_hints(function)
        known = {name: _plain_kind(hint) for name, hint in hints.items()} | known
    fields: dict[str, Any] = {}
    if key:
        fields[key] = (Literal[name], ...)  # type: ignore[valid-type]
    for parameter in parameters:
        kind = known.get(parameter.name)
        if kind is None:
            if parameter.default is inspect.Parameter.empty:
                raise TypeError(f"{function.__name__}: no type of a specification for `{parameter.name}`")
            continue
        fields[parameter.name] = _with_default(kind, parameter.default)
    model = create_model(f"{function.__name__}_table", __base__=TomlTable, **fields, **(extra or {}))
    model.function = staticmethod(function)
    model.key = key
    model.__doc__ = inspect.getdoc(function)
    return model


def _with_default(kind: Any, default: Any) -> tuple[Any, Any]:
    if default is inspect.Parameter.empty:
        return (kind, ...)
    # What JSON and TOML cannot say (nothing, infinity, an object) is said by leaving the field out.
    plain = isinstance(default, (bool, int, str)) or (isinstance(default, float) and math.isfinite(default))
    return (kind, default) if plain else (kind | None, None)


def _plain_kind(annotation: Any) -> Any:
    members = [member for member in members_of(annotation) if member is not type(None)]
    if len(members) == 1 and members[0] in (bool, int, float, str):
        return INTEGER if members[0] is int else members[0]
    return None


def either(form: Callable[[Any], str], kinds: Mapping[str, Any]) -> Any:
    """Return the type of a value of several forms.

    Args:
        form: Returns the name of the form that a value has.
        kinds: The types, by the names of the forms.
    """
    tagged = tuple(Annotated[kind, Tag(f"{TAG}{name}")] for name, kind in kinds.items())
    return Annotated[Union[tagged], Discriminator(lambda value: f"{TAG}{form(value)}")]  # noqa: UP007


def named(
    key: str,
    members: Mapping[str, type[TomlTable]],
    what: str,
    refused: Mapping[str, str] | None = None,
    also: tuple[str, ...] = (),
) -> Any:
    """Return the type of a table that names a member of a family, or of the name alone.

    Args:
        key: The field that names the member.
        members: The models by name.
        what: What the family is called in the tags of errors; one word, different for every family.
        refused: Names that are known and not allowed, with the reason.
        also: Names of members that are validated elsewhere, and are shown among the allowed ones.
    """
    allowed = (*members, *also)

    def check(value: Any) -> Any:
        if isinstance(value, TomlTable):
            return value
        table = {key: value} if isinstance(value, str) else value
        if not isinstance(table, dict):
            raise problem_with(
                f"must be a table with `{key}` or one of {', '.join(allowed)}, but received {shown(value)}."
            )
        name = table.get(key)
        place = key if isinstance(value, dict) else ""
        if name is None and key not in table:
            text = f"is missing. Choose one of {', '.join(allowed)}."
        elif isinstance(name, str) and name in (refused or {}):
            text = f'must not be "{name}": {(refused or {})[name]}'
        elif not isinstance(name, str) or name not in members:
            text = f"must be one of {', '.join(allowed)}, but received {shown(name)}.{meant(name, allowed)}"
        else:
            return table
        raise PydanticCustomError("specification", "{text}", {"text": text, "key": place})

    def form(value: Any) -> str:
        name = value.get(key) if isinstance(value, dict) else getattr(value, key)
        return f"{what}:{name}"

    kinds = {f"{what}:{name}": model for name, model in members.items()}
    TABLES.update({f"{TAG}{name}": model for name, model in kinds.items()})
    return Annotated[either(form, kinds), BeforeValidator(check)]


def one_table(model: type[TomlTable], field: str) -> type[TomlTable]:
    """Register the model of the tables that a field holds, and return it."""
    TABLES[field] = model
    return model


class Stored(TomlTable):
    """An array that the document carries."""

    digest: str
    shape: list[int]


class ArrayFile(TomlTable):
    """An array in a file."""

    file: str
    array: str | None = None
    header: bool = False


TABLES[f"{TAG}file"] = ArrayFile


def array_kind(dimensions: int | None, made: Mapping[str, Callable[..., np.ndarray]] | None = None) -> Any:
    """Return the type of an array: numbers in brackets, a table with `generator`, or a table with `file`.

    Args:
        dimensions: Number of axes; `None` for any.
        made: The generators, by name.
    """
    family = f"array{dimensions or ''}"
    # A vector is the only one of some rows.
    skip = ("neurons",) if dimensions == 1 else ()
    models = {name: table_of(make, {}, key="generator", name=name, skip=skip) for name, make in (made or {}).items()}
    inline: Any = {1: list[float], 2: list[list[float]], None: list[Any]}[dimensions]
    kinds: dict[str, Any] = {"inline": inline, "file": ArrayFile, "digest": Stored}
    choices = "numbers in brackets" if dimensions == 1 else "rows of numbers in brackets"
    if models:
        kinds["generator"] = named("generator", models, family)
        choices += f", a table with `generator` ({', '.join(models)})"
    choices += " or a table with `file`"

    def form(value: Any) -> str:
        if isinstance(value, dict):
            return next(name for name in ("generator", "file", "digest") if name in value)
        forms = {list: "inline", ArrayFile: "file", Stored: "digest"}
        return forms.get(type(value), "generator")

    def adopt(value: Any, info: Any) -> Any:
        if hasattr(value, "__array__"):
            array = np.asarray(value)
            if array.dtype.kind not in "fiub":
                raise problem_with(f"must be an array of numbers, but received entries of type {array.dtype}.")
            return info.context.adopt(value)
        known = ("file", "digest", *(("generator",) if models else ()))
        if isinstance(value, (list, TomlTable)) or (isinstance(value, dict) and any(name in value for name in known)):
            return value
        raise problem_with(f"must be an array: {choices}; but received {shown(value)}.")

    def load(value: Any, info: Any) -> Any:
        try:
            if isinstance(value, ArrayFile):
                value = Stored(**info.context.read(value.file, value.array, value.header, dimensions))
            elif isinstance(value, Stored):
                value = Stored(digest=value.digest, shape=list(info.context.get(value.digest).shape))
        except MalformedData as error:
            raise problem_with(str(error)) from error
        if isinstance(value, list):
            _check_rows(value, dimensions)
        if isinstance(value, Stored) and dimensions is not None and len(value.shape) != dimensions:
            wanted = "one axis" if dimensions == 1 else "two axes, one row per neuron or sample"
            raise problem_with(f"must have {wanted}, but received shape {tuple(value.shape)}.")
        return value

    return Annotated[either(form, kinds), BeforeValidator(adopt), AfterValidator(load)]


def _check_rows(value: list[Any], dimensions: int | None) -> None:
    """Raise unless lists of numbers, or of such lists, are an array that is not empty."""
    rows = {len(row) for row in value} if dimensions == 2 else {1}
    if not value or rows == {0}:
        raise problem_with("must not be empty.")
    if len(rows) > 1:
        raise problem_with(f"must have rows of one length, but received rows of {', '.join(map(str, sorted(rows)))}.")
    if dimensions is not None:
        return
    try:
        array = np.asarray(value)
    except ValueError:
        array = np.empty(0, dtype=object)
    if array.dtype.kind not in "fi":
        raise problem_with(f"must be an array of numbers with rows of one length, but received {shown(value)}.")
