"""Sealed documents: JSON with a checksum of itself, of a form that a Pydantic model describes.

Whatever this package has written and reads again is one: a checksum that does not match is damage, and a document that
matches but says something senseless is refused all the same.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from tutelage.errors import MalformedData
from tutelage.files import about, digest, json_text, largest_text, read_regular, write_bytes

_CHECKSUM = "checksum"


class Document(BaseModel):
    """Base class of the forms of documents: every field in its own type, and no other field."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


Form = TypeVar("Form", bound=Document)


def seal(document: dict[str, Any]) -> dict[str, Any]:
    """Return a document with the checksum of what it says, whatever the order of its keys."""
    said = json.dumps(document, sort_keys=True, allow_nan=False)
    return {**document, _CHECKSUM: digest(said)}


def plain(value: Any) -> Any:
    """Return numbers and arrays, also in tables, as JSON can hold them; infinities and NaN as text."""
    if isinstance(value, Mapping):
        return {name: plain(inner) for name, inner in value.items()}
    if isinstance(value, (str, bool, int)) or value is None:
        return value
    array = np.asarray(value)
    if array.ndim:
        return [plain(entry) for entry in array]
    number = array.item()
    return str(number) if isinstance(number, float) and not math.isfinite(number) else number


def write_sealed(path: Path, document: dict[str, Any]) -> None:
    """Write a document with its checksum, as `write_bytes` does."""
    write_bytes(path, json_text(seal(document)))


def parsed(content: bytes) -> Any:
    """Return what a text of JSON says.

    Raises:
        MalformedData: If it is none; the text continues a sentence.
    """
    try:
        return json.loads(content, parse_constant=_refused)
    except (ValueError, RecursionError) as error:
        raise MalformedData("is damaged: it is no JSON") from error


def _refused(constant: str) -> Any:
    raise ValueError(f"{constant} is no number of JSON")


def unsealed(content: bytes, *forms: type[Form]) -> Form:
    """Return what a sealed document says.

    Args:
        content: The text.
        *forms: What it has to say: the first of these that fits.

    Raises:
        MalformedData: If it is something else, or damaged; the text continues a sentence.
    """
    document = parsed(content)
    if not isinstance(document, dict) or _CHECKSUM not in document:
        raise MalformedData("is damaged: it has no checksum")
    checksum = document.pop(_CHECKSUM)
    if seal(document)[_CHECKSUM] != checksum:
        raise MalformedData("does not match its checksum")
    return shaped(document, *forms)


def shaped(document: Any, *forms: type[Form]) -> Form:
    """Return a document in its form.

    Raises:
        MalformedData: If it has another one; the text continues a sentence.
    """
    for form in forms:
        try:
            return form.model_validate(document)
        except (ValidationError, RecursionError) as error:
            if form is forms[-1]:
                raise MalformedData(f"is damaged: {_described(error)}") from error
    raise AssertionError("a document needs a form")


def _described(error: ValidationError | RecursionError) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    wrong = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place = ".".join(str(part) for part in wrong["loc"]) or "the document"
    return f"{place[:100]}: {wrong['msg']}"


def read_sealed(path: Path, *forms: type[Form]) -> Form:
    """Return what a sealed document in a file says.

    Raises:
        FileNotFoundError: If there is no such file.
        MalformedData: If it is something else, or damaged.
        Unreadable: If it cannot be read, is not a regular file, or too large.
    """
    content = read_regular(path, most=largest_text())
    with about(path):
        return unsealed(content, *forms)
