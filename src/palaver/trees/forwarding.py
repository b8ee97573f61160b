"""Operators and methods of str, bytes and int, for trees and their values.

How it works. A tree stands in for a str, a bytes or an int. Each operation decides which of them it is read as:

==============================  =====================================================================================
by the other operand            ``< <= > >= +`` and, for plain operands, ``- % // / << >> ^ divmod``
as a number                     the same arithmetic between two trees; ``** & |``, unary operators, abs, round, float
in its own type                 ``*`` (text ``"4" * 2`` is ``"44"``; bits are numbers), methods without a guide
by the first text or bytes      the methods str and bytes share: ``tree.startswith(b"x")`` reads the tree as bytes
  among the arguments
as the only type that has it    ``casefold``, ``format`` (str), ``hex`` (bytes), ``bit_length`` (int), …
==============================  =====================================================================================

Another tree among the operands counts as its own value. Left out, because they would not do what a reader expects:
``replace`` (a method of trees), ``join``, ``encode``, ``decode``, ``translate``.

The methods are made from one line each; the plain type checks their arguments, hence the Any.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from difflib import get_close_matches
from typing import Any, NoReturn, TypeAlias

Method: TypeAlias = Callable[..., Any]
Binary: TypeAlias = Callable[[Any, Any], Any]

# Replacements for methods of str and bytes that trees deliberately do not have.
_INSTEAD = {
    "encode": "bytes(tree) is the value as bytes",
    "decode": "str(tree) is the value as text",
    "join": "write str(tree).join(...)",
    "translate": "write str(tree).translate(...)",
    "maketrans": "write str.maketrans(...)",
}


def _like(tree: Forwarding, other: object) -> Any:
    """The value of `tree` in the type of `other`; NotImplemented if that is neither text, bytes nor int."""
    if isinstance(other, str):
        return tree.to_string()
    if isinstance(other, bytes | bytearray):
        return tree.to_bytes()
    if isinstance(other, int):
        return tree.to_int()
    return NotImplemented


def _by_other(operation: Binary) -> Binary:
    def method(self: Forwarding, other: Any) -> Any:
        theirs = other._own() if isinstance(other, Forwarding) else other
        mine = _like(self, theirs)
        return mine if mine is NotImplemented else operation(mine, theirs)

    return method


def _arithmetic(operation: Binary) -> tuple[Binary, Binary]:
    """`tree operation other`, and the reflection `other operation tree`."""

    def method(self: Forwarding, other: Any) -> Any:
        if isinstance(other, Forwarding):
            return operation(self.to_int(), other.to_int())
        mine = _like(self, other)
        return mine if mine is NotImplemented else operation(mine, other)

    return method, _reflected(operation)


def _reflected(operation: Binary) -> Binary:
    """`other operation tree`. Between two trees Python asks the left one, which always answers."""

    def method(self: Forwarding, other: Any) -> Any:
        mine = _like(self, other)
        return mine if mine is NotImplemented else operation(other, mine)

    return method


def _number(operation: Binary) -> Binary:
    def method(self: Forwarding, other: Any) -> Any:
        return operation(self.to_int(), other.to_int() if isinstance(other, Forwarding) else other)

    return method


def _number_reflected(operation: Binary) -> Binary:
    def method(self: Forwarding, other: Any) -> Any:
        return operation(other, self.to_int())

    return method


def _unary(operation: Method) -> Method:
    def method(self: Forwarding, *arguments: Any) -> Any:
        return operation(self.to_int(), *arguments)

    return method


def _text_or_bytes(name: str, *, takes_width: bool = False) -> Method:
    """A method that str and bytes share, read as the first text or bytes among the arguments, else as its own type."""

    def method(self: Forwarding, *arguments: Any, **named: Any) -> Any:
        if not takes_width:  # a width that is a tree is a number, which Python finds by itself
            arguments = tuple(_plain(argument) for argument in arguments)
            named = {key: _plain(argument) for key, argument in named.items()}
        guide = next((found for found in map(_guide, [*arguments, *named.values()]) if found is not None), None)
        subject = self._own() if guide is None else _like(self, guide)
        if isinstance(subject, int):
            raise AttributeError(f"bits are a number and have no {name}(); write str(tree).{name}(...)")
        return getattr(subject, name)(*arguments, **named)

    return _named(method, name)


def _plain(argument: Any) -> Any:
    if isinstance(argument, tuple):  # startswith(("a", "b"))
        return tuple(_plain(item) for item in argument)
    return argument._own() if isinstance(argument, Forwarding) else argument


def _guide(argument: object) -> str | bytes | None:
    if isinstance(argument, tuple) and argument:
        argument = argument[0]
    return argument if isinstance(argument, str | bytes) else None


def _only_in(conversion: str, name: str) -> Method:
    """A method that only one type has; `conversion` reads a value as that type."""

    def method(self: Forwarding, *arguments: Any, **named: Any) -> Any:
        return getattr(getattr(self, conversion)(), name)(*arguments, **named)

    return _named(method, name)


def _named(method: Method, name: str) -> Method:
    method.__name__ = name
    method.__qualname__ = f"Forwarding.{name}"
    return method


class Forwarding:
    """The operators and methods of a value; subclasses define the value."""

    __slots__ = ()

    def to_string(self, encoding: str = "latin-1") -> str:
        raise NotImplementedError

    def to_bytes(self, encoding: str = "utf-8") -> bytes:
        raise NotImplementedError

    def to_int(self) -> int:
        raise NotImplementedError

    def _own(self) -> str | bytes | int:
        """The value in its own type."""
        raise NotImplementedError

    # Conversions

    def __str__(self) -> str:
        return self.to_string()

    def __bytes__(self) -> bytes:
        return self.to_bytes()

    def __int__(self) -> int:
        return self.to_int()

    def __index__(self) -> int:
        return self.to_int()

    def __float__(self) -> float:
        return float(self.to_int())

    def __complex__(self) -> complex:
        return complex(self.to_int())

    def __format__(self, spec: str) -> str:
        if not spec:
            return self.to_string()
        own = self._own()
        return format(own if isinstance(own, int) else self.to_string(), spec)

    def __contains__(self, item: object) -> bool:
        wanted = item._own() if isinstance(item, Forwarding) else item
        if isinstance(item, Forwarding) and isinstance(wanted, int):
            wanted = item.to_bytes()
        if isinstance(wanted, str):
            return wanted in self.to_string()
        if isinstance(wanted, bytes | bytearray):
            return wanted in self.to_bytes()
        raise TypeError(f"a value contains text and bytes, not {type(item).__name__}; write str(...) in tree")

    # Operators

    __lt__ = _by_other(operator.lt)
    __le__ = _by_other(operator.le)
    __gt__ = _by_other(operator.gt)
    __ge__ = _by_other(operator.ge)
    __add__ = _by_other(operator.add)
    __radd__ = _reflected(operator.add)

    __sub__, __rsub__ = _arithmetic(operator.sub)
    __mod__, __rmod__ = _arithmetic(operator.mod)
    __floordiv__, __rfloordiv__ = _arithmetic(operator.floordiv)
    __truediv__, __rtruediv__ = _arithmetic(operator.truediv)
    __lshift__, __rlshift__ = _arithmetic(operator.lshift)
    __rshift__, __rrshift__ = _arithmetic(operator.rshift)
    __xor__, __rxor__ = _arithmetic(operator.xor)
    __divmod__, __rdivmod__ = _arithmetic(divmod)

    __and__ = _number(operator.and_)
    __rand__ = _number_reflected(operator.and_)
    __or__ = _number(operator.or_)
    __ror__ = _number_reflected(operator.or_)
    __rpow__ = _number_reflected(operator.pow)

    __neg__ = _unary(operator.neg)
    __pos__ = _unary(operator.pos)
    __invert__ = _unary(operator.invert)
    __abs__ = _unary(abs)
    __round__ = _unary(round)
    __trunc__ = _unary(math.trunc)
    __floor__ = _unary(math.floor)
    __ceil__ = _unary(math.ceil)

    def __pow__(self, exponent: Any, modulus: Any = None) -> Any:
        return pow(self.to_int(), exponent.to_int() if isinstance(exponent, Forwarding) else exponent, modulus)

    def __mul__(self, times: Any) -> Any:
        return self._own() * (times.to_int() if isinstance(times, Forwarding) else times)

    def __rmul__(self, other: Any) -> Any:
        # `2 * tree` doubles the tree's own value; in `"ab" * tree` the tree can only be the number.
        return other * (self._own() if isinstance(other, int | float) else self.to_int())

    # Methods of str and bytes

    capitalize = _text_or_bytes("capitalize")
    center = _text_or_bytes("center", takes_width=True)
    count = _text_or_bytes("count")
    endswith = _text_or_bytes("endswith")
    expandtabs = _text_or_bytes("expandtabs", takes_width=True)
    find = _text_or_bytes("find")
    index = _text_or_bytes("index")
    isalnum = _text_or_bytes("isalnum")
    isalpha = _text_or_bytes("isalpha")
    isascii = _text_or_bytes("isascii")
    isdigit = _text_or_bytes("isdigit")
    islower = _text_or_bytes("islower")
    isspace = _text_or_bytes("isspace")
    istitle = _text_or_bytes("istitle")
    isupper = _text_or_bytes("isupper")
    ljust = _text_or_bytes("ljust", takes_width=True)
    lower = _text_or_bytes("lower")
    lstrip = _text_or_bytes("lstrip")
    partition = _text_or_bytes("partition")
    removeprefix = _text_or_bytes("removeprefix")
    removesuffix = _text_or_bytes("removesuffix")
    rfind = _text_or_bytes("rfind")
    rindex = _text_or_bytes("rindex")
    rjust = _text_or_bytes("rjust", takes_width=True)
    rpartition = _text_or_bytes("rpartition")
    rsplit = _text_or_bytes("rsplit")
    rstrip = _text_or_bytes("rstrip")
    split = _text_or_bytes("split")
    splitlines = _text_or_bytes("splitlines")
    startswith = _text_or_bytes("startswith")
    strip = _text_or_bytes("strip")
    swapcase = _text_or_bytes("swapcase")
    title = _text_or_bytes("title")
    upper = _text_or_bytes("upper")
    zfill = _text_or_bytes("zfill", takes_width=True)

    # Methods that only one type has

    casefold = _only_in("to_string", "casefold")
    format = _only_in("to_string", "format")
    format_map = _only_in("to_string", "format_map")
    isdecimal = _only_in("to_string", "isdecimal")
    isidentifier = _only_in("to_string", "isidentifier")
    isnumeric = _only_in("to_string", "isnumeric")
    isprintable = _only_in("to_string", "isprintable")
    hex = _only_in("to_bytes", "hex")
    as_integer_ratio = _only_in("to_int", "as_integer_ratio")
    bit_count = _only_in("to_int", "bit_count")
    bit_length = _only_in("to_int", "bit_length")
    conjugate = _only_in("to_int", "conjugate")

    def __getattr__(self, name: str) -> NoReturn:
        """Raise for a name that does not exist, with a hint at a similar one."""
        message = f"a tree has no attribute {name!r}"
        if hint := _hint(self, name):
            message = f"{message}; {hint}"
        raise AttributeError(message, name=name, obj=self)


def _hint(tree: Forwarding, name: str) -> str:
    if name.startswith("_"):  # Python's own lookups, whose message is not shown
        return ""
    if name in _INSTEAD:
        return _INSTEAD[name]
    known = [known for known in dir(type(tree)) if not known.startswith("_")]
    close = get_close_matches(name, known, n=1)
    return f"did you mean {close[0]!r}?" if close else ""
