"""Families: critical points of one symmetry class as functions of the number of neurons."""

from tutelage.geometry.families.points import Eigenvalue as Eigenvalue
from tutelage.geometry.families.points import Family as Family
from tutelage.geometry.families.points import FamilyPoint as FamilyPoint
from tutelage.geometry.families.points import FamilyPoints as FamilyPoints
from tutelage.geometry.families.points import family as family
