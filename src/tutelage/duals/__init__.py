r"""Duals: exact expectations $E[\sigma(w\cdot x)\,\tau(v\cdot x)]$ with their derivatives."""

from tutelage.duals.base import Dual as Dual
from tutelage.duals.base import Kernel as Kernel
from tutelage.duals.dispatch import dual as dual
from tutelage.duals.dispatch import kernel as kernel
from tutelage.duals.means import Mean as Mean
from tutelage.duals.means import mean as mean
from tutelage.duals.quadrature import Quadrature as Quadrature
