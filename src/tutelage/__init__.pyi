from . import activations as activations
from . import duals as duals
from . import inputs as inputs
