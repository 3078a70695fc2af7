"""Certificates checked again, by code that shares nothing with what finds them but the formulas."""

from tutelage.geometry.verification.check import fault as fault
from tutelage.geometry.verification.check import uncovered as uncovered
