"""Starts: batches of initial students, one random key per run."""

from tutelage.starts.base import run_keys as run_keys
from tutelage.starts.fitted import fitted as fitted
from tutelage.starts.fitted import subspace as subspace
from tutelage.starts.geometric import large_norm as large_norm
from tutelage.starts.geometric import near as near
from tutelage.starts.geometric import sphere_ball as sphere_ball
from tutelage.starts.independent import gaussian as gaussian
from tutelage.starts.independent import product as product
from tutelage.starts.independent import signs as signs
from tutelage.starts.independent import uniform as uniform
from tutelage.starts.independent import xavier as xavier
