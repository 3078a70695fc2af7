"""What a study is: settings, independent pieces of work, and what follows from them.

A study is cut into pieces that do not know of each other, so that they can be spread over processes and an interrupted
study goes on where it stopped. A piece returns plain arrays, which are kept; figures, tables and expectations are made
from these arrays alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from tutelage.checks import one_of
from tutelage.work.documents import plain

Scale = Literal["quick", "paper"]
SCALES: tuple[Scale, ...] = ("quick", "paper")

Arrays = Mapping[str, np.ndarray]
Pieces = Mapping[str, Arrays]


@dataclass(frozen=True)
class Setting:
    """A setting of a study.

    Attributes:
        name: Its name.
        quick: Its value at quick scale.
        paper: Its value at paper scale.
        source: Whether the paper prints it (its value at paper scale), it is our choice, or it was changed by the user.
        note: Why it is chosen so, or where it is printed.
    """

    name: str
    quick: Any
    paper: Any
    source: Literal["printed", "chosen", "changed"]
    note: str = ""


_SAME: Any = object()


def printed(name: str, value: Any, *, quick: Any = _SAME, note: str = "") -> Setting:
    """A setting that the paper prints.

    Args:
        name: Its name.
        value: The printed value, used at paper scale.
        quick: Its value at quick scale, if another.
        note: Where it is printed.
    """
    return Setting(name, value if quick is _SAME else quick, value, "printed", note)


def chosen(name: str, value: Any, *, paper: Any = _SAME, note: str = "") -> Setting:
    """A setting that the paper does not print.

    Args:
        name: Its name.
        value: The value at quick scale.
        paper: Its value at paper scale, if another.
        note: Why it is chosen so.
    """
    return Setting(name, value, value if paper is _SAME else paper, "chosen", note)


class Values(dict[str, Any]):
    """The values of a study's settings at one scale, as attributes and by name."""

    def __getattr__(self, name: str) -> Any:
        if name not in self:
            raise AttributeError(name)
        return self[name]


@dataclass(frozen=True)
class Expectation:
    """Something published, beside what was measured.

    Attributes:
        what: The quantity or behaviour.
        published: The number, or the behaviour in words.
        measured: The number, or what was seen.
        tolerance: How far they may be apart, with the reason where it is not a number.
        ok: Whether they agree; `None` where the settings are not those of the print.
    """

    what: str
    published: float | str
    measured: float | str
    tolerance: float | str | None
    ok: bool | None

    def document(self) -> dict[str, Any]:
        """Return the expectation as plain data for JSON."""
        return plain(asdict(self))


def as_listed(value: Any) -> Any:
    """Return the value of a setting as JSON has it."""
    return list(value) if isinstance(value, tuple) else value


@dataclass(frozen=True)
class Picture:
    """A figure and what it shows.

    Attributes:
        name: Name of its files, without an ending.
        caption: What it shows, in words.
        figure: The figure.
    """

    name: str
    caption: str
    figure: Figure


@dataclass(frozen=True)
class Conclusion:
    """What follows from the pieces of a study.

    Attributes:
        expectations: What was published, beside what was measured.
        pictures: Figures.
        tables: Tables, by name.
        remarks: What a reader should know besides, a sentence or two each.
    """

    expectations: tuple[Expectation, ...]
    pictures: tuple[Picture, ...]
    tables: Mapping[str, pl.DataFrame]
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Study:
    """A figure, table or experiment of a paper as a program.

    Attributes:
        id: Paper and name, as `convolutional_filter.figure-1b`.
        place: Where it is printed, or what it goes beyond.
        title: A few words that name it.
        question: What it asks, and how it answers.
        settings: Its settings.
        pieces: Takes the values of the settings to the pieces of work: plain arguments by name, the longest first.
        measure: Does one piece: takes the values, the seed, and the arguments of the piece to arrays by name.
        conclude: Takes the values and the arrays of all pieces to what follows from them.
        beyond: Whether the paper prints nothing to compare with.
    """

    id: str
    place: str
    title: str
    question: str
    settings: tuple[Setting, ...]
    pieces: Callable[[Values], Mapping[str, Mapping[str, Any]]]
    measure: Callable[..., Arrays]
    conclude: Callable[[Values, Pieces], Conclusion]
    beyond: bool = False

    def __repr__(self) -> str:
        return f"Study({self.id}: {self.title})"

    @property
    def paper(self) -> str:
        """The paper's key."""
        return self.id.split(".", 1)[0]

    @property
    def name(self) -> str:
        """The study's name within its paper."""
        return self.id.split(".", 1)[1]

    @property
    def is_changed(self) -> bool:
        """Whether settings are not those of the study, so that nothing published is to be compared with."""
        return any(setting.source == "changed" for setting in self.settings)

    def values(self, scale: Scale) -> Values:
        """Return the values of the settings at a scale."""
        return Values({setting.name: getattr(setting, checked_scale(scale)) for setting in self.settings})

    def verdict(self, conclusion: Conclusion) -> str:
        """Return `reproduced`, `measured` where nothing is to be compared, or `differs` if an expectation fails."""
        if self.is_changed:
            return "measured"
        if not all(expectation.ok for expectation in conclusion.expectations):
            return "differs"
        return "measured" if self.beyond else "reproduced"


def checked_scale(scale: str) -> Scale:
    """Return the scale, or raise if there is no such scale."""
    return one_of("scale", scale, SCALES)
