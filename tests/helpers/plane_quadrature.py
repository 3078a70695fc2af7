"""Expectations of products of two neurons under a Gaussian law, by deterministic quadrature in NumPy.

The two arguments depend on two standard normal numbers: the first argument on $z_1$ alone, the second on both. Both
integrals are composite Gauss–Legendre rules whose panels end where an activation may have a kink (its argument is
zero), and which are refined where the inner integral changes quickly (almost parallel vectors). Nothing is shared
with the library: no closed form, no trapezoidal rule, no derivative formula.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from transcriptions import Transcription

# The normal density is below 1e-19 beyond.
REACH = 9.2
NODES, WEIGHTS = np.polynomial.legendre.leggauss(16)


class PlaneRule(NamedTuple):
    """Two weight vectors in the plane that they span, with a quadrature rule on it.

    Attributes:
        law_mean: The mean of the inputs.
        axes: What one unit of $z_1$ and of $z_2$ adds to an input.
        mu: Mean of the first argument.
        spread: Its standard deviation, the factor of $z_1$.
        nu: Mean of the second argument.
        along: The factor of $z_1$ in the second argument.
        across: The factor of $z_2$ in the second argument.
        outer: Nodes $z_1$.
        outer_weights: Their weights, the normal density included.
    """

    law_mean: np.ndarray
    axes: np.ndarray
    mu: float
    spread: float
    nu: float
    along: float
    across: float
    outer: np.ndarray
    outer_weights: np.ndarray

    def inner(self, z1: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Nodes $z_2$ and weights for each $z_1$, with panels that end where the second argument is zero."""
        if self.across == 0:
            return np.zeros((len(z1), 1)), np.ones((len(z1), 1))
        kink = np.clip(-(self.nu + self.along * z1) / self.across, -REACH, REACH)
        count = max(18, int(np.ceil(16 * abs(self.across))))
        left = -REACH + (kink[:, None] + REACH) * np.linspace(0, 1, count + 1)
        right = kink[:, None] + (REACH - kink[:, None]) * np.linspace(0, 1, count + 1)
        parts = [panels(left), panels(right)]
        return tuple(np.concatenate(part, axis=1) for part in zip(*parts, strict=True))  # type: ignore[return-value]


def panels(edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of a composite rule for the normal density; panel edges on the last axis."""
    middle, half = (edges[..., 1:] + edges[..., :-1]) / 2, (edges[..., 1:] - edges[..., :-1]) / 2
    nodes = (middle[..., None] + half[..., None] * NODES).reshape(*edges.shape[:-1], -1)
    weights = (half[..., None] * WEIGHTS).reshape(*edges.shape[:-1], -1)
    return nodes, weights * np.exp(-(nodes**2) / 2) / np.sqrt(2 * np.pi)


def plane_rule(first: np.ndarray, second: np.ndarray, mean: np.ndarray, factor: np.ndarray) -> PlaneRule:
    """The rule for inputs with law N(mean, factor factorᵀ) and the neurons of two weight vectors."""
    p, q = factor.T @ first, factor.T @ second
    spread = float(np.linalg.norm(p))
    unit = p if spread > 0 else q
    unit = unit / np.linalg.norm(unit) if unit.any() else np.eye(len(p))[0]
    along = float(q @ unit)
    rest = q - along * unit
    rest = rest - (rest @ unit) * unit
    across = float(np.linalg.norm(rest))
    if across <= 1e-15 * np.linalg.norm(q):
        across, other = 0.0, np.zeros_like(q)
    else:
        other = rest / across
    mu, nu = float(mean @ first), float(mean @ second)
    steepest = max(1.0, 0.8 * spread, 0.8 * abs(along))
    edges = list(np.linspace(-REACH, REACH, int(np.ceil(2 * REACH * steepest)) + 1))
    if spread > 0:
        edges.append(-mu / spread)
    if along != 0:
        # Given z₁ the second argument has mean ν + along·z₁ and deviation `across`: refine where they compare.
        width = abs(across / along)
        distances = width * 2.0 ** np.arange(-1, 60)
        distances = distances[distances < 1]
        edges += list(-nu / along + np.concatenate([-distances, [0.0], distances]))
    edges = np.unique(np.clip(edges, -REACH, REACH))
    outer, outer_weights = panels(edges)
    axes = np.stack([factor @ unit, factor @ other])
    return PlaneRule(mean, axes, mu, spread, nu, along, across, outer, outer_weights)


def all_pairs(
    rule: PlaneRule, activations: dict[str, Transcription], kinks: dict[str, float]
) -> tuple[np.ndarray, np.ndarray]:
    r"""Expectations $E[\sigma(u)\tau(v)]$ and gradients $E[\sigma'(u)\tau(v)x]$ for all ordered pairs.

    Args:
        rule: The plane of two weight vectors.
        activations: The activations; the first index of the results is $\sigma$, the second $\tau$.
        kinks: The convention for $\sigma'(0)$ where $u$ is always zero.

    Returns:
        Arrays `[σ, τ]` and `[σ, τ, dim]`.
    """
    u = rule.mu + rule.spread * rule.outer
    z2, inner_weights = rule.inner(rule.outer)
    v = rule.nu + rule.along * rule.outer[:, None] + rule.across * z2
    values, gradients = [], []
    # Given z₁: E[τ] and E[τ z₂].
    conditional = []
    for tau in activations.values():
        weighted = tau.value(v) * inner_weights
        conditional.append((weighted.sum(axis=1), (weighted * z2).sum(axis=1)))
    always_zero = rule.spread == 0 and rule.mu == 0
    for name, sigma in activations.items():
        slope = np.full_like(u, kinks[name]) if always_zero else sigma.derivative(u)
        weighted = rule.outer_weights * sigma.value(u)
        values.append([np.sum(weighted * mean) for mean, _ in conditional])
        weighted = rule.outer_weights * slope
        row = [
            np.sum(weighted * mean) * rule.law_mean
            + np.sum(weighted * rule.outer * mean) * rule.axes[0]
            + np.sum(weighted * moment) * rule.axes[1]
            for mean, moment in conditional
        ]
        if sigma.jump and rule.spread > 0:
            row = [part + jump for part, jump in zip(row, _jumps(rule, sigma, activations), strict=True)]
        gradients.append(row)
    return np.array(values), np.array(gradients)


def _jumps(rule: PlaneRule, sigma: Transcription, activations: dict[str, Transcription]) -> list[np.ndarray]:
    """The part $E[h\\,\\delta(u)\\tau(v)x]$ of the gradient that comes from a jump of height $h$ at zero."""
    where = np.array([-rule.mu / rule.spread])
    z2, weights = rule.inner(where)
    v = rule.nu + rule.along * where[:, None] + rule.across * z2
    v = np.where(np.abs(v) < 1e-14, 0.0, v) if rule.across == 0 else v
    density = sigma.jump * np.exp(-(where[0] ** 2) / 2) / np.sqrt(2 * np.pi) / rule.spread
    result = []
    for tau in activations.values():
        weighted = tau.value(v) * weights
        inputs = rule.law_mean + where[0] * rule.axes[0]
        result.append(density * (weighted.sum() * inputs + (weighted * z2).sum() * rule.axes[1]))
    return result


def mixed(rule: PlaneRule, activation: Transcription) -> np.ndarray:
    r"""The block $E[\sigma'(u)\sigma'(v)\,xx^\top]$ of second derivatives, for a standard covariance."""
    z2, weights = rule.inner(rule.outer)
    u = rule.mu + rule.spread * rule.outer
    v = rule.nu + rule.along * rule.outer[:, None] + rule.across * z2
    weights = weights * (rule.outer_weights * activation.derivative(u))[:, None] * activation.derivative(v)
    return _second_moment(rule, rule.outer[:, None] + 0 * z2, z2, weights)


def curvature(rule: PlaneRule, activation: Transcription, slope_jump: float) -> np.ndarray:
    r"""The block $E[\sigma''(u)\sigma(v)\,xx^\top]$ for a slope that jumps at zero, for a standard covariance."""
    where = np.array([-rule.mu / rule.spread])
    z2, weights = rule.inner(where)
    v = rule.nu + rule.along * where[:, None] + rule.across * z2
    density = slope_jump * np.exp(-(where[0] ** 2) / 2) / np.sqrt(2 * np.pi) / rule.spread
    return _second_moment(rule, where[:, None] + 0 * z2, z2, density * weights * activation.value(v))


def _second_moment(rule: PlaneRule, z1: np.ndarray, z2: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The weighted second moment of the inputs; outside the plane they are standard normal."""
    inputs = rule.law_mean + z1[..., None] * rule.axes[0] + z2[..., None] * rule.axes[1]
    outside = np.eye(len(rule.law_mean)) - rule.axes.T @ rule.axes
    return np.einsum("ij,ijk,ijl->kl", weights, inputs, inputs) + weights.sum() * outside
