"""Tables of studies, and expectations above and below a limit."""

import numpy as np

from tutelage.statistics import wilson_interval
from tutelage.studies import above, below
from tutelage.studies.tables import share, table


def test_rows_come_from_every_piece():
    """A table has the rows of all pieces in their order; a column may be empty at first."""

    def rows(arrays, kind, size):
        for value in arrays["x"]:
            yield {"kind": kind, "size": size, "x": value if size > 1 else None}

    pieces = {"one": {"kind": "a", "size": 1}, "two": {"kind": "b", "size": 2}}
    made = table(pieces, {"two": {"x": np.array([3.0, 4.0])}, "one": {"x": np.array([2.0])}}, rows)
    assert made.to_dicts() == [
        {"kind": "a", "size": 1, "x": None},
        {"kind": "b", "size": 2, "x": 3.0},
        {"kind": "b", "size": 2, "x": 4.0},
    ]


def test_a_share_has_its_interval():
    """The share of what happened, with Wilson's interval."""
    low, high = wilson_interval(2, 8)
    assert share("success", np.arange(8) < 2) == {"success": 0.25, "low": low, "high": high}


def test_limits_are_told():
    """What is measured is compared with the limit, which is told unless something better is."""
    seen = below("angle", "small", np.float64(0.1), 0.2)
    assert (seen.ok, seen.measured, seen.tolerance) == (True, 0.1, "below 0.2")
    assert not below("angle", "small", 0.2, 0.2).ok and not above("angle", "large", 0.2, 0.2).ok
    assert above("angle", "large", 0.3, 0.2, "for sampling").tolerance == "for sampling"
    assert not above("angle", "large", np.nan, 0.2).ok
