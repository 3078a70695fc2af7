"""Modules: their methods are pytrees that take the module's arrays along, and say what they are."""

import inspect
from typing import ClassVar

import equinox as eqx
import jax
import numpy as np

import tutelage as tl
from tutelage.modules import Module


class Counted(Module):
    """A module that counts how often it is traced."""

    number: jax.Array
    traced: ClassVar[list] = []

    def plus(self, other):
        """Add something."""
        self.traced.append(other)
        return self.number + other


def counted(number: float) -> Counted:
    return Counted(jax.numpy.asarray(number))


def test_one_program_serves_a_method_of_all_modules():
    """The arrays of a module are arguments of what is compiled of its methods, and no constants in it."""
    Counted.traced.clear()
    call = eqx.filter_jit(lambda method, other: method(other))
    assert [float(call(counted(number).plus, 1.0)) for number in (1.0, 2.0, 3.0)] == [2.0, 3.0, 4.0]
    assert len(Counted.traced) == 1


def test_transformed_methods_are_those_of_the_module():
    """Methods may be compiled, batched and differentiated as they are."""
    objective = tl.population(tl.problems.committee(np.eye(2), 2))
    points = np.random.default_rng(0).normal(size=(3, 2, 2))
    expected = np.stack([objective.gradient(point) for point in points])
    np.testing.assert_allclose(jax.vmap(objective.gradient)(points), expected, rtol=1e-12)
    np.testing.assert_allclose(eqx.filter_jit(objective.gradient)(points[0]), expected[0], rtol=1e-12)
    np.testing.assert_allclose(jax.grad(objective.loss)(points[0]), expected[0], rtol=1e-12)


def test_methods_say_what_they_are():
    """A method that was looked up has its documentation and its signature, without the module itself."""
    method = counted(1.0).plus
    assert inspect.getdoc(method) == "Add something."
    assert list(inspect.signature(method).parameters) == ["other"]
