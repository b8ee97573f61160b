"""Real clients of web services under test: palaver is the service."""

from __future__ import annotations

import shlex
import sys
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import palaver as library
from listening import listening

SPECS = Path(library.__file__).parent / "specs"
REST, LLM = SPECS / "rest.fan", SPECS / "llm.fan"
OURSELVES = shlex.join([sys.executable, "-m", "palaver", "talk"])

# Who may leave or ask again gets the time to do either.
PATIENCE = ("--quiet-interval", "5", "--seed", "1")


def asked(*requests: str) -> str:
    """A command line of curl that makes these requests, one after the other, on one connection."""
    first, *more = (request.replace(" /", " http://127.0.0.1:{port}/") for request in requests)
    return " ".join(["curl -sS -m 20", first, *(f"--next -sS -m 20 {request}" for request in more)])


ADD = """-d '{"text": "Two wells, \\"one\\" thirst."}' /quotes"""
LISTS = (" /quotes?limit=1", " /quotes?limit=5", " /quotes?limit=10")
MISTAKES = (" /quotes", " /quotes?limit=0", " /quotes?limit=ten", " -d {} /quotes", " /none")
VISIT = (" /count", ADD, " /count", " /quotes/7", " /quotes/7", " -X DELETE /quotes/7", " /quotes/7")


def talk_to_curl(palaver: Any, sessions: int, *requests: str) -> Any:
    # curl does not read its answers, so that the number of a new quote must be known before.
    palaver.write(seven_fan='<id> ::= "7" | "8"\nwhere forall <a> in <added>: <a>.<quote>.<id> == "7"\n')
    specs = ("-f", str(REST), "-f", "seven.fan") if VISIT[0] in requests else ("-f", str(REST))
    side = ("--server", "{port}", "--target", asked(*requests))
    how_long = ("-n", str(sessions), "--until", "forever")
    return palaver("talk", *specs, *side, *how_long, *PATIENCE)


@pytest.mark.servers("curl")
@pytest.mark.parametrize("requests", [LISTS, MISTAKES], ids=["lists", "mistakes"])
def test_curl_asks_for_quotes_as_it_should(palaver: Any, requests: tuple[str, ...]) -> None:
    talked = talk_to_curl(palaver, 50, *requests)
    assert talked.code == 0, talked.said
    messages = 50 * len(requests)
    assert talked.summary == f"50 sessions, {messages} messages sent, {messages} received, no findings"


@pytest.mark.servers("curl")
def test_curl_looks_after_a_quote(palaver: Any) -> None:
    talked = talk_to_curl(palaver, 50, *VISIT)
    assert talked.code == 0, talked.said
    assert talked.summary == "50 sessions, 350 messages sent, 350 received, no findings"


@pytest.mark.servers("curl")
@pytest.mark.parametrize(
    "requests, finding",
    [
        ((" /quotes?limit=12",), "unexpected response"),
        (VISIT[:-1], "connection closed"),
        ((*VISIT[:3], " /quotes/8"), "constraint violated"),
        ((" -0 /quotes?limit=1",), "unexpected response"),
        ((" -I /quotes?limit=1",), "unexpected response"),
    ],
    ids=["too many", "leaves", "another quote", "old version", "another method"],
)
def test_a_wrong_request_of_curl_is_found(palaver: Any, requests: tuple[str, ...], finding: str) -> None:
    talked = talk_to_curl(palaver, 1, *requests)
    assert talked.code == 1
    assert talked.summary.endswith(f"1 finding ({finding}: 1)")


# --- the client of OpenAI ---------------------------------------------------------------------------------------------


def test_the_client_of_openai_is_talked_to_without_findings(palaver: Any) -> None:
    import openai

    subjects = [" ".join(each) for each in product(("testing", "fixing"), ("innovative",), ("robots",), ("at sea",))]
    with listening(palaver, LLM, "Gpt=0", "-n", "50", "--until", "forever", *PATIENCE) as server:
        for number in range(50):
            url = f"http://127.0.0.1:{server.port}/v1"
            with openai.OpenAI(base_url=url, api_key="the_password", max_retries=0, timeout=20) as client:
                for subject in subjects:
                    prompt = (
                        f"Write a report about {subject} in at least 80 words. "
                        f"It has these sections: Method, Outlook. Avoid the word: {('crash', 'money')[number % 2]}."
                    )
                    message = {"role": "user", "content": prompt}
                    answer = client.chat.completions.create(model="gpt-4.1", messages=[message])  # type: ignore[list-item]
                    report = answer.choices[0].message.content
                    assert report is not None
                    assert subject in report
                    assert len(report.split()) >= 80
        code, said = server.conclude()
    assert code == 0, said
    assert "50 sessions, 100 messages sent, 100 received, no findings" in said


# --- ourselves --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_our_client_of_the_api_talks_to_our_server(palaver: Any) -> None:
    target = f"{OURSELVES} rest --client {{port}} -n 1"
    side = ("--server", "{port}", "--target", target)
    talked = palaver("talk", "-f", str(REST), *side, "-n", "3", "--until", "forever", *PATIENCE)
    assert talked.code == 0, talked.said
    assert talked.summary.startswith("3 sessions, ")


@pytest.mark.slow
def test_our_client_of_a_model_talks_to_our_model(palaver: Any) -> None:
    target = f"env OPENAI_API_KEY=the_password OPENAI_BASE_URL=http://127.0.0.1:{{port}}/v1 {OURSELVES} llm -n 1"
    side = ("--server", "Gpt={port}", "--target", target)
    talked = palaver("talk", "-f", str(LLM), *side, "-n", "2", "--until", "forever", *PATIENCE)
    assert talked.code == 0, talked.said
    assert talked.summary.startswith("2 sessions, ")


# --- what is no HTTP --------------------------------------------------------------------------------------------------

NO_HTTP = {
    "nothing": (b"", "connection closed"),
    "another protocol": (b"EHLO here\r\n", "unexpected response"),
    "bytes": (bytes(range(256)), "unexpected response"),
    "a part of a line": (b"GET /quo", "connection closed"),
    "a part of the fields": (b"GET /quotes?limit=1 HTTP/1.1\r\nHost: here\r\n", "unexpected response"),
    "fields without end": (b"GET /quotes?limit=1 HTTP/1.1\r\n" + b"A: b\r\n" * 20_000, "unexpected response"),
    "a line without end": (b"GET /" + b"a" * 100_000, "unexpected response"),
    "a part of a body": (b"POST /quotes HTTP/1.1\r\nContent-Length: 9\r\n\r\n{}", "unexpected response"),
    "too large a body": (b"POST /quotes HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n{}", "out of turn"),
    "bytes as a body": (b"POST /quotes HTTP/1.1\r\nContent-Length: 3\r\n\r\n\xff\x00\xff", "unexpected response"),
}

CHAT = b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: %d\r\n\r\n%b"


def chat(body: bytes) -> bytes:
    return CHAT % (len(body), body)


NO_CHAT = {
    "nothing": (b"", "connection closed"),
    "another protocol": (b"EHLO here\r\n", "unexpected response"),
    "bytes": (bytes(range(256)), "unexpected response"),
    "no JSON": (chat(b"model=gpt-4.1"), "unexpected response"),
    "a list": (chat(b"[]"), "unexpected response"),
    "no messages": (chat(b'{"model": "gpt-4.1"}'), "unexpected response"),
    "messages of another kind": (chat(b'{"model": "gpt-4.1", "messages": [1]}'), "unexpected response"),
    "no text": (chat(b'{"model": "gpt-4.1", "messages": [{"content": null}]}'), "unexpected response"),
    "half a character": (chat(b'{"model": "gpt-4.1", "messages": [{"content": "\\ud800"}]}'), "unexpected response"),
    "depth": (chat(b"[" * 100_000), "unexpected response"),
}


SENDER = """
import socket, sys
with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as connection, open("sent", "rb") as sent:
    connection.sendall(sent.read())
    connection.shutdown(socket.SHUT_WR)
    connection.recv(1)
"""


def check(palaver: Any, spec: Path, party: str, sent: bytes, finding: str) -> None:
    """That palaver, as a server, finds this out about a client that sends that, and then no more."""
    palaver.write(sent=sent)
    target = shlex.join([sys.executable, "-S", "-c", SENDER, "{port}"])
    talked = palaver("talk", "-f", str(spec), "--server", f"{party}={{port}}", "--target", target, "-n", "1")
    assert talked.code == 1, talked.said
    assert talked.summary.endswith(f"1 finding ({finding}: 1)")


@pytest.mark.parametrize("sent, finding", NO_HTTP.values(), ids=NO_HTTP)
def test_who_does_not_speak_http_is_found_out(palaver: Any, sent: bytes, finding: str) -> None:
    check(palaver, REST, "Server", sent, finding)


@pytest.mark.parametrize("sent, finding", NO_CHAT.values(), ids=NO_CHAT)
def test_who_does_not_ask_a_model_is_found_out(palaver: Any, sent: bytes, finding: str) -> None:
    check(palaver, LLM, "Gpt", sent, finding)
