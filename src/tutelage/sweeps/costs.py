"""How long a range of runs takes, for balance only: a tile of runs, its work per step, and a guess of the steps."""

from __future__ import annotations

import math
from typing import NamedTuple

from tutelage.dynamics.descend import tile_of
from tutelage.dynamics.stops import DEFAULT_STEPS
from tutelage.sweeps.specification.build import Built
from tutelage.sweeps.specification.plan import Plan
from tutelage.sweeps.tables import Range

# Rounded from times on one core: a step of a tile, and a pair of neurons of each of its runs. Small problems with other
# optimisers than plain descent have taken up to five times as long; ranges are balanced with this, nothing else is.
_SECONDS_PER_STEP = 2e-4
_SECONDS_PER_PAIR = 1e-8

# Drawing starts, evaluating where runs ended, making tables.
_SECONDS_PER_RANGE = 0.2

# A fresh number costs as much as ten that are there, and a step of a flow evaluates the gradient seven times.
_FRESH = 10
_STAGES = 7

# A quadrature evaluates the activation once for each neuron and node, and only products for each pair: so much less
# than a pair in closed form for each node, in which its work is counted.
_NODES = 0.04

# Runs that can end early mostly do before this many steps, whatever their limit.
_USUAL_STEPS = 4096

# What makes a step slow and what would make it cheaper, by how the expectation is taken.
_ADVICE = {
    "quadrature": "Each pair of neurons is an integral by quadrature. Activations with a closed form (relu, abs, erf, "
    "sign, cosine) or a larger `tolerance` make it cheaper.",
    "exact sum": "Each step sums over all points of the inputs. Fewer points, or stochastic descent on batches of "
    "them, make it cheaper.",
    "sampling": "Each step draws fresh samples. Smaller batches, or the population objective where it has a closed "
    "form, make it cheaper.",
}
_USUAL_ADVICE = "Each step goes through all pairs of neurons. Fewer runs or a lower step limit make it cheaper."


def tile_cost(built: Built) -> tuple[int, float]:
    """Return how many runs are followed side by side, and about how many seconds they take together."""
    tile, work = tile_of(built.objective, built.method, built.record)
    limit = DEFAULT_STEPS if built.stop is None or built.stop.steps is None else built.stop.steps
    exact = built.objective.exactness.kind != "sampling"
    conditions = () if built.stop is None else (built.stop.gradient, built.stop.loss, built.stop.change)
    ends_early = (built.stop is None and exact) or any(condition is not None for condition in conditions)
    steps = min(limit, _USUAL_STEPS) if ends_early else limit
    traits = built.method.traits
    if traits.batch:
        work *= _FRESH
    if built.objective.exactness.kind == "quadrature":
        work *= _NODES
    evaluations = _STAGES if traits.steady_step == 0 else 1
    return tile, steps * evaluations * (_SECONDS_PER_STEP + _SECONDS_PER_PAIR * work * tile)


class Estimate(NamedTuple):
    """About how long a sweep takes, and what would make it cheaper.

    Attributes:
        seconds: About how long, on one core.
        advice: What makes it slow, and what would make it cheaper, as a sentence.
    """

    seconds: float
    advice: str


def estimate_of(plan: Plan) -> Estimate:
    """Return about how long a sweep takes, with advice on its most expensive cell."""
    ranges = ranges_of(plan, math.inf, 1)
    kind = plan.build(ranges[0].cell).objective.exactness.kind
    return Estimate(sum(one.cost for one in ranges), _ADVICE.get(kind, _USUAL_ADVICE))


def ranges_of(plan: Plan, seconds: float, cores: int) -> list[Range]:
    """Cut a sweep into ranges near a given cost, whole tiles where a cell has so many runs; the largest first.

    Args:
        plan: The sweep.
        seconds: About how long a range should take.
        cores: How many cores it has.
    """
    ranges = []
    costs: dict[str, tuple[int, float]] = {}
    for number, cell in enumerate(plan.cells):
        # Cells that differ in their seeds or starts alone cost the same.
        said = cell.model_dump_json(exclude={"seed", "runs", "starts", "success", "keep_points"})
        if said not in costs:
            costs[said] = tile_cost(plan.build(number))
        tile, cost = costs[said]
        tiles = math.ceil(cell.runs / tile)
        wanted = min((seconds - _SECONDS_PER_RANGE) / max(cost, 1e-9), tiles)
        most = cores * max(1, round(wanted))
        # As even as whole tiles allow.
        pieces = math.ceil(tiles / most)
        for piece in range(pieces):
            begin, end = (tiles * at // pieces * tile for at in (piece, piece + 1))
            runs = min(end, cell.runs) - begin
            ranges.append(Range(number, begin, runs, _SECONDS_PER_RANGE + cost * math.ceil(runs / tile)))
    return sorted(ranges, key=lambda one: -one.cost)
