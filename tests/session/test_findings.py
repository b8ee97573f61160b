"""Each kind of finding shows the session up to the point, what came there, and what was expected.

They are all in a golden file, which is written anew as `golden` tells.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from driven_session import SERVER, DrivenSession, answered
from hypothesis import given
from hypothesis import strategies as st
from test_named_addresses import SPEC as PASSIVE
from test_named_addresses import refused

import golden
from amounts import examples
from palaver.party import ConnectionMode
from palaver.printable import printable
from palaver.session.findings import (
    Finding,
    FindingKind,
    Fingerprint,
    Severity,
    Verdict,
    exit_code_told,
    exit_text,
    show_all,
    show_data,
)
from palaver.session.fingerprint import data_again, normalised_data, normalised_text, repeatable
from palaver.session.interface import Closed, Failed, Opened
from palaver.session.message_text import show_place
from palaver.session.session_limits import MAX_FINGERPRINT_BYTES, MAX_FINGERPRINT_SOURCE
from palaver.session.setup import RoleAssignment

FINDINGS = Path(__file__).parent / "findings.txt"

TALK = """
<start> ::= <Client:ask> <Server:answer> <Client:thanks>
<ask> ::= "ASK\\n"
<answer> ::= "SAY " <word> "\\n"
<word> ::= r"[a-z]{1,8}"
<thanks> ::= "THANKS\\n"
where str(<word>) != "nonsense"
"""
PROGRAM = TALK.replace("Client:", "In:").replace("Server:", "Out:") + "set_program_command('echo')\n"


def asked(text: str = TALK, **timeouts: Any) -> DrivenSession:
    driven = DrivenSession(text, **timeouts).open()
    assert driven.talk() == b"ASK\n"
    return driven


def unparseable() -> DrivenSession:
    driven = asked()
    driven.hear(b"SAY 12\n")
    return driven


def unexpected() -> DrivenSession:
    driven = asked()
    driven.hear(b"SAY yes\nSAY no\n")
    return driven


def broken() -> DrivenSession:
    driven = asked()
    driven.hear(b"SAY nonsense\n")
    return driven


def silent() -> DrivenSession:
    driven = asked(timeout=2.0)
    driven.wait(2.0)
    return driven


def silent_in_a_message() -> DrivenSession:
    driven = asked(patience=2.0)
    driven.hear(b"SAY y")
    driven.wait(2.0)
    return driven


def closed() -> DrivenSession:
    driven = asked()
    driven.close()
    return driven


def closed_in_a_message() -> DrivenSession:
    driven = asked()
    driven.hear(b"SA")
    driven.close()
    return driven


def reset() -> DrivenSession:
    driven = asked()
    driven.close("reset")
    return driven


def endless() -> DrivenSession:
    driven = asked(TALK.replace("{1,8}", "+"), max_message_bytes=10)
    driven.hear(b"SAY yesyesyes")
    return driven


def crashed() -> DrivenSession:
    driven = DrivenSession(PROGRAM, SERVER, link="In").open()
    driven.talk()
    driven.do(Closed(driven.now, "In", exit_code=-11))
    return driven


def spec_crashed() -> DrivenSession:
    driven = asked(TALK + "where int(<word>) > 0\n")
    driven.hear(b"SAY yes\n")
    return driven


def late() -> DrivenSession:
    driven = asked(TALK + "MESSAGE_DEADLINES = {'answer': 0.5}\n")
    driven.hear(b"SAY yes\n", after=1.0)
    driven.talk()
    return driven


def failed(trouble: str, reason: str) -> Callable[[], DrivenSession]:
    def driven() -> DrivenSession:
        session = DrivenSession(TALK)
        session.do(Failed(0.0, "Client", trouble, reason))  # type: ignore[arg-type]
        return session

    driven.__name__ = trouble
    return driven


def reset_on_our_turn() -> DrivenSession:
    driven = asked()
    driven.hear(b"SAY yes\n")
    driven.close("reset")
    return driven


TWO_CONNECTIONS = """
<start> ::= <A:S:ask> <B:S:ask> <S:A:answer> <S:B:answer>
<ask> ::= "ASK\\n"
<answer> ::= "SAY\\n"
"""
BOTH = RoleAssignment(
    {
        "A": ("tcp://127.0.0.1:1", ConnectionMode.CONNECT),
        "B": ("tcp://127.0.0.1:2", ConnectionMode.CONNECT),
        "S": ("1", ConnectionMode.EXTERNAL),
    }
)


def two_connections() -> DrivenSession:
    driven = DrivenSession(TWO_CONNECTIONS, BOTH, "A").open()
    driven.do(Opened(driven.now, "B"))
    assert driven.talk() == b"ASK\n" * 2
    driven.hear(b"SAY\n")
    return driven


def closed_one_of_two() -> DrivenSession:
    driven = two_connections()
    driven.do(Closed(driven.now, "B"))
    return driven


def reset_one_of_two() -> DrivenSession:
    driven = two_connections()
    driven.do(Closed(driven.now, "B", "reset"))
    return driven


def left_by_a_client() -> DrivenSession:
    driven = DrivenSession(TALK, SERVER, "Server").open()
    driven.hear(b"ASK\n")
    driven.talk()
    driven.close()
    return driven


def broken_handshake() -> DrivenSession:
    driven = asked()
    driven.do(Failed(driven.now, "Client", "tls", "the peer hung up"))
    return driven


def without_words() -> DrivenSession:
    driven = asked(TALK + "where len(str(<thanks>)) == 3\n")
    driven.hear(b"SAY yes\n")
    driven.talk()
    return driven


def too_many() -> DrivenSession:
    driven = asked(TALK.replace("<Server:answer>", "<Server:answer>+"), max_messages=20)
    driven.hear(b"SAY a\n" * 30)
    return driven


def without_a_timer() -> DrivenSession:
    text = "<start> ::= <Client:ask> <TimerEvent:timer_expired>\n<ask> ::= 'ASK\\n'\n"
    driven = DrivenSession(text).open()
    driven.talk()
    return driven


def misdirected() -> DrivenSession:
    return refused(PASSIVE)


def ambiguous() -> DrivenSession:
    driven = asked(TALK.replace('"SAY " <word>', "<word>+") + "where len(str(<answer>)) != 17\n")
    driven.hear(b"abcdefghijklmnop\n")
    return driven


SCENES: list[Callable[[], DrivenSession]] = [
    unparseable,
    unexpected,
    broken,
    silent,
    silent_in_a_message,
    closed,
    closed_in_a_message,
    reset,
    reset_on_our_turn,
    closed_one_of_two,
    reset_one_of_two,
    left_by_a_client,
    endless,
    crashed,
    broken_handshake,
    without_words,
    spec_crashed,
    failed("refused", "tcp 127.0.0.1:2525: Connection refused"),
    failed("unreachable", "tcp 192.0.2.1:25: No route to host"),
    failed("in use", "tcp 127.0.0.1:2525: Address already in use"),
    too_many,
    without_a_timer,
    late,
    ambiguous,
    misdirected,
]


@pytest.mark.parametrize("make", SCENES, ids=lambda make: make.__name__)
def test_a_finding_can_be_read_by_itself(make: Callable[[], DrivenSession]) -> None:
    driven = make()
    (finding,) = driven.session.findings
    title = make.__name__.replace("_", " ")
    golden.check_case(FINDINGS, title, finding.show())
    given, _ = golden.cases(FINDINGS)[title]
    assert f"{finding.kind.name}, {driven.session.verdict.value}\n" == given
    assert driven.session.is_over


def test_each_kind_of_finding_is_shown_here() -> None:
    shown = {given.partition(",")[0] for given, _ in golden.cases(FINDINGS).values()}
    of_wrong_messages = {"ACCEPTED", "REFUSAL", "STATE_CHANGED"}  # these are in tests/beyond
    assert shown == {kind.name for kind in FindingKind} - of_wrong_messages
    assert len(golden.cases(FINDINGS)) == len(SCENES) + 6


@pytest.mark.parametrize(("title", "severity"), [("oracle", Severity.VIOLATION), ("note", Severity.NOTE)])
def test_a_finding_of_an_oracle_is_shown_alike(title: str, severity: Severity) -> None:
    (finding,) = silent().session.findings
    text = "Server took 1.500 s to send <answer>, more than 1 s"
    finding = Finding(FindingKind.ORACLE, 1.5, text, "Server", messages=finding.messages, severity=severity)
    golden.check_case(FINDINGS, title, replace(finding, number=2, session=7).show())


@pytest.mark.parametrize(
    ("title", "kind", "text"),
    [
        ("exit", FindingKind.EXIT, "the system under test exited with code 0, although nothing had asked it to"),
        ("report", FindingKind.REPORT, "the system under test reports UndefinedBehaviorSanitizer: signed overflow"),
        ("hang", FindingKind.HANG, "the system under test is not alive after the session: the probe was not answered"),
        ("memory", FindingKind.MEMORY, "the memory of the system under test grows: from 10.0 to 20.0 MiB"),
    ],
)
def test_a_finding_about_the_system_under_test_may_show_the_session_before(
    title: str, kind: FindingKind, text: str
) -> None:
    (finding,) = silent().session.findings
    messages = finding.messages
    finding = Finding(kind, 1.5, text, messages=messages, before=messages if title == "exit" else ())
    golden.check_case(FINDINGS, title, finding.show())


def test_without_a_finding_the_verdict_is_pass() -> None:
    driven = DrivenSession().open()
    while not driven.session.is_over:
        driven.hear(answered(driven.talk()))
    assert driven.session.verdict is Verdict.PASS


# --- how it is shown --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (b"HELO\r\n", r"'HELO\r\n'"),
        ("grüße".encode(), "'grüße'"),
        (b"", "''"),
        (b"\x00\xff", "00 ff"),
        (b"\x1b[31m", r"'\x1b[31m'"),
        (b"250 caf\xe9\n", r"'250 caf\xe9\n'"),
        (b"a" * 300, f"'{'a' * 200}' … (300 bytes)"),
        (b"put 0 60 4\r\n\x00\x81\xff\x00\x90\x91\x92", r"'put 0 60 4\r\n' 00 81 ff 00 90 91 92"),
        (b"\x01\n\x81\xff", "01 0a 81 ff"),
    ],
    ids=[
        "text",
        "more than ASCII",
        "nothing",
        "bytes",
        "what a terminal would obey",
        "a byte of another encoding",
        "much",
        "a line of text above a binary body",
        "a line feed in bytes",
    ],
)
def test_data_is_shown_as_text_with_escapes_or_in_hexadecimal(data: bytes, shown: str) -> None:
    assert show_data(data) == shown


def test_a_long_message_is_shown_around_the_place_where_it_is_wrong() -> None:
    driven = asked(TALK.replace("{1,8}", "+"))
    driven.hear(b"SAY " + b"a" * 1000 + b"7" + b"b" * 1000 + b"\n")
    shown, caret = driven.session.findings[0].show().splitlines()[2:4]
    assert shown.startswith("  Server: … 'aaa")
    assert shown.endswith("bbb' … (2006 bytes)  <- here")
    assert shown[caret.index("^")] == "7"
    assert caret.endswith("^ byte 1004 of <answer>")


@given(st.text(max_size=60), st.binary(max_size=2))
def test_the_caret_points_at_the_wrong_byte_whatever_came(text: str, wrong: bytes) -> None:
    before = text.encode("utf-8", "ignore")
    wrong = b"\xff" + wrong
    data = before + wrong + b"tail"
    first, *others = show_place(data, len(before), "here")
    assert all(line.isprintable() for line in (first, *others))
    if others[0].lstrip().startswith("^"):
        column = others[0].index("^")
        char = (wrong + b"tail").decode("utf-8", "surrogateescape")[0]
        assert first[column] in (char, "\\"), (first, column)


BINARY = """
<start> ::= <Client:ask> <Server:answer>
<ask> ::= b"\\x01\\x02"
<answer> ::= <id> <flags> <size> <body>
<id> ::= b"\\x12\\x34"
<flags> ::= <top> <rest>
<top> ::= 1
<rest> ::= <bit>{7}
<size> ::= <byte>
<body> ::= <byte>{3}
where bytes(<size>)[0] == 3
"""


def test_a_binary_message_is_shown_as_its_fields_beside_their_bytes() -> None:
    driven = DrivenSession(BINARY).open()
    driven.talk()
    driven.hear(b"\x12\x34\x81\xf0\x00\x01\xff")
    (finding,) = driven.session.findings
    assert finding.kind is FindingKind.CONSTRAINT
    rows = [" ".join(line.split()) for line in finding.show().splitlines()[2:]]
    assert rows[0] == "Server: <answer>, 7 bytes <- here"
    assert "0000 12 34 <id> = 4660" in rows
    assert "0002 81 <top> = 0b1" in rows
    assert "0002 81 <rest> = 0b0000001" in rows
    assert "0003 f0 <size> = 240 <- here" in rows
    assert "0004 00 01 ff <body> = 511" in rows


BODY = """
<start> ::= <Client:ask> <Server:answer>
<ask> ::= "get\\r\\n"
<answer> ::= "ok " <size> "\\r\\n" <body>
<size> ::= r"[0-9]+"
<body> ::= <byte>{3000}
where int(<size>) == len(bytes(<body>))
"""


def test_of_a_long_body_only_the_beginning_is_shown() -> None:
    driven = DrivenSession(BODY).open()
    driven.talk()
    driven.hear(b"ok 2999\r\n" + bytes(range(128, 158)) * 100)
    (finding,) = driven.session.findings
    assert finding.kind is FindingKind.CONSTRAINT
    assert len(finding.show().splitlines()) < 20
    assert "… 184 rows …" in finding.show()
    shown = show_all(finding.got)
    assert shown.startswith(r"'ok 2999\r\n' 80 81 82")
    assert shown.endswith(" … (3009 bytes)")
    assert show_all(b"\x80" * 3000) == " ".join(["80"] * 3000)


def test_binary_data_that_is_no_message_is_shown_in_rows_with_a_caret() -> None:
    driven = DrivenSession(BINARY).open()
    driven.talk()
    driven.hear(b"\x12\x00\x81\xf0")
    lines = driven.session.findings[0].show().splitlines()
    row = next(line for line in lines if "12 00 81 f0" in line)
    caret = lines[lines.index(row) + 1]
    assert row[caret.index("^") :].startswith("00 81")
    assert caret.endswith("^ byte 1 of <answer>")


def test_what_a_program_or_a_spec_says_cannot_move_the_cursor() -> None:
    evil = "\x1b]52;c;ZXZpbA==\x07\r\u202e\x9b2J"
    finding = Finding(FindingKind.SPEC_CRASH, 0.0, f"raised {evil}\n  | {evil}", "Server", got=evil.encode())
    assert all(line.isprintable() for line in (finding.headline, *finding.show().split("\n")))
    assert "\\x1b]52;c;" in finding.show()


@given(st.text())
def test_escaping_for_a_terminal_leaves_nothing_that_it_obeys_and_is_done_once(text: str) -> None:
    once = printable(text)
    assert all(char.isprintable() or char in "\n\t" for char in once)
    assert printable(once) == once
    assert once == text or not all(char.isprintable() or char in "\n\t" for char in text)


def test_the_middle_of_a_long_session_is_left_out() -> None:
    driven = DrivenSession(TALK.replace("<Client:ask>", "<Client:ask>{50}")).open()
    driven.talk()
    driven.hear(b"?")
    (finding,) = driven.session.findings
    lines = finding.show().splitlines()
    assert lines[21] == "  … 10 messages …"
    assert len(lines) == 1 + 20 + 1 + 20 + 3
    assert len(finding.messages) == 50


def test_findings_are_the_same_whatever_the_values_in_them_are() -> None:
    def fingerprint(seed: int, data: bytes) -> Fingerprint:
        driven = DrivenSession(seed=seed)
        driven.do(Opened(0.0, "Client"))
        driven.talk()
        driven.hear(data)
        finding: Finding = driven.session.findings[0]
        return finding.fingerprint

    assert fingerprint(1, b"SAY other\n") == fingerprint(2, b"SAY another\n")
    assert fingerprint(1, b"SAY other\n") != fingerprint(1, b"SAX")


def test_findings_differ_if_they_violate_different_constraints() -> None:
    text = """
<start> ::= <Client:ask> <Server:answer>
<ask> ::= "ASK\\n"
<answer> ::= <word> " " <number> "\\n"
<word> ::= r"[a-z]+"
<number> ::= r"[0-9]+"
where <word> != "bad"
where int(<number>) < 10
"""

    def fingerprint(data: bytes) -> Fingerprint:
        driven = DrivenSession(text).open()
        driven.talk()
        driven.hear(data)
        (finding,) = driven.session.findings
        assert finding.kind is FindingKind.CONSTRAINT
        return finding.fingerprint

    assert fingerprint(b"bad 1\n") == fingerprint(b"bad 2\n")
    assert fingerprint(b"bad 1\n") != fingerprint(b"good 11\n")


def test_an_error_in_the_spec_is_one_problem_whatever_was_said_before() -> None:
    text = """
def check(answers, most):
    if len(answers) > most:
        return undefined
    return absent
<start> ::= <exchange>{COUNT}
<exchange> ::= <Client:ask> <Server:answer>
<ask> ::= "ASK\\n"
<answer> ::= "SAY " r"[a-z]+" "\\n"
where check(*<answer>, MOST)
"""

    def finding(count: int, most: int) -> Finding:
        driven = DrivenSession(text.replace("COUNT", str(count)).replace("MOST", str(most))).open()
        for _ in range(count):
            driven.talk()
            driven.hear(b"SAY yes\n")
        found: Finding = driven.session.findings[0]
        assert found.kind is FindingKind.SPEC_CRASH, found.show()
        return found

    assert normalised_text(finding(2, 0).message) != normalised_text(finding(4, 0).message)
    assert finding(2, 0).fingerprint == finding(4, 0).fingerprint
    assert finding(2, 0).fingerprint != finding(2, 9).fingerprint  # another line


def test_a_field_of_text_in_a_binary_message_is_shown_as_text() -> None:
    text = '<start> ::= <Client:ask> <Server:answer>\n<ask> ::= "ASK\\n"\n<answer> ::= <id> <name> <body>\n'
    text += '<id> ::= <byte>{2}\n<name> ::= b"name:" <letters>\n<letters> ::= rb"[a-z]{4}"\n<body> ::= <byte>{12}\n'
    driven = DrivenSession(text + "where bytes(<id>)[0] == 3\n").open()
    driven.talk()
    driven.hear(b"\xff\xfename:host" + b"\xff\x00" * 6)
    rows = [" ".join(line.split()) for line in driven.session.findings[0].show().splitlines()]
    assert "0000 ff fe <id> = 65534 <- here" in rows
    assert "0007 68 6f 73 74 <letters> = 'host'" in rows
    assert any(row.endswith("<body>") for row in rows)  # too long for a number


def test_many_long_patterns_that_were_expected_are_told_in_lines_that_can_be_read() -> None:
    patterns = [f"({code}-[a-z]{{1,30}}\\n)*{code}( [a-z]{{1,30}}){{0,7}}\\n" for code in range(100, 112)]
    answer = " | ".join(f'r"{each}" "{number}"' for number, each in enumerate(patterns))
    driven = DrivenSession(
        f'<start> ::= <Client:ask> <Server:answer>\n<ask> ::= "GET\\n"\n<answer> ::= {answer}\n'
    ).open()
    driven.talk()
    driven.hear(b"ERROR\n")
    finding = driven.session.findings[0]
    lines = finding.show().splitlines()
    assert max(map(len, lines)) <= 180
    for each in patterns:
        assert [line.count(f"r'{each}'") for line in lines if each in line and line.startswith(" ")] == [1]
    assert f"expected r'{patterns[0]}' or 11 more, got " in finding.headline


def test_names_that_were_expected_share_a_line() -> None:
    answers = " | ".join(f"<Server:answer_{number}>" for number in range(20))
    rules = "".join(f'<answer_{number}> ::= "{number}\\n"\n' for number in range(20))
    driven = DrivenSession(
        f'<start> ::= <Client:ask> <Server:greeting> ({answers})\n<ask> ::= "GET\\n"\n<greeting> ::= "HI\\n"\n{rules}'
    ).open()
    driven.talk()
    driven.hear(b"HI\n")
    driven.close()
    shown = driven.session.findings[0].show().splitlines()
    assert max(map(len, shown)) <= 120
    assert all(f"<answer_{number}>" in "".join(shown) for number in range(20))


def test_findings_after_requests_of_different_names_are_different() -> None:
    text = '<start> ::= <Client:ask> <Server:answer>\n<ask> ::= <get> | <put>\n<get> ::= "GET\\n"\n<put> ::= "PUT\\n"\n'

    def fingerprint(request: bytes) -> Fingerprint:
        for seed in range(examples(20)):
            driven = DrivenSession(text + '<answer> ::= "OK\\n"\n', seed=seed).open()
            if driven.talk() == request:
                break
        driven.hear(b"ERROR\n")
        return driven.session.findings[0].fingerprint

    assert fingerprint(b"GET\n") == fingerprint(b"GET\n")
    assert fingerprint(b"GET\n") != fingerprint(b"PUT\n")


@pytest.mark.parametrize("data", [b"a", b"'\\'", b"0", b"a0 ", b"\\'"])
def test_a_line_without_end_has_a_fingerprint_at_once(data: bytes) -> None:
    line = data * 1_000_000
    assert len(normalised_data(line, line)) <= MAX_FINGERPRINT_BYTES
    assert len(normalised_text(line.decode())) <= MAX_FINGERPRINT_SOURCE


def test_what_is_repeated_of_our_request_is_no_difference_also_inside_of_a_word() -> None:
    repeated = [normalised_data(f"R{word}".encode(), f"Q{word}".encode()) for word in ("8432t", "1203dd", "5550abcde")]
    assert repeated == ["R..."] * 3
    assert normalised_data(b"XBUSY", b"Q8432t") != normalised_data(b"XGONE", b"Q8432t")


def test_of_binary_data_only_the_byte_that_is_wrong_makes_a_difference() -> None:
    first, second, other = (
        bytes.fromhex(data) for data in ("1b0204ec83aa82a6", "1b0300ec83b1c002", "1c0204ec83aa82a6")
    )
    for of in (normalised_data, data_again):
        assert of(first, b"") == of(second, b"") != of(other, b"")


def test_a_random_identifier_is_no_difference_when_a_finding_comes_again() -> None:
    assert data_again(b"WRONG 3fa9b2c1d4 at 12:30\n", b"") == data_again(b"WRONG 9e01c2aa77 at 12:31\n", b"")
    assert data_again(b"WRONG 3fa9b2c1d4\n", b"") != data_again(b"GONE 3fa9b2c1d4\n", b"")


@pytest.mark.parametrize("answer", ["GOT {}", "GOT {}!", "{} GOT"])
def test_what_is_repeated_of_an_earlier_message_is_no_difference_in_whatever_case(answer: str) -> None:
    values = ("some words", "another", "a thing, with signs ", "four words of ours")
    said = [(value, repeatable([b"SET x " + value.encode(), b"HELP", b"GET x"])) for value in values]
    for change in (str, str.upper, str.title):
        assert len({normalised_data(answer.format(change(value)).encode(), ours) for value, ours in said}) == 1


def test_the_name_of_an_earlier_message_is_no_repetition() -> None:
    assert normalised_data(b"MAIL first", repeatable([b"MAIL a", b"DATA"])) == "MAIL first"
    assert normalised_data(b"MAIL first", repeatable([b"DATA"])) == "MAIL first"
    assert normalised_data(b"MAIL first", repeatable([b"DATA", b"MAIL"])) == "...first"


@pytest.mark.parametrize("code", [0, 1, 255, -6, -11, -63])
def test_an_exit_code_can_be_read_where_it_was_told(code: int) -> None:
    assert exit_code_told(f"{exit_text(code)}; Python: KeyError: in main") == code
    assert exit_code_told(f"it {exit_text(code)}") is None
