"""What results depend on: a change in a source makes those stale that depend on it, and no others."""

import ast
import shutil
import sys
from pathlib import Path

import pytest
from cheap_work import CheapWork

import tutelage
from tutelage.claims import all_claims
from tutelage.studies import all_studies
from tutelage.sweeps import Sweep
from tutelage.sweeps import folder as module
from tutelage.work import program
from tutelage.work.engines import Here
from tutelage.work.program import dependencies, modules_of, program_digest

ROOT = Path(tutelage.__file__).parent
CHANGED = "duals/piecewise_linear.py"


@pytest.fixture(scope="module")
def other_sources(tmp_path_factory):
    """A copy of the package in which one constant of a dual is another."""
    copy = tmp_path_factory.mktemp("sources") / "tutelage"
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns("__pycache__", "*.svg", "*.html", "*.json"))
    source = (copy / CHANGED).read_text()
    assert "(2 / np.pi)" in source
    (copy / CHANGED).write_text(source.replace("(2 / np.pi)", "(2.1 / np.pi)"))
    return copy


def _results():
    """All kinds of results that are kept, with the modules that they come from."""
    for study in all_studies():
        yield study.id, modules_of((study.pieces, study.measure, study.conclude))
    for claim in all_claims():
        yield claim.id, modules_of(claim)
    yield "sweep", {Sweep.__module__}


def test_a_change_makes_stale_what_depends_on_it_and_nothing_else(other_sources):
    """All studies, verdicts and sweeps, after one constant of a dual has changed."""
    changed = f"tutelage.{CHANGED.removesuffix('.py').replace('/', '.')}"
    stale, fresh = set(), set()
    for name, modules in _results():
        kept = program_digest(*sorted(modules)) == program_digest(*sorted(modules), root=other_sources)
        assert kept == (changed not in dependencies(modules)), name
        (fresh if kept else stale).add(name)
    assert {"sweep", "weight_sharing.theorem-4", "mild_overparameterization.experiment"} <= stale
    # Judged in NumPy by formulas of their own, and a study with a loss of its own: no such dual is in them.
    assert {
        "mild_overparameterization.conjecture-1",
        "single_neuron.theorem-3.2",
        "local_convergence.figures-2-3",
    } <= fresh


def test_dependencies_are_what_is_imported():
    """By name, through the lists of packages, inside functions, and relative to a package; never a neighbour."""
    found = dependencies(["tutelage.inputs.spherical"])
    assert {"tutelage.inputs.radii", "tutelage.inputs.base", "tutelage.checks", "tutelage.errors"} <= set(found)
    assert "tutelage.inputs.mixture" not in found and "tutelage.duals.base" not in found
    assert "tutelage.cli.console" in dependencies(["tutelage.cli.minima"])
    # All that is at the top of the package.
    assert "tutelage.geometry.certificate" in dependencies(["tutelage"])


def test_imports_count_wherever_they_are():
    """In every block of every statement."""
    source = (
        "import a\nif a:\n    import b\nelif b:\n    import c\nelse:\n    import d\n"
        "try:\n    import e\nexcept* OSError:\n    import f\nelse:\n    import g\nfinally:\n    import h\n"
        "async def one():\n    async for two in a:\n        import i\n    else:\n        import j\n"
        "    async with b:\n        class Three:\n            import k\n"
        "while a:\n    match b:\n        case 1:\n            from l import m\n"
        "four = (lambda: 1) if a else [five for five in b]\n"
    )
    tree = ast.parse(source)
    every = [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]
    found = list(program._imports(tree))
    assert len(every) == 12 and sorted(map(ast.dump, found)) == sorted(map(ast.dump, every))


def test_a_module_of_ones_own_counts(tmp_path, monkeypatch):
    """The program of a study outside the package is its own source, and what it imports from here."""
    path = tmp_path / "my_study.py"
    path.write_text("from tutelage.inputs import gaussian\n\ndef measure():\n    return 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    module = pytest.importorskip("my_study")
    modules = modules_of(module.measure)
    assert modules == {"my_study"}
    assert "tutelage.inputs.gaussian" in dependencies(modules)
    before = program_digest(*modules)
    path.write_text(path.read_text().replace("return 1", "return 2"))
    program._source.cache_clear()
    assert program_digest(*modules) != before
    del sys.modules["my_study"]


def test_functions_are_found_wherever_they_are_held():
    """In fields, collections, partial functions and closures."""
    claim = next(claim for claim in all_claims() if claim.id == "single_neuron.lemma-6.3")
    assert any(name.startswith("tutelage.claims.single_neuron.") for name in modules_of(claim))
    assert {claim.__module__, "tutelage.claims.laws"} <= modules_of(claim)


def test_a_sweep_of_another_program_is_refused_unless_it_may_be_mixed(tmp_path, monkeypatch):
    """After a change of what its runs depend on a folder is refused as it is; mixed, all its runs stay."""
    folder = tmp_path / "sweep"
    work = CheapWork(cells=2, runs=6)
    tutelage.run_sweep(work, folder, engine=Here())
    before = {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
    monkeypatch.setattr(module, "program_digest", lambda *modules: "0" * 64)
    with pytest.raises(tutelage.InvalidArgument, match="computed by another program"):
        tutelage.run_sweep(work, folder, engine=Here())
    assert before == {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
    results = tutelage.run_sweep(work, folder, engine=Here(), mixed=True)
    assert results.runs.collect().height == 12
    with pytest.raises(tutelage.InvalidArgument, match="--mixed"):
        tutelage.run_sweep(work, folder, engine=Here())
