"""Certificates checked again with whole numbers alone: what is true is verified, and what is changed is refused."""

from __future__ import annotations

import dataclasses
import json
import math
import sys
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from typer.testing import CliRunner

import tutelage as tl
from tutelage.cli.main import app
from tutelage.geometry import AtlasEntry, load_atlas
from tutelage.geometry.families.layout import Layout
from tutelage.geometry.verification import fault
from tutelage.geometry.verification.inertia import Matrix, Undecided, negative
from tutelage.geometry.verification.intervals import Interval, angle
from tutelage.geometry.verification.network import Network
from tutelage.geometry.verification.pairs import Slopes
from tutelage.geometry.verification.symmetry import kinds, symmetry_of

BITS = 200
run = CliRunner().invoke


def contains(interval: Interval, exact: mpmath.mpf) -> bool:
    """Whether a number is in an interval, which is narrow."""
    low, high = (mpmath.mpf(end.numerator) / end.denominator for end in (interval.least, interval.largest))
    return low <= exact <= high and high - low < 1e-50 * (1 + abs(exact))


def fractions(array) -> list[list[Fraction]]:
    return [[Fraction(float(entry)) for entry in row] for row in np.asarray(array)]


@pytest.fixture(scope="module")
def atlas() -> tl.geometry.Atlas:
    """The critical points with blocks 5 and 1 of six neurons, certified: minima, a saddle, the teacher."""
    objective = tl.population(tl.problems.committee(np.eye(6), students=6))
    points = tl.family("k-1,1").points(6).points[:3]
    return tl.atlas(objective, np.array([point.student() for point in points])).certified()


def test_intervals_contain_what_they_stand_for():
    """Sums, products, quotients, roots and angles of random numbers, beside mpmath with more digits."""
    draw = np.random.default_rng(0)
    with mpmath.workdps(90):
        for first, second in draw.normal(size=(40, 2)):
            x, y = Interval.of(float(first), BITS), Interval.of(abs(float(second)), BITS)
            u, v = mpmath.mpf(float(first)), mpmath.mpf(abs(float(second)))
            pairs = [(x + y, u + v), (x - y, u - v), (x * y, u * v), (x / y, u / v), (y.root(), mpmath.sqrt(v))]
            for mine, exact in [*pairs, (angle(y, x), mpmath.atan2(v, u))]:
                assert contains(mine, exact)
    with pytest.raises(ZeroDivisionError):
        _ = y / Interval(-1, 1, BITS)


def test_a_network_has_the_librarys_loss_gradient_and_hessian():
    """Two slopes, a teacher of any kind and signs: by other formulas, the same numbers."""
    draw = np.random.default_rng(1)
    student, teacher = draw.normal(size=(3, 4)), draw.normal(size=(2, 4))
    student[2] = 2 * student[0]  # parallel, where second derivatives of the pair are defined as limits
    objective = tl.population(tl.problems.committee(teacher, students=3, activation="leaky_relu"))
    slope = float(objective.problem.student.activation.derivative(np.asarray(-1.0)))
    slopes = Slopes(Fraction(slope), Fraction(1), Fraction(1), BITS)
    network = Network(fractions(student), fractions(teacher), [1] * 3, [1] * 2, slopes)
    assert float(network.loss().least) == pytest.approx(float(objective.loss(student)), rel=1e-12)
    norm = float(np.linalg.norm(objective.gradient(student)))
    assert float(network.gradient_norm().largest) == pytest.approx(norm, rel=1e-12)
    whole = np.asarray(objective.hessian(student)).reshape(12, 12)
    np.testing.assert_allclose(network.hessian().middle.astype(float) / 2.0**BITS, whole, atol=1e-12)
    block = whole[4:8, 4:8] - 0.5 * (1 + slope**2) * np.eye(4)
    np.testing.assert_allclose(network.reduced_block(1).middle.astype(float) / 2.0**BITS, block, atol=1e-12)
    # A sign turns the neuron's output round: beside a teacher of the other sign everything is the same.
    turned = Network(fractions(student), fractions(teacher), [-1] * 3, [-1] * 2, slopes)
    assert turned.loss().least == network.loss().least
    assert np.linalg.norm(whole, 2) <= float(network.steepness())


def test_types_have_all_eigenvalues():
    """Of a random symmetric student with one neuron more than teachers, blocks in any order of rows and columns."""
    draw = np.random.default_rng(2)
    layout = Layout((4.0, 2.0, 1.0), (0, 1, 2, -1))
    student = layout.matrix(np.round(draw.normal(size=layout.weights.shape), 3))
    student = student[draw.permutation(8)]
    objective = tl.population(tl.problems.committee(np.eye(7), students=8))
    network = Network(
        fractions(student), fractions(np.eye(7)), [1] * 8, [1] * 7, Slopes(Fraction(0), *[Fraction(1)] * 2, BITS)
    )
    codes = np.unique(student, return_inverse=True)[1].reshape(student.shape)
    symmetry = symmetry_of(codes)
    assert symmetry is not None and sorted(map(len, symmetry.blocks)) == [1, 2, 4]
    values = []
    for kind in kinds(symmetry):
        scale = np.sqrt([(copy**2).sum() for copy in kind.copies])
        small = network.second_derivatives(kind.copies).middle.astype(float) / 2.0**BITS / np.outer(scale, scale)
        values.append(np.repeat(np.linalg.eigvalsh(small), kind.dimension))
    whole = np.linalg.eigvalsh(np.asarray(objective.hessian(student)).reshape(56, 56))
    np.testing.assert_allclose(np.sort(np.concatenate(values)), whole, atol=1e-12)
    assert symmetry_of(np.arange(6).reshape(2, 3)).blocks == [[0], [1], [2]]  # no two teachers can be exchanged
    assert symmetry_of(np.array([[1, 0, 0], [1, 0, 0], [0, 1, 0]])) is not None


def test_eigenvalues_are_counted():
    """Below any number, as NumPy does; and not where that is an eigenvalue, or entries are not known well."""
    draw = np.random.default_rng(3)
    matrix = np.array([[Fraction(float(entry)) for entry in row] for row in draw.normal(size=(9, 9))], object)
    matrix = matrix + matrix.T
    whole = np.array([[round(entry * 2**BITS) for entry in row] for row in matrix], object)
    weights = list(range(1, 10))
    values = np.linalg.eigvals(np.diag(1 / np.array(weights)) @ matrix.astype(float)).real
    known = Matrix(whole, np.zeros_like(whole), BITS)
    for shift in (-2.0, -0.3, 0.0, 0.4):
        assert negative(known, weights, Fraction(shift), Fraction(1, 10**30)) == (values < shift).sum()
    with pytest.raises(Undecided):
        negative(known._replace(spread=whole * 0 + 2**BITS), weights, Fraction(0), Fraction(1, 10**30))
    with pytest.raises(Undecided):
        negative(Matrix(np.array([[0]], object), np.array([[0]], object), BITS), [1], Fraction(0), Fraction(1))


def test_certificates_are_kept_and_verified(atlas, tmp_path, monkeypatch):
    """Written, read and checked again, without python-flint; a file of before has none."""
    atlas.save(tmp_path / "six.npz")
    monkeypatch.setitem(sys.modules, "flint", None)
    again = load_atlas(tmp_path / "six.npz")
    assert [str(entry.certificate) for entry in again] == [str(entry.certificate) for entry in atlas]
    assert [entry.certificate.document() for entry in again] == [entry.certificate.document() for entry in atlas]
    assert {outcome.status for outcome in again.verify()} == {"verified"}
    assert "CENTRE" in again[1].certificate.script()
    bare = dataclasses.replace(atlas, entries=tuple(dataclasses.replace(entry, certificate=None) for entry in atlas))
    bare.save(tmp_path / "before.npz")
    assert {outcome.status for outcome in load_atlas(tmp_path / "before.npz").verify()} == {"no proof"}


def changed_digit(certificate, place: int) -> dict:
    """The centre with one digit of one entry changed."""
    entry = certificate.decimals[0][1]
    digit = str((int(entry[place]) + 1) % 10)
    row = (certificate.decimals[0][0], entry[:place] + digit + entry[place + 1 :], *certificate.decimals[0][2:])
    return {"decimals": (row, *certificate.decimals[1:])}


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda proof: changed_digit(proof, 5), "gradient is larger"),
        (lambda proof: changed_digit(proof, 45), "gradient is larger"),
        (lambda proof: {"unique_radius": 1.001 * proof.unique_radius}, "Lipschitz"),
        (lambda proof: {"unique_radius": 2 * proof.unique_radius, "lipschitz": 2 * proof.lipschitz}, "only critical"),
        (lambda proof: {"radius": proof.radius / 4}, "so close"),
        (lambda proof: {"index": 1}, "index"),
        (lambda proof: {"least_curvature": proof.least_curvature * (1 + 1e-9)}, "closer to zero"),
        (lambda proof: {"lipschitz": proof.lipschitz * (1 - 1e-9)}, "Lipschitz"),
        (lambda proof: {"loss": (proof.loss[0] + 1e-17, proof.loss[1])}, "loss"),
        (lambda proof: {"smallest_eigenvalue": (proof.smallest_eigenvalue[1] + 1e-15,) * 2}, "smallest eigenvalue"),
        (lambda proof: {"kind": "global minimum"}, "global minimum"),
        (lambda proof: {"distance": proof.distance / 2}, "further away"),
        (lambda proof: {"decimals": proof.decimals[:5]}, "number of neurons"),
        (lambda proof: {"blocks": "5+1"}, "in full"),
    ],
)  # fmt: skip
def test_changed_certificates_are_refused(atlas, change, named):
    """Each number of a certificate counts: any that is changed to the better is refused, and the reason says which."""
    (entry,) = [entry for entry in atlas if entry.kind == "spurious minimum"]
    student = np.asarray(entry.vectors)
    assert fault(entry.certificate, student) == ""
    assert named in fault(dataclasses.replace(entry.certificate, **change(entry.certificate)), student)


@pytest.fixture(scope="module")
def shared() -> dict[str, tuple[tl.geometry.Certificate, np.ndarray]]:
    """Continua of global minima and of saddles: certificates, and students."""
    point = next(point for point in tl.family("k-1,1").points(6) if point.kind == "minimum")
    students = {
        "global minimum": np.array([[0.5, 0.0], [0.0, 1.0], [0.5, 0.0]]),
        "saddle": np.asarray(tl.split(point.student(), 0, 0.25)),
    }
    proofs = {}
    for kind, student in students.items():
        neurons = student.shape[1]
        proof = tl.certify(tl.population(tl.problems.committee(np.eye(neurons), students=neurons + 1)), student)
        assert proof.kind == kind and fault(proof, student) == ""
        proofs[kind] = proof, student
    return proofs


@pytest.mark.parametrize(
    ("kind", "change", "named"),
    [
        ("global minimum", {"loss": (0.5, 0.6)}, "loss"),
        ("global minimum", {"index": 1}, "index"),
        ("global minimum", {"smallest_eigenvalue": (2.0, 3.0)}, "smallest eigenvalue"),
        ("global minimum", {"unique_radius": 0.5}, "nothing else"),
        ("global minimum", {"radius": 0.5}, "nothing else"),
        ("global minimum", {"lipschitz": 0.5}, "nothing else"),
        ("global minimum", {"split_curvature": 0.5}, "nothing else"),
        ("saddle", {"smallest_eigenvalue": (2.0, 3.0)}, "smallest eigenvalue"),
        ("saddle", {"smallest_eigenvalue": (-3.0, -2.0)}, "smallest eigenvalue"),
        ("saddle", {"loss": (math.nan, math.nan)}, "no number"),
        ("saddle", {"excess": (0.0, math.inf)}, "no number"),
    ],
)
def test_changed_certificates_of_a_continuum_are_refused(shared, kind, change, named):
    """What is said of a continuum is checked too, and what nothing is said of is left open."""
    proof, student = shared[kind]
    assert named in fault(dataclasses.replace(proof, **change), student)


def test_few_digits_do_not_loosen_the_check(atlas):
    """Bounds are compared up to the digits of the centre, of which there are twenty or more."""
    (teacher,) = [entry for entry in atlas if entry.kind == "global minimum"]
    forged = dataclasses.replace(teacher.certificate, digits=1, loss=(0.05, 0.06))
    assert "digits" in fault(forged, np.asarray(teacher.vectors))
    forged = dataclasses.replace(teacher.certificate, digits=10**9)  # would take forever
    assert "digits" in fault(forged, np.asarray(teacher.vectors))
    forged = dataclasses.replace(teacher.certificate, split_curvature=1.0)
    assert "no parts" in fault(forged, np.asarray(teacher.vectors))


def test_a_certificate_of_another_point_or_problem_is_refused(atlas):
    """What a certificate is about is compared with the atlas: point, problem, loss and index."""
    (minimum,) = [entry for entry in atlas if entry.kind == "spurious minimum"]
    (saddle,) = [entry for entry in atlas if entry.kind == "saddle"]

    def outcome(**changes: object) -> str:
        entry: AtlasEntry = dataclasses.replace(minimum, **changes)  # type: ignore[arg-type]
        return dataclasses.replace(atlas, entries=(entry,)).verify()[0].reason

    assert outcome() == ""
    assert "loss" in outcome(certificate=saddle.certificate, index=saddle.index)
    assert "index" in outcome(index=3)
    other = dataclasses.replace(minimum.certificate._loss, right=1.0000001)
    assert "problem" in outcome(certificate=dataclasses.replace(minimum.certificate, _loss=other))
    assert "in words" in outcome(certificate=dataclasses.replace(minimum.certificate, problem="another one"))
    assert "outside" in fault(dataclasses.replace(minimum.certificate, distance=9.0), minimum.vectors + 0.01)
    unproved = dataclasses.replace(minimum.certificate, kind="not proved", reason="no luck")
    assert outcome(certificate=unproved) == "no luck"


def test_the_command(atlas, tmp_path):
    """Exit code 0 if all is verified, 1 if a proof is false, 2 for damaged files and those without certificates."""
    path = tmp_path / "six.npz"
    atlas.save(path)
    result = run(app, ["verify", str(path)], env={"COLUMNS": "100"})
    assert result.exit_code == 0 and result.stdout.count("verified") == 4 and "0.025080581" in result.stdout
    document = json.loads(run(app, ["verify", str(path), "--json"]).stdout)
    assert document["verified"] and [point["status"] for point in document["points"]] == ["verified"] * 3
    assert {"symmetry", "kind", "loss", "index", "reason"} <= document["points"][0].keys()
    wrong = dataclasses.replace(atlas[1].certificate, index=5)
    entries = (atlas[0], dataclasses.replace(atlas[1], certificate=wrong), atlas[2])
    dataclasses.replace(atlas, entries=entries).save(path)
    result = run(app, ["verify", str(path)], env={"COLUMNS": "100"})
    assert result.exit_code == 1 and "false" in result.stdout and "index" in result.stdout
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    result = run(app, ["verify", str(path)])
    assert result.exit_code == 2 and len(result.stderr.strip().splitlines()) == 1 and not result.stdout
    bare = dataclasses.replace(
        atlas, entries=(dataclasses.replace(atlas[0], certificate=None),), runs=1, statuses={"given": 1}
    )
    bare.save(path)
    assert "no certificates" in run(app, ["verify", str(path)]).stderr
