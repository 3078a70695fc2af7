"""Dynamics: methods that move students, and `descend`, which follows many runs at once."""

from tutelage.dynamics.accelerated import AcceleratedDescent as AcceleratedDescent
from tutelage.dynamics.base import Method as Method
from tutelage.dynamics.chebyshev import ChebyshevDescent as ChebyshevDescent
from tutelage.dynamics.descend import descend as descend
from tutelage.dynamics.flow import GradientFlow as GradientFlow
from tutelage.dynamics.krylov import NewtonKrylov as NewtonKrylov
from tutelage.dynamics.methods import Ball as Ball
from tutelage.dynamics.methods import GradientDescent as GradientDescent
from tutelage.dynamics.methods import OptaxMethod as OptaxMethod
from tutelage.dynamics.methods import PerturbedGradientDescent as PerturbedGradientDescent
from tutelage.dynamics.methods import StochasticGradientDescent as StochasticGradientDescent
from tutelage.dynamics.newton import Newton as Newton
from tutelage.dynamics.records import Record as Record
from tutelage.dynamics.records import record as record
from tutelage.dynamics.restarts import Restarts as Restarts
from tutelage.dynamics.restarts import restarts as restarts
from tutelage.dynamics.runs import Interrupted as Interrupted
from tutelage.dynamics.runs import Runs as Runs
from tutelage.dynamics.shortcuts import descend_to_minima as descend_to_minima
from tutelage.dynamics.stops import Stop as Stop
from tutelage.dynamics.stops import gradient_norm as gradient_norm
from tutelage.dynamics.stops import loss_below as loss_below
from tutelage.dynamics.stops import parameter_change as parameter_change
from tutelage.dynamics.stops import step_limit as step_limit
from tutelage.dynamics.stops import wall_time as wall_time
