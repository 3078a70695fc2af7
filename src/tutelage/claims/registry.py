"""All claims, by paper and identifier."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from importlib import import_module

from tutelage.checks import one_of, sequence, text
from tutelage.claims.statement import Claim
from tutelage.errors import invalid
from tutelage.papers import PAPERS


def claims_of(paper: str) -> tuple[Claim, ...]:
    """Return the claims of a paper, in the order of the print.

    Args:
        paper: The paper's key.

    Raises:
        InvalidArgument: If the paper is not covered.
    """
    return import_module(f"tutelage.claims.{one_of('paper', paper, PAPERS)}").CLAIMS


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
