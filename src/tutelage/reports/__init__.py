"""The report: one folder of static HTML that opens from disk, without a network."""

from tutelage.reports.verdicts import claim_report as claim_report
from tutelage.reports.verdicts import kept_verdicts as kept_verdicts
from tutelage.reports.verdicts import save_verdicts as save_verdicts
from tutelage.reports.writing import studies_folder as studies_folder
from tutelage.reports.writing import write_report as write_report
