"""Exceptions of the Python interface, and their data."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import pytest

import palaver


def test_the_error_of_a_wrong_spec_has_all_its_diagnostics() -> None:
    with pytest.raises(palaver.SpecError) as raised:
        palaver.loads('<start> ::= <a> <b>\nwhere <c> == 1\n<d> ::= "d"\n')
    found = raised.value.diagnostics
    assert [each.severity for each in found] == ["error", "error", "error", "warning"]
    assert [each.source.place(each.span.start) for each in found] == [(1, 13), (1, 17), (2, 7), (3, 1)]
    assert found[0].message == "no rule defines <a>"
    assert found[0].hint == "add a rule <a> ::= …"
    assert str(raised.value) == "\n".join(map(str, found))


def test_diagnostics_name_the_text_they_are_about() -> None:
    with pytest.raises(palaver.SpecError) as raised:
        palaver.loads("<start> ::= <a>\n", "<a> ::= <b>\n", constraints=["<c>"])
    assert {each.source.name for each in raised.value.diagnostics} == {"<string 2>", "<constraint>"}


def test_a_missing_file_is_a_spec_error(tmp_path: Path) -> None:
    with pytest.raises(palaver.SpecError, match="there is no file"):
        palaver.load(tmp_path / "gone.fan")


def test_a_rejection_tells_offset_expectation_and_reason() -> None:
    spec = palaver.loads('<start> ::= "a" <n>\n<n> ::= r"[0-9]+"\n')
    with pytest.raises(palaver.Rejected) as raised:
        spec.parse("ab")
    assert raised.value.offset == 1
    assert raised.value.expected == ("r'[0-9]+'",)
    assert raised.value.reason == str(raised.value) == "unexpected 'b' at offset 1: expected r'[0-9]+'"


def test_a_rejection_at_the_end_says_so() -> None:
    spec = palaver.loads('<start> ::= "a" "b"\n')
    with pytest.raises(palaver.Rejected) as raised:
        spec.parse("a")
    assert (raised.value.offset, raised.value.expected) == (1, ("'b'",))
    assert raised.value.reason == "unexpected end of input at offset 1: expected 'b'"


def test_a_rejection_of_bytes_counts_bytes() -> None:
    spec = palaver.loads('<start> ::= "é" b"\\x00\\x01"\n')
    with pytest.raises(palaver.Rejected) as raised:
        spec.parse("é".encode() + b"\x01")
    assert raised.value.offset == 2
    with pytest.raises(palaver.Rejected) as raised:
        palaver.loads('<start> ::= "é" "a"\n').parse("éb")
    assert raised.value.offset == 1


def test_a_failing_constraint_is_one_sentence_with_place_and_values() -> None:
    spec = palaver.loads("<start> ::= <a> ',' <b>\n<a> ::= r'[0-9]+'\n<b> ::= r'[0-9]+'\nwhere int(<b>) > int(<a>)\n")
    with pytest.raises(palaver.Rejected) as raised:
        spec.parse("10,9")
    assert raised.value.reason == (
        "int(<b>) > int(<a>) does not hold (<b> = '9', <a> = '10'), required by <string>:4:7"
    )
    assert raised.value.offset == 3


def test_every_error_is_a_palaver_error() -> None:
    for kind in (palaver.SpecError, palaver.SpecCrash, palaver.Rejected, palaver.Unsolvable, palaver.ConversionError):
        assert issubclass(kind, palaver.PalaverError)


@pytest.mark.parametrize("data", [None, 1.5, [], True, object()])
def test_what_is_no_input_is_a_type_error(data: object) -> None:
    with pytest.raises(TypeError, match="is not text, bytes or"):
        palaver.loads('<start> ::= "a"\n').parse(data)  # type: ignore[arg-type]


def test_a_number_with_too_many_digits_is_no_input() -> None:
    with pytest.raises(palaver.ConversionError, match="too large to be written in decimal"):
        palaver.loads('<start> ::= "a"\n').parse(10**5000)


@pytest.mark.parametrize("text", [None, 5, b"<start> ::= 'a'\n", ["<start> ::= 'a'\n"]])
def test_what_is_no_text_is_no_spec(text: object) -> None:
    with pytest.raises(TypeError, match="takes text, not"):
        palaver.loads(text)  # type: ignore[arg-type]


def test_one_text_is_no_list_of_constraints() -> None:
    with pytest.raises(TypeError, match="a list of strings"):
        palaver.loads("<start> ::= 'a'\n", constraints="<start> == 'a'")


FAILING = {
    "a wrong spec": ("<start> ::= <a>\n", palaver.SpecError),
    "a rejection": ("<start> ::= 'a'\n", palaver.Rejected),
    "a crash": ("<start> ::= 'a' := 1 / 0\n", palaver.SpecCrash),
}


def _use(text: str) -> None:
    spec = palaver.loads(text)
    list(spec.fuzz(1))
    spec.parse("b")


@pytest.mark.parametrize("text, kind", FAILING.values(), ids=FAILING)
def test_errors_can_be_copied_and_sent_to_other_processes(text: str, kind: type[palaver.PalaverError]) -> None:
    with pytest.raises(kind) as raised:
        _use(text)
    for again in (copy.copy(raised.value), pickle.loads(pickle.dumps(raised.value))):
        assert type(again) is kind
        assert str(again) == str(raised.value)
        assert vars(again) == vars(raised.value)
