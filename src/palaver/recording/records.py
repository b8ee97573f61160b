"""Inputs, actions and turns of a session as rows of the table `wire`, and back."""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias, assert_never

from palaver.addresses import Address
from palaver.session.interface import (
    Action,
    Close,
    Closed,
    Connected,
    Failed,
    Finish,
    Heard,
    Input,
    Listening,
    Open,
    Opened,
    Received,
    Secure,
    Secured,
    Send,
    TimePassed,
    Tls,
    Turn,
)

# The fields of an address that say where it is.
_ADDRESS = ("scheme", "host", "port", "path", "command")

WireEvent: TypeAlias = Input | Action | Turn


class WireRow(NamedTuple):
    """A row, without its session and number."""

    at: float
    kind: str
    link: str | None = None
    data: bytes | None = None
    detail: str | None = None  # the rest, in JSON


def row_of(each: WireEvent, at: float) -> WireRow:
    """The row of something that happened; actions have no time of their own, and happened `at` this one."""
    match each:
        case Received(when, link, data, is_whole):
            return WireRow(when, "received", link, data, '{"is_whole": true}' if is_whole else None)
        case Send(link, data):
            return WireRow(at, "send", link, data)
        case TimePassed(when):
            return WireRow(when, "time passed")
        case Turn(_, when, "answered", heard):
            return WireRow(when, "answered", detail=_json(heard=[_told(part) for part in heard]))
        case Turn(_, when, outcome):
            return WireRow(when, outcome, None, None, made_at(each))
        case Opened(when, link, port):
            return WireRow(when, "opened", link, detail=_json(port=port) if port else None)
        case Closed(when, link, None, None):
            return WireRow(when, "closed", link)
        case Closed(when, link, cause, exit_code):
            return WireRow(when, "closed", link, detail=_json(cause=cause, exit_code=exit_code))
        case Listening(when, link, port):
            return WireRow(when, "listening", link, detail=_json(port=port))
        case Failed(when, link, cause, reason):
            return WireRow(when, "failed", link, detail=_json(cause=cause, reason=reason))
        case Connected(when, link):
            return WireRow(when, "connected", link)
        case Secured(when, link):
            return WireRow(when, "secured", link)
        case Open(link, address, role, tls):
            return WireRow(at, "open", link, detail=_open_detail(address, role, tls))
        case Secure(link, role, tls):
            return WireRow(at, "secure", link, detail=_json(role=role, tls=asdict(tls)))
        case Finish(link):
            return WireRow(at, "finish", link)
        case Close(link, abruptly):
            return WireRow(at, "close", link, detail=_json(abruptly=True) if abruptly else None)
        case _:
            assert_never(each)


@lru_cache(maxsize=64)  # each session opens the same
def _open_detail(address: Address, role: str, tls: Tls | None) -> str:
    place = {name: getattr(address, name) for name in _ADDRESS}
    if address.fresh_port:
        place["fresh_port"] = True
    return _json(address=place, role=role, tls=None if tls is None else asdict(tls))


def _told(heard: Heard) -> dict[str, str | None]:
    """The messages that a party has heard, as JSON can hold it: each character is a byte."""
    data = None if heard.data is None else heard.data.decode("latin-1")
    return {**asdict(heard), "data": data}


def _heard(told: dict[str, str]) -> Heard:
    data = None if told["data"] is None else told["data"].encode("latin-1")
    return Heard(told["party"], data, told["sender"], told["fault"], told["told"])


def _json(**values: Any) -> str:
    return json.dumps({name: value for name, value in values.items() if value is not None})


def made_at(turn: Turn) -> str | None:
    """The detail of a turn, written by hand, as there is one for each message."""
    return None if turn.made_at == turn.at else f'{{"made_at": {turn.made_at!r}}}'


def events_of(row: WireRow) -> list[WireEvent]:
    """The row of an event. :raises KeyError, TypeError, ValueError: no such row is written"""
    if row.kind == "said":
        return [event_of(row._replace(kind="taken")), Send(row.link or "", row.data or b"")]
    return [event_of(row)]


def event_of(row: WireRow) -> WireEvent:
    """The event of a row. :raises KeyError, TypeError, ValueError: no such row is written"""
    rest: dict[str, Any] = {} if row.detail is None else json.loads(row.detail)
    at, link, data = row.at, row.link or "", row.data or b""
    if "tls" in rest:
        rest["tls"] = Tls(**rest["tls"])
    if "address" in rest:
        address = rest["address"]
        rest["address"] = Address(**{**address, "command": tuple(address["command"])})
    match row.kind:
        case "received":
            return Received(at, link, data, **rest)
        case "send":
            return Send(link, data)
        case "time passed":
            return TimePassed(at)
        case "taken" | "dropped" | "yielded" as outcome:
            return Turn(rest.get("made_at", at), at, outcome)
        case "answered":
            return Turn(at, at, "answered", tuple(map(_heard, rest["heard"])))
        case "opened":
            return Opened(at, link, **rest)
        case "closed":
            return Closed(at, link, **rest)
        case "listening":
            return Listening(at, link, **rest)
        case "failed":
            return Failed(at, link, **rest)
        case "connected":
            return Connected(at, link)
        case "secured":
            return Secured(at, link)
        case "open":
            return Open(link, **rest)
        case "secure":
            return Secure(link, **rest)
        case "finish":
            return Finish(link)
        case "close":
            return Close(link, **rest)
    raise ValueError(f"there is no kind {row.kind!r} of events")
