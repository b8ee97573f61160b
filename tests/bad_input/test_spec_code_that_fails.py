"""Python code of a spec that raises, exits, or never comes back: when it is loaded, in a generator, in a constraint."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest

import palaver as library

RECURSION = "def f(n):\n    return f(n + 1)\n"
# Endless recursion through C would break the interpreter if its frames were not limited.
C_RECURSION = "def f(n):\n    return max([n], key=f)\n"


AT_LOAD = {
    "an exception": ("x = 1\ny = x / 0\n", "spec.fan:2:1: error: the spec's Python code raised ZeroDivisionError"),
    "inside a function": (
        "def f(x):\n    return [][x]\n\nz = f(1)\n",
        "spec.fan:2:5: error: the spec's Python code raised IndexError",
    ),
    "a module that is missing": (
        "import no_such_module\n",
        "spec.fan:1:1: error: the spec's Python code raised Module",
    ),
    "a name that is missing": ("x = undefined_name\n", "spec.fan:1:1: error: the spec's Python code raised NameError"),
    "an exit": ("import sys\nsys.exit(0)\n", "spec.fan:2:1: error: the spec's Python code raised SystemExit: 0"),
    "recursion": (RECURSION + "f(0)\n", "the spec's Python code raised RecursionError"),
    "recursion through C": (C_RECURSION + "f(0)\n", "the spec's Python code raised RecursionError"),
    "an error without words": ("raise Exception\n", "spec.fan:1:1: error: the spec's Python code raised Exception"),
}


@pytest.mark.parametrize("code, complaint", AT_LOAD.values(), ids=AT_LOAD)
def test_code_that_fails_when_loaded_is_shown_at_its_line(palaver: Any, code: str, complaint: str) -> None:
    palaver.write(spec_fan=f'{code}<start> ::= "a"\n', input="a")
    for command in (["check", "spec.fan"], ["fuzz", "-f", "spec.fan"], ["parse", "-f", "spec.fan", "input"]):
        ended = palaver(*command)
        assert ended.code == 2
        assert complaint in ended.text + ended.said


IN_A_GENERATOR = {
    "an exception": ("", "1 // 0", "ZeroDivisionError: integer division or modulo by zero"),
    "an exit": ("import sys\n", "sys.exit(3)", "SystemExit: 3"),
    "recursion": (RECURSION, "f(0)", "RecursionError: maximum recursion depth exceeded"),
    "recursion through C": (C_RECURSION, "f(0)", "RecursionError: maximum recursion depth exceeded"),
    "a value of no use": ("", "[1, 2]", "TypeError: [1, 2] is not text, bytes or a whole number"),
    "a missing name": ("", "g()", "NameError: name 'g' is not defined"),
}

WARNED = "palaver: 1 warning; see palaver check spec.fan\n"  # of a name that is not defined


@pytest.mark.parametrize("code, expression, error", IN_A_GENERATOR.values(), ids=IN_A_GENERATOR)
def test_a_generator_that_fails_is_shown(palaver: Any, code: str, expression: str, error: str) -> None:
    palaver.write(spec_fan=f"{code}<start> ::= <x>\n<x> ::= r'[0-9]' := {expression}\n")
    made = palaver("fuzz", "-f", "spec.fan", "-n", "1")
    line = 2 + code.count("\n")
    assert made.code == 2
    assert made.said.removeprefix(WARNED).startswith(f"spec.fan:{line}:21: error: the generator of <x> raised {error}")
    assert f"\n  <x> ::= r'[0-9]' := {expression}\n  {' ' * 20}{'^' * len(expression)}\n" in made.said
    with pytest.raises(library.SpecCrash) as crash:
        next(library.loads((palaver.folder / "spec.fan").read_text()).fuzz(1))
    assert error in crash.value.diagnostic.message


def test_what_was_made_before_a_generator_failed_is_there(palaver: Any) -> None:
    code = "LEFT = ['1', '2', '3']\n"
    palaver.write(spec_fan=code + "<start> ::= <x>\n<x> ::= r'[0-9]' := LEFT.pop(0)\n")
    made = palaver("fuzz", "-f", "spec.fan", "-n", "5", "-o", "out")
    assert made.code == 2
    assert "IndexError: pop from empty list" in made.said
    assert (palaver.folder / "out").read_text() == "1\n2\n3"


ENDLESS = {
    "never what the rule wants": "<start> ::= <x>\n<x> ::= r'[0-9]' := 'never'\n",
    "made from each other": (
        "<start> ::= <a>\n<a> ::= 'a' := 'b' + str(<b>)\n<b> ::= 'b' := 'c' + str(<c>)\n<c> ::= 'c' := 'a' + str(<a>)\n"
    ),
    "an impossible field": "<start> ::= <n> 'x'{int(<n>)}\n<n> ::= 'many'\n",
    "too many": "<start> ::= 'x'{10 ** 9}\n",
    "too many in few rules": (
        "<start> ::= <a0>\n" + "".join(f"<a{n}> ::= <a{n + 1}> <a{n + 1}>\n" for n in range(50)) + "<a50> ::= 'x'\n"
    ),
    "bits that fill no bytes": "<start> ::= 0 1 1\n",
}


@pytest.mark.parametrize("spec", ENDLESS.values(), ids=ENDLESS)
def test_a_search_without_end_is_bounded_by_its_budget(palaver: Any, spec: str) -> None:
    palaver.write(spec_fan=spec)
    made = palaver("fuzz", "-f", "spec.fan", "-n", "2", "--budget", "1000")
    assert (made.code, made.text) == (1, "")
    assert made.said.splitlines()[-1].startswith("palaver: no input found within 1000 steps (--budget): ")
    with pytest.raises(library.Unsolvable):
        next(library.loads(spec).fuzz(1, budget=100))


IN_A_CONSTRAINT = {
    "an exception": ("", "1 // 0 == <x>", "1 // 0 == <x> raised ZeroDivisionError"),
    "an exit": ("import sys\n", "sys.exit(str(<x>))", "sys.exit(str(<x>)) raised SystemExit: 7"),
    "recursion": (RECURSION, "f(<x>)", "f(<x>) raised RecursionError"),
    "recursion through C": (C_RECURSION, "f(<x>)", "f(<x>) raised RecursionError"),
    "a missing name": ("", "g(<x>)", "g(<x>) raised NameError: name 'g' is not defined"),
    "no comparison": ("", "<x> < None", "<x> < None raised TypeError"),
    "inside a quantifier": ("", "forall <y> in <x>: int(<y>) / 0", "int(<y>) / 0 raised ZeroDivisionError"),
    "inside a not": ("", "not (1 / 0)", "1 / 0) raised ZeroDivisionError"),
    "beside an or": ("", "<x> == '8' or 1 / 0", "1 / 0 raised ZeroDivisionError"),
    "a truth that raises": ("class T:\n    def __bool__(self): raise KeyError('k')\n", "T()", "T() raised KeyError"),
}


@pytest.mark.parametrize("code, condition, complaint", IN_A_CONSTRAINT.values(), ids=IN_A_CONSTRAINT)
def test_a_constraint_that_raises_never_holds(palaver: Any, code: str, condition: str, complaint: str) -> None:
    palaver.write(spec_fan=f"{code}<start> ::= <x>\n<x> ::= '7'\nwhere {condition}\n", input="7")
    parsed = palaver("parse", "-f", "spec.fan", "input")
    assert parsed.code == 1
    assert complaint in parsed.said
    assert f"at spec.fan:{3 + code.count(chr(10))}:" in parsed.said
    made = palaver("fuzz", "-f", "spec.fan", "-n", "1", "-N", "1")
    assert (made.code, made.text) == (1, "")
    assert complaint in made.said


def test_a_constraint_that_always_raises_is_not_tried_for_ever(palaver: Any) -> None:
    palaver.write(spec_fan="<start> ::= <x>\n<x> ::= '7'\nwhere f(<x>)\n")
    made = palaver("fuzz", "-f", "spec.fan", "-n", "1", "-N", "1000000000", "--population-size", "1")
    assert made.code == 1
    assert made.said.removeprefix(WARNED).startswith(
        "palaver: no input found: the spec's Python code raised an error each time; the last one was:\nspec.fan:3:7"
    )


def test_a_constraint_that_raises_now_and_then_is_solved_around(palaver: Any) -> None:
    palaver.write(spec_fan="<start> ::= <x>\n<x> ::= r'[0-9]'\nwhere 10 // int(<x>) == 3\n")
    assert palaver("fuzz", "-f", "spec.fan", "-n", "1").text == "3\n"


def test_an_objective_that_raises_rejects_nothing_but_is_told(palaver: Any) -> None:
    palaver.write(spec_fan="<start> ::= <x>\n<x> ::= r'[a-z]'\nmaximizing int(<x>)\n")
    made = palaver("fuzz", "-f", "spec.fan", "-n", "3")
    assert made.code == 2
    assert len(made.text.split()) == 3
    assert made.said.startswith("spec.fan:3:12: error: the objective int(<x>) raised ConversionError: <x> is")


def test_an_inverse_that_fails_rejects_with_its_reason() -> None:
    spec = library.loads(
        "import sys\n<start> ::= <x>\n<x> ::= r'[0-9]' := str(<y>)\n<y> ::= r'[0-9]' := sys.exit(str(<x>))\n"
    )
    with pytest.raises(library.Rejected, match=r"the inverse .* raised SystemExit: 7"):
        spec.parse("7")


def test_a_bound_that_fails_rejects_with_its_reason() -> None:
    spec = library.loads("import sys\n<start> ::= <n> 'x'{sys.exit(str(<n>))}\n<n> ::= r'[0-9]'\n")
    with pytest.raises(library.Rejected, match=r"the bound .* raised SystemExit: 7"):
        spec.parse("7x")
    with pytest.raises(library.Unsolvable, match=r"the bound .* raised SystemExit"):
        next(spec.fuzz(1, budget=10))


AWKWARD = {
    "a number of too many digits": "10 ** 5000",
    "text that is no UTF-8": "'\\ud800'",
    "a fraction": "1.5",
    "nothing": "None",
    "an object that cannot be shown": "Shy()",
    "a text with an opinion on hashing": "Text('x')",
    "an error that cannot be shown": "fail()",
}
AWKWARD_CODE = """
class Shy:
    def __repr__(self): raise ValueError

class Text(str):
    def __hash__(self): raise ValueError
    def __repr__(self): raise ValueError

class Silent(Exception):
    def __str__(self): raise ValueError

def fail():
    raise Silent

"""


@pytest.mark.parametrize("value", AWKWARD.values(), ids=AWKWARD)
@pytest.mark.parametrize(
    "use",
    [
        "<start> ::= <x>\n<x> ::= r'[0-9]+' := {}\n",
        "<start> ::= <x> b'\\xff'\n<x> ::= r'[0-9]+' := {}\n",
        "<start> ::= <x>\n<x> ::= r'[0-9]+'\nwhere <x> == {}\n",
        "<start> ::= <x> b'\\xff'\n<x> ::= rb'[0-9]+'\nwhere {} == bytes(<x>)\n",
        "<start> ::= <x> 'y'{{(lambda _: {})(<x>)}}\n<x> ::= r'[0-9]+'\n",
    ],
)
def test_awkward_values_lead_to_no_other_errors_than_the_librarys(use: str, value: str) -> None:
    spec = library.loads(AWKWARD_CODE + use.format(value))
    with suppress(library.SpecCrash, library.Unsolvable):
        list(spec.fuzz(2, seed=1, budget=50))
    for data in ("1", b"1\xff", "1y"):
        with suppress(library.Rejected):
            spec.parse(data)


SLICES = {
    "an equation": "<start>[1:3] == 'ab'",
    "of many": "len(<start>[1:]) > 3",
    "in a quantifier": "forall <x> in <start>[1:]: <x> == 'ab'",
    "nothing in it": "<start>[5:2] == 'a'",
}


@pytest.mark.parametrize("condition", SLICES.values(), ids=SLICES)
def test_a_slice_in_a_constraint_is_mended_or_given_up(condition: str) -> None:
    spec = library.loads(f"<start> ::= <a>+\n<a> ::= 'a' | 'b'\nwhere {condition}\n")
    try:
        made = list(spec.fuzz(2, seed=1, budget=500))
    except library.Unsolvable:
        made = []
    assert bool(made) is (condition != SLICES["nothing in it"])


def test_a_slice_that_is_wrong_is_shown_where_it_starts() -> None:
    spec = library.loads("<start> ::= 'xx' <b>\n<b> ::= <a>+\n<a> ::= 'a' | 'b'\nwhere <b>[1:] == 'a'\n")
    with pytest.raises(library.Rejected) as rejected:
        spec.parse("xxab")
    assert rejected.value.offset == 3


ONLY_COMPILING_FINDS = {
    "await": ("await <x>", "'await' outside async function"),
    "a yield": ("[(yield) for x in <x>]", "'yield' inside list comprehension"),
    "two arguments of one name": ("(lambda x, x: <x>)(1, 2)", "duplicate argument 'x' in function definition"),
}


@pytest.mark.parametrize("expression, complaint", ONLY_COMPILING_FINDS.values(), ids=ONLY_COMPILING_FINDS)
def test_code_that_python_does_not_compile_is_reported_when_loading(expression: str, complaint: str) -> None:
    for text in (f"where {expression}\n", f"<y> ::= 'y' := {expression}\n"):
        with pytest.raises(library.SpecError, match=complaint):
            library.loads(f"<start> ::= <x>\n<x> ::= '7'\n{text}")
