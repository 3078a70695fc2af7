"""Jobs to be killed: `python victims.py KIND FOLDER` does one of each kind, and goes on where it was killed.

A sweep, a study of many small pieces, and an audit of claims that are judged quickly; each in a process of its own, so
that whoever started it can kill it at any moment. What nobody kills is done by `do`, without a process of its own.
"""

import json
import os
import sys
import time
from pathlib import Path
from unittest.mock import patch

import numpy as np

KINDS = ("sweep", "study", "audit")
PIECES = 40


def _measure(values, seed, number):
    time.sleep(0.004)
    return {"x": np.random.default_rng([seed, number]).normal(size=50)}


def _conclude(values, pieces):
    from tutelage.studies import Conclusion, described

    total = float(np.sum([arrays["x"] for arrays in pieces.values()]))
    return Conclusion((described("total", "a sum", repr(total), True),), (), {})


def toy_study():
    from tutelage.studies import Study, chosen

    return Study(
        id="convolutional_filter.toy",
        place="Table 9",
        title="a toy",
        question="Does it add up?",
        settings=(chosen("size", 1),),
        pieces=lambda values: {f"piece {number}": {"number": number} for number in range(PIECES)},
        measure=_measure,
        conclude=_conclude,
    )


def _sweep(folder):
    from cheap_work import CheapWork

    from tutelage.sweeps import run_sweep

    run_sweep(CheapWork(cells=2, runs=60, seconds=0.004), folder, workers=1, piece_seconds=2.0)


def _study(folder):
    from tutelage.studies import reproduce, running

    study = toy_study()
    with patch.object(running, "find", lambda names: (study,)):
        list(reproduce([study], folder, workers=1))


def _claims():
    from tutelage.claims import claims_of
    from tutelage.papers import expected_seconds

    claims = sorted(claims_of("local_convergence"), key=lambda claim: expected_seconds().get(claim.id, 9.0))
    return claims[:12]


def _audit(folder):
    from tutelage.claims.auditing import audit

    audit(_claims(), "default", 0, workers=1, folder=folder)


def do(kind: str, folder: Path) -> None:
    """Do a job in this process; a sweep computes in another one."""
    {"sweep": _sweep, "study": _study, "audit": _audit}[kind](folder)


def pieces_in(kind: str, folder: Path) -> int:
    """How many files of pieces there are at this moment."""
    places = {"sweep": "pieces", "study": "convolutional_filter/toy/quick/pieces", "audit": "verdicts/pieces"}
    try:
        return sum(name.endswith(".npz") for name in os.listdir(folder / places[kind]))
    except FileNotFoundError:
        return 0


def outcome(kind: str, folder: Path) -> dict[str, bytes | str]:
    """What a finished job has found, but for the times it took."""
    if kind == "sweep":
        from sweep_results import content

        return content(folder)
    if kind == "study":
        from tutelage.work.store import Store

        place = folder / "convolutional_filter" / "toy" / "quick"
        store = Store(place, toy_study().id)
        found = {key: store.read(key).arrays["x"].tobytes() for key in store}
        manifest = json.loads((place / "manifest.json").read_text())
        return found | {"manifest": str((manifest["complete"], manifest["expectations"], manifest["verdict"]))}
    from tutelage.claims.auditing import read_verdicts

    verdicts = read_verdicts(folder, "local_convergence", _damaged)
    return {f"{one.id} {one.form}": str({**one.document(), "seconds": 0}) for one in verdicts}


def _damaged(sentence: str) -> None:
    raise AssertionError(sentence)


def main() -> None:
    do(sys.argv[1], Path(sys.argv[2]))


if __name__ == "__main__":
    main()
