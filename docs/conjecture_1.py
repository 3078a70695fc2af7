"""Draws the figure of the page on Conjecture 1: `python docs/conjecture_1.py`."""

from pathlib import Path

import numpy as np

from tutelage.claims.mild_overparameterization.conjecture import exact_gap, in_one_plane, turned
from tutelage.claims.mild_overparameterization.directions import bound
from tutelage.claims.mild_overparameterization.formulas import curvature
from tutelage.plot import BLACK, COLOURS, GREY, panels


def survives(k: int, share: float, part: float) -> bool:
    """Whether a part of the right-hand side survives rotations in one plane by a share, bent in any way; k ≥ 3."""
    turn = np.broadcast_to(in_one_plane(2 * np.pi * np.arange(k) / k), (13, k, k))
    way, eye = turned(turn, np.linspace(0, 3, 13), np.full(13, share)), np.eye(k)
    return bool(np.all(curvature(eye + way, eye, way) >= part * bound(way, eye)))


def largest_share(k: int, part: float) -> float:
    """The largest share at which a part of the right-hand side survives, by bisection."""
    low, high = 0.0, 0.2  # at ways of half a length and more other terms take over
    for _ in range(12):
        middle = (low + high) / 2
        low, high = (middle, high) if survives(k, middle, part) else (low, middle)
    return low


def main() -> None:
    """Write the picture beside the page."""
    figure, (gap, radius) = panels(1, 2)
    epsilon = np.linspace(0, 0.55, 200)
    gap.axhline(0, color=GREY, linewidth=0.8)
    gap.plot(epsilon, exact_gap(epsilon), color=BLACK)
    gap.plot(0.4534, 0.0, "o", color=COLOURS[0])
    gap.set(xlabel="rotation ε", ylabel="left − right side", title="The gap along a rotation")
    counts = np.array([3, 4, 6, 8, 12, 16, 24])
    for colour, part in zip(COLOURS, (0.9, 0.7, 0.5), strict=False):
        shares = [largest_share(int(k), part) for k in counts]
        radius.plot(counts, shares, "o-", color=colour)
        radius.text(counts[-1] + 0.8, shares[-1], f"{part:.0%}", color=colour, va="center")
    radius.set(xlabel="teachers k", ylabel="share ρ", title="How far a part survives")
    radius.set(xlim=(2, 28), ylim=(0, 0.2))
    figure.savefig(Path(__file__).parent / "assets" / "conjecture-1.png", dpi=150)


if __name__ == "__main__":
    main()
