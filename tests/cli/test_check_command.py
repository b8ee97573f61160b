"""`palaver check`: exit codes, several files, and the summary."""

from __future__ import annotations

from typing import Any

FINE = '<start> ::= "a"\n'
UNUSED = '<start> ::= "a"\n<b> ::= "b"\n'


def test_a_spec_without_mistakes_is_only_summed_up(palaver: Any) -> None:
    palaver.write(fine_fan=FINE)
    checked = palaver("check", "fine.fan")
    assert checked.text == "fine.fan: 1 rule, 0 constraints, 0 parties, 0 messages, 0 lines of Python, text\n"
    assert (checked.code, checked.said) == (0, "")


def test_warnings_alone_are_no_failure_unless_strict(palaver: Any) -> None:
    palaver.write(unused_fan=UNUSED)
    assert palaver("check", "unused.fan").code == 0
    assert palaver("check", "--strict", "unused.fan").code == 1


def test_messages_that_the_Earley_parser_reads_are_told_with_the_reason(palaver: Any) -> None:
    rules = '<ask> ::= <sum>\n<sum> ::= <sum> "+" r"[0-9]" | r"[0-9]"\n<go> ::= "go"\n'
    palaver.write(sums_fan=f"<start> ::= <Client:ask> <Client:go>\n{rules}")
    [size, told] = palaver("check", "-v", "sums.fan").text.splitlines()
    assert size.startswith("sums.fan: 4 rules")
    assert told == "sums.fan: <ask> is read by the Earley parser, which is slower: left recursion in <sum>"
    palaver.write(fine_fan=FINE)
    [_, told] = palaver("check", "-v", "fine.fan").text.splitlines()
    assert told == "fine.fan: in 10 examples of each, nothing is read by the Earley parser"


def test_strict_does_not_hide_errors_behind_warnings(palaver: Any) -> None:
    palaver.write(wrong_fan=UNUSED + "<c> ::= <d>\n")
    assert palaver("check", "--strict", "wrong.fan").code == 2


def test_each_file_is_a_spec_of_its_own(palaver: Any) -> None:
    palaver.write(fine_fan=FINE, wrong_fan="<start> ::= <x>\n", unused_fan=UNUSED)
    checked = palaver("check", "fine.fan", "wrong.fan", "unused.fan")
    assert checked.code == 2
    for name in ("fine.fan: 1 rule", "wrong.fan:1:13: error", "unused.fan:2:1: warning", "unused.fan: 2 rules"):
        assert name in checked.text


def test_files_can_be_checked_together(palaver: Any) -> None:
    palaver.write(one_fan="<start> ::= <x>\n", two_fan='<x> ::= "x"\n')
    assert palaver("check", "one.fan", "two.fan").code == 2
    checked = palaver("check", "--together", "one.fan", "two.fan")
    assert (checked.code, checked.text.partition(": ")[2][:7]) == (0, "2 rules")


def test_what_is_left_over_of_an_included_file_is_no_mistake(palaver: Any) -> None:
    palaver.write(base_fan='<start> ::= <b>\n<b> ::= <c>\n<c> ::= "c"\n', over_fan="include('base.fan')\n<b> ::= 'b'\n")
    checked = palaver("check", "--strict", "over.fan")
    assert (checked.code, checked.text.count("\n")) == (0, 1)


def test_nor_is_what_it_demanded_of_what_is_left_over(palaver: Any) -> None:
    base = '<start> ::= <b>\n<b> ::= <c>\n<c> ::= r"[a-c]"\n'
    palaver.write(base_fan=base + "where <c> == 'c'\n", over_fan="include('base.fan')\n<b> ::= 'b'\n")
    assert palaver("check", "--strict", "over.fan").code == 0
    palaver.write(over_fan="include('base.fan')\n<b> ::= 'b'\nwhere <c> == 'b'\n")
    assert palaver("check", "--strict", "over.fan").code == 1


def test_a_missing_file_does_not_hide_the_others(palaver: Any) -> None:
    palaver.write(fine_fan=FINE)
    checked = palaver("check", "fien.fan", "fine.fan")
    assert checked.text == (
        "fien.fan:1:1: error: there is no file fien.fan\n"
        "  hint: did you mean fine.fan?\n"
        "1 error, 0 warnings\n"
        "fine.fan: 1 rule, 0 constraints, 0 parties, 0 messages, 0 lines of Python, text\n"
    )
    assert checked.code == 2


def test_a_constraint_and_a_start_symbol_can_be_checked_too(palaver: Any) -> None:
    palaver.write(unused_fan=UNUSED)
    assert "<constraint>:1:1: error: no rule defines <z>" in palaver("check", "unused.fan", "-c", "<z> == 1").text
    assert palaver("check", "unused.fan", "-S", "b", "--strict").code == 0
    wrong = palaver("check", "unused.fan", "-S", "<z>")
    assert wrong.text.startswith("unused.fan:1:1: error: no rule defines the start symbol <z>\n")
    assert wrong.text.endswith("1 error, 0 warnings\n")


def test_the_spec_says_what_the_library_does_not(palaver: Any) -> None:
    palaver.write(digits_fan="<start> ::= <digit>{3}\n")
    assert palaver("check", "digits.fan").code == 0
    assert "no rule defines <digit>" in palaver("check", "--no-stdlib", "digits.fan").text


def test_checking_opens_no_socket(palaver: Any) -> None:
    spec = (
        "class Client(NetworkParty):\n"
        "    def __init__(self):\n"
        '        super().__init__("tcp://localhost:1", connection_mode=ConnectionMode.OPEN)\n'
        "        self.start()\n"
        '<start> ::= <Client:ask>\n<ask> ::= "?"\n'
    )
    palaver.write(party_fan=spec)
    assert palaver("check", "--strict", "party.fan").code == 0
    assert palaver("fuzz", "-f", "party.fan", "-n", "1").text == "?\n"


def test_constraints_that_exclude_each_other_are_named(palaver: Any) -> None:
    spec = "<start> ::= <n> <k>\n<n> ::= r'[0-9]{2}'\n<k> ::= 'A' | 'B'\n"
    palaver.write(spec_fan=f"{spec}where int(<n>) > 50\nwhere <k> == 'A'\nwhere int(<n>) < 40\n")
    checked = palaver("check", "spec.fan")
    assert checked.code == 0
    assert checked.text.startswith(
        "spec.fan:6:7: warning: together with int(<n>) > 50 in line 4, this cannot be satisfied: "
        "no <n> satisfies all of them\n"
    )
    assert palaver("check", "--strict", "spec.fan").code == 1


def test_a_constraint_that_is_always_false_is_named(palaver: Any) -> None:
    palaver.write(spec_fan="<start> ::= 'a'\nwhere 1 == 2\n")
    assert "this cannot be satisfied: it is false for every input" in palaver("check", "spec.fan").text


def test_paths_are_counted_on_demand(palaver: Any) -> None:
    palaver.write(spec_fan="<start> ::= <a>\n<a> ::= 'x' | 'y'\n")
    assert palaver("check", "--k", "2", "spec.fan").text.endswith(", 7 2-paths\n")
    assert "paths" not in palaver("check", "spec.fan").text
