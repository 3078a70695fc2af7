"""Many pieces of work at once: processes, and files that are complete or absent."""

from tutelage.sweeps.files import digest as digest
from tutelage.sweeps.files import read_arrays as read_arrays
from tutelage.sweeps.files import write_arrays as write_arrays
from tutelage.sweeps.files import write_bytes as write_bytes
from tutelage.sweeps.files import write_json as write_json
from tutelage.sweeps.pool import PieceFailed as PieceFailed
from tutelage.sweeps.pool import in_processes as in_processes
