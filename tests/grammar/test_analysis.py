"""Static analysis of grammars."""

import pytest

import palaver
from palaver.grammar.analysis import cyclic_symbols, nullable_symbols
from palaver.grammar.printing import transitions


def analysed(text: str) -> palaver.Spec:
    return palaver.loads(text, stdlib=False)


def test_the_least_size_of_a_symbol_counts_nodes_and_leaves() -> None:
    spec = analysed('<start> ::= <a> <a> | <b>\n<a> ::= "x"\n<b> ::= <b> <b> | <a>{3}\n')
    assert spec.analysis.sizes == {"<start>": 5, "<a>": 2, "<b>": 7}


def test_a_long_chain_of_rules_is_analysed_without_recursion() -> None:
    chain = "".join(f"<s{at}> ::= <s{at + 1}>\n" for at in range(3000))
    spec = analysed(f'<start> ::= <s0>\n{chain}<s3000> ::= "x"\n')
    assert spec.analysis.sizes["<start>"] == 3003
    assert str(next(spec.fuzz(1, seed=1))) == "x"


def test_symbols_that_can_be_empty_or_contain_only_themselves() -> None:
    rules = analysed('<start> ::= <a> <e>\n<a> ::= <b> <e> | "x"\n<b> ::= <a>\n<e> ::= r"y*" | ""\n').grammar.rules
    nullable = nullable_symbols(rules)
    assert nullable == {"<e>"}
    assert cyclic_symbols(rules, nullable) == {"<a>", "<b>"}


COOCCURRENCES = '<start> ::= <a> | <b> <c>?\n<a> ::= "a" <d>\n<b> ::= "b"\n<c> ::= "c" <d>\n<d> ::= "d"\n'


@pytest.mark.parametrize(
    ("one", "other", "meet"),
    [("<a>", "<b>", False), ("<b>", "<c>", True), ("<a>", "<d>", True), ("<d>", "<b>", True), ("<c>", "<a>", False)],
)
def test_two_symbols_can_occur_in_one_tree_if_both_can_be_derived(one: str, other: str, meet: bool) -> None:
    assert analysed(COOCCURRENCES).analysis.can_cooccur(one, other) is meet


@pytest.mark.parametrize(
    ("body", "often"),
    [("<x> <x>", True), ("<x>", False), ("<x>?", False), ("<x>{2}", True), ('<x> | "," <x>', False), ("<x>*", True)],
)
def test_a_symbol_may_repeat_if_a_tree_can_hold_it_twice(body: str, often: bool) -> None:
    assert analysed(f'<start> ::= {body}\n<x> ::= "x"\n').analysis.may_repeat("<x>") is often


@pytest.mark.parametrize(
    "body, once",
    [("<x>", True), ("<x>?", False), ("<x>{2}", False), ('<x> | "," <x>', True), ('<x> | ","', False), ("<y>", True)],
)
def test_a_symbol_occurs_exactly_once_if_every_tree_holds_one(body: str, once: bool) -> None:
    text = f'<start> ::= <a> <x>\n<a> ::= {body}\n<x> ::= "x"\n<y> ::= <x>\n'
    assert analysed(text).analysis.occurs_once_in("<x>", "<a>") is once


def test_an_argument_of_a_generator_counts_as_an_occurrence() -> None:
    text = '<start> ::= <x> <g>\n<g> ::= r"x+" := str(<x>)\n<x> ::= r"x+"\n'
    assert not analysed(text).analysis.occurs_once_in("<x>", "<start>")


@pytest.mark.parametrize(
    "body, one",
    [
        ('"a" <y>', True),
        ('"a"{3}', True),
        ('"a"{int(N)}', False),
        ('"a"?', False),
        ('r"[a-z]"', False),
        ('"a" | "b"', False),
        ('[["a" "b"]]', False),
        ("0 1 1", True),
        ("<z>", False),
        ("<y>* <y>", False),
    ],
)
def test_a_symbol_is_fixed_if_nothing_in_it_is_chosen_or_computed(body: str, one: bool) -> None:
    text = f'<start> ::= <a>\n<a> ::= {body}\n<y> ::= "y"\n<z> ::= "z" := "z"\nN = 2\n'
    assert analysed(text).analysis.is_one_thing("<a>") is one


TALK = """\
<start> ::= <Server:hello> <work>
<work> ::= <Client:Server:ask> <Server:answer> <work> | <Client:bye>
<hello> ::= "hello"
<ask> ::= "ask"
<answer> ::= "answer"
<bye> ::= "bye"
"""


def test_messages_and_parties_come_in_the_order_of_the_spec() -> None:
    analysis = analysed(TALK).analysis
    assert [message.symbol for message in analysis.messages] == ["<hello>", "<ask>", "<answer>", "<bye>"]
    assert analysis.parties == ("Server", "Client")


def test_the_states_of_a_dialogue_grammar_are_its_rules() -> None:
    assert [str(each) for each in transitions(analysed(TALK).analysis)] == [
        "[*] --> <start>",
        "<start> --> <work>: <Server:hello>",
        "<work> --> <work>: <Client:Server:ask> <Server:answer>",
        "<work> --> <Client:bye>",
        "<Client:bye> --> [*]: <Client:bye>",
    ]


def test_a_slice_keeps_only_the_messages_of_some_parties() -> None:
    spec = analysed(TALK).for_parties(["Client"])
    assert {str(tree) for tree in spec.fuzz(3, seed=1)} <= {"ask" * count + "bye" for count in range(300)}
    assert str(spec.parse("askaskbye")) == "askaskbye"


def test_a_slice_for_no_party_is_empty() -> None:
    assert str(next(analysed(TALK).for_parties(["Nobody"]).fuzz(1))) == ""


def test_rules_below_start_are_not_reported_as_unused_with_another_start_symbol() -> None:
    text = '<start> ::= <a> <b>\n<a> ::= "x"\n<b> ::= "y"\nwhere <a> == "x"\n'
    assert palaver.loads(text, start="<b>").warnings == ()


def test_the_symbols_above_are_those_with_the_symbol_below_them() -> None:
    analysis = palaver.loads("<start> ::= <a> | <b>\n<a> ::= <c>*\n<b> ::= 'b' <b>?\n<c> ::= 'c' <a>?").analysis
    for name in analysis.grammar.rules:
        outer = {each for each in analysis.grammar.rules if name in analysis.below(each)}
        assert analysis.above([name]) == outer, name
    assert analysis.above(["<b>", "<c>"]) == {"<start>", "<a>", "<b>", "<c>"}
