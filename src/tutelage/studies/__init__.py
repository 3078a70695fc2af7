"""Studies: figures, tables and experiments of papers as programs, with what was published beside what was measured."""

from tutelage.studies.base import Conclusion as Conclusion
from tutelage.studies.base import Expectation as Expectation
from tutelage.studies.base import Picture as Picture
from tutelage.studies.base import Setting as Setting
from tutelage.studies.base import Study as Study
from tutelage.studies.base import Values as Values
from tutelage.studies.base import chosen as chosen
from tutelage.studies.base import printed as printed
from tutelage.studies.changes import with_settings as with_settings
from tutelage.studies.expectations import above as above
from tutelage.studies.expectations import at_least as at_least
from tutelage.studies.expectations import at_most as at_most
from tutelage.studies.expectations import below as below
from tutelage.studies.expectations import described as described
from tutelage.studies.expectations import within as within
from tutelage.studies.registry import all_studies as all_studies
from tutelage.studies.registry import find as find
from tutelage.studies.registry import studies_of as studies_of
from tutelage.studies.running import Reproduced as Reproduced
from tutelage.studies.running import reproduce as reproduce
