"""The commands, and how every outcome of them becomes an exit code (`exit_codes`)."""

from __future__ import annotations

import gc
import os
import sys
import traceback
from importlib import import_module
from io import StringIO, TextIOWrapper
from typing import Any

import click

from palaver.cli.closed_output import ReportOutput, drop_output
from palaver.cli.exit_codes import FINDINGS, OUR_FAILURE, UNDECIDED, WRONG_USE
from palaver.cli.signals import cause_of, termination_raised
from palaver.errors import PalaverError, SpecCrash, SpecError, Undecided
from palaver.printable import printable
from palaver.version import VERSION

_COMMANDS = {
    "check": "Report the errors and warnings of a spec, and its size.",
    "compare": "Hold the same conversations with several implementations, and show differences.",
    "convert": "Print the grammar of a spec, or the states of its dialogue.",
    "demo": "Test a mail server that has planted defects, and find them.",
    "export": "Export a finding as a script that reproduces it, or as a capture of packets.",
    "fuzz": "Generate inputs that satisfy a spec.",
    "graph": "Draw the states of a protocol, and which of them were covered.",
    "known": "List the findings that are known, or add one.",
    "parse": "Check whether inputs conform to a spec.",
    "replay": "Try a recorded finding again.",
    "report": "Make a page of runs that were kept: findings, coverage, the peer.",
    "runs": "List the runs that were kept, or remove old ones.",
    "show": "Show a run that was kept, or a finding or session of it.",
    "shrink": "Make the conversation of a recorded finding small.",
    "specs": "List or print the specs that come with palaver.",
    "talk": "Test a server, a client or a program in sessions.",
}


class _OutputClosed(Exception):
    """Whoever read our output has seen enough."""


class _Commands(click.Group):
    """Subcommands whose modules are imported only when they are used: starting up should cost nothing."""

    def invoke(self, context: click.Context) -> Any:
        try:
            return super().invoke(context)
        except BrokenPipeError as error:
            raise _OutputClosed from error  # click would make an exit code of 1 of it

    def list_commands(self, context: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in _COMMANDS:
            return None
        command: click.Command = import_module(f"palaver.cli.commands.{name}").command
        gc.freeze()  # what was imported stays
        return command

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


def _print_version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        click.echo(f"palaver {VERSION}")
        context.exit()


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Show the version."
)
def palaver() -> None:
    """palaver tests protocol implementations against an executable spec."""


def exit_code(arguments: list[str] | None) -> int:
    """Run a command to its end, and return its exit code."""
    before, errors = sys.stdout, sys.stderr
    if isinstance(before, TextIOWrapper):
        # Names of files and words of errors may hold what cannot be encoded; standard error is as lenient by itself.
        before.reconfigure(errors="backslashreplace")
    if before is not None:
        sys.stdout = ReportOutput(before)
    if errors is not None:
        sys.stderr = ReportOutput(errors)
    try:
        with termination_raised():
            return _exit_code(arguments)
    finally:
        sys.stdout, sys.stderr = before, errors


def _exit_code(arguments: list[str] | None) -> int:
    try:
        outcome: Any = palaver.main(arguments, prog_name="palaver", standalone_mode=False)
        return outcome if isinstance(outcome, int) else 0
    except click.exceptions.Exit as exit_:
        return exit_.exit_code
    except click.ClickException as error:
        shown = StringIO()
        error.show(shown)
        click.echo(printable(shown.getvalue()), err=True, nl=False)
        return WRONG_USE
    except (click.Abort, KeyboardInterrupt) as error:
        code, what = cause_of(error)
        click.echo(f"palaver: {what}", err=True)
        return code
    except (SpecError, SpecCrash) as error:
        click.echo(printable(str(error)), err=True)
        return WRONG_USE
    except Undecided as error:
        click.echo(printable(f"palaver: undecided: {error}"), err=True)
        return UNDECIDED
    except PalaverError as error:
        click.echo(printable(f"palaver: {error}"), err=True)
        return FINDINGS
    except _OutputClosed:
        drop_output()
        return 0
    except OSError as error:
        # A full disk, a file that is gone by now: nobody's mistake, but the user can do something about it.
        click.echo(printable(f"palaver: {error}"), err=True)
        try:
            sys.stdout.flush()
        except OSError:
            drop_output()
        return WRONG_USE
    except Exception as error:
        if "PALAVER_DEBUG" in os.environ:
            traceback.print_exc()
        click.echo(printable(f"palaver failed: {type(error).__name__}: {error}"), err=True)
        click.echo("This is a bug in palaver. Set PALAVER_DEBUG=1 to see where.", err=True)
        return OUR_FAILURE
