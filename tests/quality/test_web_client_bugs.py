"""Clients of web services that are wrong in one thing are found out, and the right ones are not suspected."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import llm_client_bugs
import pytest
import rest_client_bugs
from catalogue import Bug, kinds

import palaver as palaver_

pytestmark = pytest.mark.slow

SPECS = Path(palaver_.__file__).parent / "specs"


def talk_to(palaver: Any, spec: str, party: str, client: str | None, name: str, sessions: int) -> Any:
    program = f"{shlex.join([sys.executable, str(client), name])} {{port}}"
    sides = ("-f", str(SPECS / spec), "--server", f"{party}={{port}}", "--target", program)
    # Who may leave or ask again gets the time to do either; who has begun a request, not so much.
    patience = ("--quiet-interval", "5", "--patience", "1")
    return palaver("talk", *sides, *patience, "-n", str(sessions), "--until", "forever", "--seed", "1")


def talk_to_quotes(palaver: Any, name: str, sessions: int) -> Any:
    return talk_to(palaver, "rest.fan", "Server", rest_client_bugs.__file__, name, sessions)


def talk_to_reports(palaver: Any, name: str, sessions: int) -> Any:
    return talk_to(palaver, "llm.fan", "Gpt", llm_client_bugs.__file__, name, sessions)


@pytest.mark.parametrize("bug", rest_client_bugs.BUGS, ids=lambda bug: bug.name)
def test_a_wrong_client_of_an_api_is_found_out(palaver: Any, bug: Bug) -> None:
    talked = talk_to_quotes(palaver, bug.name, bug.sessions)
    assert talked.code == 1, talked.text
    assert kinds(talked.summary) == [bug.finding]


def test_the_right_client_of_an_api_is_not_suspected(palaver: Any) -> None:
    talked = talk_to_quotes(palaver, "Client", 50)
    assert talked.code == 0, talked.said
    assert talked.summary.endswith("no findings")


@pytest.mark.parametrize("bug", llm_client_bugs.BUGS, ids=lambda bug: bug.name)
def test_a_wrong_client_of_a_model_is_found_out(palaver: Any, bug: Bug) -> None:
    talked = talk_to_reports(palaver, bug.name, bug.sessions)
    assert talked.code == 1, talked.text
    assert kinds(talked.summary) == [bug.finding]


def test_the_right_client_of_a_model_is_not_suspected(palaver: Any) -> None:
    most = max(bug.sessions for bug in llm_client_bugs.BUGS)
    talked = talk_to_reports(palaver, "Client", most)
    assert talked.code == 0, talked.said
    assert talked.summary.endswith("no findings")
