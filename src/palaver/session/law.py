"""Old name of `session.monitor`."""

from palaver.session.monitor import ConstraintMonitor as Law

__all__ = ["Law"]
