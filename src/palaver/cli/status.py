"""How far a run of conversations is, in words and figures, for whoever shows it."""

from __future__ import annotations

from collections import Counter

from palaver.campaign.run import Campaign, Phase
from palaver.navigation.goals import Goal
from palaver.session.engine import Session
from palaver.session.findings import Finding


class Status:
    """Reads the figures of a run when it is asked; what nobody else counts it counts itself."""

    def __init__(self, campaign: Campaign) -> None:
        self.campaign = campaign
        self.session: Session | None = None  # the one that goes on just now
        self.findings: Counter[str] = Counter()  # by kind
        self.latest = ""  # the first line of the latest one

    def found(self, finding: Finding) -> None:
        self.findings[finding.kind.label] += 1
        self.latest = finding.show().partition("\n")[0]

    @property
    def messages(self) -> int:
        """How many were said; the run itself counts them when a conversation has ended."""
        return self.campaign.progress.messages + (0 if self.session is None else len(self.session.said))

    @property
    def sessions(self) -> str:
        return counted(self.campaign.progress.sessions + (self.session is not None), "session")

    @property
    def kinds(self) -> str:
        """The findings, by kind."""
        return ", ".join(f"{count} {label}" for label, count in sorted(self.findings.items())) or "no findings"

    @property
    def target(self) -> str:
        """The path that is aimed at just now, if one is."""
        guidance = self.campaign.guidance
        if self.campaign.progress.phase is not Phase.GUIDED or guidance.guide.plan is None:
            return ""
        return " > ".join(guidance.coverage.walks[guidance.guide.plan.target])

    @property
    def line(self) -> str:
        """What matters most, in one line."""
        guidance = self.campaign.guidance
        aim = guidance.aim
        covered = f"{aim.reached} of {aim.total} {paths_of(aim.goal, guidance.paths.k)}"
        found = counted(self.findings.total(), "finding")
        return f"{self.sessions}, {counted(self.messages, 'message')}, {covered}, {found}"


def counted(count: int, what: str) -> str:
    """So many of something."""
    return f"{count} {what}{'s' * (count != 1)}"


def paths_of(goal: Goal, k: int) -> str:
    """What is counted for a goal."""
    return f"{k}-paths" if goal is Goal.ALL else f"{k}-paths of {goal.value}"
