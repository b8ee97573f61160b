"""Values of generators: constraints on them are satisfied by running the generator again, never by rewriting a part."""

from __future__ import annotations

import pytest

import palaver

NAMES = ("Bob", "Alice", "Bertram", "Carol", "Dave", "Barbara")
CHOSEN = f"""\
import random
NAMES = {NAMES!r}
<start> ::= <name> "," <n>
<name>  ::= r"[A-Z][a-z]+" := random.choice(NAMES)
<n>     ::= r"[0-9]+" := str(random.randint(1, 5) * 1000)
def digest(text): return sum(map(ord, text)) % 11
"""


@pytest.mark.parametrize(
    "condition",
    [
        "str(<name>)[0] == 'B'",
        "str(<name>)[-1] == 'm' or str(<name>)[1] == 'a'",
        "str(<name>)[:2] == 'Ba'",
        "str(<name>).startswith('B')",
        "'ar' in str(<name>)",
        "len(str(<name>)) == 5",
        "len(str(<name>)) > 5",
        "str(<name>).lower() != 'bob'",
        "digest(str(<name>)) == digest('Carol')",
        "int(<n>) > 3000 and int(<n>) % 2000 == 0",
        "str(<n>)[0] == str(len(str(<name>)))",
        "exists <x> in <name>: str(<x>)[2] == 'r'",
    ],
)
def test_what_a_generator_makes_is_not_rewritten(condition: str) -> None:
    for tree in palaver.loads(CHOSEN, constraints=[condition]).fuzz(4, seed=1):
        name, number = str(tree).split(",")
        assert name in NAMES
        assert int(number) in range(1000, 6000, 1000)


def test_a_condition_that_says_the_whole_value_replaces_it() -> None:
    (tree,) = palaver.loads(CHOSEN, constraints=["<name> == 'Zed'"]).fuzz(1, seed=1)
    assert str(tree).startswith("Zed,")


CODED = """\
<start>  ::= <packed> ";" <packed>
<packed> ::= r"[0-9a-f]+" := str(<plain>).encode().hex()
<plain>  ::= r"[a-z]{3,8}" := bytes.fromhex(str(<packed>)).decode()
"""


@pytest.mark.parametrize(
    "condition",
    [
        "forall <p> in <packed>: str(<p>)[0:2] == '71'",
        "forall <p> in <packed>: str(<p>)[5] == '8'",
        "str(<packed>).endswith('7a')",
        "len(str(<packed>)) == 10",
        "sum(map(ord, str(<packed>))) % 50 == 0",
        "int(str(<packed>), 16) % 97 == 3",
    ],
)
def test_sources_are_searched_for_a_value_that_is_made_of_them(condition: str) -> None:
    for tree in palaver.loads(CODED, constraints=[condition]).fuzz(3, seed=1):
        for packed in str(tree).split(";"):
            plain = bytes.fromhex(packed).decode()
            assert plain.isalpha()
            assert plain.islower()
            assert 3 <= len(plain) <= 8
