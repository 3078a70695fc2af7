"""Where in a TOML text every value is written: `tomllib` reads values and forgets their lines.

The text is read by `tomllib` first, so that this scanner may rely on its syntax: it only follows keys, brackets and
strings.
"""

from __future__ import annotations

import bisect
import re
import tomllib
from collections.abc import Callable, Mapping
from typing import TypeVar

Path = tuple[str | int, ...]
Place = TypeVar("Place")

_SPACE = re.compile(r"[ \t]*")
_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_STRING = re.compile(
    r'"""(?:\\[\s\S]|[^\\])*?"""(?:"{0,2})'  # a quote or two may stand before the closing three
    r"|'''[\s\S]*?'''(?:'{0,2})"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'[^'\n]*'"
)
_SCALAR = re.compile(r"[^,\]}#\n]+")


def positions(text: str) -> dict[Path, int]:
    """Return the line, from one, of every table, key and array entry of a valid TOML text.

    Args:
        text: The text; `tomllib.loads` accepts it.
    """
    return _Scanner(text).scan()


def closest(places: Mapping[Path, Place], path: Path) -> tuple[Place | None, Path]:
    """Return where a value, or else the closest table around it, is written, and the rest of the path from there."""
    for length in range(len(path), 0, -1):
        if path[:length] in places:
            return places[path[:length]], path[length:]
    return None, path


class _Scanner:
    def __init__(self, text: str):
        self.text = text.replace("\r\n", "\n")
        self.at = 0
        self.lines: dict[Path, int] = {}
        self._breaks = [match.start() for match in re.finditer("\n", self.text)]
        self._tables: dict[Path, int] = {}  # how many tables an array of tables has so far

    def scan(self) -> dict[Path, int]:
        table: Path = ()
        self._skip(_BLANK)
        while self.at < len(self.text):
            table = self._header() if self.text[self.at] == "[" else self._entry(table)
            self._skip(_BLANK)
        return self.lines

    def _line(self) -> int:
        return bisect.bisect_left(self._breaks, self.at) + 1

    def _skip(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.text, self.at)
        assert match is not None, f"tomllib accepts what this scanner does not, at line {self._line()}"
        self.at = match.end()
        return match[0]

    def _expect(self, sign: str) -> None:
        assert self.text.startswith(sign, self.at), f"no {sign} at line {self._line()}"
        self.at += len(sign)

    def _header(self) -> Path:
        line, several = self._line(), self.text.startswith("[[", self.at)
        self._expect("[[" if several else "[")
        *parents, last = self._key()
        self._expect("]]" if several else "]")
        path: Path = ()
        for part in parents:
            path = self._newest((*path, part))
            self.lines.setdefault(path, line)
        path = (*path, last)
        if several:
            self._tables[path] = self._tables.get(path, 0) + 1
            self.lines.setdefault(path, line)
        path = self._newest(path)
        self.lines.setdefault(path, line)
        return path

    def _newest(self, path: Path) -> Path:
        return (*path, self._tables[path] - 1) if path in self._tables else path

    def _entry(self, table: Path) -> Path:
        line, path = self._line(), table
        for part in self._key():
            path = (*path, part)
            self.lines.setdefault(path, line)
        self._expect("=")
        self._value(path)
        return table

    def _key(self) -> list[str]:
        parts = []
        while True:
            self._skip(_SPACE)
            if self.text[self.at] in "\"'":
                parts.append(tomllib.loads(f"key = {self._skip(_STRING)}")["key"])
            else:
                parts.append(self._skip(_BARE))
            self._skip(_SPACE)
            if self.text[self.at] != ".":
                return parts
            self.at += 1

    def _value(self, path: Path) -> None:
        self._skip(_SPACE)
        self.lines.setdefault(path, self._line())
        sign = self.text[self.at]
        if sign == "[":
            self._several("]", lambda number: self._value((*path, number)))
        elif sign == "{":
            self._several("}", lambda _: self._entry(path))
        elif sign in "\"'":
            self._skip(_STRING)
        else:
            self._skip(_SCALAR)

    def _several(self, closing: str, one: Callable[[int], object]) -> None:
        self.at += 1
        self._skip(_BLANK)
        number = 0
        while self.text[self.at] != closing:
            one(number)
            number += 1
            self._skip(_BLANK)
            if self.text[self.at] == ",":
                self.at += 1
                self._skip(_BLANK)
        self.at += 1
