"""Equivalence up to symmetry: permutations are found, and different points are told apart."""

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tutelage as tl
from tutelage.geometry.blocks import structure
from tutelage.geometry.equivalence import _by_largest_entries, codes, equivalence, reference_of, signature, vectors_of


def permuted(random: np.random.Generator, student: np.ndarray) -> np.ndarray:
    return student[random.permutation(len(student))][:, random.permutation(student.shape[1])]


@pytest.fixture(scope="module")
def reference():
    """What students of eight neurons and eight orthonormal teachers are compared by."""
    return reference_of(tl.population(tl.problems.committee(np.eye(8), 8)))


@settings(max_examples=40)
@given(
    seed=st.integers(0, 2**32 - 1),
    levels=st.integers(1, 4),
    symmetric=st.booleans(),
)
def test_permutations_are_found(reference, seed, levels, symmetric):
    """Matrices with few distinct entries, the hardest ones, are matched to their permutations despite noise."""
    random = np.random.default_rng(seed)
    student = random.integers(levels, size=(8, 8)) / 4.0
    if symmetric:
        student = student + student.T
    other = permuted(random, student) + 1e-9 * random.normal(size=(8, 8))
    first, second = reference.pattern(student), reference.pattern(other)
    assert np.abs(signature(first) - signature(second)).max() < 1e-7
    found = equivalence(first, second, reference, 1e-6)
    assert found is not None
    np.testing.assert_allclose(student[found.students][:, found.teachers], other, atol=1e-7)


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), block=st.integers(0, 8))
def test_blocks_are_matched_by_sorting(reference, seed, block):
    """Where every student has a teacher of its own, sorting finds the permutations of a block matrix by itself."""
    random = np.random.default_rng(seed)
    student = np.full((8, 8), -0.02) + np.eye(8)
    student[:block, :block] += 0.05
    student[:block, block:] += 0.1
    other = permuted(random, student) + 1e-9 * random.normal(size=(8, 8))
    found = _by_largest_entries(reference.pattern(student), reference.pattern(other), reference, 1e-6)
    assert found is not None
    np.testing.assert_allclose(student[found.students][:, found.teachers], other, atol=1e-7)


def test_what_sorting_cannot_match_is_searched(reference):
    """Neighbours on a ring look alike one by one: sorting pairs them wrongly and says so, and the search finds them."""
    ring = np.eye(8) + 0.1 * np.roll(np.eye(8), 1, axis=1)
    first, second = reference.pattern(ring), reference.pattern(permuted(np.random.default_rng(1), ring))
    assert _by_largest_entries(first, second, reference, 1e-6) is None
    found = equivalence(first, second, reference, 1e-6)
    assert found is not None
    np.testing.assert_array_equal(first.cross[found.students][:, found.teachers], second.cross)


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_changed_entry_is_noticed(reference, seed):
    """A matrix with one entry exchanged for another is matched only if a permutation really takes one to the other."""
    random = np.random.default_rng(seed)
    student = random.integers(3, size=(8, 8)) / 2.0
    other = student.copy()
    other[3, 4] += 0.01
    assert equivalence(reference.pattern(student), reference.pattern(permuted(random, other)), reference, 1e-6) is None


def test_two_cycles_are_not_one(reference):
    """Colour refinement alone cannot tell an eight-cycle from two four-cycles; the search does."""
    whole, halves = np.zeros((8, 8)), np.zeros((8, 8))
    for i in range(8):
        whole[i, [i, (i + 1) % 8]] = 1.0
        halves[i, [i, i // 4 * 4 + (i + 1) % 4]] = 1.0
    first, second = reference.pattern(whole), reference.pattern(halves)
    first, second = (pattern._replace(own=np.eye(8)) for pattern in (first, second))
    assert np.abs(signature(first) - signature(second)).max() == 0
    assert equivalence(first, second, reference, 1e-6) is None
    random = np.random.default_rng(0)
    shuffled = first._replace(cross=permuted(random, whole))
    assert equivalence(first, shuffled, reference, 1e-6) is not None


def test_rotations_and_general_teachers():
    """Students are compared by inner products; teachers that look different are not exchanged."""
    random = np.random.default_rng(0)
    teacher = np.array([[1.0, 0.0, 0.0, 0.0], [0.0, 2.0, 0.0, 0.0]])
    reference = reference_of(tl.population(tl.problems.committee(teacher, 3)))
    student = random.normal(size=(3, 4))
    rotation = np.eye(4)
    rotation[2:, 2:] = [[np.cos(1.0), np.sin(1.0)], [-np.sin(1.0), np.cos(1.0)]]
    assert (
        equivalence(reference.pattern(student), reference.pattern((student @ rotation)[[2, 0, 1]]), reference, 1e-9)
        is not None
    )
    exchanged = student[:, [1, 0, 2, 3]]
    assert equivalence(reference.pattern(student), reference.pattern(exchanged), reference, 1e-9) is None


def test_fixed_coordinates():
    """Under a law without rotations only neurons are permuted."""
    law = tl.inputs.gaussian(2, covariance=np.diag([1.0, 2.0]))
    reference = reference_of(tl.population(tl.problems.committee(np.eye(2), 2, inputs=law)))
    student = np.array([[1.0, 0.3], [0.2, 0.5]])
    assert equivalence(reference.pattern(student), reference.pattern(student[::-1]), reference, 1e-9) is not None
    assert equivalence(reference.pattern(student), reference.pattern(student[:, ::-1]), reference, 1e-9) is None


@pytest.mark.parametrize("variances", [(1.0, 1.0, 1.0), (1.0, 2.0, 3.0)])
def test_neurons_of_different_signs_are_not_exchanged(variances):
    """Whether or not the law has rotations: neurons with one fixed output weight play the same part, others do not."""
    law = tl.inputs.gaussian(3, covariance=np.diag(variances))
    problem = tl.problems.homogeneous(np.eye(3), 3, signs=[1.0, 1.0, -1.0], inputs=law)
    reference = reference_of(tl.population(problem))
    student = np.random.default_rng(0).normal(size=(3, 3))
    alike, other = (reference.pattern(student[order]) for order in ([1, 0, 2], [2, 1, 0]))
    assert equivalence(reference.pattern(student), alike, reference, 1e-9) is not None
    assert equivalence(reference.pattern(student), other, reference, 1e-9) is None


@pytest.fixture(scope="module")
def turnable():
    """What students of eight neurons of the absolute value, which may be turned, are compared by."""
    return reference_of(tl.population(tl.problems.committee(np.eye(8), 8, activation="abs")))


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), levels=st.integers(1, 3), signed=st.booleans())
def test_turned_neurons_are_found(turnable, seed, levels, signed):
    """Students are matched to their permutations with signs of students and teachers turned at random."""
    random = np.random.default_rng(seed)
    student = random.integers(levels, size=(8, 8)) / 4.0 + np.eye(8)
    if signed:
        student *= random.choice([-1.0, 1.0], size=(8, 8))
    turned = random.choice([-1.0, 1.0], size=(8, 1)) * student * random.choice([-1.0, 1.0], size=8)
    other = permuted(random, turned) + 1e-9 * random.normal(size=(8, 8))
    assert equivalence(turnable.pattern(student), turnable.pattern(other), turnable, 1e-6) is not None


def test_signs_around_a_cycle_are_noticed():
    """Inner products of equal sizes do not make students equal: four neurons in a ring with one sign changed.

    Both have one loss, which for the absolute value follows from the sizes, but not one Hessian.
    """
    objective = tl.population(tl.problems.committee(np.eye(4), 4, activation="abs"))
    reference, ring = reference_of(objective), np.ones((4, 4)) / 2
    ring[1, 2:] = ring[2, 3] = ring[3, 1] = -0.5
    other = ring.copy()
    other[3] = [0.5, 0.5, -0.5, 0.5]
    first, second = (reference.pattern(student) for student in (ring, other))
    np.testing.assert_array_equal(signature(first), signature(second))
    np.testing.assert_array_equal(first.own, second.own)
    ends = [np.linalg.eigvalsh(objective.hessian(student))[0] for student in (ring, other)]
    assert abs(ends[0] - ends[1]) > 0.1
    assert equivalence(first, second, reference, 1e-6) is None
    assert equivalence(first, reference.pattern(-ring[[2, 0, 3, 1]]), reference, 1e-6) is not None


def _biased(weights, biases) -> tl.models.Layers:
    return tl.models.Layers(np.asarray(weights, float), None, np.asarray(biases, float), None)


@pytest.mark.parametrize("mean", [None, (0.3, 0.2)])
def test_biases_are_turned_with_their_vectors(tmp_path, mean):
    """A student of an even activation is that with all signs of one neuron changed, not that of its bias alone."""
    problem = tl.problems.two_layer(
        np.eye(2),
        2,
        activation="abs",
        teacher_biases=[0.5, -0.5],
        learn=("weights", "biases"),
        inputs=tl.inputs.gaussian(2, mean=mean),
    )
    objective = tl.population(problem)
    reference = reference_of(objective)
    teacher, turned = _biased(np.eye(2), [0.5, -0.5]), _biased([[0, -1], [1, 0]], [0.5, 0.5])
    other = _biased(np.eye(2), [0.5, 0.5])
    assert float(objective.loss(turned)) < 1e-15 < 0.1 < float(objective.loss(other))
    patterns = [reference.pattern(vectors_of(objective, student)) for student in (teacher, turned, other)]
    assert equivalence(patterns[0], patterns[1], reference, 1e-6) is not None
    assert equivalence(patterns[0], patterns[2], reference, 1e-6) is None
    both = jax.tree.map(lambda *leaves: np.stack(leaves), teacher, turned)
    tl.atlas(objective, both).save(tmp_path / "atlas.npz")
    found = tl.load_atlas(tmp_path / "atlas.npz")
    assert [entry.count for entry in found] == [2]
    assert [found.find(vectors_of(objective, student)) for student in (teacher, turned, other)] == [0, 0, None]


@pytest.mark.parametrize(("biases", "exchanged"), [((0.5, 0.5), False), (None, True)])
def test_teachers_that_must_be_turned_are_exchanged_where_neurons_may_be(biases, exchanged):
    """Teachers with biases of opposite signs are alike for students that may be turned, not for those that may not."""
    learn = ("weights",) if biases else ("weights", "biases")
    problem = tl.problems.two_layer(
        np.eye(2), 2, activation="abs", teacher_biases=[0.5, -0.5], biases=biases, learn=learn
    )
    objective = tl.population(problem)
    reference = reference_of(objective)
    students = [np.array([[1.0, 0.2], [0.3, 0.7]]), np.array([[-0.2, -1.0], [-0.7, -0.3]])]
    if not exchanged:
        students[1] = -students[1]
    else:
        students = [_biased(student, [0.5, 0.5]) for student in students]
    losses = [float(objective.loss(student)) for student in students]
    assert (abs(losses[0] - losses[1]) < 1e-12) is exchanged
    patterns = [reference.pattern(vectors_of(objective, student)) for student in students]
    assert (equivalence(*patterns, reference, 1e-6) is not None) is exchanged


def test_huge_students_are_compared():
    """Inner products of the largest students that are taken overflow in products of several, which warn of nothing."""
    objective = tl.population(tl.problems.committee(np.eye(3), 3, activation="cosine"))
    students = np.random.default_rng(0).normal(size=(2, 3, 3)) * 1e59
    found = tl.atlas(objective, np.concatenate([students, -students[:, ::-1]]))
    assert sorted(entry.count for entry in found) == [2, 2]


def test_codes_join_what_noise_separates():
    """Entries closer than the tolerance share a code, wherever a rounding boundary lies."""
    values = np.array([0.5 - 1e-9, 0.5 + 1e-9, 0.5000011, -0.2])
    np.testing.assert_array_equal(codes(values, 1e-6), [1, 1, 2, 0])


def test_block_structure(six, spurious):
    """The spurious minimum has five neurons of one kind and one of another, with five distinct entries."""
    reference = reference_of(six)
    random = np.random.default_rng(1)
    found = structure(reference.pattern(permuted(random, spurious)), reference, 1e-6)
    assert found.name == "5+1" and found.student_sizes == (5, 1) == found.teacher_sizes
    assert [block.counts for block in found.blocks] == [(4, 1), (1,), (5,), (1,)]
    entries = [value for block in found.blocks for value in block.entries]
    np.testing.assert_allclose(
        entries, [spurious[0, 1], spurious[0, 0], spurious[0, 5], spurious[5, 0], spurious[5, 5]], atol=1e-10
    )
