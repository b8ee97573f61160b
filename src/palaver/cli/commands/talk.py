"""`palaver talk`: conversations with a real peer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from palaver.campaign.run import Until
from palaver.campaign.talk import SetupError, talk
from palaver.campaign.target import TargetError
from palaver.cli.main import FINDINGS, INTERRUPTED, WRONG_USE
from palaver.cli.options import (
    budget_option,
    count_option,
    load_spec,
    rates,
    search_options,
    seconds_option,
    size_options,
    talk_options,
)
from palaver.navigation.goals import Goal
from palaver.reporting.console import ConsoleReport
from palaver.session.findings import Verdict
from palaver.session.play import BUDGET
from palaver.solving.workshop import Limits

# Options that are handed on to `palaver.talk` under the same name.
_AS_THEY_ARE = (
    *("seed", "seconds", "until", "k", "goal", "schedule", "coverage_file", "timeout", "patience"),
    *("quiet_interval", "wait_for_server", "max_messages", "max_message_bytes"),
)


class _Talk(click.Command):
    """The spec may stand first, without an option; what stands after the options is a program with its arguments."""

    def parse_args(self, context: click.Context, arguments: list[str]) -> list[str]:
        if arguments and not arguments[0].startswith("-"):
            arguments = ["-f", *arguments]
        return super().parse_args(context, arguments)


@click.command("talk", cls=_Talk, context_settings={"allow_interspersed_args": False})
@talk_options
@click.option("--client", "clients", multiple=True, metavar="[NAME=]URI", help="Be the client, and connect to URI.")
@click.option("--server", "servers", multiple=True, metavar="[NAME=]URI", help="Be the server, and listen at URI.")
@click.option(
    "-n",
    "--num-sessions",
    "count",
    type=click.IntRange(1),
    help="How many conversations; as many as it takes unless given.",
)
@click.option("--time", "seconds", type=click.FloatRange(0, min_open=True), help="Stop after so many seconds.")
@click.option(
    "--until",
    type=click.Choice([each.value for each in Until]),
    help="When to stop: all is covered; or all that seems within reach, the default; or only after -n or --time.",
)
@count_option("-k", default=5, help="Cover paths of up to K symbols.")
@click.option(
    "--goal",
    type=click.Choice([each.value for each in Goal]),
    default=Goal.ALL.value,
    show_default=True,
    help="What to cover: what we say, states as well, or answers, too.",
)
@click.option(
    "--schedule",
    type=click.Choice(["gain", "paper"]),
    default="gain",
    show_default=True,
    help="How targets are chosen: by what they gain for their cost, or drawn as the paper says.",
)
@click.option("--unguided", is_flag=True, help="Walk at random.")
@click.option(
    "--coverage-file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Go on from what this file says is covered, and write it.",
)
@click.option("--seed", "--random-seed", "seed", type=int, help="The same seed and answers give the same conversation.")
@seconds_option("--timeout", default=5.0, help="Seconds to wait for a connection, and for a message to begin.")
@seconds_option("--patience", default=5.0, help="Seconds to wait inside of a message.")
@click.option(
    "--quiet-interval",
    type=click.FloatRange(0),
    help="Seconds after which a message that could go on is complete; by the peer's rhythm unless given.",
)
@count_option("--max-messages", default=1000, help="End a conversation after so many.")
@count_option("--max-message-bytes", default=1 << 20, help="How long a message of the peer may be.")
@seconds_option("--wait-for-server", default=1.0, help="Seconds in which a server that refuses may still be starting.")
@click.option(
    "--target",
    "command_line",
    metavar="COMMAND",
    help="Start the program under test, too; {port} stands for a free port, here and in --client or --server.",
)
@size_options
@budget_option(BUDGET, "message")
@search_options
@click.option("-v", "--verbose", is_flag=True, help="Show the conversation, and what is planned.")
@click.option(
    "--console",
    type=click.Choice(["auto", "live", "plain", "none"]),
    default="auto",
    show_default=True,
    help="How to show on standard error how far it is: bars, a line now and then, or not; auto: as suits it.",
)
@click.argument("program", nargs=-1, metavar="[COMMAND ARGS…]")
def command(**options: Any) -> int:
    """Talk to a server, a client or a program as a spec says.

    With --client palaver connects and is the client, with --server it listens and is the server; a COMMAND is talked to
    through its standard input and output. What the peer does wrong is shown, and makes the exit code 1.
    """
    spec = load_spec(options)
    limits = Limits(options["max_nodes"], options["max_repetitions"], options["budget"], rates(options))
    try:
        campaign = talk(
            spec,
            client=options["clients"],
            server=options["servers"],
            program=options["program"],
            target=options["command_line"],
            sessions=options["count"],
            guided=not options["unguided"],
            solving=limits,
            plans=options["verbose"],
            **{name: options[name] for name in _AS_THEY_ARE},
        )
    except SetupError as error:
        raise click.UsageError(str(error)) from error
    report = ConsoleReport(campaign, verbose=options["verbose"], console=options["console"])
    try:
        campaign.attach(report).run()
    except KeyboardInterrupt:
        return INTERRUPTED
    except TargetError as error:
        raise click.UsageError(str(error)) from error
    finally:
        report.close()
    if campaign.verdict is Verdict.ERROR:
        return WRONG_USE
    return 0 if campaign.verdict is Verdict.PASS else FINDINGS
