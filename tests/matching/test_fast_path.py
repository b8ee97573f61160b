"""The fast path: when it is taken, when it falls back, and that lazy nodes are made on demand."""

from __future__ import annotations

import gc
import tracemalloc
import weakref
from itertools import islice, product

import pytest
from test_matcher import rules_of, shape_of

import palaver
from amounts import AT_LENGTH
from palaver.matching.grammar_slots import Nonterminal
from palaver.matching.grammar_tables import GrammarTables
from palaver.matching.lookahead import NO_ALTERNATIVE, UNDECIDABLE, UNDECIDED, Lookahead
from palaver.matching.matching_limits import CALLS_BEFORE_GENERATING as HOT
from palaver.matching.regex_rules import RegexRules
from palaver.trees.lazy import unexpanded_data
from palaver.trees.node import Node

LINES = """
<start> ::= <more>* <last>
<more> ::= <code> "-" <text> "\\r\\n"
<last> ::= <code> " " <text> "\\r\\n"
<code> ::= r"[0-9]{3}"
<text> ::= r"[^\\r\\n]*"
"""
REPLY = "250-one\r\n250-two\r\n250 three\r\n"

NESTED = """
<start> ::= <list>
<list> ::= "[" (<list> ("," <list>)*)? "]" | <word>
<word> ::= r"[a-z]+"
"""

PACKETS = """
<start> ::= <packet>+
<packet> ::= <kind> <size> <byte>{int(<size>)}
<kind> ::= 0 0 <bit>{6}
<size> ::= <bit>{8}
<byte> ::= <bit>{8}
<bit> ::= 0 | 1
"""

AMBIGUOUS = """
<start> ::= <a> <b>
<a> ::= "x"*
<b> ::= "x"*
"""


def parser_name(spec: str, data: str | bytes, *, whole: bool = True) -> str:
    matcher = palaver.loads(spec).matcher(whole=whole)
    matcher.feed(data)
    return matcher.parser_name


@pytest.mark.parametrize(
    ("spec", "data"),
    [(LINES, REPLY), (NESTED, "[a,[b,[]],c]"), (PACKETS, b"\x01\x02ab\x3f\x00")],
)
def test_a_message_with_one_derivation_is_read_by_the_fast_path(spec: str, data: str | bytes) -> None:
    assert parser_name(spec, data) == "fast path"
    assert parser_name(spec, data[: len(data) // 2]) == "fast path"


def test_an_ambiguous_message_is_left_to_the_earley_parser() -> None:
    assert parser_name(AMBIGUOUS, "xx") == "Earley"
    assert parser_name('<start> ::= <start> "a" | "a"', "aaa") == "Earley"


def test_a_fast_path_that_falls_back_again_and_again_is_not_tried_any_more() -> None:
    spec = palaver.loads(AMBIGUOUS)
    for _ in range(5):
        matcher = spec.matcher()
        assert matcher.finish("xx").complete_here
    assert spec.matcher().parser_name == "Earley"


def test_the_reference_does_not_take_the_fast_path() -> None:
    spec = palaver.loads(LINES)
    assert spec.matcher(reference=True).parser_name == "Earley"
    assert spec.parse(REPLY, reference=True) == spec.parse(REPLY)


def test_rules_that_have_become_functions_say_the_same() -> None:
    for text, data in ((LINES, REPLY), (NESTED, "[a,[b,[]],c]"), (PACKETS, b"\x01\x02ab\x3f\x00")):
        spec = palaver.loads(text)
        wanted = spec.parse(data, reference=True)
        for _ in range(3 * HOT):
            for lazy in (True, False):
                matcher = spec.matcher(lazy=lazy)
                matcher.finish(data)
                assert list(matcher.trees()) == [wanted.node]
                matcher = spec.matcher(lazy=lazy)
                matcher.feed(data)
                assert list(matcher.trees()) == [wanted.node]


def test_a_function_gives_up_on_half_a_message_and_the_machine_waits() -> None:
    spec = palaver.loads(NESTED)
    for _ in range(3 * HOT):
        spec.parse("[a,[b,[]],c]")
    matcher = spec.matcher()
    assert matcher.feed("[a,[b").may_go_on
    assert matcher.feed(",[]],c").may_go_on
    assert matcher.feed("]").complete_here
    assert matcher.parser_name == "fast path"


def test_deep_nesting_is_no_problem() -> None:
    spec = palaver.loads(NESTED)
    for depth in (10, 500, 20_000):
        for _ in range(HOT + 1):
            matcher = spec.matcher()
            assert matcher.finish("[" * depth + "]" * depth).complete_here
        assert matcher.parser_name == "fast path"


def test_a_list_written_with_right_recursion_may_be_long() -> None:
    spec = palaver.loads('<start> ::= <digits>\n<digits> ::= <digit> | <digit> <digits>\n<digit> ::= r"[0-9]"\n')
    matcher = spec.matcher()
    assert matcher.finish("7" * 5_000).complete_here
    node = next(matcher.trees()).children[0]
    depth = 0
    while isinstance(node, Node):
        node, depth = node.children[-1], depth + 1
    assert depth == 5_001


def test_choices_that_multiply_do_not() -> None:
    matcher = palaver.loads('<start> ::= <x>* "c"\n<x> ::= "a" | "aa"\n').matcher()
    progress = matcher.finish("a" * 400 + "b")
    assert (progress.may_go_on, progress.failed_at) == (False, 400)


def test_memory_grows_with_the_input_and_no_faster() -> None:
    spec = palaver.loads(NESTED)

    def peak(size: int) -> int:
        text = "[" + ",".join(["[abc,de]"] * size) + "]"
        pieces = [text[start : start + 500] for start in range(0, len(text), 500)]
        tracemalloc.start()
        matcher = spec.matcher()
        for piece in pieces:
            matcher.feed(piece)
        assert matcher.finish().complete_here
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    peak(100)  # what is made once
    assert peak(1_600) < 12 * peak(200)


def same_as_the_earley_parser(spec: str, data: str, *, whole: bool = True) -> None:
    """Asked often enough for rules to become functions."""
    loaded = palaver.loads(spec)
    reference = loaded.matcher(whole=whole, reference=True)
    fed, wanted = reference.feed(data), reference.finish()
    for _ in range(3 * HOT):
        matcher = loaded.matcher(whole=whole)
        assert matcher.feed(data) == fed
        assert matcher.finish() == wanted
        assert list(islice(matcher.trees(), 5)) == list(islice(reference.trees(), 5))
        assert loaded.matcher(whole=whole).finish(data) == wanted


def test_a_peek_at_a_token_that_may_be_empty_is_enough() -> None:
    rounds = """
<start> ::= <line>*
<line> ::= "<" <head> <gap> "|" <gap> ">"
<head> ::= ("abc")* "ax"?
<gap> ::= " "*
"""
    loaded = palaver.loads(rounds)
    lines = [
        "<|>",
        "< |>",
        "<|  >",
        "<abc|>",
        "<ax|>",
        "<abcax |   >",
        "<abcabc  | >",
        "<ab|>",
        "<abcab|>",
        "<abca",
        "<",
    ]
    for _ in range(2 * HOT):
        for text in (*lines, "".join(lines[:7])):
            wanted = loaded.matcher(reference=True)
            progress = wanted.finish(text)
            for lazy in (True, False):
                matcher = loaded.matcher(lazy=lazy)
                assert matcher.finish(text) == progress
                assert list(matcher.trees()) == list(wanted.trees())


def test_texts_that_come_again_share_their_nodes_but_not_for_ever() -> None:
    spec = palaver.loads("""
<start> ::= <list>
<list> ::= "[" <word> ("," <word>)* "]" | "(" <list> ")"
<word> ::= <letter>+
<letter> ::= r"[a-z]"
""")

    def words(text: str) -> list[Node]:
        matcher = spec.matcher(lazy=False)
        assert matcher.finish(text).complete_here
        (found,) = (child for child in next(matcher.trees()).children if isinstance(child, Node))
        return [child for child in found.children if isinstance(child, Node)]

    once, between, twice = words("[same,other,same]")
    assert once == twice != between
    assert once is twice
    letters = "abcdefghijklmnopqrstuvwxyz"
    many = ["".join(three) for three in islice(product(letters, repeat=3), 3_000)]
    found = words(f"[{','.join(many)},{'x' * 100}]")
    assert [bytes(palaver.Tree(word)).decode() for word in found] == [*many, "x" * 100]
    tracemalloc.start()
    for _ in range(3):
        words(f"[{','.join(many)}]")
    assert tracemalloc.get_traced_memory()[0] < 1_000_000
    tracemalloc.stop()


def test_rounds_over_nothing_end() -> None:
    same_as_the_earley_parser("<start> ::= 'x' r'(?:ab)*'*\n", "xac")
    same_as_the_earley_parser("<start> ::= r'(?:ab)*'+ 'c'?\n", "ad")


def test_bounds_see_fields_that_functions_have_read() -> None:
    spec = "<start> ::= <record>*\n<record> ::= <n> 'a'{int(<n>)}\n<n> ::= '0' | <d>\n<d> ::= '0' | '2'\n"
    same_as_the_earley_parser(spec, "2")
    same_as_the_earley_parser(spec, "2aa0" * 3 + "2a")


def test_a_stream_that_ends_tells_shorter_messages_too() -> None:
    same_as_the_earley_parser("<start> ::= <x>{1,2} ('x' | 'y')\n<x> ::= 'x'\n", "xxx", whole=False)


def test_a_field_that_may_go_on_counts_nothing_yet() -> None:
    same_as_the_earley_parser("<start> ::= <n> 'a'{int(<n>)}\n<n> ::= r'[0-9]{1,2}'\n", "1")


def test_a_message_that_may_go_on_after_a_lookahead_is_told() -> None:
    same_as_the_earley_parser("<start> ::= 'x' <y> 'a'\n<y> ::= r'(?:ab)*'\n", "xa")


def test_nothing_is_kept_of_a_message_that_nobody_needs() -> None:
    spec = palaver.loads(NESTED)

    def read(text: str) -> weakref.ref[object]:
        matcher = spec.matcher()
        for start in range(0, len(text), 7):  # so that functions give up again and again
            matcher.feed(text[start : start + 7])
        matcher.finish()
        return weakref.ref(matcher)

    kept = [read("[" + ",".join(["[abc,[de],[]]"] * (20 if AT_LENGTH else 4)) + "]") for _ in range(3 * HOT)]
    gc.collect()
    assert not any(matcher() for matcher in kept)


# --- Lazy trees -------------------------------------------------------------------------------------------------------


def test_lazy_children_are_made_on_first_access() -> None:
    tree = palaver.loads(LINES).parse(REPLY)
    assert unexpanded_data(tree.node) == REPLY
    assert str(tree) == REPLY
    assert unexpanded_data(tree.node) == REPLY
    assert str(tree.children[2]) == "250 three\r\n"
    assert unexpanded_data(tree.node) is None


def test_everything_is_made_at_once_for_those_who_want_it() -> None:
    matcher = palaver.loads(PACKETS).matcher(lazy=False)
    matcher.finish(b"\x01\x02ab")
    waiting = list(matcher.trees())
    while waiting:
        node = waiting.pop()
        assert unexpanded_data(node) is None
        waiting += [child for child in node.children if isinstance(child, Node)]


# --- The end ----------------------------------------------------------------------------------------------------------


def test_the_last_piece_may_come_with_the_end() -> None:
    matcher = palaver.loads(LINES).matcher()
    matcher.feed(REPLY[:10])
    assert matcher.finish(REPLY[10:]).complete_here
    with pytest.raises(ValueError, match="the end of the input has been told already"):
        matcher.finish("more")


def test_a_stream_tells_all_lengths_and_leaves_the_rest() -> None:
    spec = palaver.loads('<start> ::= <line>*\n<line> ::= r"[a-z]+" "\\n"\n')
    matcher = spec.matcher(whole=False)
    progress = matcher.feed("ab\ncd\n12")
    assert matcher.parser_name == "fast path"
    assert (progress.complete, progress.may_go_on, progress.complete_here) == ((0, 3, 6), False, False)
    assert [str(palaver.Tree(node)) for node in matcher.trees(progress.longest)] == ["ab\ncd\n"]


def test_a_message_that_knows_its_end_waits_for_nothing() -> None:
    matcher = palaver.loads(LINES).matcher(whole=False)
    progress = matcher.feed(REPLY + "354 go")
    assert (progress.complete, progress.may_go_on) == ((len(REPLY),), False)


def test_a_character_that_is_none_is_read_too() -> None:
    spec = palaver.loads('<start> ::= <text> "."\n<text> ::= r"[^.]*"\n')
    data = "a\U0010ffffb."
    assert spec.parse(data) == spec.parse(data, reference=True)


# --- Look-ahead and lifting, by themselves ----------------------------------------------------------------------------


def named(tables: GrammarTables, symbol: str) -> Nonterminal:
    return next(nonterminal for nonterminal in tables.nonterminals if nonterminal.symbol == symbol)


def tables_of(spec: str) -> GrammarTables:
    return GrammarTables(rules_of(spec), "<start>", binary=False, whole=True)


def way(spec: str, text: str, *, ended: bool = False) -> int:
    """Which alternative of <x> it is."""
    tables = tables_of(spec)
    state = Lookahead(tables).alternatives(named(tables, "<x>"))
    for char in text:
        if state.way != UNDECIDED:
            return state.way
        state = state[char]
    return state.way_at_end if ended else state.way


def test_lookahead_reads_as_far_as_it_must_and_no_further() -> None:
    spec = '<start> ::= <x> "."\n<x> ::= "ab" | "ac" | "d"\n'
    assert way(spec, "d") == 2
    assert way(spec, "a") == UNDECIDED
    assert way(spec, "ac") == 1
    assert way(spec, "x") == NO_ALTERNATIVE


def test_lookahead_goes_on_after_the_rule() -> None:
    spec = '<start> ::= <x> "b" | "c" <x> "d"\n<x> ::= "a" | "a" "a"\n'
    assert way(spec, "aa") == 1
    assert way(spec, "ab") == 0
    assert way(spec, "ad") == 0
    assert way(spec, "a", ended=True) == 0


def test_lookahead_that_cannot_end_gives_up() -> None:
    spec = '<start> ::= <x>\n<x> ::= "a"* "b" | "a"* "c"\n'
    assert way(spec, "a" * 150 + "c") == 1
    assert way(spec, "a" * 300 + "c") == UNDECIDABLE


def lifted(spec: str) -> bool:
    tables = tables_of(spec)
    target = named(tables, "<x>")
    return RegexRules(tables).pattern_of(target) is not None


@pytest.mark.parametrize(
    "rule",
    ['r"[a-z]+"', '("ab" | "ac")* "d"', '"a" | "b" <x>', "<y>{2,3}", '"a"? "b"', "<y> | <y> <x>", '<y> | <y> "," <x>'],
)
def test_a_deterministic_regular_rule_becomes_a_regex(rule: str) -> None:
    assert lifted(f'<start> ::= <x> "."\n<x> ::= {rule}\n<y> ::= "y"\n')


@pytest.mark.parametrize(
    "rule",
    ['"a"* "a"', '"a" | "a"', '"(" <x>? ")"', '"a"* "."?', '("a" | "ab") ("c" | "bc")', 'r"(?!no)[a-z]+"', '(""|"a")*'],
)
def test_a_nondeterministic_rule_does_not(rule: str) -> None:
    assert not lifted(f'<start> ::= <x> "."\n<x> ::= {rule}\n')


def test_every_length_of_a_pattern_that_matters_is_tried() -> None:
    shape = shape_of('<start> ::= r"[a-z ]+" " end"')
    matcher = shape.matcher(whole=True)
    assert matcher.finish("abc end").complete_here
    assert [node.children for node in islice(matcher.trees(), 2)] == [("abc", " end")]
