"""Known findings are counted and not reported, and what is behind them does not keep the rest from being explored."""

from __future__ import annotations

import re
import shlex
import sys
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import palaver as package
from palaver import known_findings
from palaver.campaign.run import Campaign
from palaver.known_findings import KnownFindingsError
from palaver.session.findings import Fingerprint, Verdict

CRASH = Fingerprint("crash", "", "<x>", "<x>", "", ("<ok>",), "was killed by SIGSEGV", "")

TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)
FINGERPRINTS = st.builds(
    Fingerprint, *[st.lists(TEXTS).map(tuple) if field.name == "expected" else TEXTS for field in fields(Fingerprint)]
).map(lambda fingerprint: replace(fingerprint, kind=fingerprint.kind or "crash"))


# --- the file ---------------------------------------------------------------------------------------------------------


@given(FINGERPRINTS, TEXTS)
def test_what_is_added_is_known(
    tmp_path_factory: pytest.TempPathFactory, fingerprint: Fingerprint, reason: str
) -> None:
    file = tmp_path_factory.mktemp("known") / "known.toml"
    known_findings.add(file, fingerprint, f"r{reason}", about=f"{reason}\n{fingerprint.cause}")
    known_findings.add(file, replace(fingerprint, kind=f"{fingerprint.kind}, later"), "another")
    known = known_findings.read(file)
    assert known.reason_for(fingerprint) == f"r{reason}"
    assert known.reason_for(replace(fingerprint, kind="another kind")) == ""


def test_entries_are_appended_and_nothing_else_is_changed(tmp_path: Path) -> None:
    file = tmp_path / "known.toml"
    written = "# by hand\n\n[[known]]  # twice\nkind   = 'hang'\nreason = '''slow'''"
    file.write_text(written)
    assert known_findings.add(file, CRASH, 'ticket "7"', "finding 1") == ""
    assert file.read_text().startswith(written + "\n")
    assert [entry.reason for entry in known_findings.read(file).entries] == ["slow", 'ticket "7"']
    text = file.read_text()
    assert known_findings.add(file, CRASH, "again") == 'ticket "7"'
    assert file.read_text() == text


def test_an_entry_with_fewer_fields_means_more_findings(tmp_path: Path) -> None:
    file = tmp_path / "known.toml"
    file.write_text('[[known]]\nreason = "all of them"\nkind = "crash"\nrequest = "<x>"\n')
    known = known_findings.read(file)
    assert known.reason_for(CRASH) == known.reason_for(replace(CRASH, cause="exited with code 1")) == "all of them"
    assert known.reason_for(replace(CRASH, request="<y>")) == ""


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[[known", "is not TOML: Expected ']]'"),
        ("[known]\n", "something else in it than"),
        ("x = 1\n", "something else in it than"),
        ('[[known]]\nkind = "crash"\n', "entry 1: there is no reason"),
        ('[[known]]\nreason = "r"\n', "entry 1: there is no kind"),
        ('[[known]]\nreason = "r"\nkind = "crash"\nsignal = "11"\n', "entry 1: signal is none of reason, kind, party"),
        ('[[known]]\nreason = "r"\nkind = 7\n', "entry 1: kind is a text"),
        ('[[known]]\nreason = "r"\nkind = "crash"\nexpected = "x"\n', "entry 1: expected is a list of texts"),
    ],
)
def test_a_file_that_says_something_else_is_refused(tmp_path: Path, text: str, complaint: str) -> None:
    file = tmp_path / "known.toml"
    file.write_text(text)
    with pytest.raises(KnownFindingsError, match=complaint):
        known_findings.read(file)
    with pytest.raises(package.SetupError, match=complaint):
        package.talk(package.loads(SPEC), client=1, known=file)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(KnownFindingsError, match="No such file"):
        known_findings.read(tmp_path / "known.toml")


# --- runs -------------------------------------------------------------------------------------------------------------

SPEC = r"""
<start>  ::= <Server:hello> <round>* <quit>
<round>  ::= <x> | <y> | <z> | <login>
<x>      ::= <Client:ex> <Server:okx>
<y>      ::= <Client:ey> (<Server:oky> | <Server:no>)
<z>      ::= <Client:ez> <Server:okz> <Client:more> <Server:done>
<login>  ::= <Client:user> <Server:pw> <Client:pass> <Server:welcome> <inner>* <Client:out> <Server:bye>
<inner>  ::= <x> | <list>
<list>   ::= <Client:ls> <Server:names>
<quit>   ::= <Client:q> <Server:bye>
<hello>  ::= "hi\n"
<ex>     ::= "X " <arg> "\n"
<okx>    ::= "okx " <arg> "\n"
<ey>     ::= "Y " <arg> "\n"
<oky>    ::= "oky\n"
<no>     ::= "no\n"
<ez>     ::= "Z\n"
<okz>    ::= "okz\n"
<more>   ::= "more " <arg> "\n"
<done>   ::= "done\n"
<user>   ::= "user " <arg> "\n"
<pw>     ::= "pw?\n"
<pass>   ::= "pass " <arg> "\n"
<welcome> ::= "welcome\n"
<out>    ::= "out\n"
<bye>    ::= "bye\n"
<ls>     ::= "ls " ("-a" | "-l" | "-r") "\n"
<names>  ::= <name>{0,3} ".\n"
<name>   ::= r"[a-z]+" "\n"
<q>      ::= "quit\n"
<arg>    ::= <word> | <num>
<word>   ::= r"[a-z]{1,4}"
<num>    ::= r"[0-9]{1,4}"
"""

# Crashes when a session starts with X, or at each X, or at none; and is rude about numbers if it is told to be.
SERVER = r"""
import os, signal, socket, sys
when = sys.argv[2]
answers = {b"Z": b"okz", b"more": b"done", b"user": b"pw?", b"pass": b"welcome", b"out": b"bye", b"quit": b"bye"}
with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as server:
    while True:
        connection, _ = server.accept()
        try:
            connection.sendall(b"hi\n")
            for number, line in enumerate(connection.makefile("rb")):
                verb, *words = line.split()
                if verb == b"X" and (when == "always" or (when == "first" and number == 0)):
                    os.kill(os.getpid(), signal.SIGSEGV)
                answer = answers.get(verb, b"")
                if verb == b"X":
                    answer = b"okx " + words[0]
                elif verb == b"Y":
                    answer = b"oky" if words[0].isalpha() else b"what?" if "rude" in sys.argv else b"no"
                elif verb == b"ls":
                    answer = b"." if words[0] == b"-a" else b"a\nb\n."
                connection.sendall(answer + b"\n")
                if verb == b"quit":
                    break
        except OSError:
            pass
        connection.close()
"""

KNOWN = '[[known]]\nreason = "ticket 7"\nkind = "crash"\nrequest = "<ex>"\n'


def talk(when: str, *words: str, **options: Any) -> Campaign:
    target = f"{shlex.join([sys.executable, '-SEc', SERVER])} {{port}} {when} {' '.join(words)}"
    return package.talk(package.loads(SPEC), target=target, **{"seed": 1, **options}).run()


@pytest.fixture
def known(tmp_path: Path) -> Path:
    file = tmp_path / "known.toml"
    file.write_text(KNOWN)
    return file


def test_known_findings_are_counted_and_fail_nothing(known: Path) -> None:
    campaign = talk("first", known=known, seed=2)
    assert (campaign.verdict, campaign.findings) == (Verdict.PASS, [])
    assert {finding.known for finding in campaign.known_findings} == {"ticket 7"}
    other = talk("first", "rude", known=known, seed=2)
    assert other.verdict is Verdict.FAIL
    assert {finding.kind.label for finding in other.findings} == {"unexpected response"}
    numbers = [finding.number for finding in (*other.findings, *other.known_findings)]
    assert sorted(numbers) == list(range(1, len(numbers) + 1))


@pytest.mark.parametrize("seed", [3, 5, 14, 20])
def test_with_a_known_crash_the_rest_is_explored_as_with_the_fixed_server(known: Path, seed: int) -> None:
    fixed, crashing = talk("never", seed=seed), talk("first", known=known, seed=seed)
    assert fixed.coverage.covered == fixed.coverage.total
    assert crashing.coverage.goals == fixed.coverage.goals
    assert crashing.progress.messages <= 1.3 * fixed.progress.messages
    assert len(crashing.known_findings) <= 4


def test_it_is_told_what_a_known_finding_left_unexplored(known: Path) -> None:
    campaign = talk("always", known=known)
    reasons = [str(reason) for reason in campaign.guidance.reasons()]
    assert reasons
    assert all("a known finding has always followed <ex> in that state" in reason for reason in reasons)
    uncovered = campaign.guidance.goal_progress.missing()
    assert all({"<x>", "<ex>", "<okx>", "'okx '"} & set(path) for path in uncovered)


# --- the command line -------------------------------------------------------------------------------------------------


def test_a_finding_of_a_run_is_made_known_and_the_next_run_is_quiet(palaver: Any) -> None:
    palaver.write(talk_fan=SPEC, server_py=SERVER)
    command = f"{shlex.join([sys.executable, str(palaver.folder / 'server.py')])} {{port}} first"
    arguments = ["talk", "talk.fan", "--target", command, "--seed", "2", "--run"]
    first = palaver(*arguments, "one")
    assert first.code == 1
    added = palaver("known", "add", "one", "1", "--reason", "ticket 7")
    assert (added.code, added.text.startswith("added to known.toml: finding 1 in session ")) == (0, True)
    again = palaver("known", "add", "one", "1", "--reason", "another ticket")
    assert (again.code, again.text.split(":")[0]) == (
        0,
        "known.toml has this finding already, for the reason 'ticket 7'",
    )
    assert palaver("known").text == "crash; <ex>; was killed by SIGSEGV: ticket 7\n"
    for words in (("known", "--known", "other.toml", "add"), ("known", "add", "--known", "another.toml")):
        assert palaver(*words, "one", "1", "--reason", "ticket 7").text.startswith(
            f"added to {words[words.index('--known') + 1]}:"
        )
    second = palaver(*arguments, "two", "--known", "known.toml")
    assert second.code == 0
    assert second.summary.endswith("no findings")
    assert re.search(r" known findings? not reported: ticket 7\n", second.text)
    assert "crash" not in second.text
    assert re.search(r"^  finding 1 in session \d+, crash: .* \(known: ticket 7\)$", palaver("show", "two").text, re.M)
    assert "\nknown: ticket 7\n" in palaver("show", "two", "1").text
    assert '"known": "ticket 7"' in palaver("show", "two", "1", "--format", "json").text
    assert "known" not in palaver("show", "one").text
    listed = palaver("runs", "--in", ".").text
    assert re.search(r"^two: .* findings? \(\d+ known\), ", listed, re.M)
    assert listed.count("known") == 1


def test_the_finding_to_look_at_and_to_make_small_is_not_one_that_is_known(palaver: Any) -> None:
    palaver.write(talk_fan=SPEC, server_py=SERVER, known_toml=KNOWN)
    command = f"{shlex.join([sys.executable, str(palaver.folder / 'server.py')])} {{port}} first rude"
    options = ["--seed", "2", "-n", "12", "--run", "kept", "--known", "known.toml", "--shrink"]
    told = palaver("talk", "talk.fan", "--target", command, *options)
    number = re.search(r"^finding (\d+) in session", told.text, re.M)
    assert number is not None
    assert number[1] != "1"
    assert f"run kept in kept; see palaver show kept {number[1]}\n" in told.said
    assert f"finding {number[1]} made small, " in told.text  # and nothing else
    assert told.text.count(" made small, ") == 1


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["known"], "cannot read the known findings in known.toml"),
        (["known", "add", "nowhere", "1", "--reason", "x"], "there is no run nowhere"),
        (["known", "add", "nowhere", "1"], "Missing option '--reason'"),
        (["known", "add", "nowhere", "1", "--reason", " "], "the reason is empty"),
    ],
)
def test_wrong_use_is_told(palaver: Any, arguments: list[str], complaint: str) -> None:
    asked = palaver(*arguments)
    assert (asked.code, complaint in asked.said) == (2, True), asked.said
