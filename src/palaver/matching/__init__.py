"""Matching: parsers that read messages as their data comes, and the automaton of dialogue grammars.

Doors:

matcher             compile a grammar, read one message: fast path first, Earley parser where that cannot decide
candidates          read several message types from one input
dialogue_grammar    cut a grammar at its messages
dialogue_automaton  the pushdown automaton of a dialogue grammar: states, dotted rules, terms, tree actions
forecaster          the messages that may come next, with their partial trees
"""

DOOR = ("matcher", "candidates", "dialogue_grammar", "dialogue_automaton", "forecaster")
