"""The recipes of CONTRIBUTING: a new model, law or method is one file, and everything else takes it as it is."""

import json
import os
import subprocess
import sys
from pathlib import Path

HELPERS = Path(__file__).parent / "helpers"


def test_newcomers_are_swept_surveyed_and_reported(tmp_path):
    """A model, a law and a method of one's own, through the specification of a sweep, an atlas, and a report."""
    outcome = subprocess.run(
        [sys.executable, str(HELPERS / "newcomers.py"), str(tmp_path)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert outcome.returncode == 0, outcome.stderr
    found = json.loads(outcome.stdout)
    assert found["sweep"]["runs"] == 6 and found["sweep"]["failed"] == 0 and found["sweep"]["loss"] < 0.1
    # Vectors of one sign may be exchanged; with vectors of different signs exchanged it is no critical point.
    assert found["atlas"] == {"counts": [2], "left_out": 1}
    assert found["report"] == {"verdict": "measured", "shown": True}
