"""How long someone waits for the first number: evaluations and commands in fresh processes, against plain NumPy.

Every row is a process of its own. An evaluation is timed after the import, beside a NumPy expression for the same
number in the same process; a command, and all Python blocks of the tutorial, are timed as a whole. Beside a search for
minima stands plain NumPy that follows as many runs to their ends, without an atlas (`plain.py`).
"""

import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path
from typing import NamedTuple

from harness import cores, publish

HERE = Path(__file__).parent


class Row(NamedTuple):
    """What is waited for.

    Attributes:
        name: What it is, in words.
        work: Python code that sets `found` after `setup`; or a command of tutelage, as a list.
        reference: Python code that sets `expected` with NumPy alone; of a command the arguments of `plain.py`; empty
            where there is none.
        goal: Seconds wanted.
        setup: Python code before both; what it does is not timed.
        share: Of how many runs the reference of a command follows one; its time is scaled.
    """

    name: str
    work: str | list[str]
    reference: str
    goal: float
    setup: str = ""
    share: int = 1


COMMITTEE = """
    problem = tl.problems.committee(np.eye(6), 6)
    objective = tl.population(problem)
    w, v = np.random.default_rng(0).normal(size=(6, 6)), np.eye(6)

    def pairs(w, v):
        norms = np.linalg.norm(w, axis=1)[:, None] * np.linalg.norm(v, axis=1)
        theta = np.arccos(np.clip(w @ v.T / norms, -1, 1))
        return norms, theta

    def value(w, v):
        norms, theta = pairs(w, v)
        return (norms * (np.sin(theta) + (np.pi - theta) * np.cos(theta))).sum() / (2 * np.pi)

    def loss(w):
        return 0.5 * value(w, w) - value(w, v) + 0.5 * value(v, v)

    def pull(w, v):
        _, theta = pairs(w, v)
        unit = w / np.linalg.norm(w, axis=1)[:, None]
        return ((np.sin(theta) @ np.linalg.norm(v, axis=1))[:, None] * unit + (np.pi - theta) @ v) / (2 * np.pi)

    def gradient(w):
        return pull(w, w) - pull(w, v)

    def differences(w):
        moves = 1e-6 * np.eye(36).reshape(36, 6, 6)
        return np.array([(gradient(w + move) - gradient(w - move)).ravel() / 2e-6 for move in moves])
"""

# The dual of two ReLU neurons with means: one integral, over the first number, of the other's mean given it.
SHIFTED = """
    from scipy.special import ndtr

    mean = np.full(6, 0.3)
    problem = tl.problems.committee(np.eye(6), 6, inputs=tl.inputs.gaussian(6, mean=mean))
    objective = tl.population(problem)
    w, v = np.random.default_rng(0).normal(size=(6, 6)), np.eye(6)
    nodes, weights = np.polynomial.legendre.leggauss(60)
    edges = np.linspace(0, 1, 9)
    share = np.concatenate([a + (b - a) * (1 + nodes) / 2 for a, b in zip(edges, edges[1:])])
    weights = np.tile(weights, 8) / 16

    def value(w, v):
        s, mu, nu = np.linalg.norm(w, axis=1), w @ mean, v @ mean
        reach = np.maximum(mu, 0) + 9 * s
        u = reach[:, None] * share
        density = np.exp(-0.5 * ((u - mu[:, None]) / s[:, None]) ** 2) / (np.sqrt(2 * np.pi) * s[:, None])
        slope = (w @ v.T) / (s**2)[:, None]
        given = nu[:, None] + slope[:, :, None] * (u - mu[:, None])[:, None]
        rest = np.sqrt(np.maximum((v**2).sum(1) - slope**2 * (s**2)[:, None], 1e-30))[:, :, None]
        z = given / rest
        inner = given * ndtr(z) + rest * np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi)
        return ((weights * u * density * reach[:, None])[:, None] * inner).sum()

    def loss(w):
        return 0.5 * value(w, w) - value(w, v) + 0.5 * value(v, v)

    def slopes(function, w, step):
        moves = step * np.eye(36).reshape(36, 6, 6)
        return np.array([(function(w + move) - function(w - move)) / (2 * step) for move in moves])
"""

ROWS = (
    Row("population, committee of 6", "found = float(tl.population(problem).constant)",
        "expected = 0.5 * value(v, v)", 0.1, COMMITTEE.replace("objective = tl.population(problem)", "")),
    Row("loss, committee of 6", "found = objective.loss(w)", "expected = loss(w)", 0.05, COMMITTEE),
    Row("gradient, committee of 6", "found = objective.gradient(w)", "expected = gradient(w)", 0.05, COMMITTEE),
    Row("Hessian, committee of 6", "found = objective.hessian(w)", "expected = differences(w)", 0.1, COMMITTEE),
    Row("500 starts, committee of 6", "found = np.asarray(tl.starts.xavier(problem, 500)).shape",
        "expected = np.random.default_rng(0).normal(size=(500, 6, 6)).shape", 0.1, COMMITTEE),
    Row("loss, inputs with a mean", "found = objective.loss(w)", "expected = loss(w)", 0.3, SHIFTED),
    Row("gradient, inputs with a mean", "found = objective.gradient(w).ravel()",
        "expected = slopes(loss, w, 1e-5)", 0.3, SHIFTED),
    Row("Hessian, inputs with a mean", "found = np.ones(36) @ objective.hessian(w) @ np.ones(36)",
        "expected = (loss(w + 1e-3) - 2 * loss(w) + loss(w - 1e-3)) / 1e-6", 0.3, SHIFTED),
    Row("minima --neurons 6 --runs 100", ["minima", "--neurons", "6", "--runs", "100"], "6 100", 2.5),
    Row("minima --neurons 20 --runs 500", ["minima", "--neurons", "20", "--runs", "500"], "20 50", 6.0,
        share=10),
    Row("train first.toml", ["train", "relu.toml"], "", 3.0),
    Row("train first.toml, tanh", ["train", "tanh.toml"], "", 20.0),
)  # fmt: skip

TUTORIAL = "all Python blocks of the tutorial"

EVALUATION = """
import json, time
import numpy as np
import jax
import tutelage as tl

tl.population, tl.problems.committee, tl.inputs.gaussian, tl.starts.xavier
compiled = []
jax.monitoring.register_event_duration_secs_listener(
    lambda event, seconds, **_: compiled.append(seconds) if event.endswith("backend_compile_duration") else None
)
{setup}
begin = len(compiled), time.perf_counter(), time.process_time()
{work}
first, busy, programs = time.perf_counter() - begin[1], time.process_time() - begin[2], len(compiled) - begin[0]
again = []
for _ in range(30):
    start = time.perf_counter()
    {work}
    again.append(time.perf_counter() - start)
start = time.perf_counter()
{reference}
plain = time.perf_counter() - start
found, expected = np.asarray(found, float), np.asarray(expected, float)
error = np.abs(found - expected).max() / np.abs(expected).max()
print(json.dumps([first, busy, programs, min(again), plain, float(error)]))
"""


def seconds(number: float) -> str:
    """Return a time in the unit that suits it."""
    return (
        f"{number:.2f} s" if number >= 1 else f"{1e3 * number:.1f} ms" if number >= 1e-3 else f"{1e6 * number:.0f} µs"
    )


def evaluation(row: Row) -> tuple[str, ...]:
    """Return the cells of an evaluation, the best of three processes."""
    assert isinstance(row.work, str)
    script = EVALUATION.format(setup=textwrap.dedent(row.setup), work=row.work, reference=row.reference)
    outcomes = []
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        outcomes.append(json.loads(done.stdout))
    first, busy, programs, again, plain, error = min(outcomes)
    times = seconds(first), seconds(busy), str(programs), seconds(again), seconds(plain), f"{error:.0e}"
    return row.name, *times, seconds(row.goal)


def command(row: Row) -> tuple[str, ...]:
    """Return the cells of a command."""
    assert isinstance(row.work, list)
    program = [sys.executable, "-c", "from tutelage.cli import main; main()"]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([*program, "init", "first"], cwd=folder, capture_output=True, check=True)
        text = (Path(folder) / "first.toml").read_text(encoding="utf-8")
        for activation in ("relu", "tanh"):
            changed = text.replace('activation = "relu"', f'activation = "{activation}"')
            (Path(folder) / f"{activation}.toml").write_text(changed, encoding="utf-8")
        taken, busy = process([*program, *row.work], folder)
    plain = seconds(plain_search(row)) if row.reference else ""
    return row.name, seconds(taken), seconds(busy), "", "", plain, "", seconds(row.goal)


def plain_search(row: Row) -> float:
    """Return the time of the reference of a command, on as many cores as ours: its work is divided by their number."""
    begun, alone = time.perf_counter(), {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    script = [sys.executable, str(HERE / "plain.py"), *row.reference.split()]
    done = subprocess.run(script, capture_output=True, text=True, check=True, env=alone)
    work = float(done.stdout)
    return time.perf_counter() - begun - work + row.share * work / cores()


def tutorial() -> tuple[str, ...]:
    """Return the cells of the tutorial: all its Python blocks, one after another, in one process."""
    page = (HERE.parent / "docs" / "tutorial.md").read_text(encoding="utf-8")
    script = "".join(re.findall(r"^```python\n(.*?)^```$", page, flags=re.DOTALL | re.MULTILINE))
    with tempfile.TemporaryDirectory() as folder:
        taken, busy = process([sys.executable, "-c", script], folder)
    return TUTORIAL, seconds(taken), seconds(busy), "", "", "", "", seconds(10.0)


def process(program: list[str], folder: str) -> tuple[float, float]:
    """Return the wall time and the processor time of a process that works in a folder, of the quicker of two.

    Modules are compiled to bytecode once and for all, where that is not forbidden; the first process may have to.
    """
    allowed = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    outcomes = []
    for _ in range(2):
        begun, busy = time.perf_counter(), _busy()
        subprocess.run(program, cwd=folder, capture_output=True, check=True, env=allowed)
        outcomes.append((time.perf_counter() - begun, _busy() - busy))
    return min(outcomes)


def _busy() -> float:
    """Return the processor time of all processes that have ended here."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Measure and publish all rows, or those whose names contain a word given on the command line."""

    def wanted(name: str) -> bool:
        return not sys.argv[1:] or any(word in name for word in sys.argv[1:])

    chosen = [row for row in ROWS if wanted(row.name)]
    cells = [evaluation(row) if isinstance(row.work, str) else command(row) for row in chosen]
    cells += [tutorial()] if wanted(TUTORIAL) else []
    publish(
        "latency",
        "Waiting for the first number",
        ("work", "first", "of it busy", "programs", "again", "NumPy", "difference", "wanted"),
        cells,
        notes="Fresh processes; evaluations after the import, the best of three, others the better of two. "
        "Busy is processor time, of all cores. "
        "Programs are those that XLA compiled. NumPy beside a search is plain descent to the same gradient, on as many "
        "cores as ours, from a tenth of the starts where there are 500; it has no atlas. "
        "References of Hessians, and of gradients with a mean, are differences, hence the size of their difference.",
    )


if __name__ == "__main__":
    main()
