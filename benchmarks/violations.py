"""How many planted violations the search of relations finds, and in how many seconds, beside random instances alone.

The plants (`harness/plants.py`) were chosen before the search was tuned. It ends at the first violation; seconds
include tracing and compiling. What random instances find, as many as the search evaluates at most, says how thin the
violations are.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import jax.numpy as jnp
import numpy as np
from harness import publish
from harness.plants import LOGARITHMIC, REAL, Plant, plants

from tutelage.claims import Relation, log_uniform, real, uniform
from tutelage.claims.outcome import EFFORTS, Effort

SLACK = 1e-9


def _taking(names: list[str], function: Callable) -> Callable:
    """Return a function of certain names: relations pass what a formula names."""
    scope = {"function": function}
    exec(f"def formula({', '.join(names)}): return function({', '.join(f'{name}={name}' for name in names)})", scope)
    return scope["formula"]


def _law(law: tuple):
    if law[0] == REAL:
        return real(law[1])
    return (log_uniform if law[0] == LOGARITHMIC else uniform)(*law[1:])


def as_relation(plant: Plant) -> Relation:
    """The plant as a relation, in NumPy where it can be."""
    xp, names = (jnp if plant.compiled else np), list(plant.draw)
    sides = _once(partial(plant.sides, xp))
    return Relation(
        {name: _law(law) for name, law in plant.draw.items()},
        _taking(names, lambda **drawn: sides(**drawn)[0]),
        "==" if plant.equality else "<=",
        _taking(names, lambda **drawn: sides(**drawn)[1]),
        None if plant.where is None else _taking(names, partial(plant.where, xp)),
    )


def _once(function: Callable) -> Callable:
    """Evaluate both sides once for the two formulas that ask for them."""
    last: list = [None, None]

    def kept(**drawn):
        if last[0] is None or any(last[0][name] is not value for name, value in drawn.items()):
            last[:] = [drawn, function(**drawn)]
        return last[1]

    return kept


def measured(chosen: list[Plant], effort: Effort, seeds: int) -> np.ndarray:
    """Return, for each plant and seed, whether the violation was found, and the seconds."""
    found = np.zeros((len(chosen), seeds, 2))
    for number, plant in enumerate(chosen):
        for seed in range(seeds):
            begun = time.perf_counter()
            found[number, seed, 0] = as_relation(plant).refutes(effort, seed, SLACK)
            found[number, seed, 1] = time.perf_counter() - begun
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--high", action="store_true", help="at high effort, and there alone")
    parser.add_argument("--missed", action="store_true", help="name the plants that were missed")
    options = parser.parse_args()
    chosen, effort = plants(), "high" if options.high else "default"
    full = EFFORTS[effort]
    # As many instances as a search may evaluate, all of them random.
    random = replace(full, samples=full.samples * (1 + full.generations), generations=0, iterations=0)
    efforts = {"search": full, "random": random}
    results = {name: measured(chosen, one, options.seeds) for name, one in efforts.items()}
    kinds = list(dict.fromkeys(plant.kind for plant in chosen))
    rows = []
    for kind in [*kinds, "all"]:
        mine = [number for number, plant in enumerate(chosen) if kind in (plant.kind, "all")]
        cells = [kind, str(len(mine))]
        for found in results.values():
            share, seconds = found[mine, :, 0].mean(), found[mine, :, 1].sum() / options.seeds
            cells += [f"{share:.1%}", f"{seconds:.1f} s"]
        rows.append(cells)
    columns = ["kind", "plants", *(f"{name} {what}" for name in results for what in ("found", "seconds"))]
    notes = (
        f"Share of {options.seeds} seeds on which the violation was found at {effort} effort; seconds for all, once."
    )
    publish(f"violations_{effort}", f"Planted violations, {effort} effort", columns, rows, notes)
    if options.missed:
        for name, found in results.items():
            for plant, seen in zip(chosen, found[:, :, 0], strict=True):
                if seen.min() < 1:
                    print(f"{name}: {seen.sum():.0f} of {len(seen)}: {plant.name}")


if __name__ == "__main__":
    main()
