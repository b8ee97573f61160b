"""What all sessions of a spec share, once it is known who plays whom."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from palaver.compiled import Spec
from palaver.errors import PalaverError
from palaver.grammar.analyse import Analysis
from palaver.matching.cut import cut_at_messages
from palaver.party import Stage
from palaver.session.cast import Cast, Casting
from palaver.session.heard import Heard
from palaver.session.law import Law
from palaver.session.past import Lookback
from palaver.solving.workshop import Limits
from palaver.spec.ast import Rule
from palaver.trees.node import Parties

# Steps of search that a message is worth. A conversation cannot wait as long as a user who asked for one input.
BUDGET = 1_000


class Play:
    """A spec with a casting. `limits` are those of our own messages.

    :raises PalaverError: a party is nobody we know, or cannot be made
    """

    def __init__(self, spec: Spec, casting: Casting, limits: Limits | None = None) -> None:
        self._casting = casting
        self.limits = limits or Limits(budget=BUDGET)
        spec = _spoken(spec)
        rehearsal = Cast(spec, casting)
        rehearsal.stop()
        if rehearsal.faults:
            raise PalaverError(rehearsal.faults[0])
        self.ours = ours = tuple(name for name in rehearsal.parties if rehearsal.is_ours(name))
        for party in rehearsal.parties.values():
            rehearsal.link(party)  # who has no address, or no program, is told now and not in the first session
        # What others say to each other does not reach us.
        self.spec = spec.seen_by(ours)
        self.has_timers = any(message.sender == "TimerEvent" for message in self.spec.analysis.messages)
        self.law = Law(self.spec)
        self.heard = Heard(self.spec.analysis)
        self.lookback = Lookback(self.spec.analysis)
        self.forecaster = self.spec.forecaster(self.law.states)
        self.parties = {move: Parties(move.sender, move.recipient) for move in self.forecaster.messages}

    def prepare(self) -> None:
        """Compile now what would be compiled when it is first said or heard, while somebody waits for an answer."""
        spec = self.spec
        self.forecaster.compiled.prepare()
        written = spec.workshop.prepare(spec.grammar.constraints, self.limits)
        heard = [message.symbol for message in spec.analysis.messages if message.sender not in self.ours]
        for symbol in dict.fromkeys(heard):
            spec.matcher(symbol, binary=spec.is_binary, whole=False).prepare()
        for symbol in written:
            spec.matcher(symbol, binary=spec.is_binary).prepare()

    def cast(self, stage: Stage) -> Cast:
        """Fresh objects for all parties, as each session gets them."""
        return Cast(self.spec, self._casting, stage)


def _spoken(spec: Spec) -> Spec:
    """The same spec, in which everything beside messages is a message of `StdOut`, as it is in a conversation."""
    dialogue = cut_at_messages(spec.grammar.bodies, spec.start)
    rules = dict(spec.grammar.rules)
    rules |= {name: replace(rules[name], body=body) for name, body in dialogue.states.items()}
    rules |= {name: Rule(name, body) for name, body in dialogue.texts.items()}
    if rules == spec.grammar.rules:
        return spec
    grammar = replace(spec.grammar, rules=MappingProxyType(rules))
    return replace(spec, grammar=grammar, analysis=Analysis(grammar))
