"""Reports of runs that were kept, for people and for programs: one page of HTML, JUnit, SARIF, JSON lines, Markdown.

Doors: `run_report` collects what all of them tell, `page` makes the page, `machine_reports` the others, and
`whole_files` writes them.
"""

DOOR = ("run_report", "page", "machine_reports", "whole_files")
