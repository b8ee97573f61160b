"""A few seconds of the differential test of `make nightly`, and planted bugs that it must find."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from differential import KINDS, Disagreement, Failure, Feeding, Reference, Run, Subject, check, fragment_corpus, main
from message_corpus import CORPUS, Entry

from palaver.matching.matcher import Matcher, MatchProgress
from palaver.spec.ast import Choice, Expr, Literal, Pattern, Permutation, Repeat, Sequence


@pytest.mark.parametrize("kind", KINDS)
def test_all_parsers_agree_on_random_grammars(kind: str) -> None:
    run = Run(seed=0)
    for number in range(2):
        run.case(kind, number)
    assert run.tally.total > 20


def test_all_parsers_agree_on_every_fragmenting_of_a_short_message() -> None:
    run = Run(seed=0)
    fragment_corpus(run, longest=5)
    assert run.tally.total > 300


@pytest.mark.parametrize("entry", CORPUS, ids=[entry.name for entry in CORPUS])
def test_the_corpus_entries_are_as_labelled(entry: Entry) -> None:
    subject = Subject("corpus", entry.rules(), "<start>", entry.history)
    for message in entry.good + entry.bad:
        feeding = Feeding(subject, (message,), whole=True)
        check(feeding, Reference(feeding))
        matcher = feeding.matcher(reference=False)
        matcher.feed(message)
        assert matcher.finish().complete_here == (message in entry.good)
        assert matcher.crashes == []


def test_the_command_reports_its_checks(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--checks", "20", "--kind", "bits", "--seed", "3"]) == 0
    assert "checks, and all agree" in capsys.readouterr().out


# --- It would notice ------------------------------------------------------------------------------------------------


def changed(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """The expression with `change` made to all that is in it."""
    match expr:
        case Sequence(parts) | Choice(parts) | Permutation(parts):
            return change(type(expr)(tuple(changed(part, change) for part in parts)))
        case Repeat(body, least, most):
            return change(Repeat(changed(body, change), least, most))
    return change(expr)


def prefer_the_last_option(expr: Expr) -> Expr:
    return Choice(expr.options[::-1]) if isinstance(expr, Choice) else expr


def forget_a_long_option(expr: Expr) -> Expr:
    return Choice((*expr.options[:3], Literal("☹"))) if isinstance(expr, Choice) and len(expr.options) > 3 else expr


def stop_loops_early(expr: Expr) -> Expr:
    return Repeat(expr.body, expr.least, 4) if isinstance(expr, Repeat) and expr.most is None else expr


def match_patterns_greedily(expr: Expr) -> Expr:
    greedy = {"a|ab": "a", "[ab]*b": "(?!)", "a?b": "ab|b(?!)"}
    return Pattern(greedy.get(str(expr.source), expr.source)) if isinstance(expr, Pattern) else expr


@pytest.mark.parametrize(
    "mistake", [prefer_the_last_option, forget_a_long_option, stop_loops_early, match_patterns_greedily]
)
def test_a_parser_of_another_grammar_is_found(mistake: Callable[[Expr], Expr], monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Feeding.matcher

    def mistaken(feeding: Feeding, *, reference: bool) -> Matcher:
        if reference:
            return honest(feeding, reference=True)
        subject = feeding.subject
        if "mistaken" not in subject.__dict__:
            rules = {symbol: changed(body, mistake) for symbol, body in subject.rules.items()}
            subject.__dict__["mistaken"] = Subject(subject.name, rules, subject.start, subject.history)
        other = Feeding(subject.__dict__["mistaken"], feeding.pieces, feeding.whole, feeding.binary)
        return honest(other, reference=False)

    monkeypatch.setattr(Feeding, "matcher", mistaken)
    run = Run(seed=0, patience=20)
    with pytest.raises(Failure, match="--only text:"):
        run.random_cases(20_000, ["text"])


class Restless:
    """A matcher whose reports change when it reads on."""

    def __init__(self, matcher: Matcher) -> None:
        self._matcher = matcher

    def __getattr__(self, name: str) -> Any:
        return getattr(self._matcher, name)

    @property
    def progress(self) -> Any:
        return _Now(self._matcher)

    def feed(self, data: str | bytes) -> Any:
        self._matcher.feed(data)
        return _Now(self._matcher)


class _Now:
    def __init__(self, matcher: Matcher) -> None:
        self._matcher = matcher

    def __getattr__(self, name: str) -> Any:
        return getattr(self._matcher.progress, name)


class Forgetful(Restless):
    """A matcher that expects nothing if it died in its third piece or later."""

    pieces = 0

    def feed(self, data: str | bytes) -> Any:
        self.pieces += 1
        progress = self._matcher.feed(data)
        return progress if self.pieces < 3 else _Mute(progress)


class _Mute:
    expected = ()

    def __init__(self, progress: MatchProgress) -> None:
        self._progress = progress

    def __getattr__(self, name: str) -> Any:
        return getattr(self._progress, name)


@pytest.mark.parametrize("kind_of_matcher", [Restless, Forgetful])
def test_reports_that_depend_on_the_pieces_are_found(kind_of_matcher: type, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Feeding.matcher

    def careless(feeding: Feeding, *, reference: bool) -> Any:
        matcher = honest(feeding, reference=reference)
        return matcher if reference else kind_of_matcher(matcher)

    monkeypatch.setattr(Feeding, "matcher", careless)
    with pytest.raises(Failure) as caught:
        Run(seed=0, patience=20).random_cases(2_000)
    assert isinstance(caught.value.__cause__, Disagreement)
