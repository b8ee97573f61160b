"""Old names, until the other rooms import from the doors."""

from palaver.matching.dialogue_rules import AnyFields as AnyFields
from palaver.matching.dialogue_rules import DialogueRules as Positions
from palaver.matching.dialogue_rules import LoopFields as Fields
from palaver.matching.dotted_rules import DottedRule as Position

__all__ = ["AnyFields", "Fields", "Position", "Positions"]
