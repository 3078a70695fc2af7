"""Many runs at once: sweeps over grids, processes, and files that are complete or absent."""

from tutelage.files import digest as digest
from tutelage.files import write_bytes as write_bytes
from tutelage.files import write_json as write_json
from tutelage.sweeps.contract import Outcome as Outcome
from tutelage.sweeps.contract import Shard as Shard
from tutelage.sweeps.contract import Work as Work
from tutelage.sweeps.engine import Progress as Progress
from tutelage.sweeps.engine import run_sweep as run_sweep
from tutelage.sweeps.pool import PieceFailed as PieceFailed
from tutelage.sweeps.pool import in_processes as in_processes
from tutelage.sweeps.reading import Results as Results
from tutelage.sweeps.reading import open_sweep as open_sweep
from tutelage.sweeps.specification.issues import SpecificationError as SpecificationError
from tutelage.sweeps.store import OtherSweep as OtherSweep
from tutelage.sweeps.work import Stopped as Stopped
from tutelage.sweeps.work import Sweep as Sweep
from tutelage.work.archives import read_arrays as read_arrays
from tutelage.work.archives import write_arrays as write_arrays
from tutelage.work.folder import NotOurs as NotOurs
from tutelage.work.lock import FolderInUse as FolderInUse
from tutelage.work.lock import locked as locked
