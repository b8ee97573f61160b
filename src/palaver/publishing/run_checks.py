"""A run as checks that pass, fail or were skipped, as test reports have them: messages, constraints, finding kinds.

Which checks there are is known from the spec alone, so they have the same names in every run.
"""

from __future__ import annotations

from collections.abc import Iterator

from palaver.compiled import Spec
from palaver.lean_dataclasses import dataclass
from palaver.publishing.finding_groups import FindingGroup
from palaver.publishing.run_report import RunReport
from palaver.session.findings import FindingKind, Verdict


@dataclass(frozen=True, slots=True)
class RunCheck:
    """Something that a run checks, by its name."""

    area: str  # "message", "constraint" or "finding"
    name: str

    @property
    def title(self) -> str:
        return f"{self.area} {self.name}"


@dataclass(frozen=True, slots=True)
class CheckOutcome:
    """The result of a check."""

    check: RunCheck
    outcome: str  # "passed", "failed", "error" or "skipped"
    reason: str = ""
    groups: tuple[FindingGroup, ...] = ()  # the problems that made it fail


def checks_of(spec: Spec) -> list[RunCheck]:
    """The checks of all runs of a spec."""
    messages = dict.fromkeys(message.symbol for message in spec.analysis.messages)
    constraints = dict.fromkeys(" ".join(each.text.split()) for each in spec.grammar.constraints)
    kinds = [kind.label for kind in FindingKind if kind.verdict is not Verdict.PASS]
    named = (("message", messages), ("constraint", constraints), ("finding", kinds))
    return [RunCheck(area, name) for area, names in named for name in names]


def outcomes(report: RunReport) -> Iterator[CheckOutcome]:
    """The outcome of each check of a run; without its spec, of finding kinds only."""
    if report.spec is None:
        checks = [RunCheck("finding", kind.label) for kind in FindingKind]
    else:
        checks = checks_of(report.spec)
    seen = _messages_seen(report)
    counts = {" ".join(text.split()): (held, failed) for text, held, failed in report.constraints}
    for check in checks:
        match check.area:
            case "message":
                is_seen = check.name in seen
                yield CheckOutcome(check, "passed" if is_seen else "skipped", "" if is_seen else "it never came")
            case "constraint":
                yield _of_constraint(report, check, *counts.get(check.name, (0, 0)))
            case _:
                yield _of_kind(report, check)


def _messages_seen(report: RunReport) -> set[str]:
    if report.views is not None:
        return {move.symbol for move, count in report.views.message_counts.items() if count}
    return {symbol for _, _, symbol, _ in report.run.traffic()}


def _of_constraint(report: RunReport, check: RunCheck, held: int, failed: int) -> CheckOutcome:
    blamed = [group for group in report.groups if group.first.kind is FindingKind.CONSTRAINT]
    broken = tuple(group for group in blamed if group.status == "new" and _is_about(group, check.name))
    if broken:
        return CheckOutcome(check, "failed", broken[0].title, broken)
    if failed or held:
        return CheckOutcome(check, "passed")
    return CheckOutcome(check, "skipped", "it was never decided")


def _is_about(group: FindingGroup, text: str) -> bool:
    """Return True if a violation is one of the constraint with this text, of which it may name a part."""
    named = " ".join(group.first.constraint.split())
    return bool(named) and named in text


def _of_kind(report: RunReport, check: RunCheck) -> CheckOutcome:
    found = [group for group in report.groups if group.first.kind.label == check.name]
    failing = tuple(group for group in found if group.status in ("new", "error"))
    if failing:
        is_error = any(group.status == "error" for group in failing)
        return CheckOutcome(check, "error" if is_error else "failed", failing[0].title, failing)
    if unsure := next((group for group in found if group.status == "inconclusive"), None):
        return CheckOutcome(check, "skipped", f"inconclusive: {unsure.title}")
    if not report.sessions:
        return CheckOutcome(check, "skipped", "no session was held")
    return CheckOutcome(check, "passed")
