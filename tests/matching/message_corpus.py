"""Specs such as people write, with messages of theirs: good ones, and ones with something wrong.

Each says how it is fed: text may come as str or as bytes, and messages of a stream may be followed by others.
"""

from __future__ import annotations

from dataclasses import dataclass

from palaver.grammar.lowering import lower
from palaver.source import Source
from palaver.spec.ast import Expr
from palaver.spec.diagnostics import Reporter
from palaver.spec.spec_files import parse_spec
from palaver.trees.node import Node, NonTerminal


@dataclass(frozen=True)
class Entry:
    """`good` are complete messages, `bad` are not. `history` are earlier messages: (symbol, text) of a single leaf."""

    name: str
    spec: str
    good: tuple[str | bytes, ...]
    bad: tuple[str | bytes, ...] = ()
    earlier: tuple[tuple[str, str | bytes], ...] = ()

    def rules(self) -> dict[str, Expr]:
        return rules_of(self.spec)

    @property
    def history(self) -> tuple[Node, ...]:
        return tuple(Node(NonTerminal(symbol), (text,)) for symbol, text in self.earlier)


def rules_of(spec: str) -> dict[str, Expr]:
    """The rules of a spec that starts with `<start>`, with those of the library."""
    report = Reporter()
    grammar = lower([parse_spec(Source("corpus.fan", spec), report)], report, start="<start>")
    report.raise_if_errors()
    return grammar.bodies


SMTP_REPLY = Entry(
    "SMTP replies of several lines",
    r"""
<start> ::= <reply>
<reply> ::= <more>* <last>
<more> ::= <code> "-" <text> <crlf>
<last> ::= <code> " " <text> <crlf>
<code> ::= r"[2-5][0-9][0-9]"
<text> ::= r"[^\r\n]*"
<crlf> ::= "\r\n"
""",
    ("250 ok\r\n", "250-a\r\n250-SIZE 9\r\n250 HELP\r\n", b"354 go ahead\r\n", "220 é\r\n".encode()),
    ("250 ok\r\n221 bye\r\n", "250-a\r\n25", "250-a\r\n250\r\n", "650 x\r\n", "250 a\rb\r\n", ""),
)

SMTP_COMMAND = Entry(
    "SMTP commands",
    r"""
<start> ::= <helo> | <ehlo> | <mail> | <rcpt> | <data> | <quit> | <help>
<helo> ::= "HELO " <domain> <crlf>
<ehlo> ::= "EHLO " <domain> <crlf>
<mail> ::= "MAIL FROM:<" <box>? ">" <param>* <crlf>
<rcpt> ::= "RCPT TO:<" <box> ">" <param>* <crlf>
<data> ::= "DATA" <crlf>
<quit> ::= "QUIT" <crlf>
<help> ::= "HELP" (" " <word>)? <crlf>
<param> ::= " " <word> ("=" <value>)?
<box> ::= <word> "@" <domain>
<domain> ::= <word> ("." <word>)*
<word> ::= r"[A-Za-z][A-Za-z0-9]*"
<value> ::= r"[!-<>-~]+"
<crlf> ::= "\r\n"
""",
    ("HELO a.b\r\n", "MAIL FROM:<a@b.c> SIZE=10 X\r\n", "MAIL FROM:<>\r\n", "HELP\r\n", b"QUIT\r\n"),
    ("HELX", "MAIL FROM:<a@>\r\n", "HELP \r\n", "QUIT\r\nQUIT\r\n", "RCPT TO:<a@b> A=\r\n"),
)

FTP_LIST = Entry(
    "lines of an FTP listing",
    r"""
<start> ::= <entry>*
<entry> ::= <mode> <gap> <number> <gap> <word> <gap> <word> <gap> <number> <gap> <date> " " <file> <crlf>
<mode> ::= <type> <triple>{3}
<type> ::= "-" | "d" | "l"
<triple> ::= ("r" | "-") ("w" | "-") ("x" | "s" | "-")
<gap> ::= r" +"
<number> ::= <digit>+
<digit> ::= r"[0-9]"
<word> ::= r"[a-z]{1,8}"
<date> ::= <month> <gap> <day> <gap> (<time> | <year>)
<month> ::= "Jan" | "Feb" | "Mar" | "Jun" | "Jul"
<day> ::= r"[0-3]?[0-9]"
<time> ::= r"[0-2][0-9]" ":" r"[0-5][0-9]"
<year> ::= r"[12][0-9]{3}"
<file> ::= r"[^\r\n]+"
<crlf> ::= "\r\n"
""",
    (
        "",
        "-rw-r--r-- 1 u g 12 Jan 3 12:30 a b\r\n",
        "drwxr-xr-x  2 ann  all 4096 Jul 11  1999 dir\r\n-rw-------  1 u g 0 Jun  9 01:00 x\r\n",
        b"lrwxrwxrwx 1 u g 7 Mar 31 2024 l -> \xc3\xa9\r\n",
    ),
    ("-rw-r--r-- 1 u g 12 Jan 3 12:3", "-rw-r--r-x 1 u g 12 Jab 3 12:30 a\r\n", "-rw-r--r-- 1 u g 2 Jun 3 1x:30 a\r\n"),
)

DNS = Entry(
    "DNS-like messages: a header of bits, counted questions and answers",
    r"""
<start> ::= <header> <question>{int(<qd>)} <answer>{int(<an>)}
<header> ::= <id> <flags> <qd> <an>
<id> ::= <byte>{2}
<flags> ::= <qr> <opcode> <aa> <tc> <rd> <ra> <zero> <rcode>
<qr> ::= <bit>
<opcode> ::= <bit>{4}
<aa> ::= <bit>
<tc> ::= <bit>
<rd> ::= <bit>
<ra> ::= <bit>
<zero> ::= 0 0 0
<rcode> ::= <bit>{4}
<qd> ::= <bit>{16}
<an> ::= <bit>{16}
<question> ::= <name> <type> b"\x00\x01"
<answer> ::= <name> <type> b"\x00\x01" <size> <byte>{int(<size>)}
<name> ::= <label>* (b"\x00" | <pointer>)
<label> ::= <length> <byte>{int(<length>)}
<length> ::= 0 0 <bit>{6}
<pointer> ::= 1 1 <bit>{14}
<type> ::= b"\x00\x01" | b"\x00\x1c" | b"\x00\x0f"
<size> ::= <bit>{16}
<byte> ::= <bit>{8}
""",
    (
        b"\x12\x34\x01\x00\x00\x01\x00\x00\x01a\x02bc\x00\x00\x01\x00\x01",
        b"\x12\x34\x81\x80\x00\x01\x00\x01\x01a\x00\x00\x01\x00\x01\xc0\x0c\x00\x01\x00\x01\x00\x04\x7f\x00\x00\x01",
        b"\x00\x00\x00\x00\x00\x00\x00\x00",
    ),
    (
        b"\x12\x34\x01\x10\x00\x01",
        b"\x12\x34\x01\x00\x00\x01\x00\x00\x41a\x00\x00\x01\x00\x01",
        b"\x12\x34\x01\x00\x00\x01\x00\x00\x01a\x00\x00\x02\x00\x01",
        b"\x12\x34\x01\x00\x00\x01\x00\x00\x01a\x00\x00\x01\x00\x01xyz",
    ),
)

STRICT_NAMES = Entry(
    "DNS-like names whose labels are never empty",
    r"""
<start> ::= <name> <type>
<name> ::= <label>{0,4} b"\x00"
<label> ::= <length> rb"[a-z0-9-]"{ord(bytes(<length>))}
<length> ::= rb"[\x01-\x3f]"
<type> ::= b"\x00" (b"\x01" | b"\x0f" | b"\x1c")
""",
    (b"\x03www\x02ab\x00\x00\x01", b"\x00\x00\x1c", b"\x0ca-long-label\x00\x00\x0f"),
    (b"\x03ww", b"\x03ww\x00\x00\x01", b"\x01a\x01b\x01c\x01d\x01e\x00\x00\x01", b"\x00\x00\x01\x00"),
)

JSON = Entry(
    "JSON, character by character",
    r"""
<start> ::= <ws> <value> <ws>
<value> ::= <object> | <array> | <string> | <number> | "true" | "false" | "null"
<object> ::= "{" <ws> "}" | "{" <members> "}"
<members> ::= <member> | <member> "," <members>
<member> ::= <ws> <string> <ws> ":" <ws> <value> <ws>
<array> ::= "[" <ws> "]" | "[" <elements> "]"
<elements> ::= <ws> <value> <ws> | <ws> <value> <ws> "," <elements>
<string> ::= '"' <char>* '"'
<char> ::= r'[^"\\\x00-\x1f]' | "\\" <escape>
<escape> ::= '"' | "\\" | "/" | "b" | "n" | "u" <hex>{4}
<hex> ::= r"[0-9a-fA-F]"
<number> ::= "-"? <int> <frac>? <exp>?
<int> ::= "0" | r"[1-9]" <digit>*
<frac> ::= "." <digit>+
<exp> ::= ("e" | "E") ("+" | "-")? <digit>+
<digit> ::= r"[0-9]"
<ws> ::= (" " | "\t" | "\r" | "\n")*
""",
    ('{"a": [1, -2.50e+3, true]}', " [ ] ", '"\\u00e9\\n€"', "{ }", "0", "[[[[]]]]", '{"k":{},"é":null}'.encode()),
    ('{"a": }', "[1,]", "01", "-", '"\\x"', "[[[", "{,}", "tru", '"\n"', "[1 2]", "1.", "nul", "1e"),
)

LENGTHS = Entry(
    "a length, then as many bytes",
    r"""
<start> ::= <frame>+
<frame> ::= <kind> <size> <load>
<kind> ::= b"\x01" | b"\x02"
<size> ::= <byte> <byte>
<load> ::= <byte>{int.from_bytes(bytes(<size>), "big")}
<byte> ::= rb"(?s)."
""",
    (b"\x01\x00\x03abc\x02\x00\x00\x01\x00\x01\xff", b"\x02\x00\x05\x00\x01\x02\r\n"),
    (b"\x01\x00\x03ab", b"\x03\x00\x00", b"\x01\x00\x01ab", b"\x01"),
)

HTTP = Entry(
    "a request with headers",
    r"""
<start> ::= <line> <header>* <crlf> <body>
<line> ::= <method> " " <target> " HTTP/1." ("0" | "1") <crlf>
<method> ::= "GET" | "HEAD" | "POST"
<target> ::= "*" | <path> ("?" <query>)?
<path> ::= ("/" <segment>)+
<segment> ::= r"[a-z0-9._~-]*"
<query> ::= r"[a-z0-9&=]*"
<header> ::= <name> ":" <space> <content> <space> <crlf>
<name> ::= r"[A-Za-z-]+"
<space> ::= r"[ \t]*"
<content> ::= r"[!-~]" r"[ !-~]*" | ""
<body> ::= r"[a-z]*"
<crlf> ::= "\r\n"
""",
    (
        "GET / HTTP/1.1\r\n\r\n",
        "POST /a/b?x=1 HTTP/1.0\r\nHost: x \r\nA:\r\n\r\nbody",
        "HEAD * HTTP/1.1\r\nA: b c\r\n\r\n",
    ),
    ("GET  / HTTP/1.1\r\n\r\n", "GET / HTTP/1.2\r\n\r\n", "GET / HTTP/1.1\r\nHost x\r\n\r\n", "HEAD / HTTP/1.1\r\n"),
)

NESTED = Entry(
    "values in values: tag, length, content",
    r"""
<start> ::= <value>
<value> ::= <leaf> | <list>
<leaf> ::= <primitive> <length> <byte>{int(<leaf>..<length>)} | <primitive> <length> <byte>{int(<length>)}
<list> ::= <constructed> <count> <value>{int(<count>)}
<primitive> ::= 0 0 0 <bit>{5}
<constructed> ::= 0 0 1 <bit>{5}
<length> ::= <bit>{8}
<count> ::= <bit>{8}
<byte> ::= rb"(?s)."
""",
    (b"\x02\x02hi", b"\x22\x02\x02\x01a\x23\x01\x04\x00", b"\x20\x00"),
    (b"\x02\x02h", b"\x42\x00", b"\x22\x02\x02\x01a", b"\x02\x00x"),
)

EXPRESSIONS = Entry(
    "left-recursive expressions",
    r"""
<start> ::= <sum>
<sum> ::= <sum> "+" <product> | <sum> "-" <product> | <product>
<product> ::= <product> "*" <factor> | <factor>
<factor> ::= "(" <sum> ")" | "-" <factor> | <number>
<number> ::= <number> <digit> | <digit>
<digit> ::= r"[0-9]"
""",
    ("1+2*3", "-(12-3)*4", "((7))", "1--1"),
    ("1+", "(1", "1+*2", "1)", ""),
)

AMBIGUOUS = Entry(
    "many ways to read one text",
    r"""
<start> ::= <start> <op> <start> | <n> | <word>
<op> ::= "+" | "" | " "
<n> ::= <digit>+
<digit> ::= r"[0-9]"
<word> ::= r"[a-z]+" | "if" | r"i." <n>?
""",
    ("1+2+3", "12", "if 1", "i1"),
    ("+", "1+", "IF"),
)

LOOK_AROUND = Entry(
    "patterns that look around, and anchors",
    r"""
<start> ::= <name> "=" <value> (";" <rest>)?
<name> ::= r"(?!if$|then$)[a-z]+"
<value> ::= r"[0-9]+(?![0-9])" | r'"[^"]*"' | r"(?=x)[xyz]{2}" | r"^\w\b" | r"(a|b)\1"
<rest> ::= r"(?s).*(?<!;)$"
""",
    ("iff=12", 'a="q;";x', "n=xy", "b=aa;..", "z=k"),
    ("if=1", "a=yx", "a=1;;", "a=ab", "a="),
)

RIGHT_RECURSIVE = Entry(
    "lists by right recursion",
    r"""
<start> ::= <digits> <tail>
<digits> ::= <digit> | <digit> <digits>
<digit> ::= "0" | "1" | "2" | "3"
<tail> ::= "." <digits> <tail> | ";" <words> | ""
<words> ::= <word> " " <words> | <word>
<word> ::= <letter> <word> | <letter>
<letter> ::= r"[a-z]"
""",
    ("0", "123.321.0;ab c d", "11;x", b"2.3"),
    ("", "1.", "12;", "1;a  b", "4"),
)

UNICODE = Entry(
    "text beyond ASCII",
    r"""
<start> ::= <greeting> " " <name> <mark>+ <note>?
<greeting> ::= "Grüß" | "Grüße" | "こんにちは"
<name> ::= r"\w+"
<mark> ::= "!" | "‼" | "😀"
<note> ::= "(" r"[^)]*" ")"
""",
    ("Grüß Ä!", "Grüße Łódź‼😀", "こんにちは é!(ü😀)".encode(), "Grüß a😀".encode()),
    ("Grüß !", "Gruß a!", "Grüß a😀".encode()[:-1], b"Gr\xfc\xdf a!", "こんにちは a!(".encode(), "Grüß Ä!\udcff"),
)

STREAM = Entry(
    "messages of a stream, told apart by their ends only",
    r"""
<start> ::= <ping> | <text> | <block>
<ping> ::= "PING" r"[0-9]*"
<text> ::= "TEXT " r"[^\n]*" "\n"
<block> ::= "BLOCK\n" (<line> "\n")* ".\n"
<line> ::= r"[^\n.][^\n]*" | ".." r"[^\n]*" | ""
""",
    ("PING12", "TEXT hi\n", "BLOCK\na\n\n..b\n.\n", b"PING"),
    ("PING12PING3", "TEXT a\nTEXT b\n", "BLOCK\n.\nrest", "BLOCK\n.a\n.\n", "PONG"),
)

EARLIER = Entry(
    "an answer as long as the question asked for",
    r"""
<start> ::= "DATA " <byte>{int(<wanted>)} "\n" <more>?
<more> ::= <count> "x"{int(<count>)}
<count> ::= r"[0-3]"
<byte> ::= r"[a-z]"
<wanted> ::= r"[0-9]+"
""",
    ("DATA abc\n", "DATA abc\n2xx", "DATA abc\n0"),
    ("DATA ab\n", "DATA abcd\n", "DATA abc\n2x", "DATA abc\n1xx"),
    earlier=(("<wanted>", "7"), ("<wanted>", "3")),
)

CORPUS = (
    SMTP_REPLY,
    SMTP_COMMAND,
    FTP_LIST,
    DNS,
    STRICT_NAMES,
    JSON,
    LENGTHS,
    HTTP,
    NESTED,
    EXPRESSIONS,
    AMBIGUOUS,
    LOOK_AROUND,
    RIGHT_RECURSIVE,
    UNICODE,
    STREAM,
    EARLIER,
)
