"""The forecaster agrees with the naive definition, gives the right trees, and a message has a constant cost."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_dialogue import NUMBER, NUMBERS, History, NaiveDialogue, all_trees, is_derivation, messages_of
from random_dialogues import STATES, RandomDialogue, number_in

from amounts import examples
from cost import lines_run
from palaver.matching.forecaster import MAX_HYPOTHESES, Forecast, Forecaster, MessageType
from palaver.source import Source
from palaver.spec.ast import (
    Expr,
    Expression,
    Literal,
    Ref,
    Sequence,
)
from palaver.spec.diagnostics import Reporter
from palaver.spec.spec_files import parse_spec
from palaver.trees.node import Node, NonTerminal, OpenNode, Parties, part_at

MESSAGES = "".join(f'<{letter}> ::= "{letter}"\n' for letter in "abcxy") + '<n> ::= "0" | "1" | "2"\n'


def rules_of(spec: str) -> dict[str, Expr]:
    report = Reporter()
    file = parse_spec(Source("test.fan", spec + "\n" + MESSAGES), report)
    report.raise_if_errors()
    return {rule.symbol: rule.body for rule in file.rules}


def forecaster(spec: str, **options: Any) -> Forecaster:
    return Forecaster(rules_of(spec), "<start>", bound=number_in, **options)


def letters_of(move: MessageType) -> tuple[str, ...]:
    return NUMBERS if move.symbol == NUMBER else (move.symbol[1:-1],)


def say(forecast: Forecast, letter: str) -> Forecast:
    """Say one message; the first that may come with this letter."""
    move = next(move for move in forecast.moves if letter in letters_of(move))
    return forecast.after(move, Node(NonTerminal(move.symbol), (letter,)))


def after(spec: str | Forecaster, said: str) -> Forecast:
    forecast = (forecaster(spec) if isinstance(spec, str) else spec).begin()
    for letter in said:
        forecast = say(forecast, letter)
    return forecast


def next_letters(forecast: Forecast) -> str:
    return "".join(letter for move in forecast.moves for letter in letters_of(move))


def outline(part: object) -> str:
    """A tree on one line: open nodes have no closing bracket."""
    if not isinstance(part, Node):
        return repr(part)
    if part.parties is not None:
        return part.symbol[1:-1]
    inside = " ".join(map(outline, part.children))
    return f"{part.symbol[1:-1]}({inside}" + ("" if isinstance(part, OpenNode) else ")")


# --- Agreement with the definition ------------------------------------------------------------------------------------


def all_forecasts(begin: Forecast, horizon: int) -> Iterator[tuple[History, Forecast]]:
    """Each history that can be, with its forecast; but not where hypotheses may have been lost."""
    todo: list[tuple[History, Forecast]] = [((), begin)]
    while todo:
        history, forecast = todo.pop()
        if len(forecast.hypotheses) == MAX_HYPOTHESES:
            continue
        yield history, forecast
        if len(history) < horizon:
            letters = [letter for move in forecast.moves for letter in letters_of(move)]
            todo += [((*history, letter), say(forecast, letter)) for letter in letters]


def check_against_the_definition(dialogue: RandomDialogue, horizon: int, distinguish: tuple[str, ...] = ()) -> None:
    naive = NaiveDialogue(dialogue.rules, horizon)
    begin = Forecaster(dialogue.rules, "<start>", bound=number_in, distinguish=distinguish).begin()
    for history, forecast in all_forecasts(begin, horizon):
        assert forecast.can_end == naive.can_end(history), history
        if len(history) < horizon:
            assert set(next_letters(forecast)) == naive.moves(history), history
        for hypothesis in forecast.hypotheses:
            assert messages_of(hypothesis.tree()) == history
            if hypothesis.can_end:
                tree = hypothesis.complete_tree()
                assert messages_of(tree) == history
                assert is_derivation(tree, dialogue.rules), outline(tree)


SEEDS = st.integers(0, 1 << 32)


@given(SEEDS)
@settings(derandomize=True, max_examples=examples(100), deadline=None)
def test_it_agrees_with_the_definition(seed: int) -> None:
    check_against_the_definition(RandomDialogue(seed), 4)


@given(SEEDS)
@settings(derandomize=True, max_examples=examples(50), deadline=None)
def test_it_agrees_with_the_definition_of_computed_repetitions(seed: int) -> None:
    check_against_the_definition(RandomDialogue(seed, is_computed=True), 3)


@given(SEEDS)
@settings(derandomize=True, max_examples=examples(30), deadline=None)
def test_distinguished_symbols_do_not_change_the_forecast(seed: int) -> None:
    dialogue = RandomDialogue(seed)
    check_against_the_definition(dialogue, 3, distinguish=dialogue.states)


@given(SEEDS)
@settings(derandomize=True, max_examples=examples(30), deadline=None)
def test_with_all_states_distinguished_no_two_hypotheses_have_the_same_tree(seed: int) -> None:
    dialogue = RandomDialogue(seed)
    begin = Forecaster(dialogue.rules, "<start>", bound=number_in, distinguish=dialogue.states).begin()
    for _, forecast in all_forecasts(begin, 3):
        ended = [outline(each.complete_tree()) for each in forecast.hypotheses if each.can_end and not each.moves]
        assert len(set(ended)) == len(ended)


@given(SEEDS)
@settings(derandomize=True, max_examples=examples(30), deadline=None)
def test_with_all_states_distinguished_no_tree_is_lost(seed: int) -> None:
    rules = guarded(RandomDialogue(seed, has_empty=False))
    begin = Forecaster(rules, "<start>", bound=number_in, distinguish=STATES).begin()
    for history, forecast in all_forecasts(begin, 4):
        ended = {outline(each.complete_tree()) for each in forecast.hypotheses if each.can_end}
        assert ended == all_trees(rules, history)


def guarded(dialogue: RandomDialogue) -> dict[str, Expr]:
    """The same rules, but each begins with a message, so none begins with another."""
    bodies = {state: Sequence((Ref("<a>", "C"), dialogue.rules[state])) for state in dialogue.states}
    return {**dialogue.rules, **bodies}


@given(SEEDS)
@settings(derandomize=True, max_examples=examples(30), deadline=None)
def test_partial_trees_are_beginnings_of_derivations(seed: int) -> None:
    rules = guarded(RandomDialogue(seed))
    for _, forecast in all_forecasts(Forecaster(rules, "<start>", bound=number_in).begin(), 3):
        for hypothesis in forecast.hypotheses:
            assert is_derivation(hypothesis.tree(), rules), outline(hypothesis.tree())


@given(SEEDS)
@settings(derandomize=True, max_examples=examples(30), deadline=None)
def test_the_latest_message_stands_at_its_path(seed: int) -> None:
    begin = Forecaster(RandomDialogue(seed).rules, "<start>", bound=number_in).begin()
    for history, forecast in all_forecasts(begin, 3):
        for hypothesis in forecast.hypotheses if history else ():
            found = part_at(hypothesis.tree(), hypothesis.latest)
            assert isinstance(found, Node)
            assert (found.children, found.parties is None) == ((history[-1],), False)


# --- What may come ----------------------------------------------------------------------------------------------------


def test_moves_come_in_the_order_of_the_spec() -> None:
    moves = forecaster("<start> ::= <t> | <C:b>\n<t> ::= <S:C:c> | <S:a>").begin().moves
    assert moves == (MessageType("<b>", "C", None), MessageType("<c>", "S", "C"), MessageType("<a>", "S", None))


def test_the_same_symbol_from_two_senders_is_two_messages() -> None:
    begin = forecaster("<start> ::= <C:a> <C:b> | <S:a> <C:c>").begin()
    client, server = begin.moves
    assert (client.sender, server.sender) == ("C", "S")
    assert next_letters(begin.after(server, Node(NonTerminal("<a>"), ("a",)))) == "c"


def test_a_message_gets_its_parties_unless_it_has_them() -> None:
    begin = forecaster("<start> ::= <C:S:a>").begin()
    (move,) = begin.moves
    said = begin.after(move, Node(NonTerminal("<a>"), ("a",))).hypotheses[0].complete_tree()
    assert part_at(said, (0,)) == Node(NonTerminal("<a>"), ("a",), (), Parties("C", "S"))
    own = Node(NonTerminal("<a>"), ("a",), (), Parties("C", "elsewhere"))
    assert part_at(begin.after(move, own).hypotheses[0].complete_tree(), (0,)) is own


def test_an_unexpected_message_is_refused() -> None:
    begin = forecaster("<start> ::= <C:a> <S:b>").begin()
    with pytest.raises(ValueError, match="S may not say <b> here"):
        begin.after(MessageType("<b>", "S", None), Node(NonTerminal("<b>"), ("b",)))
    with pytest.raises(ValueError, match="<b> is not the message <a>"):
        begin.after(begin.moves[0], Node(NonTerminal("<b>"), ("b",)))


def test_an_old_forecast_stays_as_it_was() -> None:
    first = after("<start> ::= <s>\n<s> ::= <C:a> <s> <S:b> | <S:c>", "aa")
    tree, moves = first.hypotheses[0].tree(), first.moves
    futures = [outline(say(first, letter).hypotheses[0].tree()) for letter in "ac"]
    assert futures == ["start(s(a s(a s(a", "start(s(a s(a s(c)"]
    assert (first.hypotheses[0].tree(), first.moves) == (tree, moves)
    assert [outline(say(first, letter).hypotheses[0].tree()) for letter in "ac"] == futures


def test_a_computed_repetition_counts_by_the_latest_field() -> None:
    items = "<start> ::= (<C:n> <items>)* <S:c>\n<items> ::= <S:a>{int(<n>)}"
    assert next_letters(after(items, "2")) == "a"
    assert next_letters(after(items, "2a")) == "a"
    assert set(next_letters(after(items, "2aa"))) == {*NUMBERS, "c"}
    assert set(next_letters(after(items, "2aa0"))) == {*NUMBERS, "c"}
    assert next_letters(after(items, "2aa1")) == "a"
    tree = after(items, "2aa0c").hypotheses[0].complete_tree()
    assert outline(tree) == "start(n items(a a) n items() c)"


def test_a_bound_may_follow_a_path_through_states() -> None:
    spec = "<start> ::= <head> <body>\n<head> ::= <C:n> <C:n>?\n<body> ::= <C:n> <S:a>{int(<head>.<n>)}"
    assert next_letters(after(spec, "120")) == "a"
    assert next_letters(after(spec, "120a")) == "a"
    assert after(spec, "120aa").moves == ()


def test_two_readings_may_count_by_different_fields() -> None:
    spec = "<start> ::= (<head> <C:n> | <C:n> <head>) <S:a>{int(<head>.<n>)}\n<head> ::= <C:n>"
    forecast = after(spec, "12")
    assert len(forecast.hypotheses) == 2
    assert say(forecast, "a").can_end
    assert next_letters(say(forecast, "a")) == "a"


def test_a_state_may_be_a_count_field() -> None:
    rules = rules_of("<start> ::= (<s> <S:b>{len(<s>)})* <S:c>\n<s> ::= <C:a> <C:a> | <C:x>")
    begin = Forecaster(rules, "<start>", bound=lambda _, node: len(node.children) if node else 0)
    assert next_letters(after(begin, "aa")) == "b"
    assert next_letters(after(begin, "aab")) == "b"
    assert next_letters(after(begin, "aabb")) == "cax"
    assert next_letters(after(begin, "aabbxb")) == "cax"


def test_a_bound_that_fails_rules_out_its_repetition_and_is_told() -> None:
    def fails(expression: Expression, node: Node | None) -> int:
        raise ArithmeticError("no")

    begin = Forecaster(rules_of("<start> ::= <C:n> (<S:a>{int(<n>)} | <S:b>)"), "<start>", bound=fails).begin()
    forecast = say(begin, "1")
    assert next_letters(forecast) == "b"
    assert forecast.crashes == ("the bound {int(<n>)} raised ArithmeticError: no",)


def test_a_part_of_a_permutation_may_be_empty_now_and_not_later() -> None:
    spec = "<start> ::= <C:n> [[ (<S:a>{int(<n>)}) <C:n> ]]"
    assert next_letters(after(spec, "0")) == "012"
    assert after(spec, "02").can_end  # first the letters, of which there are none, then the number
    assert next_letters(after(spec, "02")) == "a"


@pytest.mark.parametrize(
    ("rules", "said", "follows"),
    [
        ("<s> ::= <t> <S:c>{int(<n>)}\n<t> ::= <C:a> | <s> <S:b>", "0a", "b."),
        ("<s> ::= <t> <S:c>{int(<n>)}\n<t> ::= <C:a> | <s> <S:b>", "1a", "c"),
        ("<s> ::= <t> <S:c>{int(<n>)}\n<t> ::= <C:a> | <s> <S:b>", "1acb", "c"),
        ("<s> ::= (<t> <S:c>){int(<n>)}\n<t> ::= <C:a> | <s> <S:b>", "0", "."),
        ("<s> ::= (<t> <S:c>){int(<n>)}\n<t> ::= <C:a> | <s> <S:b>", "1acb", "c"),
        ("<s> ::= (<t> <S:c>){int(<n>)}\n<t> ::= <C:a> | <s> <S:b>", "2acacb", "c"),
        ("<s> ::= <C:x>{int(<n>)} <t> <S:c>\n<t> ::= <C:a> | <s> <S:b>", "0ac", "b."),
        ("<s> ::= <C:x>{int(<n>)} <t> <S:c>\n<t> ::= <C:a> | <s> <S:b>", "1", "x"),
        ("<s> ::= <C:x>{int(<n>)} <t> <S:c>\n<t> ::= <C:a> | <s> <S:b>", "1x", "ax"),
    ],
    ids=[
        "ends with nothing",
        "ends",
        "ends again",
        "no round",
        "first round",
        "rounds",
        "nothing before",
        "x",
        "later",
    ],
)
def test_a_rule_may_begin_with_itself_around_a_computed_repetition(rules: str, said: str, follows: str) -> None:
    forecast = after(f"<start> ::= <C:n> <s>\n{rules}", said)
    assert {*next_letters(forecast), *("." * forecast.can_end)} == set(follows)


# --- Hypotheses -------------------------------------------------------------------------------------------------------

AMBIGUOUS = "<start> ::= <s> <C:c> | <t> <C:c>\n<s> ::= <C:a> <S:b>\n<t> ::= <C:a> <S:b>"


def test_histories_that_go_on_in_the_same_way_are_one_hypothesis() -> None:
    forecast = after(AMBIGUOUS, "abc")
    assert [outline(each.complete_tree()) for each in forecast.hypotheses] == ["start(s(a b) c)"]


def test_hypotheses_that_differ_in_a_distinguished_symbol_are_kept_apart() -> None:
    forecast = after(forecaster(AMBIGUOUS, distinguish={"<t>"}), "abc")
    assert [outline(each.complete_tree()) for each in forecast.hypotheses] == ["start(s(a b) c)", "start(t(a b) c)"]


def test_hypotheses_that_differ_in_the_end_of_a_distinguished_symbol_are_kept_apart() -> None:
    spec = "<start> ::= <s> <C:a>* <S:c>\n<s> ::= <S:b> <C:a>*"
    assert len(after(spec, "baac").hypotheses) == 1
    trees = [outline(each.complete_tree()) for each in after(forecaster(spec, distinguish={"<s>"}), "baac").hypotheses]
    assert trees == ["start(s(b a a) c)", "start(s(b a) a c)", "start(s(b) a a c)"]


def test_distinguished_nodes_that_will_be_closed_at_different_times_are_kept_apart() -> None:
    spec = "<start> ::= <s> <C:c>\n<s> ::= <C:a> (<s> | <s> <s> | <S:b>)"
    forecast = after(forecaster(spec, distinguish={"<s>"}), "aaabab")
    trees = [outline(each.complete_tree()) for each in say(forecast, "c").hypotheses]
    assert sorted(trees) == ["start(s(a s(a s(a b) s(a b))) c)", "start(s(a s(a s(a b)) s(a b)) c)"]


def test_a_hypothesis_can_be_ruled_out() -> None:
    spec = "<start> ::= <C:a> <S:b> | <s> <S:c>\n<s> ::= <C:a>"
    forecast = after(spec, "a")
    first, second = forecast.hypotheses
    assert next_letters(forecast) == "bc"
    assert next_letters(forecast.without([first])) == "c"
    assert next_letters(forecast.without([second])) == "b"
    nothing_left = forecast.without([first, second])
    assert (nothing_left.moves, nothing_left.can_end, nothing_left.hypotheses) == ((), False, ())


def test_an_earlier_alternative_is_preferred() -> None:
    spec = "<start> ::= <s> <C:c>\n<s> ::= <C:a> <s> <S:b>? | <t>\n<t> ::= <C:a> <S:b>"
    assert outline(after(spec, "aabbc").hypotheses[0].complete_tree()) == "start(s(a s(t(a b)) b) c)"


# --- Trees ------------------------------------------------------------------------------------------------------------


def test_a_hypothesis_has_the_nodes_that_the_latest_message_completed() -> None:
    spec = "<start> ::= <s>*\n<s> ::= <t> <S:b>?\n<t> ::= <C:a>"
    done = [[outline(node) for node in after(spec, said).hypotheses[0].closed] for said in ("a", "ab", "aba", "abaa")]
    assert done == [["t(a)"], ["s(t(a) b)"], ["t(a)"], ["s(t(a))", "t(a)"]]


def test_completed_nodes_are_those_of_the_tree() -> None:
    forecast = after("<start> ::= <s>* <S:c>\n<s> ::= <C:a> <S:b>", "ab")
    (hypothesis,) = forecast.hypotheses
    (node,) = hypothesis.closed
    assert part_at(hypothesis.tree(), (0,)) is node
    assert part_at(say(forecast, "c").hypotheses[0].complete_tree(), (0,)) is node


def test_a_hypothesis_has_the_symbols_around_the_latest_message() -> None:
    (hypothesis,) = after("<start> ::= <s> <S:c>\n<s> ::= <t> <S:b>\n<t> ::= <C:a>+", "aa").hypotheses
    assert list(hypothesis.around) == ["<t>", "<s>", "<start>"]
    assert hypothesis.latest == (0, 0, 1)


def test_the_messages_ahead_become_fewer() -> None:
    spec = "<start> ::= <C:a> <loop>* <C:x>\n<loop> ::= <S:b> <C:c>"
    ahead = ["".join(sorted(after(spec, said).hypotheses[0].ahead)) for said in ("", "a", "ab", "abc", "abcx")]
    assert ahead == ["<a><b><c><x>", "<b><c><x>", "<b><c><x>", "<b><c><x>", ""]
    assert after(spec, "a").ahead_after(MessageType("<x>", "C", None)) == frozenset()


@given(SEEDS, st.booleans())
@settings(derandomize=True, max_examples=examples(25), deadline=None)
def test_every_message_that_comes_was_ahead(seed: int, is_computed: bool) -> None:
    dialogue = RandomDialogue(seed, is_computed=is_computed)
    begin = Forecaster(dialogue.rules, "<start>", bound=number_in).begin()
    ahead: dict[History, set[str]] = {}
    for history, forecast in all_forecasts(begin, 3):
        ahead[history] = {symbol for hypothesis in forecast.hypotheses for symbol in hypothesis.ahead}
        come = {move.symbol for move in forecast.moves}
        assert all(come <= ahead[history[:length]] for length in range(len(history) + 1))


def test_before_the_first_message_there_is_an_open_start() -> None:
    (hypothesis,) = forecaster("<start> ::= <C:a>?").begin().hypotheses
    assert outline(hypothesis.tree()) == "start("
    assert (list(hypothesis.around), hypothesis.closed) == ([], ())
    assert outline(hypothesis.complete_tree()) == "start()"
    with pytest.raises(ValueError, match="nothing has been said"):
        hypothesis.latest  # noqa: B018


def test_a_dialogue_that_must_go_on_has_no_complete_tree() -> None:
    (hypothesis,) = forecaster("<start> ::= <C:a>").begin().hypotheses
    with pytest.raises(ValueError, match="cannot end"):
        hypothesis.complete_tree()


def test_empty_rules_have_empty_trees() -> None:
    spec = '<start> ::= <e> <C:a> <s> <e>{2} <S:b>\n<s> ::= <S:c> | <e>\n<e> ::= ""'
    tree = after(spec, "ab").hypotheses[0].complete_tree()
    assert outline(tree) == "start(e('') a s(e('')) e('') e('') b)"


@pytest.mark.parametrize(
    ("rules", "said", "tree"),
    [
        ("<s> ::= <s> <C:a> | <S:b>", "baa", "start(s(s(s(b) a) a))"),
        ("<s> ::= <t> <C:a> | <S:b>\n<t> ::= <s> <S:c>", "bcaca", "start(s(t(s(t(s(b) c) a) c) a))"),
        ('<s> ::= <e> <s> <C:a> | <S:b>\n<e> ::= "" | <S:x>', "baa", "start(s(e('') s(e('') s(b) a) a))"),
        ('<s> ::= <s> <C:a> | ""', "aa", "start(s(s(s('') a) a))"),
        ("<s> ::= <s> | <t>\n<t> ::= <s> | <C:a>", "a", "start(s(t(a)))"),
        ("<s> ::= <s> <s> | <C:a>", "aa", "start(s(s(a) s(a)))"),
    ],
    ids=["direct", "indirect", "behind an empty rule", "from nothing", "with nothing beside it", "on both sides"],
)
def test_a_rule_may_begin_with_itself(rules: str, said: str, tree: str) -> None:
    forecast = after(f"<start> ::= <s>\n{rules}", said)
    assert outline(next(each.complete_tree() for each in forecast.hypotheses if each.can_end)) == tree


# --- What nobody is said to say ---------------------------------------------------------------------------------------


def test_terminals_beside_messages_are_sent_by_stdout() -> None:
    rules = {**rules_of("<start> ::= <C:a> <x> 'done' <S:b>")}
    begin = Forecaster(rules, "<start>", bound=number_in)
    forecast = say(begin.begin(), "a")
    assert forecast.moves == (MessageType("<x>", "StdOut", None),)
    (move,) = say(forecast, "x").moves
    assert move == MessageType("<'done'>", "StdOut", None)
    assert begin.texts == {move.symbol: Literal("done")}


def test_a_spec_without_messages_is_one_message_of_stdout() -> None:
    begin = Forecaster(rules_of("<start> ::= <a>"), "<start>", bound=number_in).begin()
    assert begin.moves == (MessageType("<start>", "StdOut", None),)
    over = begin.after(begin.moves[0], Node(NonTerminal("<start>"), ("a",)))
    assert over.can_end
    assert over.hypotheses[0].complete_tree().symbol == "<start>"
    assert over.hypotheses[0].latest == ()


# --- What it costs ----------------------------------------------------------------------------------------------------

SHAPES = {
    "right recursion": ("<s> ::= <C:a> <S:b> <s> | <C:c>", "ab"),
    "right recursion that may end": ('<s> ::= <C:a> <S:b> <s> | ""', "ab"),
    "right recursion with an optional tail": ("<s> ::= <C:a> <S:b> <s>?", "ab"),
    "right recursion with something optional behind": ("<s> ::= <C:a> <s> <S:b>? | <S:c>", "a"),
    "left recursion": ('<s> ::= <s> <C:a> <S:b> | ""', "ab"),
    "centre recursion": ("<s> ::= <C:a> <s> <S:b> | <C:c>", "a"),
    "repetition": ("<s> ::= (<C:a> <S:b>)*", "ab"),
    "repetition of states": ("<s> ::= <t>*\n<t> ::= <C:a> <S:b>", "ab"),
    "two readings": ("<s> ::= <t> <C:c> | <u> <C:x>\n<t> ::= (<C:a> <S:b>)*\n<u> ::= (<C:a> <S:b>)*", "ab"),
    "recursion on both sides": ("<s> ::= <s> <s> | <C:a>", "a"),
    "computed repetition": ("<s> ::= (<C:n> <S:a>{int(<n>)})*", "1a"),
}


def spoken(shape: str, count: int) -> Iterator[tuple[Forecast, str]]:
    """Forecasts of a dialogue, each with the letter that is said next."""
    rules, letters = SHAPES[shape]
    forecast = forecaster(f"<start> ::= <s> <C:y>?\n{rules}").begin()
    for number in range(count):
        letter = letters[number % len(letters)]
        yield forecast, letter
        forecast = say(forecast, letter)
    yield forecast, ""


def told_what_follows(forecast: Forecast, letter: str) -> object:
    return say(forecast, letter).moves, say(forecast, letter).can_end


@pytest.mark.parametrize("shape", SHAPES)
def test_a_step_costs_the_same_at_any_point(shape: str) -> None:
    costs: dict[int, int] = {}
    for number, (forecast, letter) in enumerate(spoken(shape, 2004)):
        if number % 1980 in range(20, 24):
            cost = lines_run(partial(told_what_follows, forecast, letter))
            costs[number // 1980] = costs.get(number // 1980, 0) + cost
    assert costs[1] <= 1.1 * costs[0], costs


@pytest.mark.parametrize("shape", SHAPES)
def test_a_long_dialogue_has_trees(shape: str) -> None:
    *_, (forecast, _) = spoken(shape, 3000)
    tree = forecast.hypotheses[0].tree()
    assert len(messages_of(tree)) == 3000
    if "y" in next_letters(forecast):
        over = say(forecast, "y")
        assert len(messages_of(over.hypotheses[0].complete_tree())) == 3001


def test_to_leave_many_nodes_at_once_makes_none_of_them() -> None:
    *_, (forecast, _) = spoken("right recursion that may end", 2000)
    assert lines_run(lambda: say(forecast, "y")) < 300


def test_the_first_message_of_a_repetition_costs_the_same_whatever_its_number() -> None:
    few, many = (
        lines_run(partial(after, f"<start> ::= (<A:x> <B:y>){{{number}}}", "xyxy")) for number in (100, 20_000)
    )
    assert many == few
