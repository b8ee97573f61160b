"""Cases of the spec language observed on the reference implementation, and where palaver decides otherwise.

`OVERRULED` names, for each case that palaver answers differently on purpose, the rule it follows instead.
"""

import json
from pathlib import Path
from typing import Any

import pytest

import palaver
from palaver.trees.node import Node, Part

CASES = [
    json.loads(line)
    for name in ("cases.jsonl", "more_cases.jsonl")
    for line in (Path(__file__).parent / name).read_text().splitlines()
]

NOTHING_ELSE_IS_RESERVED = (
    "only where, minimizing, maximizing, setting and <name> ::= at the start of a statement are the language's own "
    "words; any Python keyword may name a symbol"
)
OVERRULED = {
    "lex-20": NOTHING_ELSE_IS_RESERVED,
    "lex-21": NOTHING_ELSE_IS_RESERVED,
    "lex-23": NOTHING_ELSE_IS_RESERVED,
    "lex-27": NOTHING_ELSE_IS_RESERVED,
    "cond-27": "all of Python is legal in a spec, := included",
}


def load(case: dict[str, Any]) -> palaver.Spec:
    constraints = [case["constraint"]] if "constraint" in case else []
    texts = [case["spec"], *case.get("more_specs", [])]
    return palaver.loads(*texts, constraints=constraints, start=case["start"], stdlib=case["stdlib"])


def input_of(case: dict[str, Any]) -> str | bytes:
    return bytes.fromhex(case["input"]) if case["input_encoding"] == "hex" else case["input"]


def nested(part: Part) -> Any:
    """A tree as the cases write it."""
    match part:
        case Node(symbol, children):
            return [str(symbol), *map(nested, children)]
        case bytes():
            return {"hex": part.hex()}
        case int():
            return {"bit": part}
        case _:
            return part


def cases(operation: str) -> list[Any]:
    return [pytest.param(case, id=case["id"]) for case in CASES if case["op"] == operation]


@pytest.mark.parametrize("case", cases("parse"))
def test_an_input_is_accepted_or_rejected_as_the_language_says(case: dict[str, Any]) -> None:
    trees = list(load(case).parses(input_of(case), prefix=case.get("prefix", False)))
    assert bool(trees) is case["accept"]
    if "tree" in case:
        assert nested(trees[0].node) == case["tree"]


@pytest.mark.parametrize("case", cases("fuzz"))
def test_generated_outputs_pass_the_check_of_the_case(case: dict[str, Any]) -> None:
    spec = load(case)
    try:
        made = list(spec.fuzz(case["n"], seed=1))
    except palaver.Unsolvable:
        made = []
    assert len(made) >= case["min_outputs"]
    for tree in made:
        out = bytes(tree) if spec.is_binary else str(tree)
        assert eval(case["check"], {"out": out}), out


@pytest.mark.parametrize("case", cases("error"))
def test_errors_are_reported(case: dict[str, Any]) -> None:
    if case["id"] in OVERRULED:
        load(case)
        return
    with pytest.raises(palaver.PalaverError):
        use(load(case), case)


def use(spec: palaver.Spec, case: dict[str, Any]) -> None:
    if case["phase"] == "parse":
        spec.parse(input_of(case))
    elif case["phase"] == "fuzz":
        list(spec.fuzz(1, seed=1))
