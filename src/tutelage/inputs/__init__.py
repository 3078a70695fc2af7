"""Laws of the input: what a teacher and a student see."""

from tutelage.inputs.base import Atoms as Atoms
from tutelage.inputs.base import Inputs as Inputs
from tutelage.inputs.base import PlaneDensity as PlaneDensity
from tutelage.inputs.base import Symmetry as Symmetry
from tutelage.inputs.base import plane_basis as plane_basis
from tutelage.inputs.data import data as data
from tutelage.inputs.examples import registry as registry
from tutelage.inputs.finite import Finite as Finite
from tutelage.inputs.finite import finite as finite
from tutelage.inputs.gaussian import Gaussian as Gaussian
from tutelage.inputs.gaussian import gaussian as gaussian
from tutelage.inputs.images import ImagePatches as ImagePatches
from tutelage.inputs.images import mnist_patches as mnist_patches
from tutelage.inputs.images import photo_patches as photo_patches
from tutelage.inputs.mixture import Mixture as Mixture
from tutelage.inputs.mixture import mixture as mixture
from tutelage.inputs.product import Rademacher as Rademacher
from tutelage.inputs.product import UniformBox as UniformBox
from tutelage.inputs.product import rademacher as rademacher
from tutelage.inputs.product import uniform_box as uniform_box
from tutelage.inputs.spherical import Spherical as Spherical
from tutelage.inputs.spherical import ball as ball
from tutelage.inputs.spherical import sphere as sphere
from tutelage.inputs.spherical import spherical as spherical
from tutelage.inputs.spherical import student_t as student_t
