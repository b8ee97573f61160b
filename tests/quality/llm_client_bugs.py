"""Wrong clients of a language model: what is wrong with them, and within how many sessions that is found.

As a program, `llm_client_bugs.py NAME PORT` is the client of that name for one conversation. Each differs from
`Client`, the right one, in one thing. A bug more is a class, and a row in the table at the end. All of them use the
package `openai`, as clients of language models do.
"""

from __future__ import annotations

import sys
from itertools import islice, permutations
from typing import Any

from catalogue import Bug

SECTIONS = ("Background", "Method", "Findings", "Outlook")


class Client:
    """Asks for reports, so that each choice of the prompt is made once at least."""

    model = "gpt-4.1"
    reports = 12

    def __init__(self, port: int) -> None:
        import openai  # only here, because the table below is needed without it

        url = f"http://127.0.0.1:{port}/v1"
        self.api: Any = openai.OpenAI(base_url=url, api_key="the_password", max_retries=0, timeout=20)

    def run(self) -> None:
        with self.api:
            for number, sections in enumerate(islice(permutations(SECTIONS, 2), self.reports)):
                self.ask(self.prompt(number, *sections))

    def prompt(self, number: int, first: str, second: str) -> str:
        verb, adjective = ("testing", "fixing")[number % 2], ("sustainable", "innovative")[number // 2 % 2]
        noun, place = ("robots", "rockets")[number // 3 % 2], ("on Mars", "at sea")[number // 4 % 2]
        words, avoid = (20, 40, 80)[number % 3], ("crash", "failure", "money")[number // 4]
        return (
            f"Write a report about {verb} {adjective} {noun} {place} in at least {words} words. "
            f"It has these sections: {first}, {second}. Avoid the word: {avoid}."
        )

    def ask(self, prompt: str) -> None:
        answer = self.api.chat.completions.create(model=self.model, messages=self.messages(prompt))
        assert answer.choices[0].message.content.split()

    def messages(self, prompt: str) -> list[dict[str, str]]:
        return [{"role": "user", "content": prompt}]


class OtherModel(Client):
    """Asks a model that nobody wants to pay for."""

    model = "gpt-4.1-preview"


class SameSectionTwice(Client):
    """Wants a section twice."""

    def prompt(self, number: int, first: str, second: str) -> str:
        return super().prompt(number, first, first if number == 3 else second)


class AnyNumber(Client):
    """Counts words in another way."""

    def prompt(self, number: int, first: str, second: str) -> str:
        return super().prompt(number, first, second).replace(" 80 ", " eighty ")


class TwoMessages(Client):
    """Tells the model who it is."""

    def messages(self, prompt: str) -> list[dict[str, str]]:
        return [{"role": "system", "content": "You write reports."}, *super().messages(prompt)]


class OldApi(Client):
    """Uses what was there before there were chats."""

    def ask(self, prompt: str) -> None:
        self.api.completions.create(model=self.model, prompt=prompt)


class Streams(Client):
    """Wants the report piece by piece."""

    def ask(self, prompt: str) -> None:
        self.api.chat.completions.create(model=self.model, messages=self.messages(prompt), stream=True)


BUGS = (
    Bug("OtherModel", 1, "unexpected response"),
    Bug("SameSectionTwice", 1, "constraint violated"),
    Bug("AnyNumber", 1, "unexpected response"),
    Bug("TwoMessages", 1, "unexpected response"),
    Bug("OldApi", 1, "unexpected response"),
    Bug("Streams", 1, "unexpected response"),
)


if __name__ == "__main__":
    clients: list[type[Client]] = [Client, *Client.__subclasses__()]
    kinds = {kind.__name__: kind for kind in clients}
    kinds[sys.argv[1]](int(sys.argv[2])).run()
