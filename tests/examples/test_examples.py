"""Every script in examples/ runs, says something and writes what it promises."""

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import tutelage as tl

pytestmark = pytest.mark.optimized

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted(
    path.name for path in (ROOT / "examples").glob("*.py") if path.name not in ("tour.py", "slurm_sweep.py")
)
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
def test_scripts_run(script: str, tmp_path: Path, monkeypatch, capsys) -> None:
    """In this process, which has loaded JAX already, and compiled what scripts share; a warning is an error here."""
    path = ROOT / "examples" / script
    used = set(re.findall(r"\btl\.(\w+)", path.read_text(encoding="utf-8")))
    assert used and used <= set(tl.__all__), "a fresh process would not find it"
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out.strip()


# The three other families take as long again to compile, and use nothing that these do not.
@pytest.mark.slow
def test_tour_writes_figures_and_prints_tables(tmp_path: Path) -> None:
    families = FAMILIES[:4]
    options = ("--quick", "--output", "figures", "--overview", "pictures/all.png")
    printed = run("tour.py", *options, *families, folder=tmp_path)
    assert max(len(line) for line in printed.splitlines()) <= 80
    for number, family in enumerate(families, start=1):
        assert f"[{number}/{len(families)}] {family}" in printed
        assert f"{family}: " in printed
        for ending in ("png", "svg"):
            assert (tmp_path / "figures" / f"{family}.{ending}").stat().st_size > 5000
    assert (tmp_path / "pictures" / "all.png").stat().st_size > 5000


def test_tour_refuses_an_unknown_family(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="there is no family perceptron"):
        run("tour.py", "perceptron", folder=tmp_path)
