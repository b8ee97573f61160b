"""Random derivations, and the plainest definition of their values."""

from __future__ import annotations

from hypothesis import strategies as st

from palaver.trees.node import Leaf, Node, NonTerminal, Part, Parties

symbols = st.sampled_from([NonTerminal("<a>"), NonTerminal("<b>")])
texts = st.text(st.sampled_from("abc019é→\xff \n"), max_size=3)
blobs = st.binary(max_size=3)
bits = st.integers(0, 1)


def nodes_over(leaves: st.SearchStrategy[Leaf]) -> st.SearchStrategy[Node]:
    """Nodes over these leaves, some with sources."""
    generated = (Node(NonTerminal("<s>"), ("1",)),)

    def above(parts: st.SearchStrategy[Part]) -> st.SearchStrategy[Node]:
        sources = st.sampled_from([(), generated])
        return st.tuples(symbols, st.lists(parts, max_size=4).map(tuple), sources).map(lambda made: Node(*made))

    return above(st.recursive(leaves, above, max_leaves=8))


parts = nodes_over(texts | blobs | bits)
text_parts = nodes_over(texts)
byte_parts = nodes_over(blobs)
bit_parts = nodes_over(bits)

# Nodes with whole bytes only: bits come in runs of eight, cut into two nodes somewhere.
octets = st.tuples(st.lists(bits, min_size=8, max_size=8), st.integers(0, 8)).map(
    lambda made: node("<octet>", node("<high>", *made[0][: made[1]]), node("<low>", *made[0][made[1] :]))
)
aligned_parts = st.lists(octets | texts | blobs, max_size=5).map(lambda made: node("<aligned>", *made))


def node(symbol: str, *children: Part, sources: tuple[Node, ...] = (), parties: Parties | None = None) -> Node:
    return Node(NonTerminal(symbol), children, sources, parties)


def deep(levels: int = 20_000, leaf: Leaf = "x") -> Node:
    """A leaf and one further node on every level."""
    tree = node("<deep>", leaf)
    for _ in range(levels - 1):
        tree = node("<deep>", leaf, tree)
    return tree


def naive_leaves(part: Part) -> list[Leaf]:
    if not isinstance(part, Node):
        return [part]
    return [leaf for child in part.children for leaf in naive_leaves(child)]


def naive_bytes(part: Part) -> bytes | None:
    """The bytes of `part` by the definition, bit by bit; None if some bits fill no byte."""
    row = ""
    for leaf in naive_leaves(part):
        if isinstance(leaf, int):
            row += str(leaf)
        elif leaf:
            if len(row) % 8:
                return None
            data = leaf.encode() if isinstance(leaf, str) else leaf
            row += "".join(f"{byte:08b}" for byte in data)
    if len(row) % 8:
        return None
    return bytes(int(row[start : start + 8], 2) for start in range(0, len(row), 8))
