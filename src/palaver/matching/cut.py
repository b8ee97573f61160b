"""Old names, until the other rooms import from the doors."""

from palaver.matching.dialogue_grammar import DialogueGrammar as Dialogue
from palaver.matching.dialogue_grammar import MessageType as MessageType
from palaver.matching.dialogue_grammar import cut_at_messages as cut_at_messages

__all__ = ["Dialogue", "MessageType", "cut_at_messages"]
