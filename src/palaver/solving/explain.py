"""Old names, until those who import them are redirected."""

from palaver.solving.explanation import Explainer, contradiction

__all__ = ["Explainer", "contradiction"]
