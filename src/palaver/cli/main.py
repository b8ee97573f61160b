"""The entry point of the command `palaver`. It loads the rest itself, so that Ctrl-C meanwhile is no traceback."""

from __future__ import annotations

import os
import sys
from typing import NoReturn


def run(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line and exit."""
    try:
        from palaver.cli.command_line import exit_code

        code = exit_code(arguments)
    except KeyboardInterrupt:  # before there was anything to be ended
        os.write(2, b"palaver: interrupted\n")
        code = 130
    sys.exit(code)
