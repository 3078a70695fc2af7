"""Atlases: invariance, noise, different minima, over-parameterised students, tables, figures and files."""

import json
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from disguises import shuffled

import tutelage as tl
from tutelage.geometry import atlas, load_atlas
from tutelage.geometry.survey import describe


@pytest.fixture(scope="module")
def points(spurious, saddle):
    """Ten disguised copies of the spurious minimum, four of the saddle, six of the global minimum, noise of 1e-9."""
    return np.concatenate(
        [shuffled(spurious, 10, 0, 1e-10), shuffled(saddle, 4, 1, 1e-10), shuffled(np.eye(6), 6, 2, 1e-10)]
    )


@pytest.fixture(scope="module")
def found(six, points):
    """Their atlas."""
    return atlas(six, points)


def test_classes(found):
    """Every copy is recognised, nothing is joined, and the classes are in the order of their losses."""
    assert [(entry.kind, entry.count, entry.symmetry) for entry in found] == [
        ("global minimum", 6, "6"),
        ("spurious minimum", 10, "5+1"),
        ("saddle", 4, "4+2"),
    ]
    assert found.runs == 20 and found.left_out == 0 and found.statuses == {"given": 20}
    assert found[1].loss == pytest.approx(0.0250805810)
    assert found[0].norm_sum == pytest.approx(6.0)
    assert found[1].smallest_eigenvalue == pytest.approx(0.0047003547, abs=1e-8)
    # All blocks have a negative eigenvalue, as the mild over-parameterization paper finds of all spurious minima.
    assert found[1].split_curvature < -0.01


def test_order_does_not_matter(six, points, found):
    """Another order of the runs, and other permutations of their neurons, give the same table."""
    random = np.random.default_rng(5)
    other = np.stack([point[random.permutation(6)] for point in points[random.permutation(len(points))]])
    table, again = (one.table().drop("gradient_norm") for one in (found, atlas(six, other)))
    assert table.select("count", "kind", "symmetry", "index").equals(again.select("count", "kind", "symmetry", "index"))
    for name in ("loss", "norm_sum", "smallest_eigenvalue", "largest_eigenvalue", "split_curvature"):
        np.testing.assert_allclose(table[name], again[name], atol=1e-8)


def test_representative_is_in_block_order(six, found):
    """The point of an entry is a critical point of the problem itself, with its blocks in order."""
    point = np.asarray(found[1].point)
    assert float(np.linalg.norm(six.gradient(point))) < 1e-8
    np.testing.assert_allclose(np.diag(point)[:5], point[0, 0], atol=1e-8)
    np.testing.assert_allclose(point[:5, 5], point[0, 5], atol=1e-8)


def test_larger_noise_is_removed_by_newton(six, spurious):
    """Points known to 1e-6 only, by their gradients, are one class, because they are brought closer first."""
    copies = shuffled(spurious, 5, 3, noise=3e-7)
    norms = [np.linalg.norm(six.gradient(copy)) for copy in copies]
    assert max(norms) > 1e-8
    found = atlas(six, copies, tolerance=1e-8, tolerances=tl.geometry.Tolerances(gradient=1e-4))
    assert [(entry.count, entry.kind) for entry in found] == [(5, "spurious minimum")]
    assert found[0].gradient_norm < 1e-12


def test_points_that_are_not_critical_are_left_out(six, points):
    """A point with a gradient is counted as left out."""
    found = atlas(six, np.concatenate([points[:1], points[:1] + 1e-3]))
    assert found.left_out == 1 and len(found) == 1 and found[0].count == 1


def test_runs_carry_their_statuses(six, runs):
    """An atlas of runs knows how they ended."""
    found = atlas(six, runs)
    assert found.statuses == {"converged": 2} and found.steps == int(runs.steps.sum())
    assert [entry.kind for entry in found] == ["spurious minimum", "saddle"]
    assert "1 saddle" in repr(found)


def test_more_students_than_teachers(seven, spurious):
    """Global minima of seven students are one entry, exact or approached; a split spurious minimum is another."""
    minima = tl.global_minima(seven.problem).sample(4, seed=1)
    near = np.asarray(minima[:1]) + 1e-4
    divided = np.asarray(tl.split(spurious, 5, 0.5))
    found = atlas(seven, np.concatenate([minima, near, shuffled(divided, 3, 4)]))
    assert [(entry.kind, entry.count) for entry in found] == [("global minimum", 5), ("saddle", 3)]
    assert found[1].symmetry == "5+2 × 5+1"
    assert found.figure(1).axes


def test_fewer_students_than_teachers():
    """Two students of three teachers: the lowest loss is not known, and a minimum is called one."""
    objective = tl.population(tl.problems.committee(np.eye(3), students=2))
    starts = tl.starts.xavier(objective.problem, runs=6, seed=0)
    runs = tl.descend(objective, starts, tl.GradientDescent(0.5), tl.gradient_norm(1e-11))
    found = atlas(objective, runs)
    assert sum(entry.count for entry in found) + found.left_out == 6
    assert found[0].kind == "minimum"


def test_other_families():
    """A family without permutations is grouped by its points; the scale of a filter does not matter."""
    objective = tl.population(tl.problems.convolution([0.6, 0.8], [1.0, 2.0]))
    filters = np.array([[0.6, 0.8], [1.2, 1.6], [0.3, 0.4]])
    points = tl.models.FilterAndOutput(filters, np.tile([1.0, 2.0], (3, 1)))
    found = atlas(objective, points)
    assert [(entry.kind, entry.count) for entry in found] == [("global minimum", 3)]
    assert np.isnan(found[0].split_curvature)


def test_neurons_that_cannot_be_split_have_no_split_curvature():
    """Two halves of a neuron compute another function, or have less decay: the sign of no curvature means anything."""
    narrow = tl.population(tl.problems.committee(np.eye(2), students=1, activation="tanh"))
    ends = tl.descend(narrow, np.array([[[0.5, 0.6]]]), tl.GradientDescent(0.5), tl.gradient_norm(1e-11))
    (minimum,) = atlas(narrow, ends)
    assert minimum.kind == "minimum" and np.isnan(minimum.split_curvature)
    decaying = tl.population(tl.problems.two_layer(np.eye(2), 2, learn=("weights",), decay=0.01))
    ends = tl.descend(decaying, np.eye(2)[None], tl.GradientDescent(0.3), tl.gradient_norm(1e-10))
    assert np.isnan(atlas(decaying, ends)[0].split_curvature)


def test_table_and_figure(found, tmp_path):
    """The table has a row per class, and the figure a panel per class."""
    table = found.table()
    assert table.height == 3 and table["count"].to_list() == [6, 10, 4]
    figure = found.figure()
    titles = [axis.get_title() for axis in figure.axes if axis.get_title()]
    assert len(titles) == 3 and "5+1" in titles[1] and "reached 10×" in titles[1]
    figure.savefig(tmp_path / "atlas.png")
    assert len([axis for axis in found.figure(1).axes if axis.get_title()]) == 1
    with pytest.raises(tl.InvalidArgument, match="below 3"):
        found.figure(3)


def test_find(found, spurious):
    """A disguised student is found in an atlas, an unknown one is not."""
    assert found.find(shuffled(spurious, 1, 9, 1e-9)[0]) == 1
    assert found.find(1.01 * spurious) is None and found.find(spurious[:5]) is None


def test_files_and_merging(six, found, points, tmp_path):
    """A saved atlas comes back as it was, and pieces merge to the whole."""
    path = tmp_path / "six.npz"
    found.save(path)
    loaded = load_atlas(path)
    assert loaded.table().equals(found.table()) and loaded.statuses == found.statuses
    np.testing.assert_array_equal(loaded[1].point, found[1].point)
    assert loaded[1].structure.name == "5+1" and loaded.problem == found.problem
    pieces = atlas(six, points[:7]), atlas(six, points[7:])
    pieces[1].save(path)
    whole = pieces[0].merge(load_atlas(path))
    assert whole.table()["count"].to_list() == [6, 10, 4] and whole.runs == 20
    assert [p.name for p in tmp_path.iterdir()] == ["six.npz"]


def test_merging_refuses_another_problem(found):
    """Atlases of different problems are not merged."""
    other = replace(found, problem={**found.problem, "noise": 0.1})
    with pytest.raises(tl.InvalidArgument, match="same problem"):
        found.merge(other)


def test_merging_looks_at_more_than_names():
    """Another slope, covariance, sign or sample is another problem, whatever it is called; the same one is the same."""
    teacher, leaky = np.eye(2), tl.activations.LeakyReLU
    covariance = np.array([[2.0, 0.5], [0.5, 1.0]])

    def committee(**options):
        return tl.problems.committee(teacher, students=2, **options)

    def empirical(seed):
        return tl.empirical(committee(), np.random.default_rng(seed).normal(size=(5, 2)))

    made = [
        lambda: tl.population(committee(activation=leaky(0.1))),
        lambda: tl.population(committee(activation=leaky(0.2))),
        lambda: tl.population(committee(inputs=tl.inputs.gaussian(2, covariance=covariance))),
        lambda: tl.population(committee(inputs=tl.inputs.gaussian(2, covariance=2 * covariance))),
        lambda: tl.population(tl.problems.homogeneous(teacher, students=2, signs=[1.0, 1.0])),
        lambda: tl.population(tl.problems.homogeneous(teacher, students=2, signs=[1.0, -1.0])),
        lambda: empirical(0),
        lambda: empirical(1),
    ]
    described = [describe(make()) for make in made]
    assert described == [describe(make()) for make in made] == json.loads(json.dumps(described))
    assert all(one != other for one, other in combinations(described, 2))


def test_damaged_files_are_refused(found, tmp_path):
    """A truncated, changed, foreign or absent file is refused, wherever the damage is."""
    path = tmp_path / "six.npz"
    found.save(path)
    content = path.read_bytes()
    random = np.random.default_rng(0)
    damaged = [content[: len(content) // 2], b"", b"not an atlas"]
    for place in random.integers(len(content), size=40):
        damaged.append(content[:place] + bytes([content[place] ^ 0x55]) + content[place + 1 :])
    for wrong in damaged:
        path.write_bytes(wrong)
        try:
            loaded = load_atlas(path)
        except tl.MalformedData:
            continue
        # A byte that no reader looks at, such as a time stamp, changes nothing.
        assert loaded.table().equals(found.table())
    with pytest.raises(tl.MalformedData, match="cannot be read"):
        load_atlas(tmp_path / "absent.npz")


def test_changed_numbers_are_refused(found, tmp_path):
    """A well-formed file whose numbers were changed does not match its checksum."""
    path = tmp_path / "six.npz"
    found.save(path)
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    arrays["numbers"] = arrays["numbers"] + 1e-12
    np.savez(path, **arrays)
    with pytest.raises(tl.MalformedData, match="checksum"):
        load_atlas(path)
    assert json.loads(bytes(arrays["about"]).decode())["facts"]["runs"] == 20
