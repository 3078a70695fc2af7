"""The data set of known minima: what it covers is proved, complete and right."""

from __future__ import annotations

import math
from pathlib import Path

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
    assert set(frame["kind"]) == {"global minimum", "spurious minimum"}
    isolated, continua = frame.filter(reason=""), frame.filter(pl.col("reason") != "")
    assert (isolated["eigenvalue_low"] > 0).all() and (isolated["radius"] < isolated["unique_radius"]).all()
    assert (frame["multiplicities"].list.sum() == frame["neurons"] * frame["students"]).all()
    assert (frame["blocks"].list.sum() == frame["neurons"]).all()
    assert (frame["orbits"].list.sum() == frame["students"]).all()
    sums, runs = pl.col("xavier", "large").sum(), pl.col("xavier_runs", "large_runs").first()
    counted = frame.group_by("neurons", "students").agg(sums, runs, pl.col("loss").min())
    assert (counted["xavier"] == counted["xavier_runs"]).all() and (counted["large"] == counted["large_runs"]).all()
    for extra, (_, last) in _coverage().items():
        own = counted.filter(pl.col("students") - pl.col("neurons") == extra)
        assert sorted(own["neurons"]) == list(range(6, last + 1)), "without a gap"
        # With more students than teachers the global minima are a continuum, of which one row stands for all.
        words = f"one of a continuum of dimension {extra}, of students that share neurons"
        shared = continua.filter(pl.col("students") - pl.col("neurons") == extra)
        assert sorted(shared["neurons"]) == (sorted(own.filter(loss=0)["neurons"]) if extra else [])
        assert set(shared["kind"]) <= {"global minimum"} and set(shared["reason"]) <= {words}
        assert (shared["loss_high"] == 0).all() and (shared["smallest_eigenvalue"] == 0).all()


def test_rows_of_more_students_by_the_definition_of_the_loss():
    """Rows drawn by a seed: loss, gradient and whole spectrum by formulas that share nothing with families."""
    frame = _frame().filter((pl.col("students") > pl.col("neurons")) & (pl.col("neurons") < 18))
    spurious = frame.filter(kind="spurious minimum")
    drawn = [spurious.sample(1, seed=4), frame.filter(kind="global minimum").sample(1, seed=4)]
    for row in pl.concat(drawn).iter_rows(named=True):
        known = tl.known_minima(row["neurons"], row["students"])
        one = next(one for one in known if one.loss == row["loss"])
        student = one.student()
        assert student.shape == (one.students, one.neurons)
        assert _loss(student) == pytest.approx(one.loss, abs=1e-13)
        assert np.linalg.norm(student, axis=1).sum() == pytest.approx(one.norm_sum, abs=1e-9)
        objective = tl.population(tl.problems.committee(np.eye(one.neurons), students=one.students))
        assert np.linalg.norm(objective.gradient(student)) < 1e-13
        whole = np.linalg.eigvalsh(np.asarray(objective.hessian(student)).reshape(student.size, student.size))
        assert whole == pytest.approx(np.repeat(row["eigenvalues"], row["multiplicities"]), abs=1e-11)


def _loss(student: np.ndarray) -> float:
    """Half the mean squared difference, pair by pair, as Cho and Saul print the dual of ReLU."""
    vectors, signs = np.concatenate([student, np.eye(student.shape[1])]), [1] * len(student) + [-1] * student.shape[1]
    total = []
    for v, a in zip(vectors, signs, strict=True):
        for w, b in zip(vectors, signs, strict=True):
            norms = math.sqrt(v @ v) * math.sqrt(w @ w)
            angle = math.acos(max(-1.0, min(1.0, v @ w / norms)))
            total.append(a * b * norms * (math.sin(angle) + (math.pi - angle) * math.cos(angle)) / (4 * math.pi))
    return math.fsum(total)


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


def test_the_data_card_says_what_is_covered():
    """Every row of its table is that of the data set."""
    card = Path(__file__).parents[2].joinpath("docs", "known-minima.md").read_text(encoding="utf-8")
    for extra, (first, last) in _coverage().items():
        own = [row for row in _frame().iter_rows(named=True) if row["students"] - row["neurons"] == extra]
        spurious = sum(row["kind"] == "spurious minimum" for row in own)
        runs = sum({row["neurons"]: row["xavier_runs"] + row["large_runs"] for row in own}.values())
        name = f"k + {extra}" if extra else "k"
        assert f"| $n = {name}$ | {first} to {last} | {len(own):,} | {spurious:,} | {runs:,} |" in card


def test_what_is_not_covered_is_refused():
    """The sentence says what is covered, and what to do instead."""
    last = _coverage()[0][1]
    with pytest.raises(tl.InvalidArgument, match=f"`neurons` must be from 6 to {last}.*received 5.*tutelage minima"):
        tl.known_minima(5)
    with pytest.raises(tl.InvalidArgument, match="`students` must be as many as the teachers or 1 more or 2 more"):
        tl.known_minima(6, 9)
    with pytest.raises(tl.InvalidArgument, match=f"`neurons` must be from 6 to {_coverage()[1][1]}"):
        tl.known_minima(last, last + 1)
    assert len(tl.known_minima(9).table()) == len(tl.known_minima(9)) == 3
