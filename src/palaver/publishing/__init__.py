"""Reports of runs that were kept, for people and for programs: one page of HTML, JUnit, SARIF, JSON lines, Markdown.

Doors: `run_report` collects what all of them tell, `page` makes the page, `machine_reports` the others, `live_page`
keeps a page up to date while a run goes on, and `whole_files` writes them.
"""

DOOR = ("run_report", "page", "machine_reports", "live_page", "whole_files")
