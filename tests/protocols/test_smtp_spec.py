"""The bundled specs of SMTP: against real servers, and what they find wrong."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import palaver as palaver_
from amounts import few
from palaver.compiled import Spec
from palaver.session.engine import Session
from palaver.session.findings import FindingKind
from palaver.testing import run_pair
from palaver.transport.certificate import make_certificate
from servers import stock
from servers.common import needs_openssl
from servers.mail import aiosmtpd, aiosmtpd_without_accounts, exim, needs_exim, needs_opensmtpd, opensmtpd

SPECS = Path(palaver_.__file__).parent / "specs"
SMTP = SPECS / "smtp.fan"
RELAY = SPECS / "smtp_relay.fan"
STARTTLS = SPECS / "smtp_starttls.fan"
FULL = SPECS / "smtp_full.fan"

# The shortest way to a letter and back.
STRAIGHT = """
<start>       ::= <Server:greeting> <Client:ehlo> <Server:features> <login> <transaction> <farewell>
<login>       ::= <login_good>
<transaction> ::= <Client:mail> <Server:ok> <Client:rcpt> <Server:ok> <bystander> <delivery>
"""


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("certificates") / "server.pem"
    with make_certificate() as made:
        shutil.copy(made, path)
    return path


@pytest.fixture(
    scope="module",
    params=[
        pytest.param((SMTP, aiosmtpd), id="aiosmtpd"),
        pytest.param((SMTP, exim), marks=needs_exim, id="Exim"),
        pytest.param((RELAY, opensmtpd), marks=needs_opensmtpd, id="OpenSMTPD"),
        pytest.param((STARTTLS, aiosmtpd), marks=needs_openssl, id="aiosmtpd with STARTTLS"),
    ],
)
def pair(request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    """A spec, and the port of a server that must agree with it."""
    spec, server = request.param
    arguments = [request.getfixturevalue("certificate")] if spec == STARTTLS else []
    with server(*arguments) as running:
        yield str(spec), str(running.port)


def test_random_conversations_with_a_real_server_have_no_findings(palaver: Any, pair: tuple[str, str]) -> None:
    spec, port = pair
    talked = palaver("talk", "-f", spec, "--client", port, "-n", "20", "--seed", "1", "--unguided")
    assert talked.code == 0, talked.said
    assert talked.text.startswith("20 sessions, ")


def test_a_real_server_shows_everything_that_is_in_the_spec(palaver: Any, pair: tuple[str, str]) -> None:
    spec, port = pair
    talked = palaver("talk", "-f", spec, "--client", port, "-n", "100", "--seed", "1", "--until", "coverage")
    assert talked.code == 0, talked.said
    covered = re.search(r"covered (\d+) of (\d+) 5-paths", talked.text)
    assert covered, talked.text
    # Of the relays, only one with a login that nobody needs is told that it is cancelled.
    assert int(covered[2]) - int(covered[1]) == (3 if spec == str(RELAY) else 0)


@pytest.mark.parametrize(
    "spec, server",
    [
        pytest.param(SMTP, partial(stock.postfix, has_account=True), marks=stock.needs("postfix"), id="Postfix"),
        pytest.param(SMTP, partial(stock.exim, has_account=True), marks=stock.needs("exim4"), id="Exim"),
        pytest.param(
            RELAY, partial(stock.postfix, has_account=False), marks=stock.needs("postfix"), id="Postfix, open"
        ),
        pytest.param(RELAY, partial(stock.exim, has_account=False), marks=stock.needs("exim4"), id="Exim, open"),
        pytest.param(RELAY, stock.opensmtpd, marks=stock.needs("smtpd"), id="OpenSMTPD"),
        pytest.param(FULL, partial(stock.exim, has_account=True), marks=stock.needs("exim4"), id="Exim, in full"),
        pytest.param(FULL, stock.opensmtpd, marks=stock.needs("smtpd"), id="OpenSMTPD, in full"),
    ],
)
def test_a_server_as_its_distribution_ships_it_is_not_accused(
    palaver: Any, spec: Path, server: Any, tmp_path: Path
) -> None:
    # Exim hangs up on the fourth mistake, and on the eleventh command that is not about mail.
    limits = tmp_path / "limits.fan"
    limits.write_text("MOST_MISTAKES = 3\nMOST_PAUSES = 10\n")
    with server() as running:
        talked = palaver(
            "talk", "-f", str(spec), "-f", str(limits), "--client", str(running.port), "-n", "15", "--seed", "2"
        )
    assert talked.code == 0, talked.said


@pytest.mark.parametrize("path", [SMTP, RELAY, STARTTLS, FULL], ids=lambda path: path.stem)
def test_nothing_can_be_said_against_the_spec(palaver: Any, path: Path) -> None:
    checked = palaver("check", "--strict", str(path))
    assert (checked.code, checked.said) == (0, "")


def straight(*changes: tuple[str, str]) -> Spec:
    """The spec with a single way through it, and with some of its text replaced."""
    text = SMTP.read_text() + STRAIGHT
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return palaver_.loads(text)


def found_by(session: Session) -> list[FindingKind]:
    return [finding.kind for finding in session.findings]


@pytest.mark.parametrize("seed", few(range(3)))
def test_a_letter_is_sent_from_one_side_of_the_spec_to_the_other(seed: int) -> None:
    client, server = run_pair(straight(), seed=seed)
    assert found_by(client) == found_by(server) == []


@pytest.mark.parametrize("header, envelope", [("sent_by", "mail"), ("sent_to", "rcpt")])
def test_a_client_whose_letter_is_not_that_of_its_envelope_is_found(header: str, envelope: str) -> None:
    condition = f"<t>..<{header}>.<address> == <t>.<{envelope}>.<address>"
    wrong = straight((condition, condition.replace("==", "!=")))
    assert found_by(run_pair(wrong, straight(), seed=1).listener) == [FindingKind.CONSTRAINT]


def test_a_server_with_two_names_is_found() -> None:
    condition = "<greeting>..<host> == <features>.<host>"
    wrong = straight((condition, condition.replace("==", "!=")))
    assert found_by(run_pair(straight(), wrong, seed=1).caller) == [FindingKind.CONSTRAINT]


def test_a_server_that_lets_anybody_in_is_found() -> None:
    bad_login = ("<login_good>\n", "<login_bad>\n")
    wrong = straight(bad_login, ("<Server:login_failed>", "<Server:logged_in>"))
    assert found_by(run_pair(straight(bad_login), wrong, seed=1).caller) == [FindingKind.UNPARSEABLE]


def test_a_server_that_lets_nobody_in_is_found() -> None:
    wrong = straight(("<Server:logged_in>", "<Server:login_failed>"))
    assert found_by(run_pair(straight(), wrong, seed=1).caller) == [FindingKind.UNPARSEABLE]


@pytest.mark.parametrize(
    "features, way",
    [
        ("'250-' <host> '\\r\\n250-SIZE 1000\\r\\n250 AUTH PLAIN LOGIN\\r\\n'", "<Server:features> <farewell>"),
        ("'250-' <host> '\\r\\n250-AUTH LOGIN\\r\\n250-SIZE\\r\\n250 HELP\\r\\n'", "<Server:features> <farewell>"),
        ("'250-' <host> '\\r\\n250-AUTH PLAIN\\r\\n250 HELP\\r\\n'", "<no_accounts>"),
        ("'250 ' <host> ' at your service\\r\\n'", "<no_accounts>"),
    ],
    ids=["offer in the last line", "offer among others", "another login", "no extensions"],
)
def test_extensions_come_in_any_order_and_a_login_need_not_be_offered(features: str, way: str) -> None:
    hello = "<start> ::= <Server:greeting> <Client:ehlo> "
    server = palaver_.loads(f"{SMTP.read_text()}\n{hello}<Server:features> <farewell>\n<features> ::= {features}\n")
    client = palaver_.loads(f"{SMTP.read_text()}\n{hello}{way}\n")
    other = {"<no_accounts>": "<Server:features> <farewell>"}.get(way, "<no_accounts>")
    misled = palaver_.loads(f"{SMTP.read_text()}\n{hello}{other}\n")
    assert found_by(run_pair(client, server, seed=1).caller) == []
    assert found_by(run_pair(misled, server, seed=1).caller) != []


def test_a_client_that_is_offered_no_login_may_go_on_and_ask() -> None:
    hello = "<start> ::= <Server:greeting> <Client:ehlo> "
    server = palaver_.loads(f"{SMTP.read_text()}\n{hello}<no_accounts>\n")
    asks = "<Client:noop> <Server:ok> <Client:mail> <Server:login_needed>"
    client = palaver_.loads(f"{SMTP.read_text()}\n{hello}<Server:other_features> {asks} <farewell>\n")
    pair = run_pair(client, server, seed=1)
    assert (found_by(pair.caller), found_by(pair.listener)) == ([], [])


@needs_openssl
@pytest.mark.parametrize("guidance", [(), ("--unguided",)], ids=["guided", "unguided"])
def test_a_server_with_encryption_and_accounts_is_right_in_full(
    palaver: Any, certificate: Path, guidance: tuple[str, ...]
) -> None:
    with aiosmtpd(certificate) as running:
        talked = palaver("talk", str(FULL), "--client", str(running.port), "-n", "15", "--seed", "2", *guidance)
    assert talked.code == 0, talked.said


def test_a_server_without_accounts_is_told_in_a_note(palaver: Any) -> None:
    with aiosmtpd_without_accounts() as running:
        talked = palaver("talk", "smtp", "--client", str(running.port), "-n", "20", "--seed", "1")
    assert talked.code == 0, talked.said
    assert "the server offers no AUTH LOGIN" in talked.text
