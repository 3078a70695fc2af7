"""No number for a question that makes no sense: every method of every objective refuses what is no student."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from families import PROBLEMS, random_point

import tutelage as tl

OBJECTIVES = {
    **{name: lambda make=make: tl.population(make()) for name, make in PROBLEMS.items()},
    "composite, stream": lambda: tl.stream(tl.problems.composite("both", np.ones(4), patches=3, learn_outer=True), 8),
    "empirical": lambda: tl.empirical(tl.problems.committee(np.eye(2), 3), np.ones((5, 2))),
    "support": lambda: tl.population(tl.problems.committee(np.eye(2), 3, inputs=tl.inputs.rademacher(2))),
}

METHODS = {
    "loss": lambda objective, point: objective.loss(point, KEY),
    "gradient": lambda objective, point: objective.gradient(point, KEY),
    "hessian": lambda objective, point: objective.hessian(point, KEY),
    "hessian_vector": lambda objective, point: objective.hessian_vector(point, point, KEY),
    "error_estimate": lambda objective, point: objective.error_estimate(point),
    "singular": lambda objective, point: objective.singular(point),
    "hessian_lipschitz": lambda objective, point: objective.hessian_lipschitz(point, 0.1),
    "predict": lambda objective, point: objective.problem.student.predict(point, _inputs(objective)),
}
KEY = jax.random.key(0)


def _inputs(objective):
    shape = objective.problem.input_shape(2)
    return np.ones((*shape, objective.problem.dimension))


def _with_first(point, change):
    """The point with another first leaf."""
    leaves, structure = jax.tree.flatten(point)
    return jax.tree.unflatten(structure, [change(np.asarray(leaves[0])), *leaves[1:]])


SENSELESS = {
    "an axis too many": lambda point: jax.tree.map(lambda leaf: np.stack([leaf, leaf]), point),
    "as many runs as first entries": lambda point: _with_first(point, lambda leaf: np.stack([leaf] * leaf.shape[0])),
    "an axis too few": lambda point: _with_first(point, lambda leaf: leaf[0]),
    "a coordinate too many": lambda point: _with_first(point, lambda leaf: np.concatenate([leaf, leaf[..., :1]], -1)),
    "no entries": lambda point: _with_first(point, lambda leaf: leaf[..., :0]),
    "NaN": lambda point: _with_first(point, lambda leaf: leaf * np.nan),
    "infinite": lambda point: _with_first(point, lambda leaf: leaf * np.inf),
    "complex": lambda point: _with_first(point, lambda leaf: leaf + 0j),
    "text": lambda point: _with_first(point, lambda leaf: np.full(leaf.shape, "one")),
    "None": lambda point: None,
    "an array more": lambda point: (*jax.tree.leaves(point), np.ones(2)),
    "a dictionary": lambda point: dict(enumerate(jax.tree.leaves(point))),
}
# What is known of a traced point: its structure, shapes and types.
TRACED = [name for name in SENSELESS if name not in ("NaN", "infinite", "text", "None")]


@pytest.fixture(scope="module")
def objectives():
    """All objectives with a student each, built once."""
    built = {name: make() for name, make in OBJECTIVES.items()}
    return {name: (objective, random_point(objective.problem, 3)) for name, objective in built.items()}


@pytest.mark.parametrize("senseless", SENSELESS)
@pytest.mark.parametrize("name", OBJECTIVES)
def test_a_senseless_point_is_refused(objectives, name, senseless):
    """By every method, in a sentence that names the argument."""
    objective, point = objectives[name]
    wrong = SENSELESS[senseless](point)
    for method in METHODS.values():
        with pytest.raises(tl.InvalidArgument, match=r"`(point|parameters|inputs)` must"):
            method(objective, wrong)


@pytest.mark.parametrize("senseless", TRACED)
@pytest.mark.parametrize("name", OBJECTIVES)
def test_a_senseless_point_is_refused_while_it_is_traced(objectives, name, senseless):
    """Shapes and types are known under compilation too."""
    objective, point = objectives[name]
    wrong = SENSELESS[senseless](point)
    for method in METHODS.values():
        with pytest.raises(tl.InvalidArgument, match=r"`(point|parameters|inputs)` must"):
            jax.eval_shape(lambda point, method=method: method(objective, point), wrong)


@pytest.mark.parametrize("name", ["committee", "convolution", "wave, unshared", "empirical"])
def test_numbers_of_other_types_are_cast(objectives, name):
    """Whole numbers, single precision and nested lists give what float64 gives, for one student."""
    objective, _ = objectives[name]
    whole = jax.tree.map(
        lambda leaf: np.arange(1, leaf.size + 1).reshape(leaf.shape), objective.problem.template_tree()
    )
    expected = objective.loss(jax.tree.map(lambda leaf: leaf.astype(float), whole))
    structure = jax.tree.structure(whole)
    lists = jax.tree.unflatten(structure, [leaf.tolist() for leaf in jax.tree.leaves(whole)])
    for other in (whole, jax.tree.map(lambda leaf: leaf.astype(np.float32), whole), lists):
        assert objective.loss(other) == expected
        gradient = objective.gradient(other)
        assert all(leaf.dtype == jnp.float64 for leaf in jax.tree.leaves(gradient))
        assert jax.tree.structure(gradient) == structure


def test_several_students_are_mapped_over(objectives):
    """The refusal of a batch says how to take all of its losses."""
    objective, point = objectives["committee"]
    batch = np.stack([point, 2 * point, -point])
    with pytest.raises(tl.InvalidArgument, match=r"jax\.vmap"):
        objective.loss(batch)
    losses = jax.jit(jax.vmap(objective.loss))(batch)
    np.testing.assert_allclose(losses, [objective.loss(one) for one in batch], rtol=1e-14)


def test_points_of_a_reduced_objective_are_checked_in_its_coordinates():
    """After a reduction students have the coordinates of the span, under every rotation-invariant law."""
    for law in (tl.inputs.gaussian(9), tl.inputs.sphere(9)):
        problem = tl.problems.committee(np.eye(2, 9), 2, inputs=law)
        objective = tl.population(problem)
        starts = tl.starts.xavier(problem, runs=3, seed=0)
        reduction = objective.reduced(starts)
        one = reduction.points[0]
        np.testing.assert_allclose(reduction.objective.loss(one), objective.loss(starts[0]), rtol=1e-13)
        with pytest.raises(tl.InvalidArgument, match="`point` must have shape"):
            reduction.objective.loss(starts[0])


@pytest.mark.parametrize(
    "wrong", [np.ones((4, 3)), np.ones(4), np.full((2, 4), np.nan), "inputs", np.ones((2, 4)) * 1j]
)
def test_inputs_that_do_not_fit_are_refused(wrong):
    """A model's outputs are asked for inputs of its own dimension."""
    model = tl.problems.committee(np.eye(4), 2).student
    with pytest.raises(tl.InvalidArgument, match="`inputs` must"):
        model.predict(np.ones((2, 4)), wrong)


@pytest.mark.parametrize("key", [None, 3, "key", np.zeros(2), jax.random.split(jax.random.key(0), 2)])
def test_a_stream_needs_a_random_key(key):
    """One key, and nothing that looks like one."""
    problem = tl.problems.neuron(np.ones(2))
    with pytest.raises(tl.InvalidArgument, match="`key` must be a random key"):
        tl.stream(problem, 4).loss(np.ones(2), key)
    with pytest.raises(tl.InvalidArgument, match="`key` must be a random key"):
        problem.sample(key, 4)
