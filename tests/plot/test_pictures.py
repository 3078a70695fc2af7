"""Pictures: they show the numbers that they are given, on the caller's axes if there are some."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

import tutelage as tl
from tutelage.errors import InvalidArgument, TutelageError
from tutelage.statistics import wilson_interval


@pytest.fixture(scope="module")
def runs():
    problem = tl.problems.committee(np.eye(3), students=3)
    starts = tl.starts.xavier(problem, runs=4, seed=0)
    record = tl.record("loss", "norms", student=lambda student: student)
    stop = tl.gradient_norm(1e-10) | tl.step_limit(300)
    return tl.descend(tl.population(problem), starts, tl.GradientDescent(0.5), stop, record=record)


@pytest.fixture(scope="module")
def atlas(runs):
    return tl.atlas(runs.objective, tl.descend(runs.objective, runs, tl.GradientDescent(0.5), tl.gradient_norm(1e-12)))


@pytest.fixture
def panel():
    return Figure().subplots()


def test_histories_are_the_recorded_values(runs, panel):
    """One curve per run, or one per vector; what is not positive has no place on a logarithmic axis."""
    assert tl.plot.histories(runs, ax=panel) is panel.figure
    for run, line in enumerate(panel.lines):
        steps, values = runs.curve("loss", run)
        np.testing.assert_array_equal(line.get_xdata(), steps)
        np.testing.assert_array_equal(line.get_ydata()[values > 0], values[values > 0])
    assert panel.get_yscale() == "log" and len(panel.lines) == 4
    (norms,) = tl.plot.histories(runs, "norms", logarithmic=False).axes
    assert len(norms.lines) == 4 * 3 and norms.get_ylabel() == "norms"
    with pytest.raises(TutelageError, match="angle"):
        tl.plot.histories(runs, "angle")


def test_losses_are_in_order(runs, panel):
    """Every run is one point, and its colour says how it ended."""
    tl.plot.final_losses(runs, ax=panel)
    points = np.concatenate([np.stack(line.get_data(), axis=1) for line in panel.lines])
    points = points[np.argsort(points[:, 0])]
    np.testing.assert_array_equal(points[:, 0], np.arange(1, 5))
    np.testing.assert_allclose(points[:, 1], np.maximum(np.sort(runs.losses), 1e-16))
    assert {text.get_text().split(" (")[0].replace(" ", "_") for text in panel.get_legend().get_texts()} == set(
        runs.statuses
    )


def test_trajectories_are_seen_in_the_plane(runs, panel):
    """Ways are projected to the plane, from the start to where the run ended."""
    plane = np.array([[0.0, 0.0, 1.0], [0.6, 0.8, 0.0]])
    tl.plot.trajectories(runs, "student", plane, ax=panel)
    values = runs.curve("student", 0)[1]
    np.testing.assert_allclose(np.stack(panel.lines[0].get_data(), axis=1), values[:, 0] @ plane.T)
    teachers = np.stack(panel.lines[-1].get_data(), axis=1)
    np.testing.assert_allclose(teachers, plane.T)
    with pytest.raises(InvalidArgument, match="orthonormal"):
        tl.plot.trajectories(runs, "student", 2 * plane)
    with pytest.raises(InvalidArgument, match="dimension 3"):
        tl.plot.trajectories(runs, "loss")


def test_success_has_wilson_intervals(panel):
    """The bars are Wilson's intervals."""
    tl.plot.success([1, 2, 3], [0, 5, 10], 10, ax=panel)
    (bars,) = panel.collections
    ends = np.array([segment[:, 1] for segment in bars.get_segments()])
    np.testing.assert_allclose(ends, [wilson_interval(n, 10) for n in (0, 5, 10)], atol=1e-15)


def test_landscape_is_the_loss(runs):
    """The smallest loss of the picture is where the plane meets the teacher."""
    objective = runs.objective
    first, second = np.zeros((2, 3, 3))
    first[0, 0] = second[1, 1] = 1.0
    figure = tl.plot.landscape(objective, 0.5 * np.eye(3), first, second, extent=1.0, resolution=5, logarithmic=False)
    drawn = figure.axes[0].collections[0]
    low, high = drawn.get_clim()
    corners = [
        [objective.loss(0.5 * np.eye(3) + a * first + b * second) for a in (-1, 0, 0.5, 1)] for b in (-1, 0.5, 1)
    ]
    assert low <= np.min(corners) and high >= np.max(corners)
    with pytest.raises(InvalidArgument, match="extent"):
        tl.plot.landscape(objective, np.eye(3), first, second, extent=0.0)
    with pytest.raises(InvalidArgument, match="second"):
        tl.plot.landscape(objective, np.eye(3), first, np.ones(2))


def test_spectrum_tells_signs_apart(panel):
    """Negative, zero and positive eigenvalues have colours of their own; rounding errors have no sign."""
    tl.plot.spectrum([2.0, -1.0, 1e-14, 0.5, -1e-13], ax=panel)
    labels = [text.get_text() for text in panel.get_legend().get_texts()]
    assert labels == ["negative (1)", "zero (2)", "positive (2)"]
    with pytest.raises(InvalidArgument, match="finite"):
        tl.plot.spectrum([np.nan])


def test_atlas_shows_its_entries(atlas, panel):
    """One panel per entry; one entry on the caller's axes."""
    figure = tl.plot.atlas(atlas)
    images = [axis.images[0].get_array() for axis in figure.axes if axis.images]
    assert len(images) >= len(atlas)
    assert tl.plot.atlas(atlas, 0, ax=panel) is panel.figure
    np.testing.assert_array_equal(panel.images[0].get_array(), images[0])
    for arguments in ({"number": len(atlas)}, {"ax": panel}):
        with pytest.raises(InvalidArgument, match="number"):
            tl.plot.atlas(atlas, **arguments)


def test_notebooks_show_figures(runs):
    """A figure shows itself, without pyplot and without a window."""
    assert tl.plot.losses(runs)._repr_png_().startswith(b"\x89PNG")


def test_atlas_shows_output_weights(panel):
    """Beside the rows of a network with two layers, in the order of the blocks."""
    objective = tl.population(tl.problems.two_layer(np.eye(2), 2, "erf", teacher_output=[0.5, 2.0]))
    atlas = tl.atlas(objective, tl.models.Layers(np.eye(2)[None, ::-1], np.array([[2.0, 0.5]])))
    tl.plot.atlas(atlas, 0, ax=panel)
    assert sorted(label.get_text() for label in panel.get_yticklabels()) == ["0.5", "2"]


def test_notebooks_show_values(runs, atlas):
    """Problems, inputs, runs and atlases have small tables that say what they are."""
    problem = runs.objective.problem
    assert "committee problem" in problem._repr_html_() and "3 × 3" in problem._repr_html_()
    assert "gaussian" in problem.inputs._repr_html_()
    shown = runs._repr_html_()
    assert "4 runs of the committee problem" in shown and all(
        status.replace("_", " ") in shown for status in runs.statuses
    )
    assert atlas[0].kind in atlas._repr_html_() and atlas[0].symmetry in atlas._repr_html_()


def test_losses_are_curves(runs, panel):
    """The recorded losses against the step; without a record there are none."""
    tl.plot.losses(runs, ax=panel)
    np.testing.assert_array_equal(panel.lines[1].get_xdata(), runs.curve("loss", 1)[0])
    bare = tl.descend(runs.objective, runs.points, tl.GradientDescent(0.5), tl.step_limit(1))
    with pytest.raises(TutelageError):
        tl.plot.losses(bare)


def test_landscape_of_two_weights_needs_no_directions():
    """The axes are the weights; where there are more, directions are asked for."""
    objective = tl.population(tl.problems.neuron(np.array([1.0, -2.0])))
    (panel, _) = tl.plot.landscape(objective, resolution=3).axes
    assert panel.get_xlim() == (-3.0, 3.0) and panel.get_xlabel() == "$w_1$"
    more = tl.population(tl.problems.neuron(np.ones(3)))
    with pytest.raises(InvalidArgument, match="two dimensions only"):
        tl.plot.landscape(more)


def test_animations_are_saved_and_shown(runs, tmp_path):
    """As a GIF with all its frames, as a page, and in a notebook."""
    film = tl.plot.animate(runs, "student", frames=3)
    film.save(tmp_path / "runs.gif")
    film.save(tmp_path / "runs.html")
    with Image.open(tmp_path / "runs.gif") as picture:
        assert picture.n_frames == 3
    assert "<script" in (tmp_path / "runs.html").read_text() and "<script" in film._repr_html_()
