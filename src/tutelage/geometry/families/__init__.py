"""Families: critical points of one symmetry class as functions of the number of neurons."""

from tutelage.geometry.families.family import Eigenvalue as Eigenvalue
from tutelage.geometry.families.family import Family as Family
from tutelage.geometry.families.family import FamilyPoint as FamilyPoint
from tutelage.geometry.families.family import FamilyPoints as FamilyPoints
from tutelage.geometry.families.family import family as family
