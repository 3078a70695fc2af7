"""Block-constant students: loss, gradient, Hessian and complete spectrum equal those of the full problem."""

from __future__ import annotations

import flint
import numpy as np
import pytest

import tutelage as tl
from tutelage.geometry.ball_arithmetic import balls
from tutelage.geometry.families.isotypes import isotypes
from tutelage.geometry.families.layout import NOBODY, Layout
from tutelage.geometry.families.moving import Moving, moving
from tutelage.geometry.families.reduced import Geometry

LAYOUTS = [
    ((1.0,), (0,)),
    ((4.0,), (0,)),
    ((2.0, 1.0), (0, 1)),
    ((3.0, 1.0), (0, 1)),
    ((5.0, 1.0), (0, 1)),
    ((2.0, 2.0), (0, 1)),
    ((4.0, 3.0), (0, 1)),
    ((4.0, 1.0, 1.0), (0, 1, 2)),
    ((3.0, 2.0, 2.0, 1.0), (0, 1, 2, 3)),
    # More students than teachers: single ones, and a second one for each teacher of a block.
    ((4.0, 1.0), (0, 1, NOBODY)),
    ((3.0, 2.0), (0, 1, 0, NOBODY)),
    # Fewer.
    ((4.0, 1.0), (0,)),
    ((4.0, 2.0), (1, NOBODY)),
]


def example(sizes: tuple[float, ...], owners: tuple[int, ...]) -> tuple[Layout, np.ndarray, tl.objectives.Objective]:
    """A random table, and the loss of the full problem."""
    layout = Layout(sizes, owners)
    table = np.random.default_rng(len(owners)).normal(size=(len(owners), len(sizes) + 1))
    teachers = int(sum(sizes))
    return layout, table, tl.population(tl.problems.committee(np.eye(teachers), students=len(layout.matrix(table))))


def units(layout: Layout) -> np.ndarray:
    """A direction for each cell of the table that stands for something."""
    directions = np.zeros((len(layout.cells[0]), *layout.weights.shape))
    directions[(np.arange(len(directions)), *layout.cells)] = 1
    return directions


@pytest.mark.parametrize(("sizes", "owners"), LAYOUTS)
def test_loss_gradient_and_hessian_are_those_of_the_full_problem(sizes, owners):
    """At points that are not critical: values, entries of the gradient, and the Hessian on symmetric directions."""
    layout, table, objective = example(sizes, owners)
    student, geometry = layout.matrix(table), Geometry(layout, table)
    assert geometry.loss() == pytest.approx(float(objective.loss(student)), abs=1e-12)
    np.testing.assert_allclose(layout.matrix(geometry.gradient()), objective.gradient(student), atol=1e-13)
    hessian = np.asarray(objective.hessian(student)).reshape(student.size, student.size)
    directions = units(layout)
    full = np.array([layout.matrix(direction).ravel() for direction in directions])
    np.testing.assert_allclose(geometry.second_derivative(directions), full @ hessian @ full.T, atol=1e-12)


@pytest.mark.parametrize(("sizes", "owners"), LAYOUTS)
def test_spectra_are_the_dense_ones(sizes, owners):
    """All eigenvalues at points that are not critical, as often as they occur."""
    layout, table, objective = example(sizes, owners)
    student = layout.matrix(table)
    hessian = np.asarray(objective.hessian(student)).reshape(student.size, student.size)
    found = [np.repeat(np.linalg.eigvalsh(kind.matrix(table)), round(kind.dimension)) for kind in isotypes(layout)]
    np.testing.assert_allclose(np.sort(np.concatenate(found)), np.linalg.eigvalsh(hessian), atol=1e-12)


@pytest.mark.parametrize(("sizes", "owners"), [((5.3, 1.0), (0, 1)), ((2.5, 3.25), (0, 1, NOBODY))])
def test_derivatives_for_real_sizes(sizes, owners):
    """Where there is no full problem: central differences of the loss, and of the gradient."""
    layout, table, _ = example(sizes, owners)
    directions, step = units(layout), 1e-5
    weights = layout.weights[layout.cells]

    def gradient(moved):
        return Geometry(layout, moved).gradient()[layout.cells] * weights

    for place, direction in enumerate(directions):
        sides = [Geometry(layout, table + sign * step * direction) for sign in (1, -1)]
        slope = (sides[0].loss() - sides[1].loss()) / (2 * step)
        assert gradient(table)[place] == pytest.approx(slope, abs=1e-7)
        row = (gradient(table + step * direction) - gradient(table - step * direction)) / (2 * step)
        np.testing.assert_allclose(Geometry(layout, table).second_derivative(directions)[place], row, atol=1e-7)


@pytest.mark.parametrize(("sizes", "owners"), LAYOUTS[4:10])
def test_balls_contain_the_floats(sizes, owners):
    """The same text in ball arithmetic: enclosures of fifty digits that the float64 results are close to."""
    layout, table, _ = example(sizes, owners)
    with flint.ctx.workdps(60):
        enclosed = Geometry(Layout(tuple(map(flint.arb, sizes)), owners), balls(table))
        loss, gradient = enclosed.loss(), enclosed.gradient()
        hessian = enclosed.second_derivative(units(layout))
    floats = Geometry(layout, table)
    assert float(loss.rad()) < 1e-50 and float(loss) == pytest.approx(float(floats.loss()), rel=1e-14)
    np.testing.assert_allclose(gradient.astype(float), floats.gradient(), atol=1e-14)
    np.testing.assert_allclose(hessian.astype(float), floats.second_derivative(units(layout)), atol=1e-13)


def test_no_digits_are_lost_with_many_neurons():
    """Close to the teacher, with a hundred thousand neurons: float64 agrees with balls of sixty digits.

    Terms of the loss as large as 1e9 cancel in the usual formula. What is left is the rounding of a norm, times k, in
    the sum of all norms; where curvatures are as large as k, too.
    """
    table = np.array([[1e-10, 2e-5, 1 + 1e-9], [1.3e-5, 0.0, -0.9999]])
    floats = Geometry(Layout((99999.0, 1.0), (0, 1)), table)
    with flint.ctx.workdps(60):
        enclosed = Geometry(Layout((flint.arb(99999), flint.arb(1)), (0, 1)), balls(table))
        loss, gradient = float(enclosed.loss()), enclosed.gradient().astype(float)
    assert loss < 1e-4 and floats.loss() == pytest.approx(loss, rel=1e-11)
    np.testing.assert_allclose(floats.gradient(), gradient, rtol=0, atol=1e5 * 2**-52)


def test_derivatives_in_the_number_of_neurons():
    """Balls that carry their derivative: the gradient's is the limit of its quotients, in digits beyond float64."""
    symmetry = tl.family("k-2,2")._class
    table = np.random.default_rng(4).normal(size=symmetry.layout(7.3).weights.shape)
    with flint.ctx.workdps(60):
        neurons, step = flint.arb("7.3"), flint.arb(10) ** -20
        moved = Geometry(symmetry.layout(Moving(neurons, 1)), moving(balls(table))).gradient()
        ends = [Geometry(symmetry.layout(neurons + sign * step), balls(table)).gradient() for sign in (1, -1)]
        quotients = (ends[0] - ends[1]) / (2 * step)
        for mine, quotient in zip(moved.flat, quotients.flat, strict=True):
            assert abs(mine.slope - quotient) < 1e-30 if isinstance(mine, Moving) else quotient == 0
        half = Moving(2, 3)
        assert (
            (1 - half / 2 == Moving(0, -1.5)) and half > 1 and float(half.sqrt().slope) == pytest.approx(1.5 / 2**0.5)
        )
