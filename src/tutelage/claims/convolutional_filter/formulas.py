r"""The convolutional-filter paper's formulas, as printed, and the expectations they are judged against.

Symbols: $v$ the student's filter, $a$ its output weights, $w^*, a^*$ the teacher's, $\phi$ the angle between $v$ and
$w^*$, $k$ the number of patches, $p$ the size of a filter, $\eta$ the step, $\beta^0$ the initial signal. All formulas are in
NumPy, on the last axes; expectations are those of filters in the plane.
"""

import numpy as np

from tutelage.claims.vectors import applied, dot, norm

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)


def total(a):
    """The sum of a vector's entries."""
    return np.sum(a, -1)


def times(number, vector):
    """Vectors times numbers, one for each of them."""
    return np.asarray(number)[..., None] * vector


def angle(first, second):
    """The angle between two vectors, accurate near zero and near a half turn."""
    one, other = times(1 / norm(first), first), times(1 / norm(second), second)
    return 2 * np.arctan2(norm(one - other), norm(one + other))


def in_plane(first, second):
    """Vectors by their coordinates; instances lie side by side in memory, so that sums over coordinates are fast."""
    return np.moveaxis(np.stack([first, second]), 0, -1)


def g(phi):
    r"""The paper's $g(\phi) = \cos\phi\,(\pi - \phi + \sin\phi\cos\phi) + \sin^3\phi$ (below its Equation 3).

    It equals $(\pi - \phi)\cos\phi + \sin\phi$: decreasing, $g(0) = \pi$, $g(\pi/2) = 1$, $g(\pi) = 0$.
    """
    return np.cos(phi) * (np.pi - phi + np.sin(phi) * np.cos(phi)) + np.sin(phi) ** 3


# Expectations over a standard Gaussian vector in the plane, by quadrature of their definition --------------------------


def circle(v, w_star):
    """Directions of the plane, and their weights: Gauss–Legendre between those at which a neuron has its kink."""
    neurons = (v,) if w_star is v else (v, w_star)
    bends = [np.arctan2(w[..., 1], w[..., 0]) + side for w in neurons for side in (-np.pi / 2, np.pi / 2)]
    first = np.sort(np.mod(np.stack(bends, -1), 2 * np.pi), -1)
    last = np.concatenate([first[..., 1:], first[..., :1] + 2 * np.pi], -1)
    half = (last - first)[..., None] / 2
    turn = ((first + last)[..., None] / 2 + half * _NODES).reshape(*first.shape[:-1], -1)
    weights = (half * _WEIGHTS).reshape(*first.shape[:-1], -1)
    return in_plane(np.cos(turn), np.sin(turn)), weights


def mean(degree, values, weights):
    r"""The expectation of a function that is homogeneous of degree one or two, by its values at directions.

    The radius contributes $E\,r = \sqrt{\pi/2}$ or $E\,r^2 = 2$. Values may be vectors, with their entries on the first axis.
    """
    return np.sum(weights * values, -1) * (np.sqrt(np.pi / 2) if degree == 1 else 2.0) / (2 * np.pi)


def relu_mean(v, around=None):
    """E[z1(z·v ≥ 0)], a vector; `around`, the circle of v and v."""
    u, weights = around or circle(v, v)
    active = dot(u, v[..., None, :]) >= 0
    return in_plane(*(mean(1, active * u[..., axis], weights) for axis in (0, 1)))


def second_moments(v, w_star, around=None):
    """E[zzᵀ1(z·v ≥ 0, z·w* ≥ 0)], a matrix; `around`, the circle of both."""
    u, weights = around or circle(v, w_star)
    active = dot(u, v[..., None, :]) >= 0
    if w_star is not v:
        active = active & (dot(u, w_star[..., None, :]) >= 0)
    first, both, second = (mean(2, active * u[..., i] * u[..., j], weights) for i, j in ((0, 0), (0, 1), (1, 1)))
    return np.moveaxis(np.stack([np.stack([first, both]), np.stack([both, second])]), (0, 1), (-2, -1))


def overlap(v, w_star, around=None):
    """E[σ(z·v)σ(z·w*)]; `around`, the circle of both."""
    return dot(v, applied(second_moments(v, w_star, around), w_star))


def student_means(v, a, w_star, a_star):
    """Both sums over patches that a loss has: of squares in one patch, and of products of means in two."""
    student, teacher = circle(v, v), circle(w_star, w_star)
    own, mixed, taught = overlap(v, v, student), overlap(v, w_star), overlap(w_star, w_star, teacher)
    squares = own * dot(a, a) - 2 * mixed * dot(a, a_star) + taught * dot(a_star, a_star)
    means = times(dot(relu_mean(v, student), v), a) - times(dot(relu_mean(w_star, teacher), w_star), a_star)
    return squares, total(means) ** 2 - dot(means, means)


def defined_loss(v, a, w_star, a_star):
    """The loss without weight normalisation from its definition: patches are independent."""
    return 0.5 * sum(student_means(v, a, w_star, a_star))


def own_gradient(v, a):
    """The student's part of the gradient in w, from its definition: the expectation of Equation (7)."""
    around = circle(v, v)
    half = relu_mean(v, around)
    pairs = total(a) ** 2 - dot(a, a)
    return times(dot(a, a), applied(second_moments(v, v, around), v)) + times(pairs * dot(half, v), half)


def teacher_gradient(v, a, w_star, a_star):
    """The teacher's part, which is subtracted: the expectation of Equation (8)."""
    pairs = total(a) * total(a_star) - dot(a, a_star)
    same = times(dot(a, a_star), applied(second_moments(v, w_star), w_star))
    return same + times(pairs * dot(relu_mean(w_star), w_star), relu_mean(v))


def normalised(v):
    """A filter of norm one."""
    return times(1 / norm(v), v)


def filter_gradient(v, a, w_star, a_star):
    """The gradient of the normalised loss in v, from its definition and the chain rule."""
    w = normalised(v)
    slope = own_gradient(w, a) - teacher_gradient(w, a, w_star, a_star)
    return times(1 / norm(v), slope - times(dot(slope, w), w))


def output_gradient(v, a, w_star, a_star):
    """The gradient of the normalised loss in a, from its definition."""
    w = normalised(v)
    around = circle(w, w)
    own, mixed = overlap(w, w, around), overlap(w, w_star)
    first, second = dot(relu_mean(w, around), w), dot(relu_mean(w_star), w_star)
    across = first * (first * total(a) - second * total(a_star))
    return times(own - first**2, a) - times(mixed - first * second, a_star) + across[..., None]


# What the paper prints ---------------------------------------------------------------------------------------------------


def loss(v, a, w_star, a_star, cross=1 / (2 * np.pi)):
    """Theorem 2.1, Equation (3), its last term with a factor of its own: one in the print."""
    scale, value = norm(w_star), g(angle(v, w_star))
    squares = scale**2 * dot(a_star, a_star) + dot(a, a)
    sums = scale**2 * total(a_star) ** 2 + total(a) ** 2
    mixed = (value - 1) * scale / np.pi * dot(a, a_star) + 2 * scale * total(a) * total(a_star) * cross
    return 0.5 * (((np.pi - 1) * squares + sums) / (2 * np.pi) - mixed)


def printed_filter_gradient(v, a, w_star, a_star):
    """Theorem 2.2, first formula."""
    size = norm(v)
    across = w_star - times(dot(v, w_star) / size**2, v)
    return times(-dot(a, a_star) * (np.pi - angle(v, w_star)) / (2 * np.pi * size), across)


def printed_output_gradient(v, a, w_star, a_star):
    """Theorem 2.2, second formula."""
    scale = norm(w_star)
    sums = (total(a) - scale * total(a_star))[..., None]
    return (sums + (np.pi - 1) * a - times(scale * (g(angle(v, w_star)) - 1), a_star)) / (2 * np.pi)


def filter_step(v, a, w_star, a_star, step):
    """The filter after a step of Algorithm 1, by the gradient of Theorem 2.2 (which its claims confirm)."""
    return v - times(step, printed_filter_gradient(v, a, w_star, a_star))


def output_step(v, a, w_star, a_star, step):
    """The output weights after a step of Algorithm 1, likewise."""
    return a - times(step, printed_output_gradient(v, a, w_star, a_star))


def next_signal(v, a, w_star, a_star, step):
    """The signal a·a* after a step."""
    return dot(output_step(v, a, w_star, a_star, step), a_star)


def product_size(a, a_star):
    """The natural size of products with the teacher's output weights."""
    return dot(a_star, a_star) + dot(a, a)


def stationary_output(a_star, scale, value):
    r"""The output weights at which their gradient vanishes, for a filter at an angle with $g(\phi)$ the given value."""
    k = a_star.shape[-1]
    # (11ᵀ + (π−1)I)⁻¹ acts as 1/(k+π−1) along the ones and as 1/(π−1) across them.
    along = np.mean(a_star, -1, keepdims=True)
    scale, value = np.asarray(scale)[..., None], np.asarray(value)[..., None]
    return scale * (along * (k + value - 1) / (k + np.pi - 1) + (a_star - along) * (value - 1) / (np.pi - 1))


def spurious_output(a_star, scale=1.0):
    """The output weights of the second stationary point of Lemma 4.1."""
    return stationary_output(a_star, scale, 0.0)


def rate(v, a, w_star, a_star):
    r"""The paper's $\lambda = \|w^*\|(\pi-\phi)\,a\cdot a^*/(2\pi\|v\|^2)$ (Lemma 4.5)."""
    return norm(w_star) * (np.pi - angle(v, w_star)) * dot(a, a_star) / (2 * np.pi * dot(v, v))


def signal_bound(w_star, a_star):
    r"""The paper's $(\|a^*\|^2 + (\mathbf 1\cdot a^*)^2)\|w^*\|^2$ (Lemma C.2)."""
    return (dot(a_star, a_star) + total(a_star) ** 2) * dot(w_star, w_star)


def initial_signal(v, a, w_star, a_star):
    r"""The paper's $\beta^0 = \min\{a^0\cdot a^*, (g(\phi^0) - 1)\|a^*\|^2\}\,\|w^*\|^2$ (Lemmas 4.5 and C.3)."""
    goal = (g(angle(v, w_star)) - 1) * dot(a_star, a_star)
    return np.minimum(dot(a, a_star), goal) * dot(w_star, w_star)
