"""A sweep on a SLURM cluster, through dask-jobqueue.

    python slurm_sweep.py committee.toml --out results --jobs 20 --tls ~/dask-tls
    python slurm_sweep.py --show            print the script of a job, and submit nothing

Run it on a node from which jobs can be submitted, in a session that lasts (tmux, or a small job of its own). It asks
SLURM for workers, joins them as they come, and goes on without those that end. If it ends itself, the same command
continues.
"""

import argparse
import sys
from pathlib import Path

import dask.config
from dask_jobqueue import SLURMCluster
from distributed.security import Security

from tutelage.work.processes import one_thread


# --8<-- [start:cluster]
def encryption(folder: Path) -> Security:
    """Return settings that let only those join who have the files `ca.pem`, `cert.pem` and `key.pem` of a folder."""
    authority, certificate, key = (str(folder.expanduser() / f"{name}.pem") for name in ("ca", "cert", "key"))
    # The sweep itself is a client of the scheduler, and finds the files through Dask's configuration.
    settings = {"distributed.comm.tls.ca-file": authority, "distributed.comm.require-encryption": True}
    for role in ("scheduler", "worker", "client"):
        settings |= {f"distributed.comm.tls.{role}.cert": certificate, f"distributed.comm.tls.{role}.key": key}
    dask.config.set(settings)
    return Security()


def cluster(options: argparse.Namespace) -> SLURMCluster:
    """Return a scheduler that submits jobs of `--cores` workers with one thread each."""
    security = None if options.tls is None else encryption(options.tls)
    return SLURMCluster(
        queue=options.queue,
        account=options.account,
        cores=options.cores,
        processes=options.cores,
        memory=options.memory,
        walltime=options.walltime,
        # Workers end a little before SLURM ends them, and what they were doing goes to others.
        worker_extra_args=["--lifetime", options.lifetime, "--lifetime-stagger", "2m"],
        # A run uses one core: the libraries of a worker must not start threads.
        job_script_prologue=[f"export {name}='{value}'" for name, value in one_thread().items()],
        protocol="tcp://" if security is None else "tls://",
        security=security,
        log_directory="slurm-logs",
        scheduler_options={"dashboard_address": "127.0.0.1:0"},
    )


# --8<-- [end:cluster]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("specification", nargs="?", default="committee.toml", help="a specification")
    parser.add_argument("--out", default="slurm-sweep", help="folder of the results")
    parser.add_argument("--jobs", type=int, default=10, help="number of jobs")
    parser.add_argument("--cores", type=int, default=8, help="cores, and so workers, of a job")
    parser.add_argument("--memory", default="16GB", help="memory of a job")
    parser.add_argument("--walltime", default="02:00:00", help="time limit of a job")
    parser.add_argument("--lifetime", default="110m", help="time after which workers end; less than the time limit")
    parser.add_argument("--queue", help="partition")
    parser.add_argument("--account", help="account")
    parser.add_argument("--tls", type=Path, help="folder with ca.pem, cert.pem and key.pem, which all nodes see")
    parser.add_argument("--show", action="store_true", help="print the script of a job, and submit nothing")
    options = parser.parse_args()
    if options.tls is None:
        print("Without --tls anybody who reaches the scheduler can run programs as you.", file=sys.stderr)
    with cluster(options) as jobs:
        if options.show:
            print(jobs.job_script())
            return
        from tutelage.sweeps import Sweep, run_sweep

        jobs.scale(jobs=options.jobs)
        sweep = Sweep.from_toml(options.specification)
        results = run_sweep(
            sweep, options.out, dask=jobs.scheduler_address, notice=lambda text: print(text, file=sys.stderr)
        )
        print(results.success())


if __name__ == "__main__":
    main()
