"""`palaver fuzz`: every option does what its help says."""

from __future__ import annotations

import os
import zipfile
from contextlib import suppress
from pathlib import Path
from select import select
from time import process_time
from typing import Any

import pytest

import palaver as library
from palaver.compiled.bundled import bundled

LETTERS = '<start> ::= <n>{1,3}\n<n> ::= "a" | "b" | "c"\n'
BITS = '<start> ::= <f> <b>\n<f> ::= <bit>{8}\n<bit> ::= 0 | 1\n<b> ::= b"\\x01\\xff"\n'
TALK = '<start> ::= <Server:hello> <Client:cmd>\n<hello> ::= "READY;"\n<cmd> ::= "GET " r"[0-9]{2}"\n'


@pytest.fixture
def fuzz(palaver: Any) -> Any:
    """Fuzzes the letters, with a seed."""
    palaver.write(letters_fan=LETTERS, bits_fan=BITS, talk_fan=TALK)
    return lambda *arguments, spec="letters.fan": palaver("fuzz", "-f", spec, "--seed", "1", *arguments)


def test_so_many_are_made_all_different(fuzz: Any) -> None:
    made = fuzz("-n", "30")
    assert made.code == 0
    assert len(set(made.text.splitlines())) == len(made.text.splitlines()) == 30


def test_ten_are_made_unless_told_otherwise_and_none_if_told(fuzz: Any) -> None:
    assert len(fuzz().text.splitlines()) == 10
    assert fuzz("-n", "0").text == ""


def test_too_few_solutions_are_a_finding_and_nothing_is_lost(fuzz: Any) -> None:
    made = fuzz("-n", "100")
    assert made.code == 1
    assert len(made.text.splitlines()) == 39
    assert made.said == (
        "palaver: limit reached once: 1000 inputs in a row that were found before; the grammar counts as exhausted\n"
        "palaver: found only 39 of 100 inputs: the grammar seems to have no more\n"
    )


def test_an_endless_run_ends_when_there_are_no_others(fuzz: Any) -> None:
    made = fuzz("--infinite")
    assert (made.code, len(made.text.splitlines())) == (1, 39)
    assert made.said == (
        "palaver: limit reached once: 1000 inputs in a row that were found before; the grammar counts as exhausted\n"
        "palaver: found only 39 inputs: the grammar seems to have no more\n"
    )


@pytest.mark.parametrize("symbol", ["n", "<n>"])
def test_the_start_symbol_is_named_with_or_without_brackets(fuzz: Any, symbol: str) -> None:
    made = fuzz("-n", "3", "-S", symbol)
    assert (sorted(made.text.split()), made.said) == (["a", "b", "c"], "")


def test_constraints_are_added(fuzz: Any) -> None:
    made = fuzz("-n", "2", "-c", '<n> != "a"', "-c", "len(str(<start>)) == 1")
    assert sorted(made.text.split()) == ["b", "c"]


def test_a_constraint_nothing_satisfies_is_shown_with_what_it_saw(fuzz: Any) -> None:
    made = fuzz("-n", "1", "--budget", "60", "-c", '(<n> == "z") is True', "-S", "n")
    assert made.code == 1
    assert made.said.startswith("palaver: no input found within 60 steps (--budget); the closest attempt was '")
    assert 'error: (<n> == "z") is True does not hold (<n> = \'' in made.said


def test_a_constraint_that_is_proved_unsatisfiable_is_named(fuzz: Any) -> None:
    made = fuzz("-n", "1", "-c", '<n> == "z"', "-S", "n")
    assert made.code == 1
    assert made.said == (
        "palaver: no input found: it is proved that this constraint cannot be satisfied: no <n> satisfies it\n"
        '  <constraint>:1:1: <n> == "z"\n'
    )


def test_large_and_small_values_are_preferred(fuzz: Any) -> None:
    large = fuzz("-n", "3", "--max", "len(str(<start>))").text.split()
    small = fuzz("-n", "3", "--min", "len(str(<start>))").text.split()
    assert sum(map(len, large)) > sum(map(len, small))


def test_outputs_go_to_a_file_with_the_separator_between_them(fuzz: Any, palaver: Any) -> None:
    on_screen = fuzz("-n", "3").text.split()
    assert fuzz("-n", "3", "-o", "out", "-s", " & ").text == ""
    assert (palaver.folder / "out").read_text() == " & ".join(on_screen)


def test_the_separator_follows_each_output_on_the_screen(fuzz: Any) -> None:
    assert fuzz("-n", "2", "-s", "--").text.count("--") == 2


def test_outputs_go_to_a_folder_with_an_extension(fuzz: Any, palaver: Any) -> None:
    on_screen = fuzz("-n", "3").text.split()
    fuzz("-n", "3", "-d", "deep/out", "-x", ".let")
    files = sorted((palaver.folder / "deep" / "out").iterdir())
    assert [path.suffix for path in files] == [".let"] * 3
    assert [path.read_text() for path in files] == on_screen


FORMS = {
    "string": "a\n",
    "bits": "01100001\n",
    "tree": "Tree(<start>, Tree(<n>, Tree('a')))\n",
    "grammar": "<start> ::= <n>\n  <n> ::= 'a'  # Position 0x0000 (0)\n",
    "value": "a\n",
    "repr": "DerivationTree(<start>, [DerivationTree(<n>, [DerivationTree('a')])])\n",
    "none": "",
}


@pytest.mark.parametrize("form, shown", FORMS.items())
def test_each_format(fuzz: Any, form: str, shown: str) -> None:
    assert fuzz("-n", "1", "-c", 'str(<start>) == "a"', "--format", form).text == shown


def test_the_file_mode_follows_the_spec_unless_told(fuzz: Any) -> None:
    binary = fuzz("-n", "2", spec="bits.fan").out
    assert binary[1:4] == b"\x01\xff\n"
    text = fuzz("-n", "2", "--file-mode", "text", spec="bits.fan")
    assert text.text.encode("latin-1") == binary
    assert fuzz("-n", "2", "--file-mode", "binary").out == fuzz("-n", "2").out


def test_trees_stay_small_and_repetitions_short(palaver: Any) -> None:
    palaver.write(nest_fan='<start> ::= "(" <start>* ")"\n', many_fan='<start> ::= "x"+ "y"*\n')
    small = palaver("fuzz", "-f", "nest.fan", "-n", "5", "--seed", "2", "--max-nodes", "10")
    large = palaver("fuzz", "-f", "nest.fan", "-n", "5", "--seed", "2", "--max-nodes", "2000")
    assert len(small.out) < len(large.out)
    few = palaver("fuzz", "-f", "many.fan", "-n", "8", "--seed", "2", "--max-repetitions", "2")
    assert max(map(len, few.text.split())) <= 3 + 2


def test_only_what_a_party_sends_is_made(fuzz: Any) -> None:
    assert fuzz("-n", "1", "--party", "Client", spec="talk.fan").text.startswith("GET ")
    both = fuzz("-n", "1", "--party", "Client", "--party", "Server", spec="talk.fan")
    assert both.text.startswith("READY;GET ")


def test_a_party_that_nobody_knows_is_wrong_use(fuzz: Any) -> None:
    made = fuzz("--party", "Clint", spec="talk.fan")
    assert made.code == 2
    assert "the spec has no party Clint; its parties are: Server, Client; did you mean Client?" in made.said


def test_one_message_of_a_party_is_made(fuzz: Any) -> None:
    for party in ("Client", "Server"):
        made = fuzz("-n", "1", "-S", "<cmd>", "--party", party, spec="talk.fan")
        assert (made.code, made.text[:4]) == (0, "GET ")


def test_inputs_of_a_folder_come_first_as_far_as_they_conform(fuzz: Any, palaver: Any) -> None:
    (palaver.folder / "seeds" / "more").mkdir(parents=True)
    for name, content in {"1": "abc", "2": "zzz", "more/3": "cc"}.items():
        (palaver.folder / "seeds" / name).write_text(content)
    made = fuzz("-n", "4", "-i", "seeds")
    assert made.code == 1
    assert made.text.split()[:2] == ["abc", "cc"]
    assert "palaver: seeds/2 does not conform to the spec and is skipped: unexpected 'z' at offset 0" in made.said


def test_inputs_of_an_archive_come_first(fuzz: Any, palaver: Any) -> None:
    with zipfile.ZipFile(palaver.folder / "seeds.zip", "w") as archive:
        archive.writestr("in/b", b"\x07\x01\xff")
        archive.writestr("in/c", b"junk")
    assert fuzz("-n", "2", "-i", "seeds.zip", spec="bits.fan").out.startswith(b"\x07\x01\xff\n")


def test_outputs_are_validated(fuzz: Any) -> None:
    assert fuzz("-n", "5", "--validate").code == 0
    assert fuzz("-n", "5", "--validate", spec="bits.fan").code == 0


def test_an_output_that_does_not_parse_is_a_finding(palaver: Any) -> None:
    palaver.write(wrong_fan='<start> ::= "a" "b"\nsetting * terminal_should_repeat = 1.0\n')
    made = palaver("fuzz", "-f", "wrong.fan", "-n", "1", "--seed", "1", "--validate")
    assert made.code == 1
    assert "does not parse" in made.said


def test_a_program_gets_each_output_in_a_file(fuzz: Any) -> None:
    made = fuzz("-n", "2", "-x", ".let", "sh", "-c", 'echo "$0: $(cat "$0")"')
    lines = made.text.splitlines()
    assert [line.partition(": ")[2] for line in lines] == fuzz("-n", "2").text.split()
    assert all(line.partition(": ")[0].endswith(".let") for line in lines)


def test_a_program_gets_each_output_on_its_standard_input(fuzz: Any) -> None:
    made = fuzz("-n", "2", "--input-method", "stdin", "sed", "s/^/in: /;s/$/./")
    assert made.code == 0
    assert made.text.count("in: ") == 2


def test_a_program_may_close_its_standard_input(fuzz: Any) -> None:
    assert fuzz("-n", "3", "--input-method", "stdin", "true").code == 0


def test_options_behind_the_program_are_the_programs_own(fuzz: Any) -> None:
    assert fuzz("-n", "1", "echo", "-n", "--seed", "7").text.startswith("--seed 7 ")


def test_a_program_that_crashes_is_a_finding(fuzz: Any) -> None:
    made = fuzz("-n", "2", "sh", "-c", "kill -SEGV $$")
    assert made.code == 1
    assert "sh: run 1 was killed by SIGSEGV; input: b'" in made.said


def test_a_program_that_hangs_is_ended_with_what_it_has_started_and_told(fuzz: Any, tmp_path: Path) -> None:
    script = f'trap "" TERM; sleep 60 & echo $! > {tmp_path}/child; wait'
    made = fuzz("-n", "1", "--command-timeout", "0.7", "sh", "-c", script)
    assert made.code == 1
    assert "sh: run 1 did not end within 0.7 s (--command-timeout); input: b'" in made.said
    with suppress(ProcessLookupError):  # it is gone already
        ended = os.pidfd_open(int((tmp_path / "child").read_text()))
        assert select([ended], [], [], 20)[0]
        os.close(ended)


def test_a_program_that_does_not_read_its_standard_input_is_ended(palaver: Any) -> None:
    palaver.write(long_fan=f'<start> ::= "{"x" * 200_000}"\n')
    how = ("--input-method", "stdin", "--command-timeout", "0.3")
    made = palaver("fuzz", "-f", "long.fan", "-n", "1", *how, "sleep", "60")
    assert made.code == 1
    assert "sleep: run 1 did not end within 0.3 s (--command-timeout); input: b'" in made.said


def test_a_program_does_not_outlast_the_time_of_the_whole_run(fuzz: Any) -> None:
    made = fuzz("-n", "3", "--stop-after-seconds", "0.3", "sh", "-c", "sleep 60")
    assert made.code == 1
    assert made.said == "palaver: found only 1 of 3 inputs in time (--stop-after-seconds)\n"


def test_a_program_has_its_time_for_each_input(fuzz: Any) -> None:
    made = fuzz("-n", "3", "--command-timeout", "5", "sh", "-c", "sleep 0.05")
    assert (made.code, made.said) == (0, "")


def test_a_program_that_refuses_is_counted(fuzz: Any) -> None:
    made = fuzz("-n", "2", "false")
    assert (made.code, made.said) == (0, "palaver: false exited with an error in 2 of 2 runs\n")


def test_includes_are_looked_for_in_named_folders(palaver: Any) -> None:
    (palaver.folder / "lib").mkdir()
    (palaver.folder / "lib" / "x.fan").write_text('<x> ::= "x"\n')
    palaver.write(top_fan="include('x.fan')\n<start> ::= <x>\n")
    assert palaver("fuzz", "-f", "top.fan", "-n", "1").code == 2
    assert palaver("fuzz", "-f", "top.fan", "-n", "1", "-I", "lib").text == "x\n"


def test_several_specs_are_read_one_after_the_other(palaver: Any) -> None:
    palaver.write(one_fan='<start> ::= <x>\n<x> ::= "1"\n', two_fan='<x> ::= "2"\n')
    assert palaver("fuzz", "-f", "one.fan", "-f", "two.fan", "-n", "1").text == "2\n"


def test_the_library_can_be_left_out(palaver: Any) -> None:
    palaver.write(digit_fan="<start> ::= <digit>\n")
    assert palaver("fuzz", "-f", "digit.fan", "-n", "1").code == 0
    assert palaver("fuzz", "-f", "digit.fan", "-n", "1", "--no-stdlib").code == 2


def test_warnings_are_counted_or_are_errors(palaver: Any) -> None:
    palaver.write(unused_fan='<start> ::= "a"\n<b> ::= "b"\n')
    made = palaver("fuzz", "-f", "unused.fan", "-n", "1")
    assert (made.code, made.text, made.said) == (0, "a\n", "palaver: 1 warning; see palaver check unused.fan\n")
    refused = palaver("fuzz", "-f", "unused.fan", "-n", "1", "--warnings-are-errors")
    assert (refused.code, refused.text) == (2, "")
    assert "<b> is never used" in refused.said


def test_time_that_is_up_ends_an_endless_run(palaver: Any) -> None:
    palaver.write(words_fan='<start> ::= r"[a-z]{20}"\n')
    made = palaver("fuzz", "-f", "words.fan", "--infinite", "--stop-after-seconds", "0.1", "-o", "out")
    assert (made.code, made.said) == (0, "")
    assert all(len(word) == 20 for word in (palaver.folder / "out").read_text().split("\n"))


def test_time_that_is_up_ends_even_code_that_never_does(palaver: Any) -> None:
    palaver.write(
        forever_fan="def forever():\n    while True:\n        try:\n            pass\n        except Exception:\n"
        "            pass\n<start> ::= <x>\n<x> ::= 'x' := forever()\n"
    )
    made = palaver("fuzz", "-f", "forever.fan", "-n", "1", "--stop-after-seconds", "0.1")
    assert (made.code, made.said) == (1, "palaver: found only 0 of 1 input in time (--stop-after-seconds)\n")


WRONG_USE = {
    "no spec": ["fuzz"],
    "no such command": ["fuss"],
    "no such option": ["fuzz", "-f", "letters.fan", "--sede", "1"],
    "a negative number": ["fuzz", "-f", "letters.fan", "-n", "-1"],
    "no number": ["fuzz", "-f", "letters.fan", "-n", "many"],
    "an unknown format": ["fuzz", "-f", "letters.fan", "--format", "xml"],
    "a file and a folder": ["fuzz", "-f", "letters.fan", "-o", "x", "-d", "y"],
    "a file in no folder": ["fuzz", "-f", "letters.fan", "-o", "no/such/folder"],
    "a folder that is a file": ["fuzz", "-f", "letters.fan", "-d", "letters.fan"],
    "a folder that is not empty": ["fuzz", "-f", "letters.fan", "-d", "."],
    "no such program": ["fuzz", "-f", "letters.fan", "no-such-program"],
    "no such inputs": ["fuzz", "-f", "letters.fan", "-i", "nowhere"],
    "no such start symbol": ["fuzz", "-f", "letters.fan", "-S", "m"],
    "a wrong constraint": ["fuzz", "-f", "letters.fan", "-c", "<n> =="],
    "a wrong goal": ["fuzz", "-f", "letters.fan", "--max", "len(<n>"],
    "a spec that is a folder": ["fuzz", "-f", "."],
    "no such input": ["parse", "-f", "letters.fan", "no-such-file"],
    "an input that is a folder": ["parse", "-f", "letters.fan", "."],
    "a file of results in no folder": ["parse", "-f", "letters.fan", "-o", "no/such/folder", "letters.fan"],
}


@pytest.mark.parametrize("arguments", WRONG_USE.values(), ids=WRONG_USE)
def test_wrong_use_is_explained(palaver: Any, arguments: list[str]) -> None:
    palaver.write(letters_fan=LETTERS)
    used = palaver(*arguments)
    assert (used.code, used.text) == (2, "")
    assert used.said


def test_help_and_version_are_there(palaver: Any) -> None:
    for command in ([], ["check"], ["fuzz"], ["parse"], ["convert"]):
        assert "Usage: palaver" in palaver(*command, "--help").text
    assert palaver("--version").text.startswith("palaver ")


@pytest.mark.parametrize("seconds", ["nan", "inf", "1e300"])
def test_no_time_that_is_no_number_of_seconds(fuzz: Any, seconds: str) -> None:
    assert fuzz("--stop-after-seconds", seconds).code == 2


def test_a_separator_may_be_any_bytes(fuzz: Any) -> None:
    assert fuzz("-n", "2", "-s", "\udcff").out.count(b"\xff") == 2


@pytest.mark.parametrize("at, byte", [(4, 0x99), (6, 1), (8, 99)], ids=["broken", "encrypted", "packed oddly"])
def test_a_zip_that_cannot_be_read_is_named(palaver: Any, fuzz: Any, at: int, byte: int) -> None:
    with zipfile.ZipFile(palaver.folder / "seeds.zip", "w") as archive:
        archive.writestr("one", "abc")
    data = bytearray((palaver.folder / "seeds.zip").read_bytes())
    central = data.index(b"PK\x01\x02")
    data[at] = data[central + at + 2] = byte
    (palaver.folder / "seeds.zip").write_bytes(data)
    made = fuzz("-i", "seeds.zip")
    assert (made.code, "cannot read seeds.zip" in made.said) == (2, True)


def test_a_text_that_is_no_utf_8_cannot_be_written(palaver: Any) -> None:
    palaver.write(spec_fan='<start> ::= "\\ud800"\n')
    made = palaver("fuzz", "-f", "spec.fan", "-n", "1")
    assert (made.code, made.out) == (1, b"")
    assert made.said == "palaver: '\\ud800' cannot be encoded as UTF-8: surrogates not allowed\n"


def test_how_constraints_are_solved_is_shown_on_demand(palaver: Any) -> None:
    palaver.write(
        spec_fan="<start> ::= <len> ':' <text>\n<len> ::= r'[0-9]{1,2}'\n<text> ::= r'[a-z]{1,30}'\n"
        "where int(<len>) == len(str(<text>))\nwhere int(<len>) < 20\n"
    )
    made = palaver("fuzz", "-f", "spec.fan", "-n", "3", "--seed", "1", "-v")
    assert made.said.splitlines() == [
        "palaver: spec.fan:4:7: int(<len>) == len(str(<text>)): solved as an equation",
        "palaver: spec.fan:5:7: int(<len>) < 20: solved by drawing only values that satisfy it",
        "palaver: 3 inputs made by construction, 0 by search",
    ]
    assert palaver("fuzz", "-f", "spec.fan", "-n", "3", "--seed", "1").said == ""


def test_outputs_that_can_be_read_in_very_many_ways_are_validated(palaver: Any) -> None:
    palaver.write(
        spec_fan="<start> ::= <tlv>\n<tlv> ::= <tag> <len> <val>\n<tag> ::= rb'[\\x01-\\x04]'\n<len> ::= <octet>\n"
        "<val> ::= <octet>{0,4} | <tlv>{1,2}\n<octet> ::= rb'(?s:.)'\n"
        "where forall <t> in <tlv>: <t>.<len> == bytes([len(bytes(<t>.<val>))])\n"
    )
    assert palaver("fuzz", "-f", "spec.fan", "-n", "5", "--seed", "1", "--validate", "-o", "out").code == 0


# Of the processor, for all that is made of one spec: many times what it takes.
SECONDS = 20
# What others include, and has no messages.
WITH_MESSAGES = [name for name in bundled() if name != "binary"]


@pytest.mark.parametrize("name", WITH_MESSAGES)
def test_every_bundled_spec_gives_sessions_and_messages_of_each_party_at_once(palaver: Any, name: str) -> None:
    sending = {message.sender for message in library.load(name).analysis.messages if message.sender}
    began = process_time()
    for only in [(), *(("--party", party) for party in sorted(sending))]:
        made = palaver("fuzz", "-f", name, "-n", "1", "--seed", "1", *only)
        assert (made.code, bool(made.out)) == (0, True), made.said
    assert process_time() - began < SECONDS
