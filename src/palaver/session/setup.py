"""Everything that all sessions of a spec share, once the roles are assigned."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType

from palaver.addresses import scheme_named
from palaver.compiled import Spec
from palaver.errors import PalaverError
from palaver.grammar.analysis import Analysis
from palaver.lean_dataclasses import replace
from palaver.matching.candidates import QuickReader
from palaver.matching.dialogue_grammar import MessageType, cut_at_messages
from palaver.matching.matcher import CompiledMatcher
from palaver.party import PartyHost
from palaver.session.blame import Recoveries
from palaver.session.broken_constraints import Negation, negations_of
from palaver.session.closing import closing_symbols
from palaver.session.deadlines import Deadlines, deadlines_of_spec
from palaver.session.inbox import ReadingCache
from palaver.session.monitor import ConstraintMonitor
from palaver.session.references import References
from palaver.session.role_table import RoleTables
from palaver.session.roles import RoleAssignment, Roles, own_scheme
from palaver.session.session_limits import MAX_VAIN_NEGATIONS
from palaver.solving.solving_limits import MESSAGE_STEP_BUDGET, SolvingLimits
from palaver.spec.ast import Rule
from palaver.spec.traversal import refs
from palaver.trees.node import Parties

__all__ = ["ConstraintMonitor", "RoleAssignment", "SessionSetup", "own_scheme"]


class SessionSetup:
    """A spec with assigned roles. `limits` are those of our own messages, `deadlines` those of the peer's.

    :raises PalaverError: a party is unknown, or cannot be made
    """

    def __init__(
        self,
        spec: Spec,
        assignment: RoleAssignment,
        limits: SolvingLimits | None = None,
        deadlines: Mapping[str, float] | None = None,
    ) -> None:
        self._assignment = assignment
        self.limits = limits or SolvingLimits(budget=MESSAGE_STEP_BUDGET)
        spec = _with_messages_only(spec)
        roles = Roles(spec, assignment)
        roles.stop()
        if roles.faults:
            raise PalaverError(roles.faults[0])
        self.ours = ours = tuple(name for name in roles.parties if roles.is_ours(name))
        # A missing address or program is told now and not in the first session.
        places = [roles.link(party) for party in roles.parties.values()]
        # The parties of ours that send datagrams, which are whole messages.
        linked = zip(roles.parties, places, strict=True)
        self.by_datagram = frozenset(
            name for name, place in linked if place is not None and scheme_named(place[0].scheme).is_datagram
        )
        # If we open all connections, a session can be repeated at any time.
        self.opens_all = all(place is None or place[1] == "connect" for place in places)
        # Messages between two peers do not reach us.
        self.spec = spec.seen_by(ours)
        self.is_binary = self.spec.is_binary
        self.monitor = ConstraintMonitor(self.spec)
        self.recoveries = Recoveries()
        self.forecaster = self.spec.forecaster(self.monitor.distinguished)
        analysis = self.spec.analysis
        given = {**deadlines_of_spec(spec.namespace.names), **(deadlines or {})}
        messages = (ref.symbol for body in spec.grammar.bodies.values() for ref in refs(body) if ref.sender)
        self.deadlines = Deadlines(given, messages)
        self.closing = closing_symbols(analysis)
        self._tried_in_vain: Counter[tuple[str, int, str]] = Counter()  # negations, by message
        self._role_tables = RoleTables(analysis.messages, self.closing)
        self.reading_cache = ReadingCache(analysis, self._quick_reader)
        self.references = References(analysis)
        self.has_timers = any(message.sender == "TimerEvent" for message in analysis.messages)
        self.parties = {move: Parties(move.sender, move.recipient) for move in self.forecaster.messages}
        self._negations: dict[str, tuple[Negation, ...]] = {}  # by message
        self.shapes: dict[str, CompiledMatcher] = {}  # of the messages that were received so far
        # The messages with parts that a generator makes from other parts, which are recovered when they are received.
        made = {name for name, arguments in analysis.arguments.items() if arguments}
        symbols = {move.symbol for move in self.forecaster.messages}
        self.generated = frozenset(name for name in symbols if not made.isdisjoint(analysis.below(name) | {name}))

    def shape(self, symbol: str) -> CompiledMatcher:
        """Compile a message that is received for the first time."""
        shape = self.shapes[symbol] = self.spec.shape(symbol, bounded=True)
        return shape

    def _quick_reader(self, moves: tuple[MessageType, ...]) -> QuickReader[MessageType] | None:
        shapes = {move: self.shapes.get(move.symbol) or self.shape(move.symbol) for move in moves}
        return QuickReader.of(shapes, self.parties, binary=self.is_binary)

    def negations(self, symbol: str) -> tuple[Negation, ...]:
        """The ways in which a message of this symbol may break a constraint."""
        if symbol not in self._negations:
            unseen = self.monitor.cannot_see(symbol) | self.monitor.folded
            seen = [each for each in enumerate(self.spec.grammar.constraints) if each[0] not in unseen]
            self._negations[symbol] = tuple(way for at, each in seen for way in negations_of(at, each))
        return self._negations[symbol]

    def negations_left(self, symbol: str) -> tuple[Negation, ...]:
        """Those of the ways that were not tried in vain too often."""
        vain = self._tried_in_vain
        return tuple(way for way in self.negations(symbol) if vain[symbol, way.number, way.how] < MAX_VAIN_NEGATIONS)

    def note_negation(self, symbol: str, way: Negation, *, is_found: bool) -> None:
        """Remember that a way was tried. Each takes a search, and many of them can only be broken by the peer."""
        key = symbol, way.number, way.how
        self._tried_in_vain[key] = 0 if is_found else self._tried_in_vain[key] + 1

    def prepare(self) -> None:
        """Compile now what would otherwise be compiled in a session, while the peer waits for an answer."""
        spec = self.spec
        self.forecaster.compiled.prepare()
        written = spec.solver_factory.prepare(spec.grammar.constraints, self.limits)
        received = [message.symbol for message in spec.analysis.messages if message.sender not in self.ours]
        for symbol in dict.fromkeys(received):
            spec.matcher(symbol, binary=spec.is_binary, whole=False, bounded=True).prepare()
        for symbol in written:
            spec.matcher(symbol, binary=spec.is_binary).prepare()

    def make_roles(self, host: PartyHost) -> Roles:
        """Fresh objects for all parties of one session, which is their host."""
        return Roles(self.spec, self._assignment, host, self._role_tables)


def _with_messages_only(spec: Spec) -> Spec:
    """The same spec, in which all terminals beside messages are messages of `StdOut`, as they are in a session."""
    dialogue = cut_at_messages(spec.grammar.bodies, spec.start)
    rules = dict(spec.grammar.rules)
    rules |= {name: replace(rules[name], body=body) for name, body in dialogue.states.items()}
    rules |= {name: Rule(name, body) for name, body in dialogue.texts.items()}
    if rules == spec.grammar.rules:
        return spec
    grammar = replace(spec.grammar, rules=MappingProxyType(rules))
    return replace(spec, grammar=grammar, analysis=Analysis(grammar))
