"""`tutelage verify`: the certificates of a saved atlas, checked again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tutelage.cli import console
from tutelage.cli.options import Json

if TYPE_CHECKING:
    from tutelage.geometry import Atlas, Verification


def verify(
    file: Annotated[Path, typer.Argument(help="An atlas with certificates, saved by `minima --certify --out`.")],
    json: Json = False,
) -> None:
    """Check the certificates of a saved atlas again, by other code than found them.

    It computes with whole numbers alone, and shares nothing with what found them but the formulas. Exit code 0 if every
    proof is verified, 1 if one is not, 2 for bad input.

    Example: [bold]tutelage minima --neurons 6 --certify --out six.npz[/], then [bold]tutelage verify six.npz[/]
    """
    from tutelage.geometry import load_atlas
    from tutelage.work.job import Progress as Reached

    atlas = load_atlas(file)
    if not any(entry.certificate for entry in atlas):
        console.bad_input(f"{file} has no certificates; make some with `tutelage minima --certify --out`")
    with console.watching("certificates") as watch:
        outcomes = atlas.verify(progress=lambda done: watch(Reached(len(atlas), done)))
    if json:
        console.print_document(document(atlas, outcomes))
    else:
        show(atlas, outcomes)
    if any(outcome.status == "false" for outcome in outcomes):
        raise typer.Exit(console.EXIT_FAILED)


def document(atlas: Atlas, outcomes: tuple[Verification, ...]) -> dict[str, Any]:
    """Return what came out as a JSON document."""
    points = [
        {
            "symmetry": entry.symmetry,
            "kind": entry.kind if entry.certificate is None else entry.certificate.kind,
            "loss": entry.loss,
            "index": entry.index if entry.certificate is None else entry.certificate.index,
            "status": outcome.status,
            "reason": outcome.reason,
        }
        for entry, outcome in zip(atlas, outcomes, strict=True)
    ]
    return {
        "neurons": len(atlas.problem["teacher"]),
        "students": atlas.problem["shapes"][0][0],
        "verified": all(outcome.status != "false" for outcome in outcomes),
        "points": points,
    }


def show(atlas: Atlas, outcomes: tuple[Verification, ...]) -> None:
    """Print what came out as a table."""
    measured = console.numbers("loss", "index")
    table = console.table(*console.numbers(""), "class", "kind", *measured, console.words("certificate"))
    for number, point in enumerate(document(atlas, outcomes)["points"]):
        index = "" if point["index"] is None else str(point["index"])
        outcome = point["status"] + (f": {point['reason']}" if point["reason"] else "")
        table.add_row(
            str(number),
            point["symmetry"],
            point["kind"],
            f"{max(point['loss'], 0.0):.9f}",
            index,
            console.escape(outcome),
        )
    console.out.print(table)
    counts = {
        status: sum(outcome.status == status for outcome in outcomes) for status in ("verified", "false", "no proof")
    }
    console.out.print("\n" + ", ".join(f"{count} {status}" for status, count in counts.items() if count))
