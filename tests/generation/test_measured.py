"""Derivations with an exact length, or an exact number of nodes of a symbol."""

from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amounts import examples
from palaver.compiled import Spec, loads
from palaver.generation.makers import SpecCode
from palaver.generation.measured_derivations import Count, Length, Measure, MeasuredDerivations
from palaver.generation.tree_maker import compile_tree_maker
from palaver.grammar.analysis import cyclic_symbols, least_sizes, nullable_symbols
from palaver.grammar.ir import Grammar
from palaver.random_source import RandomSource
from palaver.regular.language import Unit
from palaver.spec.ast import Bit, Choice, Expr, Literal, Pattern, Permutation, Ref, Repeat, Rule, Sequence
from palaver.trees.node import Node, NonTerminal, Part, Parties, same_structure
from palaver.trees.tree import Tree
from palaver.trees.values import leaves_of

MOST = 20

JSON = r"""
<start> ::= <value>
<value> ::= <object> | <array> | <string> | <number> | "true" | "false" | "null"
<object> ::= "{" <blank> "}" | "{" <member> ("," <member>)* "}"
<member> ::= <blank> <string> <blank> ":" <blank> <value> <blank>
<array> ::= "[" <blank> "]" | "[" <blank> <value> <blank> ("," <blank> <value> <blank>)* "]"
<string> ::= '"' <char>* '"'
<char> ::= r'[a-z0-9 ]'
<number> ::= "-"? ("0" | r'[1-9]' <digit>*) ("." <digit>+)?
<blank> ::= r'[ \n]*'
"""


def measured(spec: Spec, measure: Measure) -> MeasuredDerivations:
    return of_rules(spec.grammar.rules, measure, binary=spec.is_binary)


def of_rules(rules: Mapping[str, Rule], measure: Measure, *, binary: bool = False) -> MeasuredDerivations:
    """Whatever is made in the usual way is made by a program; every generator says 7."""
    code = SpecCode(lambda *_: pytest.fail("no bound is computed"), lambda rule, *_: sevens(rule))
    program = compile_tree_maker(Grammar(rules, next(iter(rules))), least_sizes(rules), code, binary=binary, most=MOST)
    return MeasuredDerivations(
        rules, measure, binary=binary, most=MOST, make=lambda symbol, chance: program.make(symbol, chance, nodes=30)
    )


def sevens(rule: Rule) -> Node:
    return Node(NonTerminal(rule.symbol), ("7",))


def not_asked(symbol: str, chance: RandomSource) -> Node:
    """Makes nothing: of a length, everything is measured."""
    pytest.fail(f"{symbol} is made in the usual way")


def text(node: Node | None) -> str:
    assert node is not None
    return str(Tree(node))


def possible(mask: int | None) -> list[int]:
    assert mask is not None
    return [at for at in range(mask.bit_length()) if mask >> at & 1]


def count(node: Node, symbol: str) -> int:
    return sum(each.symbol == symbol for each in nodes_of(node))


def nodes_of(node: Node) -> list[Node]:
    found = [node]
    for each in found:
        found += [part for part in each.children if isinstance(part, Node)]
    return found


# --- lengths ----------------------------------------------------------------------------------------------------------


def test_the_possible_lengths_are_those_of_all_derivations() -> None:
    spec = loads('<start> ::= "ab" <x>{2,3} | "abc"\n<x> ::= "12" | "12345"')
    assert possible(measured(spec, Length()).amounts("<start>", 100)) == [3, 6, 8, 9, 11, 12, 14, 17]


def test_amounts_beyond_the_limit_are_not_told() -> None:
    spec = loads('<start> ::= "a"*')
    lengths = measured(spec, Length())
    assert possible(lengths.amounts("<start>", 300)) == list(range(301))
    assert possible(lengths.amounts("<start>", 3)) == [0, 1, 2, 3]
    assert lengths.amounts("<start>", -1) == 0


@pytest.mark.parametrize("length", [1, 2, 7, 40, 41, 300])
def test_json_of_any_length_is_json_of_that_length(length: int) -> None:
    spec, chance = loads(JSON), RandomSource(length)
    lengths = measured(spec, Length())
    for _ in range(10):
        drawn = text(lengths.draw("<value>", length, chance))
        assert len(drawn) == length
        assert spec.parse(drawn) is not None


def test_draws_are_spread_over_the_kinds_of_derivations() -> None:
    lengths, chance = measured(loads(JSON), Length()), RandomSource(4)
    drawn = [text(lengths.draw("<value>", 40, chance)) for _ in range(100)]
    assert len(set(drawn)) == 100
    assert {each[0] for each in drawn} >= set('"[{1')
    assert len({each.count(",") for each in drawn}) > 6
    assert sum(map(str.isspace, "".join(drawn))) < 1500


def test_equal_chances_give_equal_draws_whatever_was_asked_before() -> None:
    spec = loads(JSON)
    fresh, used = measured(spec, Length()), measured(spec, Length())
    used.amounts("<value>", 1000)
    used.draw("<value>", 700, RandomSource(0))
    for seed in range(20):
        one, other = fresh.draw("<value>", 33, RandomSource(seed)), used.draw("<value>", 33, RandomSource(seed))
        assert one is not None
        assert other is not None
        assert same_structure(one, other)


def test_no_derivation_has_an_impossible_length() -> None:
    lengths = measured(loads('<start> ::= "ab"+'), Length())
    assert lengths.draw("<start>", 7, RandomSource(1)) is None
    assert lengths.draw("<start>", 0, RandomSource(1)) is None
    assert lengths.draw("<start>", -2, RandomSource(1)) is None


def test_bytes_are_measured_in_bytes_and_text_among_them_as_utf_8() -> None:
    spec = loads("<start> ::= b'\\x00' 'ä' rb'[\\x80-\\xff]{2}' r'[a-c]?'")
    lengths = measured(spec, Length())
    assert lengths.unit("<start>") is Unit.BYTES
    assert possible(lengths.amounts("<start>", 50)) == [5, 6]
    node = lengths.draw("<start>", 6, RandomSource(1))
    assert node is not None
    assert len(bytes(Tree(node))) == 6


def test_whatever_has_bits_in_it_is_measured_in_bits() -> None:
    spec = loads("<start> ::= <head> <body>\n<head> ::= <bit>{4} | <bit>{8}\n<body> ::= rb'[a-z]*'\n<bit> ::= 0 | 1")
    lengths = measured(spec, Length())
    assert [lengths.unit(symbol) for symbol in ("<start>", "<head>", "<body>")] == [Unit.BITS, Unit.BITS, Unit.BYTES]
    assert possible(lengths.amounts("<start>", 24)) == [4, 8, 12, 16, 20, 24]
    assert possible(lengths.amounts("<body>", 3)) == [0, 1, 2, 3]
    node = lengths.draw("<start>", 24, RandomSource(5))
    assert node is not None
    assert len(bytes(Tree(node))) == 3


def test_messages_keep_their_parties() -> None:
    spec = loads('<start> ::= <A:B:x> <B:x>\n<x> ::= "x"+', start="<start>")
    for measure, amount in ((Length(), 5), (Count("<x>"), 2)):
        node = measured(spec, measure).draw("<start>", amount, RandomSource(1))
        assert node is not None
        assert [part.parties for part in node.children if isinstance(part, Node)] == [Parties("A", "B"), Parties("B")]


@pytest.mark.parametrize(
    "spec",
    [
        '<start> ::= <n> "x"{int(<n>)}\n<n> ::= r"[1-3]"',
        '<start> ::= "a" <n>\n<n> ::= r"[1-3]" := "2"',
        '<start> ::= r"(?=a).*"',
    ],
)
def test_what_depends_on_more_than_the_grammar_cannot_be_told(spec: str) -> None:
    assert measured(loads(spec), Length()).amounts("<start>", 10) is None


def test_patterns_with_look_around_are_drawn_and_checked() -> None:
    spec = loads('<start> ::= "<" r"(?!x)[xyz]+" ">" | r"^never\\b!$"')
    lengths, chance = measured(spec, Length()), RandomSource(3)
    drawn = {text(lengths.draw("<start>", 3, chance)) for _ in range(30)}
    assert drawn == {"<y>", "<z>"}


def test_parts_of_a_permutation_come_in_any_order() -> None:
    rules = {"<start>": Rule("<start>", Permutation((Literal("a"), Literal("b"), Repeat(Literal("c"), 0, None))))}
    lengths = of_rules(rules, Length())
    chance = RandomSource(1)
    assert len({text(lengths.draw("<start>", 4, chance)) for _ in range(60)}) == 6


def test_an_empty_item_is_not_repeated_and_nothing_contains_only_itself() -> None:
    spec = loads('<start> ::= <x>* <a>\n<x> ::= "b"?\n<a> ::= <a> | <a> <x> | "a"')
    lengths, chance = measured(spec, Length()), RandomSource(2)
    for length in (1, 2, 5):
        for _ in range(30):
            node = lengths.draw("<start>", length, chance)
            assert node is not None
            assert any(same_structure(node, tree.node) for tree in spec.parses(text(node)))


# --- counts -----------------------------------------------------------------------------------------------------------


def test_nodes_are_counted_wherever_they_stand() -> None:
    spec, chance = loads(JSON), RandomSource(6)
    numbers = measured(spec, Count("<number>"))
    for amount in (0, 1, 2, 3, 17):
        node = numbers.draw("<start>", amount, chance)
        assert node is not None
        assert count(node, "<number>") == amount
        assert spec.parse(text(node)) is not None


def test_the_root_and_nested_nodes_count() -> None:
    spec = loads('<start> ::= <e>\n<e> ::= "(" <e> <e> ")" | "x"')
    nested, chance = measured(spec, Count("<e>")), RandomSource(1)
    assert possible(nested.amounts("<e>", 9)) == [1, 3, 5, 7, 9]
    for amount in (1, 3, 41):
        node = nested.draw("<e>", amount, chance)
        assert node is not None
        assert count(node, "<e>") == amount


def test_what_does_not_count_keeps_its_variety() -> None:
    spec = loads('<start> ::= <row>+\n<row> ::= <word> | <mark>\n<word> ::= r"[a-z]+" " "\n<mark> ::= "!"')
    marks, chance = measured(spec, Count("<mark>")), RandomSource(3)
    drawn = [marks.draw("<start>", 3, chance) for _ in range(40)]
    assert len({len(node.children) for node in drawn if node is not None}) > 5
    assert all(node is not None and count(node, "<mark>") == 3 for node in drawn)


def test_generators_elsewhere_do_not_stand_in_the_way_of_counting() -> None:
    spec = loads('<start> ::= <n> <x>*\n<n> ::= r"[0-9]" := "7"\n<x> ::= "x"')
    node = measured(spec, Count("<x>")).draw("<start>", 4, RandomSource(1))
    assert text(node) == "7xxxx"
    assert measured(spec, Count("<n>")).amounts("<start>", 9) == 0b10


def test_items_that_are_counted_are_not_empty() -> None:
    spec = loads('<start> ::= <w>*\n<w> ::= r"[a-z]?"')
    words, chance = measured(spec, Count("<w>")), RandomSource(1)
    for _ in range(20):
        node = words.draw("<start>", 5, chance)
        assert len(text(node)) == 5


def test_what_is_not_looked_into_can_be_kept_in_its_order() -> None:
    spec = loads('<start> ::= <name> <row>\n<name> ::= r"[a-z]{9}"\n<row> ::= <x> ("," <x>)*\n<x> ::= r"[0-9]{3}"')
    counts, chance = measured(spec, Count("<x>")), RandomSource(1)
    first = counts.draw("<start>", 4, chance)
    more, fewer = (counts.draw("<start>", amount, chance, like=first) for amount in (6, 2))
    assert text(more).startswith(text(first) + ",")
    assert text(first).startswith(text(fewer) + ",")
    assert len(text(more)) == 9 + 6 * 4 - 1


def test_rounds_are_not_counted_on() -> None:
    spec = loads('<start> ::= <a> <b>\n<a> ::= <a> | "x" <a> | "y"\n<b> ::= "b"')
    rounds, chance = measured(spec, Count("<a>")), RandomSource(1)
    for amount in (1, 2, 6):
        assert text(rounds.draw("<start>", amount, chance)) == "x" * (amount - 1) + "yb"


# --- sizes ------------------------------------------------------------------------------------------------------------


def test_brackets_may_be_nested_thousands_deep() -> None:
    lengths = measured(loads('<start> ::= "(" <start> ")" | "x"'), Length())
    node = lengths.draw("<start>", 6001, RandomSource(1))
    assert node is not None
    assert len(leaves_of(node)) == 6001
    assert lengths.draw("<start>", 6002, RandomSource(1)) is None


def test_long_chains_of_rules_are_no_danger() -> None:
    chain = "".join(f"<c{at}> ::= <c{at + 1}>\n" for at in range(3000))
    spec = loads(f'<start> ::= <c0>+\n{chain}<c3000> ::= "x" | "yyy"')
    lengths = MeasuredDerivations(spec.grammar.rules, Length(), binary=False, most=MOST, make=not_asked)
    assert len(text(lengths.draw("<start>", 4, RandomSource(1)))) == 4


def test_lengths_of_ten_thousand_are_found() -> None:
    lengths = measured(loads('<start> ::= <x>{3,} <y>*\n<x> ::= "ab" | "abcde"\n<y> ::= "(" <y> ")" | "123"'), Length())
    node = lengths.draw("<start>", 10_000, RandomSource(1))
    assert len(text(node)) == 10_000


def test_enormous_repetitions_and_amounts_are_refused_at_once() -> None:
    lengths = measured(loads('<start> ::= "x"{1000000000} | ""{2000000000}'), Length())
    assert lengths.amounts("<start>", 1000) == 1
    assert lengths.draw("<start>", 0, RandomSource(1)) is None
    assert lengths.amounts("<start>", 10**12) is None


def test_when_the_nodes_are_spent_recursion_that_adds_nothing_ends() -> None:
    spec = loads('<start> ::= <e>\n<e> ::= <e> <o> <e> | "(" <e> ")" | <t>\n<o> ::= "+" | ""\n<t> ::= "t" | <e> "?"')
    for measure in (Length(), Count("<o>"), Count("<t>")):
        both = measured(spec, measure)
        node = both.draw("<start>", 9, RandomSource(2), nodes=30)
        assert node is not None
        assert len(nodes_of(node)) < 300


# --- against brute force ----------------------------------------------------------------------------------------------

SYMBOLS = ("<a>", "<b>", "<c>")
LIMIT = 6
LEVELS = len(SYMBOLS) * (LIMIT + 2)

TERMINALS = [Literal("x"), Literal("yz"), Literal("uvw"), Literal(""), Pattern("[ab]{0,2}"), Pattern("c|de+")]
PATTERN_LENGTHS = {"[ab]{0,2}": {0, 1, 2}, "c|de+": set(range(1, LIMIT + 1))}


def expressions() -> st.SearchStrategy[Expr]:
    plain: st.SearchStrategy[Expr] = st.one_of(
        st.sampled_from(TERMINALS), st.sampled_from([Ref(symbol) for symbol in SYMBOLS])
    )

    def nested(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
        several = st.lists(inner, min_size=2, max_size=3).map(tuple)
        bounds = st.sampled_from([(0, 1), (0, None), (1, None), (2, 2), (1, 3), (2, None)])
        return st.one_of(
            several.map(Sequence),
            several.map(Choice),
            several.map(Permutation),
            st.builds(lambda body, both: Repeat(body, *both), inner, bounds),
        )

    return st.recursive(plain, nested, max_leaves=5)


def grammars() -> st.SearchStrategy[dict[str, Rule]]:
    """Grammars in which every symbol comes to an end."""
    ends = st.sampled_from([Literal("x"), Literal("yz"), Literal("")])
    bodies = st.builds(lambda body, end: Choice((body, end)), expressions(), ends)
    return st.tuples(bodies, bodies, bodies).map(
        lambda three: {name: Rule(name, body) for name, body in zip(SYMBOLS, three, strict=True)}
    )


class BruteForce:
    """The amounts of all derivations of so many levels, one by one."""

    def __init__(self, rules: Mapping[str, Rule], counted: str | None) -> None:
        self._rules = rules
        self._counted = counted
        self._known: dict[tuple[str, int], set[int]] = {}

    def of_symbol(self, symbol: str, levels: int) -> set[int]:
        if levels == 0:
            return set()
        key = (symbol, levels)
        if key not in self._known:
            below = self.of(self._rules[symbol].body, levels - 1)
            own = 1 if symbol == self._counted else 0
            self._known[key] = {amount + own for amount in below if amount + own <= LIMIT}
        return self._known[key]

    def of(self, expr: Expr, levels: int) -> set[int]:
        match expr:
            case Literal(value):
                return {0 if self._counted else len(value)}
            case Pattern(source):
                return {0} if self._counted else PATTERN_LENGTHS[str(source)]
            case Ref(symbol):
                return self.of_symbol(symbol, levels)
            case Choice(options):
                return set().union(*(self.of(option, levels) for option in options))
            case Sequence(parts) | Permutation(parts):
                return self._together([self.of(part, levels) for part in parts])
            case Repeat(body, int(least), most):
                once = self.of(body, levels)
                top = LIMIT + 2 if most is None else int(str(most))
                return set().union(*(self._together([once] * times) for times in range(least, top + 1)))
        raise AssertionError(expr)

    def _together(self, sets: list[set[int]]) -> set[int]:
        sums = {0}
        for each in sets:
            sums = {one + other for one in sums for other in each if one + other <= LIMIT}
        return sums


class Derivation:
    """Whether a tree follows the rules."""

    def __init__(self, rules: Mapping[str, Rule]) -> None:
        self._rules = rules

    def is_right(self, root: Node) -> bool:
        return all(
            len(node.children) in self._ends(self._rules[node.symbol].body, node.children, 0) for node in nodes_of(root)
        )

    def _ends(self, expr: Expr, parts: tuple[Part, ...], at: int) -> set[int]:
        match expr:
            case Choice(options):
                return set().union(*(self._ends(option, parts, at) for option in options))
            case Sequence(several):
                ends = {at}
                for each in several:
                    ends = self._all_ends(each, parts, ends)
                return ends
            case Permutation(several):
                if not several:
                    return {at}
                return set().union(
                    *(
                        self._all_ends(
                            Permutation((*several[:first], *several[first + 1 :])),
                            parts,
                            self._ends(several[first], parts, at),
                        )
                        for first in range(len(several))
                    )
                )
            case Repeat(body, int(least), most):
                ends, found, times = {at}, set(), 0
                while ends and times <= len(parts) + least and (most is None or times <= int(str(most))):
                    found |= ends if times >= least else set()
                    ends, times = self._all_ends(body, parts, ends), times + 1
                return found
        return {at + 1} if at < len(parts) and self._is(expr, parts[at]) else set()

    def _all_ends(self, expr: Expr, parts: tuple[Part, ...], starts: set[int]) -> set[int]:
        return set().union(*(self._ends(expr, parts, start) for start in starts))

    def _is(self, expr: Expr, part: Part) -> bool:
        match expr:
            case Ref(symbol):
                return isinstance(part, Node) and part.symbol == symbol
            case Literal(value):
                return part == value
            case Pattern("[ab]{0,2}"):
                return isinstance(part, str) and len(part) <= 2 and set(part) <= set("ab")
            case Pattern():
                return isinstance(part, str) and (
                    part == "c" or (len(part) > 1 and part == "d" + "e" * (len(part) - 1))
                )
        return False


@settings(max_examples=examples(35), deadline=None)
@given(rules=grammars(), seed=st.integers(0, 1000))
def test_lengths_are_those_of_brute_force_and_draws_have_them(rules: dict[str, Rule], seed: int) -> None:
    lengths, chance, expected = of_rules(rules, Length()), RandomSource(seed), BruteForce(rules, None)
    for symbol in SYMBOLS:
        found = possible(lengths.amounts(symbol, LIMIT))
        assert found == sorted(expected.of_symbol(symbol, LEVELS))
        for amount in found:
            for nodes in (200, 5, 0):
                node = lengths.draw(symbol, amount, chance, nodes=nodes)
                assert node is not None
                assert node.symbol == symbol
                assert len(text(node)) == amount
                assert Derivation(rules).is_right(node)


@settings(max_examples=examples(35), deadline=None)
@given(rules=grammars(), seed=st.integers(0, 1000))
def test_counts_are_those_of_brute_force_and_draws_have_them(rules: dict[str, Rule], seed: int) -> None:
    counts, chance, expected = of_rules(rules, Count("<b>")), RandomSource(seed), BruteForce(rules, "<b>")
    nullable = nullable_symbols(rules)
    may_be_needless = nullable or cyclic_symbols(rules, nullable) or '""' in repr(rules) or "''" in repr(rules)
    for symbol in SYMBOLS:
        found = possible(counts.amounts(symbol, LIMIT))
        assert found == sorted(expected.of_symbol(symbol, LEVELS))
        node = None
        for amount in found:
            node = counts.draw(symbol, amount, chance, nodes=50, like=node)
            assert node is not None or may_be_needless
            if node is not None:
                assert count(node, "<b>") == amount
                assert Derivation(rules).is_right(node)


@settings(max_examples=examples(30), deadline=None)
@given(rules=grammars(), seed=st.integers(0, 1000), amount=st.integers(0, LIMIT))
def test_draws_are_repeatable(rules: dict[str, Rule], seed: int, amount: int) -> None:
    for measure in (Length(), Count("<b>")):
        one, other = of_rules(rules, measure), of_rules(rules, measure)
        other.amounts("<a>", 100)
        first, second = one.draw("<a>", amount, RandomSource(seed)), other.draw("<a>", amount, RandomSource(seed))
        assert (first is None) == (second is None)
        assert first is None or second is None or same_structure(first, second)


def test_bits_are_one_long_each() -> None:
    rules = {"<start>": Rule("<start>", Repeat(Choice((Bit(0), Bit(1))), 0, None))}
    lengths = MeasuredDerivations(rules, Length(), binary=True, most=MOST, make=not_asked)
    node = lengths.draw("<start>", 13, RandomSource(1))
    assert node is not None
    assert len(node.children) == 13
    assert set(node.children) == {0, 1}
