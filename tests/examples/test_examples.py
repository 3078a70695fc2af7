"""Every script in examples/ runs, says something and writes what it promises."""

import re
import runpy
import sys
from pathlib import Path

import matplotlib
import pytest

import tutelage as tl

ROOT = Path(__file__).parents[2]
# These take more steps than there is to compile.
LONG = ("first_descent.py", "flow_and_newton.py", "sgd_against_population.py")
SCRIPTS = [
    pytest.param(path.name, marks=pytest.mark.optimized) if path.name in LONG else path.name
    for path in sorted((ROOT / "examples").glob("*.py"))
    if path.name not in ("tour.py", "slurm_sweep.py")
]
FAMILIES = ("neuron", "committee", "homogeneous", "convolution", "wave", "parity", "composite")


def run(*command: str, folder: Path, monkeypatch, capsys) -> str:
    """Run a script in a folder of its own, in this process, and return what it prints."""
    path = ROOT / "examples" / command[0]
    used = set(re.findall(r"\btl\.(\w+)", path.read_text(encoding="utf-8")))
    assert used and used <= set(tl.__all__), "a fresh process would not find it"
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", list(command))
    with matplotlib.rc_context():
        runpy.run_path(str(path), run_name="__main__")
    return capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS)
def test_scripts_run(script: str, tmp_path: Path, monkeypatch, capsys) -> None:
    """In this process, which has loaded JAX already, and compiled what scripts share; a warning is an error here."""
    assert run(script, folder=tmp_path, monkeypatch=monkeypatch, capsys=capsys).strip()


# The three other families take as long again to compile, and use nothing that these do not.
@pytest.mark.slow
def test_tour_writes_figures_and_prints_tables(tmp_path: Path, monkeypatch, capsys) -> None:
    families = FAMILIES[:4]
    options = ("--quick", "--output", "figures", "--overview", "pictures/all.png")
    printed = run("tour.py", *options, *families, folder=tmp_path, monkeypatch=monkeypatch, capsys=capsys)
    assert max(len(line) for line in printed.splitlines()) <= 80
    for number, family in enumerate(families, start=1):
        assert f"[{number}/{len(families)}] {family}" in printed
        assert f"{family}: " in printed
        for ending in ("png", "svg"):
            assert (tmp_path / "figures" / f"{family}.{ending}").stat().st_size > 5000
    assert (tmp_path / "pictures" / "all.png").stat().st_size > 5000


def test_tour_refuses_an_unknown_family(tmp_path: Path, monkeypatch, capsys) -> None:
    with pytest.raises(SystemExit) as ended:
        run("tour.py", "perceptron", folder=tmp_path, monkeypatch=monkeypatch, capsys=capsys)
    assert ended.value.code not in (0, None)
    assert "there is no family perceptron" in f"{ended.value.code} {capsys.readouterr().err}"
