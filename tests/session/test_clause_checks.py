"""What the monitor can check while nodes are open is known from the clause alone."""

from __future__ import annotations

import pytest

import palaver
from palaver.session.clause_checks import is_about_each_state, is_checked_early, is_checked_while_open, limit_of_counts
from palaver.solving.clauses import Clause, clauses_of

RULES = """
<start> ::= <exchange>+
<exchange> ::= <Client:ask> <Server:answer>
<ask> ::= "ASK " <word> "\\n"
<answer> ::= "SAY " <word> "\\n"
<word> ::= r"[a-z]{1,8}"
"""


def clause(text: str) -> Clause:
    spec = palaver.loads(f"{RULES}where {text}\n")
    (found,) = clauses_of(spec.grammar.constraints[0], spec.analysis, spec.namespace.names)
    return found


@pytest.mark.parametrize(
    ("text", "early", "while_open"),
    [
        ("forall <e> in <exchange>: <e>.<ask>.<word> == <e>.<answer>.<word>", True, True),
        ("forall <e> in <exchange>: len(*<e>.<ask>) == 1", True, False),
        ("forall <e> in <exchange>: str(<e>) != 'x'", True, False),
        ("forall <e> in <exchange>: forall <f> in <exchange>: str(<e>) != str(<f>)", True, False),
        ("exists <e> in <exchange>: <e>.<ask>.<word> == <e>.<answer>.<word>", True, False),
        ("exists <s> in <start>: forall <e> in <exchange>: <e>.<ask>.<word> == <e>.<answer>.<word>", False, False),
        ("str(<ask>) != 'x'", True, False),
        ("forall <s> in <start>: forall <e> in <s>.<exchange>: <e>.<ask>.<word> == <e>.<answer>.<word>", True, True),
        ("forall <s> in <start>: forall <e> in <s>.<exchange>: str(<e>) != 'x'", True, False),
        ("forall <s> in <start>: forall <a> in <s>..<answer>: str(<a>) != 'x'", True, True),
        ("forall <e> in <start>.<exchange>: <e>.<ask>.<word> == <e>.<answer>.<word>", False, False),
        ("forall <a> in <ask>: forall <e> in <start>.<exchange>: <e>.<ask>.<word> == <a>.<word>", False, False),
    ],
)
def test_a_clause_is_checked_early_if_it_compares_parts_of_a_node(text: str, early: bool, while_open: bool) -> None:
    assert is_checked_early(clause(text)) is early
    assert is_checked_while_open(clause(text)) is while_open


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("len(*<ask>) <= 3", 3),
        ("len(*<ask>) < 3", 2),
        ("len(*<ask>) + len(*<answer>) <= 3", 3),
        ("len(*<ask>) >= 3", None),
        ("forall <e> in <exchange>: len(*<e>.<ask>) <= 3", None),
        ("str(<ask>) != 'x'", None),
    ],
)
def test_a_clause_limits_counts_if_it_says_no_more_than_that(text: str, limit: int | None) -> None:
    found = limit_of_counts(7, clause(text), {})
    assert (None if found is None else (found.clause, found.limit)) == (None if limit is None else (7, limit))


@pytest.mark.parametrize(
    ("text", "is_so"),
    [
        ("forall <e> in <exchange>: str(<e>) != 'x'", True),
        ("forall <s> in <start>: forall <e> in <s>.<exchange>: str(<e>) != 'x'", True),
        ("forall <e> in <exchange>: str(<e>) != str(<ask>)", False),
        ("forall <e> in <start>.<exchange>: str(<e>) != 'x'", False),
        ("len(*<exchange>) != 7", False),
    ],
)
def test_a_clause_is_about_each_state_if_it_looks_at_nothing_else(text: str, is_so: bool) -> None:
    assert is_about_each_state(clause(text)) is is_so
