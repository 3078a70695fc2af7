"""Every method of every dual refuses vectors that make no sense, by name, traced or not."""

import jax
import numpy as np
import pytest

import tutelage as tl
from tutelage.duals import Quadrature, dual, kernel, mean

PLAIN = tl.inputs.gaussian(3)
# One law for each kind of kernel.
CASES = {
    "two slopes": ("relu", PLAIN),
    "two slopes, covariance": ("relu", tl.inputs.gaussian(3, covariance=np.diag([1.0, 2.0, 3.0]))),
    "two slopes, mean": ("abs", tl.inputs.gaussian(3, mean=[1.0, 0.0, 0.0])),
    "erf": ("erf", PLAIN),
    "waves": ("cosine", PLAIN),
    "waves of a box": ("cosine", tl.inputs.uniform_box(3)),
    "affine": ("linear", tl.inputs.uniform_box(3)),
    "finite support": ("tanh", tl.inputs.rademacher(3)),
    "mixture": ("relu", tl.inputs.mixture([PLAIN, tl.inputs.sphere(3)], [0.5, 0.5])),
    "quadrature": ("tanh", PLAIN),
}
ROWS = np.arange(6.0).reshape(2, 3)
WRONG_ROWS = {
    "a vector": ROWS[0],
    "an axis too many": ROWS[None],
    "no rows": ROWS[:0],
    "NaN": ROWS * np.nan,
    "infinite": ROWS + np.inf,
    "complex": ROWS * 1j,
    "text": "rows",
    "None": None,
}


@pytest.mark.parametrize("wrong", WRONG_ROWS)
@pytest.mark.parametrize("name", CASES)
def test_senseless_rows_are_refused(name, wrong):
    """In either place, by all methods of the kernel."""
    activation, inputs = CASES[name]
    both, rows = kernel(activation, activation, inputs), WRONG_ROWS[wrong]
    weights = np.ones((2, 2))
    for argument, pair in (("first", (rows, ROWS)), ("second", (ROWS, rows))):
        for call in (both.gram, both.error_estimate, lambda *pair: both.pull(*pair, weights)):
            with pytest.raises(tl.InvalidArgument, match=f"`{argument}` must"):
                call(*pair)


@pytest.mark.parametrize("name", CASES)
def test_rows_fit_each_other_and_the_law(name):
    """Vectors of another dimension are refused where the law has one, or where they differ; weights of other shapes."""
    activation, inputs = CASES[name]
    both = kernel(activation, activation, inputs)
    with pytest.raises(tl.InvalidArgument, match="`second` must have shape"):
        both.gram(ROWS, ROWS[:, :2])
    with pytest.raises(tl.InvalidArgument, match="`weights` must have shape"):
        both.pull(ROWS, ROWS, np.ones(2))
    assert both.dimension in (None, 3)
    if both.dimension is not None:
        with pytest.raises(tl.InvalidArgument, match="`first` must have shape"):
            both.gram(ROWS[:, :2], ROWS[:, :2])
        with pytest.raises(tl.InvalidArgument, match="`first` must have shape"):
            jax.eval_shape(both.gram, ROWS[:, :2], ROWS[:, :2])


def test_senseless_vectors_are_refused():
    """By a dual as a function of two vectors, and by a mean."""
    pair, average = dual("relu", "abs", PLAIN), mean("relu", PLAIN)
    for wrong in (ROWS, np.ones((3, 1)), [np.nan, 0, 0], "w", None, np.ones(3) * 1j):
        for call in (lambda wrong: pair(wrong, np.ones(3)), lambda wrong: pair.error_estimate(wrong, np.ones(3))):
            with pytest.raises(tl.InvalidArgument, match="`first` must"):
                call(wrong)
        with pytest.raises(tl.InvalidArgument, match="`second` must"):
            pair(np.ones(3), wrong)
        with pytest.raises(tl.InvalidArgument, match="`vector` must"):
            pair.own(wrong)
        with pytest.raises(tl.InvalidArgument, match="`weights` must"):
            average(wrong)
    assert pair([1, 2, 3], [1.0, 0.0, 0.0]) == pair(np.array([1.0, 2.0, 3.0]), np.eye(3)[0])


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("rely", "relu", PLAIN), "activation"),
        (("relu", 3, PLAIN), "activation"),
        (("relu", "relu", "gaussian"), "inputs"),
        (("relu", "relu", PLAIN, 1e-3), "quadrature"),
    ],
)
def test_senseless_duals_are_refused(arguments, named):
    """A dual is of two activations under a law."""
    with pytest.raises(tl.InvalidArgument, match=f"`{named}` must"):
        dual(*arguments)
    assert dual("tanh", "tanh", PLAIN).forward.rule == dual("tanh", "tanh", PLAIN, Quadrature()).forward.rule
