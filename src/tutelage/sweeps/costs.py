"""How long a shard takes, for balance only: a tile of runs, its work a step, and a guess of the steps."""

from __future__ import annotations

import math

from tutelage.dynamics import GradientFlow
from tutelage.dynamics.descend import tile_of
from tutelage.dynamics.stops import DEFAULT_STEPS
from tutelage.sweeps.contract import Shard
from tutelage.sweeps.specification.build import Built
from tutelage.sweeps.specification.plan import Plan

# Rounded from times on one core: a step of a tile, and a pair of neurons of each of its runs. Small problems with other
# optimisers than plain descent have taken up to five times as long; shards are balanced with this, nothing else is.
_SECONDS_A_STEP = 2e-4
_SECONDS_A_PAIR = 1e-8

# Drawing starts, evaluating where runs ended, making tables.
_SECONDS_A_SHARD = 0.2

# A fresh number costs as much as ten that are there, and a step of a flow evaluates the gradient seven times.
_FRESH = 10
_STAGES = 7

# Runs that can end early mostly do before this many steps, whatever their limit.
_USUAL_STEPS = 4096


def tile_cost(built: Built) -> tuple[int, float]:
    """Return how many runs are followed side by side, and about how many seconds they take together."""
    tile, work = tile_of(built.objective, built.method, built.record)
    limit = DEFAULT_STEPS if built.stop is None or built.stop.steps is None else built.stop.steps
    exact = built.objective.exactness.kind != "sampling"
    conditions = () if built.stop is None else (built.stop.gradient, built.stop.loss, built.stop.change)
    ends_early = (built.stop is None and exact) or any(condition is not None for condition in conditions)
    steps = min(limit, _USUAL_STEPS) if ends_early else limit
    if hasattr(built.method, "batch"):
        work *= _FRESH
    evaluations = _STAGES if isinstance(built.method, GradientFlow) else 1
    return tile, steps * evaluations * (_SECONDS_A_STEP + _SECONDS_A_PAIR * work * tile)


def shards_of(plan: Plan, seconds: float) -> list[Shard]:
    """Cut a sweep into shards near a given cost, whole tiles where a cell has so many runs; the largest first.

    Args:
        plan: The sweep.
        seconds: About how long a shard should take.
    """
    shards = []
    costs: dict[str, tuple[int, float]] = {}
    for number, cell in enumerate(plan.cells):
        # Cells that differ in their seeds or starts alone cost the same.
        said = cell.model_dump_json(exclude={"seed", "runs", "starts", "success", "keep_points"})
        if said not in costs:
            costs[said] = tile_cost(plan.build(number))
        tile, cost = costs[said]
        tiles = math.ceil(cell.runs / tile)
        most = max(1, min(tiles, round((seconds - _SECONDS_A_SHARD) / max(cost, 1e-9))))
        # As even as whole tiles allow.
        pieces = math.ceil(tiles / most)
        for piece in range(pieces):
            begin, end = (tiles * at // pieces * tile for at in (piece, piece + 1))
            runs = min(end, cell.runs) - begin
            shards.append(Shard(number, begin, runs, _SECONDS_A_SHARD + cost * math.ceil(runs / tile)))
    return sorted(shards, key=lambda shard: -shard.cost)
