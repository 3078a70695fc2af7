"""`tutelage train` and `tutelage init` as a user meets them."""

import json
import re
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import tutelage as tl
from tutelage.cli.main import app
from tutelage.sweeps.specification.examples import families

run = CliRunner().invoke
SPECIFICATION = """\
runs = 8
seed = 2
success = 1e-9
[problem]
family = "neuron"
target = [1.0, 0.0]
[method]
kind = "gradient_descent"
step = 0.5
[stop]
gradient_norm = 1e-9
step_limit = 500
[record]
every = 50
"""


@pytest.fixture
def file(tmp_path):
    """A specification file."""
    path = tmp_path / "neuron.toml"
    path.write_text(SPECIFICATION)
    return path


def test_document_and_files(file, tmp_path):
    """`train --json --out` prints the promised document, and writes tables, students and specification."""
    out = tmp_path / "results"
    result = run(app, ["train", str(file), "--json", "--out", str(out)])
    assert result.exit_code == 0, result.stderr
    document = json.loads(result.stdout)
    assert {"specification", "runs", "statuses", "steps", "loss", "success", "seconds"} == document.keys()
    assert document["runs"] == sum(document["statuses"].values()) == 8
    success = document["success"]
    assert success["threshold"] == 1e-9 and success["rate"] == success["runs"] / 8
    assert success["low"] < success["rate"] <= max(success["high"], 1.0)
    runs = pl.read_parquet(out / "runs.parquet")
    assert runs.height == 8 and runs["success"].sum() == success["runs"] and runs["steps"].sum() == document["steps"]
    assert pl.read_parquet(out / "records.parquet")["run"].n_unique() == 8
    results = tl.open_sweep(out)
    assert results.arrays("points")[1].shape == (8, 2)
    assert tl.Sweep.from_document(results.manifest.document).document()["base"] == document["specification"]
    assert run(app, ["summary", str(out)]).exit_code == 0
    again = json.loads(run(app, ["train", str(file), "--json", "--out", str(out)]).stdout)
    assert {**again, "seconds": 0} == {**document, "seconds": 0}
    other = run(app, ["train", str(file), "--seed", "5", "--out", str(out)])
    assert other.exit_code == 2 and "another specification" in other.stderr


def test_a_folder_that_cannot_be_used_is_bad_input(file, tmp_path):
    """Something of others in the place of the pieces is refused in one line, and left as it is."""
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "pieces").write_text("mine")
    result = run(app, ["train", str(file), "--out", str(tmp_path / "results")])
    assert result.exit_code == 2 and result.stderr.startswith("error: ") and "must be a folder" in result.stderr
    assert (tmp_path / "results" / "pieces").read_text() == "mine"


def test_an_interrupted_training_goes_on(file, tmp_path, monkeypatch):
    """Ctrl-C keeps what is done and says how to go on; without `--out` there is nothing to keep."""
    from tutelage.sweeps import sweep as module

    def cut(sweep, seconds, cores):
        return [tl.sweeps.Range(0, first, 2, 1.0) for first in range(0, 8, 2)]

    real, begun = module.Sweep.run, []

    def interrupted(sweep, covered, *arguments, **options):
        begun.append(covered.first)
        if len(begun) == 3:
            raise KeyboardInterrupt
        return real(sweep, covered, *arguments, **options)

    monkeypatch.setattr(module.Sweep, "ranges", cut)
    monkeypatch.setattr(module.Sweep, "run", interrupted)
    out = tmp_path / "results"
    stopped = run(app, ["train", str(file), "--out", str(out)])
    assert stopped.exit_code == 130 and "what is done is kept. Go on with" in stopped.stderr
    assert tl.open_sweep(out).coverage.runs == 4
    assert run(app, ["train", str(file), "--out", str(out)]).exit_code == 0
    assert begun == [0, 2, 4, 4, 6] and tl.open_sweep(out).complete


def test_table(file):
    """`train` prints a row per status and the rate of success with its interval, within 80 columns."""
    result = run(app, ["train", str(file), "--seed", "3"], env={"COLUMNS": "80"})
    assert result.exit_code == 0
    assert "converged" in result.stdout and "95 % interval" in result.stdout and "of 8 runs" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_seed(file):
    """`--seed` takes the place of the seed in the file."""
    own, same, other = (
        json.loads(run(app, ["train", str(file), "--json", *arguments]).stdout)
        for arguments in ([], ["--seed", "2"], ["--seed", "3"])
    )
    assert own["steps"] == same["steps"] != other["steps"] and other["specification"]["seed"] == 3


def test_all_errors_are_shown(file):
    """Everything that is wrong has a line with its place; the exit code is 2, and nothing is written."""
    file.write_text(SPECIFICATION.replace("neuron", "nueron").replace("step =", "stride ="))
    result = run(app, ["train", str(file), "--json", "--out", str(file.parent / "out")], env={"COLUMNS": "80"})
    assert not (file.parent / "out").exists()
    lines = result.stderr.splitlines()
    assert result.exit_code == 2 and not result.stdout and len(lines) == 3
    assert all(line.startswith(f"error: {file}:") for line in lines)
    assert [line.removeprefix(f"error: {file}:").split(": ")[:2] for line in lines] == [
        ["5", "problem.family"],
        ["7", "method.step"],
        ["9", "method.stride"],
    ]


def test_markup_is_shown_as_it_is(file):
    """What looks like markup in a specification is text."""
    file.write_text(SPECIFICATION.replace('"neuron"', '"[red]neuron[/]"'))
    assert "[red]neuron[/]" in run(app, ["train", str(file)], env={"COLUMNS": "400"}).stderr


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["train", "absent.toml"], "absent.toml: cannot be read"),
        (["train"], "Missing argument"),
        (["init"], "--list"),
        (["init", "new", "--family", "comittee"], "one of committee, "),
        (["init", "/no/such/folder/new"], "cannot be written"),
    ],
)
def test_bad_input_exits_with_two(arguments, named, tmp_path, monkeypatch):
    """Bad input ends with exit code 2 and a line that names it, and writes nothing."""
    monkeypatch.chdir(tmp_path)
    result = run(app, arguments, env={"COLUMNS": "400"})
    assert result.exit_code == 2 and named in result.stderr and not result.stdout
    assert not list(tmp_path.iterdir())


def test_a_grid_is_for_sweep(file):
    """`train` sends a grid of several cells to `sweep`, and runs a grid of one."""
    file.write_text(f"{SPECIFICATION}[grid]\nmethod.step = [0.1, 0.2]\n")
    result = run(app, ["train", str(file)], env={"COLUMNS": "400"})
    assert result.exit_code == 2 and "grid of 2 cells. Run them with `tutelage sweep" in result.stderr
    file.write_text(f"{SPECIFICATION}[grid]\nmethod.step = [0.5]\n")
    assert run(app, ["train", str(file), "--json"]).exit_code == 0


def test_a_seed_of_a_grid_is_not_overridden(file):
    """A seed that is a field of the grid cannot be replaced by one number."""
    file.write_text(f"{SPECIFICATION}[grid]\nseed = [5]\n")
    result = run(app, ["train", str(file), "--seed", "3"], env={"COLUMNS": "400"})
    assert result.exit_code == 2 and "neuron.toml:16: grid.seed: must be left out" in result.stderr


def test_paths_outside_need_a_flag(file, tmp_path):
    """A specification reads files outside its folder only with `--allow-outside`."""
    np.save(tmp_path / "target.npy", np.array([1.0, 0.0]))
    inner = tmp_path / "inner"
    inner.mkdir()
    moved = inner / "neuron.toml"
    moved.write_text(SPECIFICATION.replace("[1.0, 0.0]", '{ file = "../target.npy" }'))
    result = run(app, ["train", str(moved)], env={"COLUMNS": "400"})
    assert result.exit_code == 2 and "neuron.toml:6: problem.target: must stay inside" in result.stderr
    assert run(app, ["train", str(moved), "--allow-outside", "--json"]).exit_code == 0


def test_failed_runs_exit_with_one(file, monkeypatch):
    """Runs that could not be computed are counted and named, and the exit code is 1."""
    from tutelage.sweeps import following

    def refuse(*_, **__):
        raise RuntimeError("nobody expected this")

    monkeypatch.setattr(following, "descend", refuse)
    result = run(app, ["train", str(file), "--json"], env={"COLUMNS": "400"})
    document = json.loads(result.stdout)
    assert result.exit_code == 1 and document["statuses"] == {"failed": 8} and document["success"]["rate"] is None
    assert "8 of 8 runs could not be computed" in result.stderr and "nobody expected this" in result.stderr


def test_failed_runs_are_no_trials(file, monkeypatch):
    """The rate of success is that of the runs that were computed, as in the summary of a sweep."""
    from tutelage.sweeps import following

    descend = following.descend

    def refuse_the_first(*arguments, first_run, **options):
        if first_run == 0:
            raise RuntimeError("shape [student] of [/nobody]")
        return descend(*arguments, first_run=first_run, **options)

    monkeypatch.setattr(following, "descend", refuse_the_first)
    result = run(app, ["train", str(file), "--json"], env={"COLUMNS": "400"})
    success = json.loads(result.stdout)["success"]
    assert result.exit_code == 1 and success["rate"] == success["runs"] / 7
    assert "RuntimeError: shape [student] of [/nobody]" in result.stderr


@pytest.mark.parametrize("family", families())
def test_init(family, tmp_path, monkeypatch):
    """`init` writes an example that is a good specification, and never overwrites."""
    monkeypatch.chdir(tmp_path)
    result = run(app, ["init", "first", "--family", family, "--json"])
    assert result.exit_code == 0 and json.loads(result.stdout) == {"file": "first.toml", "family": family}
    text = (tmp_path / "first.toml").read_text()
    assert f'family = "{family}"' in text and max(map(len, text.splitlines())) <= 128
    sweep = tl.Sweep.from_toml(tmp_path / "first.toml")
    assert len(sweep) == 1
    again = run(app, ["init", "first", "--family", family], env={"COLUMNS": "400"})
    assert again.exit_code == 2 and "exists already" in again.stderr
    assert (tmp_path / "first.toml").read_text() == text
    # The grids that are commented out are good ones, too.
    uncommented = re.sub(r"(?m)^# (?=\[|problem\.|method\.|starts\.)", "", text)
    (tmp_path / "grid.toml").write_text(uncommented)
    assert len(tl.Sweep.from_toml(tmp_path / "grid.toml")) > 1


def test_init_by_name(tmp_path, monkeypatch):
    """A file with the name of a family is an example of that family; what to do next is printed."""
    monkeypatch.chdir(tmp_path)
    result = run(app, ["init", "wave"])
    assert result.exit_code == 0 and "tutelage train wave.toml" in result.stdout
    assert 'family = "wave"' in (tmp_path / "wave.toml").read_text()
    assert run(app, ["init", "mine.toml"]).exit_code == 0
    assert 'family = "committee"' in (tmp_path / "mine.toml").read_text()


def test_list(tmp_path, monkeypatch):
    """`init --list` names the families and writes nothing."""
    monkeypatch.chdir(tmp_path)
    assert json.loads(run(app, ["init", "--list", "--json"]).stdout) == {"families": families()}
    shown = run(app, ["init", "--list"], env={"COLUMNS": "80"})
    assert all(family in shown.stdout for family in families()) and not list(tmp_path.iterdir())


def test_init_does_not_import_jax(tmp_path):
    """Writing an example does not import JAX, nor does the module of workers that sets their environment."""
    code = (
        "import sys; sys.argv = ['tutelage', 'init', 'first']\n"
        "import tutelage.sweeps\n"
        "from tutelage.cli.main import app\n"
        "try: app()\nexcept SystemExit: pass\n"
        "assert 'jax' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, cwd=tmp_path)


def test_long_work_is_announced_with_what_would_make_it_cheaper(file, monkeypatch):
    """Before the runs, on standard error; short work is not announced."""
    assert "by a guess" not in run(app, ["train", str(file)]).stderr
    monkeypatch.setattr("tutelage.cli.console._LONG", 0.0)
    result = run(app, ["train", str(file), "--json"])
    assert result.exit_code == 0 and "of work, by a guess. Each step" in result.stderr
    # Cores that the machine has and this process may not use do not make it shorter.
    monkeypatch.setattr("tutelage.cli.console._LONG", 1e-6)
    monkeypatch.setattr("os.cpu_count", lambda: 10**9)
    monkeypatch.setattr("os.sched_getaffinity", lambda process: {0}, raising=False)
    assert "by a guess" in run(app, ["train", str(file)]).stderr
    json.loads(result.stdout)
