"""Grids: product, zip, order, and what cannot be one."""

import pytest

from tutelage.sweeps.specification.grids import applied, expanded

SHARED = {"runs": 1, "problem": {"family": "committee", "teacher": {"neurons": 2}}}


def cells(**grid):
    """The values that every cell takes."""
    shared, settings, issues = expanded({**SHARED, **grid})
    assert shared == SHARED and not issues
    return [{".".join(path): value for path, (value, _) in setting.items()} for setting in settings]


def test_no_grid_is_one_cell():
    """A specification without a grid is a grid of one cell."""
    assert cells() == [{}]


def test_product():
    """Cells are in the order of nested loops, as written."""
    assert cells(grid={"problem": {"students": [6, 7]}, "seed": [0, 1, 2]}) == [
        {"problem.students": students, "seed": seed} for students in (6, 7) for seed in (0, 1, 2)
    ]


def test_dots_in_keys_are_paths():
    """`problem.students` in quotes, as Python writes it, is the same as nested tables."""
    assert cells(grid={"problem.students": [6]}) == cells(grid={"problem": {"students": [6]}})


def test_zip_advances_together():
    """Lists of a zip advance together; several zips and a grid multiply."""
    two = {"problem.students": [6, 8], "method.step": [0.8, 0.6]}
    assert cells(zip=two) == cells(zip=[two])
    assert cells(zip=[two, {"seed": [1, 2, 3]}])[:2] == [
        {"problem.students": 6, "method.step": 0.8, "seed": 1},
        {"problem.students": 6, "method.step": 0.8, "seed": 2},
    ]
    assert len(cells(zip=[two, {"seed": [1, 2, 3]}], grid={"success": [1e-3, 1e-6]})) == 12


def test_values_of_any_shape():
    """A value of a grid may be a list or a table."""
    assert cells(grid={"problem.degrees": [[1], [1, 2]]}) == [{"problem.degrees": [1]}, {"problem.degrees": [1, 2]}]
    assert cells(grid={"problem.inputs": [{"law": "ball"}]}) == [{"problem.inputs": {"law": "ball"}}]


def test_fields_are_not_shared_between_cells():
    """Each cell has fields of its own, and the specification is left as it was."""
    _, (first, second), _ = expanded({**SHARED, "grid": {"problem.teacher.neurons": [3, 4]}})
    own, issues = applied(first, SHARED)
    other, _ = applied(second, SHARED)
    assert not issues and (own["problem"]["teacher"], other["problem"]["teacher"]) == ({"neurons": 3}, {"neurons": 4})
    assert SHARED["problem"]["teacher"] == {"neurons": 2}


@pytest.mark.parametrize(
    ("grid", "path", "text"),
    [
        ({"grid": {}}, ("grid",), "at least one field"),
        ({"grid": 3}, ("grid",), "table of lists"),
        ({"grid": {"seed": 3}}, ("grid", "seed"), "in brackets"),
        ({"grid": {"seed": []}}, ("grid", "seed"), "at least one value"),
        ({"grid": {"a": [1]}, "zip": [{"a": [1]}]}, ("zip", 0, "a"), "twice, but `grid.a`"),
        ({"grid": {"a": [{"b": 1}], "a.b": [1]}}, ("grid", "a.b"), "twice"),
        ({"zip": {"a": [1, 2], "b": [1]}}, ("zip",), "one length, but a has 2, b has 1"),
        ({"zip": 3}, ("zip",), "table of lists"),
        ({"zip": [3]}, ("zip", 0), "table of lists"),
        ({"grid": {"a": list(range(400)), "b": list(range(400))}}, ("grid",), "at most 100000 cells, but has 160000"),
    ],
)
def test_bad_grids(grid, path, text):
    """What is wrong with a grid is said at its place."""
    _, _, (issue, *_) = expanded({**SHARED, **grid})
    assert issue.path == path and text in issue.text


def test_a_grid_into_a_number():
    """A grid cannot set a field inside something that is no table."""
    _, (setting,), _ = expanded({**SHARED, "grid": {"runs.more": [1]}})
    _, (issue,) = applied(setting, SHARED)
    assert issue.path == ("grid", "runs.more") and "`runs` is 1, not a table" in issue.text
