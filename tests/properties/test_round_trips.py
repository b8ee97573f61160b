"""Round trips: trees through their bytes, grammars through their text, inputs in any pieces."""

from itertools import islice, pairwise

from grammar_strategies import binary_rules, spec_text, text_rules
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import palaver
from amounts import examples
from palaver.grammar.printing import show_grammar
from palaver.source import Source
from palaver.spec.ast import Rule
from palaver.spec.diagnostics import Reporter
from palaver.spec.spec_files import parse_spec
from palaver.trees.node import same_structure

SEVERAL = settings(max_examples=examples(60), deadline=None)

any_rules = st.one_of(text_rules, binary_rules)


@SEVERAL
@given(any_rules)
def test_rules_printed_back_are_the_same_rules(rules: tuple[Rule, ...]) -> None:
    report = Reporter()
    read = parse_spec(Source("printed", spec_text(rules)), report)
    assert not report.errors
    again = parse_spec(Source("printed again", spec_text(read.rules)), report)
    assert again.rules == read.rules


@SEVERAL
@given(any_rules, st.integers(0, 1000))
def test_a_generated_tree_is_parsed_to_the_same_tree(rules: tuple[Rule, ...], seed: int) -> None:
    spec = palaver.loads(spec_text(rules), stdlib=False)
    for tree in spec.fuzz(3, seed=seed, max_nodes=30, max_repetitions=3):
        data = bytes(tree) if spec.is_binary else str(tree)
        assume(len(data) < 60)
        derivations = [found.node for found in islice(spec.parses(data), 300)]
        assert derivations
        # Of very ambiguous inputs not all derivations are looked at.
        assert len(derivations) == 300 or any(same_structure(tree.node, node) for node in derivations)


@SEVERAL
@given(any_rules, st.integers(0, 1000), st.lists(st.integers(0, 60), max_size=5))
def test_the_pieces_of_an_input_make_no_difference(rules: tuple[Rule, ...], seed: int, cuts: list[int]) -> None:
    spec = palaver.loads(spec_text(rules), stdlib=False)
    (tree,) = spec.fuzz(1, seed=seed, max_nodes=30, max_repetitions=3)
    data = bytes(tree)[:60]
    whole = spec.matcher(whole=False)
    at_once = whole.feed(data)
    pieces = spec.matcher(whole=False)
    places = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    bit_by_bit = at_once if len(places) < 2 else None
    for start, end in pairwise(places):
        bit_by_bit = pieces.feed(data[start:end])
    assert bit_by_bit == at_once
    assert list(islice(pieces.trees(), 20)) == list(islice(whole.trees(), 20))


SPECS = [
    '<start> ::= <n> ":" <x>{int(<n>)}\n<n> ::= r"[0-9]"\n<x> ::= "x" | "y"\n',
    '<start> ::= <head> <body>\n<head> ::= <n> "|"\n<n> ::= r"[0-5]"\n<body> ::= ("u" | "v"){int(<head>.<n>)}\n',
    "<start> ::= <len> <byte>{int(<len>)}\n<len> ::= 0 0 0 0 0 <bit>{3}\n",
    '<start> ::= [[<a> <b> "c"]] (";" <a>)*\n<a> ::= "a"+\n<b> ::= "b"\n',
    "<start> ::= <packed>\n<packed> ::= r'[0-9a-f]+' := bytes(<plain>).hex()\n"
    "<plain> ::= rb'[a-z]+' := bytes.fromhex(str(<packed>))\n",
    '<start> ::= <A:hi> <B:A:yo>*\n<hi> ::= "hi"\n<yo> ::= "yo" <digit>\nwhere int(<digit>) < 5\n',
]


@settings(max_examples=examples(30), deadline=None)
@given(st.sampled_from(SPECS), st.integers(0, 10_000))
def test_a_generated_tree_with_computed_parts_is_parsed_to_the_same_tree(text: str, seed: int) -> None:
    spec = palaver.loads(text)
    for tree in spec.fuzz(2, seed=seed):
        found = spec.parse(bytes(tree) if spec.is_binary else str(tree))
        assert same_structure(tree.node, found.node)
        assert [str(source) for source in found.sources] == [str(source) for source in tree.sources]


def test_a_whole_grammar_printed_back_is_the_same_grammar() -> None:
    text = """\
<start> ::= <Client:Server:ask> (<Server:answer> | <Server:Client:error>){1,2} <n>{int(<n>)}
<ask> ::= [["a" (("b" | "c")+)]] r'[\\'"]' rb"\\xff" := "x"
<answer> ::= "x"{2,} <n>{,3}
<error> ::= 0 1 0 0 0 0 0 1
<n> ::= '1' := str(1 + 2)
where forall <x> in <n>: int(<x>) > 0 and |<n>| < 3
minimizing len(str(<start>))
setting <n> havoc_probability = 0.5
setting all_with_type(Star) terminal_should_repeat = 1
"""
    one = palaver.loads(text)
    two = palaver.loads(show_grammar(one.grammar))
    assert two.grammar == one.grammar
