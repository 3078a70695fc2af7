"""Activations: scalar functions with their derivatives, symmetries and closed forms."""

from tutelage.activations.base import Activation as Activation
from tutelage.activations.base import Element as Element
from tutelage.activations.custom import Custom as Custom
from tutelage.activations.discontinuous import Sign as Sign
from tutelage.activations.discontinuous import Step as Step
from tutelage.activations.piecewise_linear import Absolute as Absolute
from tutelage.activations.piecewise_linear import LeakyReLU as LeakyReLU
from tutelage.activations.piecewise_linear import Linear as Linear
from tutelage.activations.piecewise_linear import ReLU as ReLU
from tutelage.activations.polynomial import Polynomial as Polynomial
from tutelage.activations.polynomial import hermite as hermite
from tutelage.activations.polynomial import monomial as monomial
from tutelage.activations.registry import get as get
from tutelage.activations.registry import names as names
from tutelage.activations.smooth import GELU as GELU
from tutelage.activations.smooth import Erf as Erf
from tutelage.activations.smooth import Quadratic as Quadratic
from tutelage.activations.smooth import Sigmoid as Sigmoid
from tutelage.activations.smooth import Softplus as Softplus
from tutelage.activations.smooth import Tanh as Tanh
from tutelage.activations.trigonometric import Cosine as Cosine
from tutelage.activations.trigonometric import Sine as Sine
