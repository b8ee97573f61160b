"""What a run of conversations tells: messages and findings as they come, and a summary in the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Self

import click

from palaver.campaign.run import Campaign
from palaver.cli.live import LINE_EVERY_S, Live, Silent, display_for
from palaver.cli.main import FINDINGS, INTERRUPTED, WRONG_USE
from palaver.cli.status import Status, counted, paths_of
from palaver.session.engine import Session
from palaver.session.events import Action, Input, Listening
from palaver.session.findings import Said, Verdict, show_data

_COLOURS = ("cyan", "green", "yellow", "magenta", "blue")

# So many reasons for what was not reached are shown.
_MOST_REASONS = 10


class Tally:
    """Watches a campaign; a context, in which the campaign runs.

    `console` says what is shown of its progress: `auto`, `live`, `plain` or `none`.
    """

    def __init__(self, campaign: Campaign, *, verbose: bool = False, console: str = "auto") -> None:
        self._campaign = campaign
        self._verbose = verbose
        self._console = console
        self._status = Status(campaign)
        self._display = display_for(console, self._status, verbose=verbose)
        self._verdicts: Counter[Verdict] = Counter()
        self._alike: dict[tuple[str, ...], list[str]] = {}  # the first lines of findings, by what makes them the same
        self._parties: dict[str, str] = {}
        self._ports: dict[str, int] = {}
        campaign.on_session = self._begin
        campaign.on_happening = self._happened
        campaign.on_end = self._finished
        campaign.tell = self._display.show
        self._watch: Callable[[Said], None] | None = None
        if type(self._display) is not Silent:
            self._watch = campaign.carrier.look_up = self._display.look
        if verbose:
            campaign.guidance.guide.explain = self._explained
            self._watch = self._said

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._status.session = None  # also if it was interrupted; the run has counted it
        self._display.close()

    # --- While it lasts -----------------------------------------------------------------------------------------------

    def _begin(self, session: Session) -> None:
        self._status.session = session
        session.watch = self._watch

    def _happened(self, what: Input | Action) -> None:
        """Tell at which port we listen, if that was left to the system."""
        if isinstance(what, Listening) and self._ports.get(what.link) != what.port:
            self._ports[what.link] = what.port
            self._display.show(f"{what.link} listens at port {what.port}")

    def _said(self, said: Said) -> None:
        colour = self._parties.setdefault(said.sender, _COLOURS[len(self._parties) % len(_COLOURS)])
        to = f" -> {said.recipient}" if said.recipient else ""
        click.echo(f"{click.style(said.sender + to, fg=colour)}: {show_data(said.data)}")
        self._display.look()

    def _explained(self, what: str) -> None:
        click.echo(click.style(f"# {what}", dim=True))

    def _finished(self, session: Session) -> None:
        """Note how a session ended; findings are shown."""
        self._status.session = None
        self._verdicts[session.verdict] += 1
        for finding in session.findings:
            self._status.found(finding)
            alike = self._alike.setdefault(finding.signature, [])
            alike.append(finding.show().partition("\n")[0])
            if len(alike) == 1 or self._verbose:  # the next ones tell nothing new
                self._display.show(finding.show())
        self._display.look()

    # --- In the end ---------------------------------------------------------------------------------------------------

    def conclude(self, *, is_interrupted: bool = False) -> int:
        """Show the summary; the exit code."""
        progress = self._campaign.progress
        said = f"{counted(progress.sent, 'message')} sent, {progress.received} received"
        click.echo(f"{self._status.sessions}, {said}, {self._status.kinds}")
        for first, *others in self._alike.values():
            if others:
                click.echo(f"{counted(len(others), 'more finding')} like this one: {first}", err=True)
        self._show_coverage()
        click.echo(f"ended: {progress.ended}")
        self._show_reasons()
        self._show_time()
        if is_interrupted:
            return INTERRUPTED
        if self._verdicts[Verdict.ERROR]:
            return WRONG_USE
        return 0 if self._verdicts[Verdict.PASS] == progress.sessions else FINDINGS

    def _show_coverage(self) -> None:
        guidance = self._campaign.guidance
        for goal, reached, total in guidance.standing:
            click.echo(f"covered {reached} of {total} {paths_of(goal, guidance.paths.k)}")
        views = [f"{name} {reached} of {total}" for name, reached, total in guidance.views.summary() if total]
        click.echo(", ".join(views))

    def _show_reasons(self) -> None:
        aim = self._campaign.guidance.aim
        if aim.reached == aim.total or not self._campaign.progress.goal_after:
            return  # nothing is missing, or there was no time to find out why
        reasons = self._campaign.guidance.reasons()
        for reason in reasons[:_MOST_REASONS]:
            click.echo(f"not reached: {reason}")
        if len(reasons) > _MOST_REASONS:
            click.echo(f"not reached: {sum(each.paths for each in reasons[_MOST_REASONS:])} more paths")

    def _show_time(self) -> None:
        """Whose the time was. It is never the same twice, so it is not on standard output."""
        seconds = self._campaign.seconds
        is_short = seconds < LINE_EVERY_S and self._console != "plain" and not isinstance(self._display, Live)
        if self._console != "none" and not is_short:
            share = self._campaign.carrier.waited / seconds if seconds else 0.0
            click.echo(f"waited for the peer {share:.0%} of {seconds:.1f} s".replace("%", " %"), err=True)
