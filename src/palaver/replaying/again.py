"""The findings of an earlier run, tried first in another one: which are still there, and which are fixed."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from palaver.campaign.events import Event, FindingReported, SessionStarted
from palaver.campaign.run import Campaign
from palaver.recording.run_reader import RecordedFinding, Run
from palaver.replaying.live_replay import Script, script_from, strategy_for
from palaver.replaying.replaying_limits import MAX_FINDINGS_TRIED_AGAIN
from palaver.replaying.run_options import experience_of, shows_nobody_there
from palaver.session.findings import Finding, Severity, is_seen_otherwise, problem_of
from palaver.session.strategy import ScriptedStrategy


class AgainOutcome(Enum):
    """The result for one finding."""

    STILL_THERE = "still there"
    FIXED = "fixed"
    NOT_TRIED = "not tried, as its messages are not possible any more"
    NOBODY_THERE = "not tried, as nobody answered"


class FindingsAgain:
    """The findings of a run, each problem once; a reader of the events of the run in which they are tried."""

    def __init__(self, run: Run) -> None:
        self.name = run.folder.name
        problems: dict[tuple[object, ...], tuple[RecordedFinding, Script]] = {}
        for finding in run.findings:
            said = run.messages(finding.session)[: finding.messages]
            problem = problem_of(finding, [each.data for each in said if each.is_ours])
            if finding.severity is Severity.VIOLATION and any(each.is_ours for each in said):
                problems.setdefault(problem, (finding, script_from(said)))
        kept = list(problems.items())[:MAX_FINDINGS_TRIED_AGAIN]
        if len(kept) < len(problems):
            MAX_FINDINGS_TRIED_AGAIN.reached()
        self._problems = kept
        self._experience = experience_of(run, max((each.session for each in run.findings), default=0))
        self._session = 0
        self._tried: list[tuple[int, ScriptedStrategy]] = []  # the session of each, and the script
        self._seen: list[tuple[tuple[object, ...], Finding]] = []  # with what tells one problem from another
        self._unanswered: set[int] = set()  # sessions in which nobody was there

    def begin(self, campaign: Campaign) -> None:
        """Let a campaign begin with the findings."""
        self._experience.add_to(campaign)
        campaign.attach(self).follow(self.strategies(), goes_on=True)

    def __len__(self) -> int:
        return len(self._problems)

    def strategies(self) -> Iterator[ScriptedStrategy]:
        """A strategy for each finding, to be followed in a session of its own."""
        for _, (finding, script) in self._problems:
            strategy = strategy_for(finding, script)
            self._tried.append((self._session + 1, strategy))
            yield strategy

    def __call__(self, event: Event) -> None:
        if isinstance(event, SessionStarted):
            self._session = event.session
        elif isinstance(event, FindingReported):
            finding = event.finding
            ours = [said.data for said in finding.messages if said.is_ours]
            self._seen.append((problem_of(finding, ours), finding))
            if shows_nobody_there(finding):
                self._unanswered.add(finding.session)

    @property
    def outcomes(self) -> list[tuple[RecordedFinding, AgainOutcome]]:
        """The result for each finding that was tried."""
        results = []
        for (problem, (finding, script)), (session, strategy) in zip(self._problems, self._tried, strict=False):
            symbols = [line.symbol for line in script]
            found = [each for each in self._seen if each[1].session == session]
            if any(seen == problem or is_seen_otherwise(now, finding, symbols) for seen, now in found):
                results.append((finding, AgainOutcome.STILL_THERE))
            elif session in self._unanswered:
                results.append((finding, AgainOutcome.NOBODY_THERE))
            else:
                results.append((finding, AgainOutcome.FIXED if strategy.stuck_at is None else AgainOutcome.NOT_TRIED))
        return results


def try_first(campaign: Campaign, run: Run) -> FindingsAgain:
    """Let a campaign begin with the findings of a run; when it has ended, `outcomes` tells which are fixed."""
    again = FindingsAgain(run)
    again.begin(campaign)
    return again
