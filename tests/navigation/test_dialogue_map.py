"""The dialogue map agrees with the forecaster, and with the coverage of trees."""

from __future__ import annotations

from random import Random
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_dialogue import NUMBER, NUMBERS
from random_dialogues import RandomDialogue, number_in

import palaver
from amounts import examples
from palaver.errors import PalaverError
from palaver.matching.forecaster import Forecaster, MessageType
from palaver.navigation.coverage import Coverage, KPath, KPaths
from palaver.navigation.dialogue_map import DialogueMap, MapNode
from palaver.spec.ast import Rule
from palaver.trees.node import Node, NonTerminal

# More ways than this to explain a history are not compared.
MOST_WAYS = 1_000


def message(move: MessageType, random: Random) -> Node:
    letter = random.choice(NUMBERS) if move.symbol == NUMBER else move.symbol[1:-1]
    return Node(NonTerminal(move.symbol), (letter,))


def covered_by(coverage: Coverage, states: tuple[int, ...]) -> set[KPath]:
    found = Coverage(coverage.paths)
    for state in states:
        found.add_path(coverage.walks[state])
    return set(found.covered())


@given(seed=st.integers(0, 20_000), k=st.sampled_from([1, 2, 3, 5]), is_computed=st.booleans())
@settings(max_examples=examples(150), deadline=None, derandomize=True)
def test_following_the_map_covers_the_paths_of_the_tree(seed: int, k: int, is_computed: bool) -> None:
    dialogue = RandomDialogue(seed, is_computed=is_computed)
    try:
        forecaster = Forecaster(dialogue.rules, "<start>", bound=number_in)
    except PalaverError:
        return  # a computed repetition that nobody could follow
    grammar = SimpleNamespace(rules={name: Rule(name, body) for name, body in dialogue.rules.items()}, start="<start>")
    coverage = Coverage(KPaths(grammar, k))  # type: ignore[arg-type]  # all that it looks at
    dialogue_map = DialogueMap(forecaster, coverage, {"C"})
    random = Random(seed)
    forecast = forecaster.begin()
    ways: dict[tuple[MapNode, tuple[int, ...]], None] = {(dialogue_map.beginning, ()): None}
    for _ in range(6):
        fields = forecast.hypotheses[0].fields
        if forecast.can_end:
            tree = next(each for each in forecast.hypotheses if each.can_end).complete_tree()
            expected = Coverage(coverage.paths)
            expected.add(tree)
            ends = [(states, dialogue_map._end(here, fields)) for here, states in ways]
            found = [covered_by(coverage, (*states, *end)) for states, end in ends if end is not None]
            assert set(expected.covered()) in found
        possible = {
            move for move in forecaster.messages for here, _ in ways if dialogue_map.edges_for(here, move, fields)
        }
        assert possible == set(forecast.moves)
        if not forecast.moves:
            break
        move = random.choice(forecast.moves)
        node = message(move, random)
        ways = {
            (edge.to, (*states, *edge.marks, edge.state, coverage.step(edge.state, repr(node.children[0])))): None
            for here, states in ways
            for edge in dialogue_map.edges_for(here, move, fields)
        }
        if len(ways) > MOST_WAYS:
            break
        forecast = forecast.after(move, node)


def map_of(spec: str, k: int = 5) -> DialogueMap:
    loaded = palaver.loads(spec)
    return DialogueMap(loaded.forecaster(), Coverage(KPaths(loaded.grammar, k)), {"Client"})


def all_nodes(dialogue_map: DialogueMap, most: int = 1_000) -> list[MapNode]:
    todo = [dialogue_map.beginning]
    for here in todo:
        todo += dict.fromkeys(edge.to for edge in dialogue_map.edges(here) if edge.to not in todo)
        assert len(todo) < most
    return todo


MESSAGES = '<a> ::= "a"\n<b> ::= "b"\n'


@pytest.mark.parametrize(
    "rules",
    [
        "<start> ::= <Client:a> <Server:b> <start> | <Client:b>",
        "<start> ::= (<Client:a> <Server:b>)* <Client:b>",
        "<start> ::= <start> <Client:a> | <Client:b>",
        "<start> ::= <x>\n<x> ::= <y> <Client:a> | <Client:b>\n<y> ::= <x> <Server:b> | <Client:a>",
        "<start> ::= <s> <start> | <Client:b>\n<s> ::= <Client:a> <t>\n<t> ::= <Server:b> | <Server:a> <s>",
    ],
)
def test_a_dialogue_without_nesting_has_a_finite_map(rules: str) -> None:
    assert len(all_nodes(map_of(rules + "\n" + MESSAGES))) < 100


def test_different_histories_lead_to_the_same_node() -> None:
    dialogue_map = map_of("<start> ::= (<Client:a> | <Client:b>) <start>?\n" + MESSAGES)
    here = dialogue_map.beginning
    for _ in range(12):
        here = dialogue_map.edges(here)[0].to
    again = dialogue_map.edges(here)
    assert {edge.to for edge in again if dialogue_map.edges(edge.to)} == {here}


def test_a_message_with_two_derivations_has_two_edges() -> None:
    dialogue_map = map_of("<start> ::= (<x> | <y>) <Server:b>\n<x> ::= <Client:a>\n<y> ::= <Client:a>\n" + MESSAGES)
    walks = [dialogue_map.coverage.walks[edge.state] for edge in dialogue_map.edges(dialogue_map.beginning)]
    assert walks == [("<start>", "<x>", "<a>"), ("<start>", "<y>", "<a>")]


def test_a_computed_repetition_has_any_number_of_rounds_on_the_map() -> None:
    dialogue_map = map_of('<start> ::= <Client:n> <Server:b>{int(<n>)} <Client:a>\n<n> ::= r"[0-9]"\n' + MESSAGES)
    (edge,) = dialogue_map.edges(dialogue_map.beginning)
    for _ in range(3):
        moves = [(each.move.symbol, each.to) for each in dialogue_map.edges(edge.to)]
        assert [symbol for symbol, _ in moves] == ["<b>", "<a>"]
        edge = dialogue_map.edges(edge.to)[0]
