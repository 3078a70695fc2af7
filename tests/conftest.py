"""Settings of all tests: the CPU, and the same examples in every run."""

import os

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["MPLBACKEND"] = "Agg"

from hypothesis import settings

# Compilation makes the first example slow, so there is no deadline; the examples depend on the test alone.
settings.register_profile("tutelage", derandomize=True, deadline=None, database=None)
settings.load_profile("tutelage")
