"""`tutelage sweep`, `status` and `summary` as a user meets them."""

import errno
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from cheap_work import CheapWork
from hostile import quickly, snapshot
from sweep_results import content
from typer.testing import CliRunner

from tutelage.cli import sweeping
from tutelage.cli.main import app
from tutelage.files import json_text
from tutelage.sweeps import open_sweep, run_sweep, running
from tutelage.sweeps.folder import SweepFolder
from tutelage.sweeps.specification.examples import example
from tutelage.work.documents import seal
from tutelage.work.engines import Here
from tutelage.work.job import Progress
from tutelage.work.lock import locked

run = CliRunner().invoke
HELPERS = Path(__file__).parents[1] / "helpers"
PAGE = Path(__file__).parents[2] / "docs" / "cluster.md"
# What makes the example that `tutelage init` writes small, and its grid a grid.
SMALLER = {
    "runs = 50": "runs = 6",
    "students = 6 ": "students = 2 ",
    "neurons = 6\ndimension = 6": "neurons = 2\ndimension = 2",
    "step_limit = 20000": "step_limit = 30",
    "# [grid]": "[grid]",
    "# problem.students = [6, 7, 8]": "problem.students = [2, 3]",
    '# [[zip]]\n# problem.activation = ["relu", "abs"]': 'problem.activation = ["relu"]',
}
PROGRAM = """\
import sys
import cheap_work
from tutelage.cli import main, sweeping
sweeping._work = lambda *_: cheap_work.CheapWork({options})
if __name__ == "__main__":
    {before}
    main()
"""


@pytest.fixture
def here(monkeypatch):
    """Sweep in this process."""
    monkeypatch.setattr(running, "choose_engine", lambda *_: Here())


@pytest.fixture
def cheap(here, monkeypatch):
    """Sweep something that costs nothing, in this process."""

    def choose(**options):
        monkeypatch.setattr(sweeping, "_work", lambda *_: CheapWork(**options))

    choose()
    return choose


def command(folder: Path, options: str, *arguments: str, before: str = "pass") -> subprocess.Popen:
    """Start `tutelage` in a process of its own, sweeping something that costs nothing."""
    program = folder / "tutelage"
    program.write_text(PROGRAM.format(options=options, before=before))
    return subprocess.Popen(
        [sys.executable, str(program), *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(HELPERS), *filter(None, sys.path)])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


@pytest.mark.slow
def test_from_an_example_to_a_figure(tmp_path, monkeypatch):
    """What `init` writes is swept by two workers, continued from its folder, summarised, read and drawn."""
    monkeypatch.chdir(tmp_path)
    # Compilation is most of the time: programs that run for a moment need no optimisation.
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_backend_optimization_level=0"
    monkeypatch.setenv("XLA_FLAGS", flags)
    assert run(app, ["init", "first", "--family", "committee"]).exit_code == 0
    text = Path("first.toml").read_text()
    for long, short in SMALLER.items():
        assert text.count(long) == 1
        text = text.replace(long, short)
    Path("first.toml").write_text(text)

    first = run(app, ["sweep", "first.toml", "--workers", "2", "--json"])
    assert first.exit_code == 0, first.stderr
    document = json.loads(first.stdout)
    assert document["complete"] and document["computed"] == document["done"] == 12 and document["cells"] == 2
    again = run(app, ["sweep", "first-sweep", "--json"])
    assert again.exit_code == 0 and json.loads(again.stdout)["computed"] == 0
    changed = run(app, ["sweep", "first.toml", "--seed", "4"])
    assert changed.exit_code == 2 and "seed" in changed.stderr and "another specification" in changed.stderr

    small = ["--out", "small", "--workers", "1", "--piece-seconds", "0.000001"]
    other = run(app, ["sweep", "first.toml", *small])
    assert other.exit_code == 0 and "12 runs in 2 cells (0 failed)" in other.stdout
    one, two = (open_sweep(name) for name in ("first-sweep", "small"))
    assert one.runs.drop("seconds").collect().equals(two.runs.drop("seconds").collect())
    assert one.records.collect().equals(two.records.collect()) and one.records.collect().height == 2 * 6 * 4
    for cell in range(2):
        assert one.arrays("points", cell)[1].tobytes() == two.arrays("points", cell)[1].tobytes()

    table = run(app, ["summary", "first-sweep", "--json", "--by", "problem.students", "--below", "0.05"])
    rows = json.loads(table.stdout)["settings"]
    assert [row["problem.students"] for row in rows] == [2, 3] and all(row["runs"] == 6 for row in rows)
    expected = one.runs.filter(pl.col("problem.students") == 3).collect()["loss"]
    assert rows[1]["successes"] == (expected <= 0.05).sum()

    # What the documentation shows of reading.
    reading = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)[0]
    names: dict[str, object] = {}
    exec(compile(reading, str(PAGE), "exec"), names)
    assert Path("loss.pdf").stat().st_size > 5000 and names["points"].shape == (6, 2, 2)


def test_summary_table_fits_eighty_columns(cheap, tmp_path):
    """Settings, rates with intervals, steps and losses."""
    run_sweep(CheapWork(), tmp_path, engine=Here())
    result = run(app, ["summary", str(tmp_path)], env={"COLUMNS": "80"}, terminal_width=80)
    assert result.exit_code == 0 and "letter" in result.stdout and "0.650" in result.stdout
    assert "0.433–0.819" in result.stdout and max(map(len, result.stdout.splitlines())) <= 80


def test_no_word_of_a_summary_is_broken(monkeypatch):
    """The settings of the example's grid, some of its runs diverged: what matters least is left out at 80 columns."""
    monkeypatch.setattr(sweeping.console.out, "_width", 80)
    settings = {
        "problem.students": [6, 6],
        "problem.activation": ["leaky_relu", "abs"],
        "method.step": [0.6, 1.5],
        "problem.teacher.neurons": [6, 8],
        "problem.teacher.dimension": [6, 8],
    }
    counts = {"runs": [50, 50], "failed": [0, 0], "diverged": [0, 50], "rate": [1.0, 0.0]}
    ends = {
        "low": [0.929, 0.0],
        "high": [1.0, 0.071],
        "steps": [594.0, 14.0],
        "loss": [1e-12, None],
        "seconds": [3.6, 3.5],
    }
    table = sweeping._summary_table(pl.DataFrame(settings | counts | ends), list(settings))
    with sweeping.console.out.capture() as shown:
        sweeping.console.out.print(table)
    lines = shown.get().splitlines()
    assert len(lines) == 4 and max(map(len, lines)) <= 80  # two of headings: equal columns are one
    words = " ".join(lines).split()
    assert {"students", "activation", "leaky_relu", "neurons,", "dimension", "diverged"} <= set(words)


def test_failed_runs_end_with_exit_code_one(cheap, tmp_path, monkeypatch):
    """The reason is named, and `--retry-failed` computes them again."""
    monkeypatch.chdir(tmp_path)
    cheap(unlucky=True)
    result = run(app, ["sweep", "a.toml", "--workers", "1"])
    assert result.exit_code == 1 and "failed: bad luck" in result.stderr and "--retry-failed" in result.stderr
    assert run(app, ["status", "a-sweep", "--json"]).exit_code == 0
    Path("lucky").touch()
    assert run(app, ["sweep", "a.toml", "--workers", "1"]).exit_code == 1
    result = run(app, ["sweep", "a.toml", "--workers", "1", "--retry-failed", "--json"])
    document = json.loads(result.stdout)
    assert result.exit_code == 0 and document["failed"] == 0 and document["computed"] == 60


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_keeps_what_is_done(tmp_path, ending):
    """Ctrl-C to the whole group of processes: a clean and quick end, and the command that goes on."""
    process = command(tmp_path, "runs=4, slow=600.0", "sweep", "x.toml", "--workers", "2", "--piece-seconds", "1")
    folder = tmp_path / "x-sweep"
    while not (folder / "manifest.json").exists() or open_sweep(folder).coverage.runs < 4:
        time.sleep(0.02)
        assert process.poll() is None
    seen = run(app, ["status", str(folder), "--json"])
    assert json.loads(seen.stdout)["running"]["pid"] == process.pid and json.loads(seen.stdout)["done"] == 4
    os.killpg(process.pid, ending) if ending == signal.SIGINT else process.send_signal(ending)
    # Far below what the workers were about to spend, and far above what a busy machine needs.
    printed, errors = process.communicate(timeout=100)
    assert process.returncode == 130 and not printed
    assert errors.splitlines() == [
        "interrupted; what is done is kept. Go on with: tutelage sweep x.toml --workers 2 --piece-seconds 1"
    ]
    assert open_sweep(folder).coverage.runs == 4
    idle = run(app, ["status", str(folder)])
    assert "4 of 12 runs (33%)" in idle.stdout and "not running; go on with: tutelage sweep x.toml" in idle.stdout


def test_a_full_disk_is_a_clear_line(tmp_path):
    """What is done is kept, the command that goes on is named, and the exit code says that it failed."""
    pytest.importorskip("resource")
    limit = (
        "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1500, 1500))"
    )
    process = command(tmp_path, "", "sweep", "x.toml", "--workers", "1", before=limit)
    printed, errors = process.communicate()
    assert process.returncode == 1 and not printed and len(errors.splitlines()) == 1
    assert "failed: File too large" in errors and "Go on with: tutelage sweep x.toml" in errors


def test_a_folder_in_use_is_refused(cheap, tmp_path):
    """One clear line, and exit code 2."""
    with locked(tmp_path, "an experiment"):
        result = run(app, ["sweep", "x.toml", "--out", str(tmp_path)])
    assert result.exit_code == 2 and f"in use by process {os.getpid()}" in result.stderr


def test_damaged_pieces_are_told(cheap, tmp_path):
    """`status` and `summary` say what is damaged, and `sweep` computes it again."""
    run_sweep(CheapWork(), tmp_path, engine=Here())
    expected = content(tmp_path)
    path = tmp_path / "pieces" / "1-10-10.npz"
    path.write_bytes(path.read_bytes()[:-100])
    result = run(app, ["status", str(tmp_path)])
    assert result.exit_code == 0 and "50 of 60 runs" in result.stdout and path.name in result.stderr
    assert path.name in run(app, ["summary", str(tmp_path)]).stderr
    result = run(app, ["sweep", "x.toml", "--out", str(tmp_path), "--workers", "1"])
    assert result.exit_code == 0 and path.name in result.stderr and content(tmp_path) == expected


def test_names_with_brackets_are_shown_as_they_are(cheap, tmp_path):
    """What a user has named is never taken for a style."""
    folder = tmp_path / "sweep [final]"
    done = run(app, ["sweep", "x.toml", "--out", str(folder), "--workers", "1"], env={"COLUMNS": "400"})
    shown = run(app, ["status", str(folder)], env={"COLUMNS": "400"})
    assert done.exit_code == shown.exit_code == 0
    assert f"tutelage summary '{folder}'" in done.stdout and f"tutelage summary '{folder}'" in shown.stdout
    assert shown.stdout.startswith(f"{folder}: 60 of 60")


def test_status_of_a_running_sweep(tmp_path):
    """Rate and time left come from the process that works there."""
    with locked(tmp_path, "an experiment"):
        held = SweepFolder(tmp_path, CheapWork(), print)
        held.begin()
        with held.session("an experiment", "this process"):
            held.show_progress(Progress(60, 5, computed=5, seconds=2.0, cost=7450.0, workers=2))
            result = run(app, ["status", str(tmp_path)])
    assert result.exit_code == 0 and "2.5 runs/s, 1:02:05 left" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["sweep", "absent.toml"], "absent.toml"),
        (["sweep", "x.toml", "--workers", "-1"], "workers"),
        (["sweep", "x.toml", "--piece-seconds", "0"], "piece_seconds"),
        (["sweep", "x.toml", "--piece-seconds", "nan", "--dry-run"], "piece_seconds"),
        (["sweep", "x.toml", "--dask", "local:x"], "local:x"),
        (["sweep", "x.toml", "--out", "/dev/null/sweep"], "/dev/null/sweep"),
        (["sweep", "."], "not the folder of a sweep"),
        (["status", "nowhere"], "nowhere"),
        (["summary", "nowhere"], "nowhere"),
    ],
)
def test_bad_input_exits_with_two(arguments, named, tmp_path, monkeypatch):
    """One clear line, nothing on standard output, nothing written."""
    monkeypatch.chdir(tmp_path)
    if "x.toml" in arguments:
        monkeypatch.setattr(sweeping, "_work", lambda *_: CheapWork())
    result = run(app, arguments)
    assert result.exit_code == 2 and named in result.stderr and not result.stdout, result.stderr
    assert not list(tmp_path.iterdir())


def test_status_and_summary_do_not_import_jax(tmp_path):
    """Commands that only read are quick."""
    run_sweep(CheapWork(), tmp_path / "sweep", engine=Here())
    for name in ("status", "summary"):
        code = (
            f"import sys; sys.argv = ['tutelage', {name!r}, {str(tmp_path / 'sweep')!r}, '--json']\n"
            "from tutelage.cli.main import app\n"
            "try: app()\nexcept SystemExit: pass\n"
            "assert 'jax' not in sys.modules and 'matplotlib' not in sys.modules"
        )
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_a_terminal_shows_what_a_manifest_says(tmp_path):
    """Whatever a folder of others says, a terminal only shows it: no sequence that moves, hides or colours."""
    run_sweep(CheapWork(), tmp_path, engine=Here())
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    manifest.pop("checksum")
    hostile = "\x1b]0;title\x07\x1b[2J\x9b31m\u202erm"
    (tmp_path / "manifest.json").write_bytes(json_text(seal({**manifest, "command": hostile, "version": hostile})))
    for path in (tmp_path / "pieces").iterdir():
        path.unlink()
    for arguments in (["status", str(tmp_path)], ["summary", str(tmp_path)], ["status", str(tmp_path), "--json"]):
        result = run(app, arguments)
        assert result.exit_code == 0 and "31m" in result.stdout + result.stderr
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", result.stdout + result.stderr)
    assert json.loads(run(app, ["status", str(tmp_path), "--json"]).stdout)["command"] == hostile


def test_keys_of_a_specification_are_only_shown(tmp_path):
    """The same for what a specification of others is called and says."""
    path = tmp_path / "a.toml"
    path.write_text('"\\u001b[2J" = 1\n"\\u009b31m" = "\\u001b[31m"\n')
    result = run(app, ["train", str(path)])
    assert result.exit_code == 2 and "\\x1b[2J" in result.stderr and "\x1b" not in result.stderr
    assert "\x9b" not in result.stderr


def test_a_folder_names_files_inside_it_only(here, tmp_path, monkeypatch):
    """`sweep FOLDER` opens what its manifest names only if it lies in the folder, or with --allow-outside."""
    monkeypatch.setattr("tutelage.sweeps.specification.arrays._EMBEDDED", 8)
    np.save(tmp_path / "teacher.npy", np.eye(2))
    (tmp_path / "a.toml").write_text(
        'runs = 1\n[problem]\nfamily = "committee"\nstudents = 2\nteacher = { file = "teacher.npy" }\n'
        '[method]\nkind = "gradient_descent"\nstep = 0.1\n[stop]\nstep_limit = 2\n'
    )
    folder = str(tmp_path / "results")
    assert run(app, ["sweep", str(tmp_path / "a.toml"), "--out", folder]).exit_code == 0
    refused = run(app, ["sweep", folder])
    assert refused.exit_code == 2 and "--allow-outside" in refused.stderr and "teacher.npy" in refused.stderr
    assert run(app, ["sweep", folder, "--allow-outside"]).exit_code == 0
    (tmp_path / "teacher.npy").unlink()
    os.mkfifo(tmp_path / "teacher.npy")
    with quickly():
        result = run(app, ["sweep", folder, "--allow-outside"])
    assert result.exit_code == 2 and "regular file" in result.stderr


def test_an_unreadable_piece_stops_the_command(tmp_path, cheap, monkeypatch):
    """One clear line and the code for failure; nothing is removed, and later all runs are there."""
    run_sweep(CheapWork(), tmp_path, engine=Here())
    path = tmp_path / "pieces" / "1-10-10.npz"
    before = snapshot(tmp_path / "pieces")
    with monkeypatch.context() as patch:
        real = os.open

        def failing(name, *arguments, **options):
            if os.fspath(name) == os.fspath(path):
                raise OSError(errno.EIO, os.strerror(errno.EIO), os.fspath(name))
            return real(name, *arguments, **options)

        patch.setattr(os, "open", failing)
        for arguments in (["sweep", "x.toml", "--out", str(tmp_path)], ["summary", str(tmp_path)]):
            result = run(app, arguments)
            assert result.exit_code in (1, 2) and "cannot be read (Input/output error)" in result.stderr
            assert "Traceback" not in result.stderr and len(result.stderr.splitlines()) == 1
    assert snapshot(tmp_path / "pieces") == before
    again = run(app, ["sweep", "x.toml", "--out", str(tmp_path), "--json"])
    assert again.exit_code == 0 and json.loads(again.stdout)["computed"] == 0


def test_diverged_runs_are_said_to_be(here, tmp_path, monkeypatch):
    """By `sweep`, `status` and `summary`, with the setting and what to do; their losses are not among those shown."""
    monkeypatch.chdir(tmp_path)
    text = example("neuron").replace("runs = 50", "runs = 3").split("# [grid]")[0]
    text = text.replace("projection = { radius = 10.0 }", "#")
    Path("steep.toml").write_text(text + "[grid]\nmethod.step = [0.5, 50.0]\n", encoding="utf-8")
    done = run(app, ["sweep", "steep.toml"])
    words = "3 of 3 runs diverged (method.step = 50.0): choose a smaller method.step there."
    assert done.exit_code == 0 and "3 diverged" in done.stdout and words in done.stderr
    assert "3 converged, 3 diverged" in run(app, ["status", "steep-sweep"]).stdout
    shown = run(app, ["summary", "steep-sweep"])
    assert words in shown.stderr and "diverged" in shown.stdout
    rows = json.loads(run(app, ["summary", "steep-sweep", "--json"]).stdout)["settings"]
    assert [row["diverged"] for row in rows] == [0, 3] and rows[1]["loss"] is None


def test_dry_run(tmp_path, monkeypatch):
    """Cells, pieces and a guess of the time; nothing is written."""
    monkeypatch.chdir(tmp_path)
    text = example("committee").replace("# [grid]", "[grid]").replace("# problem.students", "problem.students")
    Path("first.toml").write_text(text, encoding="utf-8")
    shown = run(app, ["sweep", "first.toml", "--dry-run"])
    assert shown.exit_code == 0 and "3 cells, 150 runs" in shown.stdout
    document = json.loads(run(app, ["sweep", "first.toml", "--dry-run", "--json"]).stdout)
    assert [cell["problem.students"] for cell in document["cells"]] == [6, 7, 8] and document["core_seconds"] > 0
    assert [path.name for path in tmp_path.iterdir()] == ["first.toml"]


def test_a_dry_run_lists_the_pieces_that_are_computed(tmp_path, monkeypatch):
    """A worker has one core: with several of them pieces are as many, not larger."""
    monkeypatch.chdir(tmp_path)
    Path("first.toml").write_text(
        'runs = 300\n[problem]\nfamily = "neuron"\ntarget = [1.0, 0.0]\n'
        '[method]\nkind = "gradient_descent"\nstep = 0.5\n[stop]\nstep_limit = 5\n',
        encoding="utf-8",
    )
    cut = ("--workers", "2", "--piece-seconds", "0.2")
    document = json.loads(run(app, ["sweep", "first.toml", "--dry-run", "--json", *cut]).stdout)
    assert run(app, ["sweep", "first.toml", *cut]).exit_code == 0
    pieces = sorted(path.name for path in Path("first-sweep", "pieces").iterdir())
    assert pieces == ["0-0-128.npz", "0-128-128.npz", "0-256-44.npz"] and document["pieces"] == len(pieces)
    assert document["workers"] == 2
