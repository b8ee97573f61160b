"""Reports for programs, by the names of their options."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from palaver.publishing.json_lines import json_lines
from palaver.publishing.junit import junit
from palaver.publishing.markdown import github_annotations, markdown
from palaver.publishing.run_checks import CheckOutcome as CheckOutcome
from palaver.publishing.run_checks import RunCheck as RunCheck
from palaver.publishing.run_checks import checks_of as checks_of
from palaver.publishing.run_checks import outcomes as outcomes
from palaver.publishing.run_report import RunReport
from palaver.publishing.sarif import sarif
from palaver.publishing.whole_files import write_whole

FORMATS: Final[Mapping[str, Callable[[RunReport], str]]] = {
    "junit": junit,
    "sarif": sarif,
    "json": json_lines,
    "markdown": markdown,
    "github": github_annotations,
}


def write_reports(report: RunReport, wanted: Mapping[str, str], show: Callable[[str], None]) -> None:
    """Write each report to its file; what is meant for "-" is shown. :raises ReportError: a file cannot be written"""
    for name, file in wanted.items():
        text = FORMATS[name](report)
        if file == "-":
            show(text)
        else:
            write_whole(Path(file), text)
