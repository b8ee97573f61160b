"""What `palaver show` says of a session."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

from palaver.recording.run_reader import Run
from palaver.recording.showing import as_text, conversations


def test_what_is_said_of_a_message_stands_below_it_also_if_the_session_went_on() -> None:
    texts = [b"NEW", b"ID 1", b"NEW"]
    messages = [
        SimpleNamespace(at=0.0, sender="S", recipient=None, symbol="<x>", data=text, aside="") for text in texts
    ]
    finding = SimpleNamespace(session=1, messages=1, got=b"ID 1", headline="finding 1", explanation="  it  <- here")
    session = SimpleNamespace(verdict=None, sent=2, received=1, started=0.0, cut_off="", has_details=True)
    stub = SimpleNamespace(
        findings=[finding], session=lambda _: session, messages=lambda _: messages, target=lambda _: []
    )
    run = cast(Run, stub)
    (shown,) = conversations(run, session=1)
    assert [line.split()[-1] for line in as_text(run, shown)][1:] == ["'NEW'", "1'", "here", "'NEW'", "1"]
