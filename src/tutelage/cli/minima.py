"""`tutelage minima`: the minima of a committee, or of a network with output weights, up to symmetry."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from tutelage.cli import console
from tutelage.cli.options import Json

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
    if certify:
        from tutelage.geometry.proving import require_certifiable

        # Before work starts. Committees of ReLU neurons may have symmetries, and be as large as they like.
        plain = neurons is None or (activation == _ACTIVATION and not output)
        require_certifiable(0 if plain or neurons is None else neurons * (students or neurons))
    if neurons is None:
        from tutelage.geometry import load_atlas

        assert file is not None
        atlas = load_atlas(file)
    else:
        students = students or neurons
        step = step or _default_step(neurons, students, output)
        atlas = _search(neurons, students, activation, output, runs, step, steps, seed)
    if certify:
        atlas = _proved(atlas)
    if out is not None:
        try:
            atlas.save(out)
        except OSError as error:
            console.bad_input(f"{out} cannot be written: {error.strerror or error}")
    seconds = atlas.seconds if file is not None else time.monotonic() - begun
    if json:
        console.print_document(document(atlas, seconds))
    else:
        show(atlas, seconds)


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
    from tutelage.dynamics.programs import meanwhile

    family = tl.problems.two_layer if output else tl.problems.committee
    problem = family(np.eye(neurons), students=students, activation=activation)
    objective = tl.population(problem)
    starts = tl.starts.xavier(problem, runs=runs, seed=seed)

    def rehearse() -> None:
        # The atlas of the teacher takes what that of the runs will: modules to import, formulas to trace.
        if students == neurons and not output:
            tl.atlas(objective, np.eye(neurons)[None])

    with console.descending() as progress, meanwhile(rehearse):
        reached = tl.dynamics.descend_to_minima(objective, starts, step, most_steps=steps, seed=seed, progress=progress)
    return tl.atlas(objective, reached)


def _proved(atlas: Atlas) -> Atlas:
    """Return an atlas with the certificate of each point."""
    from tutelage.work.job import Progress as Reached

    with console.watching("proofs") as watch:
        return atlas.certified(progress=lambda done: watch(Reached(len(atlas), done)))


def _fixed(value: float) -> str:
    return f"{round(value, 4) + 0.0:.4f}"  # no minus sign in front of a rounded zero


def document(atlas: Atlas, seconds: float) -> dict[str, Any]:
    """Return an atlas as a JSON document, with what is proved of its points."""
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
                **({} if entry.certificate is None else {"proved": _proof(entry.certificate)}),
            }
            for entry in atlas
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


def show(atlas: Atlas, seconds: float) -> None:
    """Print an atlas as a table, with what is proved, and a small picture of each of its points."""
    certificates = [entry.certificate for entry in atlas]
    measured = console.numbers("loss", "norm sum", "smallest λ", "split λ")
    table = console.table(*console.numbers("", "count"), "kind", *measured, "blocks")
    if any(certificates):
        table.add_column("proved")
    for number, entry in enumerate(atlas):
        proved = [_verdict(entry)] if any(certificates) else []
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
    for number, certificate in enumerate(certificates):
        if certificate is not None and certificate.reason:
            console.out.print(f"\n{number}, {certificate.kind}: {certificate.reason}", markup=False)
    statuses = ", ".join(f"{number} {status.replace('_', ' ')}" for status, number in atlas.statuses.items())
    left = f"; {atlas.left_out} not at a critical point" if atlas.left_out else ""
    console.out.print(f"\n{atlas.runs} runs ({statuses}{left}), {atlas.steps} gradients, {seconds:.1f} s")
    for number, entry in enumerate(atlas):
        console.out.print()
        console.out.print(picture(atlas, number, entry))


def _verdict(entry: AtlasEntry) -> str:
    certificate = entry.certificate
    if certificate is None or not certificate.proved:
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
