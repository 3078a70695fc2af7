"""The atlas: critical points that runs have reached, up to the symmetries of the problem."""

from dataclasses import dataclass, replace
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from tutelage.checks import positive
from tutelage.dynamics import Runs
from tutelage.errors import TutelageError, UnsupportedCombination, invalid
from tutelage.geometry.blocks import Structure, structure
from tutelage.geometry.critical import Tolerances, critical_point, given_floor, require_deterministic
from tutelage.geometry.entries import Atlas, AtlasEntry, find_equivalent, in_order, is_continuum
from tutelage.geometry.equivalence import Frame, Pattern, frame_of, signature, vectors_of
from tutelage.geometry.floor import Floor, lowest_loss
from tutelage.geometry.global_minima import global_minima
from tutelage.geometry.polish import evaluate, polished
from tutelage.geometry.splitting import reduced_blocks
from tutelage.models import Committee, Homogeneous
from tutelage.objectives import Objective


def describe(objective: Objective) -> dict[str, Any]:
    """Return a problem in words and numbers, to be stored with its atlas and compared."""
    problem = objective.problem
    activation = getattr(problem.student, "activation", None)
    return {
        "name": problem.name,
        "objective": objective.exactness.kind,
        "activation": getattr(activation, "name", None),
        "inputs": problem.inputs.name,
        "dimension": problem.dimension,
        "noise": float(problem.noise),
        "shapes": [list(shape) for shape in problem.template[1]],
        "teacher": np.asarray(problem.teacher.vectors(problem.target)).tolist(),
    }


@dataclass
class _Group:
    """Runs that ended at equivalent points; `best` is the one with the smallest gradient."""

    members: list[int]
    best: int


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
    products of one to those of the other. For an even activation signs do not matter. Problems of other families are
    grouped without permutations. Hessians are taken once an entry, not once a run.

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
    require_deterministic(objective)
    positive("tolerance", tolerance)
    positive("reach", reach)
    problem = objective.problem
    if isinstance(runs, Runs) and runs.objective.problem.template != problem.template:
        raise invalid("runs", "be runs of this objective", repr(runs), "Pass the objective that they descended")
    # Runs that diverged may not be finite; they are left out below.
    points = runs.points if isinstance(runs, Runs) else problem.points(runs, "runs")
    floor = lowest_loss(objective) if lowest is None else given_floor(objective, lowest)
    number = len(jax.tree.leaves(points)[0])
    losses, norms, errors, singular = _evaluated(objective, runs, points)
    # Single points are taken from NumPy arrays: from a device each would be a call of its own.
    points = jax.device_get(points)
    at_floor = losses - floor.loss <= tolerances.loss * floor.scale + 10 * errors
    one = lambda run: jax.tree.map(lambda leaf: leaf[run], points)  # noqa: E731
    description = describe(objective)
    continuum = is_continuum(description)
    if continuum and floor.attained:
        at_floor = at_floor | _approaching(objective, [one(run) for run in range(number)], reach)
    usable = np.flatnonzero(np.isfinite(losses) & ((norms <= tolerances.gradient) | at_floor | singular))
    frame = frame_of(objective)
    vectors = {run: vectors_of(objective, one(run)) for run in usable.tolist()}
    groups = _grouped(usable, vectors, norms, at_floor & continuum, frame, tolerance)
    entries = []
    found: list[tuple[Pattern, np.ndarray]] = []
    for group in groups:
        point = one(group.best)
        entry = _entry(objective, point, len(group.members), frame, tolerance, tolerances, floor, how)
        if at_floor[group.best]:
            entry = replace(entry, kind="global minimum")
        elif _uncertain(entry, tolerance):
            point = polished(objective, point)
            entry = _entry(objective, point, len(group.members), frame, tolerance, tolerances, floor, how)
        pattern = frame.pattern(entry.vectors)
        # Polishing may show that two groups are one.
        same = None if at_floor[group.best] else find_equivalent(pattern, found, frame, tolerance)
        if same is not None:
            entries[same] = replace(entries[same], count=entries[same].count + entry.count)
            continue
        entries.append(entry)
        found.append((pattern, signature(pattern)))
    return Atlas(
        entries=in_order(entries),
        runs=number,
        left_out=number - len(usable),
        statuses=_statuses(runs, number),
        steps=int(runs.steps.sum()) if isinstance(runs, Runs) else 0,
        seconds=float(runs.seconds) if isinstance(runs, Runs) else 0.0,
        tolerance=float(tolerance),
        problem=description,
        _frame=frame,
    )


def _approaching(objective: Objective, points: list[PyTree], reach: float) -> np.ndarray:
    """Return which points are within reach of a global minimum of the form that Theorem 1 gives, where it applies."""
    try:
        minima = global_minima(objective.problem)
    except TutelageError:
        return np.zeros(len(points), bool)
    return np.array([bool(np.isfinite(point).all()) and minima.contains(point, reach) for point in points])


def _evaluated(objective: Objective, runs: Any, points: PyTree) -> tuple[np.ndarray, ...]:
    if isinstance(runs, Runs) and runs.objective is objective:
        return runs.losses, runs.gradient_norms, runs.error_estimates, runs.statuses == "non_differentiable"
    return evaluate(objective, points)


def _statuses(runs: Any, number: int) -> dict[str, int]:
    if not isinstance(runs, Runs):
        return {"given": number}
    return {str(status): int((runs.statuses == status).sum()) for status in sorted(set(runs.statuses))}


def _grouped(usable, vectors, norms, together, frame: Frame, tolerance: float) -> list[_Group]:
    """Group runs by equivalence; those marked as `together` are one group, whatever they look like."""
    groups: list[_Group] = []
    known: list[tuple[Pattern, np.ndarray]] = []
    whole: _Group | None = None
    # The best known points first: they become what the others are compared with.
    for run in usable[np.argsort(norms[usable], kind="stable")].tolist():
        if together[run]:
            whole = whole or _Group([], run)
            whole.members.append(run)
            continue
        pattern = frame.pattern(vectors[run])
        same = find_equivalent(pattern, known, frame, tolerance)
        if same is None:
            groups.append(_Group([run], run))
            known.append((pattern, signature(pattern)))
        else:
            groups[same].members.append(run)
    return groups if whole is None else [*groups, whole]


def _uncertain(entry: AtlasEntry, tolerance: float) -> bool:
    """Whether gradient and curvature leave the point open by more than a tenth of the tolerance."""
    curvature = abs(entry.smallest_eigenvalue)
    return bool(curvature > 0 and entry.gradient_norm / curvature > 0.1 * tolerance)


def _entry(
    objective: Objective,
    point: PyTree,
    count: int,
    frame: Frame,
    tolerance: float,
    tolerances: Tolerances,
    floor: Floor,
    how: Literal["auto", "dense", "ends"],
) -> AtlasEntry:
    vectors = vectors_of(objective, point)
    blocks = structure(frame.pattern(vectors), frame, tolerance)
    point = _in_block_order(objective, point, frame, blocks)
    vectors = vectors_of(objective, point)
    blocks = structure(frame.pattern(vectors), frame, tolerance)
    lowest = floor.loss if floor.attained else None
    critical = critical_point(objective, point, tolerances, lowest, how)
    try:
        # Neurons of one block play the same part: one of each will do.
        chosen = np.searchsorted(np.cumsum(blocks.student_sizes), np.arange(len(vectors)), side="right")
        chosen = np.unique(chosen, return_index=True)[1] if _is_ordered(objective, frame) else slice(None)
        curvatures = np.linalg.eigvalsh(np.asarray(reduced_blocks(objective, point))[chosen])[:, 0]
    except UnsupportedCombination:
        curvatures = np.asarray([np.nan])
    if critical.spectrum is None:
        curvatures = np.asarray([np.nan])
    student = objective.problem.student
    return AtlasEntry(
        count=count,
        kind=critical.kind,
        loss=critical.loss,
        norm_sum=float(np.linalg.norm(np.asarray(student.vectors(point)), axis=1).sum()),
        smallest_eigenvalue=critical.smallest_eigenvalue,
        largest_eigenvalue=float("nan") if critical.spectrum is None else critical.spectrum.largest,
        split_curvature=float(curvatures.max()),
        gradient_norm=critical.gradient_norm,
        index=critical.index,
        complete=critical.spectrum is not None and critical.spectrum.complete,
        point=point,
        vectors=vectors,
        structure=blocks,
    )


def _is_ordered(objective: Objective, frame: Frame) -> bool:
    """Whether the neurons of an entry stand in the order of its blocks: they may be permuted freely."""
    permutable = isinstance(objective.problem.student, (Committee, Homogeneous))
    return permutable and len(set(frame.rows.tolist())) == 1


def _in_block_order(objective: Objective, point: PyTree, frame: Frame, blocks: Structure) -> PyTree:
    """Return an equivalent student with its neurons, and orthonormal teachers, in the order of the blocks."""
    student = objective.problem.student
    if not _is_ordered(objective, frame):
        return point
    vectors = np.asarray(student.vectors(point))[blocks.students]
    if frame.orthonormal and frame.teacher is not None:
        along = vectors @ frame.teacher.T
        rest = vectors - along @ frame.teacher
        vectors = along[:, blocks.teachers] @ frame.teacher + rest
    return student.with_vectors(point, jnp.asarray(vectors))
