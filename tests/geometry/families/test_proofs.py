"""Certificates from the distinct entries of symmetric students: theorems in the full space."""

from __future__ import annotations

import dataclasses

import certificates_by_hand as hand
import flint
import numpy as np
import pytest

import tutelage as tl
from tutelage.geometry import proving as module
from tutelage.geometry.families.layout import Layout
from tutelage.geometry.families.proofs import enclosed_by_symmetry, in_balls, reduced_table


def committee(neurons: int) -> tl.objectives.Objective:
    return tl.population(tl.problems.committee(np.eye(neurons), students=neurons))


def expanded(point, certificate) -> np.ndarray:
    """The decimals of all entries of the centre."""
    return point.layout.matrix(np.array(certificate.decimals, object))


@pytest.mark.parametrize("number", range(4))
def test_they_say_what_the_whole_hessian_says(six, number):
    """At six neurons: the same kind, index, centre and bounds as the proof with all 36 parameters."""
    point = tl.family("k-1,1").points(6)[number]
    mine, dense = point.certify(), tl.certify(six, point.student())
    assert mine.proved and (mine.kind, mine.index) == (dense.kind, dense.index)
    np.testing.assert_array_equal(expanded(point, mine).astype(float), np.asarray(dense.centre))
    for name in ("lipschitz", "least_curvature", "unique_radius"):
        assert getattr(mine, name) == pytest.approx(getattr(dense, name), rel=1e-10)
    for name in ("loss", "smallest_eigenvalue"):
        (low, high), (other_low, other_high) = getattr(mine, name), getattr(dense, name)
        assert max(low, other_low) <= min(high, other_high)


def test_certify_takes_the_short_path_and_agrees_with_the_long_one(monkeypatch):
    """Twelve neurons, rows and columns in any order: the same certificate, but for rounding of its bounds."""
    objective, draw = committee(12), np.random.default_rng(0)
    student = tl.family("k-2,2").points(12)[1].student()
    student = student[draw.permutation(12)][:, draw.permutation(12)]
    short = tl.certify(objective, student, digits=30)
    monkeypatch.setattr(module, "_symmetric", lambda *arguments: pytest.fail("the short path"))
    with pytest.raises(pytest.fail.Exception, match="short path"):
        tl.certify(objective, student)
    monkeypatch.setattr(module, "_recognised", lambda *arguments: None)
    long = tl.certify(objective, student, digits=30)
    assert (short.kind, short.index, short.decimals) == (long.kind, long.index, long.decimals)
    assert short.proved and short.lipschitz == pytest.approx(long.lipschitz, rel=1e-10)
    np.testing.assert_allclose(short.smallest_eigenvalue, long.smallest_eigenvalue, rtol=1e-10)


def test_they_are_true_by_other_formulas():
    """Written out in full, the certificate passes the check with mpmath that shares nothing with the library."""
    point = tl.family("k-1,1").points(6)[1]
    proof = point.certify()
    rows = tuple(map(tuple, expanded(point, proof).tolist()))
    printed = hand.read(str(dataclasses.replace(proof, decimals=rows, blocks="")))
    assert hand.fault(printed, hand.Problem(np.eye(6).tolist())) is None
    wrong = dataclasses.replace(printed, index=1)
    assert hand.fault(wrong, hand.Problem(np.eye(6).tolist())) is not None


@pytest.mark.parametrize(("neurons", "digits"), [(6, "0.0250805810024630"), (20, "0.011275582")])
def test_known_losses_to_all_digits(neurons, digits):
    """The minima with blocks k-1 and 1 have the losses that others found, proved to all digits that they print."""
    proof = tl.family("k-1,1").points(neurons)[1].certify()
    assert proof.kind == "spurious minimum"
    assert {f"{bound:.{len(digits) - 2}f}" for bound in proof.loss} == {digits}


def test_a_hundred_neurons():
    """Ten thousand parameters: global and spurious minima and a saddle, proved in the full space."""
    objective = committee(100)
    kinds = [(tl.certify(objective, point.student()).kind) for point in tl.family("k-1,1").points(100).points[:3]]
    assert kinds == ["global minimum", "spurious minimum", "saddle"]


def test_ten_thousand_neurons():
    """A hundred million parameters: the spurious minimum and the points that no descent from usual starts finds."""
    points = tl.family("k-1,1").points(10_000)
    proofs = [point.certify() for point in points if point.kind != "saddle"]
    assert [proof.kind for proof in proofs] == ["global minimum", *["spurious minimum"] * (len(proofs) - 1)]
    assert len(proofs) >= 4 and all(proof.index == 0 and proof.excess[0] > 0 for proof in proofs[1:])
    low, high = proofs[1].loss
    assert low < high < low * (1 + 1e-14) and low == pytest.approx(points[1].loss, rel=1e-10)
    assert "constant on blocks of 9999+1 teachers" in str(proofs[1])


def test_more_students_than_teachers():
    """A student more than teachers, and a minimum that is no split of one with fewer."""
    point = tl.family("k-1,1", students="k-1,1,1").points(20)[0]
    proof = point.certify()
    assert proof.kind == "spurious minimum" and 0.0107 < proof.loss[0] < 0.0108
    objective = tl.population(tl.problems.committee(np.eye(20), students=21))
    least = np.linalg.eigvalsh(np.asarray(objective.hessian(point.student())).reshape(420, 420))[0]
    assert least == pytest.approx(proof.smallest_eigenvalue[0], abs=1e-10)


def test_points_that_are_not_critical_are_refused():
    """Away from the critical point, outside of the ball in which it is the only one, nothing is proved."""
    point = tl.family("k-1,1").points(50)[1]
    moved = tl.family("k-1,1").point(50, point.table + np.where(point.table != 0, 1e-3, 0.0)).certify()
    assert moved.kind == "not proved" and moved.reason
    with pytest.raises(tl.InvalidArgument, match="whole"):
        tl.family("k-1,1").points(9.5)[1].certify()
    with pytest.raises(tl.InvalidArgument, match="digits"):
        point.certify(digits=3)


def test_newtons_method_is_not_believed(monkeypatch):
    """A centre that was not brought close is refused by its gradient."""
    point = tl.family("k-1,1").points(50)[1]
    table = point.table + 1e-3 * (point.table != 0)
    monkeypatch.setattr(module, "refined_table", lambda *_: [[int(entry * 10**50) for entry in row] for row in table])
    refused = dataclasses.replace(point, table=table).certify()
    assert refused.kind == "not proved" and "gradient" in refused.reason


def test_a_flat_direction_of_any_type_is_noticed():
    """Where an eigenvalue of another type is zero, regularity on symmetric students does not suffice."""
    # With blocks of two equal students the antisymmetric directions are flat, whatever symmetric ones are.
    layout = in_balls(Layout((4.0,), (0, 0)))
    with flint.ctx.workdps(40):
        table = np.array([[flint.arb("0.1"), flint.arb("0.5")]] * 2, object)
        with pytest.raises(tl.geometry.proving.NotProved):
            enclosed_by_symmetry(layout, table, zero=True)


def test_tables_of_students_in_full():
    """A table is found again in the student that it stands for."""
    layout = Layout((4.0, 2.0, 1.0), (0, 1, 2, -1))
    table = np.random.default_rng(0).normal(size=layout.weights.shape) * (layout.weights != 0)
    np.testing.assert_allclose(reduced_table(layout, layout.matrix(table)), table, atol=1e-15)


def test_large_students_without_symmetries_are_refused_with_the_reason():
    """More parameters than the whole Hessian can have, and no symmetries."""
    student = np.eye(41) + 1e-3 * np.random.default_rng(0).normal(size=(41, 41))
    refused = tl.certify(committee(41), student)
    assert refused.kind == "not proved" and "1600 parameters" in refused.reason
