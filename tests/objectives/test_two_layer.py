"""Networks with two layers: their exact losses and derivatives against integrals, sampling and limits."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree
from scipy.special import erf

import tutelage as tl
from tutelage.instant import instantly
from tutelage.models import Layers

NODES, MASSES = np.polynomial.hermite_e.hermegauss(60)
MASSES = MASSES / np.sqrt(2 * np.pi)
# The inputs of a plane, with their probabilities.
PLANE = np.stack(np.meshgrid(NODES, NODES, indexing="ij"), axis=-1).reshape(-1, 2)
SHARES = np.outer(MASSES, MASSES).ravel()

TEACHER = np.array([[0.9, 0.2], [-0.3, 0.7]])
SMOOTH = {"erf": erf, "cosine": np.cos, "quadratic": np.square, "tanh": np.tanh, "monomial-3": lambda z: z**3}
MEAN, COVARIANCE = np.array([0.4, -0.3]), np.array([[1.2, 0.3], [0.3, 0.5]])


def smooth_problem(name: str, shifted: bool):
    """A problem in the plane in which every part is learned."""
    law = tl.inputs.gaussian(2, MEAN, COVARIANCE) if shifted else None
    return tl.problems.two_layer(
        TEACHER,
        3,
        name,
        teacher_output=[1.3, -0.8],
        teacher_biases=[0.2, -0.5],
        teacher_constant=0.3,
        learn=tl.models.Layers._fields,
        scale="mean",
        inputs=law,
    )


def random_student(problem, seed: int):
    """A student with entries of order one half."""
    random = np.random.default_rng(seed)
    return jax.tree.map(lambda leaf: 0.6 * random.normal(size=leaf.shape), problem.template_tree())


def by_nodes(name: str, layers: Layers, inputs: np.ndarray) -> np.ndarray:
    """The output of a network scaled by one over its number of neurons, from the definition."""
    weights, output, biases, constant = map(np.asarray, layers)
    return (SMOOTH[name](inputs @ weights.T + biases) @ output + constant) / len(weights)


@pytest.mark.parametrize("shifted", [False, True])
@pytest.mark.parametrize("name", SMOOTH)
def test_loss_and_gradient_against_gauss_hermite(name: str, shifted: bool) -> None:
    """In the plane, with a rule of 60 × 60 nodes: to 1e-10, with and without a mean of the inputs."""
    problem = smooth_problem(name, shifted)
    point = random_student(problem, 1)
    inputs = PLANE @ np.linalg.cholesky(COVARIANCE).T + MEAN if shifted else PLANE
    residual = by_nodes(name, point, inputs) - by_nodes(name, problem.target, inputs)
    objective = tl.population(problem)
    np.testing.assert_allclose(objective.loss(point), 0.5 * SHARES @ residual**2, atol=1e-10)
    hidden = SMOOTH[name](inputs @ np.asarray(point.weights).T + np.asarray(point.biases))
    gradient = objective.gradient(point)
    np.testing.assert_allclose(gradient.output, (SHARES * residual) @ hidden / 3, atol=1e-10)
    np.testing.assert_allclose(gradient.constant, SHARES @ residual / 3, atol=1e-10)


LAWS = {
    "standard": None,
    "mean": tl.inputs.gaussian(3, [0.5, -1.0, 0.2]),
    "mean and covariance": tl.inputs.gaussian(3, [0.5, 0.0, 0.2], np.diag([2.0, 1.0, 0.1])),
    "mixture": tl.inputs.mixture([tl.inputs.gaussian(3), tl.inputs.gaussian(3, [1.0, 0.0, 0.0])], [0.4, 0.6]),
    "support": tl.inputs.finite(np.random.default_rng(0).normal(size=(4, 3))),
}
PARTS = [("weights",), ("weights", "output"), ("weights", "biases"), ("output", "biases"), Layers._fields]
NAMES = ["relu", "leaky_relu", "abs", "erf", "sign", "step", "quadratic", "cosine", "sine", "tanh"]
INSTANCES = [(name, law, PARTS[(i + j) % 5]) for i, name in enumerate(NAMES) for j, law in enumerate(LAWS)]


@pytest.mark.parametrize(("name", "law", "learn"), INSTANCES)
def test_loss_against_sampling(name: str, law: str, learn: tuple[str, ...]) -> None:
    """Fifty random problems over activations, laws and parts: within five standard errors of 40,000 samples."""
    seed = INSTANCES.index((name, law, learn))
    random = np.random.default_rng(seed)
    problem = tl.problems.two_layer(
        random.normal(size=(2, 3)),
        3,
        name,
        teacher_output=random.normal(size=2),
        teacher_biases=random.normal(size=2) if "biases" in learn else None,
        teacher_constant=0.5 if "constant" in learn else None,
        learn=learn,
        weights=None if "weights" in learn else random.normal(size=(3, 3)),
        output=random.normal(size=3) if learn == ("weights",) else None,
        inputs=LAWS[law],
    )
    point = random_student(problem, seed)
    inputs, labels = problem.sample(jax.random.key(seed), 40_000)
    squares = 0.5 * np.asarray(problem.student.predict(point, inputs) - labels) ** 2
    error = 5 * squares.std() / np.sqrt(len(squares))
    np.testing.assert_allclose(tl.population(problem).loss(point), squares.mean(), rtol=0, atol=error + 1e-12)


def degenerate(name: str) -> dict[str, Layers]:
    """Students at which a formula may divide by zero."""
    rows = np.array([[0.8, -0.4, 0.3], [0.5, 0.5, -0.2], [0.1, 0.9, 0.4]])
    output, biases = np.array([0.7, -1.1, 0.4]), np.array([0.3, -0.6, 0.2])

    def layers(rows=rows, output=output, biases=biases):
        return Layers(rows, output, biases)

    parallel, opposed, constant = rows.copy(), rows.copy(), rows.copy()
    parallel[1], opposed[1], constant[1] = 2 * rows[0], -rows[0], 0.0
    same = biases[[0, 0, 2]]
    return {
        "parallel": layers(parallel, biases=biases * [1, 0, 1] + [0, 0.6, 0]),
        "opposed": layers(opposed, biases=biases * [1, 0, 1] + [0, -0.3, 0]),
        "parallel, other bias": layers(parallel),
        "coincident": layers(rows[[0, 0, 2]], biases=same),
        "at the teacher": layers(np.vstack([TEACHERS, rows[2]]), biases=np.append(BIASES, 0.2)),
        "zero output weight": layers(output=np.array([0.7, 0.0, 0.4])),
        "constant neuron": layers(constant),
        "dead neuron": layers(constant, np.array([0.7, 0.0, 0.4]), biases * [1, 0, 1]),
    }


TEACHERS = np.array([[1.0, 0.0, 0.0], [0.0, 0.8, 0.6]])
BIASES = np.array([0.3, -0.4])
CASES = [(name, case) for name in ("relu", "erf", "quadratic", "cosine", "tanh") for case in degenerate(name)]


@functools.cache
def _with_biases(name: str) -> tl.objectives.Objective:
    """The objective of all cases of an activation, built once."""
    problem = tl.problems.two_layer(TEACHERS, 3, name, [1.2, -0.5], BIASES, learn=("weights", "output", "biases"))
    return tl.population(problem)


@instantly
def _evaluate(objective, points):
    """Losses and gradients of many students, traced once for all cases of an activation."""
    return jax.vmap(lambda point: (objective.loss(point), objective.gradient(point)))(points)


@pytest.mark.parametrize(("name", "case"), CASES)
def test_degenerate_students(name: str, case: str) -> None:
    """Gradient and Hessian are the limits: central differences of the loss and of the gradient there."""
    objective = _with_biases(name)
    point = degenerate(name)[case]
    flat = np.concatenate([leaf.ravel() for leaf in point if leaf is not None])
    step = 1e-4
    moves = step * np.eye(flat.size)
    stencil = np.concatenate([flat[None], flat + moves, flat - moves])
    rows, output, biases = np.split(stencil, [9, 12], axis=1)
    losses, gradients = _evaluate(objective, Layers(rows.reshape(-1, 3, 3), output, biases))
    gradients = np.concatenate([leaf.reshape(len(stencil), -1) for leaf in gradients if leaf is not None], axis=1)
    ahead, behind = slice(1, flat.size + 1), slice(flat.size + 1, None)
    differences = (losses[ahead] - losses[behind]) / (2 * step)
    np.testing.assert_allclose(gradients[0], differences, atol=2e-7)
    if case == "dead neuron" and name == "relu":
        return  # a kink: the product of two numbers of first order has no Hessian there
    slopes = (gradients[ahead] - gradients[behind]) / (2 * step)
    # Beside a parallel vector third derivatives jump: differences are then of first order in the step.
    np.testing.assert_allclose(objective.hessian(point), slopes, atol=1e-6 if name != "relu" else 3 * step)
    assert not bool(objective.singular(point))


def test_committee_and_neuron_are_special_cases() -> None:
    """The same model, and numbers that are equal bit for bit."""
    rows, point = np.random.default_rng(3).normal(size=(2, 3, 4))
    committee = tl.population(tl.problems.committee(rows, 3))
    special = tl.population(tl.problems.two_layer(rows, 3, learn="weights"))
    assert committee.loss(point) == special.loss(point)
    np.testing.assert_array_equal(committee.gradient(point), special.gradient(point))
    np.testing.assert_array_equal(committee.hessian(point), special.hessian(point))
    neuron = tl.population(tl.problems.neuron(rows[0]))
    one = tl.population(tl.problems.two_layer(rows[:1], 1, learn="weights"))
    assert neuron.loss(point[0]) == one.loss(point[:1])


def test_a_balanced_network_is_the_homogeneous_student() -> None:
    """Output weights equal to the norms make the student that weights neurons by them."""
    rows = np.random.default_rng(4).normal(size=(2, 3))
    weights = np.random.default_rng(5).normal(size=(4, 3))
    balanced = tl.population(tl.problems.two_layer(rows, 4, "abs"))
    expected = tl.population(tl.problems.homogeneous(rows, 4)).loss(weights)
    np.testing.assert_allclose(balanced.loss((weights, np.linalg.norm(weights, axis=1))), expected, rtol=1e-13)


def test_decay_adds_half_the_rate_times_the_square() -> None:
    """To loss, gradient and Hessian, of exact and of sampled objectives, over the parts that are named."""
    rates = {"weights": 0.3, "biases": 0.7}
    arguments = {"teacher": TEACHERS, "students": 2, "learn": ("weights", "output", "biases")}
    plain, decayed = (tl.problems.two_layer(**arguments, decay=decay) for decay in (0.0, rates))
    assert plain.decay is None
    point = random_student(plain, 2)
    inputs = np.random.default_rng(0).normal(size=(5, 3))
    penalty = 0.15 * np.sum(point.weights**2) + 0.35 * np.sum(point.biases**2)
    slope = Layers(0.3 * point.weights, 0.0 * point.output, 0.7 * point.biases)
    for build in (tl.population, lambda problem: tl.empirical(problem, inputs), lambda problem: tl.stream(problem, 5)):
        one, other, key = build(plain), build(decayed), jax.random.key(0)
        np.testing.assert_allclose(other.loss(point, key) - one.loss(point, key), penalty, rtol=1e-12)
        change = jax.tree.map(np.subtract, other.gradient(point, key), one.gradient(point, key))
        np.testing.assert_allclose(ravel_pytree(change)[0], ravel_pytree(slope)[0], atol=1e-14)
    apart = tl.population(decayed).hessian(point) - tl.population(plain).hessian(point)
    np.testing.assert_allclose(apart, np.diag([0.3] * 6 + [0.0] * 2 + [0.7] * 2), atol=1e-14)
    assert not tl.population(decayed).taught


def test_dimension_enters_through_the_span_only() -> None:
    """With biases and output weights too: a run in 500 dimensions is followed in 5."""
    teacher = np.eye(2, 500)
    problem = tl.problems.two_layer(teacher, 3, teacher_biases=[0.3, -0.2], learn=("weights", "output", "biases"))
    objective = tl.population(problem)
    points = jax.tree.map(lambda leaf: leaf[None], random_student(problem, 1))
    reduction = objective.reduced(points)
    inner = jax.tree.map(lambda leaf: leaf[0], reduction.points)
    assert inner.weights.shape == (3, 5)
    point = jax.tree.map(lambda leaf: leaf[0], points)
    np.testing.assert_allclose(reduction.objective.loss(inner), objective.loss(point), rtol=1e-12)
    np.testing.assert_allclose(reduction.objective.gradient(inner).biases, objective.gradient(point).biases, atol=1e-12)


def test_fixed_weights_make_a_quadratic_loss() -> None:
    """Output weights and constant alone: the Hessian is the same everywhere, and positive semidefinite."""
    weights = np.random.default_rng(7).normal(size=(3, 3))
    problem = tl.problems.two_layer(TEACHERS, 3, "erf", learn=("output", "constant"), weights=weights)
    objective = tl.population(problem)
    hessians = [np.asarray(objective.hessian(random_student(problem, seed))) for seed in (0, 1)]
    np.testing.assert_allclose(*hessians, atol=1e-14)
    assert np.linalg.eigvalsh(hessians[0])[0] > 0
    solution = np.linalg.solve(hessians[0], -np.asarray(ravel_pytree(objective.gradient(problem.zero()))[0]))
    np.testing.assert_allclose(ravel_pytree(objective.gradient((solution[:3], solution[3])))[0], 0.0, atol=1e-13)


def test_biases_need_a_law_with_an_exact_expectation() -> None:
    """One line that names activation and law; a fixed sample serves in its place."""
    problem = tl.problems.two_layer(TEACHERS, 2, learn=("weights", "biases"), inputs=tl.inputs.sphere(3))
    with pytest.raises(tl.UnsupportedCombination, match=r"relu with biases under sphere\(3\).*leave the biases out"):
        tl.population(problem)
    assert np.isfinite(tl.empirical(problem, np.eye(3)).loss(random_student(problem, 0)))


def test_automatic_differentiation_of_a_student_without_all_parts() -> None:
    """`jax.grad` of the loss is the gradient where the student has output weights and no biases, no constant."""
    objective = tl.population(tl.problems.two_layer(TEACHER, 2, "erf"))
    student = Layers(jnp.array([[0.3, 0.4], [1.0, -0.2]]), jnp.array([0.5, 2.0]))
    found, wanted = jax.jit(jax.grad(objective.loss))(student), objective.gradient(student)
    np.testing.assert_allclose(ravel_pytree(found)[0], ravel_pytree(wanted)[0], rtol=1e-14)
