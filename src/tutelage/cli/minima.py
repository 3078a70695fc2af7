"""`tutelage minima`: the minima of a committee, or of a network with output weights, up to symmetry."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from tutelage.cli import console
from tutelage.cli.options import Json
from tutelage.errors import TutelageError

if TYPE_CHECKING:
    from tutelage.geometry import Atlas, AtlasEntry, Certificate

_RUNS, _STEPS, _ACTIVATION = 100, 100_000, "relu"
# Rows and columns shown of a block; the others look the same.
_SHOWN = 4
_SHADES = " ░▒▓█"
_NEGATIVE_SHADES = " -=≡#"


def minima(
    file: Annotated[Path | None, typer.Argument(help="A saved atlas to show, instead of a search.")] = None,
    neurons: Annotated[int | None, typer.Option(help="Number of teacher neurons, orthonormal.", min=1)] = None,
    students: Annotated[int | None, typer.Option(help="Number of student neurons; as many by default.", min=1)] = None,
    activation: Annotated[str, typer.Option(help="Activation of all neurons, by name.")] = _ACTIVATION,
    output: Annotated[bool, typer.Option("--output", help="Learn output weights as well.")] = False,
    runs: Annotated[int, typer.Option(help="Number of runs.", min=1)] = _RUNS,
    step: Annotated[
        float | None,
        typer.Option(
            help="Step of gradient descent; 5/neurons (or 5/students, or 5/6, if less) by default, less with --output."
        ),
    ] = None,
    steps: Annotated[int, typer.Option(help="Most gradients of a run.", min=1)] = _STEPS,
    seed: Annotated[int, typer.Option(help="Seed of the starts.", min=0)] = 0,
    out: Annotated[Path | None, typer.Option(help="Save the atlas to this file (.npz).")] = None,
    certify: Annotated[
        bool, typer.Option("--certify", help="Prove what each point is, by interval arithmetic (needs python-flint).")
    ] = False,
    json: Json = False,
) -> None:
    """The atlas of a committee: the minima that gradient descent reaches, up to symmetry.

    Neurons learn an orthonormal teacher from Xavier starts, until the gradient's norm is 1e-12: where plain gradient
    descent ends, in fewer gradients. Points that differ by permutations of neurons and coordinates are one, and with
    --output those that differ by rescalings and signs which change no function.

    Example: [bold]tutelage minima --neurons 6 --runs 200 --out six.npz[/], then [bold]tutelage minima six.npz[/]
    """
    if (file is None) == (neurons is None):
        console.bad_input("pass either --neurons or a saved atlas")
    limits = {"--runs": runs != _RUNS, "--steps": steps != _STEPS}
    others = {"--activation": activation != _ACTIVATION, "--output": output}
    searching = {"--students": students, "--step": step, "--seed": seed, "--out": out, **limits, **others}
    if file is not None and (unused := [name for name, given in searching.items() if given]):
        console.bad_input(f"a saved atlas is shown as it is; leave out {', '.join(unused)}, or search with --neurons")
    if step is not None and not (math.isfinite(step) and step > 0):
        console.bad_input(f"--step must be a positive number, but received {step}")
    if out is not None and (out.is_dir() or not out.absolute().parent.is_dir()):
        console.bad_input(f"--out must name a file in a folder that exists, but received {out}")
    begun = time.monotonic()
    certificates = None
    try:
        if certify:
            from tutelage.geometry.certificate import require_certifiable

            # Before work starts. As many students as teachers may have symmetries, and be as large as they like.
            require_certifiable(neurons * students if neurons and students and students != neurons else 0)
        if neurons is None:
            from tutelage.geometry import load_atlas

            assert file is not None
            atlas = load_atlas(file)
        else:
            students = students or neurons
            step = step or _default_step(neurons, students, output)
            atlas = _search(neurons, students, activation, output, runs, step, steps, seed)
        if certify:
            certificates = _proofs(atlas)
    except TutelageError as error:
        console.bad_input(str(error))
    if out is not None:
        try:
            atlas.save(out)
        except OSError as error:
            console.bad_input(f"{out} cannot be written: {error.strerror or error}")
    seconds = atlas.seconds if file is not None else time.monotonic() - begun
    if json:
        console.print_document(document(atlas, seconds, certificates))
    else:
        show(atlas, seconds, certificates)


def _default_step(neurons: int, students: int, output: bool) -> float:
    # 5/k is the mild over-parameterization paper's step, for k between 6 and 100. The largest eigenvalue of the Hessian
    # grows with the number of students; below six, the step would exceed two over it, and runs would not settle.
    if not output:
        return 5 / max(neurons, students, 6)
    # With output weights it is several times as large again. A neuron that stands for the mean of several teachers has
    # an output weight of about their number, and the eigenvalue is its square.
    return min(1 / max(neurons, students, 6), 1 / max(neurons - students + 1, 1) ** 2)


def _search(
    neurons: int, students: int, activation: str, output: bool, runs: int, step: float, steps: int, seed: int
) -> Atlas:
    import numpy as np

    import tutelage as tl

    family = tl.problems.two_layer if output else tl.problems.committee
    problem = family(np.eye(neurons), students=students, activation=activation)
    objective = tl.population(problem)
    starts = tl.starts.xavier(problem, runs=runs, seed=seed)
    with console.descending() as progress:
        reached = tl.dynamics.descend_to_minima(objective, starts, step, most_steps=steps, seed=seed, progress=progress)
    return tl.atlas(objective, reached)


def _proofs(atlas: Atlas) -> list[Certificate]:
    """Return the certificate of each point of an atlas, whose problem is built again from its description."""
    import numpy as np

    import tutelage as tl
    from tutelage.geometry.survey import describe
    from tutelage.work.job import Progress as Reached

    shapes, teacher = atlas.problem["shapes"], np.array(atlas.problem["teacher"])
    objective, families = None, {"committee": tl.problems.committee, "two_layer": tl.problems.two_layer}
    name, activation = atlas.problem["name"], atlas.problem["activation"]
    if name in families and activation in tl.activations.names():
        objective = tl.population(families[name](teacher, students=shapes[0][0], activation=activation))
    # The words leave out kinks, covariances and noise, which a digest stands for.
    if objective is None or describe(objective) != atlas.problem:
        raise tl.UnsupportedCombination(
            "--certify takes committees and networks with output weights under standard Gaussian inputs, all else as "
            "`tutelage minima` makes it, not the problem of this atlas; "
            "tutelage.certify takes others"
        )
    certificates = []
    with console.watching("proofs") as watch:
        for entry in atlas:
            certificates.append(tl.certify(objective, entry.point))
            watch(Reached(len(atlas), len(certificates)))
    return certificates


def _fixed(value: float) -> str:
    return f"{round(value, 4) + 0.0:.4f}"  # no minus sign in front of a rounded zero


def document(atlas: Atlas, seconds: float, certificates: list[Certificate] | None = None) -> dict[str, Any]:
    """Return an atlas as a JSON document, with what is proved of its points if that was asked for."""
    proofs = [{}] * len(atlas) if certificates is None else [{"proved": _proof(proof)} for proof in certificates]
    return {
        "neurons": len(atlas.problem["teacher"]),
        "students": atlas.problem["shapes"][0][0],
        "runs": atlas.runs,
        "left_out": atlas.left_out,
        "statuses": atlas.statuses,
        "steps": atlas.steps,
        "seconds": seconds,
        "minima": [
            {
                "count": entry.count,
                "kind": entry.kind,
                "loss": entry.loss,
                "norm_sum": entry.norm_sum,
                "smallest_eigenvalue": entry.smallest_eigenvalue,
                "split_curvature": entry.split_curvature,
                "symmetry": entry.symmetry,
                "point": entry.vectors.tolist(),
                **proof,
            }
            for entry, proof in zip(atlas, proofs, strict=True)
        ],
    }


def _proof(certificate: Certificate) -> dict[str, Any]:
    if not certificate.proved:
        return {"kind": certificate.kind, "reason": certificate.reason}
    return {
        "kind": certificate.kind,
        "reason": certificate.reason,
        "loss": list(certificate.loss),
        "smallest_eigenvalue": list(certificate.smallest_eigenvalue),
        "index": certificate.index,
        "radius": certificate.radius,
        "unique_radius": certificate.unique_radius,
        "gradient_norm": certificate.gradient_norm,
        "least_curvature": certificate.least_curvature,
        "lipschitz": certificate.lipschitz,
        "digits": certificate.digits,
        "centre": [list(row) for row in certificate.decimals],
    }


def show(atlas: Atlas, seconds: float, certificates: list[Certificate] | None = None) -> None:
    """Print an atlas as a table, and a small picture of each of its points; and what is proved, if that is given."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("", justify="right")
    table.add_column("count", justify="right")
    table.add_column("kind")
    for heading in ("loss", "norm sum", "smallest λ", "split λ"):
        table.add_column(heading, justify="right")
    table.add_column("blocks")
    if certificates is not None:
        table.add_column("proved")
    for number, entry in enumerate(atlas):
        proved = [] if certificates is None else [_verdict(entry, certificates[number])]
        table.add_row(
            str(number),
            str(entry.count),
            entry.kind,
            f"{max(entry.loss, 0.0):.6f}",
            f"{entry.norm_sum:.5f}",
            _fixed(entry.smallest_eigenvalue),
            _fixed(entry.split_curvature),
            entry.symmetry,
            *proved,
        )
    console.out.print(table)
    for number, certificate in enumerate(certificates or []):
        if certificate.reason:
            console.out.print(f"\n{number}, {certificate.kind}: {certificate.reason}", highlight=False, markup=False)
    statuses = ", ".join(f"{number} {status.replace('_', ' ')}" for status, number in atlas.statuses.items())
    left = f"; {atlas.left_out} not at a critical point" if atlas.left_out else ""
    console.out.print(
        f"\n{atlas.runs} runs ({statuses}{left}), {atlas.steps} gradients, {seconds:.1f} s", highlight=False
    )
    for number, entry in enumerate(atlas):
        console.out.print()
        console.out.print(picture(atlas, number, entry))


def _verdict(entry: AtlasEntry, certificate: Certificate) -> str:
    if not certificate.proved:
        return "no"
    return "yes" if certificate.kind == entry.kind else certificate.kind


def picture(atlas: Atlas, number: int, entry: AtlasEntry) -> Text:
    """Return a small picture of a point: students against teachers, a few of each block, with the distinct entries."""
    from tutelage.geometry.atlas import block_matrix

    matrix = block_matrix(atlas, entry)
    rows = _representatives(entry.structure.student_sizes)
    columns = _representatives(entry.structure.teacher_sizes)
    bound = max(float(abs(matrix).max()), 1e-300)
    text = Text(f"{number}  {entry.kind}, blocks {entry.symmetry}\n")
    blocks = iter(entry.structure.blocks)
    for chosen, size in zip(rows, entry.structure.student_sizes, strict=True):
        notes = [next(blocks) for _ in columns]
        for line, i in enumerate(chosen):
            text.append("   ")
            for part in columns:
                for j in part:
                    text.append_text(_cell(float(matrix[i, j]) / bound))
                text.append(" ")
            if line == 0:
                entries = " | ".join("  ".join(map(_fixed, block.entries[:3])) for block in notes)
                text.append(f"  {size} × ( {entries} )")
            text.append("\n")
    text.rstrip()
    return text


def _representatives(sizes: tuple[int, ...]) -> list[list[int]]:
    """Return the first few indices of every block."""
    begin, chosen = 0, []
    for size in sizes:
        chosen.append(list(range(begin, begin + min(size, _SHOWN))))
        begin += size
    return chosen


def _cell(value: float) -> Text:
    level = min(math.ceil(4 * abs(value) - 0.2), 4)
    shade = (_SHADES if value >= 0 else _NEGATIVE_SHADES)[max(level, 0)]
    if level <= 0:
        shade = "·"
    return Text(2 * shade, style="red" if value > 0 and level > 0 else "blue" if level > 0 else "dim")
