r"""Continuous symmetries of a problem: directions along which the loss cannot change.

Under a rotation-invariant law, a rotation that fixes the teacher's vectors changes no loss. With $m$ the dimension of
the space orthogonal to the teacher, and $r$ the rank of the student's part in it, the orbit of the student under
$O(m)$ is $O(m)/O(m - r)$, of dimension $\tfrac12m(m-1) - \tfrac12(m-r)(m-r-1)$. A convolution with an activation of
degree one has another symmetry: the norm of a normalised filter does not matter, and an unnormalised one may be
scaled against its output weights. So may, in a network with two layers, each neuron with an activation that is
homogeneous, $(\lambda w, \lambda b, a/\lambda^p)$, and neurons that compute multiples of one function may share it in
any proportion, unless weight decay tells them apart.
"""

import numpy as np
from jaxtyping import PyTree

from tutelage.objectives import Objective

# Singular values below this part of the largest count as zero.
_RANK = 1e-7


def zero_modes(objective: Objective, point: PyTree) -> dict[str, int]:
    """Return the numbers of independent directions in which symmetries move a point, by what they are.

    Args:
        objective: The objective.
        point: The student.

    Returns:
        How many `rescalings`, `shares` of neurons in one function, and `rotations`, those that there are.
    """
    student = objective.problem.student
    symmetry = student.symmetry(point)
    modes = student.redundancy(point) if objective.problem.decay is None else {}
    total = 0
    if objective.span_suffices:
        teachers = np.asarray(objective.problem.teacher.vectors(objective.target))
        students = np.asarray(student.vectors(point))
        _, values, rows = np.linalg.svd(teachers, full_matrices=False)
        basis = rows[values > _RANK * values.max()]
        rest = students - (students @ basis.T) @ basis
        outside = students.shape[1] - len(basis)
        least = _RANK * max(np.abs(students).max(), 1e-300)
        # Independent patches may be rotated one by one.
        parts = rest[:, None] if symmetry is not None and symmetry.patchwise else rest[None]
        for part in parts:
            inside = int((np.linalg.svd(part, compute_uv=False) > least).sum())
            total += (outside * (outside - 1) - (outside - inside) * (outside - inside - 1)) // 2
    return {name: number for name, number in (modes | {"rotations": total}).items() if number}
