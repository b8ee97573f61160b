"""Steered makers take what is worth most, within the grammar and within their budget."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import pytest

import palaver
from palaver.compiled import Spec
from palaver.generation.tree_maker import TreeMaker
from palaver.random_source import RandomSource
from palaver.solving.solving_limits import SolvingLimits
from palaver.trees.node import Node
from palaver.trees.tree import Tree

Path = tuple[str, ...]


class Wishes:
    """Steering by wishes: states are the last names on the way, and a name is worth what `worth_of` says of them."""

    def __init__(self, worth_of: Callable[[Path], float]) -> None:
        self._worth_of = worth_of
        self._paths: list[Path] = [()]
        self.state = 0
        self.entered: list[Path] = []
        self.begun = 0
        self.left_out: list[str] = []
        self.open = 0

    def begin(self) -> None:
        self.begun += 1

    def enter(self, state: int, name: str) -> int | None:
        path = (*self._paths[state], name)[-4:]
        self.entered.append(path)
        if not name.startswith("<"):
            return None
        self.open += 1
        self._paths.append(path)
        return len(self._paths) - 1

    def leave(self) -> None:
        self.open -= 1

    def worth(self, state: int, names: Sequence[str]) -> float:
        return max(self._worth_of((*self._paths[state], name)) for name in names)

    def invites(self, state: int, names: Sequence[str]) -> bool:
        return self.worth(state, names) > 0

    def choose(self, state: int, names: Sequence[str]) -> None:
        pass

    def leave_out(self, symbols: Iterable[str]) -> None:
        self.left_out += symbols


def wishing_for(*names: str) -> Wishes:
    return Wishes(lambda path: float(path[-1] in names))


def program_of(spec: Spec) -> TreeMaker:
    return spec.solver_factory.program(20, frozenset())


def made(text: str, wishes: Wishes, count: int = 20, nodes: int = 200) -> list[Tree]:
    spec = palaver.loads(text)
    chance = RandomSource(1)
    trees = [program_of(spec).make_tree(spec.start, chance, nodes=nodes, steering=wishes) for _ in range(count)]
    for tree in trees:
        spec.validate(tree)
    assert wishes.open == 0
    return trees


def texts(text: str, wishes: Wishes, count: int = 20) -> set[str]:
    return {str(tree) for tree in made(text, wishes, count)}


LETTERS = '<start> ::= "a" | "b" | <c> | "d" "e"\n<c> ::= "c"\n'


@pytest.mark.parametrize(("wish", "text"), [("'b'", "b"), ("<c>", "c"), ("'e'", "de")])
def test_the_option_is_taken_that_is_worth_most(wish: str, text: str) -> None:
    assert texts(LETTERS, wishing_for(wish)) == {text}


def test_options_of_equal_worth_are_taken_by_chance() -> None:
    assert texts(LETTERS, wishing_for("'a'", "'e'")) == {"a", "de"}


def test_where_nothing_is_worth_anything_chance_decides() -> None:
    assert texts(LETTERS, wishing_for()) == {"a", "b", "c", "de"}


def test_symbols_of_which_plain_programs_keep_all_nodes_ready_are_steered_too() -> None:
    spec = '<start> ::= <digit>{3}\n<digit> ::= "0" | "1" | "2" | "3"\n'
    assert texts(spec, wishing_for("'2'")) == {"222"}


def test_what_something_is_worth_depends_on_where_it_stands() -> None:
    wishes = Wishes(lambda path: float(path[-2:] in {("<x>", "'1'"), ("<y>", "'0'")}))
    assert texts('<start> ::= <x> <y>\n<x> ::= "0" | "1"\n<y> ::= "0" | "1"\n', wishes) == {"10"}


def test_an_optional_part_is_there_if_it_is_worth_something() -> None:
    spec = '<start> ::= "a" ("b" "c")? "d"?\n'
    assert texts(spec, wishing_for("'c'", "'d'")) == {"abcd"}
    assert texts(spec, wishing_for()) == {"a", "ad", "abc", "abcd"}


@pytest.mark.parametrize(("bounds", "most"), [("*", 6), ("+", 7), ("{2,}", 8), ("{1,3}", 3), ("{4}", 4)])
def test_a_repetition_goes_on_while_it_is_worth_it_but_not_for_ever(bounds: str, most: int) -> None:
    assert texts(f'<start> ::= "x"{bounds}\n', wishing_for("'x'")) == {"x" * most}


def test_a_repetition_that_is_worth_nothing_is_short() -> None:
    lengths = {len(text) for text in texts('<start> ::= "x"*\n', wishing_for(), 60)}
    assert lengths == {0, 1, 2, 3}


def test_a_computed_repetition_counts_what_its_field_says() -> None:
    spec = '<start> ::= <n> ":" ("." | "!"){int(<n>)}\n<n> ::= "2" | "3" | "40"\n'
    assert texts(spec, wishing_for("'40'", "'!'")) == {"40:" + "!" * 40}


def test_the_steering_hears_of_everything_that_is_made_and_where() -> None:
    wishes = wishing_for("'n'")
    made('<start> ::= <a> r"[0-9]" "!"\n<a> ::= "n" | "m"\n', wishes, 1)
    assert wishes.entered == [
        ("<start>",),
        ("<start>", "<a>"),
        ("<start>", "<a>", "'n'"),
        ("<start>", "r'[0-9]'"),
        ("<start>", "'!'"),
    ]
    assert wishes.begun == 1


NESTED = '<start> ::= "(" <start> <start> ")" | "[" <start>* "]" | "x"\n'


def test_recursion_ends_when_the_budget_is_spent_however_much_more_of_it_is_worth() -> None:
    sizes = [tree.size() for tree in made(NESTED, wishing_for("<start>"), nodes=50)]
    assert max(sizes) < 250
    # Nothing else was worth anything, so it was not given up before.
    assert min(sizes) > 50


def test_left_recursion_ends_and_trees_may_be_deeper_than_pythons_stack() -> None:
    spec = palaver.loads('<start> ::= <start> "+" | "1"\n')
    tree = program_of(spec).make_tree("<start>", RandomSource(1), nodes=20_000, steering=wishing_for("<start>"))
    assert str(tree) == "1" + "+" * (len(str(tree)) - 1)
    assert tree.size() > 20_000


def test_where_any_way_will_do_the_tree_is_that_of_the_plain_program() -> None:
    class Indifferent(Wishes):
        def enter(self, state: int, name: str) -> int | None:
            return None

    spec = palaver.loads(NESTED)
    plain = [program_of(spec).make_tree("<start>", RandomSource(seed), nodes=60) for seed in range(10)]
    steered = [
        program_of(spec).make_tree("<start>", RandomSource(seed), nodes=60, steering=Indifferent(lambda path: 1))
        for seed in range(10)
    ]
    assert list(map(str, steered)) == list(map(str, plain))


def test_arguments_of_generators_are_not_steered() -> None:
    spec = (
        '<start> ::= <digit> "!" := str(<number>) + "!"\n<digit> ::= r"[0-9]"\n'
        '<number> ::= "1" | "2" | "3" := str(<start>)[0]\n'
    )
    wishes = wishing_for("'3'")
    assert texts(spec, wishes) == {"1!", "2!", "3!"}
    assert not any("<number>" in path for path in wishes.entered)


def test_a_part_of_a_tree_is_steered_below_the_state_that_it_is_told() -> None:
    spec = palaver.loads('<start> ::= "s" <x>\n<x> ::= "0" | "1"\n')
    wishes = Wishes(lambda path: float(path == ("<start>", "<x>", "'1'")))
    state = wishes.enter(0, "<start>")
    assert state is not None
    wishes.state = state
    nodes = [program_of(spec).make("<x>", RandomSource(seed), nodes=9, steering=wishes) for seed in range(9)]
    assert {node.children for node in nodes} == {("1",)}


def test_settings_still_break_the_grammar() -> None:
    spec = palaver.loads('setting <start> terminal_should_repeat = 1.0\n<start> ::= "a" | "b"\n')
    wishes = wishing_for("'b'")
    trees = [program_of(spec).make_tree("<start>", RandomSource(seed), nodes=9, steering=wishes) for seed in range(20)]
    assert {str(tree) for tree in trees} == {"", "bb", "bbb", "bbbb", "bbbbb"}


# --- with constraints -------------------------------------------------------------------------------------------------


def solved(text: str, wishes: Wishes, count: int) -> list[Tree]:
    spec = palaver.loads(text)
    chance = RandomSource(1)
    solver = spec.solver_factory.solver(
        spec.grammar.constraints, chance, chance / "fuzz", SolvingLimits(), steering=wishes
    )
    trees: list[Tree] = []
    while len(trees) < count:
        solver.begin()
        found = next((tree for _ in range(50) if (tree := solver.solve()) is not None), None)
        assert found is not None, solver.failure
        trees.append(found)
    for tree in trees:
        spec.validate(tree)
    return trees


def test_a_field_is_found_though_its_conditions_forbid_what_is_worth_most() -> None:
    spec = '<start> ::= "<" <x> ">"\n<x> ::= "0" | "1" | "2"\nwhere hash(str(<x>)) == hash("1")\n'
    assert {str(tree) for tree in solved(spec, wishing_for("'2'"), 5)} == {"<1>"}


def test_what_solving_decides_and_what_generators_make_is_left_out_of_steering() -> None:
    wishes = wishing_for()
    solved(
        '<start> ::= <n> <text> <g>\n<n> ::= <digit>{2}\n<digit> ::= r"[0-9]"\n<text> ::= "a" | "b"\n'
        '<g> ::= r"[0-9]" := "7"\nwhere int(<n>) > 50\n',
        wishes,
        3,
    )
    assert wishes.left_out == ["<n>", "<g>"]


def test_messages_satisfy_constraints_and_follow_the_steering_otherwise() -> None:
    spec = (
        '<start> ::= <len> ":" <text>\n<len> ::= r"[0-9]{1,2}"\n<text> ::= ("a" | "b"){1,9}\n'
        "where int(<len>) == len(str(<text>))\n"
    )
    trees = solved(spec, wishing_for("'b'"), 5)
    assert {str(tree) for tree in trees} == {"7:bbbbbbb"}
    assert all(isinstance(tree.node, Node) for tree in trees)
