"""Every script in examples/ runs, says something and writes what it promises."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted(path.name for path in (ROOT / "examples").glob("*.py") if path.name != "tour.py")
FAMILIES = ("neuron", "committee", "homogeneous", "convolution", "wave", "parity", "composite")


def run(*command: str, folder: Path) -> str:
    """Run a script in a fresh interpreter, in a folder of its own, and return what it prints."""
    # Compilation is most of the time: programs that run for a moment need no optimisation.
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_backend_optimization_level=0"
    outcome = subprocess.run(
        [sys.executable, str(ROOT / "examples" / command[0]), *command[1:]],
        cwd=folder,
        env=os.environ | {"XLA_FLAGS": flags, "JAX_NUM_CPU_DEVICES": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert outcome.returncode == 0, outcome.stderr
    return outcome.stdout


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS)
def test_scripts_run(script: str, tmp_path: Path) -> None:
    assert run(script, folder=tmp_path).strip()


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_tour_writes_a_figure_and_prints_a_table(family: str, tmp_path: Path) -> None:
    printed = run("tour.py", "--quick", "--output", "figures", family, folder=tmp_path)
    assert f"[1/1] {family}" in printed
    assert f"{family}: " in printed
    assert max(len(line) for line in printed.splitlines()) <= 80
    for ending in ("png", "svg"):
        assert (tmp_path / "figures" / f"{family}.{ending}").stat().st_size > 5000


@pytest.mark.slow
def test_tour_writes_an_overview(tmp_path: Path) -> None:
    run("tour.py", "--quick", "--overview", "pictures/all.png", "convolution", folder=tmp_path)
    assert (tmp_path / "pictures" / "all.png").stat().st_size > 5000
    assert (tmp_path / "build" / "demo" / "convolution.png").exists()


def test_tour_refuses_an_unknown_family(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="there is no family perceptron"):
        run("tour.py", "perceptron", folder=tmp_path)
