"""Evaluation at once: traced functions run by NumPy, without a compiler."""

from tutelage.instant.calls import evaluated as evaluated
from tutelage.instant.calls import instantly as instantly
from tutelage.instant.calls import prepared as prepared
from tutelage.instant.calls import trace as trace
from tutelage.instant.tracing import fori_loop as fori_loop
from tutelage.instant.tracing import map_rows as map_rows
