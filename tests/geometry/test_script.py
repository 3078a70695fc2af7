"""Certificates as programs: they run with mpmath alone, and find out false ones."""

import dataclasses
import subprocess
import sys

import numpy as np
import pytest

import tutelage as tl


def run(text: str) -> subprocess.CompletedProcess:
    # Isolated: nothing of the environment, and no package but mpmath is imported.
    return subprocess.run([sys.executable, "-I", "-c", text], capture_output=True, text=True, timeout=120)


@pytest.fixture(scope="module")
def certificate() -> tl.geometry.Certificate:
    """A saddle of two neurons with noise and two slopes."""
    problem = tl.problems.committee(np.eye(2), students=2, activation="abs", noise=0.25)
    found = tl.certify(tl.population(problem), [[-0.694492, 0.694492], [0.694492, 0.694492]], digits=30)
    assert found.kind == "saddle"
    return found


def test_true_certificates_pass(certificate):
    """Every condition holds, and the program imports nothing of the library."""
    text = certificate.script()
    imports = [line for line in text.splitlines() if "import" in line]
    assert "tutelage" not in text and [line.split()[1] for line in imports] == ["mpmath"]
    done = run(text)
    assert done.returncode == 0 and done.stdout.count("holds") == 7, done.stdout + done.stderr


def test_a_spurious_minimum_passes(six):
    """Six neurons."""
    point = tl.family("k-1,1").points(6)[1].student()
    done = run(tl.certify(six, point, digits=25).script())
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"index": 0}, "index"),
        ({"lipschitz": 1e-3}, "Lipschitz"),
        ({"gradient_norm": 0.0}, "gradient"),
        ({"loss": (0.5, 0.6)}, "loss"),
        ({"least_curvature": 5.0}, "index"),
    ],
)
def test_false_certificates_fail(certificate, change, named):
    """A number that is wrong is named, and the program ends with code 1."""
    done = run(dataclasses.replace(certificate, **change).script())
    assert done.returncode == 1 and any("FAILS" in line and named in line for line in done.stdout.splitlines())


def test_what_is_not_proved_has_no_script():
    objective = tl.population(tl.problems.committee(np.eye(2), students=2))
    refused = tl.certify(objective, [[3.0, 1.0], [0.3, 0.2]])
    assert not refused.proved
    with pytest.raises(tl.InvalidArgument, match="certificate"):
        refused.script()
    with pytest.raises(tl.InvalidArgument, match="in full"):
        tl.family("k").points(5)[1].certify().script()
