"""Compiled programs on disk: the next process finds them, says nothing, and computes the same bits."""

import os
import subprocess
import sys

import pytest

import tutelage as tl
from tutelage.work import cache as module
from tutelage.work.cache import VARIABLE

PROGRAM = """
import jax, jax.monitoring
import tutelage
hits = []
jax.monitoring.register_event_listener(lambda name, **_: hits.append(name) if name.endswith("cache_hits") else None)
x = jax.numpy.linspace(0.0, 1.0, 60).reshape(10, 6)
y = jax.jit(lambda x: jax.numpy.linalg.eigh(jax.numpy.arccos(jax.numpy.tanh(x @ x.T) / 2))[0])(x)
print(len(hits), bytes(y).hex())
"""


def found(folder, flags=""):
    """Whether a fresh process has found a program on disk, and what it has computed; it must not say a word."""
    settings = {VARIABLE: str(folder), "XLA_FLAGS": flags, "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
    outcome = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=os.environ | settings, capture_output=True, text=True, check=False
    )
    assert outcome.returncode == 0 and not outcome.stderr, outcome.stderr
    hits, numbers = outcome.stdout.split()
    return hits != "0", numbers


def test_programs_are_found_by_the_next_process(tmp_path):
    """Also beside those of a lesser processor, which are not taken; and damaged ones are compiled again."""
    lesser = "--xla_cpu_max_isa=SSE4_2"
    first, again = found(tmp_path), found(tmp_path)
    assert not first[0] and again == (True, first[1])
    (place,) = [path for path in tmp_path.iterdir() if path.is_dir()]
    assert not found(tmp_path, lesser)[0] and found(tmp_path, lesser)[0] and found(tmp_path) == again
    for path in place.glob("*-cache"):
        content = path.read_bytes()
        path.write_bytes(content[:100] + bytes(byte ^ 0x55 for byte in content[100:]))
    assert found(tmp_path) == (False, first[1])


def test_a_machine_where_xla_complains_keeps_nothing(tmp_path, monkeypatch):
    """A single word of the processes that try it, on standard error, and no program is kept, now and later."""
    monkeypatch.setattr(module, "_TRIAL", "import sys; print('features differ', file=sys.stderr); print(1)")
    assert tl.cache(tmp_path) is None
    monkeypatch.setattr(module, "_TRIAL", "raise AssertionError('tried once')")
    assert tl.cache(tmp_path) is None and VARIABLE not in os.environ


def test_a_folder_that_is_none(tmp_path, monkeypatch):
    """One clear line for who calls; by the environment, nothing is kept and nothing is said."""
    (tmp_path / "file").write_text("")
    with pytest.raises(tl.InvalidArgument, match="`folder` must be one that can be written to"):
        tl.cache(tmp_path / "file")
    monkeypatch.setenv(VARIABLE, str(tmp_path / "file"))
    module.from_environment()
    monkeypatch.setenv(VARIABLE, "0")
    module.from_environment()
