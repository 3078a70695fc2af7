"""Families: critical points of one symmetry class as functions of the number of neurons."""

from tutelage.geometry.families.branches import Branch as Branch
from tutelage.geometry.families.branches import Event as Event
from tutelage.geometry.families.expansions import Expansion as Expansion
from tutelage.geometry.families.expansions import FamilyExpansion as FamilyExpansion
from tutelage.geometry.families.points import Eigenvalue as Eigenvalue
from tutelage.geometry.families.points import Family as Family
from tutelage.geometry.families.points import FamilyPoint as FamilyPoint
from tutelage.geometry.families.points import FamilyPoints as FamilyPoints
from tutelage.geometry.families.points import family as family
