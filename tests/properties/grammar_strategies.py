"""Random grammars, as expressions and as spec text."""

from hypothesis import strategies as st

from palaver.grammar.printing import show_rule
from palaver.spec.ast import (
    Bit,
    Choice,
    Expr,
    Literal,
    Pattern,
    Permutation,
    Ref,
    Repeat,
    Rule,
    Sequence,
)

SYMBOLS = ["<start>", "<a>", "<b>", "<c>"]

texts = st.sampled_from(["", "a", "b", "ab", "ba", "é", "中", "'", '"', "\\", "\n", "\x00", "{", "<a>", "#"]).map(
    Literal
)
text_patterns = st.sampled_from(["a+", "[ab]{1,3}", "b?", "(ab)*", "a|ab", ".", r"\w", "[^a]", r"\\", "'", "a*?b"]).map(
    Pattern
)
byte_literals = st.sampled_from([b"", b"a", b"\xff", b"\x00b"]).map(Literal)
byte_patterns = st.sampled_from([b"[\\x80-\\xff]", b"a+", b".", b"[^b]?"]).map(Pattern)
# Bits come by the byte: only then does every tree have a value.
octets = st.lists(st.sampled_from([0, 1]), min_size=8, max_size=8).map(
    lambda bits: Sequence(tuple(Bit(bit) for bit in bits))
)
refs = st.sampled_from(SYMBOLS).map(Ref)

bounds = st.tuples(st.integers(0, 3), st.one_of(st.none(), st.integers(0, 3))).map(
    lambda pair: (pair[0], None if pair[1] is None else pair[0] + pair[1])
)


def expressions(terminals: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    """Expressions over the given terminals and references to `SYMBOLS`."""

    def larger(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
        several = st.lists(inner, min_size=2, max_size=3).map(tuple)
        return st.one_of(
            several.map(Sequence),
            several.map(Choice),
            st.tuples(inner, bounds).map(lambda pair: Repeat(pair[0], *pair[1])),
            several.map(Permutation),
        )

    return st.recursive(st.one_of(terminals, refs), larger, max_leaves=6)


def rule_sets(terminals: st.SearchStrategy[Expr]) -> st.SearchStrategy[tuple[Rule, ...]]:
    """A rule for each symbol; every one of them can end."""

    def rule(symbol: str) -> st.SearchStrategy[Rule]:
        ends = st.tuples(expressions(terminals), terminals).map(Choice)
        return ends.map(lambda body: Rule(symbol, body))

    return st.tuples(*map(rule, SYMBOLS))


text_rules = rule_sets(st.one_of(texts, text_patterns))
binary_rules = rule_sets(st.one_of(texts, text_patterns, byte_literals, byte_patterns, octets))


def spec_text(rules: tuple[Rule, ...]) -> str:
    return "".join(f"{show_rule(rule)}\n" for rule in rules)
