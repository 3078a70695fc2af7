"""The data set of known minima, from the experiment at paper scale: `python docs/known_minima.py FOLDER`.

FOLDER is where `tutelage reproduce mild_overparameterization.experiment --scale paper --out FOLDER` keeps its
results; it need not be finished. Numbers of neurons whose pieces are both there, without a gap from the first on, are
taken. Every class is proved again, and written with its complete spectrum to the Parquet file in the package; the
figure of the data card is drawn from the file.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

import tutelage as tl
from tutelage.geometry import known
from tutelage.plot import BLUE, GREY, ORANGE, panels, render, styled
from tutelage.studies.registry import find
from tutelage.work.store import unpacked

STUDY = "mild_overparameterization.experiment"
DATA = Path(known.__file__).parent / known.DATA
FIGURE = Path(__file__).parent / "assets" / "known-minima.png"
KINDS = ("xavier", "large")
# Losses of equivalent points of two pieces differ by less.
SAME = 1e-9
# Digits of the proofs; entries are stored as the closest float64 numbers.
DIGITS = 30


def pieces(folder: Path, neurons: int) -> dict[str, dict[str, np.ndarray]] | None:
    """Return what was measured for one number of neurons, if all of it is there."""
    study = find([STUDY])[0]
    place = folder / "studies" / study.paper / study.name / "paper" / "pieces"
    paths = {kind: place / f"{kind}-{neurons}.npz" for kind in KINDS}
    if not all(path.exists() for path in paths.values()):
        return None
    return {kind: dict(unpacked(path.read_bytes())[1].arrays) for kind, path in paths.items()}


def classes(measured: dict[str, dict[str, np.ndarray]], neurons: int) -> list[dict]:
    """Return the classes of one number of neurons, each once, in the order of their losses."""
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
                {"neurons": neurons, "students": neurons, "blocks": blocks, "found_table": table, "found_loss": loss}
                | dict.fromkeys(KINDS, 0)
                | {kind: times}
                | {f"{one}_runs": len(parts["run_loss"]) for one, parts in measured.items()}
                | {name: float(arrays[name][number]) for name in ("norm_sum", "split_curvature")}
            )
    return sorted(rows, key=lambda row: row["found_loss"])


def proved(row: dict) -> dict:
    """Return a row with what is proved of its class, its whole spectrum, and entries right to the last digit."""
    symmetry = tl.family(",".join(map(str, row["blocks"])))
    found = symmetry.point(row["neurons"], row["found_table"])
    first = found.certify(DIGITS)
    point = symmetry.point(row["neurons"], np.array(first.decimals, float)) if first.proved else found
    certificate = point.certify(DIGITS)
    low, high = certificate.loss
    return {
        **{name: row[name] for name in ("neurons", "students", "blocks")},
        "kind": certificate.kind,
        "reason": certificate.reason,
        "table": point.table.ravel().tolist(),
        "loss": (low + high) / 2 if certificate.proved else point.loss,
        "norm_sum": row["norm_sum"],
        "smallest_eigenvalue": point.spectrum[0].eigenvalue,
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
    """Return the losses and smallest eigenvalues of all classes against k, families as lines, as PNG."""
    spurious = frame.filter(pl.col("loss") > 1e-9)
    with styled():
        picture, axes = panels(columns=2, width=4.4, height=3.6)
        for name, curve in families(spurious):
            falls = curve[-1][1] < curve[0][1]
            for column, panel in enumerate(axes, 1):
                label = f"loss {'falls' if falls else 'rises'} with $k$" if column == 1 else None
                colour = BLUE if falls else ORANGE
                panel.plot(
                    [one[0] for one in curve],
                    [one[column] for one in curve],
                    "-",
                    color=colour,
                    linewidth=1,
                    label=label,
                )
            axes[0].annotate(name, curve[-1][:2], xytext=(3, 0), textcoords="offset points", fontsize=4, va="center")
        axes[0].plot(spurious["neurons"], spurious["loss"], ".", color=GREY, markersize=2.5)
        axes[1].plot(frame["neurons"], frame["smallest_eigenvalue"], ".", color=GREY, markersize=2.5)
        axes[0].set(xlabel="$k$", ylabel="loss", ylim=(0, None), xmargin=0.08)
        axes[1].set(xlabel="$k$", ylabel="smallest eigenvalue", ylim=(0, None))
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
        symmetry = tl.family(",".join([f"k-{sum(rest)}", *map(str, rest)]))
        point = symmetry.point(row["neurons"], np.array(row["table"]).reshape(len(rest) + 1, -1))
        curve = []
        while point.smallest_eigenvalue > 0:
            curve.append((point.neurons, point.loss, point.smallest_eigenvalue))
            known.add(key({"neurons": point.neurons, "loss": point.loss}))
            fewer = point.neurons - 1
            if fewer - sum(rest) < 2:
                break
            try:
                branch = symmetry.follow(point, fewer)
            except (tl.TutelageError, ValueError):
                break  # close to a turning point, beyond which there is no minimum
            if branch.reason != "reached":
                break
            point = symmetry.point(fewer, branch.tables[-1])
        yield "+".join(map(str, rest)), curve[::-1]


def key(row: dict) -> tuple[int, int]:
    """Return what tells classes apart: their losses, up to rounding errors."""
    return round(row["neurons"]), round(row["loss"] * 1e7)


def main(folder: Path) -> None:
    """Write the data set and the figure."""
    rows: list[dict] = []
    for neurons in find([STUDY])[0].values("paper").neurons:
        measured = pieces(folder, neurons)
        if measured is None:
            break
        rows += [proved(row) for row in classes(measured, neurons)]
        print(f"k = {neurons}: {sum(row['neurons'] == neurons for row in rows)} classes", flush=True)
    if not rows:
        raise SystemExit(f"There are no results of the experiment at paper scale in {folder}.")
    frame = pl.DataFrame(rows, infer_schema_length=None)
    frame.write_parquet(DATA, compression="zstd", compression_level=19)
    FIGURE.write_bytes(figure(frame))
    print(
        f"{len(frame)} classes, {(frame['kind'] == 'not proved').sum()} not proved, {DATA.stat().st_size / 1000:.0f} kB"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
