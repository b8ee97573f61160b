"""The library of symbols every spec can use, such as `<digit>`, `<byte>` and `<CR>`.

Each name X stands for two rules, `<_X>` (the definition) and `<X> ::= <_X>`, so that a spec may redefine `<X>` and no
other library symbol notices. Only the rules that a spec mentions are ever parsed.
"""

from __future__ import annotations

from functools import cache

from palaver.source import Source
from palaver.spec.ast import Ref, Rule
from palaver.spec.diagnostics import Reporter
from palaver.spec.spec_files import parse_spec

_CONTROLS = [
    "NUL", "SOH", "STX", "ETX", "EOT", "ENQ", "ACK", "BEL", "BS", "HT", "LF",
    "VT", "FF", "CR", "SO", "SI", "DLE", "DC1", "DC2", "DC3", "DC4", "NAK",
    "SYN", "ETB", "CAN", "EM", "SUB", "ESC", "FS", "GS", "RS", "US", "SP",
]  # fmt: skip

# The right-hand side of `<_X> ::=`, by X.
_DEFINITIONS: dict[str, str] = {
    "char": r"r'(.|\n)'",
    "printable": r"r'[0-9a-zA-Z!-/:-@\[-`{-~ \t\n\r\x0b\x0c]'",
    "whitespace": r"r'[ \t\n\r\x0b\x0c]'",
    "digit": "r'[0-9]'",
    "hexdigit": "r'[0-9a-fA-F]'",
    "octdigit": "r'[0-7]'",
    "ascii_letter": "r'[a-zA-Z]'",
    "ascii_lowercase_letter": "r'[a-z]'",
    "ascii_uppercase_letter": "r'[A-Z]'",
    "punctuation": r"r'[!-/:-@\[-`{-~]'",
    "alphanum": "r'[a-zA-Z0-9_]'",
    "any_letter": r"r'\w'",
    "any_digit": r"r'\d'",
    "any_whitespace": r"r'\s'",
    "any_non_letter": r"r'\W'",
    "any_non_digit": r"r'\D'",
    "any_non_whitespace": r"r'\S'",
    "ascii_char": r"rb'[\x00-\x7f]'",
    **{name: f"b'\\x{code:02x}'" for code, name in enumerate(_CONTROLS)},
    "DEL": r"b'\x7f'",
    "ascii_control": " | ".join(f"<{name}>" for name in [*_CONTROLS, "DEL"]),
    "bit": "0 | 1",
    "byte": r"rb'[\x00-\xff]'",
    "utf8_char1": r"rb'[\x00-\x7f]'",
    "utf8_continuation_byte": r"rb'[\x80-\xbf]'",
    "utf8_char2": r"rb'[\xc2-\xdf]' <utf8_continuation_byte>",
    "utf8_char3": r"rb'[\xe0-\xef]' <utf8_continuation_byte>{2}",
    "utf8_char4": r"rb'[\xf0-\xf5]' <utf8_continuation_byte>{3}",
    "utf8_char": "<utf8_char1> | <utf8_char2> | <utf8_char3> | <utf8_char4>",
    "int8": "<byte>",
    "int16": "<byte>{2}",
    "int32": "<byte>{4}",
    "int64": "<byte>{8}",
    "float32": "<byte>{4}",
    "float64": "<byte>{8}",
    "timer_number": "r'[0-9]+'",
    "timer_timeout": "<timer_number>",
    "timer_id": "<timer_number>",
    "timer_expired": r"'expired: ' <timer_id> '\n'",
    "timer_cancel": r"'cancel: ' <timer_id> '\n'",
    "timer_start": r"'start: ' <timer_id> ' (' <timer_timeout> ')\n'",
    "fandango_dancer": "'\N{DANCER}'",
}

LIBRARY_SYMBOLS: tuple[str, ...] = tuple(f"<{prefix}{name}>" for name in _DEFINITIONS for prefix in ("", "_"))


@cache
def library_rule(symbol: str) -> Rule | None:
    """The library's rule for `symbol`, or None if the library does not know it."""
    name = symbol[1:-1]
    if name in _DEFINITIONS:
        source = Source("<library>", f"{symbol} ::= <_{name}>\n")
        return Rule(symbol, Ref(f"<_{name}>"), source=source)
    if name[:1] != "_" or name[1:] not in _DEFINITIONS:
        return None
    report = Reporter()
    (rule,) = parse_spec(Source("<library>", f"{symbol} ::= {_DEFINITIONS[name[1:]]}\n"), report).rules
    report.raise_if_errors()
    return rule
