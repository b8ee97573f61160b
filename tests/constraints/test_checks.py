"""The meaning of constraints: selectors, implicit and explicit quantifiers, and failures with their reasons."""

import pytest

import palaver

ENTRIES = """\
<start> ::= <ent> ("&" <ent>)*
<ent> ::= <key> ":" <val>
<key> ::= r"[a-z]+"
<val> ::= <num>+
<num> ::= r"[0-9]"
"""


def holds(constraint: str, data: str, code: str = "") -> bool:
    return bool(list(palaver.loads(code + ENTRIES, constraints=[constraint]).parses(data)))


@pytest.mark.parametrize(
    ("constraint", "satisfied", "broken"),
    [
        ("int(<val>) > 3", "k:4&m:5", "k:4&m:3"),
        ('<val> in ("4", "6")', "k:4&m:6", "k:5"),
        ('<start>..<num> == "4"', "k:44", "k:45"),
        ('<ent>.<key> == "k"', "k:4&k:5", "k:4&m:5"),
        ('<ent>[0] == "k"', "k:4", "m:4"),
        ('<ent>[-1] == "4"', "k:4", "k:5"),
        ('<ent>[:2] == "k:"', "k:4", "m:4"),
        ('<ent>[1:] == ":4"', "k:4", "k:5"),
        ('<start>[0].<key> == "k"', "k:1&m:2", "m:1&k:2"),
        ('<start>[len("")].<key> == "k"', "k:1&m:2", "m:1&k:2"),
        ('(<ent>.<val>)[0] == "4"', "k:45", "k:54"),
        ("|<ent>| == 2", "a:1&b:2", "a:1"),
        ("len(*<ent>) == |<key>|", "a:1&b:2", None),
        ('"4" in *<val>', "k:4&m:5", "k:5"),
        ("sum(int(v) for v in *<val>) == 9", "k:4&m:5", "k:4"),
        ("3 < int(<val>) < 8", "k:4&m:7", "k:8"),
        ('any(v == "4" for v in *<val>)', "k:5&m:4", "k:5"),
        ('any(<v> == "4" for <v> in *<val>)', "k:5&m:4", "k:5"),
        ('not any(<v> == "4" for <v> in *<val>)', "k:5", "k:4"),
        ('all(<e>.<val> == "4" or <e>.<key> == "m" for <e> in *<ent>)', "k:4&m:5", "k:5"),
        ('exists <e> in <ent>: <e>.<val> == "4"', "k:4&m:5", "k:5"),
        ("forall <e> in <ent>:\n  exists <g> in <ent>:\n    <e>.<val> < <g>.<val> or <e> == <g>", "k:4&m:5", None),
        ('<key> == "k" -> <val> == "4"', "k:4", "k:5"),
        ('<key> == "k" -> <val> == "4"', "m:5", "k:5"),
        ('<val> == "4" if <key> == "k" else True', "m:5", "k:5"),
        ('f"{<val>}!" == "4!"', "k:4", "k:5"),
        ("(n := int(<val>)) > 3 and n < 6", None, "k:3"),
        ("[int(v) for v in *<val> if int(v) > 3] == [4, 5]", "a:4&b:1&c:5", "a:4"),
        ("<key> <> <val>", "k:4", None),
    ],
)
def test_a_condition_is_satisfied_by_one_input_and_broken_by_another(
    constraint: str, satisfied: str | None, broken: str | None
) -> None:
    if satisfied is not None:
        assert holds(constraint, satisfied)
    if broken is not None:
        assert not holds(constraint, broken)


def test_each_mention_ranges_by_itself() -> None:
    assert not holds('<val> == "4" or <val> == "6"', "k:4&m:6")
    assert not holds("<val> == <val>", "k:4&m:6")


def test_an_absent_symbol_satisfies_everything_but_existence() -> None:
    text = '<start> ::= "s" <opt>?\n<opt> ::= "o"\n'
    assert list(palaver.loads(text, constraints=['<opt> == "x"']).parses("s"))
    assert list(palaver.loads(text, constraints=["forall <o> in <opt>: False"]).parses("s"))
    assert not list(palaver.loads(text, constraints=["exists <o> in <opt>: True"]).parses("s"))


def test_two_symbols_are_compared_by_value() -> None:
    text = '<start> ::= <a> "/" <b>\n<a> ::= r"[0-9]"\n<b> ::= <c>\n<c> ::= r"[0-9]"\n'
    assert list(palaver.loads(text, constraints=["<a> == <b>"]).parses("3/3"))
    assert not list(palaver.loads(text, constraints=["<a> != <b>"]).parses("3/3"))


def test_the_truth_of_a_node_is_that_of_its_value() -> None:
    text = "<start> ::= <flag> 0 0 0 0 0 0 0\n<flag> ::= 0 | 1\n"
    assert list(palaver.loads(text, constraints=["<flag>"]).parses(b"\x80"))
    assert not list(palaver.loads(text, constraints=["<flag>"]).parses(b"\x00"))


def test_a_failing_condition_names_the_values_it_saw() -> None:
    spec = palaver.loads(ENTRIES, constraints=["int(<val>) > len(str(<key>))"])
    with pytest.raises(palaver.Rejected, match=r"int\(<val>\) > len\(str\(<key>\)\) does not hold") as caught:
        spec.parse("k:9&long:3")
    assert "<val> = '3'" in str(caught.value)
    assert "<key> = 'long'" in str(caught.value)


@pytest.mark.parametrize("constraint", ["int(<key>) == 3", "<ent>[7] == 1", "<val> == None", "boom(<val>)", "1 / 0"])
def test_code_that_raises_never_passes(constraint: str) -> None:
    code = "def boom(x):\n    raise KeyError('no')\n"
    assert not holds(constraint, "k:4", code)
    spec = palaver.loads(code + ENTRIES, constraints=[constraint])
    with pytest.raises(palaver.Rejected, match="raised"):
        spec.parse("k:4")


def test_a_constraint_is_called_once_per_combination() -> None:
    code = "calls = []\ndef seen(x):\n    calls.append(str(x))\n    return True\n"
    spec = palaver.loads(code + ENTRIES, constraints=["seen(<val>)"])
    spec.parse("a:1&b:2&c:3")
    assert spec.namespace.names["calls"] == ["1", "2", "3"]


def test_a_constraint_chooses_among_derivations() -> None:
    text = '<start> ::= <u> | <v>\n<u> ::= "t"\n<v> ::= "t"\n'
    assert palaver.loads(text, constraints=["|<v>| == 1"]).parse("t").children[0].symbol == "<v>"
