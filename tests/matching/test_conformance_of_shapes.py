"""Cases observed on the reference implementation, as far as they are about grammars alone."""

from __future__ import annotations

import json
from ast import Expression as PythonExpression
from pathlib import Path
from typing import Any

import pytest

from palaver.grammar.lowering import lower
from palaver.matching.matcher import compile_matcher
from palaver.source import Source
from palaver.spec.ast import Expression
from palaver.spec.diagnostics import Reporter
from palaver.spec.spec_files import parse_spec
from palaver.trees.node import Node, Part
from palaver.trees.values import leaves_of

FEATURES = {"comprep", "bits", "rep", "regex", "rules", "lex", "bytes", "stdlib", "prefix", "ambig"}
PATH = Path(__file__).parent.parent / "conformance" / "cases.jsonl"
ALL = [json.loads(line) for line in PATH.read_text(encoding="utf-8").splitlines()]
# Constraints are none of the matcher's business; a spec that the reference accepted says nothing if there is one.
CASES = [case for case in ALL if case["feature"] in FEATURES and case["op"] == "parse" and "where" not in case["spec"]]


class Value:
    """As much of a tree as the bounds of the cases need."""

    def __init__(self, node: Node) -> None:
        self._leaves = leaves_of(node)

    def __int__(self) -> int:
        if all(isinstance(leaf, int) for leaf in self._leaves):
            return int("".join(map(str, self._leaves)), 2)
        return int(b"".join(map(_as_bytes, self._leaves)))

    def __bytes__(self) -> bytes:
        return b"".join(map(_as_bytes, self._leaves))


def _as_bytes(leaf: Any) -> bytes:
    return leaf if isinstance(leaf, bytes) else str(leaf).encode()


def plain(part: Part) -> Any:
    if isinstance(part, Node):
        return [str(part.symbol), *map(plain, part.children)]
    if isinstance(part, bytes):
        return {"hex": part.hex()}
    return {"bit": part} if isinstance(part, int) else part


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_a_case_of_the_reference(case: dict[str, Any]) -> None:
    report = Reporter()
    file = parse_spec(Source("case.fan", case["spec"]), report)
    grammar = lower([file], report, start=case["start"])
    report.raise_if_errors()
    names: dict[str, Any] = {}
    exec(compile(file.python, "case.fan", "exec"), names)

    def bound(expression: Expression, node: Node | None) -> int:
        values = {mention.name: Value(node) for mention in expression.mentions if node is not None}
        return int(eval(compile(PythonExpression(expression.python), "<bound>", "eval"), {**names, **values}))

    rules = {symbol: rule.body for symbol, rule in grammar.rules.items()}
    data = bytes.fromhex(case["input"]) if case["input_encoding"] == "hex" else case["input"]
    shape = compile_matcher(rules, case["start"], bound=bound)
    matcher = shape.matcher(whole=True, binary=isinstance(data, bytes))
    matcher.feed(data)
    found = next(matcher.partial_trees() if case.get("prefix") else matcher.trees(), None)
    assert (found is not None) == case["accept"]
    if "tree" in case and not case.get("prefix"):
        assert found is not None
        assert plain(found) == case["tree"]
