"""The distance of trees from their constraints: 0 exactly where the check passes, less where less has to change."""

from collections.abc import Callable
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import palaver
from amounts import examples
from palaver.compiled import Spec
from palaver.constraints.branch_distance import normalised
from palaver.constraints.distance import Fitness, compile_distance
from palaver.trees.tree import Tree

ITEMS = """\
<start> ::= <item> ("," <item>)* <tail>?
<item> ::= <key> "=" <num>
<key> ::= r"[a-c]{0,3}"
<num> ::= r"[0-9]{1,20}"
<tail> ::= ";"
"""
BYTES = """\
<start> ::= <flag>{8} <body>
<flag> ::= 0 | 1
<body> ::= rb"(?s:.)*"
"""


@cache
def grammar(text: str) -> Spec:
    return palaver.loads(text)


def measure_of(spec: Spec) -> Callable[[Tree], Fitness]:
    (constraint,) = spec.grammar.constraints
    return compile_distance(constraint, spec.analysis, spec.namespace.names)


def measure(constraint: str, data: str | bytes, text: str = ITEMS) -> Fitness:
    return measure_of(palaver.loads(text, constraints=[constraint]))(grammar(text).parse(data))


def distances(constraint: str, *inputs: str) -> list[float]:
    return [measure(constraint, data).distance for data in inputs]


def texts(fitness: Fitness) -> list[str]:
    return [str(tree) for tree in fitness.blamed]


# --- agreement with the check -----------------------------------------------------------------------------------------

ATOMS = [
    "int(<num>) < 5",
    "int(<num>) <= 3",
    "int(<num>) > 2",
    "3 <= int(<num>) < 8",
    "int(<num>) % 3 == 0",
    '<key> == "ab"',
    'not <key> == "ab"',
    '<key> != "a"',
    "<num> == 3",
    "<num> == <num>",
    "<key> < <key>",
    '<key> >= "b"',
    '<key> in ("a", "b", "abc")',
    '<key> not in ("a", "bc")',
    '<num> in {"1", "2"}',
    "int(<num>) in range(0, 9, 2)",
    '"a" in <key>',
    '"ab" not in str(<key>)',
    'str(<key>).startswith("a")',
    '<key>.endswith(("b", "c"))',
    "str(<key>).isalpha()",
    "str(<key>)",
    "not <key>",
    "<item>[0:2] == 'a='",
    "<tail> is None",
    "<tail>",
    "|<item>| == 2",
    "len(*<item>) != 2",
    "sorted(str(k) for k in *<key>) == [str(k) for k in *<key>]",
    "{str(k) for k in *<key>} <= {'a', 'b'}",
    "all(int(n) > 1 for n in *<num>)",
    "all([int(n) > 1 for n in *<num>]) or False",
    "not any(str(k) == 'a' for k in *<key> if k)",
    "int(<key>) == 1",  # raises
    "<start>[7] == 'a'",  # may raise
    'int(<num>) > 3 if <key> == "a" else True',
    'False if <key> == "a" else int(<num>) > 3',
    "(int(<num>) > 3) if str(<key>) else (int(<num>) < 5)",
    "not (int(<num>) > 3 and <key> == 'a')",
    "not 2 < int(<num>) < 7",
    "bool(<key>)",
    "True",
    "not (False or False)",
]
BODIES = [
    "int(<i>.<num>) > 3",
    '<i>.<key> == "a"',
    'str(<i>.<key>) == "b" or int(<i>.<num>) < 4',
    "int(<i>.<key>) > 3",  # raises
    "any(int(<num>) == int(<n>) for <n> in *<i>.<num>)",
]


def compounds(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.tuples(inner, inner).map(" and ".join).map("({})".format),
        st.tuples(inner, inner).map(" or ".join).map("({})".format),
    )


closed = st.recursive(
    st.one_of(
        st.sampled_from(ATOMS).map("({})".format),
        st.sampled_from(BODIES).map("all({} for <i> in *<item>)".format),
        st.sampled_from(BODIES).map("any({} for <i> in *<item>)".format),
        st.sampled_from(BODIES).map("not all({} for <i> in *<item>)".format),
        st.sampled_from(BODIES).map("not any({} for <i> in *<item>)".format),
        st.sampled_from(BODIES).map("not (all({} for <i> in *<item>) and |<item>| < 3)".format),
        st.sampled_from(BODIES).map("not (any({} for <i> in *<item>) or int(<key>) == 1)".format),
        st.sampled_from(BODIES).map("any(not all({} for <i> in *<e>..<item>) for <e> in *<item>)".format),
        st.sampled_from(BODIES).map("not all(not all({} for <i> in *<e>..<item>) for <e> in *<item>)".format),
    ),
    compounds,
    max_leaves=3,
)
constraints = st.one_of(
    closed,
    st.tuples(closed, closed).map(" -> ".join),
    st.sampled_from(BODIES).map("forall <i> in <item>: {}".format),
    st.sampled_from(BODIES).map("exists <i> in <item>: {}".format),
    st.sampled_from(BODIES).map("forall <o> in <item>: exists <i> in <item>: {}".format),
)
items = st.tuples(st.text("abc", max_size=3), st.integers(0, 12).map(str)).map("=".join)
inputs = st.tuples(st.lists(items, min_size=1, max_size=4).map(",".join), st.sampled_from(["", ";"])).map("".join)


@settings(max_examples=examples(150), deadline=None)
@given(constraints, inputs)
def test_the_distance_is_zero_exactly_where_the_check_passes(constraint: str, data: str) -> None:
    spec = palaver.loads(ITEMS, constraints=[constraint])
    tree = grammar(ITEMS).parse(data)
    fitness = measure_of(spec)(tree)
    assert (fitness.distance == 0.0) is (spec.checks[0].failure(tree) is None)
    assert bool(fitness.blamed) is (fitness.distance > 0)


@pytest.mark.parametrize("constraint", ATOMS)
def test_every_kind_of_condition_agrees_with_its_check(constraint: str) -> None:
    spec = palaver.loads(ITEMS, constraints=[constraint])
    measured = measure_of(spec)
    for data in ("=0", "a=3", "ab=4,a=4", "ab=3,b=2;", "abc=9,b=1,c=6", "a=1,b=2,c=3,a=4", "b=2,b=2"):
        tree = grammar(ITEMS).parse(data)
        assert (measured(tree).distance == 0.0) is (spec.checks[0].failure(tree) is None), data


@settings(max_examples=examples(60), deadline=None)
@given(
    st.sampled_from(
        [
            "int(<flag>) == 1",
            "<flag> == <flag>",
            '<body> == b"ab"',
            '<body> == "\\xe4"',
            "<body> < b'm'",
            "b'a' in <body>",
            "bytes(<body>)[0] == 97",
            "<start>[0:8] > 100",
            "<body>.startswith(b'a')",
            "len(bytes(<body>)) in (1, 2)",
            "<body>.value() == b'ab'",
            "int.from_bytes(bytes(<body>), 'big') > 1000",
        ]
    ),
    st.binary(min_size=1, max_size=4),
)
def test_bits_and_bytes_agree_with_their_checks(constraint: str, data: bytes) -> None:
    spec = palaver.loads(BYTES, constraints=[constraint])
    tree = grammar(BYTES).parse(data)
    assert (measure_of(spec)(tree).distance == 0.0) is (spec.checks[0].failure(tree) is None)


# --- gradients --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("constraint", "from_far_to_near"),
    [
        ("int(<num>) == 50", ["a=99", "a=60", "a=49", "a=50"]),
        ("int(<num>) > 50", ["a=9", "a=40", "a=49", "a=50", "a=51"]),
        ("int(<num>) >= 50", ["a=9", "a=40", "a=49", "a=50"]),
        ("int(<num>) < 5", ["a=99", "a=6", "a=5", "a=4"]),
        ("not int(<num>) < 5", ["a=1", "a=3", "a=4", "a=5"]),
        ("int(<num>) == 10 ** 19", ["a=1", f"a={10**18}", f"a={10**19 - 10**6}", f"a={10**19 - 1}", f"a={10**19}"]),
        ("len(str(<num>)) == 6", ["a=1", "a=123", "a=12345", "a=123456"]),
        ('<num> == "555555"', ["a=99", "a=5555", "a=555559", "a=555556", "a=555555"]),
        ('<num> == "1234567890"', ["a=234567", "a=234567890", "a=1234567890"]),
        ('<num> < "5"', ["a=9", "a=7", "a=5", "a=4"]),
        ("<num> == 50", ["a=99", "a=60", "a=49", "a=50"]),
        ("int(<num>) in (10, 50)", ["a=99", "a=7", "a=9", "a=10"]),
        ("int(<num>) in range(10, 50, 10)", ["a=99", "a=25", "a=19", "a=20"]),
        ('"777" in str(<num>)', ["a=111", "a=117", "a=1771", "a=1776", "a=1777"]),
        ('str(<num>).startswith("77")', ["a=11", "a=71", "a=76", "a=77"]),
        ('str(<num>).endswith("77")', ["a=1", "a=11", "a=17", "a=377"]),
        ("[int(n) for n in *<num>] == [1, 2, 3]", ["a=1", "a=9,a=9,a=9", "a=9,a=2,a=3", "a=2,a=2,a=3", "a=1,a=2,a=3"]),
        ("int(<num>) == 3", ["a=9,a=9", "a=9,a=3", "a=3,a=3"]),
        ("all(int(n) == 3 for n in *<num>) or False", ["a=9,a=9", "a=9,a=3", "a=3,a=3"]),
        ("int(<num>) == 3 or int(<num>) == 90", ["a=50", "a=10", "a=4", "a=3"]),
        ("exists <i> in <item>: int(<i>.<num>) == 3", ["a=9,a=9", "a=9,a=5", "a=9,a=3"]),
        ("not all(int(<i>.<num>) > 3 for <i> in *<item>)", ["a=9,a=9", "a=9,a=5", "a=9,a=3"]),
        ("|<item>| == 3", ["a=1", "a=1,a=1", "a=1,a=1,a=1"]),
    ],
)
def test_nearer_is_less(constraint: str, from_far_to_near: list[str]) -> None:
    found = distances(constraint, *from_far_to_near)
    assert found == sorted(found, reverse=True)
    assert len(set(found)) == len(found)
    assert found[-1] == 0.0


@given(st.one_of(st.floats(0, exclude_min=True), st.integers(1, 10**400)), st.integers(1, 10**6))
def test_every_gap_is_normalised_to_at_most_one(gap: float, more: int) -> None:
    assert 0 < normalised(gap) <= 1
    assert normalised(gap) <= normalised(gap + more if gap < 10**300 else gap)


def test_conditions_that_fail_add_up_and_of_alternatives_the_nearest_counts() -> None:
    near, far = distances("int(<num>) == 3", "a=4", "a=9")
    assert distances("int(<num>) == 3 and int(<num>) == 4", "a=9") == [pytest.approx(far + 5 / 6)]
    assert distances("int(<num>) == 3", "a=4,a=9") == [pytest.approx(near + far)]
    assert distances("int(<num>) == 3 or int(<num>) == 8", "a=9") == [near]


def test_a_condition_that_raises_is_far() -> None:
    assert distances("int(<key>) == 1", "a=1") == [2.0]
    assert distances("<start>[int('x')] == 1", "a=1") == [2.0]
    assert distances("forall <i> in <start>[9]: <i> == 1", "a=1") == [2.0]
    assert distances("not any(int(<k>) == 1 for <k> in *<key>)", "a=1") == [2.0]
    assert distances("exit()", "a=1") == [2.0]


def test_an_exists_without_candidates_is_at_distance_one() -> None:
    assert measure('exists <t> in <tail>: <t> == ";"', "a=1").distance == 1.0
    assert texts(measure('exists <t> in <tail>: <t> == ";"', "a=1")) == ["a=1"]


def test_values_that_cannot_be_measured_are_far_but_nothing_is_raised() -> None:
    assert distances("str(<num>) == 3", "a=3") == [1.0]
    assert distances("object() == <num>.__class__", "a=3") == [1.0]
    assert distances("[[[[[[[[[[[[1]]]]]]]]]]]] == [[[[[[[[[[[[2]]]]]]]]]]]]", "a=3")[0] > 0
    assert distances("float('nan') == int(<num>)", "a=3") == [1.0]
    assert distances("int(<num>) == 10 ** 400", "a=3")[0] < 1.0


def test_long_texts_are_measured_where_they_differ() -> None:
    long = "7" * 5000
    text = '<start> ::= <num>\n<num> ::= r"[0-9]+"\n'
    assert measure(f'<num> == "{long}8"', f"{long}9", text).distance == 0.5
    assert measure(f'"{long}8" in str(<num>)', f"1{long}9", text).distance == 0.5


# --- blame ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("constraint", "blamed"),
    [
        ("int(<num>) < 5", ["7", "9"]),
        ("int(<num>) < 5 and <key> == 'a'", ["7", "9", "b"]),
        ("int(<num>) == 8 or int(<num>) == 6", ["1", "7", "9"]),
        ("<num> == <key>", ["1", "a", "a", "b", "7", "9"]),
        ("exists <i> in <item>: int(<i>.<num>) == 8", ["7", "9", "1"]),
        ("forall <i> in <item>: int(<i>.<num>) < 9", ["9"]),
        ("forall <i> in <item>: str(<i>) == 'a=1'", ["a=7", "b=9"]),
        ("all(int(i[2]) < 9 for i in *<item>)", ["b=9"]),
        ("all(False for i in *<item>)", ["a=1", "a=7", "b=9"]),
        ("sum(int(n) for n in *<num>) == 3", ["1", "7", "9"]),
        ("|<item>| == 2", ["a=1,a=7,b=9"]),
        ("<start>[0][2] == '2'", ["1"]),
        ("<start>[0][1] == '2'", ["a=1"]),
        ("<start>[1:3] == 'x'", ["a=1,a=7,b=9", "a=7"]),
        ("len('') == 1", ["a=1,a=7,b=9"]),
    ],
)
def test_nodes_that_failing_conditions_looked_at_are_blamed(constraint: str, blamed: list[str]) -> None:
    assert sorted(texts(measure(constraint, "a=1,a=7,b=9"))) == sorted(blamed)


def test_of_alternatives_the_nearest_is_blamed_first() -> None:
    assert texts(measure("exists <i> in <item>: int(<i>.<num>) == 8", "a=1,a=7,b=20")) == ["7", "1", "20"]
    assert texts(measure("|<tail>| == 3 or <key> == 'b'", "a=1;"))[0] == "a"


def test_nothing_is_blamed_when_nothing_fails_or_twice() -> None:
    assert measure("int(<num>) > 0", "a=1") == Fitness(0.0, ())
    assert texts(measure("not all(int(<n>) + int(<num>) > 3 for <n> in *<tail>) or <key> == 'b'", "a=1"))[0] == "a"
    assert texts(
        measure("not (int(<num>) > 3 and all(<k> == 'a' for <k> in *<key>)) and <tail> == ','", "a=9,a=1;")
    ) == [";"]
    assert texts(measure("int(<num>) > 3 and int(<num>) > 4", "a=1")) == ["1"]


# --- cost -------------------------------------------------------------------------------------------------------------


def test_of_too_many_combinations_a_sample_from_all_over_is_measured() -> None:
    spec = palaver.loads(ITEMS, constraints=["(<num>, <num>, <num>, <num>) == 0"])
    tree = grammar(ITEMS).parse(",".join(["a=1"] * 300))
    fitness = measure_of(spec)(tree)
    assert fitness.distance > 0
    assert len(fitness.blamed) == 300


def test_deep_conditions_are_no_trouble() -> None:
    chain = " or ".join(f"int(<num>) == {n}" for n in range(300))
    assert distances(f"not not ({chain})", "a=299", "a=300") == [0.0, 0.5]
    choice = "".join(f"{n} if int(<num>) == {n} else " for n in range(1, 60)) + "0"
    assert distances(f"({choice})", "a=9", "a=60") == [0.0, 0.5]
