"""Two specs in one process, and two runs of one spec, never touch each other."""

from __future__ import annotations

import random
import sys
from itertools import islice
from pathlib import Path

import pytest

import palaver

DICE = "import random\n<start> ::= <a> <b>\n<a> ::= r'[0-9]+' := random.randint(0, 10 ** 12)\n<b> ::= r'[a-z]{5}'\n"


def _made(spec: palaver.Spec, seed: int) -> list[palaver.Tree]:
    return list(spec.fuzz(5, seed=seed))


def test_one_seed_gives_equal_trees_again() -> None:
    spec = palaver.loads(DICE)
    assert _made(spec, 7) == _made(spec, 7) == _made(palaver.loads(DICE), 7)
    assert _made(spec, 7) != _made(spec, 8)


def test_without_a_seed_runs_differ() -> None:
    spec = palaver.loads(DICE)
    assert list(map(str, spec.fuzz(5))) != list(map(str, spec.fuzz(5)))


def test_the_programs_own_random_is_neither_used_nor_moved() -> None:
    random.seed(1)
    state = random.getstate()
    first = _made(palaver.loads(DICE), 7)
    assert random.getstate() == state
    random.seed(2)
    assert _made(palaver.loads(DICE), 7) == first


def test_runs_of_two_specs_may_alternate() -> None:
    one, two = palaver.loads(DICE), palaver.loads(DICE)
    alone = [str(tree) for tree in one.fuzz(6, seed=7)]
    first, second = one.fuzz(6, seed=7), two.fuzz(6, seed=9)
    mixed = []
    for tree, _ in zip(first, second, strict=True):
        mixed.append(str(tree))
    assert mixed == alone


def test_runs_of_one_spec_may_alternate() -> None:
    spec = palaver.loads(DICE)
    alone = [str(tree) for tree in spec.fuzz(6, seed=7)]
    first, second = spec.fuzz(6, seed=7), spec.fuzz(6, seed=9)
    assert [str(tree) for tree, _ in zip(first, second, strict=True)] == alone


def test_names_of_one_spec_are_unknown_to_the_other() -> None:
    one = palaver.loads("x = 1\ndef f(): return str(x)\n<start> ::= <a>\n<a> ::= r'[0-9]' := f()\n")
    two = palaver.loads("x = 2\ndef f(): return str(x)\n<start> ::= <a>\n<a> ::= r'[0-9]' := f()\n")
    three = palaver.loads("<start> ::= 'a'\nwhere 'x' not in globals() and 'f' not in globals()\n")
    assert [str(next(spec.fuzz(1))) for spec in (one, two, one, three)] == ["1", "2", "1", "a"]


def test_builtins_of_one_spec_are_its_own() -> None:
    palaver.loads("__builtins__['len'] = lambda x: 99\n<start> ::= 'a'\nwhere len('abc') == 99\n").parse("a")
    palaver.loads("<start> ::= 'a'\nwhere len('abc') == 3\n").parse("a")
    assert len("abc") == 3


def test_parties_of_one_spec_are_its_own() -> None:
    text = (
        "class Client(FandangoParty):\n"
        "    def __init__(self):\n"
        "        super().__init__(connection_mode=ConnectionMode.OPEN)\n"
        "        self.mark = {mark}\n"
        "Client()\n"
        "<start> ::= <Client:ask>\n<ask> ::= 'a'\n"
        "where Client.instance().mark == {mark} and FandangoParty.instance('Client').mark == {mark}\n"
    )
    one, two = palaver.loads(text.format(mark=1)), palaver.loads(text.format(mark=2))
    for spec in (one, two, one):
        assert str(spec.parse("a")) == "a"


def _with_helper(folder: Path, word: str) -> palaver.Spec:
    folder.mkdir()
    (folder / "palaver_test_helper.py").write_text(f"import random\nWORD = {word!r}\ndef number(): return 3\n")
    (folder / "spec.fan").write_text(
        "from palaver_test_helper import WORD\n<start> ::= <a>\n<a> ::= r'[a-z]+' := later()\n"
        "def later():\n    import palaver_test_helper\n    return palaver_test_helper.WORD + WORD\n"
    )
    return palaver.load(folder / "spec.fan")


def test_helper_modules_of_the_same_name_in_two_folders(tmp_path: Path) -> None:
    path = list(sys.path)
    one, two = _with_helper(tmp_path / "one", "eins"), _with_helper(tmp_path / "two", "zwei")
    for spec, word in ((one, "eins"), (two, "zwei"), (one, "eins")):
        assert str(next(spec.fuzz(1))) == word * 2
    assert sys.path == path
    assert "palaver_test_helper" not in sys.modules


def test_a_tree_is_a_value_that_no_later_run_changes() -> None:
    spec = palaver.loads(DICE)
    trees = list(islice(spec.fuzz(seed=1), 3))
    before = list(map(str, trees))
    _made(spec, 2)
    for text in before:
        spec.parse(text)
    assert list(map(str, trees)) == before


def test_a_wrong_spec_leaves_nothing_behind() -> None:
    for _ in range(2):
        with pytest.raises(palaver.SpecError, match="ValueError"):
            palaver.loads("import sys\nx = 1\nraise ValueError\n<start> ::= 'a'\n")
    assert str(palaver.loads("<start> ::= 'a'\n").parse("a")) == "a"
