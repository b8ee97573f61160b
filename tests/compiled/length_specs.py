"""Random specs in which constraints decide lengths, and the verdict on an input by brute force.

Run as a program it compares many inputs: `python tests/compiled/length_specs.py SEED INPUTS`.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from itertools import islice

import palaver
from palaver.compiled import Spec
from palaver.errors import SpecError, Undecided
from palaver.solving.generator_sources import NoSource
from palaver.trees.node import Node
from palaver.trees.tree import Tree

CHARACTERS = "0112ab:"
WIDE_CHARACTERS = "0112abé€:"
MOST_TREES = 3000

_BODIES = [
    "<len> <data>",
    "<len> <sep> <data>",
    "<len> <data> <tail>",
    "<len> <data> <data>",
    "<len> <rec>? <data>",
    "<c> <len> <data> | <len> <data>",
    "<len>? <data>",
    "<data> <len>",
    "(<len> <data>)",
    "<len> (<data> | <sep> <data>)",
    "<len> <data>{1,2}",
    "<len> <len>? <data>",
    "<head> <data>",
    "<len> <c> <data> <tail>",
    "<len> <tail> <data>",
    "<len> <data> | <c> <rec>",
    "<sep> <len> <data> <sep>",
    "<len> <rec> <data>",
]
# The length is that of two fields.
_SPLIT = [
    "<hi> <len> <data>",
    "<len> <hi> <data>",
    "<hi> <sep> <len> <data> <tail>",
    "<hi> <rec>? <len> <data>",
    "<len> <data> <hi>",
    "<hi>? <len> <data>",
    "<hi> <len> <rec>? <data>",
    "<hi> <head> <data> <data>",
    "<hi> <len> <data> | <len> <c> <data>",
]
# What is measured is a part of a part.
_BOXED = [
    "<len> <box>",
    "<len> <sep> <box> <tail>",
    "<box> <len> | <len> <box>",
    "<len> <box>? <sep>",
    "<len> <box> <box>",
    "<head> <box>",
    "<len> <rec>? <box>",
]
_BOXES = ["<data>", "<sep> <data>", "<data> <tail>", "<data> | <sep> <data>", "<data>?", "<data> <data>", "<sep> <rec>"]
_DATA = [
    "<c>*",
    "<c>+",
    "PATTERN[a-b0-2]*",
    "<rec>*",
    "<rec>* | <c>*",
    "<c>* <c>?",
    "<c>{0,2} <rec>?",
    "<rec> | <c>*",
    "<data> <c> | EMPTY",
    "<more>",
    "PATTERN[ab]+",
    "<c>{2}",
    "<c> <tail>",
]
_COUNTED = [
    "<len> <data>*",
    "<len> <data>+ <tail>",
    "<len> <data>{0,2}",
    "<len> (<data>* | <sep>)",
    "<len> <data>* <data>",
    "<len> <data> (<sep> <data>)*",
    "<len> <sep> (<data> <tail>)* <sep>",
    "<len> <data>* <rec>?",
    "<data>? <len> <data>*",
]
# The length depends on what kind it is of.
_KINDS = [
    "<kind> <len> <data>",
    "<len> <kind> <data>",
    "<kind> <len> <data> <tail>",
    "<kind>? <len> <data>",
    "<kind> <len> <rec>? <data>",
    "<len> <data> <kind>",
    "<kind> <len> <data> | <len> <data>",
    "<kind> <len> <sep> <data> | <len> <kind> <data>",
    "<kind> <kind>? <len> <data>",
]
_CONDITIONAL = [
    "forall <r> in <rec>: {kind} -> {one}",
    "forall <r> in <rec>: not {kind} or {other}",
    "forall <r> in <rec>: {kind} -> {one}\nwhere forall <r> in <rec>: not {kind} -> {other}",
    "forall <r> in <rec>: ({kind} and {one}) or (not {kind} and {other})",
    "forall <r> in <rec>: {one} or {other}",
    "forall <r> in <rec>: {one} if {kind} else {other}",
    "forall <r> in <rec>: {one} if {kind} else True",
    "forall <r> in <rec>: {kind} -> {other} -> {one}",
    "forall <r> in <rec>: {one} and ({kind} or {other})",
    "all(by_kind(r) for r in *<rec>)",
    "{kind} -> {one}",
]
_NESTED = [
    "forall <g> in <group>: forall <r> in <g>.<rec>: {inner}",
    "forall <g> in <group>: forall <r> in <g>..<rec>: {inner}",
    "forall <g> in <group>: forall <r> in <rec>: {inner}",
    "forall <g> in <group>: forall <r> in <g>.<rec>: int(<g>.<n>) == len({to}(<r>.<data>))",
    "forall <g> in <group>: forall <r> in <g>.<rec>: int(<g>.<n>) == len({to}(<r>))",
    "forall <g> in <group>: forall <r> in <g>.<rec>: int(<r>.<len>) == len({to}(<g>.<tail>))",
    "forall <g> in <group>: exists <r> in <g>.<rec>: {inner}",
    "forall <g> in <group>: exists <m> in <g>.<n>: int(<m>) == len({to}(<g>.<tail>))",
    "exists <g> in <group>: forall <r> in <g>.<rec>: {inner}",
    "forall <g> in <group>: exists <m> in <g>.<n>: forall <r> in <g>.<rec>: int(<m>) == len({to}(<r>.<data>))",
    "forall <r> in <rec>: exists <h> in <r>.<head>: int(<h>.<len>) == len({to}(<r>.<data>))",
    "forall <r> in <rec>: exists <h> in <r>..<len>: int(<h>) == len({to}(<r>.<data>))",
]
_ITEMS = ["<c>", "<c><c>", "<c>?", "<c>*", "<rec>", "<c> <rec>?"]


class LengthSpecs:
    """Makes spec texts from a seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def text(self) -> str:
        pick = self._random.choice
        binary = self._random.random() < 0.5
        mark, conversion = ("b", "bytes") if binary else ("", "str")
        if self._random.random() < 0.45:
            return self._with_alternatives(mark, conversion)
        counted = self._random.random() < 0.2
        boxed = not counted and self._random.random() < 0.25
        split = not counted and not boxed and self._random.random() < 0.3
        rules = self._rules(pick(_COUNTED if counted else _BOXED if boxed else _SPLIT if split else _BODIES))
        if counted:
            rules["<data>"] = pick(_ITEMS)
        return self._written(rules, mark) + _NUM + self._constraint(conversion, counted, rules["<rec>"])

    def _rules(self, record: str) -> dict[str, str]:
        pick = self._random.choice
        return {
            "<start>": f"<rec>{pick(['+', '*', '{1,3}'])} {pick(['', '<tail>'])}",
            "<rec>": record,
            "<kind>": "PATTERN[ab]",
            "<hi>": pick(["PATTERN[01]", "<digit>", "PATTERN[0-1]?"]),
            "<box>": pick(_BOXES),
            "<head>": pick(["<len> <sep>", "<sep> <len>", "<len>", "<len> | <sep> <len>", "<sep> <len>?"]),
            "<len>": pick(
                ["PATTERN[0-3]", "PATTERN[0-9]+", "PATTERN[0-3]{1,2}", "<digit>", "<digit>+", "PATTERN[0-3]?"]
            ),
            "<digit>": "PATTERN[0-3]",
            "<data>": pick(_DATA),
            "<more>": pick(["<c>*", "<c>{1,3}", "<rec>*"]),
            "<c>": pick(["PATTERN[a-b]", "PATTERN[a-b0-2]", "PATTERN[0-2]"]),
            "<sep>": "COLON",
            "<tail>": pick(["<c>?", "<sep>", "<c>*"]),
        }

    def _with_alternatives(self, mark: str, conversion: str) -> str:
        """A spec with alternatives, nested quantifiers, rounded lengths, or lengths in bytes of a text."""
        pick = self._random.choice
        nested = self._random.random() < 0.4
        rules = self._rules(pick(_BODIES if nested else _KINDS))
        to = conversion
        if not mark and self._random.random() < 0.4:
            to = pick(["bytes", "encoded"])
            rules["<c>"] = pick(["PATTERN[a-bé]", "PATTERN[a-b0-2é€]"])
        if nested:
            rules["<start>"] = pick(["<group>+", "<group>", "<group>* <rec>?"])
            rules["<group>"] = pick(["<n> <rec>+", "<n> <rec> <tail>", "<n> <sep> <rec>*", "<rec> <n> <tail>"])
            rules["<n>"] = "PATTERN[0-3]"
        one, other = self._length(to), self._length(to)
        kind = pick(['<r>.<kind> == "a"', 'str(<r>.<kind>) == "a"', '"a" in str(<r>.<kind>)', "is_a(<r>.<kind>)"])
        form = pick(_NESTED if nested else _CONDITIONAL).format(
            kind=kind, one=one, other=other, inner=one, to="bytes" if to == "encoded" else to
        )
        if "forall" not in form:
            form = form.replace("<r>.", "")
        return self._written(rules, mark) + _NUM + f"where {form}\n"

    def _length(self, to: str) -> str:
        pick = self._random.choice
        measured = f"len({to}(<r>.<data>))" if to != "encoded" else "len(str(<r>.<data>).encode())"
        measured = pick([measured] * 3 + [measured.replace("<r>.<data>", "<r>")])
        measured = pick(
            [measured] * 4
            + [f"{measured} // 2", f"({measured} + 1) // 2", f"{measured} >> 1", f"1 + {measured} // 3 - 1"]
        )
        value = pick(["int(<r>.<len>)", "num(<r>.<len>)", "int(<r>.<len>) + 1"])
        return f"{value} == {measured}" if self._random.random() < 0.5 else f"{measured} == {value}"

    def _written(self, rules: dict[str, str], mark: str) -> str:
        lines = []
        for symbol, body in rules.items():
            words = body.replace("EMPTY", f'{mark}""').replace("COLON", f'{mark}":"').split(" ")
            written = [f'r{mark}"{word[7:]}"' if word.startswith("PATTERN") else word for word in words]
            lines.append(f"{symbol} ::= {' '.join(written)}\n")
        return "".join(lines)

    def _constraint(self, conversion: str, counted: bool, body: str) -> str:
        pick = self._random.choice
        field = "<head>.<len>" if "<head>" in body else "<len>"
        value = pick(["int({})", "int(str({}))", "num({})", "2 * int({})", "{}"])
        measured = "len(*{}<data>)" if counted else f"len({conversion}({{}}<data>))"
        if not counted:
            whole, part = f"len({conversion}({{}}))", f"len({conversion}({{}}<tail>))"
            measured = pick([measured] * 5 + [whole, f"{measured} + {part}", f"2 * {measured}", "size({}<data>)"])
            measured = pick([measured] * 6 + ["len({}<data>)"])
        added = pick(["", " + 1", " - 1", ""])
        form = self._random.random()
        path = "<box>.<data>" if "<box>" in body else "<data>"
        if form < 0.7 or "({})" in measured:
            node, front = "<r>", "forall <r> in <rec>: "
            way = pick(["<r>."] * 3 + ["<r>.."]) if not counted else "<r>."
            measured = measured.replace("({})", "(<r>)").replace("{}", way)
            measured = measured.replace("<r>.<data>", f"<r>.{path}")
        else:
            node, front, measured = "", "", measured.replace("{}", "")
        value = value.format(f"{node}.{field}" if node else "<len>")
        if "<hi>" in body:
            high = f"int({node}.<hi>)" if node else "int(<hi>)"
            value = pick([f"{value} + 2 * {high}", f"{value} * {high}", f"{high} + {value}"]) if "(" in value else value
        if self._random.random() < 0.2:
            value, measured = self._encoded(f"{node}.{field}" if node else "<len>", measured + added), ""
            return f"where {front}{value}\n"
        if self._random.random() < 0.1:
            return f"where forall <r> in <rec>: fits(<r>.{field}, <r>.{path})\n"
        if self._random.random() < 0.1:
            return "where all(matches(r) for r in *<rec>)\n"
        sides = [value, measured + added]
        self._random.shuffle(sides)
        return f"where {front}{sides[0]} == {sides[1]}\n"

    def _encoded(self, field: str, measured: str) -> str:
        """The length compared in an encoded form."""
        forms = ["str({0}) == str({1})", "{0} == str({1})", "f'{{{1}}}' == str({0})", "'%d' % ({1}) == str({0})"]
        forms += ["bytes({0}) == str({1}).encode()", "(48 + {1}).to_bytes(1, 'big') == bytes({0})"]
        return self._random.choice(forms).format(field, measured)

    def inputs(self, number: int, characters: str = CHARACTERS) -> Iterator[str]:
        for _ in range(number):
            yield "".join(self._random.choices(characters, k=self._random.randint(0, 7)))

    def cut(self, data: str | bytes) -> int:
        return self._random.randint(0, len(data))


_NUM = """
def num(x):
    return int(str(x)) if str(x) != "3" else 2
def size(x):
    data = str(x)
    return len(data)
def fits(field, data):
    return int(field) == size(data)
def is_a(x):
    return str(x) == "a"
def by_kind(r):
    return len(str(r[2])) == int(r[1]) if str(r[0]) == "a" else len(str(r[2])) // 2 == int(r[1])
def matches(r):
    return int(r.children[0]) == len(bytes(r[1])) and True
"""


def by_brute_force(spec: Spec, data: str | bytes) -> list[str] | None:
    """All trees of the grammar that satisfy the constraints; None if there are too many to look at."""
    matcher = spec.matcher(binary=spec.is_binary, reference=True)
    matcher.finish(data)
    nodes = list(islice(matcher.trees(), MOST_TREES + 1))
    return (
        None if len(nodes) > MOST_TREES else [shown for node in nodes if (shown := _accepted(spec, node)) is not None]
    )


def _accepted(spec: Spec, node: Node) -> str | None:
    try:
        tree = Tree(spec.sources.recover(node))
    except NoSource:
        return None
    return None if any(check.failure(tree) is not None for check in spec.checks) else tree.to_grammar()


def by_bounded_matcher(spec: Spec, data: str | bytes, cut: int, *, reference: bool = False) -> list[str]:
    """The same by the matcher that lengths bound, fed in two pieces."""
    matcher = spec.matcher(binary=spec.is_binary, reference=reference, bounded=True)
    if cut:
        matcher.feed(data[:cut])
    matcher.finish(data[cut:])
    return [shown for node in islice(matcher.trees(), MOST_TREES + 1) if (shown := _accepted(spec, node)) is not None]


class Comparison:
    """Compares verdicts and trees on random inputs of random specs, and counts."""

    def __init__(self, seed: int) -> None:
        self._specs = LengthSpecs(seed)
        self._seed = seed
        self.specs = self.bounded = self.inputs = self.accepted = self.ambiguous = self.reordered = 0
        self.wrong: list[str] = []

    def run(self, inputs: int, *, per_spec: int = 25) -> Comparison:
        while self.inputs < inputs:
            text = self._specs.text()
            try:
                spec = palaver.loads(text)
            except SpecError:
                continue
            self.specs += 1
            self.bounded += bool(spec.bounded_rules.bounds)
            for word in self._specs.inputs(per_spec, WIDE_CHARACTERS if "é" in text else CHARACTERS):
                self._compare(spec, word.encode() if spec.is_binary else word, text)
        return self

    def _compare(self, spec: Spec, data: str | bytes, text: str) -> None:
        expected = by_brute_force(spec, data)
        if expected is None:
            return
        self.inputs += 1
        self.accepted += bool(expected)
        self.ambiguous += len(expected) > 1
        cut = self._specs.cut(data)
        for found in (
            by_bounded_matcher(spec, data, 0),
            by_bounded_matcher(spec, data, cut),
            by_bounded_matcher(spec, data, cut, reference=True),
        ):
            if sorted(found) != sorted(expected):
                self.wrong.append(f"{data!r}, cut at {cut}: {len(found)} instead of {len(expected)} trees\n{text}")
                return
            if found != expected:
                self.reordered += 1
        try:
            verdict = next(spec.parses(data), None) is not None
        except Undecided:
            verdict = None
        if verdict != bool(expected):
            self.wrong.append(f"{data!r}: parse says {verdict}\n{text}")

    def __str__(self) -> str:
        return (
            f"{self.specs} specs ({self.bounded} with bounds), {self.inputs} inputs ({self.accepted} accepted,"
            f" {self.ambiguous} ambiguous): {len(self.wrong)} wrong, {self.reordered} in another order"
        )


if __name__ == "__main__":
    comparison = Comparison(int(sys.argv[1])).run(int(sys.argv[2]))
    print(*comparison.wrong[:5], sep="\n")
    print(comparison)
