"""Invertible views: sides of comparisons that determine a field, as lenses do (Foster et al. 2007).

In `int(<len>) + 4 == len(str(<body>))` each side is a function of one node that has an inverse: the number gives the
text of `<len>`, and the length of `<body>`. Such a side is a `View`, a condition with one a `Relation`. Views are
advice: what they ignore (a sign, a padding, a class of the spec that is called `int`) makes a search longer, never a
result wrong, because every result is checked.
"""

from __future__ import annotations

import ast
import builtins
import struct
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from enum import Enum, auto
from types import FunctionType
from typing import Any

from palaver.lean_dataclasses import dataclass, replace
from palaver.solving.solving_limits import MAX_POWER
from palaver.spec.ast import Expression


class ViewKind(Enum):
    """The kind of value that a view makes of a node."""

    VALUE = auto()  # the node as it is, its text or its bytes
    NUMBER = auto()
    LENGTH = auto()  # of its text or its bytes
    ITEM = auto()  # one character or byte
    SLICE = auto()  # some of them
    COUNT = auto()  # the number of nodes
    LIST = auto()  # the views of several nodes
    SUM = auto()  # the sum of these
    DIFFERENT = auto()  # the number of different ones among them
    DECODED = auto()  # the number that a function of the spec returns for it


@dataclass(frozen=True, slots=True)
class View:
    """A side of a condition as a function of the node, or nodes, called `name`.

    A number is `times * n ** power + plus`, where n is what the digits spell; with a modulus, the remainder of that.
    """

    name: str
    kind: ViewKind
    reads_as: str = ""  # "str", "bytes", or nothing: the node decides
    base: int = 0  # of a number: 2 to 36, 256 for bytes, 0 if the node decides
    layout: str = ""  # of a number in bytes: "big", "little", or a format of `struct` with a sign
    size: int = 0  # of a number in bytes, if the layout requires one
    start: int | None = None  # of an item or a slice
    stop: int | None = None
    is_ordinal: bool = False  # an item as its character code
    function: Callable[[Any], Any] | None = None  # of the spec, that decodes the node
    element: View | None = None  # the view of each node of a list
    times: int = 1
    power: int = 1
    plus: int = 0
    modulus: int = 0

    @property
    def is_plain(self) -> bool:
        """True if the view has no arithmetic."""
        return (self.times, self.power, self.plus, self.modulus) == (1, 1, 0, 0)


@dataclass(frozen=True, slots=True)
class Relation:
    """`view operator other`; `side` is the expression of the view, `other` any expression."""

    view: View
    operator: str
    side: ast.expr
    other: ast.expr


_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip
TURNED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_NEGATED = {"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<", "in": "not in", "not in": "in"}
# The kinds that look at several nodes.
OF_SEVERAL_NODES = (ViewKind.COUNT, ViewKind.LIST, ViewKind.SUM, ViewKind.DIFFERENT)
_NUMBERS = (ViewKind.NUMBER, ViewKind.LENGTH, ViewKind.COUNT, ViewKind.SUM, ViewKind.DIFFERENT, ViewKind.DECODED)
_NATIVE = sys.byteorder


class ViewReader:
    """Finds the views in expressions of one spec, whose global names are `names`."""

    def __init__(self, names: Mapping[str, Any], changing: Collection[str] = ()) -> None:
        self._names = names
        self._changing = changing  # global names that functions of the spec assign to
        # By identity, because equal expressions may stand in different places; each is kept with its relations.
        self._known: dict[tuple[int, tuple[str, ...]], tuple[Expression, list[Relation]]] = {}

    def relations(self, expression: Expression, variables: Collection[str]) -> list[Relation]:
        """The relations of a condition: one for each side that is a view."""
        key = (id(expression), tuple(variables))
        if key not in self._known:
            kinds = {mention.name: mention.kind for mention in expression.mentions} | dict.fromkeys(variables, "each")
            self._known[key] = (expression, list(self._relations(expression.python, kinds, negated=False)))
        return self._known[key][1]

    def _relations(self, node: ast.expr, kinds: Mapping[str, str], *, negated: bool) -> Iterator[Relation]:
        match node:
            case ast.UnaryOp(ast.Not(), operand):
                yield from self._relations(operand, kinds, negated=not negated)
            case ast.Compare(left, [ast.In() | ast.NotIn() as operator], [right]):
                word = "in" if isinstance(operator, ast.In) != negated else "not in"
                if (view := self.view(left, kinds)) is not None and view.kind is not ViewKind.DECODED:
                    yield Relation(view, word, left, right)
                if (view := self.view(right, kinds)) is not None and view.kind is ViewKind.VALUE and word == "in":
                    yield Relation(view, "contains", right, left)
            case ast.Compare(left, [operator], [right]) if type(operator) in _COMPARISONS:
                word = _COMPARISONS[type(operator)]
                word = _NEGATED[word] if negated else word
                for side, turned, other in ((left, word, right), (right, TURNED[word], left)):
                    view = self.view(side, kinds)
                    if view is None or _mentions(other, view.name):
                        continue
                    # Of what functions return, only lengths and counts are worth a table.
                    if view.kind is not ViewKind.DECODED or (turned == "==" and self._measures(other)):
                        yield Relation(view, turned, side, other)
            case ast.Call(ast.Attribute(value, "startswith" | "endswith" as method), [other], []) if not negated:
                view = self.view(value, kinds)
                if view is not None and view.kind is ViewKind.VALUE:
                    yield Relation(view, method, value, other)

    def _measures(self, side: ast.expr) -> bool:
        """True if a length or a count is part of an expression."""
        return any(isinstance(node, ast.Call) and self._resolve(node.func) is len for node in ast.walk(side))

    def view(self, side: ast.expr, kinds: Mapping[str, str]) -> View | None:
        """`side` as a view of a node; None if it is none that is known."""
        match side:
            case ast.Name(name) if name in kinds:
                return None if kinds[name] == "list" else View(name, _KIND_OF_MENTION[kinds[name]])
            case ast.Call():
                return self._call(side, kinds)
            case ast.Subscript():
                return self._subscript(side, kinds)
            case ast.BinOp(left, operator, right):
                return self._arithmetic(left, operator, right, kinds)
            case ast.UnaryOp(ast.USub(), operand):
                return _scaled(self.view(operand, kinds), -1)
            case ast.ListComp():
                return self._each(side, kinds)
        return None

    def _each(self, side: ast.expr, kinds: Mapping[str, str]) -> View | None:
        """`int(x) for x in *<x>`, or `map(int, *<x>)`."""
        match side:
            case ast.ListComp(element, [ast.comprehension(ast.Name(target), ast.Name(name), [], 0)]) | ast.GeneratorExp(
                element, [ast.comprehension(ast.Name(target), ast.Name(name), [], 0)]
            ) if kinds.get(name) == "list":
                return _list(name, self.view(element, {target: "each"}))
            case ast.Call(function, [of, ast.Name(name)], []) if kinds.get(name) == "list":
                if self._resolve(function) is map:
                    each = ast.Call(of, [ast.Name("each", ast.Load())], [])
                    return _list(name, self.view(each, {"each": "each"}))
        return None

    def _different(self, side: ast.expr, kinds: Mapping[str, str]) -> View | None:
        """`set(map(int, *<x>))`, or `{f(x) for x in *<x>}`, with any function of a node."""
        match side:
            case ast.Call(function, [_], []) if self._resolve(function) is not set:
                return None
            case ast.SetComp() | ast.Call(_, [_], []):
                used = [node.id for node in ast.walk(side) if isinstance(node, ast.Name)]
                lists = [name for name in used if kinds.get(name) == "list"]
                return View(lists[0], ViewKind.DIFFERENT) if len(lists) == 1 else None
        return None

    def constant(self, node: ast.expr) -> tuple[Any] | None:
        """The value of a constant expression, in a tuple; None for any other."""
        if not all(map(self._is_constant, ast.walk(node))):
            return None
        code = compile(ast.fix_missing_locations(ast.Expression(node)), "<constant>", "eval")
        try:
            return (eval(code, {**self._names, "__builtins__": builtins}),)
        except Exception:  # it will fail in the check as well, and be reported there
            return None

    def _call(self, call: ast.Call, kinds: Mapping[str, str]) -> View | None:
        function, arguments = self._resolve(call.func), _positional(call)
        if not arguments:
            return None
        if function is len and isinstance(arguments[0], ast.Name) and kinds.get(arguments[0].id) == "list":
            return View(arguments[0].id, ViewKind.COUNT)
        if function is len and len(arguments) == 1 and (different := self._different(arguments[0], kinds)) is not None:
            return different
        if function is list and len(arguments) == 1:
            return self._each(arguments[0], kinds)
        if function is sum and len(arguments) == 1:
            return _sum(self._each(arguments[0], kinds))
        inner = self.view(arguments[-1] if function is struct.unpack else arguments[0], kinds)
        is_number = inner is not None and _is_number(inner) and inner.kind is not ViewKind.DECODED
        if function is int and len(arguments) == 1 and is_number:
            return inner
        if inner is None or not inner.is_plain:
            return None
        if inner.kind is ViewKind.ITEM and function is ord and inner.reads_as == "str":
            return replace(inner, is_ordinal=True)
        if inner.kind is not ViewKind.VALUE:
            return None
        if function in (str, bytes) and len(arguments) == 1 and not inner.reads_as:
            return replace(inner, reads_as=function.__name__)
        if function is int and inner.reads_as != "bytes":
            return self._int(inner, arguments)
        if function is len and len(arguments) == 1 and inner.reads_as:
            return replace(inner, kind=ViewKind.LENGTH)
        if function is ord and inner.reads_as:
            return replace(inner, kind=ViewKind.ITEM, start=0, stop=1, is_ordinal=True)
        if function == int.from_bytes and inner.reads_as == "bytes":
            order = self.constant(arguments[1]) if len(arguments) == 2 else ("big",) if len(arguments) == 1 else None
            if order in (("big",), ("little",)):
                return replace(inner, kind=ViewKind.NUMBER, base=256, layout=order[0])
        if isinstance(function, FunctionType) and len(arguments) == 1:
            return replace(inner, kind=ViewKind.DECODED, function=function)
        return None

    def _int(self, inner: View, arguments: list[ast.expr]) -> View | None:
        if len(arguments) == 1:
            return replace(inner, kind=ViewKind.NUMBER)
        base = self.constant(arguments[1])
        if len(arguments) == 2 and inner.reads_as == "str" and base in ((2,), (8,), (10,), (16,)):
            return replace(inner, kind=ViewKind.NUMBER, base=base[0])
        return None

    def _resolve(self, function: ast.expr) -> Any:
        """The function that is called: a builtin that the spec does not hide, or one of a module; None if unknown."""
        match function:
            case ast.Name(name):
                return self._names.get(name, getattr(builtins, name, None))
            case ast.Attribute(ast.Name(name), attribute):
                owner = self._names.get(name, getattr(builtins, name, None))
                return getattr(owner, attribute, None) if owner in (struct, int) else None
        return None

    def _subscript(self, side: ast.Subscript, kinds: Mapping[str, str]) -> View | None:
        if isinstance(side.value, ast.Call) and self._resolve(side.value.func) is struct.unpack:
            return self._unpacked(side.value, side.slice, kinds)
        inner = self.view(side.value, kinds)
        if inner is None or inner.kind is not ViewKind.VALUE or not inner.reads_as:
            return None
        match side.slice:
            case ast.Slice(lower, upper, None):
                start = self._index(lower) if lower is not None else 0
                stop = self._index(upper) if upper is not None else None
                if start is not None and start >= 0 and (upper is None or (stop is not None and stop >= start)):
                    return replace(inner, kind=ViewKind.SLICE, start=start, stop=stop)
            case index if (start := self._index(index)) is not None:
                ordinal = inner.reads_as == "bytes"
                return replace(inner, kind=ViewKind.ITEM, start=start, is_ordinal=ordinal)
        return None

    def _index(self, node: ast.expr) -> int | None:
        match self.constant(node):
            case (int() as index,) if not isinstance(index, bool):
                return index
        return None

    def _unpacked(self, call: ast.Call, which: ast.expr, kinds: Mapping[str, str]) -> View | None:
        """`struct.unpack(">H", bytes(<x>))[0]`."""
        inner = self.view(call.args[1], kinds) if len(call.args) == 2 else None
        layout = self.constant(call.args[0]) if call.args else None
        if inner is None or inner.kind is not ViewKind.VALUE or inner.reads_as != "bytes" or layout is None:
            return None
        if self._index(which) == 0 and isinstance(layout[0], str) and _is_one_number(layout[0]):
            size, is_signed = struct.calcsize(layout[0]), layout[0][-1].islower()
            order = (
                "big" if size == 1 or layout[0][0] in ">!" or (layout[0][0] != "<" and _NATIVE == "big") else "little"
            )
            return replace(inner, kind=ViewKind.NUMBER, base=256, layout=layout[0] if is_signed else order, size=size)
        return None

    def _arithmetic(
        self, left: ast.expr, operator: ast.operator, right: ast.expr, kinds: Mapping[str, str]
    ) -> View | None:
        """A view and a constant, either way round."""
        is_left = self._index(right) is not None
        constant = self._index(right if is_left else left)
        view = _operand(self.view(left if is_left else right, kinds), operator)
        if constant is None or view is None or view.modulus:
            return None
        match operator:
            case ast.Add():
                return replace(view, plus=view.plus + constant)
            case ast.Mult():
                return _scaled(view, constant)
            case ast.Sub() if is_left:
                return replace(view, plus=view.plus - constant)
            case ast.Sub():
                return replace(view, times=-view.times, plus=constant - view.plus)
            case ast.LShift() if is_left and 0 <= constant < 64:
                return _scaled(view, 1 << constant)
            case ast.Mod() if is_left and constant > 0:
                return replace(view, modulus=constant)
            case ast.Pow() if is_left and view.is_plain and 0 < constant <= MAX_POWER:
                return replace(view, power=constant)
        return None

    def _is_constant(self, node: ast.AST) -> bool:
        match node:
            case ast.Name(name) if name in self._names:
                return name not in self._changing and type(self._names[name]) in _CONSTANT_TYPES
            case ast.Name(name):
                return name in _PURE
            case ast.Call(ast.Name(name), _, []):
                return name in _PURE and name not in self._names
            case ast.Call(ast.Attribute(_, method), _, []):
                return method in _PURE_METHODS
        return isinstance(node, _PURE_NODES)


_KIND_OF_MENTION = {"each": ViewKind.VALUE, "count": ViewKind.COUNT}

# Pure functions, types, methods and syntax: they give the same for the same arguments, and change nothing.
_PURE = frozenset(
    ("abs", "bytes", "chr", "frozenset", "int", "len", "list", "max", "min", "ord", "range", "set", "sorted", "str",
     "sum", "tuple")
)  # fmt: skip
_CONSTANT_TYPES = (bool, bytes, float, frozenset, int, range, str)
_PURE_METHODS = frozenset(("decode", "encode", "hex", "lower", "to_bytes", "upper"))
_PURE_NODES = (
    ast.Attribute, ast.BinOp, ast.BoolOp, ast.Compare, ast.Constant, ast.Dict, ast.List, ast.Set, ast.Slice,
    ast.Subscript, ast.Tuple, ast.UnaryOp, ast.boolop, ast.cmpop, ast.expr_context, ast.operator, ast.unaryop,
)  # fmt: skip


def _mentions(node: ast.expr, name: str) -> bool:
    return any(isinstance(inner, ast.Name) and inner.id == name for inner in ast.walk(node))


def _list(name: str, element: View | None) -> View | None:
    if element is None or element.kind not in (ViewKind.VALUE, ViewKind.NUMBER, ViewKind.LENGTH):
        return None
    return View(name, ViewKind.LIST, element=element)


def _sum(each: View | None) -> View | None:
    if each is None or each.element is None or each.element.kind is not ViewKind.NUMBER or not each.element.is_plain:
        return None
    return replace(each, kind=ViewKind.SUM)


def _positional(call: ast.Call) -> list[ast.expr]:
    """The arguments of a call in their order, the byte order of a number among them; none if others are named."""
    match call.keywords:
        case []:
            return call.args
        case [ast.keyword("byteorder", order)] if len(call.args) == 1:
            return [*call.args, order]
    return []


def _is_number(view: View) -> bool:
    return view.kind in _NUMBERS or (view.kind is ViewKind.ITEM and view.is_ordinal)


def _as_number(view: View | None) -> View | None:
    """A view as an operand of arithmetic: a node counts as its number."""
    if view is None or _is_number(view):
        return view
    return replace(view, kind=ViewKind.NUMBER) if view.kind is ViewKind.VALUE and not view.reads_as else None


def _operand(view: View | None, operator: ast.operator) -> View | None:
    """A view that arithmetic can continue. `*` makes a text longer, so there a node is no number."""
    if view is None or view.modulus or (view.kind is ViewKind.VALUE and isinstance(operator, ast.Mult)):
        return None
    return _as_number(view)


def _scaled(view: View | None, factor: int) -> View | None:
    view = _as_number(view)
    if view is None or factor == 0 or view.modulus:
        return None
    return replace(view, times=view.times * factor, plus=view.plus * factor)


def _is_one_number(layout: str) -> bool:
    return len(layout) <= 2 and layout[-1:] in tuple("bBhHiIlLqQ") and layout[:-1] in ("", *"<>!=@")
