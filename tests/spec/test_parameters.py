"""Parameters of a spec: constants with a comment, which users set, and which rules get into their terminals."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import palaver
from palaver.compiled.bundled import bundled
from palaver.errors import SpecError
from palaver.spec.parameters import ParameterValue, converted_value

SPEC = r"""
USER = "the_user"  # [parameter] the account
MOST = 2  # [parameter] how many there are
SHARE = 0.5  # [parameter] how much of it
LOUD = False  # [parameter] in capitals
FOLDERS = ["/docs", "/empty"]  # [parameter] folders to visit
ANY = []  # [parameter] names; any if there are none
ZONE = "example.test"  # [parameter] a zone

<start> ::= <user> " " <folder>{MOST} " " <name> " " <other> " " <zone>
# This is the account.
# [set by USER]
<user> ::= "USER the_user" r"[.]the_user"
# [set by FOLDERS]
<folder> ::= "/docs" | "/empty"
# [set by ANY]
<name> ::= r"[a-z]{3}"
# [set by USER]
<other> ::= r"(?!the_user\Z)[a-z_]{8}"
# [set by ZONE as labels]
<zone> ::= b"\x07example\x04test\x00"
"""


def first(spec: palaver.Spec) -> bytes:
    return bytes(next(iter(spec.fuzz(1, seed=1))))


def output(**parameters: object) -> bytes:
    return first(palaver.loads(SPEC, parameters=parameters))


def test_without_values_a_spec_is_what_it_says() -> None:
    plain = SPEC.replace("[parameter]", "").replace("[set by", "[")
    assert output() == first(palaver.loads(plain))


def test_values_come_into_the_terminals_of_the_rules_that_name_them() -> None:
    made = output(user="joe", most=1, folders=["/pub"], any=("ann",), zone="a.example")
    assert made.startswith(b"USER joe.joe /pub ann ")
    assert made.endswith(b" \x01a\x07example\x00")


def test_names_are_the_same_in_capitals_and_in_small_letters() -> None:
    assert output(user="joe") == output(USER="joe")


def test_the_spec_tells_its_parameters() -> None:
    spec = palaver.loads(SPEC, parameters={"user": "joe"})
    told = {name: (each.default, each.value, each.about) for name, each in spec.parameters.items()}
    assert told["user"] == ("the_user", "joe", "the account")
    assert told["folders"] == (("/docs", "/empty"), ("/docs", "/empty"), "folders to visit")
    assert spec.origin.parameters == (("user", "joe"),)


@given(st.text(min_size=1, max_size=20))
def test_any_text_is_taken_as_it_is(value: str) -> None:
    spec = palaver.loads(SPEC, parameters={"user": value}, start="<user>")
    assert first(spec) == f"USER {value}.{value}".encode()
    assert spec.parse(f"USER {value}.{value}") is not None


@pytest.mark.parametrize("name", ["abcdefgh", "the_userx"])
def test_a_pattern_that_excludes_the_default_excludes_the_value(name: str) -> None:
    spec = palaver.loads(SPEC, parameters={"user": name}, start="<other>")
    with pytest.raises(palaver.Rejected):
        spec.parse(name)
    assert spec.parse("the_user") is not None


@pytest.mark.parametrize(
    "given_value, default, converted",
    [
        ("3", 2, 3),
        ("-3", 2, -3),
        (3, 2, 3),
        ("3", 0.5, 3.0),
        (1, 0.5, 1.0),
        ("yes", False, True),
        ("off", True, False),
        (True, False, True),
        ("/a, /b", ("/x",), ("/a", "/b")),
        ("", ("/x",), ()),
        (["/a"], ("/x",), ("/a",)),
        ("7", "x", "7"),
    ],
)
def test_a_text_of_the_command_line_stands_for_every_kind(
    given_value: object, default: ParameterValue, converted: ParameterValue
) -> None:
    found = converted_value(given_value, default)
    assert (found, type(found)) == (converted, type(converted))


@pytest.mark.parametrize(
    "name, value, message, hint",
    [
        ("usr", "joe", "the spec has no parameter usr", "did you mean user?"),
        ("colour", "red", "the spec has no parameter colour", "its parameters are: user, most, share, loud"),
        ("most", "many", "the parameter most is a whole number, and not 'many'", "how many there are"),
        ("most", 1.5, "the parameter most is a whole number, and not 1.5", "how many there are"),
        ("most", True, "the parameter most is a whole number, and not True", "how many there are"),
        ("loud", "perhaps", "the parameter loud is true or false, and not 'perhaps'", "in capitals"),
        ("user", 7, "the parameter user is a text, and not 7", "the account"),
        ("folders", [1], "the parameter folders is a list of texts, and not [1]", "folders to visit"),
    ],
)
def test_wrong_names_and_values_are_told_with_a_hint(name: str, value: object, message: str, hint: str) -> None:
    with pytest.raises(SpecError) as caught:
        palaver.loads(SPEC, parameters={name: value})
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.message == message
    assert hint in diagnostic.hint


@pytest.mark.parametrize(
    "text, message",
    [
        ('X = open  # [parameter] x\n<start> ::= "a"', "the parameter X has no constant value"),
        ('# [set by Y]\n<start> ::= "a"', "there is no parameter Y that <start> could have"),
        ('X = "b"  # [parameter] x\n# [set by X]\n<start> ::= "a"', "<start> cannot be set by X"),
        ('X = 1  # [parameter] x\n# [set by X]\n<start> ::= "1"', "<start> cannot be set by X"),
        ('X = ["a"]  # [parameter] x\n# [set by X]\n<start> ::= "a" | "b"', "<start> cannot be set by X"),
        ('X = "b"  # [parameter] x\nX = 1\n<start> ::= "a"', "the parameter X is a text that stands here"),
    ],
)
def test_what_is_declared_wrongly_is_told_whether_or_not_it_is_set(text: str, message: str) -> None:
    with pytest.raises(SpecError) as caught:
        palaver.loads(text)
    assert message in [each.message for each in caught.value.diagnostics]


def test_a_file_that_is_read_later_sets_parameters_too() -> None:
    spec = palaver.loads(SPEC, 'USER = "joe"\nMOST = 1\n')
    assert first(spec).startswith(b"USER joe.joe ")
    assert spec.parameters["most"].value == 1
    assert first(palaver.loads(SPEC, 'USER = "joe"\n', parameters={"user": "ann"})).startswith(b"USER ann")


def test_a_value_is_there_when_the_rest_of_the_code_runs() -> None:
    text = 'X = "a"  # [parameter] x\nBOTH = X + X\n<start> ::= r"[a-z]+" := BOTH\n'
    assert first(palaver.loads(text, parameters={"x": "b"})) == b"bb"


@pytest.mark.parametrize("name", bundled())
def test_every_bundled_spec_takes_other_values_of_all_its_parameters(name: str) -> None:
    def other(value: ParameterValue) -> object:
        if isinstance(value, tuple):
            return ["/other"]
        if isinstance(value, bool):
            return not value
        return f"other{value}" if isinstance(value, str) else value + 1

    declared = palaver.load(name).parameters
    palaver.load(name, parameters={key: other(each.default) for key, each in declared.items()})
    assert all(each.about for each in declared.values())


def test_an_account_is_named_in_every_spec_that_logs_in() -> None:
    for name, path in bundled().items():
        if "PASS" in Path(path).read_text() or "the_password" in Path(path).read_text():
            assert {"user", "password"} <= set(palaver.load(name).parameters), name
