"""A message that can be read as two types is the one that breaks nothing, also if code decides that."""

from __future__ import annotations

import pytest

import palaver
from palaver.testing import run_pair

# A client asks for what is there, or for what is not, by the same words.
SPEC = r"""
<start> ::= <exchange>{1,4} <Client:Server:bye>
<exchange> ::= <found> | <missed>
<found> ::= <Client:Server:get> <Server:Client:ok>
<missed> ::= <Client:Server:get_none> <Server:Client:none>
<get> ::= "GET " <there> "\n"
<get_none> ::= "GET " <absent> "\n"
<there> ::= <name>
<absent> ::= <name>
<name> ::= r"[a-z]{3}"
<ok> ::= "ok\n"
<none> ::= "none\n"
<bye> ::= "bye\n"

import random

KNOWN = ["abc", "abd"]


def known_at(node):
    # Nobody can see from outside that this looks at no other message.
    return KNOWN if node.get_root().symbol == "<start>" else []


def known():
    return random.choice(KNOWN)


where forall <p> in <there>: str(<p>) in {known}
where forall <p> in <absent>: str(<p>) not in {known}
"""


@pytest.mark.parametrize("generated", [False, True], ids=["solved", "generated"])
@pytest.mark.parametrize("known", ["KNOWN", "known_at(<p>)"], ids=["plain", "opaque"])
def test_both_sides_mean_the_same(known: str, *, generated: bool) -> None:
    text = SPEC.replace("{known}", known)
    if generated:
        text = text.replace("<there> ::= <name>", "<there> ::= <name> := known()")
    spec = palaver.loads(text)
    said: set[str] = set()
    for seed in range(12):
        pair = run_pair(spec, pairs={"Client": "Server"}, seed=seed)
        assert [*pair.caller.findings, *pair.listener.findings] == [], seed
        said.update(message.symbol for message in pair.caller.said)
    assert said == {"<get>", "<ok>", "<get_none>", "<none>", "<bye>"}
