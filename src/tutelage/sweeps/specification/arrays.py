"""Arrays of a specification: written inline, made by a generator, or read from a file inside its folder."""

from __future__ import annotations

import base64
import io
import math
import stat
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tutelage.errors import MalformedData, Unreadable
from tutelage.files import digest as content_digest
from tutelage.files import largest_size, read_regular, too_large
from tutelage.work.archives import archive_arrays, archive_names, npy_array
from tutelage.work.parquet import read_table

SUFFIXES = (".npy", ".npz", ".csv", ".parquet")

# Larger arrays stay in their files: a document that carries them would be sent to every worker.
_EMBEDDED = 4 << 20


def array_digest(array: np.ndarray) -> str:
    """Return the SHA-256 of the shape and the numbers of an array of float64."""
    plain = np.ascontiguousarray(array, dtype="<f8")
    return content_digest(f"{plain.shape}".encode() + plain.tobytes())


@dataclass(frozen=True)
class Folder:
    """The folder of a specification, which its paths do not leave unless that is allowed.

    Attributes:
        root: The folder.
        allow_outside: Whether paths may lead out of it.
        meant: What the folder is, for messages.
    """

    root: Path
    allow_outside: bool = False
    meant: str = "of the specification"

    def file(self, name: str) -> Path:
        """Return the file that a path in the specification means, with all links followed.

        Raises:
            MalformedData: If it lies outside the folder or cannot be found.
        """
        root = self.root.resolve()
        try:
            path = (root / name).resolve()
            inside = path.is_relative_to(root)
            if not inside and not self.allow_outside:
                raise MalformedData(
                    f"must stay inside the folder {self.meant}, but {name!r} leads to {path}. "
                    "Move the file there, or allow it with --allow-outside (allow_outside=True in Python)."
                )
            mode = path.lstat().st_mode
        except (OSError, ValueError, RuntimeError) as error:
            if isinstance(error, MalformedData):
                raise
            reason = getattr(error, "strerror", None) or str(error)
            raise MalformedData(f"must name a file that can be read, but received {name!r} ({reason}).") from error
        if not stat.S_ISREG(mode):
            raise MalformedData(f"must name a regular file, but received {name!r}.")
        return path


def file_content(path: Path) -> bytes:
    """Return the content of a file that a specification names, with all links in its path followed before.

    Raises:
        MalformedData: If it is not a regular file, too large, or cannot be read; the text continues a sentence.
    """
    try:
        return read_regular(path)
    except (Unreadable, FileNotFoundError) as error:
        reason = f"{error.filename}: {error.strerror}." if isinstance(error, OSError) else str(error)
        raise MalformedData(f"must be a regular file that can be read: {reason}") from error


def read_array(path: Path, name: str | None = None, header: bool = False) -> np.ndarray:
    """Read an array of numbers; nothing that a file says is executed.

    Args:
        path: A `.npy`, `.npz`, `.csv` or `.parquet` file.
        name: Which array of an `.npz` archive with several.
        header: Whether the first line of a `.csv` file names its columns.

    Raises:
        MalformedData: If the file is not such an array, or too large.
    """
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise MalformedData(f"must end in {', '.join(SUFFIXES)}, but received {path.name!r}.")
    content = file_content(path)
    try:
        if suffix == ".npy":
            array = npy_array(content)
        elif suffix == ".npz":
            array = _from_archive(content, name)
        elif suffix == ".csv":
            array = _from_text(content, header)
        else:
            array = _from_table(content)
    except (MalformedData, Unreadable) as error:
        if str(error).startswith("must "):
            raise
        raise MalformedData(f"must be an array of numbers, but {path.name!r} could not be read: it {error}.") from error
    except Exception as error:  # whatever a damaged file makes of a reader is the same to the user
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise MalformedData(f"must be an array of numbers, but {path.name!r} could not be read ({reason}).") from error
    if array.dtype.kind not in "fiub" or array.size == 0:
        kind = f"entries of type {array.dtype}" if array.size else "nothing"
        raise MalformedData(f"must be an array of real numbers, but {path.name!r} has {kind}.")
    return np.ascontiguousarray(array, dtype=np.float64)


def _from_archive(content: bytes, name: str | None) -> np.ndarray:
    names = archive_names(content)
    if name is None and len(names) == 1:
        name = names[0]
    if name is None or name not in names:
        received = "no `array` is named" if name is None else f"received {name!r}"
        raise MalformedData(f"must name one of the arrays {', '.join(names)} by `array`, but {received}.")
    return archive_arrays(content, {name})[name]


def _from_text(content: bytes, header: bool) -> np.ndarray:
    size = 8 * (content.count(b",") + content.count(b"\n") + 1)
    if size > largest_size():
        raise too_large(size, largest_size())
    return np.loadtxt(io.StringIO(content.decode()), delimiter=",", ndmin=2, skiprows=int(header))


def _from_table(content: bytes) -> np.ndarray:
    table = read_table(content)
    for name, kind in table.schema.items():
        # Before anything is made of it: a text that a table has once may fill the memory as an array.
        if not (kind.is_numeric() or kind.is_(pl.Boolean)):
            raise MalformedData(f"has a column {name!r} of type {kind}")
    return table.to_numpy()


@dataclass
class Arrays:
    """The arrays of a specification by their digests, and where large ones are kept.

    Attributes:
        folder: The folder that paths are relative to; `None` where no file may be read.
        content: Arrays that are in memory.
        files: The files of those that were read.
    """

    folder: Folder | None = None
    content: dict[str, np.ndarray] = field(default_factory=dict)
    files: dict[str, dict[str, Any]] = field(default_factory=dict)
    # References to what was read or given before, by what was said of it: cells of a grid mostly say the same, and a
    # file that is changed meanwhile must not give them different arrays.
    _known: dict[Any, Any] = field(default_factory=dict, repr=False)

    def add(self, array: np.ndarray, origin: dict[str, Any] | None = None) -> dict[str, Any]:
        """Keep an array, and return how a specification refers to it.

        Args:
            array: The array.
            origin: The file that it was read from, and how.
        """
        digest = array_digest(array)
        self.content[digest] = array
        if origin:
            self.files[digest] = origin
        return {"digest": digest, "shape": list(array.shape)}

    def adopt(self, value: Any) -> dict[str, Any]:
        """Keep a copy of an array of numbers that was given in Python, and return how a specification refers to it."""
        if id(value) not in self._known:
            # The value is kept as well, so that no other one has its identity.
            self._known[id(value)] = value, self.add(np.array(value, dtype=np.float64, order="C"))
        return self._known[id(value)][1]

    def read(self, file: str, name: str | None, header: bool, dimensions: int | None) -> dict[str, Any]:
        """Read an array file inside the folder, keep it, and return how a specification refers to it.

        Args:
            file: The path as it is written.
            name: Which array of an archive.
            header: Whether a text file has a line of names.
            dimensions: Wanted number of axes; one row or one column may stand for a vector.
        """
        said = (file, name, header, dimensions)
        if said not in self._known:
            path = self._path(file)
            array = read_array(path, name, header)
            if dimensions == 1 and array.ndim == 2 and 1 in array.shape:
                array = array.reshape(-1)
            self._known[said] = self.add(array, {"file": str(path), "array": name, "header": header})
        return self._known[said]

    def data_file(self, file: str) -> dict[str, str]:
        """Return a file inside the folder that the library reads itself, with the digest of its content."""
        if file not in self._known:
            path = self._path(file)
            self._known[file] = {"file": str(path), "digest": content_digest(file_content(path))}
        return self._known[file]

    def _path(self, file: str) -> Path:
        if self.folder is None:
            raise MalformedData("must not name a file here.")
        return self.folder.file(file)

    def get(self, digest: str) -> np.ndarray:
        """Return an array by its digest."""
        if digest not in self.content:
            raise MalformedData(f"must be an array that the document carries, but {digest[:12]}… is not there.")
        return self.content[digest]

    def document(self, digests: set[str]) -> dict[str, Any]:
        """Return the arrays as plain JSON: small ones whole, large ones by file and digest."""
        return {digest: self._entry(digest) for digest in sorted(digests)}

    def _entry(self, digest: str) -> dict[str, Any]:
        array = self.content[digest]
        if array.nbytes > _EMBEDDED and digest in self.files:
            return {"shape": list(array.shape), **self.files[digest]}
        packed = zlib.compress(np.ascontiguousarray(array, dtype="<f8").tobytes())
        return {"shape": list(array.shape), "data": base64.b64encode(packed).decode()}

    @staticmethod
    def from_document(entries: dict[str, Any], folder: Folder | None = None) -> Arrays:
        """Return the arrays of a document.

        Args:
            entries: What the document says of its arrays.
            folder: The folder that its files must lie in; anywhere if `None`.

        Raises:
            MalformedData: If one is damaged or too large, its file has changed since, or lies outside.
        """
        arrays, left = Arrays(), largest_size()
        for digest, entry in entries.items():
            shape = tuple(int(size) for size in entry["shape"])
            size = 8 * math.prod(shape)
            if min(shape, default=0) < 0 or size > left:
                raise MalformedData(f"An array of the document {too_large(size, left)}.")
            left -= size
            if "data" in entry:
                unpacked = zlib.decompressobj().decompress(base64.b64decode(entry["data"]), max(size, 1))
                array = np.frombuffer(unpacked, dtype="<f8").reshape(shape) if len(unpacked) == size else np.empty(0)
                origin = {}
            else:
                origin = {name: entry.get(name) for name in ("file", "array", "header")}
                array = _read_again(entry["file"], entry.get("array"), bool(entry.get("header")), folder)
                if array.size == math.prod(shape):
                    array = array.reshape(shape)  # one column may stand for a vector
            if array_digest(array) != digest:
                place = entry.get("file", "an array of the document")
                raise MalformedData(f"{place} has changed since the sweep began: restore it, or begin another sweep.")
            arrays.add(array, origin)
        return arrays


def _read_again(file: str, name: str | None, header: bool, folder: Folder | None) -> np.ndarray:
    """Read the file of a document, which no field of a specification stands for any more."""
    try:
        return read_array(Path(file) if folder is None else folder.file(file), name, header)
    except MalformedData as error:
        raise MalformedData(
            f"The sweep needs {file}, which {error} Put the file back, or pass the specification that names it now."
        ) from error
