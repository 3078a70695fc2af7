"""The report: one folder of static HTML that opens from disk, without a network."""

from tutelage.reports.content import studies_folder as studies_folder
from tutelage.reports.writing import write_report as write_report
