"""Real mail clients under test: palaver is the server, and now and then says no, wherever a server may."""

from __future__ import annotations

import re
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import palaver as palaver_
from amounts import few
from palaver.testing import run_pair

SPEC = str(Path(palaver_.__file__).parent / "specs" / "smtp_clients.fan")

LETTER = "From: <a@example.com>\r\nTo: <b@example.com>\r\nSubject: Greetings\r\n\r\nHello\r\n.dotted\r\n"

# All that a server has to say yes or no to; said in every way, as the guidance sees to it.
REPLIES = {
    "no_service",
    "unknown",
    "auth_refused",
    "login_refused",
    "login_failed",
    "logged_in",
    "mail_refused",
    "rcpt_refused",
    "data_refused",
    "message_refused",
    "taken",
}

# A conversation in which the server never says no.
YES = "<Client:ehlo> <Server:features> <account> <Server:logged_in> <transaction> <Server:taken> <farewell>"

PYTHON_CLIENT = """
import smtplib, sys
port, password, *to = sys.argv[1:]
with smtplib.SMTP("127.0.0.1", int(port), "client.example") as client:
    client.login("the_user", password)
    client.sendmail("a@example.com", to, open("letter").read())
"""


@dataclass(frozen=True)
class Client:
    """A program that sends a letter, called in several ways; and what cannot be said to it, because it never asks."""

    name: str
    commands: tuple[str, ...]
    unsaid: frozenset[str] = frozenset()


def curl(*arguments: str, password: str = "the_password") -> str:
    addresses = "--mail-from a@example.com --mail-rcpt b@example.com"
    where = "--url smtp://127.0.0.1:{port}/client.example"
    return f"curl -sS {where} {addresses} -u the_user:{password} -T letter {' '.join(arguments)}"


def swaks(to: str, mechanism: str, password: str = "the_password") -> str:
    account = f"--auth {mechanism} --auth-user the_user --auth-password {password}"
    return f"swaks --server 127.0.0.1 --port {{port}} --ehlo client.example --from a@example.com --to {to} {account}"


def msmtp(mechanism: str, password: str, *to: str) -> str:
    where = "-C /dev/null --host=127.0.0.1 --port={port} --domain=client.example --tls=off"
    account = f"--auth={mechanism} --user=the_user --passwordeval='echo {password}'"
    return shlex.join(["sh", "-c", f"msmtp {where} {account} --from=a@example.com {' '.join(to)} <letter"])


def smtplib(password: str, *to: str) -> str:
    return shlex.join([sys.executable, "-I", "-S", "-c", PYTHON_CLIENT, "{port}", password, *to])


BOTH = ("b@example.com", "c@example.com")

CURL = Client(
    "curl", (curl(), curl("--mail-rcpt c@example.com --mail-rcpt-allowfails --sasl-ir"), curl(password="wrong"))
)
SWAKS = Client("swaks", (swaks(",".join(BOTH), "LOGIN"), swaks(BOTH[0], "PLAIN"), swaks(BOTH[0], "LOGIN", "wrong")))
MSMTP = Client(
    "msmtp",
    (msmtp("login", "the_password", *BOTH), msmtp("plain", "the_password", BOTH[0]), msmtp("login", "wrong", BOTH[0])),
)
# It gives the first answer at once, so that a login can be refused only as a whole.
SMTPLIB = Client(
    "smtplib",
    (smtplib("the_password", *BOTH), smtplib("the_password", *BOTH[:1]), smtplib("wrong", *BOTH)),
    frozenset({"auth_refused"}),
)


def talk(palaver: Any, command: str, sessions: int, *arguments: str) -> Any:
    palaver.write(letter=LETTER)
    # Who may leave or say more gets the time to do either.
    patience = ("--quiet-interval", "5")
    how_long = ("-n", str(sessions), "--until", "forever", "--seed", "2")
    return palaver("talk", "-f", SPEC, "--server", "{port}", "--target", command, *how_long, *patience, *arguments)


@pytest.mark.parametrize(
    "client",
    [
        *(pytest.param(each, marks=pytest.mark.servers(each.name), id=each.name) for each in (CURL, SWAKS, MSMTP)),
        pytest.param(SMTPLIB, id="smtplib"),
    ],
)
def test_a_real_client_takes_yes_and_no_as_it_should(palaver: Any, client: Client) -> None:
    said: set[str] = set()
    # Wrong passwords first, while there is everything to be said to them.
    for command, sessions in zip(reversed(client.commands), (10, 24, 30), strict=True):
        # What was said to the client already need not be said again when it is called in another way.
        talked = talk(palaver, command, sessions, "--goal", "inputs", "--coverage-file", "covered.json", "-v")
        assert talked.code == 0, talked.said
        assert talked.summary.startswith(f"{sessions} sessions, ")
        said.update(re.findall(r"^# step \d+ of \d+: <(\w+)>", talked.text, re.MULTILINE))
    assert REPLIES - said == client.unsaid


def test_nothing_can_be_said_against_the_spec(palaver: Any) -> None:
    checked = palaver("check", "--strict", SPEC)
    assert (checked.code, checked.said) == (0, "")


@pytest.mark.parametrize("seed", few(range(5), 2))
def test_both_sides_of_the_spec_understand_each_other(seed: int) -> None:
    client, server = run_pair(palaver_.load(SPEC), seed=seed)
    assert client.findings == server.findings == []


def test_a_client_that_leaves_without_a_word_is_found_if_that_is_forbidden(palaver: Any) -> None:
    palaver.write(strict_fan="<leave> ::= <farewell>\n<start> ::= <Server:no_service> <leave>\n")
    talked = talk(palaver, SMTPLIB.commands[0], 1, "-f", "strict.fan")
    assert talked.code == 1
    assert talked.summary.endswith("1 finding (crash: 1)")  # it leaves by an exception
    assert "the system under test exited with code 1: Python: smtplib.SMTPConnectError" in talked.text


@pytest.mark.servers("curl")
def test_lines_of_a_letter_that_end_as_they_do_in_unix_are_found(palaver: Any) -> None:
    palaver.write(unix=LETTER.replace("\r\n", "\n"), yes_fan=f"<start> ::= <Server:greeting> {YES}\n")
    talked = talk(palaver, curl().replace("letter", "unix"), 1, "-f", "yes.fan")
    assert talked.code == 1
    assert talked.summary.endswith("1 finding (unexpected response: 1)")
