"""Atlases as files: one `.npz` of plain arrays with a manifest in JSON and a checksum; nothing is pickled."""

import itertools
from pathlib import Path
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
from pydantic import Field

from tutelage.errors import MalformedData, Unreadable
from tutelage.files import about, checked_path, read_regular, write_bytes
from tutelage.geometry.atlas import Atlas, AtlasEntry
from tutelage.geometry.blocks import structure
from tutelage.geometry.certificate_record import CertificateRecord, certificate_of
from tutelage.geometry.critical import Kind
from tutelage.geometry.equivalence import Reference
from tutelage.models import FilterAndOutput, FirstAndOuter, Layers, OuterLayer, WithLinear
from tutelage.models.two_layer import PARTS
from tutelage.work.documents import Document, shaped
from tutelage.work.store import Content, packed, unpacked

_JOB = "atlas"
_STRUCTURES: dict[str, Any] = {
    "array": 0,
    "WithLinear": WithLinear(0, 0),  # type: ignore[arg-type]
    "FilterAndOutput": FilterAndOutput(0, 0),  # type: ignore[arg-type]
    "FirstAndOuter": FirstAndOuter(0, OuterLayer(0, 0, 0, 0)),  # type: ignore[arg-type]
    **{
        f"Layers: {', '.join(names)}": Layers(*(0 if name in names else None for name in PARTS))  # type: ignore[arg-type]
        for number in range(1, len(PARTS) + 1)
        for names in itertools.combinations(PARTS, number)
        if names != ("weights",)
    },
}
Number = Annotated[int, Field(ge=0)]
# Fields of an atlas that are plain data, and those of an entry that are floats.
_PLAIN = ("problem", "runs", "left_out", "statuses", "steps", "seconds", "tolerance")
_NUMBERS = ("loss", "norm_sum", "smallest_eigenvalue", "largest_eigenvalue", "split_curvature", "gradient_norm")


def _form_of(point: Any) -> str:
    """Return the name of the form of a student, by its structure."""
    forms = {jax.tree.structure(form): name for name, form in _STRUCTURES.items()}
    return forms.get(jax.tree.structure(point), "array")


def save(atlas: Atlas, path: Path) -> None:
    """Write an atlas to a file, which appears complete or not at all."""
    manifest = {
        **{name: getattr(atlas, name) for name in _PLAIN},
        "structure": _form_of(atlas[0].point) if atlas.entries else "array",
        "entries": [_described(entry) for entry in atlas.entries],
    }
    reference = atlas._reference
    arrays = {
        "frame_teacher": np.zeros((0, 0)) if reference.teacher is None else reference.teacher,
        "frame_even": np.asarray(reference.even),
        "frame_rows": reference.rows,
        "frame_columns": reference.columns,
        **({"frame_numbers": np.asarray(reference.numbers)} if reference.numbers else {}),
        **({"frame_biased": np.asarray(True)} if reference.biased else {}),
        **({} if reference.turns is None else {"frame_turns": np.asarray(reference.turns, float)}),
    }
    arrays["numbers"] = np.array([[getattr(entry, name) for name in _NUMBERS] for entry in atlas.entries], float)
    for number, entry in enumerate(atlas.entries):
        arrays[f"vectors_{number}"] = entry.vectors
        for place, leaf in enumerate(jax.tree.leaves(entry.point)):
            arrays[f"point_{number}_{place}"] = np.asarray(leaf)
    write_bytes(path, packed(Content(manifest, arrays), _JOB, atlas.problem["digest"]))


def _described(entry: AtlasEntry) -> dict[str, Any]:
    plain = {name: getattr(entry, name) for name in ("count", "kind", "index", "complete")}
    return plain if entry.certificate is None else {**plain, "certificate": entry.certificate.document()}


class _Problem(Document):
    """The description of a problem, as `describe` makes it."""

    name: str
    objective: str
    activation: str | None
    inputs: str
    dimension: Annotated[int, Field(ge=1)]
    noise: Annotated[float, Field(ge=0)]
    shapes: Annotated[list[list[Annotated[int, Field(ge=1)]]], Field(min_length=1)]
    teacher: Annotated[list[list[float]], Field(min_length=1)]
    digest: str


class _Entry(Document):
    count: Annotated[int, Field(ge=1)]
    kind: Kind
    index: Number
    complete: bool
    certificate: CertificateRecord | None = None  # files of before have none


class _Manifest(Document):
    """What an atlas says besides its arrays."""

    problem: _Problem
    runs: Number
    left_out: Number
    statuses: dict[str, Number]
    steps: Number
    seconds: Annotated[float, Field(ge=0)]
    tolerance: Annotated[float, Field(gt=0)]
    structure: str
    entries: list[_Entry]


def load(path: str | Path) -> Atlas:
    """Read an atlas; see `load_atlas`."""
    file = checked_path("path", path)
    try:
        content = read_regular(file, follow=True)
        with about(file):
            found, stored = unpacked(content)
    except FileNotFoundError as error:
        raise MalformedData(f"The atlas {file} cannot be read: {error.strerror}.") from error
    except (MalformedData, Unreadable) as error:
        raise MalformedData(
            f"The atlas {error} Make it anew, or name another file; atlases of version 0.1 are not read."
        ) from error
    if found.job != _JOB:
        raise MalformedData(f"{file} holds results, but no atlas. Name a file that Atlas.save has written.")
    try:
        return _atlas(shaped(found.facts, _Manifest), dict(stored.arrays))
    except MalformedData as error:
        raise MalformedData(f"The atlas {file} {error}. Make it anew.") from error


def _atlas(manifest: _Manifest, arrays: dict[str, np.ndarray]) -> Atlas:
    """Build an atlas after everything in it was compared.

    Raises:
        MalformedData: If something does not fit; the text continues a sentence.
    """
    if manifest.structure not in _STRUCTURES:
        raise MalformedData(f"has students of an unknown form, {manifest.structure[:40]!r}")
    treedef = jax.tree.structure(_STRUCTURES[manifest.structure])
    counts = sum(entry.count for entry in manifest.entries)
    if counts + manifest.left_out != manifest.runs or sum(manifest.statuses.values()) != manifest.runs:
        raise MalformedData(f"contradicts itself: its counts do not add up to {manifest.runs} runs")
    shapes = [tuple(shape) for shape in manifest.problem.shapes]
    if len(shapes) != treedef.num_leaves:
        raise MalformedData(f"contradicts itself: students have {treedef.num_leaves} arrays, and {len(shapes)} shapes")
    reference = _reference(manifest.problem, arrays)
    if reference.biased != (reference.even and "biases" in manifest.structure):
        raise MalformedData("has biases without their signs, which were not kept before")
    size = len(reference.columns) if reference.teacher is None else reference.teacher.shape[1]
    size += reference.numbers
    numbers = _taken(arrays, "numbers", (len(manifest.entries), len(_NUMBERS)), finite=False)
    if np.isinf(numbers).any() or not np.isfinite(numbers[:, :2]).all():
        raise MalformedData("has losses or norms that are no numbers")
    teacher = np.array(manifest.problem.teacher)
    entries = []
    for place, stored in enumerate(manifest.entries):
        vectors = _taken(arrays, f"vectors_{place}", (len(reference.rows), size))
        leaves = [jnp.asarray(_taken(arrays, f"point_{place}_{leaf}", shape)) for leaf, shape in enumerate(shapes)]
        point, record = jax.tree.unflatten(treedef, leaves), stored.certificate
        entries.append(
            AtlasEntry(
                **stored.model_dump(exclude={"certificate"}),
                **dict(zip(_NUMBERS, numbers[place].tolist(), strict=True)),
                point=point,
                vectors=vectors,
                structure=structure(reference.pattern(vectors), reference, manifest.tolerance),
                certificate=None if record is None else certificate_of(record, teacher, point),
            )
        )
    if arrays:
        raise MalformedData(f"has an array that no atlas has, {sorted(arrays)[0][:40]!r}")
    said = manifest.model_dump()
    return Atlas(entries=tuple(entries), **{name: said[name] for name in _PLAIN}, _reference=reference)


def _reference(problem: _Problem, arrays: dict[str, np.ndarray]) -> Reference:
    """Return what students are compared by, if it fits the teacher of the problem."""
    if len({len(row) for row in problem.teacher}) != 1:
        raise MalformedData("has a teacher whose vectors differ in length")
    rows, columns = (_taken(arrays, f"frame_{name}", None, kind="i") for name in ("rows", "columns"))
    even = _taken(arrays, "frame_even", (), kind="b")
    teacher = _taken(arrays, "frame_teacher", None, dimensions=2)
    known = np.asarray(problem.teacher)
    if teacher.size and not np.array_equal(teacher, known[: len(teacher)]):
        raise MalformedData("contradicts itself: it has two teachers")
    # A label for every student vector and, where coordinates are not fixed, for every teacher.
    if len(rows) == 0 or len(columns) == 0 or (teacher.size and len(columns) != len(teacher)):
        raise MalformedData("contradicts itself: its labels do not fit its teacher")
    numbers = int(_taken(arrays, "frame_numbers", (), kind="i")) if "frame_numbers" in arrays else 0
    if not 0 <= numbers <= 2:
        raise MalformedData(f"contradicts itself: neurons take {numbers} numbers along")
    biased = "frame_biased" in arrays and bool(_taken(arrays, "frame_biased", (), kind="b"))
    turns = _taken(arrays, "frame_turns", columns.shape) if "frame_turns" in arrays else None
    if turns is not None and not np.isin(turns, (-1.0, 0.0, 1.0)).all():
        raise MalformedData("has signs of biases that are none")
    return Reference(teacher if teacher.size else None, bool(even), rows, columns, numbers, biased, turns)


def _taken(
    arrays: dict[str, np.ndarray],
    name: str,
    shape: tuple[int, ...] | None,
    kind: str = "f",
    dimensions: int = 1,
    finite: bool = True,
) -> np.ndarray:
    """Take an array out of those that are left, if it has the shape, or number of axes, and type that it must have."""
    if name not in arrays:
        raise MalformedData(f"lacks the array {name!r}")
    array = arrays.pop(name)
    wrong = array.ndim != dimensions if shape is None else array.shape != shape
    if wrong or array.dtype.kind != kind or (kind == "f" and array.dtype.itemsize != 8):
        wanted = f"{dimensions} axes" if shape is None else f"shape {shape}"
        raise MalformedData(f"has the array {name!r} with shape {array.shape} of {array.dtype}, not with {wanted}")
    if finite and kind == "f" and not np.isfinite(array).all():
        raise MalformedData(f"has the array {name!r} with entries that are no numbers")
    return array
