"""Commented example specifications, one a family of problems; reading them imports nothing that computes."""

from __future__ import annotations

from importlib import resources

_FOLDER = resources.files("tutelage.sweeps.specification") / "examples"


def families() -> dict[str, str]:
    """Return the families that have an example, with what each is about: its first line."""
    files = sorted(_FOLDER.iterdir(), key=lambda file: file.name)
    return {file.name.removesuffix(".toml"): _first_line(file.read_text(encoding="utf-8")) for file in files}


def example(family: str) -> str:
    """Return the text of an example specification.

    Args:
        family: One of `families()`.
    """
    return (_FOLDER / f"{family}.toml").read_text(encoding="utf-8")


def _first_line(text: str) -> str:
    return text.splitlines()[0].removeprefix("#").strip()
