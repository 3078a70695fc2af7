"""The figure of the single-neuron paper, its probabilities of success, and what lies beyond it."""

from tutelage.studies.single_neuron import (
    figure_1,
    hard_law,
    learnability_map,
    shifted_gaussians,
    success_rates,
)

STUDIES = (figure_1.STUDY, success_rates.STUDY, hard_law.STUDY, learnability_map.STUDY, shifted_gaussians.STUDY)
