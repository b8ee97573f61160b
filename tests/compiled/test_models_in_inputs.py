"""An input that contradicts a model is rejected at the message that does so, with the state of the model."""

from __future__ import annotations

import pytest

import palaver
from palaver.errors import Rejected

COUNTER = """
from functools import reduce
<start> ::= <exchange>*
<exchange> ::= <In:add> <Out:sum>
<add> ::= "add " <n> "\\n"
<sum> ::= "sum " <n> "\\n"
<n> ::= r"[0-9]+"
def follow(state, exchange):
    total, mistakes = state
    added, said = [int(word) for word in str(exchange).split()[1::2]]
    return total + added, mistakes + (said != total + added)
def forgive(state, exchange):
    total, _ = follow(state, exchange)
    return total, int(str(exchange).split()[-1]) != total
where reduce(STEP, *<exchange>, (0, 0))[1] == 0
"""


def test_the_message_that_contradicts_a_model_is_named_with_the_state_after_it() -> None:
    spec = palaver.loads(COUNTER.replace("STEP", "follow"))
    said = "add 2\nsum 2\nadd 3\nsum 6\nadd 1\nsum 6\n"
    with pytest.raises(Rejected, match=r"does not hold \(the state of follow = \(5, 1\)\)") as rejected:
        spec.parse(said)
    assert rejected.value.offset == said.index("sum 6")


def test_a_model_that_holds_again_is_contradicted_by_what_comes_last() -> None:
    spec = palaver.loads(COUNTER.replace("STEP", "forgive"))
    assert str(spec.parse("add 2\nsum 3\nadd 3\nsum 5\n"))
    said = "add 2\nsum 3\nadd 3\nsum 5\nadd 1\nsum 9\n"
    with pytest.raises(Rejected, match=r"the state of forgive = \(6, True\)") as rejected:
        spec.parse(said)
    assert rejected.value.offset == said.index("sum 9")


def test_a_model_that_raises_is_an_error_in_the_spec() -> None:
    spec = palaver.loads(COUNTER.replace("STEP", "follow").replace("total, mistakes = state", "total, mistakes = None"))
    with pytest.raises(Rejected, match="this is an error in the spec, not in the input"):
        spec.parse("add 2\nsum 2\n")
