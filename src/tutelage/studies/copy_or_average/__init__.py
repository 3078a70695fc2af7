"""Studies of networks with fewer students than teachers."""

from tutelage.studies.copy_or_average import narrow_students

STUDIES = (narrow_students.STUDY,)
