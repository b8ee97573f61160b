"""Commands whose help shows their options in groups, with examples at the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import click


class GroupedCommand(click.Command):
    """A command with headings over its options, by the names of parameters; the rest comes last."""

    groups: ClassVar[Mapping[str, Sequence[str]]] = {}
    examples: ClassVar[Sequence[tuple[str, str]]] = ()  # what it does, and the command

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        records = {
            parameter.name: record
            for parameter in self.get_params(context)
            if isinstance(parameter, click.Option) and (record := parameter.get_help_record(context)) is not None
        }
        for heading, names in self.groups.items():
            with formatter.section(heading):
                formatter.write_dl([records.pop(name) for name in names])
        with formatter.section("Other options"):
            formatter.write_dl(list(records.values()))

    def format_epilog(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Examples"):
            for what, example in self.examples:
                formatter.write(f"{'':>{formatter.current_indent}}# {what}\n")
                formatter.write(f"{'':>{formatter.current_indent}}{example}\n")
