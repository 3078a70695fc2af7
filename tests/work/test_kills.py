"""SIGKILL at random moments to sweeps, studies and audits: nothing is lost, doubled or half there.

As a program, `python tests/work/test_kills.py 200` kills as often as it is told.
"""

import random
import sys
import tempfile
import time
from pathlib import Path

import pytest

HELPERS = Path(__file__).parents[1] / "helpers"
sys.path.append(str(HELPERS))

import victims  # noqa: E402
from forks import Forks  # noqa: E402


@pytest.fixture(scope="module")
def forks():
    with ready() as forks:
        yield forks


def ready() -> Forks:
    """A process that has imported what jobs need."""
    return Forks("victims", "cheap_work", "tutelage.claims.auditing", "tutelage.sweeps", "tutelage.studies")


def attacked(forks: Forks, kind: str, folder: Path, whole: dict, kills: int, chance: random.Random) -> int:
    """Kill a job, let it go on, and kill it again; a job that has come to its end is begun anew. Return how often."""
    killed = jobs = 0
    while killed < kills:
        place = folder / f"{kind} {jobs}"
        before = victims.pieces_in(kind, place)
        process = forks.start("victims", kind, str(place))
        # After one more piece, or none, and a moment: while it writes, computes or concludes.
        wanted = before + chance.choice((0, 1, 3))
        while process.poll() is None and victims.pieces_in(kind, place) < wanted:
            time.sleep(0.005)
        time.sleep(chance.uniform(0.0, 0.02))
        ended = process.poll() is not None
        process.kill()
        _, errors = process.communicate()
        assert victims.pieces_in(kind, place) >= before
        if not ended:
            killed += 1
        else:
            assert process.returncode == 0, errors.decode()
            assert victims.outcome(kind, place) == whole
            # An audit shares its folder, and removes only what is old.
            assert kind == "audit" or not list(place.rglob("*.tmp"))
            assert not list(place.rglob("damaged"))
            jobs += 1
    place = folder / f"{kind} {jobs}"
    victims.do(kind, place)
    assert victims.outcome(kind, place) == whole
    return killed


@pytest.mark.slow
@pytest.mark.parametrize("kind", victims.KINDS)
def test_killed_jobs_end_as_if_nothing_had_happened(forks, tmp_path, kind):
    """The same tables, arrays and verdicts as those of a job that nobody has disturbed."""
    victims.do(kind, tmp_path / "whole")
    assert victims.pieces_in(kind, tmp_path / "whole") > 4
    assert attacked(forks, kind, tmp_path, victims.outcome(kind, tmp_path / "whole"), 4, random.Random(0)) == 4


def main() -> None:
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    with tempfile.TemporaryDirectory() as temporary, ready() as forks:
        for place, kind in enumerate(victims.KINDS):
            folder = Path(temporary) / kind
            victims.do(kind, folder / "whole")
            share = kills // 3 + (place < kills % 3)
            done = attacked(forks, kind, folder, victims.outcome(kind, folder / "whole"), share, random.Random(place))
            print(f"{kind}: {done} kills, nothing lost, nothing doubled", flush=True)


if __name__ == "__main__":
    main()
