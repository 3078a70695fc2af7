"""The figure of the convolutional-filter paper, and experiments on what it proves."""

from tutelage.studies.convolutional_filter import figure_1b, phase_portrait, sampled_data, success_probability

STUDIES = (figure_1b.STUDY, success_probability.STUDY, phase_portrait.STUDY, sampled_data.STUDY)
