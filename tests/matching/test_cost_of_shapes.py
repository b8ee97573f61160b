"""What reading costs for shapes of grammars that are written in more than one way, or are large."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

import palaver
from cost import lines_run
from palaver.compiled import Spec
from palaver.matching.regular_scanner import MessageEnds

CASES = Path(__file__).parents[1] / "cases"


@pytest.mark.parametrize("depth", [1, 50])
def test_an_option_is_read_like_a_choice_with_nothing(depth: int) -> None:
    text = (CASES / "optional.fan").read_text()
    data = "[" * depth + "ab" + "]" * depth
    costs = []
    for spec in (palaver.loads(text), palaver.loads(text.replace("<list>?", '(<list> | "")'))):
        assert str(spec.parse(data)) == data
        costs.append(lines_run(partial(spec.parse, data)))
    assert costs[0] <= 1.1 * costs[1]


@pytest.mark.parametrize("text", ["<item>?", "<item>{0,1}"])
def test_what_an_option_holds_is_not_followed_by_itself(text: str) -> None:
    spec = palaver.loads(f'<start> ::= "(" {text} ")"\n<item> ::= <word>\n<word> ::= r"[a-z]+"\n')
    matcher = spec.matcher(binary=False)
    matcher.finish("(word)")
    assert matcher.parser_name == "fast path"


def words(number: int) -> str:
    return " | ".join(f'"w{word:05}"' for word in range(number))


SHAPES = {
    "once": "<start> ::= <w>\n<w> ::= WORDS\n",
    "in a row": "<start> ::= <w>+\n<w> ::= WORDS\n",
    "beside an option": "<start> ::= <w>? <w>\n<w> ::= WORDS\n",
    "left-recursive": "<start> ::= <s>\n<s> ::= <s> <w> | <w>\n<w> ::= WORDS\n",
}


def first_parse(shape: str, number: int) -> int:
    spec = palaver.loads(SHAPES[shape].replace("WORDS", words(number)))
    return lines_run(partial(spec.parse, "w00007"))


@pytest.mark.parametrize("shape", SHAPES)
def test_the_first_parse_takes_linear_work_in_the_number_of_alternatives(shape: str) -> None:
    assert first_parse(shape, 1200) < 4.6 * first_parse(shape, 300)


def test_five_thousand_alternatives_are_generated_and_parsed() -> None:
    spec = palaver.load(CASES / "alternation5000.fan")
    for tree in spec.fuzz(3, seed=1):
        assert spec.parse(str(tree)) == tree


# --- messages that end with their connection --------------------------------------------------------------------------

UNTIL_CLOSE = (CASES / "until_close.fan").read_text()


def scanned(spec: Spec, size: int, piece: int = 1000) -> None:
    matcher = spec.matcher("<content>", binary=True, whole=False)
    for _ in range(size // piece):
        progress = matcher.feed(b"x" * piece)
        assert progress.complete_here
        assert progress.may_go_on
    assert progress.longest == size
    assert progress.is_complete_at(size - 1)
    assert not progress.is_complete_at(0)
    assert bytes(palaver.Tree(next(matcher.trees(size - 7)))) == b"x" * (size - 7)


def test_a_message_that_may_end_anywhere_takes_constant_work_for_each_piece() -> None:
    spec = palaver.loads(UNTIL_CLOSE)
    scanned(spec, 10_000)
    few, many = (lines_run(partial(scanned, spec, size)) for size in (20_000, 200_000))
    assert many < 11 * few
    assert many < 200_000 / 10, "much less than a line for each byte"


@pytest.mark.parametrize(
    "body",
    ['rb"[a-z]+"', "<byte>+", 'rb"[a-z]*" b"."?', '<line>* rb"[a-z]*"', 'b"ab" <line>*'],
)
def test_the_automaton_says_the_same_as_the_reference(body: str) -> None:
    spec = palaver.loads(f'<start> ::= {body}\n<line> ::= rb"[a-z]*" b"\\n"\n')
    for data in (b"", b"abc", b"ab\ncd\nef", b"ab.", b"ab.c", b"ABC", b"ab\n" * 30):
        for cut in {0, 1, len(data) // 2}:
            asked = []
            for reference in (False, True):
                matcher = spec.matcher(binary=True, whole=False, reference=reference)
                answers = [matcher.feed(data[:cut]), matcher.feed(data[cut:]), matcher.finish()]
                shown = [
                    [palaver.Tree(node).to_grammar() for node in matcher.trees(length)]
                    for length in answers[-1].complete
                ]
                asked.append((answers, shown))
            assert asked[0] == asked[1]


def test_lengths_are_kept_as_ranges() -> None:
    ends = MessageEnds(lambda position: 2 * position)
    for first, last in ((0, 0), (3, 5), (6, 6), (9, 1_000_000)):
        ends.add(first, last)
    assert ends[:6] == [0, 6, 8, 10, 12, 18]
    assert (len(ends), ends[-1]) == (999_997, 2_000_000)
    with pytest.raises(IndexError):
        ends[999_997]
