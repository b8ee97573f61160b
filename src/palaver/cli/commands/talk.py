"""`palaver talk`: conversations with a real peer."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import click

from palaver.campaign.run import Budget, Campaign, Until
from palaver.campaign.target import PORT, Target, TargetError, command_of
from palaver.chance import Chance
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
from palaver.cli.tally import Tally
from palaver.compiled import Spec
from palaver.errors import PalaverError
from palaver.navigation import store
from palaver.navigation.goals import Goal
from palaver.navigation.guidance import Guidance
from palaver.party import ConnectionMode, Protocol, split_party_spec
from palaver.session.cast import Casting
from palaver.session.engine import Patience
from palaver.session.play import BUDGET, Play
from palaver.solving.workshop import Limits
from palaver.transport.loop import Loop
from palaver.transport.ports import free_port


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
    port = _fill_in_the_port(options)
    try:
        limits = Limits(options["max_nodes"], options["max_repetitions"], options["budget"], rates(options))
        play = Play(spec, _casting(spec, options), limits)
    except PalaverError as error:
        raise click.UsageError(str(error)) from error
    patience = Patience(
        timeout=options["timeout"],
        patience=options["patience"],
        quiet=options["quiet_interval"],
        largest_message=options["max_message_bytes"],
        most_messages=options["max_messages"],
    )
    play.prepare()
    chance = Chance.fresh() if options["seed"] is None else Chance(options["seed"])
    follows_the_paper = options["schedule"] == "paper"
    guidance = Guidance(play, chance, k=options["k"], goal=Goal(options["goal"]), follows_the_paper=follows_the_paper)
    file = options["coverage_file"]
    if file is not None and file.exists():
        guidance.go_on_from(store.read(file))
    loop = Loop(connect_timeout=options["timeout"], startup_patience=options["wait_for_server"])
    is_guided, target = not options["unguided"], _target(loop, options, port)
    campaign = Campaign(play, guidance, chance, patience, _budget(options), loop, is_guided=is_guided, target=target)
    tally = Tally(campaign, verbose=options["verbose"], console=options["console"])
    is_interrupted = False
    try:
        with tally:
            campaign.run()
    except KeyboardInterrupt:
        is_interrupted = True
        campaign.progress.ended = "it was interrupted"
    except TargetError as error:
        if not campaign.progress.sessions:
            raise click.UsageError(str(error)) from error
        # What was found until then is not lost.
        campaign.progress.ended = str(error)
    finally:
        # What was found out is written first: who is in a hurry may interrupt once more while all is closed.
        try:
            if file is not None:
                store.write(file, **guidance.as_data())
        finally:
            loop.close()
    return tally.conclude(is_interrupted=is_interrupted)


def _fill_in_the_port(options: dict[str, Any]) -> int:
    """Choose the port of the program under test, and put it where it is wanted. Unless told otherwise be its client."""
    if options["command_line"] is None:
        return 0
    if not options["clients"] and not options["servers"]:
        options["clients"] = (PORT,)
    uris = (*options["clients"], *options["servers"])
    kind: Literal["tcp", "udp"] = "udp" if any("udp:" in uri for uri in uris if PORT in uri) else "tcp"
    port = free_port(kind)
    for name in ("clients", "servers"):
        options[name] = tuple(uri.replace(PORT, str(port)) for uri in options[name])
    return port


def _target(loop: Loop, options: dict[str, Any], port: int) -> Target | None:
    """The program under test: a server if we are the client, and the other way round."""
    if options["command_line"] is None:
        return None
    uri = (options["clients"] or options["servers"])[0]
    _, protocol, _, at = split_party_spec(uri)
    kind: Literal["tcp", "udp", "unix"]
    kind = "udp" if protocol is Protocol.UDP else "unix" if protocol is Protocol.UNIX else "tcp"
    role: Literal["server", "client"] = "server" if options["clients"] else "client"
    try:
        command = command_of(options["command_line"], port)
    except TargetError as error:
        raise click.UsageError(str(error)) from error
    return Target(loop, command, at, role=role, kind=kind)


def _budget(options: dict[str, Any]) -> Budget:
    """Who says how long a run is to last, wants it to last so long."""
    is_limited = options["count"] is not None or options["seconds"] is not None
    until = Until.FOREVER if is_limited else Until.PLATEAU
    if options["until"] is not None:
        until = Until(options["until"])
    if options["unguided"] and not is_limited and options["until"] is None:
        raise click.UsageError("a random walk does not know when to stop: give -n, --time or --until")
    return Budget(until, options["count"], options["seconds"])


def _casting(spec: Spec, options: dict[str, Any]) -> Casting:
    networks: dict[str, tuple[str, ConnectionMode]] = {}
    roles = [("Client", uri, ConnectionMode.CONNECT) for uri in options["clients"]]
    roles += [("Server", uri, ConnectionMode.OPEN) for uri in options["servers"]]
    for default, uri, mode in roles:
        name = split_party_spec(uri)[0] or default
        networks[name] = (uri, mode)
        if name not in spec.analysis.parties:
            known = ", ".join(spec.analysis.parties) or "none"
            raise click.UsageError(f"nobody in the spec is called {name}; the parties are: {known}")
    if networks:
        uri = next(iter(networks.values()))[0]
        for name in spec.analysis.parties:
            if name not in networks and name not in spec.namespace.party_classes:
                networks[name] = (uri, ConnectionMode.EXTERNAL)
            elif name in ("Client", "Server"):
                networks.setdefault(name, (uri, ConnectionMode.EXTERNAL))
    if not spec.analysis.messages:
        raise click.UsageError("the spec has no messages: nobody says anything in it, as in <Client:Server:request>")
    if options["program"] and not {"In", "Out"} & set(spec.analysis.parties):
        raise click.UsageError("a COMMAND is talked to through the parties In and Out, and the spec has neither")
    return Casting(networks, tuple(options["program"]))
