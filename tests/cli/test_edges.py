"""Every command at its edges: what was tried, and how it has to end.

| tried | how | ends with |
| --- | --- | --- |
| no arguments | the bare program; a command that needs some | help, or a line that says what is missing; code 2 |
| help | `--help` of every command | an example; code 0 |
| wrong arguments | unknown options, names that match nothing, numbers out of range | a line that names it; code 2 |
| a folder that nothing can be written to | a file in its place, below a file, `/proc` | a line that names it; code 2 |
| a full disk | the report's folder; standard output at `/dev/full`; a limit on the size of files | a line; code 1 |
| no terminal, `NO_COLOR` | pipes; a pseudo-terminal with `NO_COLOR` | no control characters; no colours |
| Ctrl-C | a real signal, and one in the middle of every command's work | a line; code 130 |
| a closed pipe | as of `… \\| head -1` | nothing more; code 141, as of a program that it ends |

Codes: 0 done, 1 something failed that was expected to hold or to work, 2 bad input, 130 interrupted. A new command is a
line in `COMMANDS`.
"""

import errno
import itertools
import os
import pty
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tutelage.cli.main import app
from tutelage.sweeps.specification.examples import example

run = CliRunner().invoke
CHEAP = "convolutional_filter.section-E.step"
STUDY = "mild_overparameterization.figure-2"


@dataclass(frozen=True)
class Command:
    """A command, and how to try it.

    Attributes:
        name: Its name.
        small: Arguments for a job of a second or two.
        wrong: Wrong arguments, and what the message has to name.
        work: The function, by module and name, that does the work; empty if there is nothing to interrupt.
        folder: Whether `--out` names a folder.
    """

    name: str
    small: tuple[str, ...]
    wrong: tuple[tuple[tuple[str, ...], str], ...]
    work: str = ""
    folder: bool = False


COMMANDS = (
    Command("papers", (), ((("--colour",), "--colour"), (("no_such_paper",), "no_such_paper"))),
    Command(
        "audit",
        (CHEAP, "--workers", "1"),
        (
            (("no_such_paper",), "no_such_paper"),
            (("[single_neuron]",), "[single_neuron]"),
            ((CHEAP, "--effort", "extreme"), "extreme"),
            ((CHEAP, "--seed", "-1"), "--seed"),
            ((CHEAP, "--workers", "two"), "--workers"),
        ),
        work="tutelage.claims.auditing._judge",
        folder=True,
    ),
    Command(
        "reproduce",
        (STUDY, "--workers", "1"),
        (
            (("single_neuron.figure-9",), "figure-9"),
            ((STUDY, "--scale", "huge"), "huge"),
            ((STUDY, "--seed", "0.5"), "--seed"),
        ),
        work="tutelage.studies.running._measure",
        folder=True,
    ),
    Command(
        "demo",
        ("single_neuron", "--workers", "1"),
        ((("no_such_paper",), "no_such_paper"), (("--scale", "paper"), "--scale")),
        work="tutelage.studies.running._measure",
        folder=True,
    ),
    Command(
        "minima",
        ("--neurons", "2", "--runs", "2"),
        (
            ((), "--neurons"),
            (("absent.npz",), "absent.npz"),
            (("--neurons", "0"), "--neurons"),
            (("--neurons", "2", "--step", "nan"), "--step"),
            (("--neurons", "2", "--out", "/dev/null/atlas.npz"), "/dev/null/atlas.npz"),
        ),
        work="tutelage.cli.minima._search",
    ),
    Command("verify", (), (((), "file"), (("absent.npz",), "absent.npz"), (("/dev/null",), "/dev/null"))),
    Command(
        "family",
        ("k-1,1", "--neurons", "6"),
        (
            ((), "blocks"),
            (("k-1,1",), "--neurons"),
            (("k-1,1", "--neurons", "many"), "--neurons"),
            (("k-1,1", "--neurons", "nan"), "neurons"),
            (("k+,1", "--neurons", "6"), "blocks"),
            (("k-1,1", "--neurons", "6", "--students", "3"), "students"),
        ),
        work="tutelage.geometry.families.points.critical_tables",
    ),
    Command(
        "explore",
        ("--no-open",),
        ((("no_such.claim",), "no_such.claim"), (("--no-open", "--out", "/dev/null/x"), "/dev/null/x")),
        folder=True,
    ),
    Command("show", (), ((("no_such.claim",), "no_such.claim"),)),
    Command("errata", (), ((("no_such",), "no_such"),)),
    # Interruptions, full disks and folders of these are tried in test_sweep.py and test_training.py.
    Command(
        "init",
        (),
        (
            ((), "name a file"),
            (("first", "--family", "forest"), "forest"),
            (("no/such/folder/first",), "no/such/folder"),
        ),
    ),
    Command(
        "train",
        (),
        (((), "specification"), (("absent.toml",), "absent.toml"), (("/dev/null", "--seed", "-1"), "--seed")),
    ),
    Command(
        "sweep",
        (),
        (
            ((), "SPEC.toml"),
            (("absent.toml",), "absent.toml"),
            (("absent.toml", "--workers", "-1"), "--workers"),
            (("absent.toml", "--out", "/dev/null/results"), "/dev/null/results"),
        ),
    ),
    Command("status", (), (((), "folder"), (("no-such-folder",), "no-such-folder"), (("/dev/null",), "/dev/null"))),
    Command("summary", (), (((), "folder"), (("no-such-folder",), "no-such-folder"))),
)
WRONG = [(command.name, *case) for command in COMMANDS for case in command.wrong]
WITH_WORK = [command for command in COMMANDS if command.work]
WITH_FOLDER = [command for command in COMMANDS if command.folder]
by_name = {"ids": lambda command: command.name}


def _arguments(command: Command, folder: Path) -> list[str]:
    return [command.name, *command.small, *(["--out", str(folder)] if command.folder else [])]


def _process(*arguments: str, before: str = "", **options) -> subprocess.CompletedProcess:
    code = f"{before}\nimport sys; sys.argv[0] = 'tutelage'\nfrom tutelage.cli.main import main; main()"
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "timeout": 300, **options}
    return subprocess.run([sys.executable, "-c", code, *arguments], text=True, **options)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("minima", "--neurons", "0"), "--neurons must be greater than or equal to 1, but received '0'."),
        (("audit", "--seed", "-1"), "--seed must be greater than or equal to 0, but received '-1'."),
        (("audit", "--workers", "two"), "unable to parse string as an integer, but received 'two'."),
    ],
)
def test_a_value_out_of_range_is_repeated(arguments: tuple[str, ...], sentence: str) -> None:
    """What is wrong, what was received, and what to do, as for every other argument."""
    result = run(app, [*arguments])
    assert result.exit_code == 2 and sentence in " ".join(result.output.split())
    assert result.output.startswith("error: ") and "--help" in result.output


def test_every_command_is_in_the_table():
    """A new command needs a line in the table."""
    shown = run(app, ["--help"], env={"COLUMNS": "80"}).stdout
    names = {getattr(entry.callback, "__name__", "") for entry in app.registered_commands}
    assert names == {command.name for command in COMMANDS} and all(name in shown for name in names)


def test_no_arguments():
    """The bare program shows what there is."""
    result = run(app, [])
    assert result.exit_code == 2 and "Usage" in result.output and "audit" in result.output


@pytest.mark.parametrize("command", COMMANDS, **by_name)
def test_help(command):
    """Every command says what it does and gives an example, in lines that are as long as the terminal is wide."""
    result = run(app, [command.name, "--help"], env={"COLUMNS": "80"})
    prose = [line.strip() for line in result.stdout.partition("╭")[0].splitlines()]
    for line, following in itertools.pairwise(prose):
        assert not (line and following) or len(line) + len(following.split()[0]) >= 78, line
    assert result.exit_code == 0 and f"tutelage {command.name}" in " ".join(result.stdout.split())
    assert "Example" in result.stdout and not result.stderr


@pytest.mark.parametrize(("name", "arguments", "named"), WRONG)
def test_wrong_arguments(name, arguments, named):
    """Bad input is named on standard error before any work is done."""
    result = run(app, [name, *arguments], env={"COLUMNS": "80"})
    assert result.exit_code == 2 and named in result.stderr and not result.stdout
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("where", ["file", "file/report", "/proc/report"])
@pytest.mark.parametrize("command", WITH_FOLDER, **by_name)
def test_folder_that_cannot_be_written_to(command, where, tmp_path):
    """A folder that cannot be is refused in one line before any work is done."""
    (tmp_path / "file").write_text("a file")
    folder = tmp_path / where
    result = run(app, _arguments(command, folder))
    assert result.exit_code == 2 and str(folder) in result.stderr and not result.stdout
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize("command", WITH_WORK, **by_name)
def test_interruption_in_the_middle_of_work(command, tmp_path, monkeypatch):
    """Ctrl-C ends every command in one line; a report's folder stays as it is."""

    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(command.work, interrupt)
    result = run(app, _arguments(command, tmp_path))
    assert result.exit_code == 130 and not result.stdout
    assert result.stderr.splitlines()[-1].startswith("interrupted") and "Traceback" not in result.stderr
    assert ("Go on with" in result.stderr) == command.folder
    assert not list(tmp_path.rglob("*.tmp"))


@pytest.mark.parametrize("command", [command for command in WITH_FOLDER if command.name != "demo"], **by_name)
def test_full_disk_in_the_middle_of_work(command, tmp_path, monkeypatch):
    """A disk that fills up while results are kept ends in one line, and leaves no half-written file."""

    def full(*arguments):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("tutelage.files.os.fsync", full)
    result = run(app, _arguments(command, tmp_path))
    assert result.exit_code == 1 and "No space left on device" in result.stderr and not result.stdout
    assert len(result.stderr.splitlines()) == 1
    assert {path.name for path in tmp_path.rglob("*") if path.is_file()} <= {"lock"}


def test_full_disk_when_an_atlas_is_saved(tmp_path, monkeypatch):
    """A full disk is a failure like that of any other command, not bad input."""

    def full(*arguments):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("tutelage.files.os.fsync", full)
    result = run(app, ["minima", "--neurons", "2", "--runs", "2", "--out", str(tmp_path / "two.npz")])
    assert result.exit_code == 1 and result.stderr.startswith("failed:") and "No space left" in result.stderr
    assert len(result.stderr.splitlines()) == 1 and not result.stdout and not list(tmp_path.iterdir())


def test_full_disk_when_an_example_is_written(tmp_path):
    """Half a specification is worse than none: the next `init` would refuse to overwrite it."""
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))"
    result = _process("init", str(tmp_path / "first"), before=limit)
    assert result.returncode == 1 and result.stderr.startswith("failed:") and "large" in result.stderr
    assert not list(tmp_path.iterdir())


def test_limit_on_the_size_of_files(tmp_path):
    """The same with a real limit, as of a quota: `ulimit -f`."""
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))"
    result = _process("audit", CHEAP, "--workers", "1", "--out", str(tmp_path), before=limit)
    assert result.returncode == 1 and result.stderr.startswith("failed:") and "large" in result.stderr
    assert "Traceback" not in result.stderr


def test_standard_output_on_a_full_disk():
    """What cannot be printed is said on standard error."""
    with open("/dev/full", "w") as full:
        result = _process("papers", stdout=full)
    assert result.returncode == 1 and result.stderr == "failed: No space left on device\n"


def test_closed_pipe(tmp_path):
    """When nobody reads any more, a command ends without a word."""
    (tmp_path / "first.toml").write_text(example("committee"), encoding="utf-8")
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as closed:
        for arguments in (("papers",), ("papers", "--json"), ("sweep", str(tmp_path / "first.toml"), "--dry-run")):
            result = _process(*arguments, stdout=closed)
            assert result.returncode == 141 and not result.stderr, arguments


def test_real_interruption():
    """A signal ends a process in one line, with the code that shells expect."""
    interrupt = (
        "import os, signal, time, tutelage.cli.minima as command\n"
        "command._search = lambda *arguments: os.kill(os.getpid(), signal.SIGINT) or time.sleep(60)"
    )
    result = _process("minima", "--neurons", "2", before=interrupt)
    assert result.returncode == 130 and result.stderr == "interrupted\n" and not result.stdout


@pytest.mark.parametrize("colours", [True, False], ids=["colours", "NO_COLOR"])
def test_terminal(colours):
    """On a terminal there are colours, with `NO_COLOR` there are none."""
    parent, child = pty.openpty()
    environment = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    environment |= {"TERM": "xterm-256color", "COLUMNS": "100"} | ({} if colours else {"NO_COLOR": "1"})
    result = _process("papers", "no_such_paper", stderr=child, env=environment)
    os.close(child)
    shown = os.read(parent, 10_000).decode()
    os.close(parent)
    assert result.returncode == 2 and "no_such_paper" in shown
    assert ("\x1b[1;31m" in shown) == colours and ("\x1b[1m" in shown) == (not colours)


def test_no_terminal(tmp_path):
    """In a pipe there are no control characters: not in results, and not around progress."""
    result = _process(*_arguments(COMMANDS[2], tmp_path))
    assert result.returncode == 0 and "index.html" in result.stdout
    assert "\x1b" not in result.stdout + result.stderr and "\r" not in result.stderr
