"""The state of a campaign in words and figures, kept up to date by its events."""

from __future__ import annotations

from collections import Counter

from palaver.campaign.events import Event, FindingReported, MessageReceived, MessageSent, SessionStarted
from palaver.campaign.run import Campaign, Phase
from palaver.navigation.goals import CoverageGoal
from palaver.printable import counted


class Status:
    """Counts events; coverage is read from the campaign when it is asked for."""

    def __init__(self, campaign: Campaign) -> None:
        self.campaign = campaign
        self.messages = 0
        self.findings: Counter[str] = Counter()  # by kind
        self.latest = ""  # the first line of the latest one
        self._sessions = 0

    def __call__(self, event: Event) -> None:
        if isinstance(event, SessionStarted):
            self._sessions += 1
        elif isinstance(event, MessageSent | MessageReceived):
            self.messages += 1
        elif isinstance(event, FindingReported) and not event.finding.known:
            self.findings[event.finding.label] += 1
            self.latest = event.finding.headline

    @property
    def sessions(self) -> str:
        return counted(self._sessions, "session")

    @property
    def kinds(self) -> str:
        """The findings, by kind."""
        return ", ".join(f"{label}: {count}" for label, count in sorted(self.findings.items()))

    @property
    def target(self) -> str:
        """The path that the current plan aims at; "" without a plan."""
        guidance = self.campaign.guidance
        if self.campaign.progress.phase is not Phase.GUIDED or guidance.guided_strategy.plan is None:
            return ""
        return " > ".join(guidance.coverage.walks[guidance.guided_strategy.plan.target])

    @property
    def line(self) -> str:
        """The most important figures in one line."""
        guidance = self.campaign.guidance
        aim = guidance.goal_progress
        covered = f"{aim.reached} of {aim.total} {paths_of(aim.goal, guidance.paths.k)}"
        found = counted(self.findings.total(), "finding")
        return f"{self.sessions}, {counted(self.messages, 'message')}, {covered}, {found}"


def paths_of(goal: CoverageGoal, k: int) -> str:
    """The unit in which a goal is counted."""
    return f"{k}-paths" if goal is CoverageGoal.ALL else f"{k}-paths of {goal.value}"
