"""Outputs spread over the grammar: over its k-paths, and over the values of fields that constraints limit."""

import pytest

import palaver
from palaver.navigation.coverage import Coverage, KPaths

JSON = r"""
<start>  ::= <value>
<value>  ::= <object> | <array> | <string> | <number> | "true" | "false" | "null"
<object> ::= "{" "}" | "{" <pair> ("," <pair>)* "}"
<pair>   ::= <string> ":" <value>
<array>  ::= "[" "]" | "[" <value> ("," <value>)* "]"
<string> ::= "\"" <char>* "\""
<char>   ::= r"[a-z]" | "\\" <escape>
<escape> ::= "n" | "t" | "r" | "u" <hex>{4}
<hex>    ::= r"[0-9]" | r"[a-f]"
<number> ::= "-"? <int> <frac>? <exp>?
<int>    ::= "0" | r"[1-9]" <digits>?
<digits> ::= r"[0-9]"+
<frac>   ::= "." <digits>
<exp>    ::= <e> <sign>? <digits>
<e>      ::= "e" | "E"
<sign>   ::= "+" | "-"
"""


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_sixty_outputs_see_nearly_every_path_of_five_symbols(seed: int) -> None:
    spec = palaver.loads(JSON)
    coverage = Coverage(KPaths(spec.grammar, 5))
    for tree in spec.fuzz(60, seed=seed):
        coverage.add(tree.node)
    assert coverage.total == 365
    assert len(coverage) >= 0.98 * coverage.total


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_limited_field_takes_most_of_the_values_it_may_have(seed: int) -> None:
    spec = palaver.loads("<start> ::= <n>\n<n> ::= r'[0-9]{1,3}'\nwhere 100 <= int(<n>) < 160\n")
    values = {int(str(tree)) for tree in spec.fuzz(40, seed=seed)}
    assert len(values) == 40
    assert min(values) < 110
    assert max(values) >= 150
