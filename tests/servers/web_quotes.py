"""A small API of quotes over HTTP, as a program: `web_quotes.py` prints its port and serves until it is ended.

| request | answer |
|---|---|
| `GET /quotes?limit=N` | 200 `{"quotes": [{"id": 1, "text": "…"}, …]}`, N of them; 400 unless N is from 1 to 10 |
| `POST /quotes` with `{"text": "…"}` | 201 and the quote with its new id; 400 if the body is anything else |
| `GET /quotes/ID` | 200 and the quote; 404 |
| `DELETE /quotes/ID` | 204; 404 |
| `GET /count` | 200 `{"count": N}` |
| anything else | 404 |

`Quotes` is what the API does, and knows nothing of HTTP; wrong servers are made by changing one of its methods.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

MOST_AT_ONCE = 10

SAYINGS = (
    "A dune has no straight side.",
    "Count the water before you count the days.",
    'Who says "tomorrow" has not seen the wind.',
    "The path is where the others walked.",
    "Sand keeps no promise.",
    "A shadow is half a house.",
    "Listen first; the desert speaks softly.",
    "Even a storm began as a breeze.",
    "Two wells, one thirst.",
    "Night is the traveller's friend.",
    "A map is a wish \\ a memory.",
    "What is buried is not lost.",
)


@dataclass(frozen=True)
class Answer:
    """A status, and a body with its type. A wrong server may announce too short a body."""

    status: int
    body: str = ""
    type: str = "application/json"
    too_short_by: int = 0


def as_json(status: int, value: Any) -> Answer:
    return Answer(status, json.dumps(value))


def failure(status: int, error: str) -> Answer:
    return as_json(status, {"error": error})


class Quotes:
    """The quotes, and what is answered to requests about them."""

    def __init__(self) -> None:
        self.texts = dict(enumerate(SAYINGS, start=1))
        self.next_id = len(self.texts) + 1

    def answer(self, method: str, target: str, body: str) -> Answer:
        """What is answered to a request."""
        url = urlsplit(target)
        quote_id = re.fullmatch("/quotes/([1-9][0-9]*)", url.path)
        match method, url.path:
            case "GET", "/quotes":
                return self.list(parse_qs(url.query).get("limit", [""])[0])
            case "POST", "/quotes":
                return self.add(body)
            case "GET", "/count":
                return as_json(200, {"count": self.count()})
            case "GET", _ if quote_id:
                return self.look(int(quote_id[1]))
            case "DELETE", _ if quote_id:
                return self.remove(int(quote_id[1]))
        return failure(404, "there is nothing of that name")

    def list(self, limit: str) -> Answer:
        if not re.fullmatch("[0-9]{1,3}", limit) or not 1 <= int(limit) <= MOST_AT_ONCE:
            return failure(400, f"limit must be a number from 1 to {MOST_AT_ONCE}")
        chosen = list(self.texts)[: int(limit)]
        return as_json(200, {"quotes": [self.quote(each) for each in chosen]})

    def add(self, body: str) -> Answer:
        try:
            value = json.loads(body)
        except ValueError:
            return failure(400, "the body is not JSON")
        text = value.get("text") if isinstance(value, dict) else None
        if not isinstance(text, str) or not text:
            return failure(400, "a quote needs a text")
        quote_id, self.next_id = self.next_id, self.next_id + 1
        self.texts[quote_id] = text
        return as_json(201, self.quote(quote_id))

    def look(self, quote_id: int) -> Answer:
        if quote_id not in self.texts:
            return self.missing(quote_id)
        return as_json(200, self.quote(quote_id))

    def remove(self, quote_id: int) -> Answer:
        if self.texts.pop(quote_id, None) is None:
            return self.missing(quote_id)
        return Answer(204)

    def missing(self, quote_id: int) -> Answer:
        return failure(404, f"there is no quote {quote_id}")

    def count(self) -> int:
        return len(self.texts)

    def quote(self, quote_id: int) -> dict[str, Any]:
        return {"id": quote_id, "text": self.texts[quote_id]}


def serve(respond: Callable[[str, str, str], Answer]) -> None:
    """Answer HTTP requests at the port in the variable PORT, or at a free one, which is printed, until we are ended."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # an answer goes out in one piece

        def handle_any(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode(errors="replace")
            answer = respond(self.command, self.path, body)
            data = answer.body.encode()
            self.send_response(answer.status)
            if answer.status != 204:
                self.send_header("Content-Type", answer.type)
                self.send_header("Content-Length", str(len(data) - answer.too_short_by))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_DELETE = handle_any

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "0"))), Handler) as server:
        print(server.server_port, flush=True)
        server.serve_forever()


if __name__ == "__main__":
    serve(Quotes().answer)
