"""The entry point of the command `palaver`. It loads the rest itself, so that Ctrl-C meanwhile is no traceback."""

from __future__ import annotations

import gc
import os
import sys

TYPE_CHECKING = False  # as in `typing`, without importing it
if TYPE_CHECKING:
    from typing import NoReturn

# New objects until Python's collector looks through them, and rounds of that until it looks through older ones. Specs
# and trees are many objects that stay: with Python's 700, a sixth of a short run is spent looking through them. What is
# imported stays, too, and is left out once it is there, so most short commands end before the first round.
COLLECTOR_THRESHOLDS = (100_000, 10, 10)


def run(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line and exit."""
    gc.set_threshold(*COLLECTOR_THRESHOLDS)
    try:
        from palaver.cli.command_line import exit_code

        code = exit_code(arguments)
    except KeyboardInterrupt:  # before there was anything to be ended
        os.write(2, b"palaver: interrupted\n")
        code = 130
    gc.freeze()  # nobody looks for what is unused in objects that end with the process
    sys.exit(code)
