"""Instances for the claims of the weight-sharing paper: teachers, shared and unshared students, steps and angles."""

import jax
import jax.numpy as jnp
import numpy as np

from tutelage.claims.pointwise import Family
from tutelage.claims.weight_sharing.formulas import teacher_norm

# Numbers of patches and dimensions: the smallest, and one more of the other parity.
SHAPES = ((2, 1), (3, 2))


def nonzero(vector):
    """Keep a vector away from zero, smoothly, without changing its direction."""
    return vector * (1 + 1e-3 / (jnp.linalg.norm(vector) + 1e-12))


def unit(vector):
    """The direction of a vector."""
    return vector / (jnp.linalg.norm(vector) + 1e-150)


def between(raw, low, high):
    """A number in an interval from an unconstrained one; both ends are reached."""
    return low + (high - low) * 0.5 * (1 + jnp.sin(raw))


def limited(vector, most: float):
    """Shorten a vector to a norm of at most `most`."""
    return vector * jnp.minimum(1.0, most / (jnp.linalg.norm(vector) + 1e-12))


def pair(raw):
    """Any teacher `u` and any student `w`: a shared vector, or one row a patch."""
    return {"u": nonzero(raw["u"]), "w": raw["w"]}


def unshared_families(build=pair, shapes=SHAPES, **more):
    """Families of unshared students over some shapes."""
    return [Family({"u": (d,), "w": (k, d), **more}, build) for k, d in shapes]


def pair_families(build=pair, dimensions=(1, 2), **more):
    """Families of shared students over some dimensions."""
    return [Family({"u": (d,), "w": (d,), **more}, build) for d in dimensions]


def in_plane(size, turn, patches):
    """The shared student of Section 4.6 with a given norm and angle, and its teacher on the second axis."""
    u = jnp.array([0.0, 1.0]) * teacher_norm(patches)
    return {"u": u, "w": size * jnp.array([jnp.sin(turn), jnp.cos(turn)])}


def phase(raw, patches: int):
    r"""A student with $\|w_0\|\le\|u_0\|$ and an angle up to $\pi/2$, both on logarithmic scales."""
    reach = teacher_norm(patches)
    # Norms from a ten-thousandth of the teacher's to the teacher's, many of them close to it.
    share = jax.nn.sigmoid(raw["n"] * 3)
    turn = np.pi / 2 * 10 ** (-6 * jax.nn.sigmoid(raw["a"] * 3))
    return in_plane(reach * share, turn, patches)


def phase_families(build, patches=(2, 3, 20), **more):
    """Families of Section 4.6's students, one a number of patches."""
    return [
        Family({"n": (), "a": (), **more}, lambda raw, k=k: {**build(raw, k), "k": jnp.asarray(float(k))})
        for k in patches
    ]
