"""Templates: rules for each alternative of another one, with their constraints."""

from __future__ import annotations

import pytest

import palaver
from palaver.errors import SpecError
from palaver.grammar.printing import show_grammar
from palaver.spec.ast import Ref, Sequence

SPEC = r"""
include('binary.fan')
<start> ::= b"1" <sized_greeting> | b"2" <sized_question>+
# What stands before each body.
# [for each <body>]
<sized_body> ::= <u16> <body>
<body> ::= <greeting> | <question> | <unused>
<greeting> ::= b"hello" <byte>{1,3}
<question> ::= b"how" <byte>{2,9}
<unused> ::= b"nothing"
where forall <s> in <sized_body>: <s>.<u16> == u16(len(bytes(<s>.<body>)))
"""
BY_HAND = r"""
include('binary.fan')
<start> ::= b"1" <sized_greeting> | b"2" <sized_question>+
<greeting> ::= b"hello" <byte>{1,3}
<question> ::= b"how" <byte>{2,9}
<sized_greeting> ::= <u16> <greeting>
<sized_question> ::= <u16> <question>
where forall <s> in <sized_greeting>: <s>.<u16> == u16(len(bytes(<s>.<greeting>)))
where forall <s> in <sized_question>: <s>.<u16> == u16(len(bytes(<s>.<question>)))
"""


def own_rules(spec: palaver.Spec) -> dict[str, object]:
    return {symbol: spec.grammar.rules[symbol].body for symbol in spec.grammar.own if symbol in spec.analysis.used}


def outputs(spec: palaver.Spec) -> list[bytes]:
    return [bytes(tree) for tree in spec.fuzz(10, seed=1)]


def without_unused(text: str) -> str:
    return text.replace(" | <unused>", "").replace('<unused> ::= b"nothing"\n', "")


def test_a_template_is_as_if_its_rules_and_constraints_were_written_out() -> None:
    spec, by_hand = palaver.loads(without_unused(SPEC)), palaver.loads(BY_HAND)
    assert own_rules(spec) == own_rules(by_hand)
    assert [each.text for each in spec.grammar.constraints] == [each.text for each in by_hand.grammar.constraints]
    assert outputs(spec) == outputs(by_hand)
    assert not spec.warnings


def test_only_rules_that_are_asked_for_are_made() -> None:
    spec = palaver.loads(SPEC)
    assert "<sized_unused>" not in spec.grammar.rules
    assert "<sized_body>" not in spec.grammar.rules
    assert len(spec.grammar.constraints) == 2


def test_what_does_not_fit_is_told_with_the_names_of_its_rule() -> None:
    spec = palaver.loads(SPEC)
    assert bytes(spec.parse(b"1\x00\x06hello!")) == b"1\x00\x06hello!"
    with pytest.raises(palaver.Rejected, match=r"<s>\.<u16> == u16\(len\(bytes\(<s>\.<greeting>\)\)\)") as rejected:
        spec.parse(b"1\x00\x07hello!")
    assert "<s>.<greeting> = b'hello!'" in str(rejected.value)
    assert "<body>" not in str(rejected.value)


def test_a_template_that_is_used_itself_is_a_rule_like_others() -> None:
    spec = palaver.loads(SPEC.replace('b"2" <sized_question>+', "<sized_body>"))
    assert {"<sized_body>", "<body>", "<sized_greeting>"} <= {*spec.grammar.rules}
    assert len(spec.grammar.constraints) == 2
    assert bytes(spec.parse(b"\x00\x05howxy"))
    with pytest.raises(palaver.Rejected):
        spec.parse(b"\x00\x06howxy")


def test_templates_for_each_of_the_same_symbol_go_together() -> None:
    spec = palaver.loads(
        '<start> ::= <outer_a> | <outer_b>\n# [for each <x>]\n<outer_x> ::= "(" <inner_x> ")"\n'
        '# [for each <x>]\n<inner_x> ::= <x> "=" <x>\n<x> ::= <a> | <b>\n<a> ::= "a"\n<b> ::= "b"'
    )
    assert [str(spec.parse(text)) for text in ("(a=a)", "(b=b)")] == ["(a=a)", "(b=b)"]
    with pytest.raises(palaver.Rejected):
        spec.parse("(a=b)")


def test_a_constraint_may_speak_of_templates_for_several_symbols() -> None:
    spec = palaver.loads(
        "<start> ::= <one_a> <two_c> | <one_b> <two_d>\n# [for each <x>]\n<one_x> ::= <x>\n"
        "# [for each <y>]\n<two_y> ::= <y>\n<x> ::= <a> | <b>\n<y> ::= <c> | <d>\n"
        '<a> ::= r"[a-z]"\n<b> ::= r"[A-Z]"\n<c> ::= r"[a-z]"\n<d> ::= r"[A-Z]"\n'
        "where str(<one_x>.<x>) == str(<two_y>.<y>)"
    )
    assert len(spec.grammar.constraints) == 4
    assert [str(spec.parse(text)) for text in ("aa", "ZZ")] == ["aa", "ZZ"]
    with pytest.raises(palaver.Rejected):
        spec.parse("ab")


def test_messages_bounds_generators_and_notes_are_taken_over() -> None:
    spec = palaver.loads(
        "<start> ::= <asked_a> <asked_b>\n"
        "# [for each <x>]\n# [note] asked\n<asked_x> ::= <Client:Server:ask_x> <Server:Client:x>\n"
        "# [for each <x>]\n<ask_x> ::= <many_x>\n"
        '# [for each <x>]\n<many_x> ::= <x> "!"{len(str(<x>))} := str(<x>) + "!"\n'
        '<x> ::= <a> | <b>\n<a> ::= "a"\n<b> ::= "b"'
    )
    assert spec.grammar.rules["<asked_a>"].body == Sequence(
        (Ref("<ask_a>", "Client", "Server"), Ref("<a>", "Server", "Client"))
    )
    assert spec.grammar.rules["<asked_b>"].note == "asked"
    generator = spec.grammar.rules["<many_b>"].generator
    assert generator is not None
    assert generator.text == 'str(<b>) + "!"'
    assert next(iter(spec.fuzz(1, seed=1))).to_string() == "a!ab!b"


def test_symbols_in_strings_are_text() -> None:
    spec = palaver.loads(
        '<start> ::= <in_a>\n# [for each <x>]\n<in_x> ::= "<x>" <x>\n<x> ::= <a>\n<a> ::= "a"\n'
        'where forall <i> in <in_x>:\n    f"<x>{<i>.<x>}" == "<x>a" and str(<i>) == "<x>a"'
    )
    assert str(spec.parse("<x>a")) == "<x>a"
    assert (
        spec.grammar.constraints[0].text
        == 'forall <i> in <in_a>:\n    f"<x>{<i>.<a>}" == "<x>a" and str(<i>) == "<x>a"'
    )


def test_a_rule_that_a_spec_defines_itself_is_taken() -> None:
    spec = palaver.loads(SPEC, '<sized_greeting> ::= b"hi"')
    assert str(spec.parse(b"1hi")) == "1hi"
    assert len(spec.grammar.constraints) == 1


def test_a_later_file_may_add_alternatives() -> None:
    spec = palaver.loads(SPEC, '<body> ::= <greeting> | <bye>\n<bye> ::= b"bye"\n<start> ::= <sized_bye>')
    assert str(spec.parse(b"\x00\x03bye")) == "\x00\x03bye"


def test_a_later_file_may_do_without_a_template() -> None:
    with pytest.raises(SpecError, match="no rule defines <sized_greeting>"):
        palaver.loads(SPEC, "<sized_body> ::= <body>")


def test_printed_as_a_spec_templates_are_written_out() -> None:
    spec = palaver.loads(
        '<start> ::= <in_a> | <in_b>\n# [for each <x>]\n<in_x> ::= "(" <x> ")"\n<x> ::= <a> | <b>\n'
        '<a> ::= r"[a-z]+"\n<b> ::= r"[A-Z]+"\nwhere forall <i> in <in_x>: len(str(<i>.<x>)) == 2'
    )
    printed = show_grammar(spec.grammar)
    assert "<x>" not in printed
    again = palaver.loads(printed)
    assert own_rules(again) == own_rules(spec)
    assert again.grammar.constraints == spec.grammar.constraints


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# [for each body]\n<a_body> ::= <body>", "this mark names no symbol"),
        ("# [for each <body>\n<a_body> ::= <body>", "this mark names no symbol"),
        ("# [for each <body>]\n\n<a_body> ::= <body>", r"there is no rule below \[for each <body>\]"),
        ("# [for each <bdy>]\n<a_bdy> ::= <body>", "there is no rule <bdy> whose alternatives <a_bdy> is for"),
        ("# [for each <body>]\n<anybody> ::= <body>", "<anybody> is for each <body>, but is not named after it"),
        ("# [for each <body>]\n<body> ::= <x>", "<body> is for each <body>, but is not named after it"),
        ('# [for each <y>]\n<a_y> ::= <y>\n<y> ::= <x> | "y"', "each alternative of it has to be one symbol"),
    ],
)
def test_what_is_wrong_with_a_template_is_told(text: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        palaver.loads('<start> ::= <x>\n<body> ::= <x>\n<x> ::= "x"\n' + text)


def test_a_rule_that_no_template_makes_is_not_defined() -> None:
    with pytest.raises(SpecError, match="no rule defines <sized_grating>"):
        palaver.loads(SPEC.replace("<sized_greeting>", "<sized_grating>"))
