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
        # What others say to each other does not reach us.
        self.spec = spec.seen_by(ours)
        self.law = Law(self.spec)

    def cast(self, stage: Stage) -> Cast:
        """Fresh objects for all parties, as each session gets them."""
        cast = Cast(self.spec, self._casting)
        cast.join(stage)
        return cast
