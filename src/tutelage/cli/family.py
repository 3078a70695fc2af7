"""`tutelage family`: the critical points of a symmetry class, for any number of neurons."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tutelage.cli import console
from tutelage.cli.options import Json

if TYPE_CHECKING:
    from tutelage.geometry import FamilyPoints

# Eigenvalues shown of each point; --json has all.
_SHOWN = 6


def family(
    blocks: Annotated[str, typer.Argument(help="Sizes of the blocks of teachers in terms of k: 'k-1,1', 'k/2,k/2'.")],
    neurons: Annotated[float, typer.Option(help="Number of teacher neurons, k; any real number.")],
    students: Annotated[
        str | None, typer.Option(help="Sizes of the orbits of students, as 'k-1,1,1'; those of the blocks by default.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the search.", min=0)] = 0,
    json: Json = False,
) -> None:
    """The critical points of a symmetry class of a committee, with all eigenvalues of their Hessians.

    Students are equal within blocks of neurons, so that a few numbers describe them and any k takes as long. ReLU
    neurons, an orthonormal teacher, standard Gaussian inputs.

    Example: [bold]tutelage family "k-1,1" --neurons 100000[/]
    """
    import tutelage as tl

    found = tl.family(blocks, students).points(neurons, seed)
    if json:
        console.print_document(found.document())
    else:
        show(found)


def show(found: FamilyPoints) -> None:
    """Print the critical points as a table, and the first eigenvalues of each."""
    measured = console.numbers("loss", "smallest λ", "index")
    table = console.table(*console.numbers(""), "kind", *measured, "entries")
    for number, point in enumerate(found):
        entries = "  ".join(f"{entry + 0.0:.4g}" for entry in point.entries)
        table.add_row(
            str(number),
            point.kind,
            f"{point.loss:.9g}",
            f"{point.smallest_eigenvalue:.6g}",
            f"{point.index:g}",
            entries,
        )
    console.out.print(table)
    for number, point in enumerate(found):
        few = "  ".join(f"{one.eigenvalue:.6g} ×{one.multiplicity:g}" for one in point.spectrum[:_SHOWN])
        more = f"  … {len(point.spectrum)} different ones" if len(point.spectrum) > _SHOWN else ""
        console.out.print(f"\n{number}  λ: {few}{more}", markup=False)
