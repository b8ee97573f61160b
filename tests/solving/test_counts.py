"""Counts of nodes, and of different nodes, are constructed at once, not drawn until they fit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

import palaver
from palaver.random_source import RandomSource
from palaver.solving import solver_factory
from palaver.solving.memetic_search import MemeticSearch
from palaver.solving.solver import Solver
from palaver.solving.solving_limits import SolvingLimits
from palaver.trees.node import Node, NonTerminal, Parties, TreePath
from palaver.trees.tree import Tree

TREES = 20

ANSWERS = """
<start>  ::= <talk>
<talk>   ::= <ask> <answer>
<ask>    ::= <n> ":" <item>* "?"
<n>      ::= r"[1-9]?[0-9]"
<answer> ::= "[" <list>? "]" <note>
<list>   ::= <item> ("," <item>)*
<item>   ::= <id> "=" r"[a-z]"
<id>     ::= r"[0-9]{1,2}"
<note>   ::= r"[a-z]{9}"
"""


class Answers:
    """A question that was asked, and our answer to it, which is missing."""

    make: Callable[[str, tuple[Node, ...]], Node]
    counted: Callable[[Node, str, int], Node | None]
    history: tuple[Node, ...] = ()

    def __init__(self, spec: palaver.Spec, question: str) -> None:
        ask = spec.read_as("<ask>", question)
        assert ask is not None
        self._ask = ask
        self.notes: list[str] = []

    def completed(self) -> Tree:
        answer = self.make("<answer>", self.history)
        self.notes.append(str(Tree(answer))[-9:])
        talk = Node(NonTerminal("<talk>"), (self._ask, answer), (), Parties("Client", "Server"))
        return Tree(Node(NonTerminal("<start>"), (talk,)))

    def is_frozen(self, path: TreePath) -> bool:
        return path[:2] != (0, 1)


def answering(question: str, *constraints: str) -> tuple[Solver, Answers]:
    spec = palaver.loads(ANSWERS + "".join(f"where {each}\n" for each in constraints))
    scene, chance = Answers(spec, question), RandomSource(1)
    return spec.solver_factory.solver(spec.grammar.constraints, chance, chance / "fresh", SolvingLimits(), scene), scene


def at_once(solver: Solver) -> list[Tree]:
    """Trees, each the first that was made."""
    found = []
    for _ in range(TREES):
        tree = solver.solve()
        assert tree is not None, solver.failure
        found.append(tree)
    assert solver.found_by_search == 0
    return found


def items(tree: Tree, symbol: str = "<item>") -> list[str]:
    answer = next(tree.find_subtrees("<answer>"))
    return [str(each) for each in answer.find_subtrees(symbol)]


# --- a number that must stay as it is ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "counted",
    [
        "len(*<t>.<answer>.<list>.<item>)",
        "len(*<t>.<answer>..<item>)",
        "len(*<answer>..<item>)",
        "len(*<list>.<item>)",
        "|<t>.<answer>..<item>|",
        "len(*<t>[1]..<item>)",
        "len(*<t>..<item>)",
        "len(*<item>)",
    ],
)
@pytest.mark.parametrize("number", [0, 1, 17, 60])
def test_there_are_as_many_nodes_as_a_field_of_an_earlier_message_says(counted: str, number: int) -> None:
    solver, _ = answering(f"{number}:?", f"forall <t> in <talk>: {counted} == int(<t>.<ask>.<n>)")
    assert [len(items(tree)) for tree in at_once(solver)] == [number] * TREES


def test_frozen_nodes_count_too() -> None:
    solver, _ = answering("7:1=a2=b3=c?", "forall <t> in <talk>: len(*<t>..<item>) == int(<t>.<ask>.<n>)")
    assert [len(items(tree)) for tree in at_once(solver)] == [4] * TREES


def test_nothing_is_found_where_there_are_too_many_already() -> None:
    solver, _ = answering("2:1=a2=b3=c?", "forall <t> in <talk>: len(*<t>..<item>) == int(<t>.<ask>.<n>)")
    assert solver.solve() is None


def test_nodes_beside_the_counted_ones_stay() -> None:
    solver, scene = answering("17:?", "forall <t> in <talk>: len(*<t>.<answer>..<item>) == int(<t>.<ask>.<n>)")
    assert [str(tree)[-9:] for tree in at_once(solver)] == scene.notes


def test_as_many_nodes_differ_as_a_field_of_an_earlier_message_says() -> None:
    solver, _ = answering(
        "12:?",
        "forall <t> in <talk>: len(*<t>.<answer>.<list>.<item>) == int(<t>.<ask>.<n>)",
        "forall <t> in <talk>: len(set(map(str, *<t>.<answer>.<list>.<item>.<id>))) == int(<t>.<ask>.<n>)",
    )
    for tree in at_once(solver):
        assert len(items(tree)) == len(set(items(tree, "<id>"))) == 12


def test_nodes_also_differ_from_frozen_ones() -> None:
    numbers = [*range(8)]
    said = "".join(f"{number}=a" for number in numbers)
    solver, _ = answering(f"0:{said}?", "len({str(each) for each in *<id>}) == len(*<id>)", "len(*<item>) == 20")
    for tree in at_once(solver):
        assert len({*items(tree, "<id>"), *map(str, numbers)}) == 20


# --- whole trees ------------------------------------------------------------------------------------------------------

ITEMS = "<item> ::= r'[a-z]' ';'\n<n> ::= '3' | '15' | '27'\n"

WHOLE = {
    "a field beside the nodes": "<start> ::= <n> ':' <item>*\nwhere len(*<start>.<item>) == int(<start>.<n>)",
    "for each": "<start> ::= <row>{1,4}\n<row> ::= <n> ':' <item>* '.'\n"
    "where forall <r> in <row>: len(*<r>.<item>) == int(<r>.<n>)",
    "for each, further inside": "<start> ::= <row>{1,4}\n<row> ::= <n> ':' <list> '.'\n<list> ::= <item>*\n"
    "where forall <r> in <row>: len(*<r>.<list>.<item>) == int(<r>.<n>)",
    "two fields": "<start> ::= <n> ':' <m> ':' <item>*\n<m> ::= '1' | '2'\n"
    "where len(*<start>.<item>) == int(<start>.<n>) + int(<start>.<m>)",
    "others of the symbol elsewhere": "<start> ::= <n> ':' <item>* <foot>\n<foot> ::= '!' <item>\n"
    "where forall <s> in <start>: len(*<s>.<item>) == int(<s>.<n>)",
    "several places": "<start> ::= <n> ':' <item>? '!' <item>{1,2} '!' <item>*\n"
    "where len(*<start>.<item>) == int(<start>.<n>)",
    "different ones": "<start> ::= <row>{1,3}\n<row> ::= <n> ':' <pair>+ '.'\n<pair> ::= <id> '=' <item>\n"
    "<id> ::= r'[1-9][0-9]?'\nwhere forall <r> in <row>: len(*<r>.<pair>) == int(<r>.<n>)\n"
    "where forall <r> in <row>: len(set(map(int, *<r>.<pair>.<id>))) == int(<r>.<n>)",
    "one and the same": "<start> ::= <id> (',' <id>){5}\n<id> ::= r'[0-9]{3}'\nwhere len(set(*<id>)) == 1",
    "two different ones": "<start> ::= <id> (',' <id>){5}\n<id> ::= r'[0-9]'\nwhere len({str(i) for i in *<id>}) == 2",
}


@pytest.mark.parametrize("text", WHOLE.values(), ids=WHOLE)
def test_every_tree_has_the_required_count(text: str) -> None:
    at_once(palaver.loads(text, ITEMS).fuzz(1, seed=1).solver)


def test_lists_of_different_items_are_as_long_as_others() -> None:
    spec = palaver.loads(
        "<start> ::= <n> (',' <n>){2,6}\n<n> ::= r'[0-9]'\nwhere len(set(map(str, *<n>))) == len(*<n>)"
    )
    lengths = Counter(len(str(tree).split(",")) for tree in spec.fuzz(100, seed=1))
    assert sorted(lengths) == [3, 4, 5, 6, 7]
    assert min(lengths.values()) >= 10


def test_requiring_more_different_nodes_than_exist_is_reported() -> None:
    spec = palaver.loads("<start> ::= <n>{4}\n<n> ::= r'[0-2]'\nwhere len(set(map(str, *<n>))) == 4")
    with pytest.raises(palaver.Unsolvable, match="off by 1"):
        list(spec.fuzz(1, seed=1, budget=200))


def test_bits_that_fill_no_bytes_can_be_compared() -> None:
    spec = palaver.loads("<start> ::= <n>{4}\n<n> ::= (0 | 1){4} b'a'\nwhere len({len(n.children) for n in *<n>}) == 2")
    with pytest.raises(palaver.Unsolvable, match=r"\*<n> = \[the bits [01]{12}, "):
        list(spec.fuzz(1, seed=1, budget=200))


def test_nothing_is_prepared_for_a_search_before_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    searches = []

    def note(*given: object) -> MemeticSearch:
        searches.append(given)
        return MemeticSearch(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(solver_factory, "MemeticSearch", note)
    solver, scene = answering("3:?", "len(<answer>..<item>) == int(<ask>.<n>)")
    assert scene.make("<answer>", ())
    assert not searches
    solver.solve()
    assert len(searches) == 1
