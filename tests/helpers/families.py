"""One or more problems of every family, small enough for finite differences."""

import jax
import jax.numpy as jnp
import numpy as np

import tutelage as tl

_random = np.random.default_rng(2026)
_U = _random.normal(size=3)
_V = _random.normal(size=(2, 3))
_OUTPUT = _random.normal(size=3)
PROBLEMS = {
    "neuron": lambda: tl.problems.neuron(_U),
    "neuron, shifted inputs, noise": lambda: tl.problems.neuron(
        _U, inputs=tl.inputs.gaussian(3, mean=[0.4, -0.2, 0.7]), noise=0.3
    ),
    "neuron, tanh": lambda: tl.problems.neuron(_U, "tanh"),
    "committee": lambda: tl.problems.committee(_V, 3),
    "committee, orthonormal teacher": lambda: tl.problems.committee(np.eye(3), 4),
    "committee, leaky, correlated inputs": lambda: tl.problems.committee(
        _V, 2, tl.activations.LeakyReLU(0.2), inputs=tl.inputs.gaussian(3, covariance=np.diag([1.0, 2.0, 0.5]))
    ),
    "committee, ball": lambda: tl.problems.committee(_V, 2, inputs=tl.inputs.ball(3)),
    "committee, cosine, box": lambda: tl.problems.committee(_V, 2, "cosine", inputs=tl.inputs.uniform_box(3)),
    "two layers": lambda: tl.problems.two_layer(_V, 3, teacher_output=[1.5, -0.7]),
    "two layers, erf, biases, constant, decay": lambda: tl.problems.two_layer(
        _V,
        2,
        "erf",
        [1.5, -0.7],
        [0.3, -0.2],
        0.4,
        ("weights", "output", "biases", "constant"),
        scale="root",
        decay={"weights": 0.1, "output": 0.2},
    ),
    "two layers, ReLU, biases, shifted inputs": lambda: tl.problems.two_layer(
        _V,
        2,
        teacher_biases=[0.3, -0.2],
        learn=("weights", "biases"),
        output=[1.0, -0.5],
        inputs=tl.inputs.gaussian(3, mean=[0.4, -0.2, 0.7], covariance=np.diag([1.0, 2.0, 0.5])),
        noise=0.3,
    ),
    "homogeneous": lambda: tl.problems.homogeneous(_V, 3),
    "homogeneous, signed": lambda: tl.problems.homogeneous(_V, 3, signs=[1, -1, 1]),
    "homogeneous, ReLU with linear term": lambda: tl.problems.homogeneous(_V, 2, "relu", linear=True),
    "convolution": lambda: tl.problems.convolution(_U, _OUTPUT),
    "convolution, unnormalised": lambda: tl.problems.convolution(_U, _OUTPUT, normalized=False),
    "convolution, mixture": lambda: tl.problems.convolution(
        _U, _OUTPUT, inputs=tl.inputs.mixture([tl.inputs.gaussian(3), tl.inputs.sphere(3)], [0.3, 0.7])
    ),
    "wave, shared": lambda: tl.problems.wave(0.5 * _U, 3),
    "wave, unshared": lambda: tl.problems.wave(0.5 * _U, 3, slope=1.0, sharing=False),
    "parity, shared": lambda: tl.problems.parity(_U, 3),
    "parity, unshared": lambda: tl.problems.parity(_U, 3, degrees=(1, 2, 3), sharing=False),
    "parity, step": lambda: tl.problems.parity(_U, 3, degrees=(1, 3), sharing=False, activation="step"),
}
# Without closed forms: the losses of samples alone.
SAMPLED = {
    f"composite, {outer}{', unshared' * (not sharing)}{', learned' * learned}": (
        lambda outer=outer, sharing=sharing, learned=learned: tl.problems.composite(
            outer, _U, 3, sharing, learned, units=4
        )
    )
    for outer, sharing, learned in (
        ("low", True, False),
        ("high", False, False),
        ("both", True, False),
        ("high", False, True),
    )
}


def random_point(problem, seed: int, scale: float = 0.8):
    """A random student."""
    random = np.random.default_rng(seed)
    return jax.tree.map(lambda leaf: jnp.asarray(scale * random.normal(size=leaf.shape)), problem.template_tree())
