"""The ReLU committee against the printed gradient and Hessian, at degenerate points, and under its symmetries."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tutelage as tl

RANDOM = np.random.default_rng(11)


def _angle(w, v):
    return np.arccos(np.clip(w @ v / np.linalg.norm(w) / np.linalg.norm(v), -1, 1))


def _printed_gradient(students, teachers):
    """Equations (10) and (11) of the mild over-parameterization paper, one pair at a time."""

    def pull(w, v):
        theta = _angle(w, v)
        unit = w / np.linalg.norm(w)
        return (np.linalg.norm(v) * np.sin(theta) * unit + (np.pi - theta) * v) / (2 * np.pi)

    rows = []
    for i, w in enumerate(students):
        own = sum((pull(w, other) for j, other in enumerate(students) if j != i), np.zeros_like(w))
        rows.append(w / 2 + own - sum(pull(w, v) for v in teachers))
    return np.array(rows)


def _printed_hessian(students, teachers):
    """Theorem 10 of the mild over-parameterization paper, block by block."""
    dimension = students.shape[1]
    eye = np.eye(dimension)

    def unit(x):
        return x / np.linalg.norm(x)

    def normal(w, v):
        return unit(unit(w) - np.cos(_angle(w, v)) * unit(v))  # the part of w across v

    def curvature(w, v):
        across = normal(v, w)
        factor = np.sin(_angle(w, v)) * np.linalg.norm(v) / (2 * np.pi * np.linalg.norm(w))
        return factor * (eye - np.outer(unit(w), unit(w)) + np.outer(across, across))

    def mixed(w, v):
        return ((np.pi - _angle(w, v)) * eye + np.outer(normal(w, v), unit(v)) + np.outer(normal(v, w), unit(w))) / (
            2 * np.pi
        )

    count = len(students)
    blocks = [[None] * count for _ in range(count)]
    for i, w in enumerate(students):
        others = [curvature(w, other) for j, other in enumerate(students) if j != i]
        blocks[i][i] = eye / 2 + sum(others, np.zeros_like(eye)) - sum(curvature(w, v) for v in teachers)
        for j, other in enumerate(students):
            if j != i:
                blocks[i][j] = mixed(w, other)
    return np.block(blocks)


@pytest.mark.parametrize(("students", "teachers", "dimension"), [(3, 2, 4), (2, 3, 3), (4, 2, 2)])
def test_printed_formulas(students, teachers, dimension):
    """The printed gradient and Hessian are those of our ½E, although the paper's objective has no ½."""
    v = RANDOM.normal(size=(teachers, dimension))
    w = RANDOM.normal(size=(students, dimension))
    objective = tl.population(tl.problems.committee(v, students))
    np.testing.assert_allclose(objective.gradient(w), _printed_gradient(w, v), atol=1e-13)
    np.testing.assert_allclose(objective.hessian(w), _printed_hessian(w, v), atol=1e-12)


def test_splitting_a_neuron_keeps_loss_and_gradient():
    """A neuron split in two parallel ones computes the same function, and the gradients agree."""
    w = RANDOM.normal(size=(3, 4))
    split = np.concatenate([w[:2], [0.3 * w[2], 0.7 * w[2]]])
    one = tl.population(tl.problems.committee(np.eye(4), 3))
    two = tl.population(tl.problems.committee(np.eye(4), 4))
    np.testing.assert_allclose(one.loss(w), two.loss(split), atol=1e-13)
    gradient = np.asarray(one.gradient(w))
    np.testing.assert_allclose(two.gradient(split), np.concatenate([gradient, gradient[2:]]), atol=1e-9)


def test_symmetries():
    """Permutations, common rotations and joint scalings act on loss and gradient as they must."""
    v, w = RANDOM.normal(size=(2, 4)), RANDOM.normal(size=(3, 4))
    objective = tl.population(tl.problems.committee(v, 3))
    loss, gradient = float(objective.loss(w)), np.asarray(objective.gradient(w))
    np.testing.assert_allclose(objective.loss(w[[2, 0, 1]]), loss, rtol=1e-14)
    np.testing.assert_allclose(objective.gradient(w[[2, 0, 1]]), gradient[[2, 0, 1]], atol=1e-14)
    rotation = np.linalg.qr(RANDOM.normal(size=(4, 4)))[0]
    rotated = tl.population(tl.problems.committee(v @ rotation, 3))
    np.testing.assert_allclose(rotated.loss(w @ rotation), loss, rtol=1e-12)
    np.testing.assert_allclose(rotated.gradient(w @ rotation), gradient @ rotation, atol=1e-13)
    scaled = tl.population(tl.problems.committee(3 * v, 3))
    np.testing.assert_allclose(scaled.loss(3 * w), 9 * loss, rtol=1e-12)


@pytest.mark.parametrize("kink", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("mean", [None, (0.5, -0.3)])
def test_zero_neuron_follows_the_kink(kink, mean):
    """At a zero neuron the gradient is the expectation with the chosen slope at the kink."""
    law = tl.inputs.gaussian(2, mean=mean)
    target = np.array([1.0, 0.5])
    objective = tl.population(tl.problems.neuron(target, tl.activations.ReLU(kink=kink), inputs=law))
    inputs = np.asarray(law.sample(jax.random.key(1), 400_000))
    samples = -kink * np.maximum(inputs @ target, 0)[:, None] * inputs
    error = samples.std(axis=0) / np.sqrt(len(samples)) + 1e-15
    gradient = np.asarray(objective.gradient(jnp.zeros(2)))
    assert np.all(np.abs(gradient - samples.mean(axis=0)) < 4.5 * error)
    assert bool(objective.singular(jnp.zeros(2)))


def test_second_call_does_not_compile():
    """A compiled loss serves other students and other teachers of the same shape."""
    traces = []

    @eqx.filter_jit
    def loss(objective, w):
        traces.append(1)
        return objective.loss(w)

    for seed in range(3):
        teacher = np.random.default_rng(seed).normal(size=(2, 3))
        loss(tl.population(tl.problems.committee(teacher, 2)), jnp.asarray(RANDOM.normal(size=(2, 3))))
    assert len(traces) == 1
