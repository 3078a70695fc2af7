"""Compiled programs on disk, for whoever asks for them: the next process loads what this one has compiled.

JAX keeps them; here it is decided where, and whether at all. A program is machine code: it is kept apart for every kind
of processor and every version, in a folder that only its owner can write to, and before a folder is used for the first
time two fresh processes try it, one to write and one to read. If either of them says a word, as some versions of XLA do
of processors whose features they name differently when they compile and when they load, nothing is kept.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import warnings
from importlib.metadata import version
from pathlib import Path

from tutelage.errors import InvalidArgument, MalformedData, Unreadable, invalid
from tutelage.files import checked_path, digest
from tutelage.work.documents import Document, read_sealed, write_sealed

VARIABLE = "TUTELAGE_CACHE"
"""Variable of the environment: a folder, or 1 for the usual one. Workers inherit it."""
_TRIED = "tried.json"
_SETTINGS = {
    # A program that compiles faster than it loads is not kept.
    "jax_persistent_cache_min_compile_time_secs": 0.05,
    "jax_persistent_cache_min_entry_size_bytes": 0,
}
_TRIAL = """
import jax, jax.monitoring
hits = []
jax.monitoring.register_event_listener(lambda name, **_: hits.append(name) if name.endswith("cache_hits") else None)
jax.config.update("jax_enable_x64", True)
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
x = jax.numpy.arange(24.0).reshape(4, 6)
jax.jit(lambda x: jax.numpy.linalg.eigh(jax.numpy.arccos(jax.numpy.tanh(x @ x.T))))(x)[0].block_until_ready()
print(len(hits))
"""


class _Tried(Document):
    works: bool
    said: str


def cache(folder: str | Path | None = None) -> Path | None:
    """Keep compiled programs on disk from now on, in this process and in the workers that it starts.

    The first call on a machine tries it in two processes, which takes some seconds.

    Args:
        folder: Where to keep them; by default `tutelage` in the user's folder of caches.

    Returns:
        The folder for this kind of machine and these versions; `None` if programs cannot be kept there without harm,
        and then nothing is changed.

    Raises:
        InvalidArgument: If the folder is none, or cannot be written to.
    """
    place = (_usual() if folder is None else checked_path("folder", folder)).expanduser().absolute() / _kind()
    try:
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        works = _works(place)
    except OSError as error:
        raise invalid(
            "folder", f"be one that can be written to ({error.strerror})", str(place), "Name another"
        ) from error
    if not works:
        return None
    os.environ[VARIABLE] = str(place.parent)
    _use(place)
    return place


def from_environment() -> None:
    """Do what the variable of the environment asks for; whatever is wrong with it, no program is kept."""
    said = os.environ.get(VARIABLE, "").strip()
    if said and said != "0":
        try:
            cache(None if said == "1" else said)
        except InvalidArgument:
            return


def _usual() -> Path:
    if sys.platform == "darwin":
        return Path("~/Library/Caches/tutelage")
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", "~/AppData/Local"), "tutelage", "cache")
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "tutelage")


def _kind() -> str:
    """Return a name for this kind of machine and these versions: what one has compiled, no other may run."""
    versions = [f"{package} {version(package)}" for package in ("tutelage", "jax", "jaxlib", "numpy")]
    said = [*versions, platform.system(), platform.machine(), platform.processor(), *_features()]
    return f"{version('jaxlib')}-{digest(chr(10).join(said))[:16]}"


def _features() -> list[str]:
    """Return what the system says that the processor can do, where it says so."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    wanted = ("model name", "flags", "Features", "CPU part")
    return sorted({line for line in lines if line.startswith(wanted)})


def _works(place: Path) -> bool:
    """Whether two processes that share the folder write and read programs without a word; tried once."""
    try:
        return read_sealed(place / _TRIED, _Tried).works
    except (FileNotFoundError, MalformedData, Unreadable):
        pass
    hits: list[str] = []
    said = ""
    environment = {**os.environ, "JAX_COMPILATION_CACHE_DIR": str(place), VARIABLE: ""}
    for _ in range(2):
        trial = subprocess.run(
            [sys.executable, "-W", "error", "-c", _TRIAL], env=environment, capture_output=True, text=True, check=False
        )
        hits.append(trial.stdout.strip())
        said += trial.stderr
    works = not said and hits[0] == "0" and hits[1] not in ("0", "")
    write_sealed(place / _TRIED, {"works": works, "said": said[-2000:]})
    return works


def _use(place: Path) -> None:
    settings = {"jax_compilation_cache_dir": str(place), **_SETTINGS}
    # An entry that cannot be read is compiled again: that is nobody's concern.
    warnings.filterwarnings("ignore", message=r".*persistent compilation cache.*")
    if "jax" not in sys.modules:
        for name, value in settings.items():
            os.environ.setdefault(name.upper(), str(value))
        return
    import jax

    for name, value in settings.items():
        jax.config.update(name, value)
