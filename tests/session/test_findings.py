"""Each kind of finding shows the conversation up to the point, what came there, and what was expected."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from scenes import SERVER, Scene, answered

from palaver.session.events import Closed, Failed, Opened
from palaver.session.findings import Finding, Kind, Verdict, show_data

TALK = """
<start> ::= <Client:ask> <Server:answer> <Client:thanks>
<ask> ::= "ASK\\n"
<answer> ::= "SAY " <word> "\\n"
<word> ::= r"[a-z]{1,8}"
<thanks> ::= "THANKS\\n"
where str(<word>) != "nonsense"
"""
PROGRAM = TALK.replace("Client:", "In:").replace("Server:", "Out:") + "set_program_command('echo')\n"


def asked(text: str = TALK, **patience: float) -> Scene:
    scene = Scene(text, **patience).open()
    assert scene.talk() == b"ASK\n"
    return scene


def unparseable() -> Scene:
    scene = asked()
    scene.hear(b"SAY 12\n")
    return scene


def unexpected() -> Scene:
    scene = asked()
    scene.hear(b"SAY yes\nSAY no\n")
    return scene


def broken() -> Scene:
    scene = asked()
    scene.hear(b"SAY nonsense\n")
    return scene


def silent() -> Scene:
    scene = asked(timeout=2.0)
    scene.wait(2.0)
    return scene


def silent_in_a_message() -> Scene:
    scene = asked(patience=2.0)
    scene.hear(b"SAY y")
    scene.wait(2.0)
    return scene


def closed() -> Scene:
    scene = asked()
    scene.close()
    return scene


def closed_in_a_message() -> Scene:
    scene = asked()
    scene.hear(b"SA")
    scene.close()
    return scene


def reset() -> Scene:
    scene = asked()
    scene.close("reset")
    return scene


def endless() -> Scene:
    scene = asked(TALK.replace("{1,8}", "+"), largest_message=10)
    scene.hear(b"SAY yesyesyes")
    return scene


def crashed() -> Scene:
    scene = Scene(PROGRAM, SERVER, link="In").open()
    scene.talk()
    scene.do(Closed(scene.now, "In", exit_code=-11))
    return scene


def spec_crashed() -> Scene:
    scene = asked(TALK + "where int(<word>) > 0\n")
    scene.hear(b"SAY yes\n")
    return scene


def failed(trouble: str, reason: str) -> Callable[[], Scene]:
    def scene() -> Scene:
        scene = Scene(TALK)
        scene.do(Failed(0.0, "Client", trouble, reason))  # type: ignore[arg-type]
        return scene

    return scene


def broken_handshake() -> Scene:
    scene = asked()
    scene.do(Failed(scene.now, "Client", "tls", "the peer hung up"))
    return scene


def without_words() -> Scene:
    scene = asked(TALK + "where len(str(<thanks>)) == 3\n")
    scene.hear(b"SAY yes\n")
    scene.talk()
    return scene


SHOWN: dict[Callable[[], Scene], tuple[Kind, Verdict, str]] = {
    unparseable: (
        Kind.UNPARSEABLE,
        Verdict.FAIL,
        """\
unparseable: what Server said cannot go on at offset 4
  Client: 'ASK\\n'
  Server: 'SAY 12\\n'  <- here
  expected r'[a-z]{1,8}'""",
    ),
    unexpected: (
        Kind.UNEXPECTED,
        Verdict.FAIL,
        """\
unexpected message: Server spoke out of turn
  Client: 'ASK\\n'
  Server: 'SAY yes\\n'
  Server: 'SAY no\\n'  <- here
  expected <thanks>""",
    ),
    broken: (
        Kind.CONSTRAINT,
        Verdict.FAIL,
        """\
constraint broken: <answer>: str(<word>) != "nonsense" does not hold (<word> = 'nonsense'), as demanded at <string>:7:7
  Client: 'ASK\\n'
  Server: 'SAY nonsense\\n'  <- here""",
    ),
    silent: (
        Kind.SILENCE,
        Verdict.FAIL,
        """\
silence: Server said nothing for 2.0 s
  Client: 'ASK\\n'
  expected <answer>""",
    ),
    silent_in_a_message: (
        Kind.SILENCE,
        Verdict.FAIL,
        """\
silence: Server stopped in the middle of a message for 2.0 s
  Client: 'ASK\\n'
  Server: 'SAY y'  <- here
  expected '\\n' or r'[a-z]{1,8}'""",
    ),
    closed: (
        Kind.CLOSED,
        Verdict.FAIL,
        """\
closed early: the connection was closed before the conversation was over
  Client: 'ASK\\n'
  expected <answer>""",
    ),
    closed_in_a_message: (
        Kind.CLOSED,
        Verdict.FAIL,
        """\
closed early: Server closed the connection in the middle of a message
  Client: 'ASK\\n'
  Server: 'SA'  <- here
  expected 'SAY '""",
    ),
    reset: (
        Kind.RESET,
        Verdict.FAIL,
        """\
reset: the connection was reset
  Client: 'ASK\\n'
  expected <answer>""",
    ),
    endless: (
        Kind.LIMIT,
        Verdict.FAIL,
        """\
limit: Server has said more than 10 bytes without an end of the message
  Client: 'ASK\\n'
  Server: 'SAY yesyesyes'  <- here
  expected <answer>""",
    ),
    crashed: (
        Kind.CRASH,
        Verdict.FAIL,
        """\
crash: the program was ended by signal 11
  In: 'ASK\\n'
  expected <answer>""",
    ),
    broken_handshake: (
        Kind.TLS,
        Verdict.FAIL,
        """\
tls failure: the peer hung up
  Client: 'ASK\\n'""",
    ),
    without_words: (
        Kind.UNSOLVED,
        Verdict.INCONCLUSIVE,
        """\
nothing to say: no <thanks> was found that satisfies the constraints: no <thanks> satisfies its conditions
  Client: 'ASK\\n'
  Server: 'SAY yes\\n'""",
    ),
    spec_crashed: (
        Kind.SPEC_CRASH,
        Verdict.ERROR,
        """\
spec crash: <answer>: int(<word>) > 0 raised ConversionError: <word> is 'yes', which int() does not read as a number \
(<word> = 'yes'), at <string>:8:7: this is a failure of the spec, not of the input
  Client: 'ASK\\n'
  Server: 'SAY yes\\n'  <- here""",
    ),
    failed("refused", "nobody there"): (Kind.REFUSED, Verdict.INCONCLUSIVE, "refused: nobody there"),
    failed("unreachable", "no way"): (Kind.UNREACHABLE, Verdict.INCONCLUSIVE, "unreachable: no way"),
    failed("in use", "taken"): (Kind.IN_USE, Verdict.ERROR, "address in use: taken"),
}


@pytest.mark.parametrize("play", SHOWN, ids=lambda play: play.__name__)
def test_a_finding_can_be_read_by_itself(play: Callable[[], Scene]) -> None:
    kind, verdict, shown = SHOWN[play]
    scene = play()
    (finding,) = scene.session.findings
    assert finding.show() == shown
    assert (finding.kind, scene.session.verdict) == (kind, verdict)
    assert scene.session.is_over


def test_each_kind_of_finding_is_shown_here() -> None:
    assert {kind for kind, _, _ in SHOWN.values()} == {*Kind}


def test_without_a_finding_all_is_well() -> None:
    scene = Scene().open()
    while not scene.session.is_over:
        scene.hear(answered(scene.talk()))
    assert scene.session.verdict is Verdict.PASS


# --- how it is shown --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (b"HELO\r\n", r"'HELO\r\n'"),
        ("grüße".encode(), "'grüße'"),
        (b"", "''"),
        (b"\x00\xff", "00 ff"),
        (b"\x1b[31m", "1b 5b 33 31 6d"),
        (b"a" * 300, f"'{'a' * 200}' … (300 bytes)"),
    ],
    ids=["text", "more than ASCII", "nothing", "bytes", "what a terminal would obey", "much"],
)
def test_data_is_shown_as_text_or_in_hexadecimal(data: bytes, shown: str) -> None:
    assert show_data(data) == shown


def test_the_middle_of_a_long_conversation_is_left_out() -> None:
    scene = Scene(TALK.replace("<Client:ask>", "<Client:ask>{50}")).open()
    scene.talk()
    scene.hear(b"?")
    (finding,) = scene.session.findings
    lines = finding.show().splitlines()
    assert lines[21] == "  … 10 messages …"
    assert len(lines) == 1 + 20 + 1 + 20 + 2
    assert len(finding.conversation) == 50


def test_findings_are_the_same_whatever_the_values_in_them_are() -> None:
    def signature(seed: int, data: bytes) -> tuple[str, ...]:
        scene = Scene(seed=seed)
        scene.do(Opened(0.0, "Client"))
        scene.talk()
        scene.hear(data)
        finding: Finding = scene.session.findings[0]
        return finding.signature

    assert signature(1, b"SAY other\n") == signature(2, b"SAY another\n")
    assert signature(1, b"SAY other\n") != signature(1, b"SAX")


def test_findings_are_not_alike_if_they_break_different_constraints() -> None:
    text = """
<start> ::= <Client:ask> <Server:answer>
<ask> ::= "ASK\\n"
<answer> ::= <word> " " <number> "\\n"
<word> ::= r"[a-z]+"
<number> ::= r"[0-9]+"
where <word> != "bad"
where int(<number>) < 10
"""

    def signature(data: bytes) -> tuple[str, ...]:
        scene = Scene(text).open()
        scene.talk()
        scene.hear(data)
        (finding,) = scene.session.findings
        assert finding.kind is Kind.CONSTRAINT
        return finding.signature

    assert signature(b"bad 1\n") == signature(b"bad 2\n")
    assert signature(b"bad 1\n") != signature(b"good 11\n")
