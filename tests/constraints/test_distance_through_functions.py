"""Functions of the spec, asked how far they are from what is wanted of them."""

import ast
import textwrap
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import palaver
from amounts import examples
from palaver.constraints.code_uses import functions_defined_in
from palaver.constraints.distance import compile_distance
from palaver.trees.node import Node, NonTerminal
from palaver.trees.tree import Tree

GRAMMAR = '<start> ::= r"(?s:.*)"\n'

PREDICATES = '''
def is_leap(year):
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)

def is_date(text):
    """Three numbers with dashes between them."""
    parts = str(text).split("-")
    if len(parts) != 3:
        return False
    year, month, day = map(int, parts)
    if not 1 <= month <= 12 or day < 1:
        return False
    if month == 2:
        return day <= (29 if is_leap(year) else 28)
    elif month in (4, 6, 9, 11):
        return day <= 30
    else:
        return day <= 31

def is_luhn(text):
    total = 0
    for position, digit in enumerate(reversed(str(text))):
        number = int(digit)
        if position % 2:
            number = number * 2 - (9 if number > 4 else 0)
        total += number
    return total % 10 == 0

def is_palindrome(text):
    text = str(text)
    for at in range(len(text) // 2):
        if text[at] != text[-1 - at]:
            return False
    return True

def is_strong(text):
    text = str(text)
    has_upper = any(c.isupper() for c in text)
    has_digit = any(c.isdigit() for c in text)
    is_long = len(text) >= 8
    if not has_upper:
        return False
    return is_long and has_digit and "password" not in text.lower()

def is_prime(text):
    number = int(text)
    if number < 2:
        return False
    return all(number % divisor for divisor in range(2, number))

def is_rising(text):
    previous = None
    for part in str(text).split("-"):
        if previous is not None and int(part) <= previous:
            return False
        previous = int(part)
    return True

def is_known(text):
    if text == "open":
        return True
    if str(text).startswith("close"):
        return True
    try:
        if int(text) > 100:
            return "many"
        else:
            return
    except ValueError:
        return False

def has_some(text):
    for word in str(text).split("-"):
        if word == "7":
            return True

def is_odd_one(text):
    match str(text):
        case "odd":
            return True
        case other if other.isdigit():
            with_break = 0
            while True:
                with_break += 1
                if with_break > 3:
                    break
            return int(other) % 2
    return None

def is_recursive(text):
    text = str(text)
    if len(text) <= 1:
        return True
    return text[0] == text[-1] and is_recursive(text[1:-1])
'''
NAMES = [line[4 : line.index("(")] for line in PREDICATES.splitlines() if line.startswith("def is_leap") is False
         and line.startswith("def ")]  # fmt: skip

texts = st.one_of(
    st.text("ab-01279Pé", max_size=9),
    st.tuples(st.integers(1990, 2010), st.integers(0, 14), st.integers(0, 33)).map(
        lambda date: "-".join(map(str, date))
    ),
    st.integers(0, 200).map(str),
    st.sampled_from(["open", "close it", "odd", "Password1", "Passw0rd1", "1-2-3", "abba", "a" * 60]),
)


def tree_of(text: str) -> Tree:
    return Tree(Node(NonTerminal("<start>"), (text,)))


class DistanceFunction:
    """A constraint on a whole text, with the functions that it calls."""

    def __init__(self, code: str, constraint: str) -> None:
        self.spec = palaver.loads(textwrap.dedent(code) + GRAMMAR, constraints=[constraint])
        self.names = self.spec.namespace.names
        functions = functions_defined_in(self.spec.python)
        self._measure = compile_distance(self.spec.grammar.constraints[0], self.spec.analysis, self.names, functions)

    def __call__(self, text: str) -> float:
        return self._measure(tree_of(text)).distance

    def passes(self, text: str) -> bool:
        return self.spec.checks[0].failure(tree_of(text)) is None


DISTANCES = {
    name: (DistanceFunction(PREDICATES, f"{name}(<start>)"), DistanceFunction(PREDICATES, f"not {name}(<start>)"))
    for name in NAMES
}


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=examples(40), deadline=None)
@given(text=texts)
def test_a_function_is_at_zero_exactly_where_it_returns_what_is_wanted(name: str, text: str) -> None:
    for measure in DISTANCES[name]:
        assert (measure(text) == 0.0) is measure.passes(text)
        assert measure(text) <= 1.0 or measure(text) == 2.0


@pytest.mark.parametrize(
    ("constraint", "from_far_to_near"),
    [
        ("is_date(<start>)", ["1-2-3-4-5", "1-2-3-4", "2001-20-99", "2001-13-99", "2001-12-40", "2001-12-31"]),
        ("is_date(<start>)", ["2001-02-31", "2001-02-29", "2001-02-28"]),
        ("not is_rising(<start>)", ["1-50", "1-9", "1-5-9-12", "1-2", "1-1"]),
        ("is_luhn(<start>)", ["4111111111111115", "4111111111111113", "4111111111111112", "4111111111111111"]),
        ("is_palindrome(<start>)", ["abcdxx", "abcdea", "abczba", "abcdba", "abccba"]),
        ("is_strong(<start>)", ["abc", "Abc", "Abcdefg", "Abcdefgh", "Abcdefg1"]),
        ("is_rising(<start>)", ["5-1-6-7", "5-6-2-7", "5-6-5-7", "5-6-6-7", "5-6-7-8"]),
        ("has_some(<start>)", ["A-A", "A-5", "6-5", "7-5"]),
        ("is_known(<start>)", ["1", "99", "100", "101"]),
        ("is_recursive(<start>)", ["abcdxx", "abcdxa", "abcdba", "abccba"]),
    ],
)  # fmt: skip
def test_nearer_is_less(constraint: str, from_far_to_near: list[str]) -> None:
    measure = DistanceFunction(PREDICATES, constraint)
    found = [measure(text) for text in from_far_to_near]
    assert found == sorted(found, reverse=True)
    assert len(set(found)) == len(found)
    assert found[-1] == 0.0


def test_a_rewritten_condition_evaluates_its_parts_once_and_no_more_than_needed() -> None:
    code = """
        done = []
        def did(what, value):
            done.append(what)
            return value
        def both(text):
            if did("a", 1) < did("b", 2) < did("c", 3) and did("d", len(str(text))) > 3:
                return did("e", False) or did("f", str(text)) == "abcd" or did("g", True)
            return did("h", 0)
    """
    measure = DistanceFunction(code, "both(<start>)")
    done = measure.names["done"]
    for text, expected in (("abcd", "abcdef"), ("abcx", "abcdefg"), ("ab", "abcdh")):
        done.clear()
        measure(text)
        assert "".join(done) == expected


def test_the_globals_of_the_spec_are_used_and_left_as_they_are() -> None:
    code = """
        limit = 3
        calls = 0
        def short(text):
            global calls
            calls += 1
            return len(str(text)) < limit
    """
    measure = DistanceFunction(code, "short(<start>)")
    before = set(measure.names)
    assert measure("abcd") == pytest.approx(2 / 3)
    assert measure.names["calls"] == 1
    assert set(measure.names) == before
    measure.names["limit"] = 9
    assert measure("abcd") == 0.0


def test_a_function_that_is_redefined_is_rewritten_again() -> None:
    measure = DistanceFunction("def good(text):\n  return str(text) == 'ab'\n", "good(<start>)")
    assert measure("ac") == 0.5
    measure.names["good"] = lambda text: str(text) == "ac"
    assert (measure("ac"), measure("ab")) == (0.0, 1.0)


def test_defaults_and_keywords_are_those_of_the_function() -> None:
    code = """
        made = []
        def near(text, limit: made.append(1) = made.append(2) or 5, *rest, more=2, **options):
            return len(str(text)) <= limit + more
    """
    measure = DistanceFunction(code, "near(<start>)")
    made_by_definition = list(measure.names["made"])
    assert (measure("a" * 7), measure("a" * 8)) == (0.0, 0.5)
    assert measure.names["made"] == made_by_definition
    assert DistanceFunction(code, "near(<start>, 1, more=0)")("ab") == 0.5


@pytest.mark.parametrize(
    ("code", "good", "bad"),
    [
        ("from functools import cache\n@cache\ndef f(text):\n  return str(text) == 'a'\n", "a", "b"),
        ("def f(text):\n  yield 1\n", "a", None),
        ("async def g(text):\n  return 1\ndef f(text):\n  g(text).close()\n  return str(text) == 'a'\n", "a", "z"),
        ("f = lambda text: str(text) == 'a'\n", "a", "b"),
        ("class f:\n  def __init__(self, text): self.text = str(text)\n  def __bool__(self): return self.text == 'a'\n",
         "a", "b"),
        ("def f(text):\n  def g(): return str(text) == 'a'\n  return g()\n", "a", "b"),
        ("def f(text):\n  all = any\n  return all(c == 'a' for c in str(text))\n", "ab", "b"),
        ("def all(xs):\n  return list(xs) == [0]\ndef f(text):\n  return all(0 for c in str(text))\n", "a", "bb"),
        ("def f(text):\n  f = str\n  return f(text) == 'a' and f(text)\n", "a", "b"),
        ("def f(text):\n  ok = str(text) == 'a'\n  for ok in (ok, ok): pass\n  return ok\n", "a", "b"),
        ("def f(text):\n  ok = True\n  for c in str(text):\n    if c != 'a': ok = False\n  return ok\n", "a", "b"),
        ("def f(text):\n  ok = str(text) > 'a'\n  ok2 = not ok and len(str(text)) == 1\n  return ok2\n", "a", "b"),
        ("def f(text):\n  try: return int(text) > 3\n  except ValueError: return str(text) == 'a'\n", "a", "b"),
        ("def f(text):\n  try:\n    return False\n  finally:\n    return str(text) == 'a'\n", "a", "b"),
        ("def f(text):\n  if (n := len(str(text))) == 1 and n > 0: return str(text) == 'a'\n", "a", "b"),
        ("def f(text):\n  return any((n := c) == 'a' for c in str(text)) and n == 'a'\n", "a", "b"),
        ("def f(text):\n  return [c for c in str(text) if c == 'a']\n", "a", "b"),
        ("def f(text):\n  return any([c == 'a', d == 'a'] for c in str(text) for d in c)\n", "a", ""),
        ("def f(text):\n  return any({c == 'a' for c in str(text)}) and all(map(str.isalpha, str(text)))\n", "a", "b"),
        ("def f(text):\n  return any(any(c == d for d in 'a') for c in str(text))\n", "a", "b"),
        ("def f(text):\n  return str(text) is not None is not (str(text) != 'a')\n", "a", None),
        ("def f(*texts, **more):\n  return all([str(t) == 'a' for t in texts])\n", "a", "b"),
    ],
)  # fmt: skip
def test_rewritten_code_of_any_form_means_the_same(code: str, good: str, bad: str | None) -> None:
    for constraint in ("f(<start>)", "not f(<start>)"):
        measure = DistanceFunction(code, constraint)
        for text in (good, bad) if bad is not None else (good,):
            assert measure.passes(text) is ((text == good) is (constraint == "f(<start>)"))
            assert (measure(text) == 0.0) is measure.passes(text)


def test_elements_after_the_first_failure_may_raise_or_never_end() -> None:
    measure = DistanceFunction("def f(text):\n  return all(1 / (3 - n) < 1 for n in range(9))\n", "f(<start>)")
    assert measure.passes("") is (measure("") == 0.0) is False
    measure = DistanceFunction(
        "from itertools import count\ndef f(text):\n  return all(n < 3 for n in count())\n", "f(<start>)"
    )
    assert 0 < measure("") < 1


def test_recursion_is_followed_only_so_far() -> None:
    measure = DistanceFunction(PREDICATES, "is_recursive(<start>)")
    assert measure("a" * 500) == 0.0
    assert 0 < measure("a" * 250 + "b" + "a" * 249) <= 1.0
    assert measure("a" * 5000) == 2.0 or measure.passes("a" * 5000)


def test_code_that_cannot_be_rewritten_gives_zero_or_one() -> None:
    branches = "".join(f"{'el' if n else ''}if n == {n}: return False\n    " for n in range(300))
    measure = DistanceFunction(f"def f(text):\n    n = len(str(text))\n    {branches}return True\n", "f(<start>)")
    assert (measure("a"), measure("a" * 300)) == (1.0, 0.0)


def test_functions_are_found_in_the_modules_of_a_spec() -> None:
    modules = [
        ast.parse("def f(): pass\nx = 1\nclass C:\n  def h(self): pass\n"),
        ast.parse("def g(): pass\ndef f(): 1\n"),
    ]
    found: dict[str, Any] = functions_defined_in(modules)
    assert sorted(found) == ["f", "g"]
    assert found["f"] is modules[1].body[1]
