"""Evaluation at once: traced functions run by NumPy, without a compiler."""

from tutelage.instant.calls import instantly as instantly
from tutelage.instant.calls import trace as trace
