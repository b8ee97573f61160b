"""Old names of `session.setup`."""

from palaver.session.setup import MESSAGE_STEP_BUDGET as BUDGET
from palaver.session.setup import SessionSetup as Play

__all__ = ["BUDGET", "Play"]
