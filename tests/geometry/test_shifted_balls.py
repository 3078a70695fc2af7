"""Certificates of networks with biases, inputs with a mean, scales and decay: balls, bounds, proofs, records."""

import subprocess
import sys
from dataclasses import replace

import flint
import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

import tutelage as tl
from tutelage.geometry.ball_arithmetic import NotProved, dot, exact
from tutelage.geometry.ball_losses import LossInBalls
from tutelage.geometry.balls import PairsInBalls
from tutelage.geometry.stated import ball_loss
from tutelage.geometry.verification import fault
from tutelage.models import Layers
from tutelage.objectives import Objective

MEAN = tl.inputs.gaussian(2, mean=[0.4, -0.7], covariance=1.5 * np.eye(2))
TEACHER, BIASES = np.array([[1.0, 0.25], [-0.5, 1.5]]), np.array([0.5, -0.25])
CASES = {
    "biases": {"learn": ("weights", "biases"), "teacher_biases": BIASES},
    "teacher's biases": {"learn": ("weights",), "teacher_biases": BIASES},
    "mean": {"learn": ("weights", "output"), "inputs": MEAN, "teacher_output": [1.5, -0.5]},
    "everything": {
        "learn": ("weights", "output", "biases"), "inputs": MEAN, "teacher_biases": BIASES, "scale": "mean",
        "teacher_output": [1.5, -0.5], "activation": "leaky_relu",
    },
    "abs": {"learn": ("weights", "biases"), "teacher_biases": BIASES, "activation": "abs", "scale": 0.5},
    "root": {"learn": ("weights", "output"), "teacher_output": [1.5, -0.5], "scale": "root"},
}  # fmt: skip


def stated(name: str) -> tuple[Objective, LossInBalls, np.ndarray, np.ndarray]:
    """An objective, its loss in balls, and a student as rows and as an array of all parameters.

    Of three rows one is that of a teacher, and one is parallel to the other teacher, with another bias.
    """
    objective = tl.population(tl.problems.two_layer(TEACHER, 3, **CASES[name]))
    loss = ball_loss(objective, objective.problem.zero())
    signs = np.array([1.0, -1.0, 1.0]) if "output" in CASES[name]["learn"] else None
    rows = np.array([[0.3, -0.8, 0.1], [*TEACHER[0], BIASES[0]], [*-2.0 * TEACHER[1], 0.75]])
    rows = rows if "biases" in CASES[name]["learn"] else rows[:, :2]
    return objective, replace(loss, signs=signs), rows, student(rows, signs)


def student(rows: np.ndarray, signs: np.ndarray | None):
    biases = rows[:, 2] if rows.shape[1] == 3 else None
    return rows if biases is None and signs is None else Layers(rows[:, :2], signs, biases)


def as_rows(gradient, width: int) -> np.ndarray:
    if not isinstance(gradient, Layers):
        return np.asarray(gradient)
    return np.column_stack([gradient.weights, gradient.biases][: width - 1])


@pytest.mark.parametrize("name", CASES)
def test_balls_enclose_what_float64_has(name: str) -> None:
    """Loss, gradient and Hessian, by other formulas, at rows that coincide and that are antiparallel too."""
    objective, loss, rows, point = stated(name)
    with flint.ctx.workdps(40):
        value, gradient, hessian = loss.excess(exact(rows)), loss.gradient(exact(rows)), loss.hessian(exact(rows))
    np.testing.assert_allclose(float(value), objective.loss(point), atol=1e-14)
    floats = np.array(gradient.tolist(), float)
    np.testing.assert_allclose(floats, as_rows(objective.gradient(point), rows.shape[1]), atol=1e-14)
    whole = as_rows(jax.tree.unflatten(jax.tree.structure(point), _numbered(point)), rows.shape[1]).astype(int).ravel()
    dense = np.asarray(objective.hessian(point))[np.ix_(whole, whole)]
    np.testing.assert_allclose(np.array(hessian.tolist(), float), dense, atol=1e-13)
    assert max(float(entry.rad()) for entry in (*gradient.entries(), *hessian.entries())) < 1e-15


def _numbered(point) -> list[np.ndarray]:
    """Leaves with the places of their entries among all parameters."""
    leaves, count = jax.tree.leaves(point), 0
    found = []
    for leaf in leaves:
        found.append(count + np.arange(np.size(leaf)).reshape(np.shape(leaf)))
        count += np.size(leaf)
    return found


def by_integral(h: float, k: float, cosine: float, left: float, right: float) -> mpmath.mpf:
    """E[σ(h + X)σ(k + Y)], given X: Y is normal with mean X cos θ, so that one integral is left."""
    h, k, c = map(mpmath.mpf, (h, k, cosine))
    s = mpmath.sqrt(1 - c**2)
    p, q = (mpmath.mpf(right) + left) / 2, (mpmath.mpf(right) - left) / 2

    def given(x):
        mean = k + c * x
        folded = s * mpmath.sqrt(2 / mpmath.pi) * mpmath.exp(-(mean**2) / (2 * s**2)) + mean * mpmath.erf(
            mean / (s * mpmath.sqrt(2))
        )
        return mpmath.npdf(x) * (p * (h + x) + q * abs(h + x)) * (p * mean + q * folded)

    return mpmath.quad(given, [-16, -h, 16], maxdegree=9)


@pytest.mark.parametrize("cosine", [0.3, -0.9375, 0.99609375])
def test_a_dual_has_many_digits(cosine: float) -> None:
    """Against an integral of another kind, with 25 digits; gradients and Hessians against differences."""
    with mpmath.workdps(30), flint.ctx.workdps(50):
        loss = LossInBalls(np.array([[0.0, 1.0, -0.5]]), -0.25, 1.0, 1.0, 0.0, biased=True)
        sine = (1 - flint.arb(cosine) ** 2).sqrt()
        row = [sine, flint.arb(cosine), flint.arb(0.75)]
        pairs = PairsInBalls(loss, flint.arb_mat([row, [0, 1, flint.arb(-0.5)]]), 1)
        dual = dot(row, pairs.pulls([flint.arb(0), flint.arb(1)]).entries())
        assert abs(mpmath.mpf(dual.mid().str(40, radius=False)) - by_integral(0.75, -0.5, cosine, -0.25, 1.0)) < 1e-24
        students, step = flint.arb_mat([row, [flint.arb(-0.4), flint.arb(0.7), flint.arb(0.2)]]), flint.arb("1e-12")
        for number in range(6):
            change = flint.arb_mat(2, 3, [step if place == number else 0 for place in range(6)])
            both = students + change, students - change
            values, slopes = ([f(one) for one in both] for f in (loss.excess, loss.gradient))
            gradient = loss.gradient(students).entries()[number]
            assert abs(float((values[0] - values[1]) / (2 * step) - gradient)) < 1e-20
            difference = ((slopes[0] - slopes[1]) * (1 / (2 * step))).entries()
            column_of = [loss.hessian(students)[place, number] for place in range(6)]
            assert max(abs(float(a - b)) for a, b in zip(difference, column_of, strict=True)) < 1e-20


@pytest.mark.parametrize("name", ["biases", "mean", "abs"])
def test_hessians_change_no_faster_than_the_bound(name: str) -> None:
    """In random directions from a student, and towards one that coincides with a teacher; near zero it is refused."""
    _, loss, rows, _ = stated(name)
    random, radius = np.random.default_rng(0), 0.02
    centre = rows + 0.3 * random.normal(size=rows.shape)
    bound = float(loss.lipschitz(exact(centre), radius))
    steps = [step * radius / np.linalg.norm(step) for step in random.normal(size=(6, *rows.shape))]
    middle = np.array(loss.hessian(exact(centre)).tolist(), float)
    changes = [
        np.linalg.norm(np.array(loss.hessian(exact(centre + step)).tolist(), float) - middle, 2) for step in steps
    ]
    assert 1e-4 * bound < max(changes) / radius <= bound
    with pytest.raises(NotProved, match="may be zero"):
        loss.lipschitz(exact(centre), 10.0)


def assert_script_holds(certificate: tl.geometry.Certificate) -> None:
    """Run the program that checks a certificate, and once more with another loss, which must fail."""
    script = certificate.script()
    for text, code in (
        (script, 0),
        (script.replace(f"LOSS, INDEX = {certificate.loss}", "LOSS, INDEX = (0.5, 0.6)"), 1),
    ):
        run = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
        assert run.returncode == code and ("FAILS loss" in run.stdout) == bool(code), run.stdout + run.stderr


def newton(objective: Objective, start: Layers) -> Layers:
    """Return a critical point of a loss with decay, by Newton's method of which nothing is compiled."""
    flat, as_student = ravel_pytree(start)
    for _ in range(10):
        hessian, slope = np.asarray(objective.hessian(as_student(flat))), objective.gradient(as_student(flat))
        flat = flat - np.linalg.solve(hessian, np.asarray(ravel_pytree(slope)[0]))
    return as_student(flat)


def test_minima_with_biases_and_decay_are_proved(tmp_path) -> None:
    """At the loss that they have, decay of each part included; an atlas keeps the proof, and no check covers it."""
    problem = tl.problems.two_layer(
        np.eye(2), 2, teacher_biases=[0.25, -0.5], teacher_output=[1.0, -1.0], learn=("weights", "output", "biases"),
        decay={"weights": 0.02, "biases": 0.01, "output": 0.03},
    )  # fmt: skip
    objective = tl.population(problem)
    end = newton(objective, Layers(jnp.eye(2), jnp.array([1.0, -1.0]), jnp.array([0.25, -0.5])))
    found = tl.certify(objective, end, digits=20)
    assert (found.kind, found.index) == ("minimum", 0) and "weight decay" in found.reason
    assert "0.02 of vectors, 0.01 of biases, 0.03 of output weights" in found.problem
    assert found.loss[0] - 1e-14 <= float(objective.loss(end)) <= found.loss[1] + 1e-14
    assert found.distance < 1e-10 and found.smallest_eigenvalue[0] > 0
    assert_script_holds(found)
    atlas = tl.atlas(objective, jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], end)).certified(objective, 20)
    (verified,) = atlas.verify(objective)
    assert verified.status == "no proof" and "biases" in verified.reason
    atlas.save(tmp_path / "atlas.npz")
    (entry,) = tl.load_atlas(tmp_path / "atlas.npz")
    assert entry.certificate.document() == atlas[0].certificate.document()
    assert str(entry.certificate) == str(atlas[0].certificate)
    np.testing.assert_array_equal(entry.certificate.centre.biases, atlas[0].certificate.centre.biases)


@pytest.mark.parametrize("scale", ["mean", 0.5])
def test_scales_and_sizes_of_output_weights_do_not_hide_the_teacher(scale) -> None:
    """It is proved, as it is rescaled, and verified by whole numbers; with another factor the check fails."""
    outputs = np.array([0.75, -0.5])
    objective = tl.population(tl.problems.two_layer(TEACHER, 2, teacher_output=outputs, scale=scale))
    found = tl.certify(objective, (2 * TEACHER, outputs / 2))
    assert (found.kind, found.index) == ("global minimum", 0)
    np.testing.assert_array_equal(found.centre.weights, np.abs(outputs)[:, None] * TEACHER)
    atlas = tl.atlas(objective, (TEACHER[None], outputs[None])).certified(objective)
    assert [one.status for one in atlas.verify(objective)] == ["verified"]
    nothing = replace(found, _loss=replace(found._loss, signs=np.array([1.0, 0.0])))
    assert "output weight is zero" in fault(nothing, np.asarray(found.centre.weights))
    other = replace(atlas[0].certificate, _loss=replace(atlas[0].certificate._loss, factors=(0.125, 0.125)))
    tampered = replace(atlas, entries=(replace(atlas[0], certificate=other),))
    assert tampered.verify(objective)[0].reason == "it is about another problem"


def test_a_narrow_scaled_network_is_proved_and_verified() -> None:
    """Means of one student and two teachers have different factors: the check by whole numbers has both."""
    objective = tl.population(tl.problems.two_layer(np.eye(2), 1, scale="mean"))
    # On the diagonal, at (r, r), the loss is r²/2 − √2 K r but for a constant, with the dual K of units at 45°.
    size = np.sqrt(2) * (1 + 0.75 * np.pi) / (2 * np.pi * np.sqrt(2))
    point = np.full((1, 2), size), np.ones(1)
    found = tl.certify(objective, point)
    assert (found.kind, found.index) == ("minimum", 0) and found.distance < 1e-15
    atlas = tl.atlas(objective, (point[0][None], point[1][None])).certified(objective)
    assert [one.status for one in atlas.verify(objective)] == ["verified"]
    wrong = replace(atlas[0].certificate, least_curvature=2 * found.least_curvature)
    tampered = replace(atlas, entries=(replace(atlas[0], certificate=wrong),))
    assert "closer to zero" in tampered.verify(objective)[0].reason


def test_what_no_student_computes_has_no_spurious_minima() -> None:
    """Students without biases learn a teacher with some: the lowest loss is not known, and a minimum is only that."""
    objective = tl.population(tl.problems.two_layer(np.eye(2), 2, learn=("weights",), teacher_biases=[0.5, -0.25]))
    found = tl.certify(objective, newton(objective, jnp.eye(2)))
    assert found.kind == "minimum" and "no student is known" in found.reason and found.excess[0] > 1e-3
    assert_script_holds(found)
    signed = tl.problems.two_layer(np.eye(2), 2, learn=("weights",), teacher_output=[2.0, 0.5])
    assert signed.student.contains(signed.zero(), signed.teacher, signed.target)  # rescaled
    turned = tl.problems.two_layer(np.eye(2), 2, learn=("weights",), teacher_output=[2.0, -0.5])
    assert not turned.student.contains(turned.zero(), turned.teacher, turned.target)


def test_what_is_not_covered_is_said() -> None:
    """A constant, other laws with biases, and decay of the rows alone."""
    point = Layers(np.eye(2), np.ones(2), np.zeros(2))
    many = ("weights", "output", "biases")
    for options, text in (
        ({"learn": (*many, "constant")}, "without a constant"),
        ({"learn": many, "teacher_constant": 1.0}, "without an output constant"),
        ({"learn": many, "inputs": tl.inputs.gaussian(2, covariance=np.diag([1.0, 2.0]))}, "Gaussian law of one"),
        ({"learn": many, "decay": {"weights": 0.1, "biases": 0.1}}, "both the rows and the output"),
    ):
        objective = tl.population(tl.problems.two_layer(np.eye(2), 2, **options))
        student = point._replace(constant=np.zeros(())) if "constant" in objective.problem.student.learn else point
        with pytest.raises(tl.UnsupportedCombination, match=text):
            tl.certify(objective, student)


def test_shares_in_neurons_with_output_weights_are_proved() -> None:
    """More students than teachers: one of a continuum of global minima; and a narrow minimum with its neuron split."""
    outputs, order = np.array([0.75, -0.5]), [0, 1, 1]
    shares = np.array([1.0, 0.25, 0.75])[:, None]
    wide = tl.population(tl.problems.two_layer(TEACHER, 3, teacher_output=outputs))
    atlas = tl.atlas(wide, (TEACHER[order][None], (shares[:, 0] * outputs[order])[None])).certified(wide)
    found = atlas[0].certificate
    assert found.kind == "global minimum" and sorted(found.parts) == [0, 1, 1] and found.distance < 1e-14
    assert [one.status for one in atlas.verify(wide)] == ["verified"]
    split = tl.population(tl.problems.two_layer(np.eye(2), 2, teacher_output=[-1.0, -1.0]))
    # The minimum of one neuron is on the diagonal, see above, twice as far away.
    size = (1 + 0.75 * np.pi) / np.pi
    point = np.full((2, 2), np.sqrt(2) * size), np.array([-0.25, -0.75]) / np.sqrt(2)
    atlas = tl.atlas(split, (point[0][None], point[1][None])).certified(split)
    found = atlas[0].certificate
    assert found.kind == "saddle" and found.parts == (0, 0) and found.index == 1
    assert [one.status for one in atlas.verify(split)] == ["verified"]
    spectrum = np.linalg.eigvalsh(np.asarray(split.hessian(atlas[0].point)))
    assert (spectrum < -1e-6).sum() == 1
    mixed = replace(found, _loss=replace(found._loss, signs=np.array([-1.0, 1.0])))
    assert "different signs" in fault(mixed, np.asarray(atlas[0].point.weights))
