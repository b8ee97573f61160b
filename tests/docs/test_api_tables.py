"""The tables of docs/api.md agree with the code: what they name is there, and what can be given or read is named."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields
from typing import get_args

import pytest
from doc_examples import ROOT

import palaver
from palaver.campaign.events import Event
from palaver.campaign.target_care import TargetOptions
from palaver.session.findings import Finding

TEXT = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
OF_EVERY_EVENT = {"at", "session"}


def rows(heading: str) -> list[tuple[str, str]]:
    """The first two cells of each row of the table with this heading."""
    table = re.search(rf"^\| {re.escape(heading)} \|.*\n\|---.*\n((?:\|.*\n)+)", TEXT, re.MULTILINE)
    assert table, heading
    cells = [line.split(" | ") for line in table[1].splitlines()]
    return [(row[0].removeprefix("| "), row[1]) for row in cells]


def names_in(cell: str) -> set[str]:
    """The words in backticks that are Python names."""
    return set(re.findall(r"`([A-Za-z_]\w*)(?:\(.*?\))?`", cell))


def members_of(kind: type) -> set[str]:
    """Attributes of a class, with fields of a dataclass and what the constructor assigns."""
    annotated = {name for each in kind.__mro__ for name in inspect.get_annotations(each)}
    return set(dir(kind)) | annotated | set(re.findall(r"self\.(\w+)\b.* = ", inspect.getsource(kind)))


def test_every_keyword_of_talk_is_in_its_table() -> None:
    keywords = {name for name in inspect.signature(palaver.talk).parameters if name not in ("spec", "care")}
    told = set().union(*(names_in(first) for first, _ in rows("keyword of `talk`")))
    assert told == keywords | set(TargetOptions.__annotations__)


@pytest.mark.parametrize(
    ("heading", "kind"),
    [
        ("attribute of a campaign", palaver.Campaign),
        ("attribute of a `Finding`", Finding),
        ("field of an `Observation`", palaver.Observation),
    ],
)
def test_attributes_that_are_told_exist(heading: str, kind: type) -> None:
    told = set().union(*(names_in(first) for first, _ in rows(heading)))
    assert told
    assert told <= members_of(kind)


def test_every_field_of_an_event_is_in_its_row() -> None:
    kinds = {event.__name__: event for event in get_args(Event)}
    for first, second in rows("event"):
        events = [kinds[name] for name in names_in(first)]
        own = {field.name for event in events for field in fields(event)} - OF_EVERY_EVENT
        assert own <= names_in(second), first
