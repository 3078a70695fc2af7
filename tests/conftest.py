"""Settings of all tests: the CPU, and the same examples in every run."""

import gc
import os

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["MPLBACKEND"] = "Agg"
# Many tests provoke errors, and JAX would compare all files of each traceback with its own.
os.environ["JAX_TRACEBACK_FILTERING"] = "off"

import pytest
from browsing import chromium
from hypothesis import HealthCheck, settings

# Tracing makes many objects and hardly any garbage: by default Python looks for it a fifteenth of the time.
gc.set_threshold(20_000, 10, 10)

# Compilation and a busy machine make examples slow, so there is no limit of time; they depend on the test alone.
settings.register_profile(
    "tutelage", derandomize=True, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("tutelage")


def pytest_ignore_collect(collection_path, config):
    """The tests with optimized programs are in few files: the others need not be imported for them."""
    alone = config.option.markexpr == "optimized" and collection_path.suffix == ".py"
    return True if alone and "mark.optimized" not in collection_path.read_text(encoding="utf-8") else None


@pytest.fixture(scope="session")
def browser():
    """Headless Chromium, one for all tests of a process: a second driver beside the first one is refused."""
    with chromium() as opened:
        yield opened
