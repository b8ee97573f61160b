"""`palaver demo`: a server with planted defects is tested, and they are found."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass

import click

from palaver.campaign.run import Budget, Campaign, Until
from palaver.campaign.target import Target
from palaver.chance import Chance
from palaver.cli.bundled import bundled
from palaver.cli.live import display_for
from palaver.cli.main import FINDINGS
from palaver.cli.status import Status, counted, paths_of
from palaver.compiled import load
from palaver.demo.server import ForgetsItsName, KeepsSender, MailSession, TiresOfGuessing
from palaver.navigation.guidance import Guidance
from palaver.party import ConnectionMode
from palaver.session.cast import Casting
from palaver.session.engine import Patience, Session
from palaver.session.findings import Finding, show_data, show_said
from palaver.session.play import Play
from palaver.transport.loop import Loop
from palaver.transport.ports import free_port

SERVER = "palaver.demo.server"

# The same conversations each time, and more than are needed.
SEED = 1
SESSIONS = 60

# So many messages of a conversation are shown, from the one that matters back.
_MOST_SHOWN = 6


@dataclass(frozen=True)
class Planted:
    """A defect of the server, and which of our messages it answers wrongly."""

    defect: type[MailSession]
    answers: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.defect.__name__

    @property
    def what(self) -> str:
        """In a sentence."""
        return self.defect.__doc__ or self.name

    def explains(self, finding: Finding) -> bool:
        return finding.conversation[-1].symbol in self.answers if finding.conversation else False


PLANTED = (
    Planted(ForgetsItsName, ("<helo>",)),
    Planted(TiresOfGuessing, ("<wrong_password>",)),
    Planted(KeepsSender, ("<mail>", "<rcpt>")),
)


class Show:
    """Watches the run, and keeps what it finds."""

    def __init__(self, campaign: Campaign) -> None:
        self.found: dict[Planted, tuple[int, Finding]] = {}  # the first time that each was found, and what that was
        self.others: list[Finding] = []  # what nobody has planted
        self._campaign = campaign
        self._status = Status(campaign)
        self._display = display_for("auto", self._status, verbose=False)
        campaign.on_session = self._begin
        campaign.on_end = self._end
        campaign.carrier.look_up = self._display.look

    def close(self) -> None:
        self._status.session = None
        self._display.close()

    def _begin(self, session: Session) -> None:
        self._status.session = session
        session.watch = self._display.look

    def _end(self, session: Session) -> None:
        self._status.session = None
        for finding in session.findings:
            self._status.found(finding)
            planted = next((each for each in PLANTED if each.explains(finding)), None)
            if planted is None:
                self.others.append(finding)
            else:
                self.found.setdefault(planted, (self._campaign.progress.sessions, finding))


@click.command("demo")
def command() -> int:
    """Test a server that has defects, and find them.

    The server is small, part of palaver, and speaks SMTP. All of it happens on this machine, in a few seconds. The exit
    code is 0 if all that was planted was found, and nothing else, and all of the spec was covered.
    """
    port = free_port("tcp")
    server = (sys.executable, "-m", SERVER, str(port), *(each.name for each in PLANTED))
    click.echo(f"A mail server with {len(PLANTED)} planted defects is started at port {port}, and tested:")
    click.echo(
        f"a client that follows the spec of SMTP talks to it, {SESSIONS} times, and looks for what is new to it.\n"
    )
    loop = Loop()
    campaign = _campaign(loop, Target(loop, server, port, role="server"), port)
    show = Show(campaign)
    try:
        campaign.run()
    finally:
        show.close()
        loop.close()
    is_covered = _tell_figures(campaign)
    _tell_defects(show)
    _tell_what_next()
    is_as_expected = is_covered and len(show.found) == len(PLANTED) and not show.others
    return 0 if is_as_expected else FINDINGS


def _campaign(loop: Loop, target: Target, port: int) -> Campaign:
    uri = f"tcp://127.0.0.1:{port}"
    sides = {"Client": (uri, ConnectionMode.CONNECT), "Server": (uri, ConnectionMode.EXTERNAL)}
    play = Play(load(bundled()["smtp"]), Casting(sides))
    chance = Chance(SEED)
    budget = Budget(Until.FOREVER, SESSIONS)
    return Campaign(play, Guidance(play, chance), chance, Patience(), budget, loop, target=target)


def _tell_figures(campaign: Campaign) -> bool:
    """Tell how far the run came; whether that is all the way."""
    aim, progress = campaign.guidance.aim, campaign.progress
    said = f"{counted(progress.messages, 'message')} in {counted(progress.sessions, 'session')}"
    click.echo(f"{said}, {campaign.seconds:.1f} s")
    click.echo(f"covered {aim.reached} of {aim.total} {paths_of(aim.goal, campaign.guidance.paths.k)} of the spec")
    if progress.goal_after is not None and aim.reached == aim.total:
        click.echo(f"all of them after {progress.goal_after[0]} messages; from there on the client walked at random")
    return aim.reached == aim.total


def _tell_defects(show: Show) -> None:
    click.echo(f"\nfound {len(show.found)} of {counted(len(PLANTED), 'planted defect')}")
    for number, planted in enumerate(PLANTED, start=1):
        click.echo(f"\n{number}. {click.style(planted.what, bold=True)}")
        if planted in show.found:
            session, finding = show.found[planted]
            click.echo(f"   found in session {session}, {finding.kind.label}:")
            click.echo(_shortened(finding))
        else:
            click.echo("   not found")
    for other in show.others:
        click.echo(f"\nnobody has planted this: {other.show()}")


def _shortened(finding: Finding) -> str:
    """The end of the conversation, and what was wrong there."""
    said = finding.conversation[-_MOST_SHOWN:]
    lines = ["…"] if len(said) < len(finding.conversation) else []
    lines += [show_said(each) for each in said]
    lines.append(click.style(f"{finding.party}: {show_data(finding.got)}", fg="red"))
    lines.append(f"expected {' or '.join(finding.expected)}" if finding.expected else finding.message)
    return "\n".join(f"     {line}" for line in lines)


def _tell_what_next() -> None:
    server = f"{shlex.quote(sys.executable)} -m {SERVER} {{port}}"
    click.echo("\nTry next:")
    click.echo("  palaver specs smtp                            the spec that all of this came from")
    click.echo("  palaver graph smtp --format svg -o smtp.svg   the states that are in it, as a picture")
    click.echo(f"  palaver talk smtp --client '{{port}}' --target {shlex.quote(server)}")
    click.echo("                                                the same server without defects")
