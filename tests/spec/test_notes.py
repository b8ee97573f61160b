"""Comments that make a rule or a constraint a note."""

from __future__ import annotations

import pytest

import palaver

RULES = """
<start> ::= <plain> | <odd>
<plain> ::= "a"
{above}
<odd> ::= "b"
where {condition}
"""


def noted(above: str) -> dict[str, str]:
    return palaver.loads(RULES.format(above=above, condition="True")).grammar.noted


@pytest.mark.parametrize(
    "above, text",
    [
        ("# [note] RFC 1 (2): odd", "RFC 1 (2): odd"),
        ("# First a remark.\n# [note] RFC 1 (2):\n#   odd", "RFC 1 (2): odd"),
        ("#[note] odd", "odd"),
    ],
)
def test_a_comment_right_above_a_rule_is_its_note(above: str, text: str) -> None:
    assert noted(above) == {"<odd>": text}


@pytest.mark.parametrize("above", ["", "# a note: odd", "# [note] odd\n", "# see [note] odd", "x = '[note]'"])
def test_other_comments_are_no_notes(above: str) -> None:
    assert noted(above) == {}


def test_a_constraint_with_a_note_rejects_nothing() -> None:
    text = RULES.format(above="", condition="True")
    strict = palaver.loads(text + 'where <start> == "a"')
    lenient = palaver.loads(text + '# [note] should be a\nwhere <start> == "a"')
    assert [str(lenient.parse(each)) for each in "ab"] == ["a", "b"]
    with pytest.raises(palaver.Rejected):
        strict.parse("b")


def test_a_rule_that_replaces_one_with_a_note_has_none() -> None:
    text = RULES.format(above="# [note] odd", condition="True")
    assert palaver.loads(text, '<odd> ::= "c"').grammar.noted == {}


def test_what_is_wrong_in_a_constraint_with_a_note_is_reported() -> None:
    with pytest.raises(palaver.SpecError, match="nowhere"):
        palaver.loads(RULES.format(above="", condition="True") + "# [note] odd\nwhere <nowhere> == 1")


def test_notes_are_printed_with_the_rules() -> None:
    from palaver.grammar.printing import show_grammar

    spec = palaver.loads(RULES.format(above="# [note] odd", condition="True") + "# [note] even\nwhere <plain> == 'a'")
    again = palaver.loads(show_grammar(spec.grammar))
    assert again.grammar.noted == spec.grammar.noted
    assert [each.note for each in again.grammar.remarks] == ["even"]
