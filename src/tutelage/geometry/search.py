"""Searching a neighbourhood for the worst point: quotients, exponents and the radius of local convexity."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import PyTree

from tutelage.arrays import row_of
from tutelage.checks import affordable, count, finite_number, not_negative, of_kind, positive, random_seed, sequence
from tutelage.dynamics.checks import deterministic
from tutelage.dynamics.vectors import as_vector
from tutelage.errors import invalid
from tutelage.geometry.lowest_loss import lowest_loss
from tutelage.geometry.neighbourhoods import Neighbourhood, Shape
from tutelage.geometry.quotients import PolyakLojasiewicz, Quotient
from tutelage.geometry.spectrum import DENSE_LIMIT
from tutelage.instant import fori_loop, instantly
from tutelage.objectives import Objective

# Points that are searched from, side by side.
_LANES = 16
# A search of more rounds than this repays its compilation.
_MOST_ROUNDS = 3000


@dataclass(frozen=True)
class Worst:
    """The smallest quotient that a search has found in a neighbourhood: an upper bound of the true one.

    Attributes:
        value: The quotient.
        point: The student where it was found.
        distance: Its distance from the centre, as the neighbourhood measures it.
        evaluations: Number of points tried.
    """

    value: float
    point: PyTree = field(repr=False)
    distance: float
    evaluations: int


@instantly
def _drawn(neighbourhood, keys):
    """Return points that are drawn, one from each key."""
    return jax.vmap(neighbourhood.sample)(keys)


@instantly
def _reached(neighbourhood, directions, fractions):
    """Return the points in directions, vectors of all parameters, at fractions of the radius."""
    unravel = ravel_pytree(neighbourhood.centre)[1]
    return jax.vmap(lambda direction, fraction: neighbourhood.reach(unravel(direction), fraction))(
        directions, fractions
    )


@instantly
def _unravelled(centre, vectors):
    """Return the students that vectors of all parameters stand for."""
    return jax.vmap(ravel_pytree(centre)[1])(vectors)


@instantly
def _follow(objective, quotient, neighbourhood, inner, seeds, key, rounds):
    """Random search from several seeds side by side: steps that lower the quotient are kept, their size adapts.

    Without rounds this evaluates the quotient at the seeds, by the same program.
    """
    minimum = neighbourhood.centre

    def value(point):
        result = quotient(objective, point, minimum)
        # Closer to the centre, rounding errors are all that is left of a quotient.
        far = neighbourhood.size(point) >= inner * neighbourhood.radius * (1 - 1e-9)
        return jnp.where(jnp.isfinite(result) & far, result, jnp.inf)

    def step(_, lane):
        point, current, size, key = lane
        leaves, treedef = jax.tree.flatten(point)
        key, choice, *keys = jax.random.split(key, len(leaves) + 2)
        noise = [jax.random.normal(k, leaf.shape) for k, leaf in zip(keys, leaves, strict=True)]
        total = sum(leaf.size for leaf in leaves)
        # Some steps go along the ray from the centre: quotients change much with the distance.
        radial = jax.random.bernoulli(choice, 0.25)
        length = neighbourhood.size(point)

        def move(x, centre, z):
            return x + size * jnp.where(radial, noise[0].ravel()[0] * (x - centre), length * z / jnp.sqrt(total))

        centres = jax.tree.leaves(minimum)
        moved = [move(x, centre, z) for x, centre, z in zip(leaves, centres, noise, strict=True)]
        trial = neighbourhood.project(jax.tree.unflatten(treedef, moved))
        found = value(trial)
        better = found < current
        point = jax.tree.map(lambda new, old: jnp.where(better, new, old), trial, point)
        size = jnp.clip(jnp.where(better, 1.6 * size, 0.93 * size), 1e-6, 1.0)
        return point, jnp.where(better, found, current), size, key

    def follow(seed, key):
        start = (seed, value(seed), jnp.asarray(0.3), key)
        return fori_loop(0, rounds, step, start)[:2]

    return jax.vmap(follow)(seeds, jax.random.split(key, _LANES))


_compiled_follow = eqx.filter_jit(_follow)


def _flat_directions(objective: Objective, centre: PyTree, number: int, random: np.random.Generator) -> np.ndarray:
    """Return random directions in which the Hessian at the centre is smallest: conditions fail there first."""
    hessian = np.asarray(objective.hessian(centre))
    values, vectors = np.linalg.eigh(hessian)
    flat = np.abs(values) <= 1e-6 * np.abs(values).max()
    flat[0] = True
    basis = vectors[:, flat]
    directions = random.normal(size=(number, basis.shape[1])) @ basis.T
    # Sparse ones too: differences of two neurons rather than mixtures of all.
    masks = random.random((number, basis.shape[0])) < 0.5
    sparse = (random.normal(size=directions.shape) * masks) @ (basis @ basis.T)
    found = np.concatenate([directions, sparse])
    return found[np.linalg.norm(found, axis=1) > 0]


def _samples(objective: Objective, value: Any) -> int:
    """Return a number of points to draw, or raise if they do not fit into memory."""
    samples = count("samples", value)
    affordable("samples", samples, samples * objective.problem.parameters, "so many points")
    return samples


def worst(
    objective: Objective,
    quotient: Quotient,
    neighbourhood: Neighbourhood,
    inner: float = 0.01,
    samples: int = 256,
    rounds: int = 300,
    seed: int = 0,
) -> Worst:
    """Search a neighbourhood of a minimum for the smallest value of a quotient.

    Points are drawn at many distances, in random directions and in those in which the Hessian at the minimum is
    flattest; a random search goes on from the worst of them. What is found is an upper bound of the smallest value, and
    a witness; that nothing worse exists is not proved.

    Args:
        objective: A deterministic objective.
        quotient: The quotient, for example `PolyakLojasiewicz()`.
        neighbourhood: Where to search; its centre is the minimum.
        inner: Points closer to the centre than this part of the radius are left out: rounding errors would decide.
        samples: Number of points drawn of each sort.
        rounds: Steps of the search from each of the sixteen worst.
        seed: Seed of the search.
    """
    deterministic(objective)
    of_kind("quotient", quotient, Quotient, "a Quotient", "Pass for example PolyakLojasiewicz()")
    of_kind("neighbourhood", neighbourhood, Neighbourhood, "a Neighbourhood", "Pass Neighbourhood(minimum, radius)")
    inner = finite_number("inner", inner)
    if not 0 <= inner < 1:
        raise invalid("inner", "lie between zero and one", repr(inner), "Pass a part of the radius")
    centre = objective.problem.point(neighbourhood.centre, "centre")
    samples, rounds = _samples(objective, samples), count("rounds", rounds, least=0)
    draw_key, search_key = jax.random.split(jax.random.key(random_seed("seed", seed)))
    points = _drawn(neighbourhood, jax.random.split(draw_key, samples))
    if objective.problem.parameters <= DENSE_LIMIT and not bool(objective.singular(centre)):
        random = np.random.default_rng(seed)
        directions = _flat_directions(objective, centre, samples, random)
        fractions = 10.0 ** random.uniform(np.log10(max(inner, 1e-2)), 0.0, len(directions))
        reached = _reached(neighbourhood, directions, fractions)
        points = jax.tree.map(lambda one, other: np.concatenate([one, other]), points, reached)
    number = jax.tree.leaves(points)[0].shape[0]
    search = _follow if rounds <= _MOST_ROUNDS else _compiled_follow

    def follow(chosen: np.ndarray, key, rounds: int):
        seeds = jax.tree.map(lambda leaf: np.asarray(leaf)[np.resize(chosen, _LANES)], points)
        # As arrays: a Python number would make another program.
        numbers = np.asarray(inner, float), np.asarray(rounds)
        found, values = search(objective, quotient, neighbourhood, numbers[0], seeds, key, numbers[1])
        return found, np.asarray(values)[: len(chosen)]

    pieces = [np.arange(begin, min(begin + _LANES, number)) for begin in range(0, number, _LANES)]
    values = np.concatenate([follow(piece, search_key, 0)[1] for piece in pieces])
    order = np.argsort(values, kind="stable")[:_LANES]
    found, finals = follow(order, search_key, rounds)
    best = int(np.argmin(finals))
    point = row_of(found, best)
    return Worst(float(finals[best]), point, float(neighbourhood.size(point)), number + len(order) * rounds)


@dataclass(frozen=True)
class FittedExponent:
    r"""A Łojasiewicz exponent, fitted to the worst points found at many distances from a minimum.

    Attributes:
        exponent: The slope $\theta$ of $\log\|\nabla L\|$ against $\log(L - L^*)$.
        constant: The factor $c$ of $\|\nabla L\| \approx c\,(L - L^*)^\theta$.
        losses: Excess losses of the points.
        gradient_norms: Their gradient norms.
        radii: The radii of the neighbourhoods that they are the worst points of.
    """

    exponent: float
    constant: float
    losses: np.ndarray = field(repr=False)
    gradient_norms: np.ndarray = field(repr=False)
    radii: np.ndarray = field(repr=False)


def lojasiewicz_exponent(
    objective: Objective,
    minimum: PyTree,
    radii: Sequence[float] = (0.3, 0.1, 0.03, 0.01),
    shape: Shape = "ball",
    seed: int = 0,
    **search: int,
) -> FittedExponent:
    r"""Fit the exponent $\theta$ of $\|\nabla L\| \ge c\,(L - L^*)^\theta$ near a minimum.

    In the neighbourhood of each radius the point with the smallest Polyak–Łojasiewicz quotient is searched for; the
    exponent is the slope of gradient norms against excess losses at these points. One half means that the quotient
    stays bounded from below; more, that it does not.

    Args:
        objective: A deterministic objective.
        minimum: A minimum; the loss there is taken as $L^*$.
        radii: Radii of the neighbourhoods, at least two.
        shape: Shape of the neighbourhoods.
        seed: Seed of the searches.
        **search: `samples` and `rounds` of `worst`.

    Raises:
        InvalidArgument: If a radius is so small that losses there are rounding errors.
    """
    deterministic(objective)
    centre = objective.problem.point(minimum, "minimum")
    radii = [positive("radii", radius) for radius in sequence("radii", radii, "at least two numbers")]
    if len(radii) < 2:
        raise invalid("radii", "be at least two numbers", repr(radii), "A slope needs two points")
    lowest = float(objective.loss(centre))
    rounding = 1e-14 * max(lowest_loss(objective).scale, 1.0)
    quotient = PolyakLojasiewicz(lowest, rounding)
    # Points of about the radius, so that each stands for its own distance.
    points = [
        worst(objective, quotient, Neighbourhood(centre, radius, shape), inner=0.3, seed=seed, **search).point
        for radius in radii
    ]
    losses = np.array([float(objective.loss(point)) - lowest for point in points])
    norms = np.array([float(np.linalg.norm(as_vector(objective.gradient(point)))) for point in points])
    if not (losses.min() > rounding and norms.min() > 0):
        raise invalid(
            "radii",
            "reach points whose loss is above that of the minimum by more than rounding errors",
            f"{radii}, with excess losses {losses}",
            "Pass larger radii, or another minimum",
        )
    slope, offset = np.polyfit(np.log(losses), np.log(norms), 1)
    return FittedExponent(float(slope), float(np.exp(offset)), losses, norms, np.asarray(radii))


@dataclass(frozen=True)
class ConvexityRadius:
    """How far around a minimum the loss is convex.

    Attributes:
        certified: A radius within which the Hessian is positive semidefinite, by its Lipschitz constant; zero where
            that is not known, or the minimum's Hessian is singular.
        found: A radius at which a point with a negative eigenvalue was found; infinite if none was.
        witness: That point, or `None`.
        eigenvalue: The smallest eigenvalue there.
    """

    certified: float
    found: float
    witness: PyTree | None = field(repr=False)
    eigenvalue: float


@eqx.filter_jit
def _smallest(objective, points):
    return jax.lax.map(lambda point: jnp.linalg.eigvalsh(objective.hessian(point))[0], points)


def convexity_radius(
    objective: Objective,
    minimum: PyTree,
    largest: float = 1.0,
    smallest: float = 1e-4,
    samples: int = 64,
    tolerance: float = 1e-10,
    seed: int = 0,
) -> ConvexityRadius:
    """Bound the radius of the ball around a minimum in which the loss is convex, from below and from above.

    Args:
        objective: A deterministic objective of at most 2,600 parameters.
        minimum: The minimum.
        largest: Largest radius searched.
        smallest: Smallest radius searched.
        samples: Points tried at each radius, in random directions and in those in which the Hessian is flattest.
        tolerance: An eigenvalue counts as negative below minus this.
        seed: Seed of the search.
    """
    deterministic(objective)
    centre = objective.problem.point(minimum, "minimum")
    largest, smallest = positive("largest", largest), positive("smallest", smallest)
    tolerance = not_negative("tolerance", tolerance)
    if smallest >= largest:
        raise invalid("smallest", "be below `largest`", f"{smallest} and {largest}", "Widen the interval")
    flat = as_vector(centre)
    if flat.size > DENSE_LIMIT:
        raise invalid("objective", f"have at most {DENSE_LIMIT} parameters", str(flat.size), "Use a smaller problem")
    random = np.random.default_rng(random_seed("seed", seed))
    half = max(_samples(objective, samples) // 2, 1)
    values = np.linalg.eigvalsh(np.asarray(objective.hessian(centre)))
    directions = np.concatenate(
        [random.normal(size=(half, flat.size)), _flat_directions(objective, centre, half, random)]
    )
    directions = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    found, witness, eigenvalue = np.inf, None, float(values[0])

    def lowest(radius: float) -> tuple[float, PyTree]:
        points = _unravelled(centre, flat + radius * directions)
        smallest_ones = np.asarray(_smallest(objective, points))
        best = int(np.nanargmin(smallest_ones))
        return float(smallest_ones[best]), row_of(points, best)

    # Halving: every radius with a witness is kept until one without is met, then the interval is bisected.
    radius, safe = largest, 0.0
    while radius >= smallest:
        value, point = lowest(radius)
        if value >= -tolerance:
            safe = radius
            break
        found, witness, eigenvalue = radius, point, value
        radius /= 2
    for _ in range(6 if safe and np.isfinite(found) else 0):
        middle = 0.5 * (safe + found)
        value, point = lowest(middle)
        if value < -tolerance:
            found, witness, eigenvalue = middle, point, value
        else:
            safe = middle
    return ConvexityRadius(_certified(objective, centre, float(values[0]), largest), found, witness, eigenvalue)


def _certified(objective: Objective, centre: PyTree, curvature: float, largest: float) -> float:
    """Return the largest radius with curvature at least radius times Lipschitz constant, by bisection."""
    if curvature <= 0:
        return 0.0

    def convex(radius: float) -> bool:
        lipschitz = float(objective.hessian_lipschitz(centre, radius))
        return bool(np.isfinite(lipschitz)) and curvature >= radius * lipschitz

    low, high = 0.0, largest
    if convex(high):
        return high
    for _ in range(50):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if convex(middle) else (low, middle)
    return low
