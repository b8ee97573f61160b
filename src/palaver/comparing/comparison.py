"""Holds the same conversation with several implementations, and compares what they answer.

How it works
============

Each implementation has a campaign of its own. In turn, one of them leads: its session is chosen as in `talk`, with
wrong messages if they are wanted. The others follow its script: what depends on their own answers is made anew, so that
each conversation is right for whom it is held with. Where one cannot go on as the others did, the comparison of this
conversation ends.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

from palaver.campaign.events import Event, FindingReported, SessionEnded
from palaver.campaign.run import Campaign
from palaver.comparing.differences import Differences, aspects_of, exchanges_of
from palaver.session.findings import Finding, SessionMessage, Severity
from palaver.session.strategy import ScriptedStrategy, Strategy, script_of
from palaver.trees.tree import Tree


class Participant:
    """An implementation: its name, and the campaign of sessions with it."""

    def __init__(self, name: str, campaign: Campaign) -> None:
        self.name = name
        self.campaign = campaign
        self._next: deque[Strategy] = deque()
        campaign.follow(iter(self._strategies()), goes_on=True)
        self._events: Iterator[Event] = iter(campaign)
        self.found: list[Finding] = []

    def _strategies(self) -> Iterator[Strategy]:
        while self._next:
            yield self._next.popleft()

    def lead(self) -> Sequence[SessionMessage]:
        """Hold a session of its own choice; return what was said."""
        guidance = self.campaign.guidance
        return self._held(guidance.random_walk if guidance.is_done else guidance.guided_strategy)

    def follow(self, messages: Sequence[SessionMessage]) -> Sequence[SessionMessage]:
        """Hold the session that another one had; return what was said."""
        return self._held(ScriptedStrategy(script_of(messages), is_exact=False))

    def _held(self, strategy: Strategy) -> Sequence[SessionMessage]:
        self._next.append(strategy)
        self.found = []
        for event in self._events:
            if isinstance(event, FindingReported):
                self.found.append(event.finding)
            elif isinstance(event, SessionEnded):
                return event.messages
        return ()

    def finish(self, reason: str) -> None:
        """Let the campaign come to its end, for this reason, with a last look at its system under test."""
        self.campaign.stop(reason)
        for _ in self._events:
            pass

    def finding_at(self, count: int) -> Finding | None:
        """The finding after so many messages of the latest session."""
        return next((finding for finding in self.found if len(finding.messages) == count), None)


class ServerComparison:
    """Conversations with several implementations."""

    def __init__(self, participants: Sequence[Participant]) -> None:
        self.participants = participants
        self.differences = Differences([each.name for each in participants])
        self.conversations = 0
        first = participants[0].campaign
        names = first.spec.namespace.names.get("COMPARABLE_FIELDS", ())
        self._comparable: tuple[str, ...] = tuple(names)

    def run(self, conversations: int) -> None:
        """Hold so many conversations with each, and let their campaigns come to their ends."""
        for number in range(conversations):
            leader = self.participants[number % len(self.participants)]
            said = {leader.name: leader.lead()}
            for other in self.participants:
                if other is not leader:
                    said[other.name] = other.follow(said[leader.name])
            self.conversations += 1
            self._compare([said[each.name] for each in self.participants])
        for each in self.participants:
            each.finish(f"reached the limit of {conversations} conversations (-n {conversations})")

    def _compare(self, said: Sequence[Sequence[SessionMessage]]) -> None:
        """Compare exchange by exchange, until one of them was asked something else, or answers otherwise."""
        for exchanges in zip(*map(exchanges_of, said), strict=False):
            if len({(each.asked.symbol, bool(each.asked.aside)) for each in exchanges}) > 1:
                return
            findings = [who.finding_at(each.at) for who, each in zip(self.participants, exchanges, strict=True)]
            aspects = [
                {each.name: each.value for each in aspects_of(exchange, finding, self._fields)}
                for exchange, finding in zip(exchanges, findings, strict=True)
            ]
            if not self.differences.add(exchanges, aspects, findings, said[0]):
                return

    def _fields(self, message: SessionMessage) -> str:
        """The comparable fields of an answer, in words."""
        if message.aside or not self._comparable:
            return ""
        tree = Tree(message.node)
        found = {name: list(tree.find_subtrees(name)) for name in self._comparable}
        return ", ".join(f"{name} {str(each)!r}" for name, trees in found.items() for each in trees)

    @property
    def violations(self) -> list[tuple[str, Finding]]:
        """The findings of all implementations that are no notes, each with the name of its implementation."""
        return [
            (each.name, finding)
            for each in self.participants
            for finding in each.campaign.findings
            if finding.severity is Severity.VIOLATION
        ]

    def close(self) -> None:
        """Close all connections."""
        for each in self.participants:
            each.campaign.close()
