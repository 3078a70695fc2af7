"""Reading sweeps: lazy tables, rates of success, pictures, while they are computed or when they are complete."""

import numpy as np
import polars as pl
import pytest
from cheap_work import CheapWork

from tutelage.errors import InvalidArgument, MalformedData
from tutelage.statistics import wilson_interval
from tutelage.sweeps import open_sweep, run_sweep
from tutelage.sweeps.figures import history_bands
from tutelage.sweeps.tables import RECORD_COLUMNS, Computed, Facts, Range, computed_of, content_of
from tutelage.work.engines import Here
from tutelage.work.store import packed, unpacked


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return run_sweep(CheapWork(cells=6, runs=40, unlucky=True), tmp_path_factory.mktemp("sweep"), engine=Here())


def test_tables_are_lazy_and_sorted(results):
    """Runs, records and cells; the fields of the grid are beside what was measured."""
    assert all(isinstance(table, pl.LazyFrame) for table in (results.runs, results.records, results.cells))
    runs = results.runs.collect()
    assert runs.select("cell", "run").rows() == [(cell, run) for cell in range(6) for run in range(40)]
    assert runs.columns[:4] == ["cell", "run", "status", "reason"] and {"size", "letter", "angle"} <= set(runs.columns)
    large = results.records.filter(pl.col("size") == 30, pl.col("step") == 0).collect()
    assert large.height == 80 and results.fields == ["size", "letter"]
    assert "240 of 240 runs in 6 cells" in repr(results)


def test_arrays(results):
    """An array of a cell has the runs as leading axis."""
    runs, ends = results.arrays("end", 4)
    np.testing.assert_array_equal(runs, np.arange(40))
    np.testing.assert_array_equal(results.arrays("number", 4)[1], runs)
    expected = [np.random.default_rng([0, 4, run]).normal(size=3)[:2] for run in runs]
    np.testing.assert_array_equal(ends, expected)
    with pytest.raises(InvalidArgument, match=r"array of cell 4 \(end, number\)"):
        results.arrays("beginning", 4)


@pytest.mark.parametrize("by", [None, "letter", ["letter", "size"], []])
@pytest.mark.parametrize("below", [None, 0.1])
def test_success_against_counting(results, by, below):
    """Rates and Wilson's intervals, counted run by run; what failed is no trial."""
    table = results.success(by, below)
    fields = ["size", "letter"] if by is None else [by] if isinstance(by, str) else by
    runs = results.runs.collect()
    assert table["runs"].sum() == 240 and table.columns[: len(fields)] == fields
    for row in table.iter_rows(named=True):
        own = [run for run in runs.iter_rows(named=True) if all(run[field] == row[field] for field in fields)]
        computed = [run for run in own if run["status"] != "failed"]
        lucky = [run for run in computed if (run["status"] == "converged" if below is None else run["loss"] <= below)]
        assert (row["runs"], row["failed"], row["successes"]) == (len(own), len(own) - len(computed), len(lucky))
        assert row["rate"] == len(lucky) / len(computed)
        assert (row["low"], row["high"]) == wilson_interval(len(lucky), len(computed))


def test_summary_has_steps_losses_and_times(results):
    """Medians and sums beside the rates."""
    table = results.summary("letter")
    runs = results.runs.collect()
    for row in table.iter_rows(named=True):
        own = runs.filter(letter=row["letter"])
        assert row["loss"] == own["loss"].median() and row["lowest_loss"] == own["loss"].min()
        assert row["steps"] == 3 and row["seconds"] == pytest.approx(own["seconds"].sum())


def test_unknown_fields_are_refused(results):
    """The message names those there are."""
    with pytest.raises(InvalidArgument, match=r"`by` must be a field of the grid \(size, letter\)"):
        results.success("colour")
    with pytest.raises(InvalidArgument, match="`field` must be"):
        results.plot_success("colour")
    with pytest.raises(InvalidArgument, match=r"recorded number \(time, loss\)"):
        results.plot_history("colour")
    with pytest.raises(InvalidArgument, match="quantiles"):
        results.plot_history("loss", quantiles=(0.9, 0.1))


def test_a_field_named_twice_counts_once(results):
    """Rates stand beside the counts, however often a field is named."""
    assert results.summary(["letter", "letter"]).equals(results.summary("letter"))


def test_nothing_is_below_nothing(results):
    """Every number is below not-a-number as Polars sees it: all runs would succeed."""
    with pytest.raises(InvalidArgument, match="`below` must be a loss, but received nan"):
        results.success(below=float("nan"))


def test_history_bands_against_a_loop(results):
    """A run keeps its last value when it has ended; median and quantiles over the runs of a setting."""
    bands = history_bands(results, "loss", ["letter"], (0.1, 0.9))
    records = results.records.collect()
    for letter in "ab":
        own = records.filter(letter=letter)
        for step in range(3):
            values = [
                part.filter(pl.col("step") <= step)["loss"][-1] for _, part in own.group_by("cell", "run")
            ]  # fmt: skip
            row = bands.row(by_predicate=(pl.col("letter") == letter) & (pl.col("step") == step), named=True)
            assert len(values) == 120
            np.testing.assert_allclose(
                [row["median"], row["low"], row["high"]], [np.median(values), *np.quantile(values, [0.1, 0.9])]
            )


def test_pictures(results):
    """Curves for every setting, with intervals and bands, on axes of one's own or new ones."""
    axes = results.plot_success("size", by="letter")
    legend = axes.get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["a", "b"] and legend.get_title().get_text() == "letter"
    assert len(axes.containers) == 2 and axes.get_xlabel() == "size"
    same = results.plot_success("letter", ax=axes)
    assert same is axes and [label.get_text() for label in axes.get_xticklabels()] == ["a", "b"]
    axes = results.plot_history("loss", by=["letter"])
    assert len(axes.lines) == 2 and len(axes.collections) == 2 and axes.get_ylabel() == "loss"
    np.testing.assert_array_equal(axes.lines[0].get_xdata(), [0, 1, 2])


def test_reading_while_a_sweep_is_running(here, tmp_path):
    """What is there is read, without waiting for the lock."""
    seen = []

    def read(progress):
        opened = open_sweep(tmp_path)
        assert opened.runs.collect()["run"].to_list() == list(range(progress.done))
        assert opened.complete == (progress.done == 30)
        if not progress.done:
            # Empty tables with their columns.
            assert opened.runs.collect().height == 0 and "loss" in opened.runs.collect_schema()
            assert opened.records.collect().height == 0 and opened.success().height == 0
        seen.append(progress.done)

    run_sweep(CheapWork(cells=1, runs=30), tmp_path, piece_seconds=1.0, watch=read)
    assert set(seen) == set(range(31))


def test_tables_for_others_are_written_when_all_is_done(here, tmp_path):
    """Any reader of Parquet has the runs and the records; a file of others with that name is set aside."""
    (tmp_path / "sweep").mkdir()
    told = []
    results = run_sweep(CheapWork(), tmp_path / "sweep", notice=told.append)
    for table, name in ((results.runs, "runs"), (results.records, "records")):
        assert pl.read_parquet(tmp_path / "sweep" / f"{name}.parquet").equals(table.collect())
    (tmp_path / "sweep" / "runs.parquet").unlink()
    (tmp_path / "sweep" / "records.parquet").write_text("mine")
    run_sweep(CheapWork(), tmp_path / "sweep", notice=told.append)
    assert pl.read_parquet(tmp_path / "sweep" / "records.parquet").equals(results.records.collect())
    assert [path.read_text() for path in (tmp_path / "sweep" / "damaged").iterdir()] == ["mine"] and len(told) == 1


def test_tables_come_back_as_they_were():
    """Numbers, words, truth values, vectors, what is missing and what is not a number, through the bytes of a piece."""
    runs = pl.DataFrame(
        {
            "cell": [3] * 4,
            "run": [5, 6, 7, 8],
            "status": ["converged", None, "é", ""],
            "reason": [None] * 4,
            "steps": [1, None, 3, 4],
            "loss": [1.0, None, float("nan"), float("inf")],
            "gradient_norm": [None] * 4,
            "seconds": [0.1] * 4,
            "success": [True, None, False, True],
            "norms": [[1.0, 2.0], None, [3.0, float("nan")], [5.0, 6.0]],
            "nothing": [None] * 4,
        },
        schema_overrides={"reason": pl.String, "gradient_norm": pl.Float64, "nothing": pl.List(pl.Float64)},
    )
    records = pl.DataFrame(schema={**RECORD_COLUMNS, "angle": pl.List(pl.Float64)})
    made = content_of(Range(3, 5, 4), Computed(runs, records, {"end": np.arange(8.0).reshape(4, 2)}))
    found, content = unpacked(packed(made, "sweep", "stamp"))
    back = computed_of(content)
    assert back.runs.equals(runs) and back.runs.schema == runs.schema
    assert back.records.equals(records) and back.records.schema == records.schema
    assert found.facts == {"runs": 4, "failed": 0, "seconds": 0.4}
    assert Facts(**found.facts, columns={"runs": {"cell": "whole"}}).runs == 4  # as version 0.2.0 has written them
    ((name, values),) = back.arrays.items()
    assert name == "end" and np.array_equal(values, np.arange(8.0).reshape(4, 2))


def test_what_is_not_a_sweep(tmp_path):
    """A clear error."""
    with pytest.raises(MalformedData, match="is not the folder of a sweep"):
        open_sweep(tmp_path)
    with pytest.raises(MalformedData, match="is not the folder of a sweep"):
        open_sweep(tmp_path / "nowhere")
    (tmp_path / "manifest.json").write_text("{}")
    with pytest.raises(MalformedData, match="damaged"):
        open_sweep(tmp_path)
    (tmp_path / "manifest.json").write_text('{"format": 99}')
    with pytest.raises(MalformedData, match="format 99"):
        open_sweep(tmp_path)
