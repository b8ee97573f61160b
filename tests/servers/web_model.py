"""A language model behind an API like OpenAI's, as a program: `web_model.py [RULE…]` prints its port and serves it.

The model knows one kind of prompt, that for a report, and does as it is told. If rules are named, it breaks one of them
in every third report: `length`, `sections`, `subject` or `avoid`.
"""

from __future__ import annotations

import json
import re
import sys
from itertools import count

from servers.web_quotes import Answer, as_json, failure, serve

PROMPT = re.compile(
    r"Write a report about (?P<subject>.*) in at least (?P<words>[0-9]+) words\. "
    r"It has these sections: (?P<first>\w+), (?P<second>\w+)\. Avoid the word: (?P<avoid>\w+)\."
)

EVERY = 3


class Model:
    """Writes reports."""

    def __init__(self, broken_rules: list[str]) -> None:
        self._broken_rules = broken_rules
        self._number = count(1)

    def answer(self, method: str, target: str, body: str) -> Answer:
        """What the API answers to a request."""
        if (method, target) != ("POST", "/v1/chat/completions"):
            return failure(404, "there is nothing of that name")
        request = json.loads(body)
        report = self.report(request["messages"][-1]["content"])
        message = {"role": "assistant", "content": report}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        head = {"id": "report", "object": "chat.completion", "created": 0, "model": request["model"]}
        return as_json(200, head | {"choices": [choice]})

    def report(self, prompt: str) -> str:
        asked = PROMPT.fullmatch(prompt)
        if asked is None:
            return "I can only write reports."
        number = next(self._number)
        broken = self._broken_rules[number // EVERY % len(self._broken_rules)] if self._is_weak(number) else ""
        subject = "the weather" if broken == "subject" else asked["subject"]
        filler = " ".join(["and so on"] * (1 if broken == "length" else int(asked["words"])))
        headings = ["Summary", "Remarks"] if broken == "sections" else [asked["first"], asked["second"]]
        last = f"There was one {asked['avoid']}." if broken == "avoid" else "Nothing bad happened."
        return f"# {headings[0]}\nThis is about {subject}, {filler}.\n\n# {headings[1]}\n{last}\n"

    def _is_weak(self, number: int) -> bool:
        return bool(self._broken_rules) and number % EVERY == 0


if __name__ == "__main__":
    serve(Model(sys.argv[1:]).answer)
