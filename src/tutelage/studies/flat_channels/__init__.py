"""Studies of pairs of neurons that run away together."""

from tutelage.studies.flat_channels import channels

STUDIES = (channels.STUDY,)
