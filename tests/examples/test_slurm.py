"""The script for SLURM: the jobs it would submit, and a whole sweep with a stand-in for SLURM's commands."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tutelage.sweeps import open_sweep

SCRIPT = Path(__file__).parents[2] / "examples" / "slurm_sweep.py"
SPECIFICATION = """\
runs = 4

[problem]
family = "committee"
students = 2
teacher = { generator = "orthonormal", neurons = 2, dimension = 2 }

[method]
kind = "gradient_descent"
step = 0.5

[stop]
step_limit = 5
"""
# Jobs begin at once, and end with their process group; as SLURM does, a job keeps a copy of its script.
SBATCH = """\
#!/bin/sh
cp "$1" job.sh
setsid sh job.sh > job.log 2>&1 < /dev/null &
echo "Submitted batch job $!"
"""
SCANCEL = """\
#!/bin/sh
for job in "$@"; do kill -- "-$job" 2> /dev/null; done
true
"""


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess:
    """Run the script in a folder whose `bin` comes first on the path."""
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_backend_optimization_level=0"
    paths = {
        "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    return subprocess.run(
        [sys.executable, str(SCRIPT), *arguments],
        cwd=folder,
        env=os.environ | paths | {"XLA_FLAGS": flags},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


def test_job_script(tmp_path):
    """A job asks for what it is told, and starts one worker per core with one thread each, which ends in time."""
    arguments = ("--show", "--cores", "4", "--memory", "8GB", "--walltime", "01:00:00", "--lifetime", "50m")
    outcome = run(tmp_path, *arguments, "--queue", "long", "--account", "theory")
    assert outcome.returncode == 0, outcome.stderr
    script = outcome.stdout
    assert re.search(r"^#SBATCH -p long$", script, flags=re.MULTILINE)
    assert re.search(r"^#SBATCH -A theory$", script, flags=re.MULTILINE)
    assert "#SBATCH --cpus-per-task=4" in script and "#SBATCH -t 01:00:00" in script and "#SBATCH --mem=" in script
    for setting in ("--nthreads 1 ", "--nworkers 4 ", "--lifetime 50m ", "--nanny ", "--protocol tcp://"):
        assert setting in script
    for setting in ("JAX_NUM_CPU_DEVICES='1'", "OMP_NUM_THREADS='1'", "--xla_cpu_multi_thread_eigen=false"):
        assert setting in script
    assert "anybody who reaches the scheduler" in outcome.stderr


@pytest.mark.skipif(shutil.which("openssl") is None, reason="makes certificates with openssl")
def test_job_script_with_tls(tmp_path):
    """Workers are told where the certificates are."""
    made = ["-keyout", "key.pem", "-out", "cert.pem", "-days", "1", "-subj", "/CN=tutelage"]
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", *made]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    shutil.copy(tmp_path / "cert.pem", tmp_path / "ca.pem")
    outcome = run(tmp_path, "--show", "--tls", str(tmp_path))
    assert outcome.returncode == 0 and not outcome.stderr, outcome.stderr
    assert f"--tls-ca-file {tmp_path / 'ca.pem'}" in outcome.stdout and " tls://" in outcome.stdout


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("setsid") is None, reason="jobs are process groups of their own")
def test_a_sweep_with_a_stand_in_for_slurm(tmp_path):
    """Jobs are submitted, workers join, and the sweep is complete."""
    (tmp_path / "bin").mkdir()
    for name, text in (("sbatch", SBATCH), ("scancel", SCANCEL)):
        (tmp_path / "bin" / name).write_text(text)
        (tmp_path / "bin" / name).chmod(0o755)
    (tmp_path / "small.toml").write_text(SPECIFICATION)
    outcome = run(tmp_path, "small.toml", "--out", "results", "--jobs", "1", "--cores", "1", "--memory", "4GB")
    assert outcome.returncode == 0, outcome.stderr
    results = open_sweep(tmp_path / "results")
    assert results.complete and results.coverage.failed == 0
    assert results.manifest.sessions[0].engine.startswith("dask tcp://")
