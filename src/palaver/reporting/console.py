"""The console reader: messages and findings as they come, and a summary at the end."""

from __future__ import annotations

from collections import Counter
from typing import assert_never

import click

from palaver.campaign.events import (
    ActionTaken,
    CampaignEnded,
    CampaignStarted,
    CoverageChanged,
    Event,
    FindingReported,
    InputHandled,
    MessageReceived,
    MessageSent,
    PhaseChanged,
    PlanMade,
    PortBound,
    SessionEnded,
    SessionStarted,
    SilenceRetried,
    StillWaiting,
    TargetEnded,
    TargetOutput,
    TargetStarted,
    TurnTaken,
)
from palaver.campaign.run import Campaign
from palaver.limits import recorded, told
from palaver.printable import counted, printable
from palaver.reporting.display import LiveDisplay, display_for
from palaver.reporting.reporting_limits import LINE_EVERY_S, MAX_REASONS, MAX_SHOWN_AT_ONE_PLACE
from palaver.reporting.status import Status, paths_of
from palaver.session.findings import Finding, Fingerprint, SessionMessage, show_data

_COLOURS = ("cyan", "green", "yellow", "magenta", "blue")


class ConsoleReport:
    """Shows a campaign on the console; `console` is `auto`, `live`, `plain` or `none`.

    Findings and the summary go to standard output; progress and remarks go to standard error.
    """

    def __init__(self, campaign: Campaign, *, verbose: bool = False, console: str = "auto") -> None:
        self._campaign = campaign
        self._verbose = verbose
        self._console = console
        self._status = Status(campaign)
        self._display = display_for(console, self._status, verbose=verbose)
        self._alike: dict[Fingerprint, list[Finding]] = {}
        self._places: Counter[tuple[object, ...]] = Counter()  # different findings at one place of the dialogue
        self._parties: dict[str, str] = {}

    def __call__(self, event: Event) -> None:
        self._status(event)
        self._display(event)
        match event:
            case PortBound(party=party, port=port):
                self._display.show(f"{party} listens on port {port}")
            case PhaseChanged(text=text):
                self._display.show(text)
            case FindingReported(finding=finding):
                self._show_finding(finding)
            case MessageSent(message=message) | MessageReceived(message=message):
                if self._verbose:
                    self._show_message(message)
            case PlanMade(text=text):
                click.echo(click.style(f"# {printable(text)}", dim=True))
            case CampaignEnded(reason=reason):
                if reason:  # else nothing was begun
                    self._display.close()
                    self._summarise(reason)
            case (
                CampaignStarted()
                | SessionStarted()
                | CoverageChanged()
                | InputHandled()
                | ActionTaken()
                | SilenceRetried()
                | SessionEnded()
                | TargetStarted()
                | TargetOutput()
                | TargetEnded()
                | StillWaiting()
                | TurnTaken()
            ):
                pass
            case _:
                assert_never(event)

    def close(self) -> None:
        """Remove what was drawn, if the campaign did not come to its end."""
        self._display.close()

    def _show_message(self, message: SessionMessage) -> None:
        colour = self._parties.setdefault(message.sender, _COLOURS[len(self._parties) % len(_COLOURS)])
        to = f" -> {message.recipient}" if message.recipient else ""
        click.echo(f"{click.style(message.sender + to, fg=colour)}: {show_data(message.data)}")

    def _show_finding(self, finding: Finding) -> None:
        if finding.known:  # it is only counted
            if self._verbose:
                self._display.show(printable(f"known ({finding.known}): {finding.headline}"), is_result=True)
            return
        fingerprint = finding.fingerprint
        alike = self._alike.setdefault(fingerprint, [])
        alike.append(finding)
        if len(alike) == 1:  # the next ones tell nothing new
            self._places[fingerprint.place] += 1
        is_new = len(alike) == 1 and self._places[fingerprint.place] <= MAX_SHOWN_AT_ONE_PLACE
        if is_new or self._verbose:
            self._display.show(finding.show(), is_result=True)

    def _summarise(self, reason: str) -> None:
        campaign = self._campaign
        progress = campaign.progress
        sent = f"{counted(progress.sent, 'message')} sent, {progress.received} received"
        count = self._status.findings.total()
        found = f"{counted(count, 'finding')} ({self._status.kinds})" if count else "no findings"
        click.echo(f"{counted(progress.sessions, 'session')}, {sent}, {found}")
        for why, times in Counter(finding.known for finding in campaign.known_findings).items():
            click.echo(printable(f"{counted(times, 'known finding')} not reported: {why}"))
        for why, times in Counter(map(str, progress.cut_off)).items():
            click.echo(f"{counted(times, 'session')} cut off by {why}, and inconclusive")
        for first, *others in self._alike.values():
            if others:
                click.echo(f"{counted(len(others), 'more finding')} like {first.headline}")
        different = sum(max(0, count - MAX_SHOWN_AT_ONE_PLACE) for count in self._places.values())
        if different and not self._verbose:
            click.echo(f"{counted(different, 'more different finding')} not shown; see -v")
        click.echo(f"seed {campaign.seed}")
        self._show_coverage()
        click.echo(f"stopped: {printable(reason)}")
        self._show_reasons()
        for line in told(campaign.limits):
            click.echo(line)
        self._show_time()

    def _show_coverage(self) -> None:
        guidance = self._campaign.guidance
        for goal, reached, total in guidance.goal_counts:
            click.echo(f"covered {reached} of {total} {paths_of(goal, guidance.paths.k)}")
        views = [f"{name} {reached} of {total}" for name, reached, total in guidance.views.summary() if total]
        click.echo(", ".join(views))

    def _show_reasons(self) -> None:
        if not self._campaign.progress.goal_after:
            return  # there was no time to find out why
        self._show_missing_paths()
        missing = self._campaign.guidance.missing_values()
        for each in missing[:MAX_REASONS]:
            click.echo(printable(f"not covered: {each}"))
        if len(missing) > MAX_REASONS:
            click.echo(f"not covered: {len(missing) - MAX_REASONS} more value classes")
        for each in self._campaign.guidance.missing_refusals()[:MAX_REASONS]:
            click.echo(printable(f"not covered: {each}"))

    def _show_missing_paths(self) -> None:
        aim = self._campaign.guidance.goal_progress
        if aim.reached == aim.total:
            return
        with recorded(self._campaign.limits):
            reasons = self._campaign.guidance.reasons()
        for reason in reasons[:MAX_REASONS]:
            click.echo(printable(f"not covered: {reason}"))
        if len(reasons) > MAX_REASONS:
            click.echo(f"not covered: {counted(sum(each.paths for each in reasons[MAX_REASONS:]), 'more path')}")

    def _show_time(self) -> None:
        """Show whose the time was. It is never the same twice, so it is not on standard output."""
        seconds = self._campaign.seconds
        is_short = seconds < LINE_EVERY_S and self._console != "plain" and not isinstance(self._display, LiveDisplay)
        if self._console != "none" and not is_short:
            share = self._campaign.waited / seconds if seconds else 0.0
            click.echo(f"{share:.0%} of {seconds:.1f} s was spent waiting for the peer".replace("%", " %"), err=True)
