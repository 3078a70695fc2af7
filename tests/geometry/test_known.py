"""The data set of known minima: what it covers is proved, complete and right."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import tutelage as tl
from tutelage.geometry.known import _coverage, _frame


def test_losses_that_are_known_to_many_digits():
    """The spurious minima of 6 neurons and, with blocks 19 and 1, of 20 have the losses that are in print elsewhere."""
    assert tl.known_minima(6)[1].loss == pytest.approx(0.0250805810024630, abs=5e-17)
    one = tl.known_minima(20)[1]
    assert one.blocks == (19, 1) and f"{one.loss:.9f}" == "0.011275582"
    assert one.loss_bounds[0] <= one.loss <= one.loss_bounds[1] < one.loss_bounds[0] + 1e-15
    assert repr(one) == "KnownMinimum(spurious minimum, blocks 19+1, loss 0.011275582)"
    assert repr(tl.known_minima(20)) == "KnownMinima(20 students, 20 teachers: 13 classes)"


def test_every_class_is_proved_and_has_its_whole_spectrum():
    """Kinds are proved, eigenvalues are as many as parameters, and runs are counted once."""
    frame = _frame()
    assert set(frame["kind"]) == {"global minimum", "spurious minimum"} and set(frame["reason"]) == {""}
    assert (frame["eigenvalue_low"] > 0).all() and (frame["radius"] < frame["unique_radius"]).all()
    assert (frame["multiplicities"].list.sum() == frame["neurons"] * frame["students"]).all()
    assert (frame["blocks"].list.sum() == frame["neurons"]).all()
    sums, runs = pl.col("xavier", "large").sum(), pl.col("xavier_runs", "large_runs").first()
    counted = frame.group_by("neurons").agg(sums, runs)
    assert (counted["xavier"] == counted["xavier_runs"]).all() and (counted["large"] == counted["large_runs"]).all()
    neurons = sorted(set(frame["neurons"]))
    assert neurons == list(range(6, neurons[-1] + 1)), "without a gap"


def test_entries_are_those_of_a_minimum():
    """The student of a row is critical, has its loss and norms, and is proved again from its entries."""
    one = tl.known_minima(13)[-1]
    student = one.student()
    objective = tl.population(tl.problems.committee(np.eye(13), students=13))
    assert np.linalg.norm(objective.gradient(student)) < 1e-14
    # The loss is a difference of terms that add up to about thirty, and has their rounding.
    assert objective.loss(student) == pytest.approx(one.loss, abs=30 * 2**-50)
    assert np.linalg.norm(student, axis=1).sum() == pytest.approx(one.norm_sum, abs=1e-9)
    pytest.importorskip("flint")
    certificate = one.point.certify(digits=20)
    assert certificate.kind == one.kind == "spurious minimum"


def test_what_is_not_covered_is_refused():
    """The sentence says what is covered, and what to do instead."""
    last = _coverage()[0][1]
    with pytest.raises(tl.InvalidArgument, match=f"`neurons` must be from 6 to {last}.*received 5.*tutelage minima"):
        tl.known_minima(5)
    with pytest.raises(tl.InvalidArgument, match="`students` must be as many as the teachers"):
        tl.known_minima(6, 9)
    assert len(tl.known_minima(9).table()) == len(tl.known_minima(9)) == 3
