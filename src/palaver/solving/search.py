"""Old names, until those who import them are redirected."""

from palaver.solving.solving_limits import DEFAULT_RATES
from palaver.solving.solving_limits import EvolutionRates as Rates

__all__ = ["DEFAULT_RATES", "Rates"]
