"""Writing the explorer's folder."""

from __future__ import annotations

from importlib.resources import as_file, files
from pathlib import Path

from tutelage.explorer.witnesses import witnesses_script
from tutelage.files import read_regular, write_bytes
from tutelage.work.folder import claim, inner_folder


def write_explorer(folder: Path) -> Path:
    """Write the explorer: static pages that need no network and no server.

    Args:
        folder: Its folder; made if it is absent.

    Returns:
        The page to open, `index.html`.

    Raises:
        NotOurs: If the folder holds something that tutelage has not written; nothing in it is changed then.
        Unreadable: If something in it cannot be read.
    """
    claim(folder, "explorer")
    copy_assets("tutelage.explorer", folder)
    _put(folder / "witnesses.js", witnesses_script().encode())
    return folder / "index.html"


def copy_assets(package: str, folder: Path) -> None:
    """Copy the files in the folder `assets` of a package; what is there already and the same is left alone.

    Args:
        package: The package.
        folder: A folder of ours.

    Raises:
        Unreadable: If a link or something else is in the way.
    """
    with as_file(files(package).joinpath("assets")) as source:
        for path in sorted(source.rglob("*")):
            place = path.relative_to(source)
            if path.is_file():
                _put(inner_folder(folder, *place.parts[:-1]) / place.name, path.read_bytes())


def _put(path: Path, content: bytes) -> None:
    if _content(path) != content:
        write_bytes(path, content)


def _content(path: Path) -> bytes | None:
    try:
        return read_regular(path)
    except FileNotFoundError:
        return None
