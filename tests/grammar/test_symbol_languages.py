"""The words of a symbol are a regular language, or nothing is said about them."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import palaver
from amounts import examples
from palaver.grammar.symbol_languages import Languages
from palaver.matching.matcher import compile_matcher
from palaver.regular.charset import CharSet
from palaver.regular.language import Language, Unit, packed
from palaver.spec.ast import Bit, Literal, Ref, Rule, Sequence
from palaver.trees.node import Node


def languages(text: str) -> Languages:
    spec = palaver.loads(text)
    return Languages(spec.grammar.rules, binary=spec.is_binary)


def language(body: str, rest: str = "") -> Language:
    found = languages(f"<start> ::= <x>\n<x> ::= {body}\n{rest}").of("<x>")
    assert found is not None
    return found


def test_a_word_is_accepted_if_the_rule_derives_it() -> None:
    found = language('("a" | <b>){2,3} "!"?', '<b> ::= "bc"\n')
    assert [word for word in ("aa", "abc", "bcbc!", "aaaa", "a", "", "ab") if found.accepts(word)] == [
        "aa", "abc", "bcbc!",
    ]  # fmt: skip


def test_a_choice_of_characters_is_one_set_of_characters() -> None:
    found = language('"0" | r"[1-8]" | <nine>', '<nine> ::= "9"\n')
    assert found.classes == (CharSet.ranges([(ord("0"), ord("9"))]),)


def test_a_language_knows_how_long_its_words_are() -> None:
    found = language('"ab" r"[0-9]{2,5}" | ""')
    assert (found.shortest, found.longest) == (0, 7)


def test_a_language_is_endless_only_if_something_that_is_not_empty_is_repeated_without_limit() -> None:
    assert language('""*').longest == 0
    assert language('"a"*').longest is None
    assert language('r"a+b?"').longest is None


def test_counted_repetition_is_cheap_however_large_the_count() -> None:
    found = language('r"[a-z]{0,65535}" | ("ab" | "c"){3000000}')
    assert found.longest == 6_000_000
    assert found.accepts("xyz")


def test_a_rule_that_can_never_match_has_no_words() -> None:
    found = language('r"[^\\x00-\\U0010ffff]"')
    assert found.expression is None
    assert not found.accepts("")


def test_every_character_that_can_occur_is_known() -> None:
    assert language('"a" | r"[x-z]" "b"').characters == CharSet.of("abxyz")


@pytest.mark.parametrize(
    "text",
    [
        '<start> ::= "(" <start> ")" | "x"\n',
        '<start> ::= <a>\n<a> ::= <b> | "a"\n<b> ::= <a>\n',
        '<start> ::= <n> "x"{int(<n>)}\n<n> ::= r"[0-9]"\n',
        '<start> ::= r"(a|b)\\1"\n',
        '<start> ::= r"a(?=b)b"\n',
        '<start> ::= <a>\n<a> ::= "x" := "x"\n',
        '<start> ::= <bit>{8} rb"a"\n<bit> ::= 0 | 1\n',
        '<start> ::= [["a" "b" "c" "d" "e" "f"]]\n',
    ],
    ids=["recursion", "mutual recursion", "computed", "back-reference", "look-ahead", "generator", "bits and bytes",
         "permutation of many"],
)  # fmt: skip
def test_nothing_is_said_about_what_is_not_regular(text: str) -> None:
    assert languages(text).of("<start>") is None


def test_what_is_beside_something_irregular_is_regular_nevertheless() -> None:
    found = languages('<start> ::= <x> <start> | <x>\n<x> ::= "a" | "b"\n')
    assert found.of("<start>") is None
    assert found.of("<x>") is not None


def test_what_is_beside_something_known_to_be_irregular_need_not_be_known() -> None:
    found = languages('<start> ::= <x> | <y>\n<x> ::= "a" <x> "b" | ""\n<y> ::= <z> <x>\n<z> ::= "z"\n')
    assert found.of("<x>") is None
    assert found.of("<y>") is None


def test_a_permutation_of_few_parts_comes_in_any_order() -> None:
    found = language('[["a" "b" "c"]]')
    assert found.accepts("bca")
    assert not found.accepts("bcb")


def test_rules_that_double_forty_times_are_too_large() -> None:
    rules = "".join(f"<a{n}> ::= <a{n + 1}> <a{n + 1}>\n" for n in range(40))
    assert languages(f'<start> ::= <a0>\n{rules}<a40> ::= "x"\n').of("<start>") is None


def test_long_chains_of_rules_need_no_recursion() -> None:
    chain = {f"<a{n}>": Rule(f"<a{n}>", Ref(f"<a{n + 1}>")) for n in range(10_000)}
    chain["<a10000>"] = Rule("<a10000>", Literal("x"))
    found = Languages(chain, binary=False).of("<a0>")
    assert found is not None
    assert found.accepts("x")


def test_nothing_is_said_about_what_is_nested_very_deeply() -> None:
    nested = {f"<a{n}>": Rule(f"<a{n}>", Sequence((Literal("("), Ref(f"<a{n + 1}>")))) for n in range(10_000)}
    nested["<a10000>"] = Rule("<a10000>", Literal("x"))
    assert Languages(nested, binary=False).of("<a0>") is None


def test_text_in_a_binary_spec_is_its_bytes() -> None:
    found = languages('<start> ::= <x> rb"."\n<x> ::= "é" | r"\\w"\n').of("<x>")
    assert found is not None
    assert found.unit is Unit.BYTES
    assert found.accepts("é".encode().decode("latin-1"))
    assert found.spell("\xe9") == b"\xe9"
    assert found.accepts("\xe9")
    assert not found.characters - CharSet((0, 256))


def test_bits_are_zeros_and_ones() -> None:
    found = languages("<start> ::= <x> 0 0 0 0 0\n<x> ::= 1 <b>{2}\n<b> ::= 0 | 1\n").of("<x>")
    assert found is not None
    assert (found.unit, found.shortest, found.longest) == (Unit.BITS, 3, 3)
    assert [word for word in ("100", "111", "011", "10") if found.accepts(word)] == ["100", "111"]
    assert found.spell("101") == "101"


def test_bits_that_fill_no_byte_can_be_read_with_zeros_behind_them() -> None:
    spec = palaver.loads("<start> ::= <x> 0 0 0 0 0\n<x> ::= 1 <b>{2}\n<b> ::= 0 | 1\n")
    data, zeros = packed("101")
    assert (data, zeros) == (b"\xa0", 5)
    bodies = spec.grammar.bodies | {"<padded>": Sequence((Ref("<x>"), *[Bit(0)] * zeros))}
    matcher = compile_matcher(bodies, "<padded>", bound=lambda expression, node: 0).matcher(binary=True)
    matcher.finish(data)
    node = next(matcher.trees()).children[0]
    assert isinstance(node, Node)
    assert node.symbol == "<x>"
    assert len(node.children) == 3


@given(st.text("01", max_size=40))
def test_packed_bits_are_all_there(bits: str) -> None:
    data, zeros = packed(bits)
    assert "".join(f"{byte:08b}" for byte in data) == bits + "0" * zeros
    assert zeros < 8


@pytest.mark.parametrize(
    ("body", "word"),
    [('r"[a-c]+"', "abc"), ('"x" | "yz" | r"[0-9]"', "yz"), ('"x"', "x"), ('"" | "x"', "")],
)
def test_the_node_of_a_leaf_is_what_parsing_would_give(body: str, word: str) -> None:
    spec = palaver.loads(f'<start> ::= <x> "-"\n<x> ::= {body}\n')
    found = Languages(spec.grammar.rules, binary=spec.is_binary)
    one = found.of("<x>")
    assert one is not None
    assert found.is_leaf("<x>")
    assert spec.read_as("<x>", word) == Node("<x>", (one.spell(word),))  # type: ignore[arg-type]


def test_what_has_parts_of_its_own_is_no_leaf() -> None:
    found = languages('<start> ::= <x> <y> <z>\n<x> ::= <y>\n<y> ::= "a" "b"\n<z> ::= "x" := "x"\n')
    assert not any(found.is_leaf(symbol) for symbol in ("<start>", "<x>", "<y>", "<z>"))


_PARTS = st.recursive(
    st.sampled_from(['"a"', '"ab"', '""', 'r"[ab]"', 'r"b*"', "<x>", "<y>"]),
    lambda inner: st.one_of(
        st.lists(inner, min_size=2, max_size=3).map(" ".join),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: f"({' | '.join(parts)})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,3}", "{2,}"])).map(
            lambda pair: f"({pair[0]}){pair[1]}"
        ),
    ),
    max_leaves=5,
)


@settings(max_examples=examples(60), deadline=None)
@given(_PARTS, st.text("abc", max_size=6))
def test_a_language_accepts_just_what_can_be_parsed(body: str, word: str) -> None:
    spec = palaver.loads(f'<start> ::= {body}\n<x> ::= "b" | "ca"\n<y> ::= <x> "a"?\n')
    found = Languages(spec.grammar.rules, binary=spec.is_binary).of("<start>")
    assert found is not None
    assert found.accepts(word) == (spec.read_as("<start>", word) is not None)


@settings(max_examples=examples(60), deadline=None)
@given(st.sampled_from(["a{2,4}b", "(a|bc){0,3}", "[^a]?b+", "(a*b){2}", "(?i:ab)c"]), st.text("abcAB", max_size=6))
def test_a_pattern_accepts_just_what_python_says(pattern: str, word: str) -> None:
    assert language(f'r"{pattern}"').accepts(word) == (re.fullmatch(pattern, word) is not None)
