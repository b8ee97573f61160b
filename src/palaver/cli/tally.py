"""What a run of conversations shows while it lasts, and in the end."""

from __future__ import annotations

from collections import Counter

import click

from palaver.campaign.run import Campaign
from palaver.cli.main import FINDINGS, WRONG_USE
from palaver.navigation.goals import Goal
from palaver.session.engine import Session
from palaver.session.events import Action, Input, Listening
from palaver.session.findings import Said, Verdict, show_data

_COLOURS = ("cyan", "green", "yellow", "magenta", "blue")

# So many reasons for what was not reached are shown.
_MOST_REASONS = 10


class Tally:
    """Counts what happens, and shows it."""

    def __init__(self, campaign: Campaign, verbose: bool) -> None:
        self._campaign = campaign
        self._verbose = verbose
        self._verdicts: Counter[Verdict] = Counter()
        self._findings: Counter[str] = Counter()
        self._parties: dict[str, str] = {}
        self._ports: dict[str, int] = {}
        campaign.on_session = self._begin
        campaign.on_happening = self._happened
        campaign.on_end = self._finished
        campaign.tell = self._told
        if verbose:
            campaign.guidance.guide.explain = self._explained

    def _begin(self, session: Session) -> None:
        if self._verbose:
            session.watch = self._said

    def _happened(self, what: Input | Action) -> None:
        """Tell at which port we listen, if that was left to the system."""
        if isinstance(what, Listening) and self._ports.get(what.link) != what.port:
            self._ports[what.link] = what.port
            click.echo(f"{what.link} listens at port {what.port}", err=True)

    def _said(self, said: Said) -> None:
        colour = self._parties.setdefault(said.sender, _COLOURS[len(self._parties) % len(_COLOURS)])
        to = f" -> {said.recipient}" if said.recipient else ""
        click.echo(f"{click.style(said.sender + to, fg=colour)}: {show_data(said.data)}")

    def _explained(self, what: str) -> None:
        click.echo(click.style(f"# {what}", dim=True))

    def _told(self, what: str) -> None:
        click.echo(what, err=True)

    def _finished(self, session: Session) -> None:
        """Note how a session ended; findings are shown."""
        self._verdicts[session.verdict] += 1
        for finding in session.findings:
            self._findings[finding.kind.label] += 1
            click.echo(finding.show(), err=True)

    def conclude(self) -> int:
        """The summary, and the exit code."""
        progress = self._campaign.progress
        findings = ", ".join(f"{count} {label}" for label, count in sorted(self._findings.items())) or "no findings"
        sent = f"{progress.sent} message{'s' * (progress.sent != 1)} sent"
        sessions = f"{progress.sessions} session{'s' * (progress.sessions != 1)}"
        click.echo(f"{sessions}, {sent}, {progress.received} received, {findings}")
        self._show_coverage()
        if self._verdicts[Verdict.ERROR]:
            return WRONG_USE
        return 0 if self._verdicts[Verdict.PASS] == progress.sessions else FINDINGS

    def _show_coverage(self) -> None:
        guidance = self._campaign.guidance
        aim = guidance.aim
        what = "" if aim.goal is Goal.ALL else f" of {aim.goal.value}"
        click.echo(f"covered {aim.reached} of {aim.total} {guidance.paths.k}-paths{what}")
        click.echo(f"ended: {self._campaign.progress.ended}")
        if aim.reached < aim.total and self._campaign.progress.goal_after:
            reasons = guidance.reasons()
            for reason in reasons[:_MOST_REASONS]:
                click.echo(f"not reached: {reason}")
            if len(reasons) > _MOST_REASONS:
                click.echo(f"not reached: {sum(each.paths for each in reasons[_MOST_REASONS:])} more paths")
