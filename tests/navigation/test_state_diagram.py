"""The state diagram of a spec is the one that its author would draw, and every session is a path in it."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from naive_dialogue import NUMBER, NUMBERS
from random_dialogues import RandomDialogue, number_in

import palaver
from amounts import examples
from palaver.matching.dialogue_grammar import MessageType
from palaver.matching.forecaster import Forecast, Forecaster
from palaver.navigation.dialogue_states import DialogueTransition
from palaver.navigation.layout import lay_out
from palaver.navigation.state_diagram import DialogueStateMachine, as_dot, as_mermaid, as_svg, diagram
from palaver.trees.node import Node, NonTerminal

ROOT = Path(__file__).parent.parent.parent


def state_map(rules: str, most: int = 2_000) -> DialogueStateMachine:
    """The map of some rules about the messages a, b, c and the number n."""
    messages = "".join(f'<{name}> ::= "{name}"\n' for name in "abc") + "<n> ::= '0' | '1' | '2'\n"
    return DialogueStateMachine(palaver.loads(rules + "\n" + messages).forecaster(), most)


def told(states: DialogueStateMachine) -> list[str]:
    """The transitions, each on a line; states where all may be over are marked."""

    def name(number: int) -> str:
        state = states.states[number]
        return state.name + "!" * (state.can_end and state.name != "end")

    return [f"{name(s.number)} {move.sender}:{move.symbol[1:-1]} {name(t.number)}" for s, move, t in states.transitions]


# --- States -----------------------------------------------------------------------------------------------------------


def test_each_message_leads_to_the_next_state() -> None:
    states = state_map("<start> ::= <C:a> <S:b>")
    assert told(states) == ["<start> C:a <start> 2", "<start> 2 S:b end"]
    assert states.states[0].name == "<start>"
    assert states.is_complete


def test_a_rule_is_one_state_wherever_it_is_entered() -> None:
    states = state_map("<start> ::= <C:a> <work>\n<work> ::= <C:b> <S:a> <work> | <C:c> <S:c> <work> | <S:b>")
    assert told(states) == [
        "<start> C:a <work>",
        "<work> C:b <work> 2",
        "<work> C:c <work> 3",
        "<work> S:b end",
        "<work> 2 S:a <work>",
        "<work> 3 S:c <work>",
    ]


def test_a_state_that_only_leads_to_another_is_that_other() -> None:
    states = state_map("<start> ::= <first>\n<first> ::= <second>\n<second> ::= <C:a> <first> | <S:b>")
    assert told(states) == ["<second> C:a <second>", "<second> S:b end"]


def test_a_loop_returns_to_its_first_state() -> None:
    assert told(state_map("<start> ::= <C:a>* <S:b>")) == ["<start> C:a <start>", "<start> S:b end"]


def test_a_counted_loop_has_a_state_for_each_count() -> None:
    assert told(state_map("<start> ::= <C:a>{1,2} <S:b>")) == [
        "<start> C:a <start> 2",
        "<start> 2 C:a <start> 3",
        "<start> 2 S:b end",
        "<start> 3 S:b end",
    ]


def test_states_where_the_session_may_end_are_marked() -> None:
    assert told(state_map("<start> ::= <exchange>*\n<exchange> ::= <C:a> <S:b>?")) == [
        "<start>! C:a <exchange>!",
        "<exchange>! C:a <exchange>!",
        "<exchange>! S:b <start>!",
    ]


def test_a_message_may_lead_to_several_states() -> None:
    assert told(state_map("<start> ::= <C:a> <S:b> <start> | <C:a> <S:c>")) == [
        "<start> C:a <start> 2",
        "<start> C:a <start> 3",
        "<start> 2 S:b <start>",
        "<start> 3 S:c end",
    ]


def test_a_rule_with_different_sequels_is_several_states() -> None:
    states = state_map("<start> ::= <C:a> <twice> <C:b> | <C:b> <twice> <C:c>\n<twice> ::= <S:a> <S:b>")
    assert [state.name for state in states.states] == [
        "<start>",
        "<twice>",
        "<twice> 2",
        "<twice> 3",
        "<twice> 4",
        "<start> 2",
        "<start> 3",
        "end",
    ]


def test_parts_in_any_order_are_a_state_for_each_set_that_is_left() -> None:
    states = state_map("<start> ::= [[ <C:a> <C:b> ]] <S:c>")
    assert told(states) == [
        "<start> C:a <start> 2",
        "<start> C:b <start> 3",
        "<start> 2 C:b <start> 4",
        "<start> 3 C:a <start> 4",
        "<start> 4 S:c end",
    ]


@pytest.mark.parametrize("rules", ["<start> ::= <start> <C:a> | <S:b>", "<start> ::= <S:b> <C:a>*"])
def test_left_recursion_is_a_loop(rules: str) -> None:
    states = state_map(rules)
    (begin, _, after), (source, move, target) = states.transitions
    assert begin is states.states[0]
    assert (source, target) == (after, after)
    assert after.can_end
    assert move == MessageType("<a>", "C", None)


def test_a_computed_repetition_makes_any_number_of_rounds() -> None:
    assert told(state_map("<start> ::= <C:n> <round>{int(<n>)} <S:c>\n<round> ::= <C:a> <S:b>")) == [
        "<start> C:n <start> 2",
        "<start> 2 S:c end",
        "<start> 2 C:a <round>",
        "<round> S:b <start> 3",
        "<start> 3 S:c end",
        "<start> 3 C:a <round>",
    ]


def test_a_future_inside_of_a_computed_repetition_is_found_whatever_its_count() -> None:
    spec = palaver.loads("<start> ::= <C:n> <C:a>{int(<n>)} <S:b>\n<n> ::= '0' | '3'\n<a> ::= 'a'\n<b> ::= 'b'\n")
    forecaster = spec.forecaster()
    states = DialogueStateMachine(forecaster)
    forecast = forecaster.begin()
    names = []
    for letter in "3aaab":
        (move,) = forecast.moves
        forecast = forecast.after(move, Node(NonTerminal(move.symbol), (letter,)))
        state = states.state_of(forecast.hypotheses[0].future)
        assert state is not None
        names.append(state.name)
    assert names == ["<start> 2", "<start> 3", "<start> 3", "<start> 3", "end"]


def test_a_dialogue_that_nests_without_end_is_cut_off() -> None:
    states = state_map("<start> ::= <C:a> <start> <S:b> | <C:c>", most=10)
    assert not states.is_complete
    assert len(states.states) == 10
    assert "only the first 10 states are shown" in as_mermaid(diagram(states))


def test_a_future_beyond_the_cut_off_has_no_state() -> None:
    spec = palaver.loads("<start> ::= <C:a> <start> <S:b> | <C:c>\n" + "".join(f"<{x}> ::= '{x}'\n" for x in "abc"))
    forecaster = spec.forecaster()
    states = DialogueStateMachine(forecaster, most=10)
    forecast = forecaster.begin()
    for _ in range(5_000):  # a stack this high must not make anything recurse
        forecast = forecast.after(forecast.moves[0], Node(NonTerminal("<a>"), ("a",)))
    assert states.state_of(forecast.hypotheses[0].future) is None


def test_the_state_machine_of_a_real_spec_is_complete_and_small() -> None:
    spec = palaver.load(str(ROOT / "benchmarks" / "talking" / "smtp.fan"))
    states = DialogueStateMachine(spec.forecaster())
    assert (len(states.states), len(states.transitions), states.is_complete) == (19, 23, True)


# --- Walks ------------------------------------------------------------------------------------------------------------


def check_a_walk(seed: int, *, is_computed: bool, distinguishes: bool) -> None:
    dialogue = RandomDialogue(seed, is_computed=is_computed)
    distinguish = dialogue.states if distinguishes else ()
    forecaster = Forecaster(dialogue.rules, "<start>", bound=number_in, distinguish=distinguish)
    states = DialogueStateMachine(forecaster, most=200)
    assert len({state.name for state in states.states}) == len(states.states)
    random = Random(seed)
    forecast = forecaster.begin()
    assert states.state_of(forecast.hypotheses[0].future) is states.states[0]
    for _ in range(8):
        if not forecast.moves or not states.is_complete:
            break
        move = random.choice(forecast.moves)
        text = random.choice(NUMBERS) if move.symbol == NUMBER else move.symbol[1:-1]
        after = forecast.after(move, Node(NonTerminal(move.symbol), (text,)))
        check_a_step(states, forecast, move, after)
        forecast = after


def check_a_step(states: DialogueStateMachine, before: Forecast, move: MessageType, after: Forecast) -> None:
    for hypothesis in after.hypotheses:
        source = states.state_of(before.hypotheses[hypothesis.origin].future)
        target = states.state_of(hypothesis.future)
        assert source is not None
        assert target is not None
        assert DialogueTransition(source, move, target) in states.transitions
        assert target.can_end or not hypothesis.can_end


@given(st.integers(0, 1 << 32))
@settings(derandomize=True, max_examples=examples(60), deadline=None)
def test_every_walk_is_a_path_in_the_machine(seed: int) -> None:
    check_a_walk(seed, is_computed=False, distinguishes=False)


@given(st.integers(0, 1 << 32))
@example(8628)  # parts in any order, one of which a field makes empty
@settings(derandomize=True, max_examples=examples(40), deadline=None)
def test_every_walk_is_a_path_in_the_machine_with_any_fields(seed: int) -> None:
    check_a_walk(seed, is_computed=True, distinguishes=False)


@given(st.integers(0, 1 << 32))
@settings(derandomize=True, max_examples=examples(25), deadline=None)
def test_every_walk_is_a_path_in_the_machine_with_distinguished_states(seed: int) -> None:
    check_a_walk(seed, is_computed=False, distinguishes=True)


@given(st.integers(0, 1 << 32))
@settings(derandomize=True, max_examples=examples(40), deadline=None)
def test_every_transition_can_be_taken(seed: int) -> None:
    """Without computed repetitions, the map allows nothing that the spec does not."""
    dialogue = RandomDialogue(seed)
    states = DialogueStateMachine(Forecaster(dialogue.rules, "<start>", bound=number_in), most=30)
    random = Random(seed)
    forecast = Forecaster(dialogue.rules, "<start>", bound=number_in).begin()
    state = states.states[0]
    for _ in range(8):
        ways = [(move, target) for source, move, target in states.transitions if source is state]
        if not ways:
            break
        move, state = random.choice(ways)
        assert move in forecast.moves
        forecast = forecast.after(move, Node(NonTerminal(move.symbol), (move.symbol[1:-1],)))


# --- Drawings ---------------------------------------------------------------------------------------------------------

WORK = """
<start> ::= <S:C:greeting> <work>
<work>  ::= <C:S:noop> <S:C:ok> <work> | <C:S:quit> <S:C:bye>
<greeting> ::= "hi" \n<noop> ::= "noop"\n<ok> ::= "ok"\n<quit> ::= "quit"\n<bye> ::= "bye"
"""


def test_an_exchange_is_one_arrow() -> None:
    states = DialogueStateMachine(palaver.loads(WORK).forecaster())
    assert as_mermaid(diagram(states)) == (
        "flowchart LR\n"
        "    begin(( ))\n"
        '    s0("start")\n'
        '    s1("work")\n'
        '    s2[["end"]]\n'
        "    begin --> s0\n"
        '    s0 -->|"S -> C: greeting"| s1\n'
        '    s1 -->|"C -> S: noop<br>S -> C: ok"| s1\n'
        '    s1 -->|"C -> S: quit<br>S -> C: bye"| s2\n'
    )


PAPER = """
<start>   ::= <connect>
<connect> ::= <server:id> <helo>
<helo>    ::= <client:HELO> (<server:hello> <from> | <server:error>)
<from>    ::= <client:MAIL_FROM> (<server:ok> <to> | <server:error>)
<to>      ::= <client:RCPT_TO> (<server:ok> <data> | <server:ok> <to> | <server:error>)
<data>    ::= <client:DATA> <server:end_data> <client:message> (<server:ok> <quit> | <server:error>)
<quit>    ::= <client:QUIT> <server:bye>
"""


def test_the_grammar_of_the_paper_is_its_state_model() -> None:
    messages = dict.fromkeys(re.findall(r":(\w+)>", PAPER))
    spec = palaver.loads(PAPER + "".join(f"<{name}> ::= '{name}'\n" for name in messages))
    drawn = diagram(DialogueStateMachine(spec.forecaster()))
    names = [box.name for box in drawn.boxes]
    inside = {"helo 2", "from 2", "to 2", "data 4"}
    assert [name for name in names if name not in inside] == ["connect", "helo", "from", "end", "to", "data", "quit"]
    # Where a reply decides, there is a state between: the paper draws two arrows instead.
    assert [(names[each.source], " / ".join(each.label), names[each.target]) for each in drawn.arrows] == [
        ("connect", "server: id", "helo"),
        ("helo", "client: HELO", "helo 2"),
        ("helo 2", "server: hello", "from"),
        ("helo 2", "server: error", "end"),
        ("from", "client: MAIL_FROM", "from 2"),
        ("from 2", "server: error", "end"),
        ("from 2", "server: ok", "to"),
        ("to", "client: RCPT_TO", "to 2"),
        ("to 2", "server: error", "end"),
        ("to 2", "server: ok", "data"),
        ("to 2", "server: ok", "to"),
        ("data", "client: DATA / server: end_data / client: message", "data 4"),
        ("data 4", "server: error", "end"),
        ("data 4", "server: ok", "quit"),
        ("quit", "client: QUIT / server: bye", "end"),
    ]


def test_every_message_is_an_arrow_in_the_unfolded_form() -> None:
    states = DialogueStateMachine(palaver.loads(WORK).forecaster())
    assert as_dot(diagram(states, is_folded=False)) == (
        "digraph states {\n"
        "    rankdir=LR\n"
        '    node [shape=box style="rounded,filled" fontname="Helvetica"]\n'
        '    edge [fontname="Helvetica" fontsize=10]\n'
        '    begin [shape=point label=""]\n'
        '    s0 [label="start" color="#444444" fillcolor="#f4f4f4"]\n'
        '    s1 [label="work" color="#444444" fillcolor="#f4f4f4"]\n'
        '    s2 [label="work 2" color="#444444" fillcolor="#f4f4f4"]\n'
        '    s3 [label="work 3" color="#444444" fillcolor="#f4f4f4"]\n'
        '    s4 [label="end" color="#444444" fillcolor="#f4f4f4" peripheries=2]\n'
        "    begin -> s0\n"
        '    s0 -> s1 [label="S -> C: greeting" color="#444444" fontcolor="#444444"]\n'
        '    s1 -> s2 [label="C -> S: noop" color="#444444" fontcolor="#444444"]\n'
        '    s1 -> s3 [label="C -> S: quit" color="#444444" fontcolor="#444444"]\n'
        '    s2 -> s1 [label="S -> C: ok" color="#444444" fontcolor="#444444"]\n'
        '    s3 -> s4 [label="S -> C: bye" color="#444444" fontcolor="#444444"]\n'
        "}\n"
    )


def test_text_that_would_be_markup_is_escaped() -> None:
    spec = palaver.loads("<start> ::= <C:a> '<b attr=\"x\">&#\\\\' <start> | <S:a>\n<a> ::= 'a'\n")
    drawn = diagram(DialogueStateMachine(spec.forecaster()))
    assert "StdOut: '#lt;b attr=#quot;x#quot;>#amp;#35;" in as_mermaid(drawn)
    assert 'attr=\\"x\\"' in as_dot(drawn)
    assert "&lt;b attr=" in as_svg(drawn)


@given(st.integers(0, 1 << 32))
@settings(derandomize=True, max_examples=examples(40), deadline=None)
def test_items_of_a_layout_do_not_overlap(seed: int) -> None:
    random = Random(seed)
    count = random.randint(1, 12)
    boxes = [(float(random.randint(20, 90)), 30.0) for _ in range(count)]
    # Each box but the first can be reached; the rest is up to chance.
    arrows = [(random.randrange(box), box) for box in range(1, count)]
    arrows += [(random.randrange(count), random.randrange(count)) for _ in range(random.randint(0, 20))]
    layout = lay_out(boxes, [(*arrow, float(random.randint(30, 200)), 19.0) for arrow in arrows])
    items = list(dict.fromkeys([*layout.boxes, *(item for route in layout.routes for item in route.items)]))
    for number, one in enumerate(items):
        assert one.width / 2 <= one.x + 0.01 <= layout.width - one.width / 2 + 0.02
        assert one.height / 2 <= one.y + 0.01 <= layout.height - one.height / 2 + 0.02
        for other in items[:number]:
            is_beside = abs(one.x - other.x) >= (one.width + other.width) / 2
            is_above = abs(one.y - other.y) + 0.01 >= (one.height + other.height) / 2
            assert is_beside or is_above
    for route, (source, target) in zip(layout.routes, arrows, strict=True):
        assert (route.items[0], route.items[-1]) == (layout.boxes[source], layout.boxes[target])
