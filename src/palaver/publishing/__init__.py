"""Reports of runs that were kept: one page of HTML.

Doors: `run_report` collects what is told, `page` makes the page of it, and `whole_files` writes it.
"""

DOOR = ("run_report", "page", "whole_files")
