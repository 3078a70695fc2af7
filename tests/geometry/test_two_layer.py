"""Networks with output weights up to their symmetries: atlas, zero modes, splitting, certificates."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import jax
import numpy as np
import pytest

import tutelage as tl
from tutelage.dynamics.vectors import as_student, as_vector
from tutelage.geometry.ball_arithmetic import exact
from tutelage.geometry.equivalence import equivalence, reference_of, vectors_of
from tutelage.geometry.polish import polished
from tutelage.geometry.stated import ball_loss
from tutelage.models import Layers

RELU = tl.population(tl.problems.two_layer(np.eye(3), 3))
ERF = tl.population(tl.problems.two_layer(np.eye(4), 3, "erf"))


def copy_average(copies: int, teachers: int) -> Layers:
    """Neurons that copy the first teachers, and one that is the best multiple of the sum of the others, for erf."""
    rest = teachers - copies
    # E[erf(w·x) erf(v·x)] = (2/π) arcsin(2 w·v / √((1+2w²)(1+2v²))): the zero of the slope in the size of w.
    size = np.sqrt(1 / (rest * (3 * rest - 2)))
    vectors = np.vstack([np.eye(copies, teachers), size * np.r_[np.zeros(copies), np.ones(rest)]])
    objective = tl.population(tl.problems.two_layer(np.eye(teachers), copies + 1, "erf"))
    zero = Layers(vectors, np.zeros(copies + 1))
    hessian = np.asarray(objective.hessian(zero))[-copies - 1 :, -copies - 1 :]
    return Layers(vectors, np.linalg.solve(hessian, -np.asarray(objective.gradient(zero).output)))


@pytest.mark.parametrize(("copies", "teachers"), [(0, 3), (2, 4), (4, 8)])
def test_copies_and_an_average_are_critical_for_erf(copies: int, teachers: int) -> None:
    """Şimşek et al., 2023: copies, and one neuron along the sum of the rest, make the gradient vanish."""
    point = copy_average(copies, teachers)
    objective = tl.population(tl.problems.two_layer(np.eye(teachers), copies + 1, "erf"))
    np.testing.assert_allclose(as_vector(objective.gradient(point)), 0.0, atol=1e-14)
    np.testing.assert_allclose(point.output[:copies], 1.0, rtol=1e-12)
    assert tl.critical_point(objective, point).kind == "minimum"


def disguised(point: Layers, rescaled: bool, seed: int) -> Layers:
    """The same function by other numbers: permuted, and rescaled or with other signs."""
    random = np.random.default_rng(seed)
    order = random.permutation(len(point.output))
    factors = random.uniform(0.3, 3.0, len(order)) if rescaled else random.choice([-1.0, 1.0], len(order))
    rows, output = np.asarray(point.weights) * factors[:, None], np.asarray(point.output) / factors
    return Layers(rows[order], output[order])


@pytest.mark.parametrize(
    ("objective", "point", "rescaled"),
    [(RELU, Layers(np.eye(3), np.ones(3)), True), (ERF, copy_average(2, 4), False)],
    ids=["relu", "erf"],
)
def test_disguises_are_one_entry(objective, point, rescaled) -> None:
    """Rescalings of ReLU neurons, signs of odd ones, and permutations; another output weight is another student."""
    students = [disguised(point, rescaled, seed) for seed in range(6)]
    for student in students:
        np.testing.assert_allclose(objective.loss(student), objective.loss(point), atol=1e-14)
    batch = jax.tree.map(lambda *leaves: np.stack(leaves), *students)
    atlas = tl.atlas(objective, batch)
    assert [entry.count for entry in atlas] == [6]
    vectors = atlas[0].vectors
    assert atlas.find(vectors[::-1]) == 0
    other = vectors.copy()
    other[0, -1] *= 1.1
    assert atlas.find(other) is None


def test_teachers_with_other_output_weights_are_not_exchanged() -> None:
    """Students that have swapped two teachers of unequal output weights are different points."""
    objective = tl.population(tl.problems.two_layer(np.eye(2), 1, teacher_output=[1.0, -2.0]))
    reference = reference_of(objective)
    points = Layers(np.array([[1.0, 0.1]]), np.ones(1)), Layers(np.array([[0.1, 1.0]]), np.ones(1))
    first, second = (reference.pattern(vectors_of(objective, point)) for point in points)
    assert equivalence(first, second, reference, 1e-6) is None
    alike = tl.population(tl.problems.two_layer(np.eye(2), 1))
    assert equivalence(first, second, reference_of(alike), 1e-6) is not None


def test_zero_modes_are_named() -> None:
    """Rescalings and rotations, as many as the Hessian has zero eigenvalues; decay leaves none of the first."""
    wide = tl.population(tl.problems.two_layer(np.eye(3, 5), 3))
    point = Layers(np.eye(3, 5), np.ones(3))
    found = tl.critical_point(wide, point)
    assert (found.kind, found.zero_modes, found.nullity) == ("global minimum", {"rescalings": 3}, 3)
    away = Layers(np.eye(3, 5) + 0.1 * np.eye(5)[3], np.ones(3))
    assert tl.critical_point(wide, away).zero_modes == {"rescalings": 3, "rotations": 1}
    decayed = tl.population(tl.problems.two_layer(np.eye(3), 3, decay=0.01))
    assert tl.critical_point(decayed, Layers(np.eye(3), np.ones(3))).zero_modes == {}
    biased = tl.population(tl.problems.two_layer(np.eye(2), 2, teacher_biases=[0.5, -0.2], learn=Layers._fields[:3]))
    teacher = tl.critical_point(biased, (np.eye(2), np.ones(2), np.array([0.5, -0.2])))
    assert (teacher.kind, teacher.zero_modes, teacher.nullity) == ("global minimum", {"rescalings": 2}, 2)


def test_neurons_that_share_one_function_are_one_continuum() -> None:
    """Parallel ReLU neurons in any proportion are one entry, whose zero modes are counted."""
    objective = tl.population(tl.problems.two_layer(np.eye(3), 2))
    narrow = tl.population(tl.problems.two_layer(np.eye(3), 1))
    runs = tl.descend(narrow, tl.starts.xavier(narrow.problem, 1), tl.GradientDescent(0.1), finish=tl.Newton())
    students = [tl.split(runs.point(0), 0, fraction) for fraction in (0.2, 0.5, 0.9)]
    first, other = np.asarray(students[0].weights[0]), np.asarray(students[0].output).sum()
    students.append(Layers(np.stack([first, 2 * first]), np.array([-0.5 * other, 0.75 * other])))  # of opposite signs
    atlas = tl.atlas(objective, jax.tree.map(lambda *leaves: np.stack(leaves), *students))
    # Shares of opposite signs, at the same loss, are critical points of another kind.
    assert sorted(entry.count for entry in atlas) == [1, 3]
    found = tl.critical_point(objective, atlas[0].point)
    assert found.zero_modes["shares"] == 1 and found.nullity >= found.symmetries


def test_the_spectrum_beside_the_span_has_all_eigenvalues() -> None:
    """In 12 dimensions, from 6 and one beside, as from the whole Hessian."""
    objective = tl.population(tl.problems.two_layer(np.eye(2, 12), 3, "erf"))
    random = np.random.default_rng(0)
    point = Layers(random.normal(size=(3, 12)), random.normal(size=3))
    whole = np.linalg.eigvalsh(np.asarray(objective.hessian(point)))
    np.testing.assert_allclose(tl.geometry.spectrum(objective, point).eigenvalues, whole, atol=1e-13)


# A minimum of two ReLU neurons of four teachers, to as many digits as descent prints.
RELU_MINIMUM = Layers(
    np.array([[0.14817089, 1.70482361, 0.14817089, 0.14817089], [0.82896488, -0.44771679, 0.82896488, 0.82896488]]),
    np.array([0.96103062, 1.13504506]),
)


@pytest.mark.parametrize(
    ("name", "minimum"), [("erf", copy_average(1, 4)), ("relu", RELU_MINIMUM)], ids=["erf", "relu"]
)
def test_a_split_neuron_computes_the_same(name: str, minimum: Layers) -> None:
    """Output weights are divided, whatever the activation; merging undoes it; the way down has the said curvature."""
    objective = tl.population(tl.problems.two_layer(np.eye(4), 2, name))
    point = polished(objective, minimum)
    np.testing.assert_allclose(as_vector(objective.gradient(point)), 0.0, atol=1e-12)
    wide, divided = tl.geometry.wider(objective, 1), tl.split(point, 1, 0.3)
    np.testing.assert_allclose(wide.loss(divided), objective.loss(point), rtol=1e-13)
    np.testing.assert_allclose(as_vector(wide.gradient(divided)), 0.0, atol=1e-9)
    again = tl.merge(divided, 1, 2)
    np.testing.assert_allclose(as_vector(again), as_vector(point), rtol=1e-14)
    with pytest.raises(tl.InvalidArgument, match="distance"):
        tl.merge(divided, 0, 1)
    down = tl.geometry.descent_direction(objective, point, fraction=0.3)
    assert down is not None
    hessian, along = np.asarray(down.objective.hessian(down.point)), as_vector(down.direction)
    np.testing.assert_allclose([along @ along, along @ hessian @ along], [1.0, down.curvature], atol=1e-10)


def test_balls_enclose_signed_neurons() -> None:
    """Loss, gradient and Hessian in balls, with signs of students and teachers, contain those of float64."""
    random = np.random.default_rng(0)
    objective = tl.population(tl.problems.two_layer(random.normal(size=(2, 3)), 3, teacher_output=[1.5, -0.7]))
    rows, signs = random.normal(size=(3, 3)), np.array([1.0, -1.0, 1.0])
    loss = replace(ball_loss(objective, objective.problem.zero()), signs=signs)
    point = Layers(rows, signs)
    np.testing.assert_allclose(float(loss.excess(exact(rows))), objective.loss(point), atol=1e-14)
    gradient = np.array(loss.gradient(exact(rows)).tolist(), float)
    np.testing.assert_allclose(gradient, objective.gradient(point).weights, atol=1e-14)
    hessian = np.array(loss.hessian(exact(rows)).tolist(), float)
    np.testing.assert_allclose(hessian, np.asarray(objective.hessian(point))[:9, :9], atol=1e-13)


def test_certificates_hold_on_the_quotient() -> None:
    """A rescaled teacher is proved to be the global minimum, with signs; a zero output weight is not proved."""
    outputs = np.array([1.0, -1.0, 1.0])
    objective = tl.population(tl.problems.two_layer(np.eye(3), 3, teacher_output=outputs))
    factors = np.array([2.0, 0.5, 3.0])
    found = tl.certify(objective, (factors[:, None] * np.eye(3) + 1e-9, outputs / factors))
    assert (found.kind, found.index) == ("global minimum", 0)
    np.testing.assert_array_equal(found.centre.output, outputs)
    none = tl.certify(objective, (np.eye(3), np.array([1.0, 0.0, 1.0])))
    assert not none.proved and "output weight is zero" in none.reason
    lopsided = tl.population(tl.problems.two_layer(np.eye(3), 3, decay={"weights": 0.1}))
    with pytest.raises(tl.UnsupportedCombination, match="decay of both"):
        tl.certify(lopsided, (np.eye(3), np.ones(3)))


@pytest.mark.parametrize("learn", [("weights",), ("weights", "output")])
def test_minima_with_decay_are_proved(learn: tuple[str, ...]) -> None:
    """Newton's minimum is proved up to rescaling, at the loss that it has; the script from the definition agrees."""
    signs = np.array([1.0, -1.0]) if "output" in learn else None
    rates = dict(zip(("weights", "output"), (0.05, 0.02), strict=True))
    problem = tl.problems.two_layer(
        np.eye(2), 2, teacher_output=signs, learn=learn, decay={name: rates[name] for name in learn}
    )
    objective = tl.population(problem)
    end = np.eye(2) if signs is None else Layers(np.eye(2), signs)
    for _ in range(12):  # Newton's method, of which nothing is compiled
        hessian, slope = np.asarray(objective.hessian(end)), as_vector(objective.gradient(end))
        end = as_student(as_vector(end) - np.linalg.solve(hessian, slope), end)
    found = tl.certify(objective, end, digits=20)
    assert found.kind == "minimum" and "weight decay" in found.reason
    atlas = tl.atlas(objective, jax.tree.map(lambda leaf: np.asarray(leaf)[None], end))
    (verified,) = atlas.certified(objective).verify(objective)
    assert verified.status == "no proof" and "weight decay" in verified.reason  # not called false
    assert found.smallest_eigenvalue[0] > 0 and found.distance < 1e-10
    assert found.loss[0] - 1e-14 <= float(objective.loss(end)) <= found.loss[1] + 1e-14
    checked = subprocess.run([sys.executable, "-c", found.script()], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_a_narrow_minimum_is_proved() -> None:
    """ReLU, two students of three teachers: what descent reaches is a strict minimum modulo rescalings."""
    objective = tl.population(tl.problems.two_layer(np.eye(3), 2))
    runs = tl.descend(
        objective, tl.starts.xavier(objective.problem, 1, seed=0), tl.GradientDescent(0.1), finish=tl.Newton()
    )
    found = tl.certify(objective, runs.point(0))
    assert found.kind == "minimum" and found.smallest_eigenvalue[0] > 0
    assert found.loss[0] <= float(runs.losses[0]) + 1e-12 and float(runs.losses[0]) - 1e-12 <= found.loss[1]


def test_an_atlas_is_read_as_it_was_written(tmp_path) -> None:
    """With output weights and biases, whose place in the students is kept."""
    problem = tl.problems.two_layer(np.eye(2), 2, "erf", learn=("weights", "output", "biases"))
    objective = tl.population(problem)
    point = Layers(np.eye(2)[None], np.ones((1, 2)), np.zeros((1, 2)))
    atlas = tl.atlas(objective, point)
    atlas.save(tmp_path / "atlas.npz")
    again = tl.load_atlas(tmp_path / "atlas.npz")
    assert again.problem == atlas.problem and again._reference.numbers == 2
    np.testing.assert_array_equal(as_vector(again[0].point), as_vector(atlas[0].point))
    assert len(again.merge(atlas)) == 1


@pytest.mark.parametrize("learn", [("biases",), ("output", "biases"), ("biases", "constant")])
def test_biases_beside_fixed_vectors_are_no_neurons_to_split(learn: tuple[str, ...]) -> None:
    """Neither are there reduced blocks: both are refused in a sentence."""
    objective = tl.population(tl.problems.two_layer(np.eye(2), 2, "erf", learn=learn, weights=np.eye(2) + 0.1))
    point = objective.problem.zero()
    with pytest.raises(tl.InvalidArgument, match="homogeneous neurons"):
        tl.descent_direction(objective, point)
    with pytest.raises(tl.UnsupportedCombination, match="learn their vectors"):
        tl.geometry.reduced_blocks(objective, point)


@pytest.mark.parametrize("learn", ["constant", "output", "biases", ("output", "constant")])
def test_an_atlas_of_students_with_fixed_vectors(learn: str | tuple[str, ...], tmp_path: Path) -> None:
    """They are compared number by number, keep all their numbers, and can be saved and loaded."""
    fixed = np.array([[1.0, 0.2], [-0.3, 0.9], [0.5, -1.1]])
    problem = tl.problems.two_layer(np.eye(2), 3, "erf", learn=learn, weights=fixed, teacher_constant=0.5)
    objective = tl.population(problem)
    start = jax.tree.map(lambda leaf: leaf + 0.5, problem.zero())
    runs = tl.descend(
        objective,
        jax.tree.map(lambda leaf: np.stack([leaf, leaf]), start),
        tl.GradientDescent(0.5),
        stop=[tl.gradient_norm(1e-9), tl.step_limit(20_000)],
    )
    atlas = tl.atlas(objective, runs)
    assert [entry.count for entry in atlas] == [2]
    np.testing.assert_allclose(as_vector(atlas[0].point), as_vector(runs.point(0)), atol=1e-5)
    atlas.save(tmp_path / "atlas.npz")
    assert repr(tl.load_atlas(tmp_path / "atlas.npz")) == repr(atlas)


def test_an_atlas_without_entries_says_how_runs_ended() -> None:
    """Steps that are too large go to and fro for ever."""
    objective = tl.population(tl.problems.two_layer(np.eye(2), 2, learn="constant", weights=np.eye(2)))
    starts = Layers(None, None, None, np.array([0.1, 2.0]))  # type: ignore[arg-type]
    runs = tl.descend(objective, starts, tl.GradientDescent(2.0), stop=tl.step_limit(10))
    assert repr(tl.atlas(objective, runs)) == (
        "Atlas(two_layer, 2 runs: nothing; 2 not at a critical point; runs ended: 2 step limit)"
    )


@pytest.mark.parametrize(
    ("activation", "turn", "signs"),
    [
        ("tanh", 1.0, (1.0, -0.5)),
        ("tanh", -1.0, (1.0, 0.5)),
        ("tanh", -1.0, (1.0, -0.5)),
        ("abs", -1.0, (1.0, 0.5)),
        ("abs", 1.0, (1.0, -0.5)),
        ("cosine", -1.0, (1.0, 0.5)),
    ],
)
def test_neurons_share_a_function_whatever_their_signs(activation, turn, signs):
    """Along the shares the loss does not change; there is one such direction, and rescalings besides."""
    objective = tl.population(tl.problems.two_layer(np.eye(3), 3, activation))
    parity = objective.problem.student.activation.parity
    row, other = np.array([0.6, -0.3, 0.2]), np.array([-0.1, 0.4, 0.9])
    output = np.array([*signs, 0.7])

    def student(share: float) -> Layers:
        back = turn * share if parity == "odd" else share
        return Layers(np.array([row, turn * row, other]), output + np.array([share, -back, 0.0]))

    losses = [float(objective.loss(student(share))) for share in (0.0, 0.125, -0.25)]
    np.testing.assert_allclose(losses, losses[0], rtol=1e-12)
    modes = objective.problem.student.redundancy(student(0.0))
    assert modes["shares"] == 1 and modes.get("rescalings", 0) == (3 if activation == "abs" else 0)


@pytest.mark.parametrize("activation", ["abs", "cosine"])
def test_opposite_vectors_of_an_even_activation_are_one_student(activation):
    """Two neurons that share one function: whichever of them is turned, and whatever the shares, it is one point."""
    objective = tl.population(tl.problems.two_layer(np.eye(3), 3, activation))
    row, other = np.array([0.6, -0.3, 0.2]), np.array([-0.1, 0.4, 0.9])
    points = [
        Layers(np.array([row, turn * row, other]), np.array([share, 1.5 - share, 0.7]))
        for turn in (1.0, -1.0)
        for share in (0.5, 1.2)
    ]
    reference = reference_of(objective)
    first, *others = (reference.pattern(vectors_of(objective, point)) for point in points)
    assert all(equivalence(first, pattern, reference, 1e-6) for pattern in others)


def test_neurons_with_other_biases_share_nothing():
    """Biases that are given and not learned tell neurons with one vector apart, in counts and in what stands for it."""
    student = tl.problems.two_layer(np.eye(3), 3, "tanh", biases=[0.5, -0.25, 0.5]).student
    point = Layers(np.tile([0.6, -0.3, 0.2], (3, 1)), np.array([0.5, 1.0, 0.75]))
    assert student.redundancy(point)["shares"] == 1  # of the first and the last
    np.testing.assert_allclose(student.canonical(point).output, [0.625, 1.0, 0.625])
    inputs = np.random.default_rng(0).normal(size=(5, 3))
    np.testing.assert_allclose(student.predict(student.canonical(point), inputs), student.predict(point, inputs))
