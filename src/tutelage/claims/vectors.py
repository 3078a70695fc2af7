"""Vectors on the last axis, in NumPy: what the formulas of several papers need of them, and their recipes with them."""

import numpy as np


def dot(first, second):
    """Inner products."""
    return np.sum(first * second, -1)


def norm(vector):
    """Euclidean norms."""
    return np.sqrt(dot(vector, vector))


def applied(matrix, vector):
    """Matrices times vectors: the inner products of the rows of each with one vector."""
    return np.sum(matrix * vector[..., None, :], -1)
