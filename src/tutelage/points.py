"""Points: pytrees of arrays of known shapes. Every objective, dual and model checks what it is given here.

A shape is a tuple of sizes; a name in place of a size stands for any, and for the same one wherever it appears.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

from tutelage.arrays import of_jax
from tutelage.checks import checked_array
from tutelage.errors import InvalidArgument, invalid

Shape = tuple[Any, ...]
Sizes = dict[str, int]
RUNS = "runs"
"""Name of the leading axis of a batch of points."""
_ONE_ARRAY = jax.tree.structure(0)


class Template(NamedTuple):
    """What a point looks like; hashable.

    Attributes:
        structure: Structure of the pytree.
        shapes: Shape of each leaf.
    """

    structure: Any
    shapes: tuple[Shape, ...]

    def sized(self, **sizes: int | None) -> Template:
        """Return the template with the sizes of some named axes."""
        return Template(self.structure, tuple(tuple(sizes.get(size, size) for size in shape) for shape in self.shapes))

    def batched(self) -> Template:
        """Return the template of several such points, with a leading axis for the runs."""
        return Template(self.structure, tuple((RUNS, *shape) for shape in self.shapes))


def template_of(point: PyTree) -> Template:
    """Return the template of a pytree of arrays, or of one of shapes (plain tuples)."""
    leaves, structure = jax.tree.flatten(point, is_leaf=lambda node: type(node) is tuple)
    return Template(structure, tuple(leaf if type(leaf) is tuple else tuple(jnp.shape(leaf)) for leaf in leaves))


def fitted(
    argument: str,
    point: PyTree,
    template: Template,
    sizes: Sizes | None = None,
    *,
    owner: str = "",
    remedy: str = "",
    largest: float = math.inf,
) -> PyTree:
    """Return a point as float64 arrays, or raise if it does not fit a template.

    Nothing but shapes and types is looked at where values are traced, so that compiled programs are not changed by it;
    values that are known must be finite.

    Args:
        argument: Name to use in the error.
        point: Arrays (or lists of numbers) in the structure of the template, or in a sequence with one entry per leaf.
        template: What is wanted.
        sizes: Sizes of named axes that are known already; those that the point settles are added.
        owner: Whose template it is, continuing "for …" in the error.
        remedy: What to do about a wrong structure.
        largest: Numbers beyond this are refused.

    Raises:
        InvalidArgument: If structure, shapes, types or values are not as they should be.
    """
    sizes = {} if sizes is None else sizes
    arrays = []
    for leaf, shape in zip(_leaves(argument, point, template, remedy), template.shapes, strict=True):
        array = _real(argument, leaf, largest)
        if not _binds(array.shape, shape, sizes):
            raise _misfit(argument, array.shape, shape, sizes, owner)
        arrays.append(array)
    return jax.tree.unflatten(template.structure, arrays)


def fitted_array(argument: str, value: Any, shape: Shape, sizes: Sizes | None = None, *, owner: str = "") -> Array:
    """Return one array of float64, or raise if it does not have a shape; see `fitted`."""
    return fitted(argument, value, Template(_ONE_ARRAY, (shape,)), sizes, owner=owner)


def shown_shape(shape: Shape, sizes: Sizes | None = None) -> str:
    """Return a shape as Python writes it, with names in place of sizes that are not known."""
    entries = [str((sizes or {}).get(size, size) if isinstance(size, str) else size) for size in shape]
    return f"({entries[0]},)" if len(entries) == 1 else f"({', '.join(entries)})"


def _leaves(argument: str, point: PyTree, template: Template, remedy: str) -> list[Any]:
    if template.structure == _ONE_ARRAY:
        return [point]  # lists of numbers will do
    if jax.tree.structure(point) == template.structure:
        return jax.tree.leaves(point)
    if isinstance(point, (tuple, list)) and len(point) == len(template.shapes):
        return list(point)
    runs = template.shapes[0][:1] == (RUNS,)
    shapes = " and ".join(shown_shape(shape[1:] if runs else shape) for shape in template.shapes)
    several = isinstance(point, (tuple, list))
    received = f"{sum(part is not None for part in point)} of them" if several else f"a {type(point).__name__}"
    raise invalid(
        argument,
        f"have {len(template.shapes)} arrays, of shapes {shapes}{' behind a leading axis for the runs' * runs}",
        "one array" if isinstance(point, (np.ndarray, jax.Array)) else received,
        remedy or "Pass a tuple of them",
    )


def _real(argument: str, leaf: Any, largest: float) -> Any:
    """Return an array of float64; finite, if its values are known."""
    if largest == math.inf and type(leaf) is np.ndarray and leaf.dtype == np.float64 and leaf.size:
        # In microseconds: a sum is finite only if all numbers are.
        with np.errstate(all="ignore"):
            if math.isfinite(np.add.reduce(leaf, axis=None)):
                return leaf
    array = checked_array(argument, leaf, largest=largest)
    if not isinstance(leaf, jax.Array):
        return array
    # As it was, where nothing had to be changed: on its device.
    return leaf if leaf.dtype == jnp.float64 else of_jax(array)


def _binds(received: tuple[int, ...], shape: Shape, sizes: Sizes) -> bool:
    """Whether a shape is the wanted one; names that are new take the sizes received."""
    if len(received) != len(shape):
        return False
    found = dict(sizes)
    for size, wanted in zip(received, shape, strict=True):
        if size != (found.setdefault(wanted, size) if isinstance(wanted, str) else wanted):
            return False
    sizes.update(found)
    return True


def _misfit(argument: str, received: tuple[int, ...], shape: Shape, sizes: Sizes, owner: str) -> InvalidArgument:
    remedy = "Reshape it"
    if shape[:1] == (RUNS,) and _binds(received, shape[1:], dict(sizes)):
        remedy = "Add a leading axis for the runs"
    elif shape[:1] != (RUNS,) and _binds(received[1:], shape, dict(sizes)):
        remedy = "Pass one at a time, or map over the first axis with jax.vmap"
    return invalid(
        argument,
        f"have shape {shown_shape(shape, sizes)}{f' for {owner}' if owner else ''}",
        f"shape {received}",
        remedy,
    )
