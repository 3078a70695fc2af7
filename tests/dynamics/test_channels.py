"""Pairs of neurons that run away are told apart from runs that merely ended at a limit."""

import jax.numpy as jnp
import numpy as np

import tutelage as tl
from tutelage.models import Layers

# The teacher is close to a derivative of a neuron, which a pair of neurons computes only at infinity.
TEACHER = np.array([[1.0, 0.02], [1.0, -0.02]])
PROBLEM = tl.problems.two_layer(TEACHER, 2, "erf", teacher_output=[30.0, -30.0])
OBJECTIVE = tl.population(PROBLEM)


def test_output_weights_that_run_away_are_a_channel() -> None:
    """The loss falls, both output weights grow with opposite signs, and the status says so, with both of them."""
    starts = Layers(jnp.array([[[1.0, 0.25], [1.0, -0.25]]]), jnp.array([[2.4, -2.4]]))
    runs = tl.descend(OBJECTIVE, starts, tl.GradientDescent(0.02), stop=tl.step_limit(400))
    assert runs.statuses.tolist() == ["channel"]
    assert "neurons 0 and 1 run away" in runs.reasons[0] and runs.reasons[0].startswith("400 steps made")
    assert abs(runs.point(0).output[0]) > 2.4 and runs.losses[0] < OBJECTIVE.loss(runs_start(starts))
    again = tl.descend(OBJECTIVE, runs, tl.GradientDescent(0.02), stop=tl.step_limit(500))
    assert again.steps.tolist() == [500]  # it can be followed further


def runs_start(starts: Layers) -> Layers:
    """The only start."""
    return Layers(starts.weights[0], starts.output[0])


def test_a_channel_is_seen_in_every_form_of_its_neurons() -> None:
    """An odd activation may have one neuron's signs turned; a gradient across the channel hides nothing."""
    student, model = Layers(np.array([[1.0, 0.05], [1.0, -0.05]]), np.array([12.0, -12.0])), PROBLEM.student
    gradient = OBJECTIVE.gradient(student)
    turned = [Layers(one.weights * [[1.0], [-1.0]], one.output * [1.0, -1.0]) for one in (student, gradient)]
    across = gradient._replace(output=gradient.output + 1.0)  # both output weights are too large: they sum to more
    assert model.channel(student, lambda _: gradient) == model.channel(student, lambda _: across) == {0: 12.0, 1: -12.0}
    assert model.channel(turned[0], lambda _: turned[1]) == {0: 12.0, 1: 12.0}
    inwards = Layers(-np.asarray(gradient.weights), -np.asarray(gradient.output))
    assert model.channel(student, lambda _: inwards) == {}
    # Below one, the output weights are those of a usual network, however they grow.
    apart = Layers(np.zeros((2, 2)), np.array([-1.0, 1.0]))
    large, small = (student._replace(output=size * np.array([1.0, -1.0])) for size in (1.8, 0.9))
    assert model.channel(large, lambda _: apart) == {0: 1.8, 1: -1.8} and model.channel(small, lambda _: apart) == {}


def test_other_runs_keep_their_status() -> None:
    """Neurons that are apart, or of one sign, are no channel; nor is a run that converged."""
    plain = tl.population(tl.problems.two_layer(np.eye(2), 2, "erf"))
    starts = tl.starts.xavier(plain.problem, 3)
    flat = tl.gradient_norm(1e-3)  # in both, so that one program serves them
    limited = tl.descend(plain, starts, tl.GradientDescent(0.1), stop=flat | tl.step_limit(20))
    assert set(limited.statuses) == {"step_limit"}
    ended = tl.descend(plain, starts, tl.GradientDescent(0.1), stop=flat)
    assert set(ended.statuses) == {"converged"}
