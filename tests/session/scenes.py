"""Old names of `driven_session`."""

from driven_session import ECHO as ECHO
from driven_session import DrivenSession as Scene

__all__ = ["ECHO", "Scene"]
