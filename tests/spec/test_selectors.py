"""Selectors in Python text: what is lifted out, and what is Python's."""

from __future__ import annotations

import ast
import re

import pytest
from spec_reading import leaf, read, remarks

from palaver.spec.ast import Child, Descendant, Expression, Index, Mention, SelectorStep


def mentions(text: str) -> list[tuple[str, str, tuple[SelectorStep, ...]]]:
    return [(mention.kind, mention.path.base, mention.path.steps) for mention in leaf(text).mentions]


@pytest.mark.parametrize(
    "text, steps",
    [
        ("<a>", ()),
        ("< a >", ()),
        ("<a>.<b>", (Child("<b>"),)),
        ("<a>..<b>", (Descendant("<b>"),)),
        ("<a> . <b>", (Child("<b>"),)),
        ("<a>[0]", (Index(0),)),
        ("<a>[-1]", (Index(-1),)),
        ("<a>[0x10]", (Index(16),)),
        ("<a>[:3]", (Index((None, 3, None)),)),
        ("<a>[1:]", (Index((1, None, None)),)),
        ("<a>[::-1]", (Index((None, None, -1)),)),
        ("<a>[1:2:3]", (Index((1, 2, 3)),)),
        ("<a>[0].<b>", (Index(0), Child("<b>"))),
        ("<a>[0][1]", (Index(0), Index(1))),
        ("(<a>)", ()),
        ("(<a>).<b>", (Child("<b>"),)),
        ("((<a>.<b>)[0])..<c>", (Child("<b>"), Index(0), Descendant("<c>"))),
        ("(<a>\n  .<b>\n)[0]", (Child("<b>"), Index(0))),
        ("<a> \\\n .<b>", (Child("<b>"),)),
    ],
)
def test_paths(text: str, steps: tuple[SelectorStep, ...]) -> None:
    assert mentions(text) == [("each", "<a>", steps)]
    assert isinstance(leaf(text).python, ast.Name)


@pytest.mark.parametrize("text", ["<a>[i]", "<a>[1, 2]", "<a>[f(1)][0]", "<a>[0][i]", "<a>.x", "<a>[i:]"])
def test_a_computed_index_at_the_end_is_part_of_the_python(text: str) -> None:
    assert len(mentions(text)) == 1
    assert isinstance(leaf(text).python, ast.Subscript | ast.Attribute)


def test_a_computed_index_inside_a_path_is_a_step() -> None:
    ((_, _, steps),) = mentions("<a>[n + 1].<b>")
    index, child = steps
    assert child == Child("<b>")
    assert isinstance(index, Index)
    assert isinstance(index.value, Expression)
    assert index.value.text == "n + 1"
    assert ast.unparse(index.value.python) == "n + 1"


def test_a_computed_slice_inside_a_path_is_a_step_too() -> None:
    ((_, _, (index, _)),) = mentions("<a>[n:].<b>")
    assert isinstance(index, Index)
    assert isinstance(index.value, Expression)
    code = compile(ast.Expression(index.value.python), "spec", "eval")
    assert eval(code, {"n": 3}) == slice(3, None, None)


@pytest.mark.parametrize(
    "text, kinds",
    [
        ("*<a>", ["list"]),
        ("len(*<a>)", ["list"]),
        ("f(1, *<a>.<b>[0])", ["list"]),
        ("*(<a>)", ["list"]),
        ('"x" in *<a>', ["list"]),
        ("not *<a>", ["list"]),
        ("2 * <a>", ["each"]),
        ("2 *<a>", ["each"]),
        ("f(x) *<a>", ["each"]),
        ("<a> * <b>", ["each", "each"]),
        ("2 ** <a>", ["each"]),
        ("|<a>|", ["count"]),
        ("|<a>.<b>| + |<c>|", ["count", "count"]),
        ("f(|<a>|)", ["count"]),
        ("<a> | <b>", ["each", "each"]),
        ("1 |<a>| 2", ["each"]),
        ("f(x<y>0)", []),
        ("f(x[0]<y>0)", []),
        ("f(f(a)<y>0)", []),
        ("f(None<y>0)", []),
        ("x if <y> else 0", ["each"]),
        ("f(*args)", []),
        ("f(*(1, <a>))", ["each"]),
        ("... is <a>", ["each"]),
        ("'<a>' 'b'", []),
        ("x # <a>", []),
        ("lambda: <a>", ["each"]),
        ("<a> <> 3", ["each"]),
        ("f(n := <a>)", ["each"]),
        ("|<a>|==3", ["count"]),
    ],
)
def test_operators_between_operands_are_pythons(text: str, kinds: list[str]) -> None:
    assert [kind for kind, _, _ in mentions(text)] == kinds


def test_unequal_may_be_written_the_old_way() -> None:
    comparison = leaf("<a> <> 3").python
    assert isinstance(comparison, ast.Compare)
    assert isinstance(comparison.ops[0], ast.NotEq)


@pytest.mark.parametrize(
    "text, bases",
    [
        ('f"{<a>}!"', ["<a>"]),
        ('f"{<a>}{<b>}"', ["<a>", "<b>"]),
        ('f"{{<a>}} {<b>.<c>!r:>{<d>}}"', ["<b>", "<d>"]),
        ('f"""\n{<a>}\n"""', ["<a>"]),
        ("rf'\\{<a>}'", ["<a>"]),
        ("f'\\N{DIGIT ONE}{<a>}'", ["<a>"]),
        ("f'{f\"{<a>}\"}'", ["<a>"]),
        ("f'{x:<10}'", []),
        ("f'{<a>:<10}'", ["<a>"]),
        ("f'{x != <a>}'", ["<a>"]),
        ("f'{ {1: <a>}[1] }'", ["<a>"]),
        ("f'<a>'", []),
    ],
)
def test_fields_of_f_strings_are_searched(text: str, bases: list[str]) -> None:
    assert [mention.path.base for mention in leaf(text).mentions] == bases
    assert leaf(text).text == text


def test_a_field_that_shows_its_own_text_shows_the_authors() -> None:
    expression = leaf('f"{<a>=}"')
    (mention,) = expression.mentions
    code = compile(ast.Expression(expression.python), "spec", "eval")
    assert eval(code, {mention.name: 3}) == "<a>=3"


def test_every_mention_is_a_variable_of_its_own_in_the_order_of_the_text() -> None:
    expression = leaf('f(<b>, x=[<a> for _ in y], **{"k": <b>}) is <c>')
    assert [mention.path.base for mention in expression.mentions] == ["<b>", "<a>", "<b>", "<c>"]
    assert len({mention.name for mention in expression.mentions}) == 4


def test_a_thousand_mentions_and_hieroglyphs_of_the_author_do_not_collide() -> None:
    text = "𓀀(" + ", ".join(["<a>"] * 3000) + ")"
    names = [mention.name for mention in leaf(text).mentions]
    assert len({*names, "𓀀"}) == 3001


def test_nodes_stand_where_they_stand_in_the_spec() -> None:
    text = '<a> ::= 0\n\nwhere "é" == f(<aé>.<b>,\n  <c>, key)'
    (constraint,) = read(text).constraints
    (comparison,) = [node for node in ast.walk(_python(constraint.formula)) if isinstance(node, ast.Compare)]
    places = {node.id: (node.lineno, node.col_offset) for node in ast.walk(comparison) if isinstance(node, ast.Name)}
    assert (comparison.lineno, comparison.col_offset) == (3, 6)
    assert places["f"] == (3, 14)
    assert places["key"] == (4, 7)


def _python(formula: object) -> ast.expr:
    expression = formula.expression  # type: ignore[attr-defined]
    assert isinstance(expression, Expression)
    return expression.python


def test_placeholders_are_never_shown() -> None:
    for text in (
        "where <abc> = 3",
        "where f(<abc> 3)",
        "where f(<abc> for x)",
        "where del <a>",
        "where <a>.<b> := 3",
    ):
        assert remarks(text)
        assert not re.search("[\U00013000-\U0001342f]", remarks(text))


def test_equal_texts_give_equal_expressions() -> None:
    first, second = leaf("f(<a>, *<b>)"), leaf("f(<a>, *<b>)")
    assert first == second
    assert all(isinstance(mention, Mention) for mention in first.mentions)
