"""Students in disguise: what is the same up to the symmetries of an orthonormal teacher."""

import numpy as np


def shuffled(points: np.ndarray, number: int, seed: int, noise: float = 0.0) -> np.ndarray:
    """Copies of a student with neurons and coordinates permuted at random, and noise."""
    random = np.random.default_rng(seed)
    copies = [points[random.permutation(len(points))][:, random.permutation(points.shape[1])] for _ in range(number)]
    return np.stack(copies) + noise * random.normal(size=(number, *points.shape))
