"""Wrong messages whose right answer is none at all, or the end of the connection: both can be said below `<beyond>`."""

from __future__ import annotations

import pytest
from beyond_peers import first_violation, served, talked

import palaver
from palaver.beyond.digression import AnswerReader
from palaver.session.findings import FindingKind
from palaver.trees.node import Node, NonTerminal
from servers.in_process import StreamSession

SPEC = r"""
<start> ::= <Client:hello> <Server:welcome> <ask>{2,6} <Client:bye> <Server:closed>
<ask> ::= <Client:question> <Server:answer>
<hello> ::= "hello\n"
<question> ::= "ask " r"[a-z]{1,8}" "\n"
<bye> ::= "bye\n"
<welcome> ::= "welcome\n"
<answer> ::= "answer " r"[0-9]" "\n"
<closed> ::= "closed\n"

<beyond> ::= <allowed> | <broken_off> | <ignored>
<allowed> ::= <Client:any_question> | <Client:any_bye>
<any_question> ::= r"ask [a-z]{1,8}\n"
<any_bye> ::= "bye\n"
<broken_off> ::= <Client:again> <Server:hung_up>
<ignored> ::= <Client:noise> <Server:silence>
<again> ::= "hello\n"
<noise> ::= r"[^\n]*\n"
<hung_up> ::= ""
<silence> ::= ""
"""


class Reserved:
    """Says nothing to noise, and leaves when it is greeted twice."""

    def __init__(self) -> None:
        self.is_over = False
        self.buffer = b""
        self.is_known = False

    def greet(self) -> bytes:
        return b""

    def hear(self, data: bytes) -> bytes:
        *lines, self.buffer = (self.buffer + data).split(b"\n")
        return b"".join(self.answer(line) for line in lines)

    def answer(self, line: bytes) -> bytes:
        """The answer to one line."""
        if line == b"hello":
            return self.welcome()
        if not self.is_known:
            return self.noise()
        if line == b"bye":
            self.is_over = True
            return b"closed\n"
        name = line.removeprefix(b"ask ")
        is_question = line.startswith(b"ask ") and 0 < len(name) < 9 and all(97 <= byte <= 122 for byte in name)
        return b"answer 1\n" if is_question else self.noise()

    def welcome(self) -> bytes:
        """The answer to a greeting."""
        if self.is_known:
            return self.greeted_again()
        self.is_known = True
        return b"welcome\n"

    def greeted_again(self) -> bytes:
        """The answer to a second greeting."""
        self.is_over = True
        return b""

    def noise(self) -> bytes:
        """The answer to what is no message."""
        return b""


class Talkative(Reserved):
    """Answers noise as if it had been a question."""

    def noise(self) -> bytes:
        return b"answer 0\n"


class Grumbling(Reserved):
    """Answers noise with noise."""

    def noise(self) -> bytes:
        return b"what?\n"


class Offended(Reserved):
    """Forgets at noise who has greeted it."""

    def noise(self) -> bytes:
        self.is_known = False
        return b""


class Patient(Reserved):
    """Welcomes who greets it twice."""

    def greeted_again(self) -> bytes:
        return b"welcome\n"


class Deaf(Reserved):
    """Takes no notice of who greets it twice."""

    def greeted_again(self) -> bytes:
        return b""


@pytest.fixture(scope="module")
def spec() -> palaver.Spec:
    return palaver.loads(SPEC)


def test_a_server_that_says_nothing_to_noise_is_not_suspected(spec: palaver.Spec) -> None:
    campaign = talked(spec, Reserved, 30, beyond=0.5)
    assert campaign.findings == []
    wrong = campaign.sessions.wrong
    assert wrong is not None
    assert wrong.tally.refused > 5


@pytest.mark.parametrize(
    ("server", "kind"),
    [
        (Talkative, FindingKind.ACCEPTED),
        (Grumbling, FindingKind.REFUSAL),
        (Offended, FindingKind.STATE_CHANGED),
        (Patient, FindingKind.ACCEPTED),
        (Deaf, FindingKind.REFUSAL),
    ],
)
def test_an_answer_where_there_must_be_none_is_found(
    spec: palaver.Spec, server: type[StreamSession], kind: FindingKind
) -> None:
    found = first_violation(spec, server, 60, beyond=0.5, timeout=0.3)
    assert found is not None
    assert found.kind is kind


def test_a_spec_with_silence_has_no_warnings(spec: palaver.Spec) -> None:
    assert spec.warnings == ()


def test_silence_beside_an_answer_leaves_time_for_the_answer(spec: palaver.Spec) -> None:
    both = palaver.loads(SPEC.replace("<Server:silence>", "(<Server:silence> | <Server:error>)"), r'<error> ::= "no\n"')
    option = both.grammar.beyond["<ignored>"].body
    first = both.forecaster(alternative=option).begin()
    (noise,) = first.moves
    answers = first.after(noise, Node(NonTerminal("<noise>"), ()))
    reader = AnswerReader(lambda symbol: both.matcher(symbol, whole=False), (), frozenset(), frozenset({"<silence>"}))
    waiting = reader.read(answers, b"", is_quiet=False, has_ended=False)
    assert (waiting.is_complete, waiting.may_be_longer) == (False, True)
    assert reader.read(answers, b"", is_quiet=True, has_ended=False).is_complete
    assert reader.read(answers, b"no\n", is_quiet=False, has_ended=False).is_complete
    assert not reader.read(answers, b"", is_quiet=True, has_ended=True).is_complete


def test_an_answer_may_take_as_long_as_that_to_the_message_it_was_made_from() -> None:
    with served(Reserved) as port, palaver.talk("ftp", client=port, beyond=0.5) as campaign:
        wrong = campaign.sessions.wrong
        assert wrong is not None
        assert wrong.seconds_to_wait("<password>", 5.0) == 40.0  # wrong ones are refused late
        assert wrong.seconds_to_wait("<syst>", 5.0) == 5.0
        assert wrong.seconds_to_wait("<password>", 60.0) == 60.0


def test_what_may_follow_a_refusal_is_waited_for() -> None:
    rules = r"""
<refused> ::= <Client:noise> <Server:no> (<Server:over>? <Server:hung_up>)?
<no> ::= "no\n"
<over> ::= "over\n"
"""
    more = palaver.loads(SPEC, rules)
    first = more.forecaster(alternative=more.grammar.rules["<refused>"].body).begin()
    (noise,) = first.moves
    answers = first.after(noise, Node(NonTerminal("<noise>"), ()))
    reader = AnswerReader(lambda symbol: more.matcher(symbol, whole=False), (), frozenset({"<hung_up>"}))
    assert not reader.read(answers, b"no\n", is_quiet=False, has_ended=False).is_complete
    assert reader.read(answers, b"no\n", is_quiet=True, has_ended=False).is_complete
    both = reader.read(answers, b"no\nover\n", is_quiet=False, has_ended=False)
    assert (both.is_complete, both.may_close, len(both.answers)) == (True, True, 2)
