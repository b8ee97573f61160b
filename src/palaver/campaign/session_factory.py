"""Makes the sessions of a campaign, and judges one that was held again without its wrong messages."""

from __future__ import annotations

from palaver.beyond.digressing_session import SECOND_CONNECTION, TROUBLE, DigressingSession
from palaver.beyond.wrong_messages import DigressionSource, ScriptedDigressions, WrongMessages
from palaver.lean_dataclasses import replace
from palaver.random_source import RandomSource
from palaver.session.engine import EndWatch, Session, Timeouts
from palaver.session.findings import Finding, FindingKind, Severity, Verdict
from palaver.session.setup import SessionSetup
from palaver.session.strategy import ScriptedStrategy, Strategy, script_of

# Kinds of findings that may come of a wrong message that was refused, and had an effect all the same.
_AFTER_REFUSAL = frozenset(
    (
        *(FindingKind.UNPARSEABLE, FindingKind.UNEXPECTED, FindingKind.CONSTRAINT),
        *(FindingKind.SILENCE, FindingKind.CLOSED, FindingKind.RESET),
    )
)


class SessionFactory:
    """Makes sessions; those of the campaign send `wrong` messages, if there are any."""

    def __init__(
        self, setup: SessionSetup, timeouts: Timeouts, ends_at: float | None, wrong: WrongMessages | None
    ) -> None:
        self._setup = setup
        self._timeouts = timeouts
        self._ends_at = ends_at
        self._end_watch = EndWatch(timeouts.grace)
        self.wrong = wrong

    def make(self, strategy: Strategy, chance: RandomSource, end_watch: EndWatch | None = None) -> Session:
        """The next session of the campaign; with an `end_watch` of its own, one beside it.

        One that follows a script says what is wrong on purpose there; another one beside the campaign is plain.
        """
        is_scripted = isinstance(strategy, ScriptedStrategy)
        watch = end_watch or self._end_watch
        if self.wrong is None or (end_watch is not None and not is_scripted):
            return self.plain(strategy, chance, watch)
        return DigressingSession(
            *(self._setup, strategy, chance, self._timeouts),
            wrong=self.wrong,
            source=ScriptedDigressions(self.wrong, strategy.asides) if isinstance(strategy, ScriptedStrategy) else None,
            ends_at=self._ends_at,
            end_watch=watch,
        )

    def recorded(
        self,
        strategy: Strategy,
        chance: RandomSource,
        source: DigressionSource,
        *,
        ends_at: float | None,
        end_watch: EndWatch,
    ) -> Session:
        """A session that was held before, with wrong messages of this source."""
        arguments = self._setup, strategy, chance, self._timeouts
        if self.wrong is None:
            return Session(*arguments, ends_at=ends_at, end_watch=end_watch)
        return DigressingSession(*arguments, wrong=self.wrong, source=source, ends_at=ends_at, end_watch=end_watch)

    def plain(self, strategy: Strategy, chance: RandomSource, end_watch: EndWatch) -> Session:
        """A session without wrong messages."""
        return Session(self._setup, strategy, chance, self._timeouts, ends_at=self._ends_at, end_watch=end_watch)

    def without_asides(self, finding: Finding, chance: RandomSource) -> Session:
        """The session of a finding once more, without what was wrong on purpose."""
        return self.plain(ScriptedStrategy(script_of(finding.messages), is_exact=False), chance, EndWatch())


def after_refusal(session: Session) -> Finding | None:
    """The finding of a session that may come of a wrong message before it, which was refused."""
    return next((each for each in session.findings if _may_follow_refusal(each)), None)


def judged_without(finding: Finding, again: Session) -> Finding:
    """A finding after a refusal, when the same was sent once more without what was wrong on purpose.

    If that passes, the state has changed although the message was refused. If it fails, too, the finding is one like
    others. If it comes to no end, nothing is known, and it is a note. So is a connection that is closed later: many
    servers hang up on those who make mistakes, and count them.
    """
    # What depends on the answers, such as tokens, need not be the same.
    ours = [said.symbol for said in finding.messages if said.is_ours and not said.aside]
    is_same = [said.symbol for said in again.said if said.is_ours][: len(ours)] == ours
    if again.verdict is Verdict.FAIL:
        return finding
    wrong = next(said for said in reversed(finding.messages) if said.aside and said.is_ours)
    if wrong.aside.startswith(TROUBLE):
        return _judged_without_trouble(finding, wrong.aside, is_same=is_same and again.verdict is Verdict.PASS)
    if is_same and again.verdict is Verdict.PASS:
        told = f"{finding.message} (and without {wrong.symbol}, which was refused before, it does not)"
        if finding.kind in (FindingKind.CLOSED, FindingKind.RESET):
            return replace(finding, severity=Severity.NOTE, message=told)
        return replace(finding, kind=FindingKind.STATE_CHANGED, message=told, cause=finding.kind.label)
    told = f"{finding.message} (after a wrong message; without it, nothing was decided)"
    return replace(finding, severity=Severity.NOTE, message=told)


def _judged_without_trouble(finding: Finding, aside: str, *, is_same: bool) -> Finding:
    """A finding after trouble below messages, when the same was sent once more without it.

    How a stream is cut into segments says nothing, so a peer that minds breaks the protocol. Beside a second connection
    it must still answer; what else it says then is its own affair.
    """
    told = f"{finding.message} (after {aside}; without that, {'it does not' if is_same else 'nothing was decided'})"
    is_cut = SECOND_CONNECTION not in aside
    is_found = is_same and (is_cut or finding.kind is FindingKind.SILENCE)
    return replace(finding, message=told, severity=Severity.VIOLATION if is_found else Severity.NOTE)


def _may_follow_refusal(finding: Finding) -> bool:
    if finding.severity is Severity.NOTE or finding.kind not in _AFTER_REFUSAL:
        return False
    return any(said.is_aside for said in finding.messages)
