"""What all sessions of a spec share, once it is known who plays whom."""

from __future__ import annotations

from palaver.compiled import Spec
from palaver.party import Stage
from palaver.session.cast import Cast, Casting
from palaver.session.law import Law


class Play:
    """A spec with a casting.

    :raises PalaverError: a party is nobody we know
    """

    def __init__(self, spec: Spec, casting: Casting) -> None:
        self._casting = casting
        rehearsal = Cast(spec, casting)
        ours = [name for name in rehearsal.parties if rehearsal.is_ours(name)]
        for party in rehearsal.parties.values():
            rehearsal.link(party)  # who has no address, or no program, is told now and not in the first session
        # What others say to each other does not reach us.
        self.spec = spec.seen_by(ours)
        self.law = Law(self.spec)
        self.forecaster = self.spec.forecaster(self.law.states)

    def cast(self, stage: Stage) -> Cast:
        """Fresh objects for all parties, as each session gets them."""
        cast = Cast(self.spec, self._casting)
        cast.join(stage)
        return cast
