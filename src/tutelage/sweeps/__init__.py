"""Many runs at once: sweeps over grids, and what they have computed."""

from tutelage.sweeps.folder import OtherSweep as OtherSweep
from tutelage.sweeps.results import Results as Results
from tutelage.sweeps.results import open_sweep as open_sweep
from tutelage.sweeps.running import run_sweep as run_sweep
from tutelage.sweeps.specification.issues import SpecificationError as SpecificationError
from tutelage.sweeps.sweep import Sweep as Sweep
from tutelage.sweeps.tables import Computed as Computed
from tutelage.sweeps.tables import Range as Range
from tutelage.work.folder import NotOurs as NotOurs
from tutelage.work.lock import FolderInUse as FolderInUse
