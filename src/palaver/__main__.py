"""`python -m palaver` is the command `palaver`."""

from palaver.cli.main import run

run()
