"""The experiment, the figures and the table of the mild over-parameterization paper, and the effect it sets out to explain."""

from tutelage.studies.mild_overparameterization import (
    experiment,
    figure_2,
    large_networks,
    more_students,
    splitting,
    table_1,
)

STUDIES = (experiment.STUDY, figure_2.STUDY, table_1.STUDY, more_students.STUDY, splitting.STUDY, large_networks.STUDY)
