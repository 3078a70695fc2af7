"""The data set of known minima, from studies at paper scale: `python docs/known_minima.py FOLDER`.

FOLDER is where `tutelage reproduce mild_overparameterization.experiment mild_overparameterization.more-students --scale
paper --out FOLDER` keeps its results, of as many students as teachers and of more; neither need be finished. Numbers of
neurons that the data set does not have yet are taken from there, without a gap; to make it anew, delete the Parquet
file in the package. Every class is proved, and written to that file with its complete spectrum; the figure of the data
card is drawn from the file, and its table of what is covered written.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

import tutelage as tl
from tutelage.geometry import known
from tutelage.geometry.families.branches import at_number
from tutelage.geometry.families.classes import symmetry_class
from tutelage.geometry.families.proofs import reduced_table
from tutelage.geometry.families.recognition import recognised
from tutelage.plot import BLUE, GREY, ORANGE, panels, render, styled
from tutelage.studies.base import Arrays
from tutelage.studies.mild_overparameterization.common import SPURIOUS, objective_of
from tutelage.studies.registry import find
from tutelage.work.store import unpacked

EQUAL, MORE = "mild_overparameterization.experiment", "mild_overparameterization.more-students"
DATA = Path(known.__file__).parent / known.DATA
CARD = Path(__file__).parent / "known-minima.md"
FIGURE = Path(__file__).parent / "assets" / "known-minima.png"
HEADING = "| students | $k$ | classes | spurious | runs |"
KINDS = ("xavier", "large")
# Losses of equivalent points of two pieces differ by less.
SAME = 1e-9
# Where entries change by more when there is one neuron less, the branch is followed instead of taking one step of it.
JUMP = 0.1
# Digits of the proofs; entries are stored as the closest float64 numbers.
DIGITS = 30


def measured(folder: Path, name: str, piece: str) -> Arrays | None:
    """Return the arrays of one piece of a study, if it is there."""
    study = find([name])[0]
    path = folder / "studies" / study.paper / study.name / "paper" / "pieces" / f"{piece}.npz"
    return dict(unpacked(path.read_bytes())[1].arrays) if path.exists() else None


def rows_of(folder: Path, neurons: int, extra: int) -> list[dict] | None:
    """Return the classes of so many teachers, and `extra` students more, as far as they have been measured."""
    if extra:
        arrays = measured(folder, MORE, f"k{neurons}-n{neurons + extra}")
        return None if arrays is None else with_more_students(arrays, neurons, neurons + extra)
    both = {kind: measured(folder, EQUAL, f"{kind}-{neurons}") for kind in KINDS}
    there = {kind: arrays for kind, arrays in both.items() if arrays is not None}
    return classes(there, neurons) if len(there) == len(KINDS) else None


def classes(measured: dict[str, Arrays], neurons: int) -> list[dict]:
    """Return the classes of as many students as teachers, each once, in the order of their losses."""
    rows: list[dict] = []
    for kind, arrays in measured.items():
        if len(arrays["unsymmetric"]):
            raise SystemExit(f"k = {neurons}: a class without symmetries, for which the data set has no form yet.")
        for number, sizes in enumerate(arrays["block_sizes"]):
            blocks = [int(size) for size in sizes if size]
            table = arrays["block_table"][number][: len(blocks), [*range(len(blocks)), -1]]
            loss, times = float(arrays["loss"][number]), int(arrays["count"][number])
            same = [row for row in rows if row["blocks"] == blocks and abs(row["found_loss"] - loss) < SAME]
            if same:
                same[0][kind] += times
                continue
            rows.append(
                {"neurons": neurons, "students": neurons, "blocks": blocks, "orbits": blocks}
                | {"found_table": table, "found_loss": loss}
                | dict.fromkeys(KINDS, 0)
                | {kind: times}
                | {f"{one}_runs": len(parts["run_loss"]) for one, parts in measured.items()}
                | {name: float(arrays[name][number]) for name in ("norm_sum", "split_curvature")}
            )
    return sorted(rows, key=lambda row: row["found_loss"])


def with_more_students(arrays: Arrays, neurons: int, students: int) -> list[dict]:
    """Return the classes of more students than teachers: the global minima, and the spurious ones by their losses."""
    runs = {"neurons": neurons, "students": students, "large": 0, "xavier_runs": len(arrays["loss"]), "large_runs": 0}
    # Global minima are one connected set, for which one of them stands: the last teacher is shared in equal parts.
    shared = students - neurons + 1
    table = np.zeros((1 + shared, 3))
    table[0, -1], table[1, -1], table[2:, 1] = 1.0, 1 / shared, 1 / shared
    lowest = {
        "blocks": [neurons - 1, 1],
        "orbits": [neurons - 1, *[1] * shared],
        "found_table": table,
        "found_loss": 0.0,
        "xavier": int((arrays["loss"] <= SPURIOUS).sum()),
        "norm_sum": float(neurons),
        "split_curvature": 0.0,
    }
    rows = [runs | lowest] if lowest["xavier"] else []
    for number, student in enumerate(arrays["students"]):
        rows.append(
            runs
            | symmetric(student)
            | {"found_loss": float(arrays["class_loss"][number]), "xavier": int(arrays["class_count"][number])}
            | {name: float(arrays[f"class_{name}"][number]) for name in ("norm_sum", "split_curvature")}
        )
    return sorted(rows, key=lambda row: row["found_loss"])


def symmetric(student: np.ndarray) -> dict:
    """Return blocks, orbits and table of a student, orbits in the order of the blocks that they belong to."""
    found = recognised(student)
    if found is None:
        raise SystemExit(f"{student.shape}: a class without symmetries, for which the data set has no form yet.")
    sizes, owners = [int(size) for size in found.layout.sizes], found.layout.owners
    orbits = [1 if owner < 0 else sizes[owner] for owner in owners]
    members = np.split(found.students, np.cumsum(orbits)[:-1])
    order = sorted(range(len(orbits)), key=lambda orbit: owners[orbit] % (len(sizes) + 1))
    orbits = [orbits[orbit] for orbit in order]
    layout = symmetry_class(text(sizes), text(orbits)).layout(float(student.shape[1]))
    rows = np.concatenate([members[orbit] for orbit in order])
    table = reduced_table(layout, student[np.ix_(rows, found.teachers)])
    return {"blocks": sizes, "orbits": orbits, "found_table": table}


def text(sizes: list[int]) -> str:
    """Return sizes as families are written."""
    return ",".join(map(str, sizes))


def proved(row: dict) -> dict:
    """Return a row with what is proved of its class, its whole spectrum, and entries right to the last digit."""
    symmetry = tl.family(text(row["blocks"]), text(row["orbits"]))
    point = symmetry.point(row["neurons"], row["found_table"])
    if row["students"] > row["neurons"] and not row["found_loss"]:
        certificate = tl.certify(objective_of(row["neurons"], row["students"]), point.student(), DIGITS)
    else:
        first = point.certify(DIGITS)
        if first.proved:
            point = symmetry.point(row["neurons"], np.array(first.decimals, float))
        certificate = point.certify(DIGITS)
    low, high = certificate.loss
    return {
        **{name: row[name] for name in ("neurons", "students", "blocks", "orbits")},
        "kind": certificate.kind,
        "reason": certificate.reason,
        "table": point.table.ravel().tolist(),
        "loss": (low + high) / 2 if certificate.proved else point.loss,
        "norm_sum": row["norm_sum"],
        # Zero along a continuum, where float64 has rounding errors.
        "smallest_eigenvalue": 0.0 if certificate.smallest_eigenvalue == (0, 0) else point.spectrum[0].eigenvalue,
        "largest_eigenvalue": point.spectrum[-1].eigenvalue,
        "split_curvature": row["split_curvature"],
        "eigenvalues": [one.eigenvalue for one in point.spectrum],
        "multiplicities": [int(one.multiplicity) for one in point.spectrum],
        **{name: row[name] for name in ("xavier", "xavier_runs", "large", "large_runs")},
        "loss_low": low,
        "loss_high": high,
        "eigenvalue_low": certificate.smallest_eigenvalue[0],
        "eigenvalue_high": certificate.smallest_eigenvalue[1],
        "radius": certificate.distance,
        "unique_radius": certificate.unique_radius,
    }


def figure(frame: pl.DataFrame) -> bytes:
    """Return losses and smallest eigenvalues against k, families as lines, for n = k and for n = k + 1, as PNG."""
    with styled():
        picture, axes = panels(columns=2, rows=2, width=4.4, height=3.6)
        for extra, (left, right) in enumerate(zip(axes[::2], axes[1::2], strict=True)):
            own = frame.filter(pl.col("students") == pl.col("neurons") + extra)
            spurious = own.filter(pl.col("loss") > SPURIOUS)
            placed: list[tuple[float, float]] = []
            for name, curve in families(spurious):
                falls = curve[-1][1] < curve[0][1]
                for column, panel in ((1, left), (2, right)):
                    panel.plot(
                        [one[0] for one in curve],
                        [one[column] for one in curve],
                        "-",
                        color=BLUE if falls else ORANGE,
                        linewidth=1,
                        label=f"loss {'falls' if falls else 'rises'} with $k$",
                    )
                end = curve[-1][0] / own["neurons"].max(), curve[-1][1] / spurious["loss"].max()
                # Where families crowd, names would cover each other: the first stands for those around it.
                if all(abs(end[0] - x) > 0.05 or abs(end[1] - y) > 0.014 for x, y in placed):
                    left.annotate(
                        name, curve[-1][:2], xytext=(3, 0), textcoords="offset points", fontsize=4, va="center"
                    )
                    placed.append(end)
            left.plot(spurious["neurons"], spurious["loss"], ".", color=GREY, markersize=2.5)
            # With more students than teachers the global minima are a continuum, along which eigenvalues are zero.
            shown = spurious if extra else own
            right.plot(shown["neurons"], shown["smallest_eigenvalue"], ".", color=GREY, markersize=2.5)
            title = f"$n = k + {extra}$" if extra else "$n = k$"
            left.set(title=title, xlabel="$k$", ylabel="loss", ylim=(0, None), xmargin=0.08)
            right.set(title=title, xlabel="$k$", ylabel="smallest eigenvalue", ylim=(0, None))
            left.xaxis.get_major_locator().set_params(integer=True)
        labels = dict(zip(*axes[0].get_legend_handles_labels()[::-1], strict=True))
        axes[0].legend(labels.values(), labels.keys(), loc="upper left", fontsize="small", title="families")
        return render(picture, "png")


def families(frame: pl.DataFrame) -> Iterator[tuple[str, list[tuple[float, float, float]]]]:
    """Yield families: all blocks but the largest, and k, loss and smallest eigenvalue along the branch of minima."""
    rows = sorted(frame.iter_rows(named=True), key=lambda row: -row["neurons"])
    known: set[tuple[int, int]] = set()
    for row in rows:
        largest, *rest = row["blocks"]
        if key(row) in known or not rest or largest == rest[0]:
            continue
        growing = f"k-{sum(rest)}"
        orbits = [growing if size == largest else str(size) for size in row["orbits"]]
        symmetry = tl.family(",".join([growing, *map(str, rest)]), ",".join(orbits))
        point = symmetry.point(row["neurons"], np.array(row["table"]).reshape(len(orbits), -1))
        curve = []
        while point is not None and point.smallest_eigenvalue > 0:
            curve.append((point.neurons, point.loss, point.smallest_eigenvalue))
            known.add(key({"neurons": point.neurons, "loss": point.loss}))
            point = with_one_less(symmetry, point) if point.neurons - sum(rest) > 3 else None
        yield "+".join(map(str, rest)), curve[::-1]


def with_one_less(symmetry: tl.geometry.Family, point: tl.geometry.FamilyPoint) -> tl.geometry.FamilyPoint | None:
    """Return the point of the branch with one neuron less, or `None` if the branch does not go there."""
    fewer = point.neurons - 1
    table = at_number(symmetry._class, point.table, fewer)
    if table is None or np.abs(table - point.table).max() > JUMP:
        try:
            branch = symmetry.follow(point, fewer)
        except (tl.TutelageError, ValueError):
            return None  # close to a turning point, beyond which there is no minimum
        if branch.reason != "reached":
            return None
        table = branch.tables[-1]
    return symmetry.point(fewer, table)


def key(row: dict) -> tuple[int, int]:
    """Return what tells classes apart: their losses, up to rounding errors."""
    return round(row["neurons"]), round(row["loss"] * 1e7)


def covered(frame: pl.DataFrame) -> str:
    """Return the table of the data card: what is covered."""
    rows = [HEADING, "| --- | --- | ---: | ---: | ---: |"]
    for extra in (0, 1, 2):
        own = frame.filter(pl.col("students") == pl.col("neurons") + extra)
        runs = own.unique("neurons").select(pl.col("xavier_runs") + pl.col("large_runs")).sum().item()
        spurious = len(own.filter(kind="spurious minimum"))
        name = f"$n = k + {extra}$" if extra else "$n = k$"
        rows.append(f"| {name} | 6 to {own['neurons'].max()} | {len(own):,} | {spurious:,} | {runs:,} |")
    return "\n".join(rows)


def main(folder: Path) -> None:
    """Write the data set and the figure."""
    kept = pl.read_parquet(DATA) if DATA.exists() else pl.DataFrame()
    there = set(kept.select("neurons", "students").iter_rows()) if len(kept) else set()
    rows: list[dict] = []
    for extra in (0, 1, 2):
        for neurons in find([MORE if extra else EQUAL])[0].values("paper").neurons:
            if (neurons, neurons + extra) in there:
                continue
            found = rows_of(folder, neurons, extra)
            if found is None:
                break
            rows += [proved(row) for row in found]
            print(f"{neurons} teachers, {neurons + extra} students: {len(found)} classes", flush=True)
    made = pl.DataFrame(rows, infer_schema_length=None)
    frame = pl.concat([one for one in (kept, made) if len(one)]).sort("neurons", "students", "loss")
    frame.write_parquet(DATA, compression="zstd", compression_level=19)
    before, _, rest = CARD.read_text(encoding="utf-8").partition(HEADING)
    CARD.write_text(before + covered(frame) + rest[rest.index("\n\n") :], encoding="utf-8")
    FIGURE.write_bytes(figure(frame))
    unproved = (frame["kind"] == "not proved").sum()
    print(f"{len(frame)} classes, {len(made)} of them new, {unproved} not proved, {DATA.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
