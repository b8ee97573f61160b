"""The matcher: its progress while data comes in, and its trees."""

from __future__ import annotations

from itertools import islice
from typing import Any

import pytest

from palaver.grammar.ir import uses_binary
from palaver.matching.matcher import CompiledMatcher, Matcher, MatchProgress, compile_matcher
from palaver.source import Source
from palaver.spec.ast import Expr
from palaver.spec.diagnostics import Reporter
from palaver.spec.spec_files import parse_spec
from palaver.trees.node import Node, OpenNode, Part, Parties
from palaver.trees.values import leaves_of


def rules_of(spec: str) -> dict[str, Expr]:
    report = Reporter()
    file = parse_spec(Source("test.fan", spec), report)
    report.raise_if_errors()
    return {rule.symbol: rule.body for rule in file.rules}


def shape_of(spec: str) -> CompiledMatcher:
    def no_bounds(*_: object) -> int:
        raise AssertionError("no computed bounds here")

    return compile_matcher(rules_of(spec), "<start>", bound=no_bounds)


def fed(spec: str, data: str | bytes, *, whole: bool = True, binary: bool | None = None) -> Matcher:
    matcher = shape_of(spec).matcher(whole=whole, binary=binary)
    matcher.feed(data)
    return matcher


def plain(part: Part) -> Any:
    """A tree as nested lists; an open node ends in three dots."""
    if not isinstance(part, Node):
        return part
    return [str(part.symbol), *map(plain, part.children), *([...] if isinstance(part, OpenNode) else [])]


def all_trees(spec: str, data: str | bytes, **options: Any) -> list[Any]:
    return [plain(tree) for tree in fed(spec, data, **options).trees()]


def partial(spec: str, data: str | bytes, **options: Any) -> list[Any]:
    return [plain(tree) for tree in fed(spec, data, **options).partial_trees()]


LINE = """
<start> ::= <verb> " " <word> "\\r\\n"
<verb> ::= "HELO" | "HELP"
<word> ::= r'[a-z]+'
"""


# --- Progress ------------------------------------------------------------------------------------------------------


def test_nothing_is_the_beginning_of_everything() -> None:
    progress = fed(LINE, "").progress
    assert (progress.complete, progress.may_go_on, progress.failed_at) == ((), True, None)


def test_a_line_in_pieces_is_complete_at_its_end() -> None:
    matcher = shape_of(LINE).matcher()
    assert matcher.feed("HEL").may_go_on
    assert matcher.feed("O wor").complete == ()
    progress = matcher.feed("ld\r\n")
    assert (progress.complete, progress.may_go_on, progress.complete_here) == ((12,), False, True)
    assert plain(next(matcher.trees())) == ["<start>", ["<verb>", "HELO"], " ", ["<word>", "world"], "\r\n"]


@pytest.mark.parametrize(
    "text, offset, expected",
    [
        ("HELX", 3, ("'HELO'", "'HELP'")),
        ("HELO!", 4, ("' '",)),
        ("HELO 1", 5, ("r'[a-z]+'",)),
        ("HELO ab!", 7, ("'\\r\\n'", "r'[a-z]+'")),
        ("HELO ab\r!", 8, ("'\\r\\n'",)),
        ("HELO ab\r\nHELO", 9, ("end of input",)),
    ],
)
def test_a_wrong_input_names_the_first_unit_that_cannot_be(text: str, offset: int, expected: tuple[str, ...]) -> None:
    for cut in range(len(text)):
        matcher = shape_of(LINE).matcher(whole=True)
        matcher.feed(text[:cut])
        progress = matcher.feed(text[cut:])
        assert (progress.failed_at, progress.expected) == (offset, expected)


def test_an_input_that_ends_too_soon_is_dead_at_its_end() -> None:
    matcher = fed(LINE, "HELO a")
    assert matcher.progress.failed_at is None
    progress = matcher.finish()
    assert (progress.failed_at, progress.expected, progress.may_go_on) == (6, ("'\\r\\n'", "r'[a-z]+'"), False)


def test_after_the_end_no_more_may_be_fed() -> None:
    matcher = fed(LINE, "HELO a")
    matcher.finish()
    with pytest.raises(ValueError, match="end of the input"):
        matcher.feed("b")


def test_a_stream_knows_all_lengths_and_leaves_the_rest_alone() -> None:
    matcher = fed("<start> ::= r'[0-9]+' | '12ab'", "12a!!", whole=False)
    progress = matcher.progress
    assert (progress.complete, progress.longest, progress.complete_here) == ((1, 2), 2, False)
    assert (progress.failed_at, progress.may_go_on) == (3, False)
    assert plain(next(matcher.trees(2))) == ["<start>", "12"]
    assert list(matcher.trees()) == []
    assert list(matcher.trees(3)) == []


def test_progress_prints_itself() -> None:
    text = repr(fed("<start> ::= 'a'", "b").progress)
    assert text == "MatchProgress(complete=(), may_go_on=False, failed_at=0, expected=(\"'a'\",))"
    assert MatchProgress([], complete_here=False, may_go_on=True) != "something else"


def test_a_message_that_is_complete_may_still_go_on() -> None:
    progress = fed("<start> ::= 'a'+", "aa").progress
    assert (progress.complete, progress.may_go_on) == ((2,), True)
    assert not fed("<start> ::= 'a'{2}", "aa").progress.may_go_on


def test_a_grammar_without_sentences_fails_at_once() -> None:
    progress = fed("<start> ::= r'[^\\x00-\\U0010ffff]'", "").progress
    assert (progress.may_go_on, progress.failed_at, progress.expected) == (False, 0, ())


# --- Text and bytes ------------------------------------------------------------------------------------------------


def test_text_may_come_as_bytes_cut_inside_a_character() -> None:
    data = "ä€!".encode()
    for cut in range(len(data) + 1):
        matcher = shape_of("<start> ::= r'.'{2} '!'").matcher(whole=True)
        matcher.feed(data[:cut])
        progress = matcher.feed(data[cut:])
        assert progress.complete == (6,)
        assert plain(next(matcher.trees())) == ["<start>", "ä", "€", "!"]


def test_offsets_of_text_in_bytes_count_bytes() -> None:
    matcher = fed("<start> ::= 'ä' 'b' | 'äö'", "äx".encode(), whole=False)
    assert (matcher.progress.failed_at, matcher.progress.expected) == (2, ("'b'", "'äö'"))
    stream = fed("<start> ::= r'.'+", "ä€x".encode(), whole=False)
    assert stream.progress.complete == (2, 5, 6)
    assert plain(next(stream.trees(5))) == ["<start>", "ä", "€"]
    assert list(stream.trees(4)) == []


def test_half_a_character_is_not_complete() -> None:
    matcher = fed("<start> ::= r'.'*", b"a\xc3")
    assert (matcher.progress.complete_here, matcher.progress.may_go_on) == (False, True)
    assert list(matcher.partial_trees()) == []
    assert matcher.finish().complete == (2,)
    assert plain(next(matcher.trees())) == ["<start>", "a", "\udcc3"]


def test_bytes_that_are_no_text_become_surrogates() -> None:
    assert all_trees("<start> ::= r'.' 'a'", b"\xffa") == [["<start>", "\udcff", "a"]]


def test_text_is_fed_as_str_or_as_bytes_but_not_both() -> None:
    matcher = fed("<start> ::= 'a'*", "a")
    with pytest.raises(TypeError, match="not as both"):
        matcher.feed(b"a")


def test_in_a_binary_input_text_is_its_utf8_bytes() -> None:
    spec = r"<start> ::= b'\xca' 'é' r'[^a]'"
    assert all_trees(spec, b"\xca\xc3\xa9\xff") == [["<start>", b"\xca", b"\xc3\xa9", b"\xff"]]
    assert all_trees(spec, "Êéx", binary=False) == [["<start>", "Ê", "é", "x"]]
    assert all_trees(r"<start> ::= b'a' 'é'", "aé") == [["<start>", b"a", b"\xc3\xa9"]]


def test_a_pattern_beyond_bytes_cannot_go_on_in_a_binary_input() -> None:
    assert not fed(r"<start> ::= b'a' r'[一-龥]'", b"a").progress.may_go_on


def test_bytes_patterns_know_ascii_letters_only() -> None:
    assert all_trees(r"<start> ::= rb'\w'", "é", binary=False) == []
    assert all_trees(r"<start> ::= rb'\W'", b"\xe9") == [["<start>", b"\xe9"]]
    assert all_trees(r"<start> ::= rb'[^a]'", "€", binary=False) == []


def test_a_grammar_that_reaches_bytes_or_bits_is_binary() -> None:
    rules = rules_of("<start> ::= <a>*\n<a> ::= 'x' | [['y' <b>]]\n<b> ::= rb'z'\n<c> ::= 'c'\n")
    assert uses_binary(rules, "<start>")
    assert not uses_binary(rules, "<c>")
    assert uses_binary(rules_of("<start> ::= 0{8}"), "<start>")


# --- Bits ----------------------------------------------------------------------------------------------------------


def test_bits_may_cross_the_borders_of_bytes() -> None:
    spec = "<start> ::= <a> <b> 'x'\n<a> ::= <bit>{12}\n<b> ::= <bit>{4}\n<bit> ::= 0 | 1\n"
    (tree,) = fed(spec, b"\xa5\xc3x").trees()
    assert [leaf for leaf in leaves_of(tree) if isinstance(leaf, int)] == [
        1,
        0,
        1,
        0,
        0,
        1,
        0,
        1,
        1,
        1,
        0,
        0,
        0,
        0,
        1,
        1,
    ]
    assert [len(child.children) for child in tree.children[:2] if isinstance(child, Node)] == [12, 4]


def test_bits_must_fill_bytes() -> None:
    assert all_trees("<start> ::= 1 0 1", b"\xa0") == []
    assert fed("<start> ::= 1 0 1", b"\xa0").progress.failed_at == 0
    assert all_trees("<start> ::= 1 0 1 'a' 0{5}", b"\xa0a") == []


def test_bits_of_text_are_those_of_its_code_up_to_ff() -> None:
    spec = "<start> ::= (0|1){8}"
    assert all_trees(spec, "K", binary=False) == [["<start>", 0, 1, 0, 0, 1, 0, 1, 1]]
    assert all_trees(spec, "Ā", binary=False) == []


def test_a_stream_of_bits_is_complete_at_byte_borders_only() -> None:
    matcher = fed("<start> ::= (0|1)*", b"\x01\x02", whole=False)
    assert matcher.progress.complete == (0, 1, 2)
    assert len(next(matcher.trees(1)).children) == 8


def test_a_wrong_bit_makes_its_byte_wrong() -> None:
    progress = fed("<start> ::= 0{8} 0 1 1 0{5}", b"\x00\x40").progress
    assert (progress.failed_at, progress.expected) == (1, ("bit 1",))


# --- Patterns ------------------------------------------------------------------------------------------------------


def test_every_length_of_a_pattern_is_tried() -> None:
    assert all_trees("<start> ::= r'[a-z ]+' ' end'", "abc end") == [["<start>", "abc", " end"]]
    assert all_trees("<start> ::= r'a+' r'a+'", "aaa") == [["<start>", "aa", "a"], ["<start>", "a", "aa"]]


def test_lookaround_and_anchors_see_the_terminal_only() -> None:
    assert all_trees("<start> ::= r'w(?=v)' 'v'", "wv") == []
    assert all_trees("<start> ::= 'a' r'^b$' 'c'", "abc") == [["<start>", "a", "b", "c"]]
    assert all_trees(r"<start> ::= r'(?!the_user$)[a-z_]+[0-9]?' r'2?'", "the_user2") == [
        ["<start>", "the_user2", ""],
    ]
    assert all_trees(r"<start> ::= r'(a+)b\1' 'a'", "aabaaa") == [["<start>", "aabaa", "a"]]


def test_a_pattern_with_lookahead_may_go_on_until_its_outline_cannot() -> None:
    matcher = shape_of(r"<start> ::= r'(?!the_user$)[a-z_]+'").matcher(whole=True)
    assert matcher.feed("the_user").may_go_on
    assert not matcher.progress.complete_here
    assert matcher.feed("s").complete_here
    assert matcher.feed("!").failed_at == 9


# --- Trees ---------------------------------------------------------------------------------------------------------


def test_groups_and_repetitions_leave_no_node() -> None:
    spec = "<start> ::= ('a' ('b' | <c>))+ [['x' 'y']]\n<c> ::= 'c'?\n"
    assert all_trees(spec, "abacyx") == [["<start>", "a", "b", "a", ["<c>", "c"], "y", "x"]]


def test_the_empty_text_is_a_leaf() -> None:
    assert all_trees("<start> ::= 'a' | ''", "") == [["<start>", ""]]
    assert all_trees("<start> ::= 'a'*", "") == [["<start>"]]


def test_messages_know_their_parties() -> None:
    trees = fed("<start> ::= <C:ask> (<S:C:ask> | <ask>)\n<ask> ::= '?'\n", "??").trees()
    assert [[child.parties for child in tree.children if isinstance(child, Node)] for tree in trees] == [
        [Parties("C"), Parties("S", "C")],
        [Parties("C"), None],
    ]


def test_declared_first_comes_first_then_the_longer_earlier_part() -> None:
    spec = "<start> ::= <a> <b> | <b> <a>\n<a> ::= 'x'*\n<b> ::= 'x'*\n"
    assert all_trees(spec, "x") == [
        ["<start>", ["<a>", "x"], ["<b>"]],
        ["<start>", ["<a>"], ["<b>", "x"]],
        ["<start>", ["<b>", "x"], ["<a>"]],
        ["<start>", ["<b>"], ["<a>", "x"]],
    ]


def test_a_symbol_inside_itself_over_the_same_text_is_left_out() -> None:
    assert all_trees("<start> ::= <start> | 'a'", "a") == [["<start>", "a"]]
    spec = "<start> ::= <x>\n<x> ::= <y> | 'a'\n<y> ::= <x> | 'a'\n"
    assert all_trees(spec, "a") == [["<start>", ["<x>", ["<y>", "a"]]], ["<start>", ["<x>", "a"]]]


def test_highly_ambiguous_trees_come_one_at_a_time() -> None:
    matcher = fed("<start> ::= <start> <start> | 'a'", "a" * 40)
    first, second = islice(matcher.trees(), 2)
    assert first != second
    assert len(leaves_of(first)) == len(leaves_of(second)) == 40


def test_the_number_of_trees_is_catalan() -> None:
    assert len(all_trees("<start> ::= <start> <start> | 'a'", "a" * 7)) == 132


# --- Partial trees -------------------------------------------------------------------------------------------------


def test_a_partial_tree_holds_all_that_was_seen() -> None:
    assert partial(LINE, "") == [["<start>", ["<verb>", ...], ...], ["<start>", ...]]
    assert partial(LINE, "HEL") == [["<start>", ["<verb>", "HEL", ...], ...]]
    assert partial(LINE, "HELO") == [["<start>", ["<verb>", "HELO"], ...]]
    assert partial(LINE, "HELO ab") == [["<start>", ["<verb>", "HELO"], " ", ["<word>", "ab"], ...]]
    assert partial(LINE, "HELO ab\r\n") == [["<start>", ["<verb>", "HELO"], " ", ["<word>", "ab"], "\r\n"]]
    assert partial(LINE, "HELO !") == []


def test_complete_trees_come_before_partial_ones() -> None:
    spec = "<start> ::= <item>+\n<item> ::= 'a' 'b'?\n"
    assert partial(spec, "a") == [
        ["<start>", ["<item>", "a"]],
        ["<start>", ["<item>", "a", ...], ...],
        ["<start>", ["<item>", "a"], ...],
    ]


def test_open_nodes_nest() -> None:
    spec = "<start> ::= '(' <start> ')' | 'x'\n"
    assert partial(spec, "((x") == [["<start>", "(", ["<start>", "(", ["<start>", "x"], ...], ...]]
    assert partial(spec, "((") == [["<start>", "(", ["<start>", "(", ...], ...]]


def test_left_recursion_is_open_once() -> None:
    spec = "<start> ::= <start> '+' <n> | <n>\n<n> ::= r'[0-9]'\n"
    assert partial(spec, "1+") == [["<start>", ["<start>", ["<n>", "1"]], "+", ...]]


def test_partial_trees_do_not_repeat_for_each_thing_that_could_follow() -> None:
    spec = "<start> ::= 'a' (<x> | <y> | [[<x> <y>]])\n<x> ::= 'bc' | 'bd'\n<y> ::= <x> 'e'\n"
    assert partial(spec, "a") == [["<start>", "a", ...]]


# --- Size ----------------------------------------------------------------------------------------------------------


def test_nesting_is_limited_by_memory_only() -> None:
    matcher = fed("<start> ::= '(' <start> ')' | ''", "(" * 10_000 + ")" * 10_000)
    (tree,) = matcher.trees()
    assert sum(leaf != "" for leaf in leaves_of(tree)) == 20_000
    half = fed("<start> ::= '(' <start> ')' | ''", "(" * 10_000)
    depth = 0
    tree = next(half.partial_trees())
    while isinstance(tree.children[-1], Node):
        tree = tree.children[-1]
        depth += 1
    assert depth == 9_999


def test_a_long_list_is_one_flat_node() -> None:
    (tree,) = fed("<start> ::= <x>*\n<x> ::= 'a'\n", "a" * 20_000).trees()
    assert len(tree.children) == 20_000


def test_ten_megabytes_against_one_pattern() -> None:
    data = "some text\n" * 1_000_000
    for pattern in ("(?s).*", "[a-z \\n]*"):
        matcher = fed(f"<start> ::= r'{pattern}'", data)
        (tree,) = matcher.trees()
        assert tree.children == (data,)
    lines = fed("<start> ::= r'[a-z ]*' '\\n'", "x" * 10_000_000 + "\n")
    assert lines.progress.complete_here


def test_ambiguous_repetition_stays_polynomial() -> None:
    spec = "<start> ::= <x>* 'c'\n<x> ::= 'a' | 'aa'\n"
    progress = fed(spec, "a" * 2_000 + "b").progress
    assert (progress.failed_at, progress.expected) == (2_000, ("'c'", "'a'", "'aa'"))


def test_a_permutation_of_many_parts_costs_sets_not_orders() -> None:
    parts = "abcdefghij"
    spec = f"<start> ::= [[{' '.join(map(repr, parts))}]]"
    assert all_trees(spec, parts[::-1]) == [["<start>", *parts[::-1]]]


def test_a_bounded_repetition_with_large_limits_is_cheap() -> None:
    assert fed("<start> ::= r'x{0,65535}' 'x'{3,70000} '!'", "x" * 300 + "!").progress.complete_here


def test_asking_about_half_a_character_changes_nothing() -> None:
    matcher = shape_of("<start> ::= 'こんに'").matcher(whole=True)
    for byte in "こん".encode():
        matcher.feed(bytes([byte]))
        assert all(list(matcher.trees(length)) == [] for length in range(8))
    assert matcher.feed(b"x").failed_at == 6
