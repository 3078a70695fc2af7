"""Geometry of neurons: which student belongs to which teacher."""

from tutelage.geometry.matching import Matching as Matching
from tutelage.geometry.matching import average_neurons as average_neurons
from tutelage.geometry.matching import line_angles as line_angles
from tutelage.geometry.matching import match as match
from tutelage.geometry.matching import nearest_teacher as nearest_teacher
from tutelage.geometry.matching import norm_range as norm_range
from tutelage.geometry.matching import separation as separation
from tutelage.geometry.matching import teacher_mass as teacher_mass
