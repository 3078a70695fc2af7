"""The study of a student or two more: which ends are global minima, and what is kept of the others."""

from __future__ import annotations

import numpy as np
import pytest

from tutelage.studies.mild_overparameterization.more_students import _NUMBERS, STUDY, _distances


def test_distances_from_global_minima():
    """Students that share the teachers are global minima, with zero neurons or not; an unseen teacher is far away."""
    shared = np.array([[1.0, 0, 0], [0, 0.3, 0], [0, 0.7, 0], [0, 0, 1]])
    with_zero = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 0], [0, 0, 1]])
    looking_away = with_zero - np.array([[0.0], [0], [0.1], [0]])
    moved = shared + np.array([[0, 0.03, 0.04], [0, 0, 0], [0, 0, 0], [0, 0, 0]])
    unseen = np.array([[1.0, 0, 0], [0, 0.3, 0], [0, 0.7, 0], [0, 0.5, 0.4]])
    found = _distances(np.stack([shared, with_zero, looking_away, moved, unseen]))
    assert found == pytest.approx([0, 0, 0.1 * np.sqrt(3), 0.05, np.inf], abs=1e-15)


@pytest.mark.parametrize("stuck", [0, 1])
def test_the_sentence_on_two_more_students(stuck):
    """None of the runs with two students more may end at a spurious minimum; one that does is counted and described."""
    values = STUDY.values("quick")
    pieces = {}
    for name, one in STUDY.pieces(values).items():
        spurious = {0: 60, 1: 10, 2: stuck}[one["n"] - one["k"]]
        losses = np.repeat([0.02, 0.0], [spurious, 100 - spurious])
        number = int(spurious > 0)
        pieces[name] = {
            "loss": losses,
            "converged": np.ones(100, bool),
            "steps": np.full(100, 50),
            "distance": np.full(100 - spurious, 0.004),
            "students": np.zeros((number, one["n"], one["k"])),
            **{f"class_{field}": np.full(number, -0.01) for field in _NUMBERS},
        }
    conclusion = STUDY.conclude(values, pieces)
    *others, two_more = conclusion.expectations
    assert all(one.ok for one in others)
    assert two_more.ok == (not stuck) and two_more.measured == len(values.neurons) * stuck
    assert "every split of every neuron is a saddle" in conclusion.remarks[-1]
    assert len(conclusion.tables["minima"]) == len(values.neurons) * (2 + stuck)
