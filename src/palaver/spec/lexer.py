"""Lexer: characters to tokens, for rules and for Python with selectors in it.

How it works. One compiled expression, `TOKEN`, knows every token of both languages; two loops run it.

`rule_tokens` reads the right-hand side of a rule up to its end. Python inside a rule (bounds, the generator) arrives as
*one* token whose `inner` holds the Python tokens.

`python_tokens` reads one logical line of Python. It does not check Python, as CPython will. It only has to know where
strings and brackets end, and if an operand has just ended, because that decides what `<`, `*` and `|` are: after an
operand they are Python's operators, anywhere else they begin a selector. Each token keeps that in `ends`. F-strings are
one token too; the tokens of their replacement fields are in `inner`, between braces.
"""

from __future__ import annotations

import keyword
import re
from typing import NamedTuple

from palaver.source import Span
from palaver.spec.diagnostics import ParseError
from palaver.spec.spec_limits import MAX_FSTRING_DEPTH

NAME = r"[^\W\d]\w*"
_BLANK = r"(?:[ \t]|\\\n)*"
_SYMBOL = rf"<[ \t]*{NAME}(?:[ \t]*:[ \t]*{NAME})*[ \t]*>"
_PREFIX = r"(?:[bB][rR]?|[rR][bB]?|[uU])?"
_QUOTED = r"""
    (?: "{3} [^"\\]* (?: (?: \\. | "(?!"") ) [^"\\]* )* "{3}
      | '{3} [^'\\]* (?: (?: \\. | '(?!'') ) [^'\\]* )* '{3}
      | "(?!"") [^"\\\n]* (?: \\. [^"\\\n]* )* "
      | '(?!'') [^'\\\n]* (?: \\. [^'\\\n]* )* ' )"""

TOKEN = re.compile(
    rf"""
    (?P<blank>      [ \t]+ | \\\n )
  | (?P<symbol>     {_SYMBOL} )
  | (?P<string>     {_PREFIX} {_QUOTED} )
  | (?P<fstring>    (?: [fFtT][rR]? | [rR][fFtT] ) (?=["']) )
  | (?P<broken>     {_PREFIX} ["'] )
  | (?P<quantifier> (?: forall | exists ) {_BLANK} <[ \t]*{NAME}[ \t]*> {_BLANK} in\b )
  | (?P<name>       {NAME} )
  | (?P<number>     0[xX][0-9a-fA-F_]+ | 0[bBoO][0-9_]+
                  | (?: [0-9][0-9_]* (?: \.(?![.<]) [0-9_]* )? | \.[0-9][0-9_]* ) (?: [eE][+-]?[0-9][0-9_]* )? [jJ]? )
  | (?P<newline>    \n )
  | (?P<comment>    \#[^\n]* )
  | (?P<operator>   ::= | := | :: | -> | <> | << | >> | <= | >= | == | != | \*\* | // | \.\.\. | \.\.
                  | [-+*/%@&|^~<>()\[\]{{}},:.;=?!] )
  | (?P<other>      . )
    """,
    re.VERBOSE | re.DOTALL,
)
RULE_HEAD = re.compile(rf"[ \t]*(<[^<>\n\"']*>){_BLANK}::=")
_ANGLES = re.compile(r"<([^<>\n]*)>")
# A comment may stand between statements, and between the lines of a rule. Repetitions are possessive (`*+`): a comment
# is read as a whole or not at all, in linear time, and nothing in it is ever read as a part of the spec.
GAP = re.compile(r"(?:[ \t\n;]|\\\n|#[^\n]*+)*+")
_CONTINUATION = re.compile(r"(?:[ \t\n]|\\\n|#[^\n]*+)*+(?=\|)")
_KEYWORD_LINE = re.compile(r"[ \t]*(?:(?:where|minimizing|maximizing|setting)\b|include[ \t]*\()")
_WORD_LINE = re.compile(rf"[ \t]*{NAME}(?![\w\"'])")
_LINE_END = re.compile(r"\r\n|\r|\f")
_FSTRING_STOP = re.compile(r"[\\{}\"'\n]")
_CONVERSION = re.compile(r"![ \t]*\w*[ \t]*")
_SIMPLE_STRING = re.compile(_QUOTED, re.VERBOSE | re.DOTALL)
_KEYWORDS_BEFORE_OPERANDS = frozenset(keyword.kwlist) - {"None", "True", "False"}
_OPENING = frozenset("([{")
_CLOSING = frozenset(")]}")
_QUANTIFIER_SIZE = len("forall")  # and of "exists"


class Token(NamedTuple):
    """A lexical token. `ends` is True if an operand ends with it."""

    kind: str
    start: int
    end: int
    text: str
    ends: bool = False
    inner: tuple[Token, ...] = ()

    @property
    def span(self) -> Span:
        return Span(self.start, self.end)

    @property
    def nesting(self) -> int:
        """1 if it opens a bracket, -1 if it closes one, else 0."""
        if self.kind != "operator":
            return 0
        return (self.text in _OPENING) - (self.text in _CLOSING)

    @property
    def quantifier(self) -> str:
        """The word of a quantifier, `forall` or `exists`."""
        return self.text[:_QUANTIFIER_SIZE]


def normalise_line_ends(text: str) -> str:
    """The text with CRLF, CR and form feed turned into newlines."""
    return _LINE_END.sub("\n", text)


def names_in_symbol(symbol: str, at: int, text: str) -> list[str]:
    """The parties, if any, and the name of a symbol at `at` of `text`. :raises ParseError: these are no names"""
    names = [part.strip() for part in symbol[1:-1].split(":")]
    # \w knows a few characters that are no letters for Python, and those are no letters here either.
    if all(map(str.isidentifier, names)):
        return names
    raise ParseError(*symbol_error(text, at))


def bare_symbol(token: Token, text: str) -> str:
    """The symbol of a token where parties make no sense. :raises ParseError: it has parties, or is no symbol"""
    *parties, name = names_in_symbol(token.text, token.start, text)
    if parties:
        raise ParseError(token.span, "a party can be named only in a rule", f"write <{name}>")
    return f"<{name}>"


def symbol_error(text: str, at: int) -> tuple[Span, str, str]:
    """The place, message and hint of the error that the `<` at `at` opens no symbol."""
    angles = _ANGLES.match(text, at)
    if angles is None:
        return Span(at, at + 1), "this `<` does not begin a symbol", "a symbol is written <name>"
    span = Span(*angles.span())
    name = angles.group(1).strip()
    if not name:
        return span, "expected a name between the angle brackets", "a symbol is written <name>"
    tidy = re.sub(r"\W+", "_", name)
    if tidy[0].isdecimal():
        return span, f"<{name}> is not a symbol: a name cannot start with a digit", f"write <_{tidy}>"
    hint = f"write <{tidy}>" if tidy.isidentifier() else ""
    return span, f"<{name}> is not a symbol: a name contains only letters, digits and _", hint


def rule_tokens(text: str, at: int) -> tuple[list[Token], int]:
    """The tokens of a right-hand side that starts at `at`, behind `::=`, and the end of the rule."""
    tokens: list[Token] = []
    depth = 0
    match = TOKEN.match
    while at < len(text):
        found = match(text, at)
        assert found is not None, "the last alternative of TOKEN takes any character"
        kind, end = found.lastgroup, found.end()
        if kind == "blank" or kind == "comment":
            at = end
            continue
        if kind == "newline":
            onward = _next_line_of_rule(text, end, tokens, in_brackets=depth > 0)
            if onward is None:
                break
            at = onward
            continue
        if found.group() == ";" and depth == 0:
            break
        token = _rule_token(text, found, in_brackets=depth > 0)
        if token.text in ("(", "["):
            depth += 1
        elif token.text in (")", "]"):
            depth = max(0, depth - 1)
        tokens.append(token)
        at = token.end
    return tokens, at


def _rule_token(text: str, found: re.Match[str], *, in_brackets: bool) -> Token:
    """The token that starts where `found` does; Python in a rule is one token, so it may be longer."""
    at, end, word = found.start(), found.end(), found.group()
    match found.lastgroup:
        case "operator" if word == "{":
            return _bounds(text, at)
        case "operator" if word in (":=", "=", "::", "==") and not in_brackets:
            return _generator(text, at)
        case "fstring":
            return _fstring(text, at, end, 0)
        case "broken":
            return _broken(text, at, end)
        case "quantifier":
            # Only constraints know quantifiers; in a rule the word is a word like any other.
            return Token("name", at, at + _QUANTIFIER_SIZE, word[:_QUANTIFIER_SIZE])
    return Token(found.lastgroup or "other", at, end, word)


def _next_line_of_rule(text: str, at: int, tokens: list[Token], *, in_brackets: bool) -> int | None:
    """The offset at which a rule continues if a line of it ends before `at`; None if the rule ends there."""
    if in_brackets or (tokens and tokens[-1].text == "|"):
        # An unclosed bracket must not swallow the rest of the spec; neither another rule nor a bare word can be part
        # of this one.
        return None if RULE_HEAD.match(text, at) or _WORD_LINE.match(text, at) else at
    if tokens and tokens[-1].kind == "generator":
        return None
    continuation = _CONTINUATION.match(text, at)
    return continuation.end() if continuation else None


def _generator(text: str, at: int) -> Token:
    operator = "::" if text.startswith("::", at) else ":=" if text.startswith(":=", at) else "="
    inner, end = python_tokens(text, at + len(operator))
    return Token("generator", at, max(end, at + len(operator)), operator, inner=tuple(inner))


def _bounds(text: str, at: int) -> Token:
    inner, end = python_tokens(text, at + 1, closing="}")
    if end < len(text) and text[end] == "}":
        return Token("bounds", at, end + 1, text[at : end + 1], inner=tuple(inner))
    return Token("operator", at, at + 1, "{")


def python_tokens(
    text: str, at: int, *, closing: str = "", field: bool = False, fstrings: int = 0
) -> tuple[list[Token], int]:
    """The tokens of one logical line of Python from `at` on, and its end.

    It ends before a newline or `;`. With `closing` it ends before that bracket instead; with `field` it is the
    replacement field of an f-string, inside `fstrings` of them, which also ends before a conversion or a format. A line
    that starts like a rule always ends it: it cannot be Python.
    """
    line = _PythonLine(text, at, closing, field, fstrings)
    line.read()
    return line.tokens, line.at


class _PythonLine:
    """A logical line of Python, read up to `at`."""

    def __init__(self, text: str, at: int, closing: str, field: bool, fstrings: int) -> None:
        self.text = text
        self.at = at
        self.tokens: list[Token] = []
        self._closing = closing
        self._field = field
        self._fstrings = fstrings
        self._depth = 0
        self._ends = False  # True if an operand has just ended
        self._bars: list[int] = []  # the depths at which a `|…|` is open
        # The place, and the number of tokens before it, to go back to if a bracket turns out to be never closed.
        self._resume: tuple[int, int] | None = None

    def read(self) -> None:
        text, match = self.text, TOKEN.match
        while self.at < len(text):
            found = match(text, self.at)
            assert found is not None, "the last alternative of TOKEN takes any character"
            kind, end, word = found.lastgroup or "other", found.end(), found.group()
            if kind == "newline":
                if not self._goes_on(end):
                    break
                self.at = end
            elif kind == "blank" or kind == "comment":
                self.at = end
            elif kind == "operator" and self._depth == 0 and self._is_stop(word):
                break
            else:
                token = self._token(kind, end, word)
                self.tokens.append(token)
                self._ends = token.ends
                self.at = token.end
        if self._depth > 0 and not self._closing and self._resume is not None:
            # A bracket was never closed: read the constraints further down instead of swallowing them.
            self.at, kept = self._resume
            del self.tokens[kept:]

    def _goes_on(self, line_start: int) -> bool:
        """Return True if the logical line continues with the line that starts there."""
        if (self._depth == 0 and not self._closing) or RULE_HEAD.match(self.text, line_start):
            return False
        if self._resume is None and _KEYWORD_LINE.match(self.text, line_start):
            self._resume = self.at, len(self.tokens)
        return True

    def _is_stop(self, operator: str) -> bool:
        """Return True if an operator outside of all brackets ends the line."""
        if operator == self._closing or (operator == ";" and not self._closing):
            return True
        return self._field and (operator[0] == ":" or operator == "!")

    def _token(self, kind: str, end: int, word: str) -> Token:
        if kind == "symbol" and self._ends:
            kind, end, word = "operator", self.at + 1, "<"
        match kind:
            case "operator":
                ends = self._ends_operand(word)
            case "name":
                ends = word not in _KEYWORDS_BEFORE_OPERANDS
            case "fstring":
                return _fstring(self.text, self.at, end, self._fstrings)
            case "broken":
                return _broken(self.text, self.at, end)
            case _:
                ends = kind in ("symbol", "string", "number")
        return Token(kind, self.at, end, word, ends)

    def _ends_operand(self, operator: str) -> bool:
        """Return True if an operand ends with this operator; update the open brackets and bars."""
        if operator in _OPENING:
            self._depth += 1
            return False
        if operator in _CLOSING:
            self._depth = max(0, self._depth - 1)
            while self._bars and self._bars[-1] > self._depth:
                self._bars.pop()
            return True
        if operator != "|":
            return operator == "..."
        if not self._ends:
            self._bars.append(self._depth)
            return False
        if self._bars and self._bars[-1] == self._depth:
            self._bars.pop()
            return True
        return False


def _broken(text: str, at: int, end: int) -> Token:
    """A string that is never closed: to the end of the line, or of the text if it is one of many lines."""
    quote = text[end - 1]
    line_end = text.find("\n", end)
    if text.startswith(quote * 3, end - 1) or line_end < 0:
        line_end = len(text)
    return Token("broken", at, line_end, text[at:line_end], True)


class _Unclosed(Exception):
    """An f-string, or one inside it, has no end."""


def _fstring(text: str, at: int, quote_at: int, fstrings: int) -> Token:
    """An f-string whose quotes start at `quote_at`, inside `fstrings` others.

    Fields may hold the same quotes, as from Python 3.12 on. If that fails, the outermost string ends at the next quote
    instead, and CPython reports the error. Only the outermost tries again: if each did, the attempts would multiply.
    """
    quote = text[quote_at]
    quotes = quote * 3 if text.startswith(quote * 3, quote_at) else quote
    raw = "r" in text[at:quote_at].lower()
    inner: list[Token] = []
    try:
        end = _fstring_text(text, quote_at + len(quotes), inner, quotes=quotes, raw=raw, fstrings=fstrings)
    except _Unclosed:
        if fstrings:
            raise
        simple = _SIMPLE_STRING.match(text, quote_at)
        if simple is None:
            return _broken(text, at, quote_at + 1)
        inner, end = [], simple.end()
    return Token("fstring", at, end, text[at:end], True, tuple(inner))


def _fstring_text(text: str, at: int, inner: list[Token], *, quotes: str, raw: bool, fstrings: int) -> int:
    """Read the body of an f-string from `at` on, collecting the tokens of its fields; return its end."""
    formats = 0  # how many formats, `{x:…}`, are open
    while stop := _FSTRING_STOP.search(text, at):
        at = stop.start()
        char = stop.group()
        if char == "\\":
            at = _behind_escape(text, at, raw=raw or formats > 0)
        elif char == "{":
            if text.startswith("{{", at) and not formats:
                at += 2
                continue
            at = _fstring_field(text, at, inner, fstrings)
            formats += inner[-1].text == ":"
        elif char == "}":
            if formats:
                inner.append(Token("operator", at, at + 1, "}", True))
                formats -= 1
            at += 1
        elif text.startswith(quotes, at):
            if formats:
                break
            return at + len(quotes)
        elif char == "\n" and len(quotes) == 1:
            break
        else:
            at += 1
    raise _Unclosed


def _behind_escape(text: str, at: int, *, raw: bool) -> int:
    """The offset behind an escape sequence that starts at `at`."""
    if not raw and text.startswith("N{", at + 1):
        return max(at + 2, text.find("}", at) + 1)
    # A backslash does not protect a brace: f"\{x}" has a field.
    return at + (1 if text[at + 1 : at + 2] in ("{", "}") else 2)


def _fstring_field(text: str, at: int, inner: list[Token], fstrings: int) -> int:
    """Read a field from its opening brace up to its closing one or up to its format; return its end."""
    if fstrings >= MAX_FSTRING_DEPTH:
        raise _Unclosed
    inner.append(Token("operator", at, at + 1, "{"))
    tokens, at = python_tokens(text, at + 1, closing="}", field=True, fstrings=fstrings + 1)
    if any(token.kind == "broken" for token in tokens):
        raise _Unclosed
    inner.extend(tokens)
    if conversion := _CONVERSION.match(text, at):
        at = conversion.end()
    if not text.startswith((":", "}"), at):
        raise _Unclosed
    inner.append(Token("operator", at, at + 1, text[at], text[at] == "}"))
    return at + 1
