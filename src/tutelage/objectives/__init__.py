"""Objectives: a problem and how its expectation is taken."""

from tutelage.objectives.base import Objective as Objective
from tutelage.objectives.base import Reduction as Reduction
from tutelage.objectives.empirical import Empirical as Empirical
from tutelage.objectives.empirical import empirical as empirical
from tutelage.objectives.exactness import Exactness as Exactness
from tutelage.objectives.population import population as population
from tutelage.objectives.stream import Stream as Stream
from tutelage.objectives.stream import stream as stream
