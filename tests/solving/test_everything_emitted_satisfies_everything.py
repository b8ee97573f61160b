"""Whatever a spec asks for: each output satisfies it, also when it is read again, and no two are the same.

The specs are put together from sections, each a structure with something that it demands, in text or in bytes. They
have far too many trees to look at all of them.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

import palaver
from amounts import examples

OUTPUTS = 4

# `#` is the number of a section, so that the symbols of each are its own; `@` is a small number to play with.
TEXT_SECTIONS = [
    # lengths, either way
    ("<len#> ':' <body#>", "<len#> ::= <digit>{1,3}\n<body#> ::= r'[a-z]{0,50}'", "int(<len#>) == len(str(<body#>))"),
    ("<len#> ':' <body#>", "<len#> ::= <digit>{2}\n<body#> ::= ('()' | <digit>)+",
     "len(str(<body#>)) + @ == int(<len#>)"),
    ("<size#> ':' <body#>", "<size#> ::= r'[0-9a-f]{1,4}'\n<body#> ::= r'[a-zé]{1,40}'",
     "int(str(<size#>), 16) == len(bytes(<body#>))"),
    # checksums and copies
    ("<body#> '#' <sum#>", "<body#> ::= r'[a-z]{1,20}'\n<sum#> ::= r'[0-9a-f]{8}'",
     "str(<sum#>) == f'{zlib.crc32(bytes(<body#>)):08x}'"),
    ("<body#> '#' <sum#>", "<body#> ::= <digit>{3,9}\n<sum#> ::= <digit>{1,3}",
     "int(<sum#>) == sum(map(int, str(<body#>)))"),
    ("<one#> '=' <two#>", "<one#> ::= r'[A-Z]{2,9}'\n<two#> ::= r'[A-Za-z]+'", "<one#> == <two#>"),
    # counts and computed repetition
    ("<n#> ':' <item#>{1,9}", "<n#> ::= <digit>{2}\n<item#> ::= r'[a-z]' ','", "int(<n#>) == len(*<item#>)"),
    ("<n#> ':' <all#>", "<n#> ::= '2' | '5'\n<all#> ::= <item#>*\n<item#> ::= r'[a-z]' ','",
     "len(*<item#>) == int(<n#>)"),
    ("<n#> ':' <item#>{int(<n#>)}", "<n#> ::= <digit>\n<item#> ::= r'[a-z]'", "int(<n#>) >= @"),
    # generators with inverses
    ("<code#>", "<code#> ::= r'[0-9a-f]*' := bytes(<plain#>).hex()\n"
     "<plain#> ::= <word#> := bytes.fromhex(str(<code#>))\n<word#> ::= r'[a-z]{1,9}'", "len(str(<plain#>)) > @"),
    ("<up#> '/' <n#>", "<up#> ::= r'[A-Z]+' := str(<low#>).upper()\n<low#> ::= r'[a-z]{1,9}' := str(<up#>).lower()\n"
     "<n#> ::= <digit>", "int(<n#>) == len(str(<up#>))"),
    # what is nested
    ("<tree#>", "<tree#> ::= '(' <h#> <tree#>{0,2} ')'\n<h#> ::= <digit>{2}",
     "forall <t> in <tree#>: int(<t>.<h#>) == len(str(<t>))"),
    ("<elem#>", "<elem#> ::= '<' <open#> '>' (<elem#> | r'[a-z]*') '</' <close#> '>'\n<open#> ::= r'[a-z]{1,4}'\n"
     "<close#> ::= r'[a-z]{1,4}'", "forall <e> in <elem#>: <e>.<open#> == <e>.<close#>"),
    # quantifiers, alternatives
    ("<row#>{1,4}", "<row#> ::= <k#> '=' <v#> ','\n<k#> ::= 'a' | 'b'\n<v#> ::= <digit>{1,3}",
     "forall <r> in <row#>: <r>.<k#> == 'a' -> int(<r>.<v#>) % 7 == @"),
    ("<row#>{1,4}", "<row#> ::= <k#> '=' <v#> ','\n<k#> ::= 'a' | 'b'\n<v#> ::= <digit>{1,3}",
     "exists <r> in <row#>: <r>.<k#> == 'b' and int(<r>.<v#>) > 90"),
    ("<n#> (',' <n#>){1,5}", "<n#> ::= r'[1-9][0-9]{0,2}'", "[int(n) for n in *<n#>] == sorted(int(n) for n in *<n#>)"),
    ("<n#> (',' <n#>){1,5}", "<n#> ::= r'[a-f]'", "len(set(map(str, *<n#>))) == len(*<n#>)"),
    ("<n#> (',' <n#>){1,5}", "<n#> ::= <digit>{1,2}", "any(int(n) == 1@ for n in *<n#>) or int(<n#>) < 50"),
    # one field
    ("<n#>", "<n#> ::= <digit>{1,5}", "200 < int(<n#>) <= 25@ and int(<n#>) % 3 == 1"),
    ("<w#>", "<w#> ::= r'[a-z]{5,9}'", "str(<w#>).startswith('a') and 'zz' in str(<w#>) and str(<w#>)[-1] != 'z'"),
    ("<n#>", "<n#> ::= r'[+-]?' <digit>{2}", "-3@ < int(<n#>) < 5"),
    ("<n#>", "<n#> ::= <digit>{3}", "is_odd_sum(<n#>)"),
]  # fmt: skip

BINARY_SECTIONS = [
    ("<len#> <body#>", "<len#> ::= <byte>{2}\n<body#> ::= <raw>{0,40}",
     "int.from_bytes(bytes(<len#>), 'big') == len(bytes(<body#>))"),
    ("<len#> <body#>", "<len#> ::= <byte>{2}\n<body#> ::= <raw>{0,40}",
     "struct.unpack('<H', bytes(<len#>))[0] == len(bytes(<body#>)) + @"),
    ("<len#> <flag#> <body#>", "<len#> ::= <bit>{5}\n<flag#> ::= <bit>{3}\n<body#> ::= <raw>{0,31}",
     "int(<len#>) == len(bytes(<body#>)) and int(<flag#>) < 3"),
    ("<body#> <sum#>", "<body#> ::= <raw>{1,20}\n<sum#> ::= <byte>{4}",
     "bytes(<sum#>) == zlib.crc32(bytes(<body#>)).to_bytes(4, 'big')"),
    ("<tlv#>", "<tlv#> ::= <t#> <l#> <v#>\n<t#> ::= rb'[\\x01-\\x05]'\n<l#> ::= <byte>\n"
     "<v#> ::= rb'[a-z]{0,8}' | b'(' <tlv#>{1,2} b')'",
     "forall <x> in <tlv#>: bytes(<x>.<l#>)[0] == len(bytes(<x>.<v#>))"),
    ("<n#> <item#>{0,6} b'.'", "<n#> ::= <byte>\n<item#> ::= b'i' <byte>", "bytes(<n#>)[0] == len(*<item#>)"),
    ("<n#> <item#>{bytes(<n#>)[0]}", "<n#> ::= rb'[\\x00-\\x09]'\n<item#> ::= <byte>", "bytes(<n#>)[0] > @"),
    ("<a#> <b#>", "<a#> ::= <byte>{2}\n<b#> ::= <byte>{2}",
     "struct.unpack('>h', bytes(<a#>))[0] < 0 and bytes(<a#>) != bytes(<b#>)"),
]  # fmt: skip

# What has no semicolon in it can be found again in only one way, so that reading takes no time.
FRAME = """import struct, zlib
def is_odd_sum(digits):
    return sum(map(int, str(digits))) % 2 == 1
<bit> ::= 0 | 1
<raw> ::= rb'[^;]'
"""

GOALS = [
    "",
    "",
    "maximizing len(str(<start>))\n",
    "minimizing len(str(<start>))\n",
    "maximizing str(<start>).count('1')\n",
]


@st.composite
def specs(draw: DrawFn) -> str:
    """A spec of one to four sections."""
    sections = draw(st.sampled_from([TEXT_SECTIONS, TEXT_SECTIONS, BINARY_SECTIONS]))
    chosen = draw(st.lists(st.sampled_from(sections), min_size=1, max_size=4))
    between = "';'" if sections is TEXT_SECTIONS else "b';'"
    parts, rules, constraints = [], [], []
    for number, (part, rule, constraint) in enumerate(chosen):
        digit = str(draw(st.integers(0, 4)))
        own = [text.replace("#", str(number)).replace("@", digit) for text in (part, rule, constraint)]
        parts.append(own[0])
        rules.append(f"{own[1]}\n")
        constraints.append(f"where {own[2]}\n")
    text = f"{FRAME}<start> ::= {f' {between} '.join(parts)}\n{''.join(rules)}{''.join(constraints)}"
    return text + draw(st.sampled_from(GOALS))


@pytest.mark.timeout(300)
@settings(max_examples=examples(20), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(text=specs(), seed=st.integers(0, 1_000))
def test_every_output_satisfies_every_constraint_and_is_new(text: str, seed: int) -> None:
    spec = palaver.loads(text)
    trees = list(spec.fuzz(OUTPUTS, seed=seed))
    assert len(trees) == OUTPUTS
    data = [tree.serialised() for tree in trees]
    assert len(set(data)) == OUTPUTS
    for tree, each in zip(trees, data, strict=True):
        assert [check.failure(tree) for check in spec.checks] == [None] * len(spec.checks)
        again = spec.parse(each)
        assert again.serialised() == each
        assert [check.failure(again) for check in spec.checks] == [None] * len(spec.checks)


@pytest.mark.parametrize(
    "section", [*TEXT_SECTIONS, *BINARY_SECTIONS], ids=lambda section: f"{section[0]} {section[2]}"
)
def test_each_section_alone_can_be_satisfied(section: tuple[str, str, str]) -> None:
    part, rules, constraint = (text.replace("#", "").replace("@", "2") for text in section)
    spec = palaver.loads(f"{FRAME}<start> ::= {part}\n{rules}\nwhere {constraint}\n")
    assert len(list(spec.fuzz(5, seed=1))) == 5
