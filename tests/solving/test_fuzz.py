"""Trees that satisfy constraints are found, are different, and are explained when there are none."""

import pytest

import palaver
from amounts import examples


def made(text: str, count: int = 5, seed: int = 1) -> list[str]:
    return [str(tree) for tree in palaver.loads(text).fuzz(count, seed=seed)]


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(
    "text",
    [
        '<start> ::= <w>\n<w> ::= r"[a-z]{6}"\nwhere "secret" == str(<w>)\n',
        '<start> ::= <len> ":" <body>\n<len> ::= r"[0-9]+"\n<body> ::= r"[a-z]*"\n'
        "where int(<len>) == len(str(<body>))\n",
        '<start> ::= "<" <tag> ">" <x> "</" <end> ">"\n<tag> ::= r"[a-z]{3,8}"\n<end> ::= r"[a-z]+"\n<x> ::= "x"\n'
        "where <tag> == <end>\n",
        '<start> ::= <row>+\n<row> ::= <a> "=" <b> ";"\n<a> ::= r"[0-9]{3}"\n<b> ::= r"[0-9]{3}"\n'
        "where forall <r> in <row>: <r>.<a> == <r>.<b>\n",
        '<start> ::= <d> <d> <d>\n<d> ::= r"[0-9]"\nwhere sum(int(x) for x in *<d>) == 20\n',
        "import zlib\n<start> ::= <load> <crc>\n<load> ::= <byte>{3,9}\n<crc> ::= <byte>{4}\n"
        "where bytes(<crc>) == zlib.crc32(bytes(<load>)).to_bytes(4, 'big')\n",
        '<start> ::= <n> ":" <x>{int(<n>)}\n<n> ::= r"[0-9]"\n<x> ::= r"[a-c]"\nwhere int(<n>) > 2 and <x> != "a"\n',
    ],
)
def test_every_tree_satisfies_its_constraints(text: str, seed: int) -> None:
    spec = palaver.loads(text)
    trees = list(spec.fuzz(1, seed=seed))
    assert len(trees) == 1
    for tree in trees:
        assert spec.parse(bytes(tree) if spec.is_binary else str(tree))


def test_outputs_are_all_different() -> None:
    texts = made('<start> ::= r"[a-c]{1,2}"\n', 12)
    assert len(set(texts)) == 12


def test_too_few_sentences_are_reported() -> None:
    trees = palaver.loads('<start> ::= "a" | "b"\n').fuzz(5, seed=1)
    assert sorted(map(str, trees)) == ["a", "b"]
    assert trees.shortfall == "found only 2 of 5 inputs: the grammar seems to have no more"


def test_a_constraint_that_cannot_hold_is_named() -> None:
    with pytest.raises(palaver.Unsolvable, match="no input found") as caught:
        list(palaver.loads('<start> ::= r"[0-9]"\nwhere f(<start>)\nf = lambda x: False\n').fuzz(1, seed=1, budget=200))
    assert "f(<start>) does not hold" in str(caught.value)


def test_initial_inputs_come_first_if_they_conform() -> None:
    spec = palaver.loads('<start> ::= r"[0-9]{3}"\nwhere int(<start>) > 100\n')
    assert [str(tree) for tree in spec.fuzz(2, seed=1, initial=["001", "999", "abc", "998"])] == ["999", "998"]


def test_soft_constraints_prefer_but_never_reject() -> None:
    spec = '<start> ::= <n>\n<n> ::= r"[0-9]{3}"\n'
    large = sum(map(int, made(f"{spec}maximizing int(<n>)\n", 20)))
    small = sum(map(int, made(f"{spec}minimizing int(<n>)\n", 20)))
    assert large > 2 * small


def test_a_generator_makes_the_node_and_keeps_its_sources() -> None:
    spec = palaver.loads(
        "<start> ::= '[' <packed> ']'\n<packed> ::= r'[0-9a-f]+' := bytes(<plain>).hex()\n"
        "<plain> ::= <word> := bytes.fromhex(str(<packed>))\n<word> ::= r'[a-z]+'\nwhere len(str(<plain>)) > 2\n"
    )
    for tree in spec.fuzz(5, seed=1):
        (packed,) = tree.find_subtrees("<packed>")
        (plain,) = packed.sources
        assert bytes.fromhex(str(packed)) == bytes(plain)
        assert len(str(plain)) > 2
    assert str(next(spec.parse("[686921]".replace("21", "79")).find_subtrees("<plain>"))) == "hiy"


def test_an_equation_on_a_generated_symbol_finds_the_sources_that_give_it() -> None:
    spec = palaver.loads(
        "<start> ::= <u>\n<u> ::= r'[A-Z]+' := str(<l>).upper()\n<l> ::= r'[a-z]+' := str(<u>).lower()\n"
        "where <u> == 'FACE'\n"
    )
    (tree,) = spec.fuzz(1, seed=1)
    assert [str(source) for source in tree.children[0].sources] == ["face"]


def test_a_generator_whose_result_never_fits_ends_within_the_budget() -> None:
    with pytest.raises(palaver.Unsolvable, match="returned 'x', which does not match its rule"):
        list(palaver.loads("<start> ::= r'[0-9]+' := 'x'\n").fuzz(1, seed=1, budget=50))


def test_a_generator_that_raises_is_reported_with_its_place() -> None:
    with pytest.raises(palaver.SpecCrash, match=r"<string>:1:26: error: the generator of <start> raised ZeroDivision"):
        list(palaver.loads("<start> ::= r'[0-9]+' := 1 // 0\n").fuzz(1))


def test_the_line_is_told_where_the_function_of_a_generator_raises() -> None:
    spec = palaver.loads('<start> ::= r"[0-9]" := half(1)\ndef half(x):\n    return x // 0\n')
    with pytest.raises(palaver.SpecCrash, match=r"<string>:1:25: error: .* by zero, at <string>:3\n"):
        next(spec.fuzz(1))


def test_the_same_seed_makes_the_same_trees() -> None:
    text = "import random\n<start> ::= <n> r'[a-z]*' <b>*\n<b> ::= 'x' | 'yy'\n"
    text += "<n> ::= r'[0-9]+' := random.randint(0, 10**9)\n"
    assert made(text, 20, seed=9) == made(text, 20, seed=9)
    assert made(text, 20, seed=9) != made(text, 20, seed=8)


@pytest.mark.parametrize("symbol", ["<expr>", "<start>"])
def test_a_small_tree_is_found_where_large_ones_are_hopeless(symbol: str) -> None:
    spec = palaver.loads(f"""
<start> ::= <expr>
<expr> ::= <term> " + " <expr> | <term> " - " <expr> | <term>
<term> ::= <term> " * " <factor> | <term> " / " <factor> | <factor>
<factor> ::= "+" <factor> | "-" <factor> | "(" <expr> ")" | <int> "." <int> | <int>
<int> ::= <digit>+
where eval(str({symbol})) == 10
""")
    for seed in range(examples(4)):
        assert all(eval(str(tree)) == 10 for tree in spec.fuzz(1, seed=seed))


def test_a_number_that_is_no_symbol_of_its_own_is_approached() -> None:
    spec = palaver.loads("""
<start> ::= <value>
<value> ::= "(" <value> ")" | r"[1-9][0-9]{0,4}"
where eval(str(<start>)) == 47110
""")
    for seed in range(3):
        assert all(eval(str(tree)) == 47110 for tree in spec.fuzz(1, seed=seed))


@pytest.mark.parametrize(
    "rules",
    [
        '<expr> ::= <expr> "+" <expr> | <expr> "*" <expr> | "(" <expr> ")" | <number>\n'
        '<number> ::= "0" | r"[1-9][0-9]*"',
        '<expr> ::= <expr> "+" <expr> | "(" <expr> ")" | r"[1-9][0-9]*"',
        '<expr> ::= <term> ("-" <term>)*\n<term> ::= <atom> ("*" <atom>)*\n'
        '<atom> ::= r"0|[1-9][0-9]?" | "(" <expr> ")"',
        '<expr> ::= <number> | "(" <expr> "+" <expr> ")" | "--" <expr>\n'
        '<number> ::= <n> | <n> <number>\n<n> ::= r"[1-9]" | "0"',
    ],
)
def test_a_condition_on_every_node_of_a_recursive_symbol_is_met_from_the_bottom_up(rules: str) -> None:
    spec = palaver.loads(f'<start> ::= "x=" <expr> ";"\n{rules}\nwhere eval(str(<expr>)) == 10\n')
    for seed in range(3):
        trees = list(spec.fuzz(10, seed=seed))
        assert len({str(tree) for tree in trees}) == 10
        assert all(eval(str(expr)) == 10 for tree in trees for expr in tree.find_subtrees("<expr>"))


def test_nested_parts_of_a_recursive_symbol_vary() -> None:
    spec = palaver.loads("""
<start> ::= <list>
<list> ::= "[" (<item> ("," <item>)*)? "]"
<item> ::= r"[1-9]{1,3}" | <list>
where len(eval(str(<list>))) == 3
""")
    trees = list(spec.fuzz(10, seed=1))
    assert len(trees) == 10
    assert len({len(list(tree.find_subtrees("<list>"))) for tree in trees}) >= 3


def test_the_only_tree_of_a_recursive_symbol_is_found_and_said_to_be_all() -> None:
    spec = palaver.loads("""
<start> ::= <tree>
<tree> ::= r"[a-z]" | "(" <tree> " " <tree> ")"
where str(<tree>).count("a") == 1
""")
    solutions = spec.fuzz(3, seed=1)
    assert [str(tree) for tree in solutions] == ["a"]
    assert "no more" in (solutions.shortfall or "")
