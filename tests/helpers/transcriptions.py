"""The registered activations written out once more, in NumPy, from their definitions."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import special


class Transcription(NamedTuple):
    """A scalar function: its value, its derivative away from zero, and the height of its jump at zero."""

    value: Callable[[np.ndarray], np.ndarray]
    derivative: Callable[[np.ndarray], np.ndarray]
    jump: float = 0.0


def _normal_density(z: np.ndarray) -> np.ndarray:
    return np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)


TRANSCRIPTIONS: dict[str, Transcription] = {
    "relu": Transcription(lambda z: np.maximum(z, 0), lambda z: 1.0 * (z > 0)),
    "leaky_relu": Transcription(lambda z: np.where(z > 0, z, 0.01 * z), lambda z: np.where(z > 0, 1.0, 0.01)),
    "abs": Transcription(np.abs, np.sign),
    "linear": Transcription(lambda z: z, np.ones_like),
    "sign": Transcription(np.sign, np.zeros_like, jump=2.0),
    "step": Transcription(lambda z: np.heaviside(z, 0.5), np.zeros_like, jump=1.0),
    "erf": Transcription(special.erf, lambda z: 2 / np.sqrt(np.pi) * np.exp(-(z**2))),
    "quadratic": Transcription(np.square, lambda z: 2 * z),
    "cosine": Transcription(np.cos, lambda z: -np.sin(z)),
    "sine": Transcription(np.sin, np.cos),
    "tanh": Transcription(np.tanh, lambda z: 1 / np.cosh(z) ** 2),
    "sigmoid": Transcription(special.expit, lambda z: 1 / (2 + 2 * np.cosh(z))),
    "softplus": Transcription(lambda z: -special.log_expit(-z), special.expit),
    "gelu": Transcription(lambda z: z * special.ndtr(z), lambda z: special.ndtr(z) + z * _normal_density(z)),
}
