"""Geometry: critical points and their kinds, splitting neurons, convexity and its relatives, and the atlas of minima."""

from tutelage.geometry.atlas import Atlas as Atlas
from tutelage.geometry.atlas import AtlasEntry as AtlasEntry
from tutelage.geometry.atlas import atlas as atlas
from tutelage.geometry.blocks import Block as Block
from tutelage.geometry.blocks import Structure as Structure
from tutelage.geometry.critical import CriticalPoint as CriticalPoint
from tutelage.geometry.critical import Tolerances as Tolerances
from tutelage.geometry.critical import critical_point as critical_point
from tutelage.geometry.global_minima import GlobalMinima as GlobalMinima
from tutelage.geometry.global_minima import Partition as Partition
from tutelage.geometry.global_minima import global_minima as global_minima
from tutelage.geometry.spectrum import Spectrum as Spectrum
from tutelage.geometry.spectrum import spectrum as spectrum
from tutelage.geometry.splitting import Descent as Descent
from tutelage.geometry.splitting import descent_direction as descent_direction
from tutelage.geometry.splitting import merge as merge
from tutelage.geometry.splitting import reduced_blocks as reduced_blocks
from tutelage.geometry.splitting import split as split
from tutelage.geometry.splitting import wider as wider
from tutelage.geometry.storage import load_atlas as load_atlas
