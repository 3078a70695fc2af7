"""Problems: a student model with its teacher, the law of the inputs and the label noise."""

from tutelage.problems.constructors import committee as committee
from tutelage.problems.constructors import composite as composite
from tutelage.problems.constructors import convolution as convolution
from tutelage.problems.constructors import homogeneous as homogeneous
from tutelage.problems.constructors import neuron as neuron
from tutelage.problems.constructors import parity as parity
from tutelage.problems.constructors import wave as wave
from tutelage.problems.problem import Problem as Problem
from tutelage.problems.two_layer import two_layer as two_layer
