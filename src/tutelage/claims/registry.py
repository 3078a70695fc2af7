"""All claims, by paper and identifier.

The claims of a paper are those that the modules of its folder define. They stand in the order in which the map of its
print names them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

from tutelage.checks import one_of, sequence, text
from tutelage.claims.statement import Claim
from tutelage.errors import invalid
from tutelage.papers import PAPERS, printed_at


def claims_of(paper: str) -> tuple[Claim, ...]:
    """Return the claims of a paper, in the order of the print.

    Args:
        paper: The paper's key.

    Raises:
        InvalidArgument: If the paper is not covered.
    """
    return _claims_of(one_of("paper", paper, PAPERS))


@cache
def _claims_of(paper: str) -> tuple[Claim, ...]:
    package = import_module(f"tutelage.claims.{paper}")
    claims = collected(import_module(f"{package.__name__}.{found.name}") for found in iter_modules(package.__path__))
    named = [id for id in printed_at(paper) if id in claims]
    # One that the map does not name yet can be judged all the same.
    return tuple(claims[id] for id in dict.fromkeys([*named, *claims]))


def collected(modules: Iterable[ModuleType]) -> dict[str, Claim]:
    """Return the claims that modules define, alone or in tuples, by identifier.

    Args:
        modules: The modules.

    Raises:
        ValueError: If two claims have one identifier.
    """
    claims: dict[str, Claim] = {}
    for value in (value for module in modules for value in vars(module).values()):
        for claim in value if isinstance(value, tuple) else (value,):
            if isinstance(claim, Claim) and claims.setdefault(claim.id, claim) is not claim:
                raise ValueError(f"There are two claims {claim.id}.")
    return claims


def all_claims() -> tuple[Claim, ...]:
    """Return all claims of all papers."""
    return tuple(claim for paper in PAPERS for claim in claims_of(paper))


def find(patterns: Sequence[str] = ()) -> tuple[Claim, ...]:
    """Return the claims that match any of the patterns; all claims if there are none.

    Args:
        patterns: Papers (`convolutional_filter`), identifiers (`convolutional_filter.lemma-4.2`), or identifiers with
            wildcards (`*.lemma-*`). A statement stands for its parts.

    Raises:
        InvalidArgument: If a pattern matches nothing.
    """
    patterns = sequence("patterns", patterns, "a list of papers, identifiers or patterns")
    if not patterns:
        return all_claims()
    chosen: dict[str, Claim] = {}
    for pattern in (text("patterns", pattern) for pattern in patterns):
        # A paper loads alone: a pattern that names one needs no other.
        paper = pattern.partition(".")[0]
        among = claims_of(paper) if paper in PAPERS else all_claims()
        matching = [claim for claim in among if _matches(claim, pattern)]
        if not matching:
            close = get_close_matches(pattern, [*PAPERS, *(claim.id for claim in among)], n=3)
            remedy = f"Perhaps {' or '.join(close)} is meant" if close else f"The papers are {', '.join(PAPERS)}"
            raise invalid("claim", "name a paper, a claim, or a pattern that matches one", repr(pattern), remedy)
        chosen |= {claim.id: claim for claim in matching}
    return tuple(chosen.values())


def _matches(claim: Claim, pattern: str) -> bool:
    return claim.id.startswith(f"{pattern}.") or fnmatchcase(claim.id, pattern)
