"""Atlases as files: one `.npz` of plain arrays with a manifest in JSON and a checksum; nothing is pickled."""

import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tutelage.errors import MalformedData
from tutelage.files import write_bytes
from tutelage.geometry.blocks import structure
from tutelage.geometry.entries import Atlas, AtlasEntry
from tutelage.geometry.equivalence import frame_from, settings_of
from tutelage.models import FilterAndOutput, FirstAndOuter, OuterLayer, WithLinear
from tutelage.work.archives import pack_arrays, unpack_arrays

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


def save(atlas: Atlas, path: Path) -> None:
    """Write an atlas to a file, which appears complete or not at all."""
    kind = type(atlas[0].point).__name__ if atlas.entries else "array"
    manifest = {
        "format": _FORMAT,
        "version": version("tutelage"),
        "problem": atlas.problem,
        "runs": atlas.runs,
        "left_out": atlas.left_out,
        "statuses": atlas.statuses,
        "steps": atlas.steps,
        "seconds": atlas.seconds,
        "tolerance": atlas.tolerance,
        "structure": kind if kind in _STRUCTURES else "array",
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
    arrays["manifest"] = np.frombuffer(json.dumps(manifest, ensure_ascii=False).encode(), np.uint8)
    write_bytes(path, pack_arrays(arrays))


def load_atlas(path: str | Path) -> Atlas:
    """Read an atlas that `Atlas.save` has written.

    Args:
        path: The file.

    Raises:
        MalformedData: If the file is absent, damaged or something else.
    """
    path = Path(path)
    try:
        arrays = unpack_arrays(path.read_bytes())
    except OSError as error:
        raise MalformedData(f"The atlas {path} cannot be read: {error.strerror or error}.") from error
    except MalformedData as error:
        raise MalformedData(f"The atlas {path} {error}. Make it anew.") from error
    if "manifest" not in arrays:
        raise MalformedData(f"{path} holds arrays, but no atlas. Name a file that Atlas.save has written.")
    manifest = json.loads(arrays["manifest"].tobytes())
    if manifest.get("format") != _FORMAT:
        raise MalformedData(f"{path} has the format {manifest.get('format')!r}, not {_FORMAT!r}. Make it anew.")
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
    names = ("runs", "left_out", "statuses", "steps", "seconds", "tolerance", "problem")
    return Atlas(entries=tuple(entries), **{name: manifest[name] for name in names}, _frame=frame)
