"""The atlas: critical points that runs have reached, up to the symmetries of the problem."""

import json
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import equinox as eqx
import jax
import numpy as np
from jaxtyping import PyTree

from tutelage.arrays import of_jax, row_of
from tutelage.checks import one_of, positive
from tutelage.dynamics import Runs
from tutelage.dynamics.checks import deterministic
from tutelage.errors import InvalidArgument, TutelageError, UnsupportedCombination, invalid
from tutelage.files import digest
from tutelage.geometry.atlas import Atlas, AtlasEntry, find_equivalent, in_order, is_continuum
from tutelage.geometry.blocks import Structure, structure
from tutelage.geometry.critical import Tolerances, checked_tolerances, critical_point
from tutelage.geometry.equivalence import Pattern, Reference, reference_of, signature, vectors_of
from tutelage.geometry.global_minima import global_minima
from tutelage.geometry.lowest_loss import Floor, lowest_loss
from tutelage.geometry.polish import evaluate, polished
from tutelage.geometry.spectrum import HOW
from tutelage.geometry.splitting import degree_of, reduced_blocks
from tutelage.models import Neuronwise
from tutelage.objectives import Objective
from tutelage.objectives.population import reach_of

# Fields that follow from others, but for last bits that differ between machines.
_DERIVED = ("factor",)


def describe(objective: Objective) -> dict[str, Any]:
    """Return a problem in words and numbers, to be stored with its atlas and compared."""
    problem = objective.problem
    activation = getattr(problem.student, "activation", None)
    # What the words leave out: slopes, covariances, signs, the sample.
    rest = [_said(part) for part in (problem.student, problem.teacher, problem.inputs)]
    rest += [_said(part) for part in objective.sample]
    # Biases and output weights of the teacher, and decay, where there are any.
    rest += [_said(np.asarray(leaf)) for leaf in jax.tree.leaves(problem.target)[1:]]
    rest += [_said(tuple(float(rate) for rate in problem.decay))] if problem.decay is not None else []
    return {
        "name": problem.name,
        "objective": objective.exactness.kind,
        "activation": getattr(activation, "name", None),
        "inputs": problem.inputs.name,
        "dimension": problem.dimension,
        "noise": float(problem.noise),
        "shapes": [list(shape) for shape in problem.template[1]],
        "teacher": np.asarray(problem.teacher.vectors(problem.target)).tolist(),
        "digest": digest(json.dumps(rest)),
    }


def _said(value: Any) -> Any:
    """Return what a part of a problem is as plain data: arrays by their digests, functions by their names."""
    if isinstance(value, eqx.Module):
        names = [field.name for field in fields(value) if field.name not in _DERIVED]
        return [type(value).__name__, *(_said(getattr(value, name)) for name in names)]
    if isinstance(value, (list, tuple)):
        return [_said(entry) for entry in value]
    if isinstance(value, (np.ndarray, jax.Array)):
        return [list(value.shape), digest(np.ascontiguousarray(value).tobytes())]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return getattr(value, "__qualname__", type(value).__name__)


def atlas(
    objective: Objective,
    runs: Runs | PyTree,
    tolerance: float = 1e-6,
    tolerances: Tolerances = Tolerances(),  # noqa: B008  (frozen)
    lowest: float | None = None,
    how: Literal["auto", "dense", "ends"] = "auto",
    reach: float = 1e-2,
) -> Atlas:
    """Group the points that runs have reached by the symmetries of the problem, and say what they are.

    Neurons may be permuted, and so may the teachers of an orthonormal teacher, under a rotation-invariant law; more
    precisely, students count as equivalent if permutations of neurons, and symmetries of the teacher, take the inner
    products of one to those of the other. Neurons of an even activation may be turned, with their biases, before that.
    Problems of other families are grouped without permutations. Hessians are taken once per entry, not once per run.

    Where there are more students than teachers the global minima form one connected set, and one entry. Descent comes
    closer to that set with one over the number of steps only, so that a run counts as having reached it if each of its
    neurons is within `reach`.

    Args:
        objective: A deterministic objective.
        runs: Runs of that objective, or a batch of students, runs first.
        tolerance: Largest difference of entries of equivalent students. Where the gradient and the curvature say that
            a point is not known as well as that, it is brought closer by Newton's method first.
        tolerances: What counts as zero in gradients, losses and eigenvalues. Runs that ended with a larger gradient,
            and not at the lowest loss, are left out.
        lowest: Loss of the global minima, where it is known better than by the library.
        how: How spectra are taken; see `spectrum`.
        reach: Distance from the global minima within which a run of an over-parameterised student has reached them.

    Returns:
        The atlas.
    """
    deterministic(objective)
    checked_tolerances(tolerances)
    one_of("how", how, HOW)
    tolerance, reach = positive("tolerance", tolerance), positive("reach", reach)
    problem = objective.problem
    if isinstance(runs, Runs) and runs.of_one_teacher().objective.problem.template != problem.template:
        raise invalid("runs", "be runs of this objective", repr(runs), "Pass the objective that they descended")
    # Runs that diverged may not be finite; they are left out below.
    points = runs.points if isinstance(runs, Runs) else problem.points(runs, "runs")
    floor = lowest_loss(objective, lowest)
    number = len(jax.tree.leaves(points)[0])
    losses, norms, errors, singular = _evaluated(objective, runs, points)
    # Single points are taken from NumPy arrays: from a device each would be a call of its own.
    points = jax.device_get(points)
    at_floor = losses - floor.loss <= tolerances.loss * floor.scale + 10 * errors
    description = describe(objective)
    continuum = is_continuum(description)
    if continuum and floor.attained:
        at_floor = at_floor | _approaching(objective, [_student(points, run) for run in range(number)], reach)
    usable = np.flatnonzero(np.isfinite(losses) & ((norms <= tolerances.gradient) | at_floor | singular))
    survey = _Survey(objective, reference_of(objective), tolerance, tolerances, floor, how)
    vectors = {run: vectors_of(objective, _student(points, run)) for run in usable.tolist()}
    groups = _grouped(usable, vectors, norms, at_floor & continuum, survey.reference, tolerance)
    return Atlas(
        entries=in_order(_entries(survey, groups, points, at_floor)),
        runs=number,
        left_out=number - len(usable),
        statuses=_statuses(runs, number),
        steps=int(runs.steps.sum()) if isinstance(runs, Runs) else 0,
        seconds=float(runs.seconds) if isinstance(runs, Runs) else 0.0,
        tolerance=float(tolerance),
        problem=description,
        _reference=survey.reference,
    )


@dataclass(frozen=True)
class _Survey:
    """What every entry of an atlas is made with; see the arguments of `atlas`."""

    objective: Objective
    reference: Reference
    tolerance: float
    tolerances: Tolerances
    floor: Floor
    how: Literal["auto", "dense", "ends"]

    def entry(self, point: PyTree, count: int) -> AtlasEntry:
        """Return the entry of a point that so many runs have reached."""
        point = _representative(self.objective, point)
        point = _in_block_order(self.objective, point, self.reference, self._structure(point))
        blocks = self._structure(point)
        lowest = self.floor.loss if self.floor.attained else None
        critical = critical_point(self.objective, point, self.tolerances, lowest, self.how)
        student = self.objective.problem.student
        return AtlasEntry(
            count=count,
            kind=critical.kind,
            loss=critical.loss,
            norm_sum=float(np.linalg.norm(np.asarray(student.vectors(point)), axis=1).sum()),
            smallest_eigenvalue=critical.smallest_eigenvalue,
            largest_eigenvalue=float("nan") if critical.spectrum is None else critical.spectrum.largest,
            split_curvature=float("nan") if critical.spectrum is None else self._split_curvature(point, blocks),
            gradient_norm=critical.gradient_norm,
            index=critical.index,
            complete=critical.spectrum is not None and critical.spectrum.complete,
            point=point,
            vectors=vectors_of(self.objective, point),
            structure=blocks,
        )

    def _structure(self, point: PyTree) -> Structure:
        return structure(self.reference.pattern(vectors_of(self.objective, point)), self.reference, self.tolerance)

    def _split_curvature(self, point: PyTree, blocks: Structure) -> float:
        neurons = None
        if _is_ordered(self.objective, self.reference):
            # Neurons of one block play the same part: the first of each will do.
            sizes = blocks.student_sizes
            neurons = (np.cumsum(sizes) - np.asarray(sizes)).tolist()
        try:
            degree_of(self.objective.problem)
            reduced = np.asarray(reduced_blocks(self.objective, point, neurons))
        except (InvalidArgument, UnsupportedCombination):  # neurons cannot be split, or there are none
            return float("nan")
        # A zero neuron may have no block: then there is no largest over all neurons.
        return float(np.linalg.eigvalsh(reduced)[:, 0].max()) if np.isfinite(reduced).all() else float("nan")


def _representative(objective: Objective, point: PyTree) -> PyTree:
    """Return the student that stands for its rescalings, so that eigenvalues are those of one point of an orbit."""
    problem = objective.problem
    if problem.decay is not None or problem.student.symmetry(point) is None:
        return point
    return problem.student.canonical(point)


def _student(points: PyTree, run: int) -> PyTree:
    return jax.tree.map(lambda leaf: leaf[run], points)


def _entries(survey: _Survey, groups: list[list[int]], points: PyTree, at_floor: np.ndarray) -> list[AtlasEntry]:
    """Return the entries of groups of runs; polishing may show that two groups are one."""
    entries: list[AtlasEntry] = []
    found: list[tuple[Pattern, np.ndarray]] = []
    for group in groups:
        best = group[0]
        point = _student(points, best)
        entry = survey.entry(point, len(group))
        if at_floor[best]:
            entry = replace(entry, kind="global minimum")
        elif _uncertain(entry, survey.tolerance):
            entry = survey.entry(polished(survey.objective, point), len(group))
        pattern = survey.reference.pattern(entry.vectors)
        same = None if at_floor[best] else find_equivalent(pattern, found, survey.reference, survey.tolerance)
        if same is not None:
            entries[same] = replace(entries[same], count=entries[same].count + entry.count)
            continue
        entries.append(entry)
        found.append((pattern, signature(pattern)))
    return entries


def _approaching(objective: Objective, points: list[PyTree], reach: float) -> np.ndarray:
    """Return which points are within reach of a global minimum of the form that Theorem 1 gives, where it applies."""
    try:
        minima = global_minima(objective.problem)
    except TutelageError:
        return np.zeros(len(points), bool)
    return np.array([bool(np.isfinite(point).all()) and minima.contains(point, reach) for point in points])


def _evaluated(objective: Objective, runs: Any, points: PyTree) -> tuple[np.ndarray, ...]:
    """Return what `values_at` does; of points that are too far from zero for a quadrature nothing is known."""
    if isinstance(runs, Runs) and runs.objective is objective:
        values = runs.losses, runs.gradient_norms, runs.error_estimates, runs.statuses == "non_differentiable"
    else:
        values = evaluate(objective, points)
    if objective.exactness.kind != "quadrature":
        return values
    rows = jax.device_get(points)
    far = np.array([reach_of(objective, row_of(rows, run)) > 1 for run in range(len(values[0]))])
    return *(np.where(far, np.nan, array) for array in values[:3]), values[3]


def _statuses(runs: Any, number: int) -> dict[str, int]:
    if not isinstance(runs, Runs):
        return {"given": number}
    return {str(status): int((runs.statuses == status).sum()) for status in sorted(set(runs.statuses))}


def _grouped(
    usable: np.ndarray,
    vectors: dict[int, np.ndarray],
    norms: np.ndarray,
    together: np.ndarray,
    reference: Reference,
    tolerance: float,
) -> list[list[int]]:
    """Group runs by equivalence, the smallest gradient first; those marked as `together` are one group in any case."""
    groups: list[list[int]] = []
    known: list[tuple[Pattern, np.ndarray]] = []
    whole: list[int] = []
    # The best known points first: they become what the others are compared with.
    for run in usable[np.argsort(norms[usable], kind="stable")].tolist():
        if together[run]:
            whole.append(run)
            continue
        pattern = reference.pattern(vectors[run])
        same = find_equivalent(pattern, known, reference, tolerance)
        if same is None:
            groups.append([run])
            known.append((pattern, signature(pattern)))
        else:
            groups[same].append(run)
    return [*groups, whole] if whole else groups


def _uncertain(entry: AtlasEntry, tolerance: float) -> bool:
    """Whether gradient and curvature leave the point open by more than a tenth of the tolerance."""
    curvature = abs(entry.smallest_eigenvalue)
    return bool(curvature > 0 and entry.gradient_norm / curvature > 0.1 * tolerance)


def _is_ordered(objective: Objective, reference: Reference) -> bool:
    """Whether the neurons of an entry stand in the order of its blocks: they may be permuted freely."""
    problem = objective.problem
    # Where vectors are fixed, students are compared number by number, and nothing may be permuted.
    movable = isinstance(problem.student, Neuronwise) and problem.student.symmetry(problem.zero()) is not None
    return movable and len(set(reference.rows.tolist())) == 1


def _in_block_order(objective: Objective, point: PyTree, reference: Reference, blocks: Structure) -> PyTree:
    """Return an equivalent student with its neurons, and orthonormal teachers, in the order of the blocks."""
    student = objective.problem.student
    if not _is_ordered(objective, reference):
        return point
    assert isinstance(student, Neuronwise)
    point = student.reordered(point, blocks.students)
    vectors = np.asarray(student.vectors(point))
    if reference.orthonormal and reference.teacher is not None:
        along = vectors @ reference.axes.T
        rest = vectors - along @ reference.axes
        vectors = along[:, blocks.teachers] @ reference.axes + rest
    return student.with_vectors(point, of_jax(vectors))
