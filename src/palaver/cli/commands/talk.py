"""`palaver talk`: conversations with a real peer."""

from __future__ import annotations

import gc
from collections import Counter
from typing import Any

import click

from palaver.chance import Chance
from palaver.cli.main import FINDINGS, WRONG_USE
from palaver.cli.options import budget_option, load_spec, rates, search_options, size_options, talk_options
from palaver.compiled import Spec
from palaver.errors import PalaverError
from palaver.party import ConnectionMode, split_party_spec
from palaver.session.cast import Casting
from palaver.session.engine import Patience, Session
from palaver.session.findings import Said, Verdict, show_data
from palaver.session.play import BUDGET, Play
from palaver.session.player import RandomPlayer
from palaver.solving.workshop import Limits
from palaver.transport.drive import drive
from palaver.transport.loop import Loop

_COLOURS = ("cyan", "green", "yellow", "magenta", "blue")


@click.command("talk", context_settings={"allow_interspersed_args": False})
@talk_options
@click.option("--client", "clients", multiple=True, metavar="[NAME=]URI", help="Be the client, and connect to URI.")
@click.option("--server", "servers", multiple=True, metavar="[NAME=]URI", help="Be the server, and listen at URI.")
@click.option(
    "-n",
    "--num-sessions",
    "count",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="How many conversations.",
)
@click.option("--seed", "--random-seed", "seed", type=int, help="The same seed and answers give the same conversation.")
@click.option(
    "--timeout",
    type=click.FloatRange(0),
    default=5.0,
    show_default=True,
    help="Seconds to wait for a message to begin.",
)
@click.option(
    "--patience", type=click.FloatRange(0), default=5.0, show_default=True, help="Seconds to wait inside of a message."
)
@click.option(
    "--quiet-interval",
    type=click.FloatRange(0),
    help="Seconds after which a message that could go on is complete; by the peer's rhythm unless given.",
)
@click.option(
    "--max-messages", type=click.IntRange(1), default=1000, show_default=True, help="End a conversation after so many."
)
@size_options
@budget_option(BUDGET, "message")
@search_options
@click.option("-v", "--verbose", is_flag=True, help="Show the conversation.")
@click.argument("program", nargs=-1, metavar="[COMMAND ARGS…]")
def command(**options: Any) -> int:
    """Talk to a server, a client or a program as a spec says.

    With --client palaver connects and is the client, with --server it listens and is the server; a COMMAND is talked to
    through its standard input and output. What the peer does wrong is shown, and makes the exit code 1.
    """
    spec = load_spec(options)
    try:
        limits = Limits(options["max_nodes"], options["max_repetitions"], options["budget"], rates(options))
        play = Play(spec, _casting(spec, options), limits)
    except PalaverError as error:
        raise click.UsageError(str(error)) from error
    patience = Patience(
        timeout=options["timeout"],
        patience=options["patience"],
        quiet=options["quiet_interval"],
        most_messages=options["max_messages"],
    )
    chance = Chance.fresh() if options["seed"] is None else Chance(options["seed"])
    tally = _Tally(options["verbose"])
    loop = Loop()
    # The spec stays. To look through it for garbage, again and again, would take a tenth of the time.
    gc.freeze()
    try:
        for number in range(options["count"]):
            stream = chance / "session" / number
            session = Session(play, RandomPlayer(stream / "player"), stream, patience)
            session.watch = tally.said
            drive(session, loop)
            tally.finished(session)
    finally:
        gc.unfreeze()
        loop.close()
    return tally.conclude()


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


class _Tally:
    """Counts what happens, and shows it."""

    def __init__(self, verbose: bool) -> None:
        self._verbose = verbose
        self._verdicts: Counter[Verdict] = Counter()
        self._ours = self._theirs = 0
        self._findings: Counter[str] = Counter()
        self._parties: dict[str, str] = {}

    def said(self, said: Said) -> None:
        """Note a message, and show it if that is wanted."""
        self._ours += said.is_ours
        self._theirs += not said.is_ours
        if self._verbose:
            colour = self._parties.setdefault(said.sender, _COLOURS[len(self._parties) % len(_COLOURS)])
            to = f" -> {said.recipient}" if said.recipient else ""
            click.echo(f"{click.style(said.sender + to, fg=colour)}: {show_data(said.data)}")

    def finished(self, session: Session) -> None:
        """Note how a session ended; findings are shown."""
        self._verdicts[session.verdict] += 1
        for finding in session.findings:
            self._findings[finding.kind.label] += 1
            click.echo(finding.show(), err=True)

    def conclude(self) -> int:
        """The summary, and the exit code."""
        sessions = sum(self._verdicts.values())
        findings = ", ".join(f"{count} {label}" for label, count in sorted(self._findings.items())) or "no findings"
        sent = f"{self._ours} message{'s' * (self._ours != 1)} sent"
        click.echo(f"{sessions} session{'s' * (sessions != 1)}, {sent}, {self._theirs} received, {findings}")
        if self._verdicts[Verdict.ERROR]:
            return WRONG_USE
        return 0 if self._verdicts[Verdict.PASS] == sessions else FINDINGS
