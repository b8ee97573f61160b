"""The contents of reports of a run, and of earlier runs that it is compared with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from palaver.compiled import Spec
from palaver.errors import PalaverError
from palaver.lean_dataclasses import dataclass
from palaver.navigation.state_diagram import CoverageViews, as_svg, diagram, views_of
from palaver.publishing.curves import end_of
from palaver.publishing.finding_groups import FindingGroup, groups_of
from palaver.publishing.peer_figures import Latency, answers, ends, latencies
from palaver.publishing.publishing_limits import MAX_STATES_DRAWN
from palaver.recording.run_reader import RecordedSession, Run, open_run
from palaver.session.findings import Verdict, worst

__all__ = ["Comparison", "Missing", "RunReport", "open_run"]


@dataclass(frozen=True, slots=True)
class Missing:
    """Something that was not covered: its kind, its name, and what is below it."""

    kind: str
    name: str
    below: tuple[str, ...] = ()


class RunReport:
    """A run as reports tell it. Everything is read when it is first needed."""

    def __init__(self, run: Run, earlier: Sequence[Run] = ()) -> None:
        self.run = run
        self.earlier = list(earlier)

    @cached_property
    def spec(self) -> Spec | None:
        """The spec of the run; None if it needs something that is not here."""
        try:
            return self.run.spec
        except PalaverError:
            return None

    @cached_property
    def sessions(self) -> list[RecordedSession]:
        return self.run.sessions

    @cached_property
    def groups(self) -> list[FindingGroup]:
        """The problems that were found."""
        return groups_of(self.run, self.spec, self.earlier)

    def with_status(self, *names: str) -> list[FindingGroup]:
        """The problems that have one of these statuses."""
        return [group for group in self.groups if group.status in names]

    @property
    def verdict(self) -> Verdict:
        """The verdict of the run; of one that has not come to its end, that of its findings so far."""
        if self.run.verdict is not None:
            return self.run.verdict
        if not self.sessions:
            return Verdict.INCONCLUSIVE
        return worst(group.members[0].verdict for group in self.groups)

    @property
    def is_running(self) -> bool:
        return self.run.ending == "still running"

    @property
    def spec_names(self) -> list[str]:
        return [source.name for source in self.run.origin.sources if not source.is_included]

    @property
    def messages(self) -> tuple[int, int]:
        """The numbers of messages that were sent and received."""
        return sum(each.sent for each in self.sessions), sum(each.received for each in self.sessions)

    @property
    def seconds(self) -> float:
        return max(map(end_of, self.sessions), default=0.0)

    @property
    def verdicts(self) -> list[tuple[str, int]]:
        """The number of sessions with each verdict."""
        counts = Counter(each.verdict.value if each.verdict else "interrupted" for each in self.sessions)
        return sorted(counts.items(), key=lambda each: -each[1])

    @property
    def cut_off(self) -> list[tuple[str, int]]:
        """The limits that have ended sessions, and how many."""
        return list(Counter(each.cut_off for each in self.sessions if each.cut_off).items())

    # --- coverage -----------------------------------------------------------------------------------------------------

    @cached_property
    def views_data(self) -> dict[str, Any]:
        """The coverage by messages, states, transitions, alternatives and constraints; {} if none was written yet."""
        views: dict[str, Any] = self.run.snapshot()[1].get("guidance", {}).get("views", {})
        return views

    @cached_property
    def views(self) -> CoverageViews | None:
        if self.spec is None or not self.views_data:
            return None
        try:
            return views_of(self.spec, self.views_data)
        except PalaverError:
            return None

    @property
    def covered(self) -> tuple[int, int]:
        """The number of covered paths of the goal, and of all."""
        last = max(self.sessions, key=end_of, default=None)
        return (last.covered, last.total) if last is not None else (0, 0)

    @property
    def goals(self) -> list[tuple[str, int, int]]:
        """Each goal and view, with how much of it was covered."""
        coverage = self.run.coverage
        goals = [(f"paths of {goal}", reached, total) for goal, reached, total in coverage.get("goals", ())]
        if not coverage and self.covered[1]:
            goals = [("paths", *self.covered)]
        return [*goals, *((name, reached, total) for name, reached, total in coverage.get("views", ()) if total)]

    @cached_property
    def state_diagram(self) -> str:
        """The states in SVG; "" if they are unknown or too many."""
        if self.views is None or len(self.views.states.states) > MAX_STATES_DRAWN:
            return ""
        return as_svg(diagram(self.views.states, self.views))

    @property
    def reasons(self) -> list[dict[str, Any]]:
        """The reasons why paths were not covered, that of most paths first."""
        reasons: list[dict[str, Any]] = self.run.coverage.get("reasons", [])
        return reasons

    @cached_property
    def unseen_messages(self) -> list[str]:
        """The messages that nobody has sent."""
        counts = {} if self.views is None else self.views.message_counts
        return list(dict.fromkeys(move.symbol for move, count in counts.items() if not count))

    @cached_property
    def missing(self) -> list[Missing]:
        """Messages, transitions and alternatives that were never seen."""
        views = self.views
        if views is None:
            return []
        found = [Missing("messages", symbol) for symbol in self.unseen_messages]
        by_state: dict[str, list[str]] = {}
        for (source, move, target), count in views.transition_counts.items():
            if not count:
                by_state.setdefault(source.name, []).append(f"{move.sender}: {move.symbol} → {target.name}")
        found += [Missing("transitions", name, tuple(below)) for name, below in by_state.items()]
        taken = set(views.alternatives.taken())
        by_rule: dict[str, list[str]] = {}
        for symbol, text in views.alternatives:
            if (symbol, text) not in taken:
                by_rule.setdefault(symbol, []).append(text)
        found += [Missing("alternatives", symbol, tuple(below)) for symbol, below in by_rule.items()]
        values = tuple(self.run.coverage.get("missing_values", ()))
        found += [Missing("values", "value classes", values)] if values else []
        refusals = tuple(self.run.coverage.get("missing_refusals", ()))
        return [*found, *([Missing("refusals", "wrong messages that were not judged", refusals)] if refusals else [])]

    @property
    def constraints(self) -> list[tuple[str, int, int]]:
        """Each constraint, with how often it held and how often it was broken."""
        found = self.views_data.get("constraints", {})
        return [(text, held, failed) for text, (held, failed) in found.items()]

    # --- the peer -----------------------------------------------------------------------------------------------------

    @cached_property
    def latencies(self) -> list[Latency]:
        return latencies(self.run)

    @property
    def answers(self) -> list[tuple[str, list[tuple[str, int]]]]:
        return [] if self.views is None else answers(self.views, self.run.parties)

    @property
    def target_starts(self) -> int:
        return self.run.target_starts

    @property
    def target_ends(self) -> list[str]:
        return ends(self.run)

    @cached_property
    def comparisons(self) -> list[Comparison]:
        """This run beside each earlier one."""
        return [Comparison(self, RunReport(other)) for other in self.earlier]


class Comparison:
    """The changes since an earlier run."""

    def __init__(self, now: RunReport, before: RunReport) -> None:
        self.now = now
        self.before = before

    @property
    def new(self) -> list[FindingGroup]:
        before = {group.digest for group in self.before.groups}
        return [group for group in self.now.groups if group.digest not in before]

    @property
    def still_there(self) -> list[FindingGroup]:
        before = {group.digest for group in self.before.groups}
        return [group for group in self.now.groups if group.digest in before]

    @property
    def gone(self) -> list[FindingGroup]:
        """The problems of the earlier run that were not found this time."""
        now = {group.digest for group in self.now.groups}
        return [group for group in self.before.groups if group.digest not in now]

    @cached_property
    def _paths(self) -> tuple[dict[str, None], dict[str, None]]:
        return _covered_paths(self.before.run), _covered_paths(self.now.run)

    @property
    def gained(self) -> list[str]:
        """The paths that only this run has covered."""
        before, now = self._paths
        return [path for path in now if path not in before]

    @property
    def lost(self) -> list[str]:
        """The paths that only the earlier run has covered."""
        before, now = self._paths
        return [path for path in before if path not in now]


def _covered_paths(run: Run) -> dict[str, None]:
    data = run.snapshot()[1].get("guidance", {}).get("coverage", {"names": [], "paths": []})
    names = data["names"]
    return dict.fromkeys(" > ".join(names[number] for number in path) for path in data["paths"])
