"""Senseless calls of the public interface end in a clear refusal or a sensible result; see `helpers/fuzz.py`."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from fuzz import OF_ARRAYS, VALUES, Case, case, chosen_calls, defect
from right_calls import NOT_CALLED, PACKAGES, public_callables, right_calls

import tutelage as tl

# A few hundred of the ten thousand that the script makes, in parts that can run side by side.
_PARTS, _CALLS = 4, 120


@pytest.mark.parametrize("part", range(_PARTS))
def test_senseless_calls_are_refused_clearly_or_answered_sensibly(part: int) -> None:
    calls = chosen_calls()
    cases = [case(number, calls) for number in range(part * _CALLS, (part + 1) * _CALLS)]
    found = {str(one): wrong for one in cases if (wrong := defect(one)) is not None}
    assert found == {}


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_is_called(package: str) -> None:
    called = {name.split(".")[1].removesuffix("()") for name in right_calls() if name.startswith(f"{package}.")}
    public = set(public_callables(package))
    assert public - called - NOT_CALLED[package] == set()
    assert NOT_CALLED[package] <= public


def test_defects_are_noticed() -> None:
    """The judge of the ends of calls knows the bad ones."""
    examples = {
        "ZeroDivisionError": lambda: 1 / 0,
        "not finite": lambda: {"loss": jnp.asarray([1.0, jnp.nan])},
        "names no argument": lambda: _raises(tl.InvalidArgument("Something is wrong.")),
        "lines": lambda: _raises(tl.UnsupportedCombination("One.\nTwo.")),
    }
    template = next(iter(right_calls().values()))
    for words, function in examples.items():
        call = type(template)("example", function)
        assert words in (defect(Case(0, call, ())) or "")
    assert defect(Case(0, type(template)("fine", lambda: 1.0), ())) is None


def _raises(error: Exception) -> None:
    raise error


HUGE = (10**13, 2**62, 2**63, 10**30, 10**5000)


@pytest.mark.parametrize("number", HUGE, ids=["10^13", "2^62", "2^63", "10^30", "10^5000"])
@pytest.mark.parametrize(
    ("name", "argument"),
    [
        ("starts.xavier", "runs"),
        ("starts.run_keys", "runs"),
        ("starts.subspace", "samples"),
        ("inputs.gaussian", "dimension"),
        ("inputs.student_t", "dimension"),
        ("inputs.rademacher", "dimension"),
        ("inputs.uniform_box", "dimension"),
        ("inputs.gaussian(3).sample", "shape"),
        ("problems.committee", "students"),
        ("problems.homogeneous", "students"),
        ("problems.wave", "patches"),
        ("problems.parity", "patches"),
        ("problems.composite", "units"),
        ("problems.Problem.sample", "batch"),
        ("objectives.stream", "batch"),
        ("geometry.worst", "samples"),
        ("geometry.convexity_radius", "samples"),
        ("geometry.GlobalMinima.sample", "number"),
        ("claims.Effort", "samples"),
        ("plot.landscape", "resolution"),
        ("cube.learn_outer", "units"),
    ],
)
def test_huge_counts_are_refused_before_memory_is_asked_for(name: str, argument: str, number: int) -> None:
    with pytest.raises(tl.InvalidArgument) as refusal:
        right_calls()[name].made({argument: number})
    message = str(refusal.value)
    if number <= 2**62:
        assert "bytes, and this machine has" in message
    else:
        assert "be at most 2^62" in message


@pytest.mark.parametrize(
    "function", [tl.critical_point, tl.certify, tl.geometry.spectrum], ids=lambda one: one.__name__
)
@pytest.mark.parametrize("size", [1e300, 1e100])
def test_points_whose_loss_would_overflow_are_refused(function, size: float) -> None:
    objective = tl.population(tl.problems.neuron(np.eye(3)[0]))
    with pytest.raises(tl.InvalidArgument, match=r"`point` must be at most 1e\+60 in absolute value"):
        function(objective, size * np.ones(3))


def test_masked_entries_text_and_truth_values_are_no_numbers() -> None:
    masked = np.ma.masked_array(np.ones(3), mask=[True, False, False])
    with pytest.raises(tl.InvalidArgument, match="`target` must have no masked entries"):
        tl.problems.neuron(masked)
    with pytest.raises(tl.InvalidArgument, match="`target` must be an array of real numbers"):
        tl.problems.neuron(["1", "2", "3"])
    for senseless in ("0.1", True, np.array([0.1]), [0.1]):
        with pytest.raises(tl.InvalidArgument, match="`step` must be a number"):
            tl.GradientDescent(senseless)
    # What nothing is masked in is a plain array.
    assert tl.problems.neuron(np.ma.masked_array(np.ones(3))).dimension == 3


def test_checks_let_traced_arrays_through() -> None:
    teachers = np.eye(3)

    @jax.jit
    def angles(students):
        return tl.geometry.line_angles(students, teachers)

    np.testing.assert_allclose(angles(np.eye(2, 3)), tl.geometry.line_angles(np.eye(2, 3), teachers), atol=1e-15)
    with pytest.raises(tl.InvalidArgument, match="`students` must be rows of dimension 3"):
        angles(np.eye(2))
    with pytest.raises(tl.InvalidArgument, match="`students` must be an array of real numbers"):
        angles(1j * np.eye(2, 3))


def test_refusals_are_one_line_whatever_was_received() -> None:
    class Rude:
        def __repr__(self) -> str:
            raise RuntimeError("no")

    for received in (np.eye(300), tl.problems.neuron(np.ones(3)), Rude(), 10**5000):
        with pytest.raises(tl.InvalidArgument) as refusal:
            tl.problems.committee(np.eye(3), received)
        assert "\n" not in str(refusal.value) and len(str(refusal.value)) < 300


def test_all_senseless_values_can_be_made() -> None:
    """A value that cannot be made would hide the calls behind it."""
    for make in VALUES.values():
        make()
    for make in OF_ARRAYS.values():
        make(np.eye(2, 3))
