r"""Signs and error functions of a Gaussian pair: angles between augmented vectors.

The error function is a sign behind noise, $\operatorname{erf}(u) = E\operatorname{sgn}(u + z/\sqrt2)$. With a noise of
its own for each of both, the dual of two of them is that of two signs, for the vectors $P = (\sqrt2\,w, 1, 0)$ and
$Q = (\sqrt2\,v, 0, 1)$; for a sign the number one is zero. With $\Theta$ their angle,

$$K = \tfrac2\pi\arcsin\frac{P\cdot Q}{\|P\|\|Q\|} = 1 - \tfrac2\pi\Theta,\qquad
\nabla_w K = \tfrac2\pi\frac{\sqrt2}{\|P\|}\,n_w,$$

where $n_w$ is the part in the space of $w$ of the unit vector $n \propto \hat Q - \cos\Theta\,\hat P$. In this form
long vectors are no different from short ones. With means the two signs are those of `kinked`. Reference: Williams,
Computing with infinite networks, 1997; the weight-sharing paper's Lemma 1.
"""

import math

import jax.numpy as jnp
from jaxtyping import Array, Float

from tutelage.duals import kinked
from tutelage.duals.gaussian import Frame, Side
from tutelage.duals.norms import angles, normals, polar
from tutelage.duals.special import quotient


def _augmented(first: Side, second: Side, first_noise: bool, second_noise: bool):
    def columns(side: Side, before: int, after: int, noise: bool):
        rows = math.sqrt(2) * side.vectors
        if not (first_noise or second_noise):
            return rows
        own = (1.0 if noise else 0.0) / side.scale[:, None]
        zeros = jnp.zeros_like(own)
        return jnp.concatenate([rows] + [zeros] * before + [own] + [zeros] * after, axis=1)

    return columns(first, 0, 1, first_noise), columns(second, 1, 0, second_noise)


def _as_signs(first: Side, second: Side, first_noise: bool, second_noise: bool) -> tuple[Side, Side]:
    """Return both sides with the noise among their vectors, in units in which they are signs."""

    def augmented(side: Side, rows) -> Side:
        return Side(side.scale, math.sqrt(2) * side.weights, rows, math.sqrt(2) * side.means)

    rows = _augmented(first, second, first_noise, second_noise)
    return augmented(first, rows[0]), augmented(second, rows[1])


def value(
    frame: Frame, first: Side, second: Side, first_noise: bool, second_noise: bool, same: bool = False
) -> Float[Array, "n m"]:
    """Return the dual of two functions, each a sign or (with noise) an error function, for all pairs."""
    if not frame.centred:
        return kinked.value(True, True, frame, *_as_signs(first, second, first_noise, second_noise))
    first_rows, second_rows = _augmented(first, second, first_noise, second_noise)
    between = angles(polar(first_rows)[1], polar(second_rows)[1], same and not (first_noise or second_noise))
    return (2 / math.pi) * jnp.arctan2(between.product, between.sine)


def pull(
    frame: Frame,
    first: Side,
    second: Side,
    weights: Float[Array, "n m"],
    first_noise: bool,
    second_noise: bool,
    same: bool = False,
) -> tuple[Float[Array, " n"], Float[Array, "n latent"]]:
    """Return the weighted sums of gradients, in the means and in the vectors of the first rows."""
    latent = first.vectors.shape[1]
    if not frame.centred:
        sides = _as_signs(first, second, first_noise, second_noise)
        by_mean, by_vectors = kinked.pull(True, True, frame, *sides, math.sqrt(2) * weights)
        return by_mean, by_vectors[:, :latent]
    first_rows, second_rows = _augmented(first, second, first_noise, second_noise)
    (sizes, first_units), (_, second_units) = polar(first_rows), polar(second_rows)
    between = angles(first_units, second_units, same and not (first_noise or second_noise))
    turn = normals(weights, first_units, second_units, between)
    inverse = (2 * math.sqrt(2) / math.pi) * quotient(1.0, sizes)
    return jnp.zeros(first.vectors.shape[0]), inverse[:, None] * turn[:, :latent]
