"""tutelage: an exact laboratory for teacher–student neural networks.

Importing tutelage turns on JAX's 64-bit floats and asks for one host device per core, so that independent runs
use every core. Both are set before JAX starts where that is still possible; neither overrides a choice that the
user made through JAX's own settings. Nothing heavy is imported until a name is used.
"""

import os

import lazy_loader as _lazy

from tutelage import _configuration

_configuration.apply()
if os.environ.get("TUTELAGE_CACHE"):
    from tutelage.work.cache import from_environment as _from_environment

    _from_environment()

__version__ = "0.2.0"
__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
