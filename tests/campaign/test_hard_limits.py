"""`--time` ends whatever goes on: sessions, searches for messages, Python of the spec, servers that do not start."""

import shlex
import socket
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import palaver
from amounts import few
from palaver.session.findings import Verdict
from palaver.solving.solving_limits import SolvingLimits

ECHO = """
<start> ::= <exchange>*
<exchange> ::= <In:ask> <Out:answer>
<ask> ::= "ASK " <word> "\\n"
<answer> ::= "ASK " <word> "\\n"
<word> ::= r"[a-z]{8,80}"
"""
HASH = ECHO + "import hashlib\nwhere hashlib.sha256(bytes(<ask>)).hexdigest().startswith('000000')\n"
ENDLESS_PYTHON = """
def endless(tree):
    while True:
        try:
            while True:
                pass
        except Exception:
            pass

where endless(<ask>)
"""
CAT = (sys.executable, "-c", "import shutil, sys; shutil.copyfileobj(sys.stdin.buffer, sys.stdout.buffer, 1)")


def took(campaign: Any) -> float:
    began = time.monotonic()
    campaign.run()
    return time.monotonic() - began


@pytest.mark.parametrize("how", [{}, {"guided": False}], ids=["guided", "unguided"])
@pytest.mark.parametrize("text", [ECHO.replace("*", "{3000,}"), HASH], ids=["a long session", "a hard constraint"])
def test_the_time_of_a_run_is_hard(text: str, how: dict[str, Any]) -> None:
    limits = SolvingLimits(budget=10**9)
    campaign = palaver.talk(
        palaver.loads(text), program=CAT, seed=1, seconds=0.5, max_messages=10**9, solving=limits, **how
    )
    assert took(campaign) < 0.5 + 2.0
    assert campaign.findings == []
    assert campaign.verdict is Verdict.PASS
    assert campaign.progress.ended == "reached the limit of 0.5 s (--time 0.5)"
    assert [each.option for each in campaign.progress.cut_off] == ["--time"]


def test_a_session_that_takes_too_long_is_inconclusive_and_the_next_one_follows() -> None:
    text = ECHO.replace("*", "{3000,}")
    campaign = palaver.talk(palaver.loads(text), program=CAT, seed=1, sessions=2, session_time=0.3, max_messages=10**9)
    assert took(campaign) < 5
    assert campaign.findings == []
    assert campaign.verdict is Verdict.INCONCLUSIVE
    assert [each.option for each in campaign.progress.cut_off] == ["--session-time 0.3"] * 2


def test_a_session_is_cut_in_a_handshake_that_does_not_go_on() -> None:
    spec = palaver.loads("<start> ::= <Client:Server:ask>\n<ask> ::= 'ask'\n")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"tls:{silent.getsockname()[1]}"
        campaign = palaver.talk(spec, client=address, seed=1, sessions=1, timeout=60, session_time=0.3)
        assert took(campaign) < 0.3 + 2.0
    assert campaign.verdict is Verdict.INCONCLUSIVE
    assert [each.option for each in campaign.progress.cut_off] == ["--session-time 0.3"]


def test_python_of_a_spec_that_never_ends_is_interrupted_and_named(palaver: Any, spec: Any) -> None:
    file = spec(ECHO.replace("*", "+") + ENDLESS_PYTHON)
    talked = palaver("talk", "-f", file, "--time", "2", "--seed", "1", *CAT)
    assert talked.code == 124  # nothing was received, so nothing was tested
    assert "1 session cut off by --time in the Python of the spec (" in talked.text
    assert "/spec.fan:1" in talked.text


def test_a_server_that_never_listens_is_not_waited_for_beyond_the_end() -> None:
    sleeps = f"{shlex.quote(sys.executable)} -c 'import time; time.sleep(60)'"
    text = ECHO.replace("In:", "Client:").replace("Out:", "Server:")
    campaign = palaver.talk(palaver.loads(text), target=sleeps, seed=1, seconds=0.5)
    assert took(campaign) < 3
    assert campaign.progress.ended.startswith("reached the limit of 0.5 s (--time 0.5): ")
    assert "did not listen" in campaign.progress.ended
    assert "--start-timeout" not in campaign.progress.ended


@pytest.fixture
def spec(tmp_path: Path) -> Any:
    def write(text: str) -> str:
        file = tmp_path / "spec.fan"
        file.write_text(text)
        return str(file)

    return write


def test_a_run_without_a_peer_ends() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    text = ECHO.replace("In:", "Client:").replace("Out:", "Server:")
    campaign = palaver.talk(palaver.loads(text), client=port, seed=1, wait_for_server=0.0, seconds=20)
    campaign.run()
    assert campaign.progress.ended == "no message was sent or received in 3 sessions in a row"
    assert campaign.verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize("seed", few([1, 2, 3], 2))
def test_sessions_that_the_spec_allows_to_be_empty_do_not_end_a_run(seed: int) -> None:
    spec = palaver.loads("<start> ::= (<In:ask> <Out:answer>)?\n<ask> ::= 'a\\n'\n<answer> ::= 'a\\n'\n")
    campaign = palaver.talk(spec, program=CAT, seed=seed, sessions=25, guided=False)
    campaign.run()
    assert campaign.progress.ended == "reached the limit of 25 sessions (-n 25)"
    assert 0 < campaign.progress.sent < 25
