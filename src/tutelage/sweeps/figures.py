"""Quick pictures of a sweep."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from tutelage.errors import invalid
from tutelage.plot import COLOURS, intervals, panels, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tutelage.sweeps.results import Fields, Results

_MOST_STEPS = 200  # A curve has no more points than a reader can see.
_DECADES = 30  # A field or a quantity whose values are so many times apart is drawn in decades.


def plot_success(results: Results, field: str, by: Fields, below: float | None, ax: Axes | None) -> Axes:
    """Draw the rate of success against a field of the grid; see `Results.plot_success`."""
    (field,) = results.checked_fields("field", field)
    curves = [name for name in results.checked_fields("by", by) if name != field]
    table = results.success([field, *curves], below).drop_nulls("rate")
    with styled():
        axes = panels()[1][0] if ax is None else ax
        numeric = table[field].dtype.is_numeric()
        places = {value: value if numeric else place for place, value in enumerate(table[field].unique().sort())}
        count = table.select(curves).n_unique() if curves else 1
        for position, (label, rows) in enumerate(_curves(table, curves)):
            across = np.array([places[value] for value in rows[field]], dtype=float)
            if not numeric:
                # Beside each other: intervals at the same place would hide each other.
                across += 0.4 * ((position + 0.5) / count - 0.5)
            rate, low, high = (rows[name].to_numpy() for name in ("rate", "low", "high"))
            look = {"fmt": f"o{_line(position)}" if numeric else "o", "color": COLOURS[position % len(COLOURS)]}
            intervals(across, rate, low, high, axes, elinewidth=0.8, label=label, **look)
        if not numeric:
            axes.set_xticks(list(places.values()), [str(value) for value in places])
            axes.set_xlim(-0.5, len(places) - 0.5)
        elif len(places) > 2 and min(places) > 0 and max(places) / min(places) >= _DECADES:
            axes.set_xscale("log")
        axes.set_ylim(-0.03, 1.03)
        axes.set_xlabel(field)
        axes.set_ylabel("rate of success" if below is None else f"rate of loss ≤ {below:g}")
        _legend(axes, curves)
    return axes


def plot_history(results: Results, quantity: str, by: Fields, quantiles: tuple[float, float], ax: Axes | None) -> Axes:
    """Draw a recorded quantity against the step; see `Results.plot_history`."""
    if len(quantiles) != 2 or not 0 <= quantiles[0] <= quantiles[1] <= 1:
        raise invalid("quantiles", "be two numbers between 0 and 1, the lower first", quantiles, "Try (0.1, 0.9)")
    curves = results.checked_fields("by", by)
    schema = results.records.collect_schema()
    there = [name for name in schema.names() if name not in ("cell", "run", "step", *results.fields)]
    if quantity not in there or not schema[quantity].is_numeric():
        shown = ", ".join(name for name in there if schema[name].is_numeric()) or "none"
        raise invalid("quantity", f"be a recorded number ({shown})", repr(quantity), "Choose one of these")
    bands = history_bands(results, quantity, curves, quantiles)
    with styled():
        axes = panels()[1][0] if ax is None else ax
        for position, (label, rows) in enumerate(_curves(bands, curves)):
            colour = COLOURS[position % len(COLOURS)]
            step = rows["step"].to_numpy()
            axes.fill_between(step, rows["low"].to_numpy(), rows["high"].to_numpy(), color=colour, alpha=0.2, lw=0)
            axes.plot(step, rows["median"].to_numpy(), color=colour, linestyle=_line(position), label=label)
        if _in_decades(np.concatenate([bands[name].to_numpy() for name in ("low", "median", "high")])):
            axes.set_yscale("log", nonpositive="clip")
        axes.set_xlabel("step")
        axes.set_ylabel(quantity)
        _legend(axes, curves)
    return axes


def history_bands(results: Results, quantity: str, by: Sequence[str], quantiles: tuple[float, float]) -> pl.DataFrame:
    """Return the median and two quantiles of a recorded quantity at up to 200 steps, for every setting.

    A run counts from its first record on, and keeps its last value when it has ended. Values that are not finite are
    left out.
    """
    columns = list(dict.fromkeys(["cell", "run", *by, "step", quantity]))
    records = results.records.select(columns).sort("step", maintain_order=True)
    steps = records.select("step").unique().sort("step").collect()["step"]
    if len(steps) > _MOST_STEPS:
        chosen = np.unique(np.linspace(0, len(steps) - 1, _MOST_STEPS).round().astype(int))
        steps = steps.gather(chosen)
    runs = records.select("cell", "run", *by).unique()
    grid = runs.join(steps.to_frame().lazy(), how="cross").sort("step")
    followed = grid.join_asof(
        records.select("cell", "run", "step", quantity), on="step", by=["cell", "run"], check_sortedness=False
    )
    value = pl.col(quantity).filter(pl.col(quantity).is_finite())
    return (
        followed.group_by([*by, "step"])
        .agg(
            value.median().alias("median"),
            value.quantile(quantiles[0], "linear").alias("low"),
            value.quantile(quantiles[1], "linear").alias("high"),
        )
        .drop_nulls()
        .sort([*by, "step"])
        .collect()
    )


def _curves(table: pl.DataFrame, by: Sequence[str]) -> Iterator[tuple[str, pl.DataFrame]]:
    """Yield the rows of every curve with its label."""
    if not by:
        yield "", table
        return
    for key, rows in table.group_by(by, maintain_order=True):
        yield ", ".join(f"{value:g}" if isinstance(value, float) else str(value) for value in key), rows


def _legend(axes: Axes, by: Sequence[str]) -> None:
    """Say what the curves are; the labels are values, and the title names their fields."""
    if by:
        axes.legend(title=", ".join(by), title_fontsize="small")


def _line(position: int) -> str:
    """Return the style of a curve: another one when the colours begin again."""
    return ("-", "--", ":")[position // len(COLOURS) % 3]


def _in_decades(values: np.ndarray) -> bool:
    """Whether values are far apart and positive, but for rounding errors around zero."""
    above = values[values > 0]
    if not len(above) or values.min() < -1e-9 * above.max():
        return False
    return bool(above.max() / above.min() >= _DECADES)
