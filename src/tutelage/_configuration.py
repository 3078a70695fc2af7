"""How JAX is set up: 64-bit floats, and one host device per core.

XLA's elementwise loops on a CPU use one thread, so as many tiles of runs are followed at once as there are host devices
(see `tutelage.objectives.tiles`). Settings that the user made are left alone.
"""

import contextlib
import ctypes
import os
import sys


def available_cores() -> int:
    """Number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def apply() -> None:
    """Turn on x64 and ask for a host device per core, through the environment if JAX is not imported yet."""
    devices_chosen = "JAX_NUM_CPU_DEVICES" in os.environ or (
        "xla_force_host_platform_device_count" in os.environ.get("XLA_FLAGS", "")
    )
    if "jax" not in sys.modules:
        os.environ["JAX_ENABLE_X64"] = "1"
        if not devices_chosen:
            os.environ["JAX_NUM_CPU_DEVICES"] = str(available_cores())
        return

    import jax

    jax.config.update("jax_enable_x64", True)
    if not devices_chosen and jax.config.jax_num_cpu_devices == -1:  # type: ignore[attr-defined]
        try:
            jax.config.update("jax_num_cpu_devices", available_cores())
        except RuntimeError:
            # JAX has already started its backends: the runs then share the devices that there are.
            return


# Bytes of memory that a process has before it forgets what it has compiled.
_LARGE = 1000 * 2**20


def release_memory() -> None:
    """Forget compiled programs if this process has become large; where its size cannot be read, do nothing."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            resident = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return
    if resident > _LARGE and "jax" in sys.modules:
        sys.modules["jax"].clear_caches()
        # The C library keeps what is freed in small pieces, unless it is told not to; others than glibc cannot be.
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).malloc_trim(0)
