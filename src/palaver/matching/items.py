"""Old names, until the other rooms import from the doors."""

from palaver.matching.dialogue_terms import ChoiceTerm as Fork
from palaver.matching.dialogue_terms import ComputedLoopTerm as ComputedLoop
from palaver.matching.dialogue_terms import DialogueTerm as Item
from palaver.matching.dialogue_terms import EmptyTextTerm as Put
from palaver.matching.dialogue_terms import LeftCornerTerm as Grown
from palaver.matching.dialogue_terms import LoopTerm as Loop
from palaver.matching.dialogue_terms import MessageTerm as Say
from palaver.matching.dialogue_terms import PermutationTerm as All
from palaver.matching.dialogue_terms import RoundEndTerm as Mark
from palaver.matching.dialogue_terms import RuleEndTerm as End
from palaver.matching.dialogue_terms import SequenceTerm as Row
from palaver.matching.dialogue_terms import StateTerm as Enter
from palaver.matching.dialogue_terms import computed_loops as computed_loops

__all__ = [
    "All",
    "ComputedLoop",
    "End",
    "Enter",
    "Fork",
    "Grown",
    "Item",
    "Loop",
    "Mark",
    "Put",
    "Row",
    "Say",
    "computed_loops",
]
