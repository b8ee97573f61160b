"""The spec of CoAP against servers, and as the server of real clients."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import palaver as library
from amounts import examples
from servers import coap
from servers.coap import needs_libcoap

SPEC = Path(library.__file__).parent / "specs" / "coap.fan"


def talk(palaver: Any, port: int, sessions: int, *more: str) -> Any:
    options = ("-n", str(sessions), "--seed", "1", "--unguided", *more)
    return palaver("talk", "coap", "--client", f"udp:{port}", *options)


def test_the_spec_is_without_objections(palaver: Any) -> None:
    checked = palaver("check", "--strict", "--k", "5", str(SPEC))
    assert (checked.code, checked.said) == (0, "")
    assert "1106 5-paths" in checked.text


@pytest.mark.parametrize("only", [(), ("--party", "Client"), ("--party", "Server")])
def test_conversations_are_made_up(palaver: Any, only: tuple[str, ...]) -> None:
    made = palaver("fuzz", "-f", str(SPEC), "-n", "3", "--seed", "1", *(only or ["--validate"]))
    assert (made.code, made.said) == (0, "")


def test_a_small_server_is_talked_to_without_findings(palaver: Any) -> None:
    with coap.small() as server:
        talked = talk(palaver, server.port, 5)
    assert talked.code == 0, talked.text
    assert talked.summary.endswith("no findings")


@needs_libcoap
def test_libcoap_is_talked_to_without_findings(palaver: Any) -> None:
    with coap.libcoap() as server:
        talked = talk(palaver, server.port, 20, *coap.LIBCOAP_LIMITS)
    assert talked.code == 0, talked.text
    assert talked.summary.endswith("no findings")


@needs_libcoap
@pytest.mark.parametrize(
    ("wrong", "finding"),
    [
        (("--set", "mistakes=class 6"), "expected b'p\\x00', got 60 00"),
        (("--set", "mistakes=class 7"), "no <reset> from Server"),
        (("--set", "mistakes=version"), "70 00 00 00"),
        (("--set", "mistakes=method"), "fitting(<c>.<con_request>"),
        (("--set", "conditions=yes"), "Resources()).mistake"),
    ],
)
def test_what_libcoap_does_wrong_is_told(palaver: Any, wrong: tuple[str, str], finding: str) -> None:
    with coap.libcoap() as server:
        talked = talk(palaver, server.port, 20, "--timeout", "1", *coap.LIBCOAP_LIMITS, *wrong)
    assert talked.code == 1, talked.text
    assert finding in talked.text


def test_aiocoap_is_talked_to_with_a_note(palaver: Any) -> None:
    with coap.aiocoap() as server:
        talked = talk(palaver, server.port, 20, *coap.AIOCOAP_LIMITS)
    assert talked.code == 0, talked.text
    assert "RFC 7252 (5.8.3, 5.8.4)" in talked.text


@pytest.mark.parametrize(
    ("mistake", "finding"),
    [
        ("class 1", "no <reset> from Server"),
        ("delta 15", "no <reset> from Server"),
        ("cut option", "no <reset> from Server"),
        ("bare marker", "expected b'p\\x00', got"),
        ("option", "fitting(<c>.<con_request>"),
    ],
)
def test_what_aiocoap_does_wrong_is_told(palaver: Any, mistake: str, finding: str) -> None:
    with coap.aiocoap() as server:
        talked = talk(palaver, server.port, 3, "--timeout", "1", "--set", f"mistakes={mistake}")
    assert talked.code == 1, talked.text
    assert finding in talked.text


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.servers("coap-client-notls")] if name.startswith("coap") else [])
        for name in coap.CLIENTS
    ],
)
def test_a_real_client_talks_to_a_server_of_the_spec(palaver: Any, name: str) -> None:
    command = coap.CLIENTS[name]
    talked = palaver(
        "talk", "coap", "--server", "udp:{port}", "--target", command, "-n", str(examples(6)), "--seed", "1"
    )
    assert talked.code == 0, talked.text + talked.said
    assert talked.summary.endswith("no findings")
