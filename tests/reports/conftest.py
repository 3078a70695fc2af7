"""A report with one study and one judged claim."""

import pytest

from tutelage.claims import find as find_claims
from tutelage.claims.auditing import audit
from tutelage.reports import studies_folder, write_report
from tutelage.studies import find, reproduce


@pytest.fixture(scope="session")
def report(tmp_path_factory):
    """The folder of a report."""
    folder = tmp_path_factory.mktemp("report")
    list(reproduce(find(["mild_overparameterization.figure-2"]), studies_folder(folder), workers=1))
    # Another seed than that of the record: what is shown must be what was found here.
    audit(find_claims(["convolutional_filter.section-E.step"]), "default", 1, folder=folder)
    assert write_report(folder) == folder / "index.html"
    return folder
