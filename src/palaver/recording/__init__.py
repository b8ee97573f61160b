"""Run directories: everything that happens in a run, written while it happens, and read again.

Doors: `run_folders` knows where runs are, `run_writer` writes one, `run_reader` opens one, and `showing` makes text of
the conversations in it.
"""

DOOR = ("run_folders", "run_writer", "run_reader", "showing")
