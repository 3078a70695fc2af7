"""The figure of the weight-sharing paper, and experiments on what it proves."""

from tutelage.studies.weight_sharing import figure_1, landscape, ring, time_to_learn

STUDIES = (figure_1.STUDY, time_to_learn.STUDY, ring.STUDY, landscape.STUDY)
