"""Wrong servers of the quotes API, as programs: `rest_bugs.py NAME` serves the one of that name.

Each differs from the right one, `servers/web_quotes.py`, in one thing. `BUGS` tells what must be found, and how soon.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from typing import Any

from catalogue import Bug

from servers.web_quotes import Answer, Quotes, as_json, serve


class OneTooFew(Quotes):
    """Counts the quotes that are asked for from zero, if there are many."""

    def list(self, limit: str) -> Answer:
        return super().list(str(int(limit) - 1) if limit in ("9", "10") else limit)


class TwiceTheSame(Quotes):
    """Gives the first quote again instead of the last one."""

    def list(self, limit: str) -> Answer:
        answer = super().list(limit)
        if answer.status == 200 and limit != "1":
            quotes = json.loads(answer.body)["quotes"]
            return as_json(200, {"quotes": [*quotes[:-1], quotes[0]]})
        return answer


class OneTooManyAllowed(Quotes):
    """Takes the first number that is too high for one that is not."""

    def list(self, limit: str) -> Answer:
        if limit == "11":
            return as_json(200, {"quotes": [self.quote(each) for each in list(self.texts)[:11]]})
        return super().list(limit)


class MissingIsFine(Quotes):
    """Tells of a quote that is not there with the status of success."""

    def missing(self, quote_id: int) -> Answer:
        return Answer(200, super().missing(quote_id).body)


class RemovedIsKept(Quotes):
    """Says that it has removed a quote, and has not."""

    def remove(self, quote_id: int) -> Answer:
        return Answer(204) if quote_id in self.texts else self.missing(quote_id)


class RemovedWithOk(Quotes):
    """Answers a removal with a status of another kind."""

    def remove(self, quote_id: int) -> Answer:
        answer = super().remove(quote_id)
        return as_json(200, {}) if answer.status == 204 else answer


class NoEscapes(Quotes):
    """Writes JSON by hand, and forgets that a text may contain quotation marks."""

    def look(self, quote_id: int) -> Answer:
        answer = super().look(quote_id)
        if answer.status == 200:
            return Answer(200, f'{{"id": {quote_id}, "text": "{self.texts[quote_id]}"}}')
        return answer


class StaleCount(Quotes):
    """Counts once, and then remembers."""

    def __init__(self) -> None:
        super().__init__()
        self.counted = len(self.texts)

    def count(self) -> int:
        return self.counted


class Capital(Quotes):
    """Lets every text begin with a capital letter."""

    def quote(self, quote_id: int) -> dict[str, Any]:
        text = self.texts[quote_id]
        return {"id": quote_id, "text": text[0].upper() + text[1:]}


class AlwaysTheFirst(Quotes):
    """Always finds the first quote."""

    def look(self, quote_id: int) -> Answer:
        answer = super().look(quote_id)
        return as_json(200, self.quote(1)) if answer.status == 200 else answer


class AnyText(Quotes):
    """Takes a number for a text."""

    def add(self, body: str) -> Answer:
        return super().add(body.replace('{"text": 1}', '{"text": "1"}'))


class Page(Quotes):
    """Answers requests for what does not exist with a page for people."""

    def answer(self, method: str, target: str, body: str) -> Answer:
        answer = super().answer(method, target, body)
        is_elsewhere = not target.startswith(("/quotes", "/count"))
        return Answer(404, "<h1>Not found</h1>", "text/html") if is_elsewhere else answer


class OnlyNumbers(Quotes):
    """Fails if a number is asked for and a word is given."""

    def list(self, limit: str) -> Answer:
        return super().list(str(int(limit)))


class CutShort(Quotes):
    """Announces less than it sends."""

    def look(self, quote_id: int) -> Answer:
        return replace(super().look(quote_id), too_short_by=1)


BUGS = (
    Bug("OneTooFew", 15, "constraint violated"),
    Bug("TwiceTheSame", 15, "constraint violated"),
    Bug("OneTooManyAllowed", 60, "unexpected response"),
    Bug("MissingIsFine", 15, "unexpected response"),
    Bug("RemovedIsKept", 15, "unexpected response"),
    Bug("RemovedWithOk", 15, "unexpected response"),
    Bug("NoEscapes", 15, "unexpected response"),
    Bug("StaleCount", 15, "constraint violated"),
    Bug("Capital", 60, "constraint violated"),
    Bug("AlwaysTheFirst", 15, "constraint violated"),
    Bug("AnyText", 30, "unexpected response"),
    Bug("Page", 15, "unexpected response"),
    Bug("OnlyNumbers", 15, "unexpected response"),
    Bug("CutShort", 15, "unexpected response"),
)


if __name__ == "__main__":
    kinds = {kind.__name__: kind for kind in Quotes.__subclasses__()}
    serve(kinds[sys.argv[1]]().answer)
