"""Critical points of students that share neurons: proved as a continuum, with the index of the whole Hessian."""

from __future__ import annotations

import dataclasses

import flint
import numpy as np
import pytest

import tutelage as tl
from tutelage.geometry import load_atlas
from tutelage.geometry.ball_arithmetic import NotProved
from tutelage.geometry.ball_losses import LossInBalls
from tutelage.geometry.families.recognition import recognised
from tutelage.geometry.shares import merged_loss, merged_parts, with_parts
from tutelage.geometry.verification import fault


def wider(neurons: int, more: int) -> tl.objectives.Objective:
    """The loss of a committee with more students than teachers."""
    return tl.population(tl.problems.committee(np.eye(neurons), students=neurons + more))


def test_a_split_minimum_is_a_continuum_of_saddles():
    """Three parts of one neuron, two of another: index and zeros as in the whole Hessian, proved and checked again."""
    point = tl.family("k-1,1").points(6)[1]
    student = np.asarray(tl.split(tl.split(tl.split(point.student(), 5, 0.3), 5, 0.6), 0, 0.25))
    objective = wider(6, 3)
    proof = tl.certify(objective, student)
    values = np.linalg.eigvalsh(np.asarray(objective.hessian(student)).reshape(54, 54))
    assert (proof.kind, proof.index) == ("saddle", (values < -1e-9).sum())
    assert (np.abs(values) < 1e-9).sum() == len(proof.parts) - len(proof.decimals) == 3
    assert proof.loss[0] <= 0.02508058100246301 <= proof.loss[1]
    assert "exactly 3 that are zero" in str(proof) and "a continuum of dimension 3," in proof.reason
    assert fault(proof, student) == ""
    for change, named in (
        ({"index": 0}, "index"),
        ({"split_curvature": 1.0}, "reduced block"),
        ({"parts": (0,) * 9}, "no part"),
    ):
        assert named in fault(dataclasses.replace(proof, **change), student)
    with pytest.raises(tl.InvalidArgument, match="continuum"):
        proof.script()


def test_any_activation_with_two_slopes():
    """One neuron between two teachers, the minimum of one neuron: its parts are saddles, as the whole Hessian says."""
    teacher = np.array([[1.0, 0.5], [-1.0, 0.5]])
    objective = tl.population(tl.problems.committee(teacher, students=2, activation="leaky_relu"))
    alone = tl.population(tl.problems.committee(teacher, students=1, activation="leaky_relu"))
    found = tl.descend(alone, np.array([[[0.0, 1.0]]]), tl.GradientDescent(0.3), tl.gradient_norm(1e-12)).point(0)
    student = np.asarray(tl.split(np.asarray(found), 0, 0.4))
    proof = tl.certify(objective, student)
    values = np.linalg.eigvalsh(np.asarray(objective.hessian(student)).reshape(4, 4))
    assert tl.certify(alone, found).kind == "minimum"
    assert (proof.kind, proof.index) == ("saddle", 1) and (values < -1e-9).sum() == 1 and fault(proof, student) == ""


@pytest.mark.parametrize(("across", "kind", "index"), [(0.3, "spurious minimum", 0), (-0.3, "saddle", 2)])
def test_what_parts_add_to_the_index(monkeypatch, across, kind, index):
    """Two parts more of one neuron: a minimum stays one, but for the continuum, if the reduced block is positive."""
    monkeypatch.setattr(LossInBalls, "reduced_block", lambda *_: flint.arb_mat([[0, 0], [0, across]]))
    loss = LossInBalls(np.eye(2), 0.0, 1.0, 1.0, 0.0)
    alone = {
        "kind": "spurious minimum",
        "reason": "",
        "index": 0,
        "decimals": (("1.5", "0"),),
        "lipschitz": 2.0,
        "radius": 1e-9,
    }
    found = with_parts(alone, loss, np.array([[0.5, 0.0], [0.5, 0.0], [0.5, 0.0]]), (0, 0, 0))
    assert (found["kind"], found["index"]) == (kind, index) and 0.29 < found["split_curvature"] <= 0.3
    assert found["distance"] == pytest.approx(1e-9, rel=1e-6)
    monkeypatch.setattr(LossInBalls, "reduced_block", lambda *_: flint.arb_mat([[0, 0], [0, 1e-12]]))
    with pytest.raises(NotProved, match="may be zero"):
        with_parts(alone, loss, np.array([[0.5, 0.0], [1.0, 0.0]]), (0, 0))


def test_parts_have_the_sign_of_their_neuron():
    """Added up, the parts of each neuron are one neuron with their vectors' sum and their sign."""
    loss = LossInBalls(np.eye(2), 0.0, 1.0, 1.0, 0.0, signs=np.array([-1.0, 1.0, -1.0, 1.0]))
    parts = (0, 1, 0, 2)
    assert merged_loss(loss, parts).signs.tolist() == [-1.0, 1.0, 1.0]
    merged = merged_parts(np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 0.5], [3.0, 3.0]]), parts)
    assert merged.tolist() == [[3.0, 0.5], [0.0, 1.0], [3.0, 3.0]]


def test_global_minima_are_kept_with_their_atlas(tmp_path):
    """A student of seven neurons near the teacher of six, with zero loss close to it; stored, and verified."""
    student = np.asarray(tl.split(np.eye(6), 2, 0.3)) + 1e-5
    atlas = tl.atlas(wider(6, 1), student[None]).certified()
    assert atlas[0].certificate.kind == "global minimum" and 0 < atlas[0].certificate.distance < 1e-4
    atlas.save(tmp_path / "seven.npz")
    again = load_atlas(tmp_path / "seven.npz")
    assert [outcome.status for outcome in again.verify()] == ["verified"]
    certificate = again[0].certificate
    vectors = np.asarray(again[0].vectors)
    assert "further away" in fault(dataclasses.replace(certificate, distance=certificate.distance / 2), vectors)
    assert "saddle" in fault(dataclasses.replace(certificate, kind="saddle"), vectors)


def test_symmetric_students_of_any_number_are_recognised():
    """One neuron more than teachers: the layout is found in any order, and certify agrees with the table."""
    draw = np.random.default_rng(0)
    point = tl.family("k-1,1", students="k-1,1,1").points(20)[0]
    student = point.student()[draw.permutation(21)][:, draw.permutation(20)]
    found = recognised(student)
    assert found is not None and sorted(found.layout.sizes) == [1, 19] and sorted(found.layout.owners) == [-1, -1, 0]
    proof = tl.certify(wider(20, 1), student)
    table = point.certify()
    assert (proof.kind, proof.index) == (table.kind, table.index) == ("spurious minimum", 0)
    assert proof.loss == pytest.approx(table.loss, rel=1e-15) and fault(proof, student) == ""
    assert recognised(student + 1e-3 * draw.normal(size=student.shape)) is None
    assert recognised(np.ones((12, 12))) is None  # parallel students
    assert recognised(np.eye(6)) is None  # too few
