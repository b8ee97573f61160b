"""Old names, until those who import them are redirected."""

from palaver.solving.solver_factory import SolverFactory as Workshop
from palaver.solving.solving_limits import BUDGET, MAX_NODES, MAX_REPETITIONS
from palaver.solving.solving_limits import SolvingLimits as Limits

__all__ = ["BUDGET", "MAX_NODES", "MAX_REPETITIONS", "Limits", "Workshop"]
