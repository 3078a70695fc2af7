"""The atlas: critical points that runs have reached, up to the symmetries of the problem."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
import polars as pl
from jaxtyping import PyTree

from tutelage.checks import positive
from tutelage.dynamics import Runs
from tutelage.errors import TutelageError, UnsupportedCombination, invalid
from tutelage.geometry.blocks import Structure, structure
from tutelage.geometry.critical import Tolerances, critical_point, given_floor, require_deterministic
from tutelage.geometry.equivalence import Frame, Pattern, frame_of, match, signature, vectors_of
from tutelage.geometry.floor import Floor, lowest_loss
from tutelage.geometry.global_minima import global_minima
from tutelage.geometry.polish import evaluate, polished
from tutelage.geometry.splitting import reduced_blocks
from tutelage.models import Committee, Homogeneous
from tutelage.objectives import Objective

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class AtlasEntry:
    """A critical point up to the symmetries of its problem, and how often it was reached.

    Attributes:
        count: Number of runs that ended there.
        kind: What it is; see `CriticalPoint`.
        loss: Its loss.
        norm_sum: Sum of the Euclidean norms of the student's vectors.
        smallest_eigenvalue: Smallest eigenvalue of the Hessian; not a number where there is none.
        largest_eigenvalue: Largest eigenvalue of the Hessian.
        split_curvature: The largest, over all neurons, of the smallest eigenvalues of the reduced blocks: if it is
            negative, splitting any neuron makes a minimum a saddle. Not a number where there are no such blocks.
        gradient_norm: Norm of the gradient at `point`.
        index: Number of negative eigenvalues of the Hessian, or at least so many if not all were computed.
        complete: Whether the whole spectrum was computed, not only its ends.
        point: A student of this kind: of those reached, the one with the smallest gradient; its neurons, and the
            teachers where they may be permuted, in the order of the blocks.
        vectors: The vectors of that student.
        structure: Its blocks.
    """

    count: int
    kind: str
    loss: float
    norm_sum: float
    smallest_eigenvalue: float
    largest_eigenvalue: float
    split_curvature: float
    gradient_norm: float
    index: int
    complete: bool
    point: PyTree = field(repr=False)
    vectors: np.ndarray = field(repr=False)
    structure: Structure = field(repr=False)

    @property
    def symmetry(self) -> str:
        """Sizes of the blocks of neurons that play the same part, such as `5+1`."""
        return self.structure.name


@dataclass(frozen=True)
class Atlas:
    """Critical points of a problem up to its symmetries, in the order of their losses; build one with `atlas`.

    Attributes:
        entries: The critical points.
        runs: Number of runs that it was made of.
        left_out: Number of those that did not end at a critical point.
        statuses: How many runs ended with which status.
        steps: Number of steps of all runs together.
        seconds: Wall time of the runs.
        tolerance: Largest difference of entries of equivalent students.
        problem: The problem in words and numbers; atlases of equal problems can be merged.
    """

    entries: tuple[AtlasEntry, ...]
    runs: int
    left_out: int
    statuses: dict[str, int]
    steps: int
    seconds: float
    tolerance: float
    problem: dict[str, Any] = field(repr=False)
    _frame: Frame = field(repr=False)

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, number: int) -> AtlasEntry:
        return self.entries[number]

    def __iter__(self) -> Iterator[AtlasEntry]:
        return iter(self.entries)

    @cached_property
    def _patterns(self) -> list[tuple[Pattern, np.ndarray]]:
        patterns = [self._frame.pattern(entry.vectors) for entry in self.entries]
        return [(pattern, signature(pattern)) for pattern in patterns]

    def table(self) -> pl.DataFrame:
        """Return one row a critical point, without the points themselves."""
        return pl.DataFrame(
            [
                {
                    "count": entry.count,
                    "kind": entry.kind,
                    "loss": entry.loss,
                    "norm_sum": entry.norm_sum,
                    "smallest_eigenvalue": entry.smallest_eigenvalue,
                    "largest_eigenvalue": entry.largest_eigenvalue,
                    "split_curvature": entry.split_curvature,
                    "index": entry.index,
                    "gradient_norm": entry.gradient_norm,
                    "symmetry": entry.symmetry,
                }
                for entry in self.entries
            ],
            schema={
                "count": pl.Int64,
                "kind": pl.String,
                "loss": pl.Float64,
                "norm_sum": pl.Float64,
                "smallest_eigenvalue": pl.Float64,
                "largest_eigenvalue": pl.Float64,
                "split_curvature": pl.Float64,
                "index": pl.Int64,
                "gradient_norm": pl.Float64,
                "symmetry": pl.String,
            },
        )

    def find(self, vectors: Any) -> int | None:
        """Return the number of the entry that a student is equivalent to, or `None`.

        Args:
            vectors: The student's vectors, `[student, dim]`, as in `AtlasEntry.vectors`.
        """
        array = np.asarray(vectors, float)
        if not self.entries or array.shape != self.entries[0].vectors.shape:
            return None
        pattern = self._frame.pattern(array)
        return find_equivalent(pattern, self._patterns, self._frame, self.tolerance)

    def merge(self, other: "Atlas") -> "Atlas":
        """Return the atlas of both atlases' runs.

        Args:
            other: An atlas of the same problem and tolerance.

        Raises:
            InvalidArgument: If the problems differ.
        """
        if not isinstance(other, Atlas) or other.problem != self.problem or other.tolerance != self.tolerance:
            raise invalid(
                "other",
                "be an atlas of the same problem, with the same tolerance",
                f"{other.problem if isinstance(other, Atlas) else other!r}",
                "Merge atlases of equal problems",
            )
        entries = list(self.entries)
        continuum = _continuum(self.problem)
        for entry in other.entries:
            number = self.find(entry.vectors)
            if continuum and entry.kind == "global minimum":
                kinds = [mine.kind for mine in self.entries]
                number = kinds.index(entry.kind) if entry.kind in kinds else None
            if number is None:
                entries.append(entry)
                continue
            mine = entries[number]
            best = mine if mine.gradient_norm <= entry.gradient_norm else entry
            entries[number] = replace(best, count=mine.count + entry.count)
        statuses = {
            name: self.statuses.get(name, 0) + other.statuses.get(name, 0)
            for name in sorted({*self.statuses, *other.statuses})
        }
        return replace(
            self,
            entries=_sorted(entries),
            runs=self.runs + other.runs,
            left_out=self.left_out + other.left_out,
            statuses=statuses,
            steps=self.steps + other.steps,
            seconds=self.seconds + other.seconds,
        )

    def figure(self, number: int | None = None) -> "Figure":
        """Return a Matplotlib figure of the students against the teachers, in the order of the blocks.

        Args:
            number: One entry; all of them, side by side, if left out.
        """
        from tutelage.geometry.figures import figure

        return figure(self, number)

    def save(self, path: str | Path) -> None:
        """Write the atlas to one file (`.npz`), which appears complete or not at all; read it with `load_atlas`."""
        from tutelage.geometry.storage import save

        save(self, Path(path))

    def __repr__(self) -> str:
        kinds = {kind: sum(entry.kind == kind for entry in self.entries) for kind in sorted({e.kind for e in self})}
        text = ", ".join(f"{number} {kind}" for kind, number in kinds.items()) or "nothing"
        return f"Atlas({self.problem['name']}, {self.runs} runs: {text})"


def _sorted(entries) -> tuple[AtlasEntry, ...]:
    # Losses are rounded: those of global minima are rounding errors, whose order means nothing.
    return tuple(sorted(entries, key=lambda entry: (round(entry.loss, 12), -entry.count, entry.symmetry)))


def find_equivalent(
    pattern: Pattern, known: list[tuple[Pattern, np.ndarray]], frame: Frame, tolerance: float
) -> int | None:
    """Return the number of the known pattern that a pattern is equivalent to, or `None`."""
    if not known:
        return None
    own = signature(pattern)
    distances = np.abs(np.stack([numbers for _, numbers in known]) - own).max(axis=1)
    for number in np.argsort(distances, kind="stable"):
        # Equivalent patterns have signatures as close as their entries; the norms may be twice as far.
        if distances[number] > 2 * tolerance:
            return None
        if match(pattern, known[number][0], frame, tolerance) is not None:
            return int(number)
    return None


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


def _continuum(problem: dict[str, Any]) -> bool:
    """Whether the global minima form one connected set of positive dimension: more students than teachers."""
    return problem["name"] in ("committee", "homogeneous") and problem["shapes"][0][0] > len(problem["teacher"])


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
    at_floor = losses - floor.loss <= tolerances.loss * floor.scale + 10 * errors
    one = lambda run: jax.tree.map(lambda leaf: leaf[run], points)  # noqa: E731
    description = describe(objective)
    continuum = _continuum(description)
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
        entries=_sorted(entries),
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
        curvatures = np.linalg.eigvalsh(np.asarray(reduced_blocks(objective, point)))[:, 0]
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


def _in_block_order(objective: Objective, point: PyTree, frame: Frame, blocks: Structure) -> PyTree:
    """Return an equivalent student with its neurons, and orthonormal teachers, in the order of the blocks."""
    student = objective.problem.student
    if not isinstance(student, (Committee, Homogeneous)) or len(set(frame.rows.tolist())) > 1:
        return point
    vectors = np.asarray(student.vectors(point))[blocks.students]
    if frame.orthonormal and frame.teacher is not None:
        along = vectors @ frame.teacher.T
        rest = vectors - along @ frame.teacher
        vectors = along[:, blocks.teachers] @ frame.teacher + rest
    return student.with_vectors(point, jnp.asarray(vectors))
