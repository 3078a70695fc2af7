"""Branches in real numbers of neurons: where they go, where they turn, and where eigenvalues cross zero."""

from __future__ import annotations

import numpy as np
import pytest

import tutelage as tl
from tutelage.geometry.families.branches import at_number


@pytest.fixture(scope="module")
def family():
    return tl.family("k-1,1")


@pytest.fixture(scope="module")
def down(family):
    """The branch of the spurious minimum, from twenty neurons to four."""
    return family.follow(family.points(20)[1], 4)


def test_branches_pass_through_the_points_of_whole_numbers(family, down):
    """The branch of the minimum of 20 neurons has the minima of 12 and of six, and the loss of each is on it."""
    assert down.reason == "reached" and down.neurons[0] == 20 and down.neurons[-1] == 4
    for neurons in (12, 6):
        near = down.tables[np.abs(down.neurons - neurons).argmin()]
        table = at_number(family._class, near, float(neurons))
        assert family.point(neurons, table).loss == pytest.approx(family.points(neurons)[1].loss, abs=1e-12)
    assert (np.diff(down.losses) > 0).all()


def test_spurious_minima_begin_between_five_and_six_neurons(family, down):
    """Where the smallest eigenvalue crosses zero: a saddle with five neurons, a minimum with six."""
    (event,) = down.events
    assert event.kind == "crossing" and event.type == "standard of 1" and 5.58 < event.neurons < 5.59
    for neurons, kind in ((event.neurons - 1e-3, "saddle"), (event.neurons + 1e-3, "minimum")):
        assert family.point(neurons, at_number(family._class, event.table, neurons)).kind == kind
    spectrum = family.point(event.neurons, event.table).spectrum
    assert min(abs(one.eigenvalue) for one in spectrum) < 1e-12


def test_crossings_are_proved(down):
    """Enclosed to 1e-10 and closer, around the measured number; and not where there is none."""
    (event,) = down.events
    for width in (1e-10, 1e-12):
        low, high = down.enclose(event, width)
        assert low < event.neurons < high and high - low < 1.1 * width
    with pytest.raises(tl.TutelageError, match="not proved"):
        down.enclose(event._replace(neurons=5.7))
    with pytest.raises(tl.TutelageError, match="not proved"):
        down.enclose(event._replace(place=1))


def test_crossings_with_a_small_slope_are_proved():
    """Where the eigenvalue hardly changes, float64 does not know the crossing well enough; more digits do."""
    family = tl.family("k-2,2")
    branch = family.follow(family.points(100)[2], 150)
    (event,) = branch.events
    low, high = branch.enclose(event)
    assert event.neurons == pytest.approx(135.978490, abs=1e-5) and low == pytest.approx(event.neurons, abs=1e-6)
    assert high - low < 1.1e-10


def test_turning_points_are_found():
    """Two saddles with blocks k-2, 2 meet at 14.2526: one branch, which turns back there."""
    family = tl.family("k-2,2")
    points = family.points(16)
    start = next(point for point in points if abs(point.loss - 0.0614) < 1e-3 and point.index > 10)
    branch = family.follow(start, 13)
    (event,) = [event for event in branch.events if event.kind == "turning"]
    assert event.neurons == pytest.approx(14.2526365774, abs=1e-9) and branch.neurons.min() >= event.neurons - 1e-9
    assert "turned back" in branch.reason
    # Proved, and refused where there is no turning point, or the branch's own crossing is asked for as one.
    low, high = branch.enclose(event)
    assert low <= high < low + 1e-13 and high == pytest.approx(event.neurons, abs=1e-9)
    with pytest.raises(tl.TutelageError, match="turning point is not proved"):
        branch.enclose(event._replace(table=start.table, neurons=16.0))
    # On the way back it passes another critical point of the list.
    back = branch.tables[-1]
    other = family.point(16, at_number(family._class, back, 16.0))
    assert abs(other.loss - start.loss) > 1e-5
    assert min(abs(other.loss - point.loss) for point in points) < 1e-10
    # Below, neither exists.
    assert not [point for point in family.points(14) if abs(point.loss - 0.0625) < 1e-3 and point.index > 10]


def test_wrong_input_is_refused(family, down):
    with pytest.raises(tl.InvalidArgument, match="point"):
        tl.family("k").follow(family.points(6)[1], 8)
    with pytest.raises(tl.InvalidArgument, match="neurons"):
        family.follow(family.points(6)[1], 2)
    with pytest.raises(tl.InvalidArgument, match="to"):
        family.follow(family.points(6)[1], "far")
    with pytest.raises(tl.InvalidArgument, match="event"):
        down.enclose(down)
