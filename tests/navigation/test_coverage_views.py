"""Coverage views count what sessions reach, can be merged, and are read from coverage files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import palaver
from amounts import examples
from palaver.errors import PalaverError
from palaver.matching.forecaster import Forecast, MessageType
from palaver.navigation import coverage_file
from palaver.navigation.coverage_views import Alternatives
from palaver.navigation.state_diagram import CoverageViews, Ink, as_mermaid, diagram
from palaver.trees.node import Node, NonTerminal, OpenNode

WORK = """
<start> ::= <Server:hello> <work>
<work>  ::= <Client:noop> <Server:ok> <work> | <Client:quit> <Server:bye>
<hello> ::= "hi" (" " <word>)* "\\n"
<noop>  ::= "noop" <word>? "\\n"
<ok>    ::= "ok\\n" | "well\\n"
<quit>  ::= "quit\\n"
<bye>   ::= "bye\\n"
<word>  ::= "a" | "b"
where str(<hello>) != "no"
"""


class Run:
    """Conversations of a spec that are noted."""

    def __init__(self, text: str = WORK) -> None:
        self.spec = palaver.loads(text)
        self.forecaster = self.spec.forecaster()
        self.views = CoverageViews(self.spec.analysis, self.forecaster)
        self.states = self.views.states

    def parse(self, session: str) -> Node:
        node = self.spec.parse(session).node
        assert isinstance(node, Node)
        return node

    def hold(self, *sessions: str) -> CoverageViews:
        for session in sessions:
            self.hold_tree(self.parse(session))
        return self.views

    def hold_tree(self, tree: Node) -> None:
        steps: list[tuple[Forecast, MessageType, Node]] = []
        forecast = self.forecaster.begin()
        for message in messages_in(tree):
            assert message.parties is not None
            steps.append((forecast, MessageType(message.symbol, *message.parties), message))
            forecast = forecast.after(steps[-1][1], message)
        hypothesis = next(each for each in forecast.hypotheses if each.can_end)
        for before, move, message in reversed(steps):
            source = before.hypotheses[hypothesis.origin]
            self.views.note_message(move, message)
            self.views.note_transition(source.future, move, hypothesis.future)
            hypothesis = source
        self.views.note_dialogue(tree)


def messages_in(tree: Node) -> Iterator[Node]:
    todo = [tree]
    while todo:
        here = todo.pop()
        if here.parties is not None:
            yield here
        else:
            todo += [child for child in reversed(here.children) if isinstance(child, Node)]


def reached(views: CoverageViews) -> dict[str, tuple[int, int]]:
    return {name: (count, total) for name, count, total in views.summary()}


def taken(rules: str, *inputs: str) -> list[str]:
    """The alternatives of the rule `<x>` that are taken by inputs."""
    spec = palaver.loads(f"<start> ::= <x>\n{rules}\n")
    alternatives = Alternatives(spec.analysis, "<x>")
    for each in inputs:
        node = spec.parse(each).children[0].node
        assert isinstance(node, Node)
        alternatives.note(node)
    return [text for symbol, text in alternatives.taken() if symbol == "<x>"]


# --- Covered items ----------------------------------------------------------------------------------------------------


def test_at_first_nothing_is_reached() -> None:
    assert Run().views.summary() == [
        ("messages", 0, 5),
        ("states", 0, 5),
        ("transitions", 0, 5),
        ("alternatives", 0, 11),
        ("constraints", 0, 1),
    ]


def test_a_session_covers_its_states_and_transitions() -> None:
    views = Run().hold("hi\nquit\nbye\n")
    assert reached(views) == {
        "messages": (3, 5),
        "states": (4, 5),
        "transitions": (3, 5),
        "alternatives": (2, 11),
        "constraints": (0, 1),
    }
    assert [text for _, text in views.alternatives.taken()] == [
        "<Client:quit> <Server:bye>",
        "(' ' <word>)* none",
    ]


def test_everything_can_be_reached() -> None:
    run = Run()
    views = run.hold("hi a\nnoop\nok\nnoopa\nwell\nquit\nbye\n", "hi a b\nquit\nbye\n", "hi\nquit\nbye\n")
    views.note_constraint('str(<hello>) != "no"', True)
    assert all(count == total for _, count, total in views.summary())
    assert views.message_counts[MessageType("<noop>", "Client", None)] == 2


def test_of_several_target_states_only_the_actual_one_counts() -> None:
    text = "<start> ::= <A:x> <B:y> | <A:x> <B:z>\n<x> ::= 'x'\n<y> ::= 'y'\n<z> ::= 'z'\n"
    assert reached(Run(text).hold("xz"))["transitions"] == (2, 4)


def test_a_constraint_counts_whether_it_held_or_not() -> None:
    views = Run().views
    views.note_constraint('str(<hello>) != "no"', False)
    assert reached(views)["constraints"] == (1, 1)
    assert views.constraint_counts == {'str(<hello>) != "no"': (0, 1)}


# --- Alternatives -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rule, text, expected",
    [
        ("'a' | 'b'", "b", ["'b'"]),
        ("'a' ('b' | 'c' 'd')", "acd", ["'c' 'd'"]),
        ("'a'?", "", ["'a'? none"]),
        ("'a'?", "a", ["'a'? once"]),
        ("'a'*", "aaa", ["'a'* more"]),
        ("'a'+ 'b'", "ab", ["'a'+ once"]),
        ("'a'{2} 'b'", "aab", []),  # there is nothing to choose
        ("'a'{0,1} 'a'{3,}", "aaaa", ["'a'? once"]),
        ("('a' 'b'?)+", "aba", ["('a' 'b'?)+ more", "'b'? none", "'b'? once"]),
        ("('a' | 'b') ('a' | 'b')", "ba", ["'b'", "'a' (2)"]),
        ("r'[a-m]+' | r'[n-z]+'", "xy", ["r'[n-z]+'"]),
        ("r'[a-z]+' | '!'", "!", ["'!'"]),
        ("[[ ('a' | 'b') ('c'?) ]]", "ca", ["'a'", "'c'? once"]),
        ("'' | 'a'", "", ["''"]),
        ("'a' ('' | 'b')", "a", ["''"]),
    ],
)
def test_the_alternatives_of_a_rule_are_read_off_its_children(rule: str, text: str, expected: list[str]) -> None:
    assert taken(f"<x> ::= {rule}", text) == expected


def test_of_two_derivations_the_first_counts() -> None:
    assert taken("<x> ::= <y> 'b' | <y> r'b'\n<y> ::= 'a'", "ab") == ["<y> 'b'"]


def test_bits_and_bytes_have_alternatives_too() -> None:
    spec = palaver.loads("<start> ::= <flag>{8} b'\\xff' <tail>\n<flag> ::= 0 | 1\n<tail> ::= b'a' | 'é'\n")
    alternatives = Alternatives(spec.analysis, "<start>")
    node = spec.parse(b"\x00\xff" + "é".encode()).node
    assert isinstance(node, Node)
    alternatives.note(node)
    assert [text for _, text in alternatives.taken()] == ["0", "'é'"]


def test_of_an_open_node_only_certain_alternatives_count() -> None:
    body = palaver.loads(
        "<start> ::= <a> <b>? <c> | <a> <b> <d> | <c>\n" + "".join(f"<{x}> ::= '{x}'\n" for x in "abcd")
    )
    leaf = {name: Node(NonTerminal(f"<{name}>"), (name,)) for name in "abcd"}
    after: dict[str, list[str]] = {}
    for names in ("", "a", "ab", "abd", "c"):
        alternatives = Alternatives(body.analysis, "<start>")
        alternatives.note(OpenNode(NonTerminal("<start>"), tuple(leaf[name] for name in names)))
        after[names] = [text for _, text in alternatives.taken()]
    assert after == {"": [], "a": [], "ab": [], "abd": ["<a> <b> <d>"], "c": ["<c>"]}


def test_alternatives_are_found_in_a_tree_of_any_depth() -> None:
    depth = 20_000
    node = Node(NonTerminal("<s>"), ("b",))
    for _ in range(depth):
        node = Node(NonTerminal("<s>"), ("a", node))
    alternatives = Alternatives(palaver.loads("<start> ::= <s>\n<s> ::= 'a' <s> | 'b' | 'c'").analysis, "<s>")
    alternatives.note(node)
    assert [text for _, text in alternatives.taken()] == ["'a' <s>", "'b'"]


RULES = """
<start> ::= <x>+
<x> ::= "a" <y>? | "b" (<y> | "c"){1,2} ";" | "d"{2,}
<y> ::= "[" <x>* "]" | r"[0-9]"
"""


def alternatives_by_hand(node: Node) -> set[str]:
    """What the nodes of `RULES` take, told by looking at each."""
    found: set[str] = set()
    todo = [node]
    while todo:
        here = todo.pop()
        parts = [str(child.symbol) if isinstance(child, Node) else str(child) for child in here.children]
        match str(here.symbol), parts:
            case "<start>", [_]:
                found.add("<x>+ once")
            case "<start>", _:
                found.add("<x>+ more")
            case "<x>", ["a", *rest]:
                found |= {"'a' <y>?", "<y>? once" if rest else "<y>? none"}
            case "<x>", ["b", *rest, _]:
                found |= {"'b' (<y> | 'c'){1,2} ';'", f"(<y> | 'c'){{1,2}} {'once' if len(rest) == 1 else 'more'}"}
                found |= {"'c'" if part == "c" else "<y>" for part in rest}
            case "<x>", _:
                found.add("'d'{2,}")
            case "<y>", ["[", *rest, "]"]:
                found |= {"'[' <x>* ']'", f"<x>* {('none', 'once', 'more')[min(len(rest), 2)]}"}
            case _:
                found.add("r'[0-9]'")
        todo += [child for child in here.children if isinstance(child, Node)]
    return found


@given(seed=st.integers(0, 10_000))
@settings(derandomize=True, max_examples=examples(60), deadline=None)
def test_skipping_finished_rules_misses_no_alternative(seed: int) -> None:
    spec = palaver.loads(RULES)
    alternatives = Alternatives(spec.analysis, "<start>")
    expected: set[str] = set()
    for tree in spec.fuzz(4, seed=seed):
        assert isinstance(tree.node, Node)
        expected |= alternatives_by_hand(tree.node)
        alternatives.note(tree.node)
        assert {text for _, text in alternatives.taken()} == expected


# --- Merging and storing ----------------------------------------------------------------------------------------------

CONVERSATIONS = ["hi\nquit\nbye\n", "hi a b\nnoop\nok\nquit\nbye\n", "hi a\nnoopa\nwell\nnoopb\nok\nquit\nbye\n"]


def test_two_runs_merged_are_one_run_of_both() -> None:
    one, other, both = Run(), Run(), Run()
    one.hold(CONVERSATIONS[0])
    other.hold(*CONVERSATIONS[1:])
    one.views.add_data(other.views.as_data())
    assert one.views.as_data() == both.hold(*CONVERSATIONS).as_data()
    assert one.views.summary() == both.views.summary()


def test_coverage_survives_json() -> None:
    run, again = Run(), Run()
    again.views.add_data(json.loads(json.dumps(run.hold(*CONVERSATIONS).as_data())))
    assert again.views.as_data() == run.views.as_data()


def test_items_that_the_spec_no_longer_has_are_dropped() -> None:
    run, again = Run(), Run()
    data = run.hold(*CONVERSATIONS).as_data()
    data["states"]["<gone>"] = 1
    data["transitions"].append(["<gone>", "<Client:noop>", "<work>", 1])
    data["alternatives"]["<gone>"] = ["'x'"]
    data["constraints"]["gone()"] = [1, 0]
    again.views.add_data(data)
    assert again.views.as_data() == run.views.as_data()


def test_coverage_of_another_spec_is_refused() -> None:
    data = Run().hold(CONVERSATIONS[0]).as_data()
    with pytest.raises(PalaverError, match="another spec"):
        Run(WORK.replace("quit", "exit")).views.add_data(data)


def spoilt(**changes: Any) -> dict[str, Any]:
    return {**Run().hold(CONVERSATIONS[0]).as_data(), **changes}


@pytest.mark.parametrize(
    "data",
    [
        [],
        {},
        {"messages": 1},
        *(
            spoilt(**{name: value})
            for name, value in [
                ("states", ["<work>"]),
                ("states", {"<work>": "often"}),
                ("transitions", [["<start>", "<Server:hello>", "<work>"]]),
                ("alternatives", ["'ok'"]),
                ("constraints", {"x": [1]}),
                ("constraints", None),
            ]
        ),
    ],
)
def test_data_in_another_form_is_refused(tmp_path: Path, data: Any) -> None:
    file = tmp_path / "coverage.json"
    coverage_file.write(file, views=data)
    damaged = pytest.raises(PalaverError, match=r"coverage\.json is damaged: .*not in the form")
    with damaged, coverage_file.read(file) as content:
        Run().views.add_data(content["views"])


# --- Colours ----------------------------------------------------------------------------------------------------------


def test_covered_states_are_green_and_others_red() -> None:
    run = Run()
    drawn = diagram(run.states, run.hold("hi\nquit\nbye\n"))
    assert {box.name: box.ink for box in drawn.boxes} == dict.fromkeys(["start", "work", "end"], Ink.COVERED)
    assert {arrow.label[0]: arrow.ink for arrow in drawn.arrows} == {
        "Server: hello": Ink.COVERED,
        "Client: noop": Ink.MISSED,
        "Client: quit": Ink.COVERED,
    }
    mermaid = as_mermaid(drawn)
    assert "    linkStyle 1,3 stroke:#1a7f37,color:#1a7f37\n    linkStyle 2 stroke:#cf222e" in mermaid.replace(
        "\n\n", "\n"
    )


def test_an_exchange_that_was_not_finished_is_yellow() -> None:
    run = Run()
    tree = run.parse("hi\nnoop\nok\nquit\nbye\n")
    hello, noop, *_ = messages_in(tree)
    forecast = run.forecaster.begin()
    for message in (hello, noop):
        assert message.parties is not None
        move = MessageType(message.symbol, *message.parties)
        after = forecast.after(move, message)
        run.views.note_message(move, message)
        run.views.note_transition(forecast.hypotheses[0].future, move, after.hypotheses[0].future)
        forecast = after
    inks = {arrow.label[0]: arrow.ink for arrow in diagram(run.states, run.views).arrows}
    assert inks["Client: noop"] is Ink.PARTLY
