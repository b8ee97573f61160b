"""Old names, until those who import them are redirected."""

from palaver.solving.solving_plan import SolvingPlan as Plan

__all__ = ["Plan"]
