"""Atlases as files: one `.npz` of plain arrays with a manifest in JSON and a checksum; nothing is pickled."""

import hashlib
import io
import json
import os
import tempfile
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tutelage.errors import MalformedData
from tutelage.geometry.blocks import structure
from tutelage.geometry.entries import Atlas, AtlasEntry
from tutelage.geometry.equivalence import frame_from, settings_of
from tutelage.models import FilterAndOutput, FirstAndOuter, OuterLayer, WithLinear

_FORMAT = "tutelage atlas 1"
_STRUCTURES: dict[str, Any] = {
    "array": 0,
    "WithLinear": WithLinear(0, 0),  # type: ignore[arg-type]
    "FilterAndOutput": FilterAndOutput(0, 0),  # type: ignore[arg-type]
    "FirstAndOuter": FirstAndOuter(0, OuterLayer(0, 0, 0, 0)),  # type: ignore[arg-type]
}
_NUMBERS = (
    "loss",
    "norm_sum",
    "smallest_eigenvalue",
    "largest_eigenvalue",
    "split_curvature",
    "gradient_norm",
)


def _checksum(arrays: dict[str, np.ndarray]) -> str:
    """Return a checksum of named arrays: names, types, shapes and bytes."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _text(value: str) -> np.ndarray:
    return np.frombuffer(value.encode(), np.uint8)


def save(atlas: Atlas, path: Path) -> None:
    """Write an atlas to a file, which appears complete or not at all."""
    import tutelage

    kinds = {name for name in _STRUCTURES if atlas.entries and name == type(atlas[0].point).__name__}
    manifest = {
        "format": _FORMAT,
        "version": getattr(tutelage, "__version__", None),
        "problem": atlas.problem,
        "runs": atlas.runs,
        "left_out": atlas.left_out,
        "statuses": atlas.statuses,
        "steps": atlas.steps,
        "seconds": atlas.seconds,
        "tolerance": atlas.tolerance,
        "structure": kinds.pop() if kinds else "array",
        "entries": [
            {"count": e.count, "kind": e.kind, "index": e.index, "complete": e.complete} for e in atlas.entries
        ],
    }
    arrays = {f"frame_{name}": np.asarray(value) for name, value in settings_of(atlas._frame).items()}
    arrays["numbers"] = np.array([[getattr(entry, name) for name in _NUMBERS] for entry in atlas.entries], float)
    for number, entry in enumerate(atlas.entries):
        arrays[f"vectors_{number}"] = entry.vectors
        for place, leaf in enumerate(jax.tree.leaves(entry.point)):
            arrays[f"point_{number}_{place}"] = np.asarray(leaf)
    arrays["manifest"] = _text(json.dumps(manifest, ensure_ascii=False))
    arrays["checksum"] = _text(_checksum(arrays))
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **arrays)  # type: ignore[arg-type]
    _write(path, buffer.getvalue())


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        # Temporary files are private; the finished one has the permissions that a new file gets.
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def load_atlas(path: str | Path) -> Atlas:
    """Read an atlas that `Atlas.save` has written.

    Args:
        path: The file.

    Raises:
        MalformedData: If the file is absent, damaged or something else.
    """
    path = Path(path)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise MalformedData(f"The atlas {path} cannot be read: {error.strerror or error}.") from error
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        checksum = bytes(arrays.pop("checksum")).decode()
    except (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile, NotImplementedError, AttributeError) as error:
        raise MalformedData(f"{path} is not an atlas, or is damaged ({error}). Make it anew.") from error
    except Exception as error:  # zlib.error and others that a damaged archive may raise
        raise MalformedData(f"{path} is damaged ({type(error).__name__}: {error}). Make it anew.") from error
    if _checksum(arrays) != checksum:
        raise MalformedData(f"{path} does not match its checksum: it was changed or damaged. Make it anew.")
    manifest = json.loads(bytes(arrays["manifest"]).decode())
    if manifest.get("format") != _FORMAT:
        raise MalformedData(f"{path} has the format {manifest.get('format')!r}, not {_FORMAT!r}.")
    return _atlas(manifest, arrays)


def _atlas(manifest: dict[str, Any], arrays: dict[str, np.ndarray]) -> Atlas:
    frame = frame_from({name: arrays[f"frame_{name}"] for name in ("teacher", "even", "rows", "columns")})
    treedef = jax.tree.structure(_STRUCTURES[manifest["structure"]])
    entries = []
    for number, stored in enumerate(manifest["entries"]):
        leaves = [jnp.asarray(arrays[f"point_{number}_{place}"]) for place in range(treedef.num_leaves)]
        vectors = arrays[f"vectors_{number}"]
        entries.append(
            AtlasEntry(
                **stored,
                **dict(zip(_NUMBERS, arrays["numbers"][number].tolist(), strict=True)),
                point=jax.tree.unflatten(treedef, leaves),
                vectors=vectors,
                structure=structure(frame.pattern(vectors), frame, manifest["tolerance"]),
            )
        )
    empty = Atlas((), 0, 0, {}, 0, 0.0, manifest["tolerance"], manifest["problem"], frame)
    names = ("runs", "left_out", "statuses", "steps", "seconds")
    return replace(empty, entries=tuple(entries), **{name: manifest[name] for name in names})
