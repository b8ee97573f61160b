"""A few seconds of what `make nightly-solving` does at length, and the cases it has found."""

from __future__ import annotations

from random import Random

import pytest
from proofs import Disagreement, Run, main
from small_worlds import Grammar, Leaf, Named, Quantified, World, derivations, literals, pattern, random_world

import palaver
from amounts import AT_LENGTH

CASES = 200 if AT_LENGTH else 100


def test_no_false_proof_is_given_and_existing_trees_are_found() -> None:
    run = Run(seed=0, most=60, budget=40, samples=1)
    for number in range(CASES):
        run.case(number)
    tally = run.tally
    assert tally.proofs > CASES / 20
    assert tally.satisfiable > CASES / 4
    assert len(tally.misses) <= CASES / 100, tally.misses
    assert len(tally.too_large) <= CASES / 100, tally.too_large


@pytest.mark.parametrize(
    "text",
    [
        # A remainder that is one of several says nothing about the number itself.
        "<start> ::= <a>\n<a> ::= r'[5-9]'\nwhere int(<a>) % 5 in [1, 2]\n",
        "<start> ::= <a>\n<a> ::= rb'[\\x80-\\x90]'\nwhere bytes(<a>)[0] % 65 in {3, 4}\n",
        # Where there is nothing, all of it satisfies anything.
        "<start> ::= 'x' | <a>\n<a> ::= 'a'\nwhere forall <x> in <a>: False\n",
        "<start> ::= <b> <a>?\n<a> ::= 'a'\n<b> ::= 'b'\nwhere forall <x> in <a>: str(<b>) == 'c'\n",
        # Bytes as text are latin-1.
        "<start> ::= <a>\n<a> ::= rb'[\\x80-\\x90]'\nwhere str(<a>) in ('\\x83', '\\x84')\n",
        "<start> ::= <a>\n<a> ::= 1 0 0 0 (0 | 1){4}\nwhere str(<a>) in ['\\x83']\n",
        # Text never equals bytes.
        "<start> ::= <a>\n<a> ::= b'ab'\nwhere str(<a>) != b'ab'\n",
        "<start> ::= <a>\n<a> ::= b'ab'\nwhere str(<a>) not in [b'ab']\n",
        # Of a text, `*` makes a longer one.
        "<start> ::= <a>\n<a> ::= '2'\nwhere <a> * 2 != 4\n",
        "<start> ::= <a>\n<a> ::= '2'\nwhere 2 * <a> == '22'\n",
        # Words that a domain leaves out, because nobody thought of them, must not be missed elsewhere either.
        "<start> ::= <a> ':' <b>\n<a> ::= ' 7' | '7'\n<b> ::= r'[12]'\nwhere int(<a>) in [7, 8]\n"
        "where len(str(<a>)) == int(<b>)\nwhere int(<b>) == 2\n",
        "<start> ::= <a>\n<a> ::= r'[٣２]{1,2}'\nwhere int(<a>) in [3, 22]\n",
        "<start> ::= <a>\n<a> ::= '1_0' | 'x'\nwhere int(<a>) == 10\n",
        "<start> ::= <a>\n<a> ::= r' ?[0-9]'\nwhere int(<a>) == 7\nwhere str(<a>).startswith(' ')\n",
        "<start> ::= <a> 'x'\n<a> ::= <d>*\n<d> ::= 'd'\nwhere int(<a>) == 0\n",
        # A number has many spellings, and the shortest may not do; and few of all numbers may be words.
        "<start> ::= <a>\n<a> ::= r'0{0,2}[34]'\nwhere int(str(<a>), 16) == 3\nwhere '0' in str(<a>)[:2]\n",
        "<start> ::= <a>\n<a> ::= r'[78]{4,}'\nwhere int(<a>) % 65 in range(53, 57)\n",
        "<start> ::= <a>\n<a> ::= r'[0-9]{400}'\nwhere int(<a>) % 997 == 5\n",
        # Code that nearly always raises.
        "<start> ::= <a> ';' <a>\n<a> ::= r'[0f]|0x[09af]'\nwhere int(<a>) % 16 < ord(str(<a>)) // 2\n",
        # Signs, padding, prefixes, capital letters.
        "<start> ::= <a>\n<a> ::= r'-[0-9]'\nwhere int(<a>) < -3\n",
        "<start> ::= <a>\n<a> ::= r'[+][0-9]'\nwhere int(<a>) == 8\n",
        "<start> ::= <a>\n<a> ::= r'[0-9A-F]{2}'\nwhere int(str(<a>), 16) == 0x8e\n",
        "<start> ::= <a>\n<a> ::= '0x' r'[0-9a-f]{2}'\nwhere int(str(<a>), 16) > 0xe0\n",
        "<start> ::= <a>\n<a> ::= r'[aB]{2}'\nwhere int(str(<a>), 16) in [0xab, 0xac]\n",
        "import struct\n<start> ::= <a>\n<a> ::= rb'[\\x80-\\xff]{2}'\n"
        "where struct.unpack('>h', bytes(<a>))[0] < -30000\n",
        # Numbers that floats cannot hold.
        f"<start> ::= <a>\n<a> ::= '{10**16}'\nwhere int(<a>) + 1 < {float(10**16 + 2)!r}\n",
    ],
)
def test_constraints_that_can_be_satisfied_are(text: str) -> None:
    spec = palaver.loads(text)
    assert spec.solver_factory.plan(spec.grammar.constraints).proof is None
    (tree,) = spec.fuzz(1, seed=1)
    assert spec.parse(tree.serialised())


def test_a_length_beyond_the_limit_is_not_built() -> None:
    spec = palaver.loads(
        "<start> ::= <n> ':' <b>\n<n> ::= r'[0-9]{1,20}'\n<b> ::= r'[ab]*'\nwhere len(str(<b>)) == int(<n>)\n"
        "where int(<n>) > 10**9\n"
    )
    with pytest.raises(palaver.Unsolvable, match="no input found within 50 steps"):
        list(spec.fuzz(1, seed=1, budget=50))


def test_a_part_that_cannot_be_made_is_done_without() -> None:
    spec = palaver.loads("<start> ::= <a> | <b>\n<a> ::= r'[a-z]'\n<b> ::= r'[0-9]'\nwhere str(<b>)[::-1] == 'x'\n")
    assert all(str(tree).isalpha() for tree in spec.fuzz(5, seed=1, budget=2_000))


# --- the test itself --------------------------------------------------------------------------------------------------


def test_brute_force_enumerates_every_tree() -> None:
    grammar: Grammar = {"<start>": Named("<a>"), "<a>": pattern([("ab", 1, 2), ("0", 0, 1)])}
    words = {tree.serialised for tree in derivations(grammar, 100) or []}
    assert words == {body + end for body in ("a", "b", "aa", "ab", "ba", "bb") for end in ("", "0")}


def test_a_false_proof_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """An `int` that the solver takes for a number of digits, though it is signed."""
    monkeypatch.setattr("palaver.solving.restrict.are_known_numbers", lambda *_: True)
    grammar: Grammar = {"<start>": Named("<a>"), "<a>": literals("-1", "-2")}
    world = World(grammar, (Leaf("int(<a>) < 0"),), derivations(grammar, 10) or [])
    with pytest.raises(Disagreement, match="false proof"):
        Run(seed=0).check(world)


def test_a_wrong_brute_force_would_be_noticed() -> None:
    grammar: Grammar = {"<start>": Named("<a>"), "<a>": literals("1", "2")}
    world = World(
        grammar, (Quantified(True, "<x>", "<a>", Leaf("int(<x>) < 2")),), (derivations(grammar, 10) or [])[:1]
    )
    Run(seed=0).check(world)
    wrong = World(grammar, world.conditions, [*world.trees, world.trees[0]])
    wrong.__dict__["text"] = world.text.replace("< 2", "> 1")
    with pytest.raises(Disagreement, match="says the language"):
        Run(seed=0).check(wrong)


def test_a_case_can_be_run_again(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seed", "0", "--only", "3"]) == 0
    assert capsys.readouterr().out.startswith("1 cases")
    texts = [random_world(Random("0 3"), 120).text for _ in range(2)]
    assert texts[0] == texts[1]
