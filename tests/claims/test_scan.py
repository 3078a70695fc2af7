"""The NumPy tests of claims: margins, several shapes together, and what counts as a failure of the program."""

import numpy as np
import pytest

from tutelage.claims.base import EFFORTS, Outcome
from tutelage.claims.scan import Cases, Scan, Several, at_most, equal

EFFORT = EFFORTS["default"]


def _scan(low, high):
    """Numbers from an interval, claimed to be at most one."""
    return Scan(
        lambda count, random: {"x": np.linspace(low, high, count)}, lambda i: at_most(i["x"], 1.0), f"up to {high}"
    )


def test_worst_instance_is_shown():
    outcome = _scan(0.0, 2.0)(EFFORT, 0)
    assert outcome.margin == pytest.approx(-0.5) and outcome.witness["x"] == 2.0
    assert outcome.instances == 20 * EFFORT.samples


def test_several_report_the_worst_and_count_all():
    outcome = Several([_scan(0.0, 0.5), _scan(0.0, 4.0), _scan(0.0, 1.0)])(EFFORT, 0)
    assert outcome.margin == pytest.approx(-0.75) and outcome.note == "up to 4.0"
    assert outcome.instances == 60 * EFFORT.samples
    assert Several([_scan(0.0, 0.5)], "all")(EFFORT, 0).note == "all"


def test_a_broken_part_is_inconclusive():
    broken = Scan(lambda count, random: {"x": np.full(count, np.nan)}, lambda i: at_most(i["x"], 1.0))
    outcome = Several([_scan(0.0, 4.0), broken])(EFFORT, 0)
    assert outcome.judgement == "inconclusive"


def test_cases_report_the_worst_and_count_all():
    def outcomes(effort, seed):
        for margin in (0.5, seed - 1.0, 0.25):
            yield Outcome(margin, 2, {"margin": margin}, "one of three")

    outcome = Cases(outcomes)(EFFORT, 0)
    assert outcome.margin == outcome.witness["margin"] == -1.0
    assert outcome.instances == 6 and outcome.note == "one of three"
    assert Cases(outcomes, "all")(EFFORT, 0).note == "all"


def test_a_case_that_is_not_a_number_is_inconclusive():
    cases = Cases(lambda effort, seed: [Outcome(-1.0, 1), Outcome(float("nan"), 1), Outcome(1.0, 1)])
    assert cases(EFFORT, 0).judgement == "inconclusive"


def test_infinite_violation_counts():
    scan = Scan(lambda count, random: {"x": np.ones(3)}, lambda i: {"margin": np.array([np.inf, -np.inf, np.inf])})
    outcome = scan(EFFORT, 0)
    assert outcome.margin == -np.inf and outcome.instances == 1 and outcome.judgement is None


def test_equality_is_relative_to_the_larger_side():
    left, right = np.array([[1.0, 100.0], [1.0, 1.0]]), np.array([[1.0, 100.0 + 1e-6], [1.0, 1.1]])
    margins = equal(left, right, tolerance=1e-7)["margin"]
    assert margins[0] > 0 > margins[1]
    assert equal(left, right, scale=1e8, tolerance=1e-7)["margin"][1] > 0
