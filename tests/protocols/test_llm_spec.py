"""The spec of reports by a language model, with the real client of OpenAI and a model of our own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import palaver as library
from servers.common import free_port
from servers.web import WebServer, language_model

SPEC = Path(library.__file__).parent / "specs" / "llm.fan"


@pytest.fixture(scope="module")
def server() -> Iterator[WebServer]:
    with language_model() as server:
        yield server


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """That of somebody who has a key, and no model at the place that it is for."""
    monkeypatch.setenv("OPENAI_API_KEY", "the_password")
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{free_port()}/v1")


def talk(palaver: Any, *arguments: str) -> Any:
    return palaver("talk", "-f", str(SPEC), "--seed", "1", *arguments)


def test_the_spec_is_without_objections(palaver: Any) -> None:
    checked = palaver("check", "--strict", str(SPEC))
    assert (checked.code, checked.said) == (0, "")
    assert "14 rules, 5 constraints, 2 parties, 2 messages" in checked.text


@pytest.mark.parametrize("only", [(), ("--party", "Client"), ("--party", "Gpt")])
def test_conversations_are_made_up_without_a_search(palaver: Any, only: tuple[str, ...]) -> None:
    made = palaver("fuzz", "-f", str(SPEC), "-n", "3", "--seed", "1", "--budget", "1", "--max-repetitions", "3", *only)
    assert (made.code, made.said) == (0, "")


def test_a_model_is_talked_to_without_findings(
    palaver: Any, server: WebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
    talked = talk(palaver, "-n", "50", "--until", "forever")
    assert talked.code == 0
    assert talked.summary.endswith("no findings")


def test_another_file_may_choose_another_model(
    palaver: Any, server: WebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
    palaver.write(mine_fan='<gpt_model> ::= "small"')
    talked = talk(palaver, "-f", "mine.fan", "-v", "-n", "1")
    assert talked.code == 0
    assert "'small\\nWrite a report" in talked.text


def test_a_model_that_is_not_there_is_no_fault_of_the_spec(palaver: Any) -> None:
    talked = talk(palaver, "-n", "1")
    assert talked.code == 4
    assert talked.summary.endswith("1 finding (connection refused: 1)")


def test_who_has_no_key_is_told(palaver: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    talked = talk(palaver, "-n", "1")
    assert talked.code == 2
    assert "OPENAI_API_KEY" in talked.text


def test_who_has_no_client_of_openai_is_told(palaver: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    talked = talk(palaver, "-n", "1")
    assert talked.code == 2
    assert "openai" in talked.text


def test_prompts_can_be_made_without_a_model(palaver: Any) -> None:
    made = palaver("fuzz", "-f", str(SPEC), "--party", "Client", "-n", "5", "--seed", "1")
    assert (made.code, made.said) == (0, "")
    assert made.text.count("Write a report about ") >= 5
