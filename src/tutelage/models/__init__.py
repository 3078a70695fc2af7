"""Models: architectures and the functions that their parameters compute."""

from tutelage.models.base import Model as Model
from tutelage.models.base import NeuronModel as NeuronModel
from tutelage.models.base import Neurons as Neurons
from tutelage.models.base import Neuronwise as Neuronwise
from tutelage.models.base import Symmetry as Symmetry
from tutelage.models.composite import Composite as Composite
from tutelage.models.composite import FirstAndOuter as FirstAndOuter
from tutelage.models.composite import LearnedComposite as LearnedComposite
from tutelage.models.composite import OuterLayer as OuterLayer
from tutelage.models.convolution import Convolution as Convolution
from tutelage.models.convolution import FilterAndOutput as FilterAndOutput
from tutelage.models.homogeneous import Homogeneous as Homogeneous
from tutelage.models.homogeneous import WithLinear as WithLinear
from tutelage.models.parity import Parity as Parity
from tutelage.models.two_layer import Layers as Layers
from tutelage.models.two_layer import TwoLayer as TwoLayer
from tutelage.models.wave import Wave as Wave
