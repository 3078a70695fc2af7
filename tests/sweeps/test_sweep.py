"""Sweeps: every family runs, and a run has the same row whatever the cut."""

import inspect
import json
import tomllib
from itertools import pairwise

import jax
import numpy as np
import polars as pl
import pytest

import tutelage as tl
from tutelage.dynamics.descend import tile_of
from tutelage.sweeps import Range
from tutelage.sweeps.following import RUN_COLUMNS
from tutelage.sweeps.specification.examples import example, families
from tutelage.sweeps.specification.families import LAW_TABLES, OBJECTIVE_TABLES, PROBLEM_TABLES
from tutelage.sweeps.specification.generators import VECTORS
from tutelage.sweeps.specification.procedures import (
    METHOD_TABLES,
    SCHEDULE_TABLES,
    START_TABLES,
    STOP,
    TRANSFORMATION_TABLES,
    solvers,
)

RUNS = 5
NEURON = {"family": "neuron", "target": [1.0, 0.5]}
DESCENT = {"kind": "gradient_descent", "step": 0.1}


def small(family):
    """The example of a family, at a size for tests."""
    fields = tomllib.loads(example(family))
    fields["runs"] = RUNS
    fields["stop"]["step_limit"] = 12
    fields.setdefault("record", {"quantities": ["loss", "norms"]})["every"] = 4
    if family == "homogeneous":
        fields["problem"]["students"] = 4
    return fields


def joined(outcomes):
    """Several outcomes as one."""
    return (
        pl.concat([one.runs for one in outcomes]).drop("seconds"),
        pl.concat([one.records for one in outcomes]),
        {name: np.concatenate([one.arrays[name] for one in outcomes]) for name in outcomes[0].arrays},
    )


def assert_equal(one, other):
    """Tables and arrays are the same bit for bit."""
    assert one[0].equals(other[0]) and one[1].equals(other[1])
    assert one[2].keys() == other[2].keys()
    assert all(one[2][name].tobytes() == other[2][name].tobytes() for name in one[2])


def test_every_family_has_an_example():
    """A family of problems without an example, or the other way round, is noticed."""
    assert set(families()) == set(PROBLEM_TABLES)
    assert all(20 < len(text) <= 110 for text in families().values())


@pytest.mark.slow
@pytest.mark.parametrize("family", PROBLEM_TABLES)
def test_families(family):
    """The example of every family runs, and its runs do not depend on how they are cut."""
    sweep = tl.Sweep(**small(family))
    whole = joined([sweep.run(Range(0, 0, RUNS))])
    assert whole[0]["run"].to_list() == list(range(RUNS)) and whole[0]["status"].to_list() != ["failed"] * RUNS
    assert "failed" not in whole[0]["status"] and whole[0]["loss"].is_finite().all()
    for cuts in ([0, 2, 5], [0, 1, 4, 5]):
        ranges = [Range(0, begin, end - begin) for begin, end in pairwise(cuts)]
        outcomes = {one.first: sweep.run(one) for one in reversed(ranges)}
        assert_equal(whole, joined([outcomes[one.first] for one in ranges]))
    rebuilt = tl.Sweep.from_document(json.loads(json.dumps(sweep.document(), allow_nan=False)))
    assert rebuilt.document() == sweep.document()
    if family == "committee":  # what is compiled again takes long, and is the same everywhere
        assert_equal(whole, joined([rebuilt.run(Range(0, 0, RUNS))]))


def test_the_row_of_a_run():
    """Rows say what `descend` says, with the cell, success and the records."""
    sweep = tl.Sweep(
        {"family": "committee", "teacher": {"generator": "orthonormal", "neurons": 3}, "students": 3, "noise": 0.5},
        {"kind": "gradient_descent", "step": 0.8},
        runs=6,
        stop={"gradient_norm": 1e-10, "step_limit": 2000},
        record={"quantities": ["loss", "angle"], "every": 50},
        success=1e-9,
        seed=4,
        grid={"seed": [3, 4]},
    )
    problem = tl.problems.committee(np.eye(3), 3, noise=0.5)
    objective = tl.population(problem)
    runs = tl.descend(
        objective,
        tl.starts.xavier(problem, 6, seed=4),
        tl.GradientDescent(0.8),
        tl.gradient_norm(1e-10) | tl.step_limit(2000),
        tl.record("loss", "angle", every=50),
        seed=4,
    )
    outcome = sweep.run(Range(1, 2, 4))
    table = outcome.runs
    assert table.schema == RUN_COLUMNS and table["cell"].to_list() == [1] * 4 and table["run"].to_list() == [2, 3, 4, 5]
    shared = [name for name in runs.frame().columns if name in table.columns]
    assert table.select(shared).equals(runs.frame()[2:].select(shared))
    # The loss has half the squared noise in it, which no student can learn away.
    assert table["success"].to_list() == (runs.losses[2:] - 0.125 <= 1e-9).tolist() and table["success"].any()
    history = runs.history().filter(pl.col("run") >= 2)
    assert outcome.records.select(history.columns).equals(history)
    np.testing.assert_array_equal(outcome.arrays["points"], runs.points[2:])


def test_cells():
    """One row per cell, with the fields of the grid and the number of runs."""
    sweep = tl.Sweep(
        NEURON,
        DESCENT,
        runs=2,
        grid={"problem.activation": ["relu", "abs"], "problem.inputs": [{"law": "ball"}, {"law": "gaussian"}]},
        zip={"seed": [0, 1], "runs": [3, 4], "method.step": [1, 0.5]},
    )
    cells = sweep.cells()
    assert cells.columns == ["cell", "problem.activation", "problem.inputs", "seed", "runs", "method.step"]
    assert cells["cell"].to_list() == list(range(8)) and cells["runs"].to_list() == [3, 4] * 4
    assert cells["method.step"].dtype == pl.Float64 and cells["problem.inputs"][0] == '{"law": "ball"}'
    assert len(sweep) == 8 and repr(sweep) == "Sweep(neuron: 8 cells, 28 runs)"
    assert tl.Sweep.from_document(sweep.document()).cells().equals(cells)


@pytest.mark.parametrize("dimension", [3, 30])
def test_arrays_of_a_grid_are_told_apart(dimension):
    """Two teachers of one shape are two settings: what is grouped by the field must not mix them."""
    teachers = [np.eye(2, dimension), 2 * np.eye(2, dimension)]
    problem = {"family": "committee", "students": 2, "teacher": teachers[0]}
    made = tl.Sweep(problem, DESCENT, runs=1, grid={"problem.teacher": teachers})
    shown = made.cells()["problem.teacher"].to_list()
    assert shown[0] != shown[1] and all(len(text) < 100 for text in shown)
    assert (json.loads(shown[1]) == teachers[1].tolist()) == (dimension == 3)


def test_an_axis_of_a_large_space():
    """A vector along an axis needs no square matrix."""
    long = VECTORS["axis"](1_000_000, norm=2.0)
    assert long[0] == 2.0 and np.count_nonzero(long) == 1


def test_a_mark_at_the_beginning_of_a_file(tmp_path):
    """Editors that mark a file as UTF-8 write specifications too."""
    (tmp_path / "spec.toml").write_text(example("neuron"), encoding="utf-8-sig")
    assert len(tl.Sweep.from_toml(tmp_path / "spec.toml")) == 1


def test_columns_do_not_depend_on_the_cell():
    """All cells of a sweep have the same columns of the same types, so that their tables can be joined."""
    sweep = tl.Sweep(
        {"family": "committee", "teacher": [[1.0, 0.0]], "students": 1},
        DESCENT,
        runs=1,
        stop={"step_limit": 2},
        zip={
            "problem.students": [1, 2],
            "record": [{"quantities": ["angle"]}, {"quantities": ["norms", "loss"]}],
        },
    )
    records = [sweep.run(Range(cell, 0, 1)).records for cell in range(2)]
    table = pl.concat(records)
    assert table.schema["angle"] == table.schema["norms"] == pl.List(pl.Float64)
    assert table["angle"].list.len().to_list() == [1, 1, 1, None, None, None]
    assert table["norms"].list.len().to_list() == [None, None, None, 2, 2, 2]


def test_restarts_keep_the_best_copy():
    """The row of a start is that of its best copy, with the number of copies that were tried."""
    sweep = tl.Sweep(
        {"family": "convolution", "filter": {"generator": "axis", "dimension": 3}, "output_weights": [1.0, -0.9, 0.3]},
        {"kind": "gradient_descent", "step": 0.2},
        runs=12,
        starts={"law": "gaussian", "scale": 1.0},
        stop={"gradient_norm": 1e-5, "step_limit": 1000},
        record={"quantities": ["loss"], "every": 500},
        success=1e-6,
        grid={"restarts": [False, True]},
    )
    once, more = (sweep.run(Range(cell, 0, 12)) for cell in range(2))
    assert 0 < once.runs["success"].sum() < more.runs["success"].sum() == 12
    tried = more.runs["attempts"].to_numpy()
    assert ((tried == 1) == once.runs["success"].to_numpy()).all() and tried.max() <= 4
    # What is recorded last is what the row says, for a restarted run too.
    last = more.records.group_by("run", maintain_order=True).last()
    np.testing.assert_array_equal(last["loss"], more.runs["loss"])
    pieces = [sweep.run(Range(1, first, 3)) for first in range(0, 12, 3)]
    assert_equal(joined([more]), joined(pieces))


def test_given_starts():
    """Starts that are given are those of their runs, whatever the cut."""
    points = np.arange(1.0, 9.0).reshape(4, 2)
    sweep = tl.Sweep(NEURON, DESCENT, runs=4, starts={"law": "given", "points": points}, stop={"step_limit": 0})
    outcome = sweep.run(Range(0, 1, 2))
    np.testing.assert_array_equal(outcome.arrays["points"], points[1:3])


def test_students_of_several_arrays():
    """A point of several arrays is written as its parts, in the order of the problem's documentation."""
    problem = {"family": "convolution", "filter": [1.0, 0.0], "output_weights": [1.0, 2.0]}
    near = {"law": "near", "point": {"parts": [[0.5, 0.5], [1.0, 1.0]]}, "distance": 1e-3}
    sweep = tl.Sweep(problem, DESCENT, runs=2, starts=near, stop={"step_limit": 0})
    arrays = sweep.run(Range(0, 0, 2)).arrays
    np.testing.assert_allclose(arrays["points.filter"], [[0.5, 0.5]] * 2, atol=1e-3)
    np.testing.assert_allclose(arrays["points.output"], [[1.0, 1.0]] * 2, atol=1e-3)


def test_empirical_samples():
    """A fixed sample is drawn from the problem with its seed, or given; the same sample gives the same runs."""
    drawn = {"kind": "empirical", "samples": 20, "sample_seed": 5}
    common = {"runs": 2, "stop": {"step_limit": 3}}
    one = tl.Sweep(NEURON, DESCENT, objective=drawn, **common)
    built = one._plan.build(0).objective
    given = {"kind": "empirical", "inputs": np.asarray(built.inputs), "labels": np.asarray(built.labels)}
    other = tl.Sweep(NEURON, DESCENT, objective=given, **common)
    both = Range(0, 0, 2)
    assert_equal(joined([one.run(both)]), joined([other.run(both)]))


def test_a_failing_run_is_a_row(monkeypatch):
    """A run that cannot be computed has a reason; the others of its range are as if it were not there."""
    from tutelage.sweeps import following

    sweep = tl.Sweep(NEURON, DESCENT, runs=4, stop={"step_limit": 3}, record={"every": 1})
    good = joined([sweep.run(Range(0, 0, 4))])
    descend = following.descend

    def refusing(objective, starts, *arguments, first_run, **options):
        if first_run <= 2 < first_run + len(starts):
            raise RuntimeError("nobody expected this")
        return descend(objective, starts, *arguments, first_run=first_run, **options)

    monkeypatch.setattr(following, "descend", refusing)
    outcome = sweep.run(Range(0, 0, 4))
    table = outcome.runs.drop("seconds")
    assert table.schema == good[0].schema
    assert table["status"].to_list().count("failed") == 1
    failed = table.row(2, named=True)
    assert failed["reason"] == "RuntimeError: nobody expected this" and failed["loss"] is None and not failed["success"]
    kept = pl.col("run") != 2
    assert table.filter(kept).equals(good[0].filter(kept)) and outcome.records.equals(good[1].filter(kept))
    assert np.isnan(outcome.arrays["points"][2]).all()


def test_a_cell_that_cannot_be_built_fails_alone(tmp_path):
    """If a file is lost after the sweep was planned, the runs that need it fail with the reason."""
    data = {"law": "mnist_patches", "size": 2, "path": "digits"}
    header = np.array([2051, 2, 3, 3], ">i4").tobytes()
    (tmp_path / "digits").write_bytes(header + np.arange(18, dtype=np.uint8).tobytes())
    problem = {"family": "neuron", "target": [1.0, 0.0, 0.0, 1.0], "inputs": data}
    options = {"objective": {"kind": "stream", "batch": 4}, "stop": {"step_limit": 2}, "folder": tmp_path}
    sweep = tl.Sweep(problem, DESCENT, runs=2, **options)
    assert sweep.run(Range(0, 0, 2)).runs["status"].to_list() == ["step_limit"] * 2
    (tmp_path / "digits").write_bytes(header + bytes(18))
    table = tl.Sweep.from_document(sweep.document()).run(Range(0, 0, 2)).runs
    assert table["status"].to_list() == ["failed"] * 2 and "has changed since" in table["reason"][0]


def test_interrupted_on_the_way():
    """A range is given up where its progress says so, at the first look or later; that is no failed run."""
    sweep = tl.Sweep(NEURON, {"kind": "gradient_descent", "step": 1e-9}, runs=2, stop={"step_limit": 10**9})
    for looks in (1, 4):
        told = []

        def tell(*numbers, told=told, looks=looks):
            told.append(numbers)
            if len(told) == looks:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            sweep.run(Range(0, 0, 2), progress=tell)
        assert len(told) == looks


def test_ranges_cover_every_run_once():
    """Ranges are whole tiles near the wanted cost, the most expensive first."""
    sweep = tl.Sweep(
        {"family": "committee", "teacher": {"generator": "orthonormal", "neurons": 20}, "students": 20},
        DESCENT,
        runs=1000,
        zip={"problem.teacher.neurons": [20, 2], "problem.students": [20, 2]},
    )
    built = sweep._plan.build(0)
    tile, work = tile_of(built.objective, built.method)
    assert (tile, work) == (32, 800)
    for seconds in (1e-3, 10.0, 25.0, 1e9):
        ranges = sweep.ranges(seconds)
        for cell in range(2):
            runs = [run for one in ranges if one.cell == cell for run in range(one.first, one.first + one.runs)]
            assert sorted(runs) == list(range(1000))
        assert [one.cost for one in ranges] == sorted((one.cost for one in ranges), reverse=True)
    finest = sweep.ranges(1e-3)
    assert {one.runs for one in finest if one.cell == 0} == {32, 1000 % 32}
    assert len(sweep.ranges(1e9)) == 2
    # Neurons that are ten times as many cost more, run by run.
    costs = [sum(one.cost for one in finest if one.cell == cell) for cell in range(2)]
    assert costs[0] > 5 * costs[1]


def parameters(function):
    """The names of a function's arguments."""
    return set(inspect.signature(function).parameters)


@pytest.mark.parametrize(("tables", "left_out"), [(PROBLEM_TABLES, set()), (LAW_TABLES, set()), (METHOD_TABLES, set())])
def test_every_argument_is_a_field(tables, left_out):
    """What a constructor takes can be said in a specification, and nothing else."""
    for table in tables.values():
        assert parameters(table.function) == set(table.model_fields) - {table.key} - left_out


def test_every_name_of_the_library_is_known():
    """Families that the library has are families of specifications."""
    assert set(PROBLEM_TABLES) == {name for name, value in vars(tl.problems).items() if inspect.isfunction(value)}
    laws = {name for name, value in vars(tl.inputs).items() if inspect.isfunction(value)}
    assert set(LAW_TABLES) == laws - {"registry", "plane_basis", "spherical"}
    assert set(OBJECTIVE_TABLES) == {"population", "empirical", "stream"}
    assert set(START_TABLES) >= {"xavier", "gaussian", "signs", "uniform", "near", "large_norm", "given", "fitted"}
    assert set(STOP.model_fields) == {"gradient_norm", "loss_below", "parameter_change", "step_limit", "wall_time"}
    assert set(METHOD_TABLES) == {
        "accelerated_descent",
        "chebyshev_descent",
        "gradient_descent",
        "gradient_flow",
        "perturbed_gradient_descent",
        "stochastic_gradient_descent",
    }
    assert {"adam", "sgd", "rmsprop", "adamw"} <= set(TRANSFORMATION_TABLES)
    assert not {"lbfgs", "noisy_sgd"} & set(TRANSFORMATION_TABLES)
    assert "Tsit5" in solvers() and not any(name.startswith("Abstract") for name in solvers())


def test_transformations_and_schedules_can_be_built():
    """Every optimiser and schedule that a specification may name is one that the library takes."""
    numbers = {"learning_rate": 0.1, "init_value": 0.1, "value": 0.1, "peak_value": 0.2}
    numbers |= {"end_value": 0.01, "decay_steps": 20}
    for name, table in SCHEDULE_TABLES.items():
        needed = {key: field for key, field in table.model_fields.items() if field.is_required() and key != "schedule"}
        values = {key: numbers.get(key, 10 if field.annotation is int else 0.5) for key, field in needed.items()}
        step = {"schedule": name, **values}
        sweep = tl.Sweep(NEURON, {"kind": "gradient_descent", "step": step}, runs=1)
        assert float(jax.jit(sweep._plan.build(0).method.step)(3)) >= 0
    for name in TRANSFORMATION_TABLES:
        sweep = tl.Sweep(NEURON, {"kind": "optax", "name": name, "learning_rate": 0.1}, runs=1)
        method = sweep._plan.build(0).method
        # In one program each: by itself, every operation would be compiled.
        updates = jax.jit(lambda point, method=method: method.update(point, method.init(point), point)[0])(np.ones(2))
        assert np.isfinite(updates).all(), name


def test_an_estimate_says_what_would_make_it_cheaper():
    """A quadrature costs more than a closed form, ten times the runs about ten times as much, and the advice fits."""

    def estimate(activation, runs):
        problem = {"family": "committee", "teacher": np.eye(3), "students": 3, "activation": activation}
        return tl.Sweep(problem, {"kind": "gradient_descent", "step": 0.5}, runs=runs).estimate()

    closed, integral, many = estimate("relu", 1000), estimate("tanh", 1000), estimate("tanh", 10_000)
    assert integral.seconds > 5 * closed.seconds
    assert 5 * integral.seconds < many.seconds < 20 * integral.seconds
    assert "closed form" in integral.advice and "closed form" not in closed.advice
