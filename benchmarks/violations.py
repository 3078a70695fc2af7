"""How many planted violations a search finds, and in how many seconds: relations beside pointwise checks, in one run.

The plants (`harness/plants.py`) were chosen before the search of relations was tuned. Both searches end at the first
violation; seconds include tracing and compiling, which is most of the time of a check in JAX.
"""

import argparse
import time
from collections.abc import Callable
from functools import partial

import jax.numpy as jnp
import numpy as np
from harness import publish
from harness.plants import LOGARITHMIC, REAL, Plant, plants

from tutelage.claims import Family, Pointwise, Relation, at_most, equal, given, log_uniform, real, uniform
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


def as_pointwise(plant: Plant, gradient: bool) -> Pointwise:
    """The plant as a check on instances; intervals are images of a sine, as in the claims that are written so."""

    def build(raw):
        drawn = {}
        for name, law in plant.draw.items():
            share = 0.5 * (1 + jnp.sin(raw[name]))
            if law[0] == REAL:
                drawn[name] = raw[name]
            elif law[0] == LOGARITHMIC:
                drawn[name] = jnp.exp(jnp.log(law[1]) + (jnp.log(law[2]) - jnp.log(law[1])) * share)
            else:
                drawn[name] = law[1] + (law[2] - law[1]) * share
        return drawn

    def check(instance):
        small, large = plant.sides(jnp, **instance)
        shown = equal(small, large, 1e-300) if plant.equality else at_most(small, large, 1e-300)
        return shown if plant.where is None else given(plant.where(jnp, **instance), shown)

    return Pointwise(check, [Family({name: law[-1] for name, law in plant.draw.items()}, build)], gradient=gradient)


def measured(test: Callable[[Plant], object], chosen: list[Plant], effort: Effort, seeds: int) -> np.ndarray:
    """Return, for each plant and seed, whether the violation was found, and the seconds."""
    found = np.zeros((len(chosen), seeds, 2))
    for number, plant in enumerate(chosen):
        for seed in range(seeds):
            begun = time.perf_counter()
            found[number, seed, 0] = test(plant).refutes(effort, seed, SLACK)  # type: ignore[attr-defined]
            found[number, seed, 1] = time.perf_counter() - begun
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--high", action="store_true", help="at high effort, and there alone")
    parser.add_argument("--missed", action="store_true", help="name the plants that were missed")
    options = parser.parse_args()
    chosen, effort = plants(), "high" if options.high else "default"
    searches = {
        "relations": as_relation,
        "checks": partial(as_pointwise, gradient=False),
        "checks, gradients": partial(as_pointwise, gradient=True),
    }
    results = {name: measured(test, chosen, EFFORTS[effort], options.seeds) for name, test in searches.items()}
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
