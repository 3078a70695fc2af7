r"""Theorem 2 and Appendix B.2: as many students as teachers.

At the minimum write a way as a matrix, $X_{ia} = g_i\cdot v_a$. The quadratic form of the Hessian is smallest on $X = K + D$ with $K$
antisymmetric and $D$ diagonal such that all columns sum to zero: there it is $\tfrac14 - \tfrac1{2\pi}$ exactly, for every $k \ge 2$.
"""

from __future__ import annotations

import numpy as np

from tutelage.claims.base import Claim, Form
from tutelage.claims.mild_overparameterization.formulas import PAPER, RECIPE, SCALE, hessian
from tutelage.claims.mild_overparameterization.instances import Batches, near, teachers
from tutelage.claims.scan import at_most

SMALLEST = 0.25 - 1 / (2 * np.pi)
_SHAPES = ((1, 1), (1, 3), (2, 2), (2, 4), (3, 3), (5, 5), (8, 8))


def _at_minima(count, random):
    for k, d in _SHAPES:
        teacher = teachers(k, d, min(count, 16), random)
        order = random.permuted(np.broadcast_to(np.arange(k), (len(teacher), k)), axis=1)
        yield {"teacher": teacher, "minimum": np.take_along_axis(teacher, order[..., None], 1)}


def _smallest(bound: float):
    def check(i):
        found = np.linalg.eigvalsh(hessian(i["minimum"], i["teacher"]))[:, 0]
        return at_most(bound, found + 1e-12)

    return Batches(_at_minima, check, "for k ≥ 2 the smallest eigenvalue is the bound", 0.5)


EIGENVALUE = Claim(
    id=f"{PAPER}.theorem-2.eigenvalue",
    place="Theorem 2",
    title="smallest eigenvalue of the Hessian at the global minima",
    hypotheses=("$n = k$ from 1 to 8", SCALE + ", for which the bound is sharp; for that one it holds with room"),
    as_printed=Form("$\\nabla^2F \\succeq (\\frac14 - \\frac1{2\\pi})I$ at every global minimum.", _smallest(SMALLEST)),
    control=Form("The same with $1.01(\\frac14 - \\frac1{2\\pi})$.", _smallest(1.01 * SMALLEST)),
)


def _around(radius: float):
    def check(i):
        found = np.linalg.eigvalsh(hessian(i["student"], i["teacher"]))[:, 0]
        return at_most(0.5 * SMALLEST, found)

    def draw(count, random):
        for batch in _at_minima(count, random):
            for _ in range(6):
                way = random.normal(size=batch["minimum"].shape)
                # Rotations of the whole student lower the smallest eigenvalue the most.
                k = way.shape[1]
                turn = random.normal(size=(len(way), k, k))
                turned = (turn - np.swapaxes(turn, 1, 2)) @ batch["minimum"]
                way[::2] = turned[::2] + 0.01 * way[::2]
                way = way / np.sqrt(np.sum(way**2, axis=(1, 2), keepdims=True))
                yield {**batch, "student": batch["minimum"] + radius * random.uniform(size=(len(way), 1, 1)) * way}

    return Batches(draw, check, f"within a distance of {radius:g} of a minimum", 0.5)


NEIGHBOURHOOD = Claim(
    id=f"{PAPER}.theorem-2.neighbourhood",
    place="Theorem 2",
    title="strongly convex around the global minima",
    hypotheses=("$n = k$ from 1 to 8, points within 0.03 of a global minimum", SCALE),
    as_printed=Form(
        "The objective is strongly convex in a neighbourhood of every global minimum: with half of the bound, within a distance of 0.03.",
        _around(0.03),
    ),
    control=Form("Within a distance of 1.", _around(1.0)),
)


def _blocks(factor: float):
    def check(i):
        w = i["minimum"]
        count, k, d = w.shape
        found = hessian(w, i["teacher"]).reshape(count, k, d, k, d)
        outer = w[:, :, :, None, None] * w[:, None, None, :, :]  # w_i (row) times w_j (column)
        both = outer + np.einsum("nidje->niejd", outer)
        expected = 0.25 * np.eye(d)[None, None, :, None, :] + factor / (2 * np.pi) * both
        own = np.arange(k)
        expected = np.broadcast_to(expected, found.shape).copy()
        expected[:, own, :, own, :] = 0.5 * np.eye(d)
        return near(found, expected, 0.1, 1e-12)

    return Batches(_at_minima, check, share=0.5)


LEMMA_4 = Claim(
    id=f"{PAPER}.lemma-4",
    place="Lemma 4",
    title="the Hessian at the global minima",
    hypotheses=("$n = k$ from 1 to 8", SCALE),
    as_printed=Form(
        "Its diagonal blocks are $\\frac12I$, the others $\\frac14I + \\frac1{2\\pi}(\\bar w_i\\bar w_j^\\top + \\bar w_j\\bar w_i^\\top)$.",
        _blocks(1.0),
    ),
    control=Form("The same with $\\frac1{4\\pi}$.", _blocks(0.5)),
)


def second_matrix(minimum: np.ndarray) -> np.ndarray:
    """Return the second matrix A of Equation (22), without its factor $1/2π$."""
    count, k, d = minimum.shape
    outer = np.einsum("nid,nje->nidje", minimum, minimum)
    both = outer + np.einsum("nidje->niejd", outer)
    own = np.arange(k)
    both[:, own, :, own, :] = 0.0
    return both.reshape(count, k * d, k * d)


def _eigenvectors(kind: str):
    def check(i):
        w = i["minimum"]
        count, k, d = w.shape
        alpha, beta, gamma = (np.zeros_like(w) for _ in range(3))
        sign = 1.0 if kind == "printed" else -1.0
        alpha[:, 0], alpha[:, 1] = w[:, 0], sign * w[:, 1]
        beta[:, 0], beta[:, 1] = w[:, 1], -w[:, 0]
        gamma[:, 0], gamma[:, 1] = (w[:, 0], w[:, 1]) if kind == "printed" else (w[:, 1], w[:, 0])
        largest = {"printed": k, "corrected": k - 1, "control": k - 2}[kind]
        vectors = np.stack([alpha, beta, gamma, w], 1).reshape(count, 4, k * d)
        values = np.array([-1.0, -1.0, 1.0, largest])
        return near(vectors @ second_matrix(w), values[:, None] * vectors, 0.1, 1e-12)

    def draw(count, random):
        for batch in _at_minima(count, random):
            if batch["minimum"].shape[1] > 1:
                yield batch

    return Batches(draw, check, share=0.5)


EIGENVECTORS = Claim(
    id=f"{PAPER}.section-B.2.eigenvectors",
    place="Appendix B.2, proof of Theorem 2",
    title="eigenvectors of the second matrix",
    hypotheses=("$n = k \\ge 2$; $A$ the second matrix of Equation (22) without $\\frac1{2\\pi}$",),
    as_printed=Form(
        "$A\\tilde\\alpha = -\\tilde\\alpha$ for $\\tilde\\alpha = (\\bar w_i, \\bar w_j)$, $A\\tilde\\beta = -\\tilde\\beta$ for $(\\bar w_j, -\\bar w_i)$, $A\\tilde\\gamma = \\tilde\\gamma$ for "
        "$(\\bar w_i, \\bar w_j)$, $A\\tilde\\delta = k\\tilde\\delta$ for $(\\bar w_1, \\ldots, \\bar w_k)$.",
        _eigenvectors("printed"),
        recipe="""
k, d = minimum.shape
A = np.zeros((k, d, k, d))
for i in range(k):
    for j in range(k):
        if i != j:
            A[i, :, j, :] = np.outer(minimum[i], minimum[j]) + np.outer(minimum[j], minimum[i])
delta = minimum.ravel()
left, right = A.reshape(k * d, k * d) @ delta, k * delta
""",
    ),
    corrected=Form(
        "With $\\tilde\\alpha = (\\bar w_i, -\\bar w_j)$, $\\tilde\\gamma = (\\bar w_j, \\bar w_i)$ and $A\\tilde\\delta = (k-1)\\tilde\\delta$.",
        _eigenvectors("corrected"),
    ),
    correction="A sign, an exchange of indices, and $k - 1$ for $k$ (the diagonal blocks of $A$ are zero). The smallest eigenvalue $-1$, which is what matters, "
    "is right.",
    control=Form("The corrected form with $A\\tilde\\delta = (k-2)\\tilde\\delta$.", _eigenvectors("control")),
)


def _attained(kind: str):
    def check(i):
        k = i["minimum"].shape[1]
        values = np.linalg.eigvalsh(hessian(i["minimum"], i["teacher"]))
        count = np.sum(values < SMALLEST + 1e-9, axis=-1).astype(float)
        expected = {"printed": 0.0, "corrected": k * (k - 1) / 2, "control": k * (k + 1) / 2}[kind]
        return {"margin": -np.abs(count - expected), "left": count, "right": np.full(len(count), expected)}

    return Batches(_at_minima, check, "number of eigenvalues that equal the bound", 0.5)


ATTAINED = Claim(
    id=f"{PAPER}.section-B.2.strict",
    place="Appendix B.2, end of the proof of Theorem 2",
    title="the smallest eigenvalue and the bound",
    hypotheses=("$n = k$ from 1 to 8", SCALE),
    as_printed=Form(
        "The smallest eigenvalue is strictly larger than $\\frac14 - \\frac1{2\\pi}$.",
        _attained("printed"),
        recipe=RECIPE
        + """
k, d = minimum.shape
H = np.zeros((k, d, k, d))
for i in range(k):
    for j in range(k):
        w, v = minimum[i], minimum[j]
        H[i, :, j, :] = np.eye(d) / 2 if i == j else np.eye(d) / 4 + (np.outer(w, v) + np.outer(v, w)) / (2 * np.pi)
# How many eigenvalues equal the bound; there should be none.
left, right = np.sum(np.linalg.eigvalsh(H.reshape(k * d, k * d)) < 0.25 - 1 / (2 * np.pi) + 1e-9), 0.0
""",
    ),
    corrected=Form(
        "It equals $\\frac14 - \\frac1{2\\pi}$ for $k \\ge 2$, with multiplicity $k(k-1)/2$; for $k = 1$ it is $\\frac12$.",
        _attained("corrected"),
    ),
    correction="The two matrices of Equation (22) have common eigenvectors of their smallest eigenvalues: an antisymmetric matrix plus the diagonal that makes "
    "its columns sum to zero. Theorem 2 is sharp.",
    control=Form("With multiplicity $k(k+1)/2$.", _attained("control")),
)

MAIN = (EIGENVALUE, NEIGHBOURHOOD)
APPENDIX = (LEMMA_4, EIGENVECTORS, ATTAINED)
