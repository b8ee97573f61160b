"""Conditions that are solved without any search: one spec for each form."""

from __future__ import annotations

import pytest

import palaver

OUTPUTS = 20

FRAME = """
import hashlib, struct, zlib, base64
<octet> ::= rb"[\\x00-\\xff]"
<digit> ::= r"[0-9]"
"""

FORMS = {
    # --- equations between fields ---
    "a text": "<start> ::= <a> '-' <b>\n<a> ::= r'[a-z]{4}'\n<b> ::= r'[a-z]+'\nwhere <a> == <b>",
    "str around both sides": "<start> ::= <a> '-' <b>\n<a> ::= r'[a-z]{4}'\n<b> ::= r'[a-z]+'\n"
    "where str(<a>) == str(<b>)",
    "int around both sides": "<start> ::= <a> '-' <b>\n<a> ::= <digit>{3}\n<b> ::= <digit>{5}\n"
    "where int(<a>) == int(<b>)",
    "bytes around both sides": "<start> ::= <a> b'-' <b>\n<a> ::= <octet>{3}\n<b> ::= <octet>{3}\n"
    "where bytes(<a>) == bytes(<b>)",
    "the computed side on the left": "<start> ::= <a> '-' <b>\n<a> ::= r'[a-z]{4}'\n<b> ::= r'[A-Z]+'\n"
    "where str(<a>).upper() == str(<b>)",
    "arithmetic on both sides": "<start> ::= <a> '-' <b>\n<a> ::= <digit>{2}\n<b> ::= <digit>{4}\n"
    "where int(<b>) - 5 == 3 * int(<a>) + 1",
    "other bases": "<start> ::= <a> '-' <b> '-' <c>\n<a> ::= <digit>{2}\n<b> ::= r'[0-9a-f]{4}'\n<c> ::= r'[0-7]{6}'\n"
    "where int(str(<b>), 16) == int(<a>)\nwhere int(str(<c>), 8) == int(<a>)",
    "bits": "<start> ::= <a> <b> <c>\n<a> ::= (0 | 1){4}\n<b> ::= (0 | 1){12}\n<c> ::= <octet>{0,15}\n"
    "where int(<a>) == len(bytes(<c>))\nwhere int(<b>) == 3 * int(<a>)",
    "a slice": "<start> ::= <a> '-' <b>\n<a> ::= r'[a-z]{6}'\n<b> ::= r'[a-z]{2}'\nwhere str(<a>)[2:4] == str(<b>)",
    "an item": "<start> ::= <a> <b>\n<a> ::= <octet>{4}\n<b> ::= <octet>{1,9}\nwhere bytes(<a>)[2] == len(bytes(<b>))",
    "a character": "<start> ::= <a> '-' <b>\n<a> ::= r'[a-z]{4}'\n<b> ::= r'[a-z]{3}'\n"
    "where str(<a>)[0] == str(<b>)[2]",
    # --- checksums, packing ---
    "a checksum": "<start> ::= <body> <sum>\n<body> ::= <octet>{1,30}\n<sum> ::= <octet>{4}\n"
    "where bytes(<sum>) == zlib.crc32(bytes(<body>)).to_bytes(4, 'big')",
    "a checksum as a number": "<start> ::= <body> <sum>\n<body> ::= <octet>{1,30}\n<sum> ::= <octet>{2}\n"
    "where int.from_bytes(bytes(<sum>), 'big') == sum(bytes(<body>)) % 65536",
    "a digest in hexadecimal": "<start> ::= <body> '#' <sum>\n<body> ::= r'[a-z]{1,9}'\n<sum> ::= r'[0-9a-f]{32}'\n"
    "where str(<sum>) == hashlib.md5(bytes(<body>)).hexdigest()",
    "an encoding": "<start> ::= <body> '#' <coded>\n<body> ::= r'[a-z]{1,9}'\n<coded> ::= r'[A-Za-z0-9+/]+={0,2}'\n"
    "where <coded> == base64.b64encode(bytes(<body>)).decode()",
    "pack": "<start> ::= <len> <body>\n<len> ::= <octet>{4}\n<body> ::= <octet>{0,30}\n"
    "where bytes(<len>) == struct.pack('<I', len(bytes(<body>)))",
    "unpack": "<start> ::= <len> <body>\n<len> ::= <octet>{2}\n<body> ::= <octet>{0,30}\n"
    "where struct.unpack('>H', bytes(<len>))[0] == len(bytes(<body>))",
    "unpack, least significant first and signed": "<start> ::= <a> <b>\n<a> ::= <octet>{2}\n<b> ::= <digit>{2}\n"
    "where struct.unpack('<h', bytes(<a>))[0] == 0 - int(<b>)",
    "a length that a function of the spec decodes": "<start> ::= <len> <body>\n"
    "<len> ::= rb'[\\x00-\\x7f]' | b'\\x81' <octet> | b'\\x82' <octet>{2}\n<body> ::= <octet>{0,300}\n"
    "def length(field):\n    data = bytes(field)\n"
    "    return data[0] if data[0] < 128 else int.from_bytes(data[1:], 'big')\n"
    "where length(<len>) == len(bytes(<body>))",
    "such lengths inside each other": "<start> ::= <len> <pair>\n<pair> ::= <item> <item>\n<item> ::= <len> <body>\n"
    "<len> ::= rb'[\\x80-\\xff]{0,3}[\\x00-\\x7f]'\n<body> ::= <octet>{0,200}\n"
    "def varint(data):\n    return sum((byte & 127) << 7 * at for at, byte in enumerate(data))\n"
    "where varint(bytes(<start>.<len>)) == len(bytes(<pair>))\n"
    "where forall <i> in <item>: varint(bytes(<i>.<len>)) + 2 == len(bytes(<i>.<body>)) + 2",
    # --- generators ---
    "a generator": "<start> ::= <u>\n<u> ::= r'[A-Z]+' := str(<l>).upper()\n<l> ::= <w> := str(<u>).lower()\n"
    "<w> ::= r'[a-z]{2,9}'\nwhere len(str(<l>)) >= 4",
    "an equation on what is generated, with an inverse": "<start> ::= <u> '-' <n>\n"
    "<u> ::= r'[A-Z]+' := str(<l>).upper()\n<l> ::= r'[a-z]+' := str(<u>).lower()\n<n> ::= r'[A-Z]{3}'\n"
    "where <u> == <n>",
    # --- across messages ---
    "equality across messages": "<start> ::= <Client:Server:req> <Server:Client:resp>\n"
    "<req> ::= 'Q' <id> <name> ';'\n<resp> ::= 'A' <code> <id> ';'\n<id> ::= <digit>{6}\n<name> ::= r'[a-z]+'\n"
    "<code> ::= r'[a-z]{2}'\nwhere <resp>.<id> == <req>.<id>\n"
    "class Client(FandangoParty):\n    pass\nclass Server(FandangoParty):\n    pass",
    # --- constants ---
    "one of a set": "<start> ::= <m> ' ' <x>\n<m> ::= r'[A-Z]{3,7}'\n<x> ::= r'[a-z]{3}'\n"
    "where str(<m>) in {'GET', 'PUT', 'DELETE'}",
    "none of a set": "<start> ::= <m> <x>\n<m> ::= 'a' | 'b' | 'c'\n<x> ::= r'[a-z]{3}'\nwhere <m> not in ('a', 'b')",
    "numbers of a set": "<start> ::= <n> <x>\n<n> ::= <digit>{5}\n<x> ::= r'[a-z]{3}'\nwhere int(<n>) in [7, 70, 700]",
    "a range": "<start> ::= <n>\n<n> ::= <digit>{1,6}\nwhere 4000 <= int(<n>) < 4100",
    "a range of bytes": "<start> ::= <n>\n<n> ::= <octet>{3}\nwhere 70000 <= int.from_bytes(bytes(<n>), 'big') < 70100",
    "comparisons from both sides": "<start> ::= <n>\n<n> ::= <digit>{4}\nwhere 100 < int(<n>)\n"
    "where not int(<n>) > 200",
    "a remainder": "<start> ::= <n>\n<n> ::= <digit>{4,6}\nwhere int(<n>) % 37 == 5",
    "a large remainder": "<start> ::= <n>\n<n> ::= <digit>{6}\nwhere int(<n>) % 997 == 5",
    "a prefix, a suffix, and something inside": "<start> ::= <w>\n<w> ::= r'[a-z]{9,12}'\n"
    "where str(<w>).startswith('qu')\nwhere <w>.endswith('x')\nwhere 'zz' in str(<w>)",
    # --- lengths ---
    "a length, the field follows": "<start> ::= <len> ':' <body>\n<len> ::= <digit>{1,3}\n"
    "<body> ::= r'[a-z]{0,40}'\n"
    "where int(<len>) == len(str(<body>))",
    "a length, the payload follows": "<start> ::= <len> ':' <body>\n<len> ::= '12' | '17' | '33' | '34'\n"
    "<body> ::= r'[a-z]+'\nwhere int(<len>) == len(str(<body>))",
    "a length, the field is limited": "<start> ::= <len> ':' <body>\n<len> ::= <digit>{2}\n<body> ::= <item>+\n"
    "<item> ::= r'[a-z]{3}' | '()'\nwhere len(str(<body>)) == int(<len>)\nwhere 30 <= int(<len>) <= 35",
    "a length in words": "<start> ::= <len> <body>\n<len> ::= <octet>\n<body> ::= <octet>{1,60}\n"
    "where bytes(<len>)[0] * 4 == len(bytes(<body>))",
    "nested lengths": "<start> ::= <tlv>\n<tlv> ::= <len> <val>\n<len> ::= <octet>\n<val> ::= <raw> | b'!' <tlv>{1,2}\n"
    "<raw> ::= rb'[a-z]{0,6}'\nwhere forall <t> in <tlv>: <t>.<len> == bytes([len(bytes(<t>.<val>))])",
    "a length of what it is part of": "<start> ::= <len> ':' <body>\n<len> ::= <digit>{3}\n<body> ::= r'[a-z]{0,40}'\n"
    "where int(<len>) == len(str(<start>))",
    "the length of a whole, in a byte that is made a number once more": "<start> ::= <tlv>{1,4}\n"
    "<tlv> ::= <octet> <len> <octet>{0,9}\n<len> ::= <octet>\n"
    "where forall <t> in <tlv>: int(bytes(<t>.<len>)[0]) == len(bytes(<t>))",
    "the length of a whole, by ord": "<start> ::= <tlv>{1,4}\n<tlv> ::= <octet> <len> <octet>{0,9}\n<len> ::= <octet>\n"
    "where forall <t> in <tlv>: ord(bytes(<t>.<len>)) == len(bytes(<t>))",
    "a byte order that is named": "<start> ::= <len> <octet>{0,9}\n<len> ::= <octet>{2}\n"
    "where int.from_bytes(bytes(<len>), byteorder='little') == len(bytes(<start>))",
    # --- counts ---
    "a count, the field follows": "<start> ::= <n> ':' <item>{1,9}\n<n> ::= <digit>{2}\n<item> ::= r'[a-z];'\n"
    "where int(<n>) == len(*<item>)",
    "a count, the items follow": "<start> ::= <n> ':' <list>\n<n> ::= '3' | '5'\n<list> ::= <item>+\n"
    "<item> ::= r'[a-z];'\nwhere len(*<item>) == int(<n>)",
    "counts of each": "<start> ::= <row>{1,4}\n<row> ::= <n> <item>{0,6} ';'\n<n> ::= <digit>\n<item> ::= r'[a-z]'\n"
    "where forall <r> in <row>: len(*<r>.<item>) == int(<r>.<n>)",
    "computed repetition": "<start> ::= <n> ':' <item>{int(<n>)}\n<n> ::= <digit>\n<item> ::= r'[a-z]'\n"
    "where int(<n>) >= 4",
    "a list": "<start> ::= <n> (',' <n>){2,6}\n<n> ::= r'[1-9][0-9]{0,2}'\n"
    "where [int(n) for n in *<n>] == sorted(int(n) for n in *<n>)",
    "all different": "<start> ::= <n> (',' <n>){2,6}\n<n> ::= r'[0-9]'\nwhere len(set(map(str, *<n>))) == len(*<n>)",
    # --- several, any, all, if ---
    "a chain of equations": "<start> ::= <total> <size> <body> <sum>\n<total> ::= <octet>{2}\n<size> ::= <octet>\n"
    "<body> ::= <octet>{0,20}\n<sum> ::= <octet>\nwhere bytes(<size>)[0] == len(bytes(<body>))\n"
    "where int.from_bytes(bytes(<total>), 'big') == 2 + int.from_bytes(bytes(<size>), 'big')\n"
    "where bytes(<sum>)[0] == (sum(bytes(<total>)) + sum(bytes(<body>))) % 256",
    "a conjunction": "<start> ::= <n> ',' <m>\n<n> ::= <digit>{1,5}\n<m> ::= <digit>{1,5}\n"
    "where int(<n>) > 50 and int(<m>) == int(<n>) + 1 and int(<n>) % 2 == 0",
    "forall": "<start> ::= <r>{1,5}\n<r> ::= <a> '=' <b> ';'\n<a> ::= <digit>{3}\n<b> ::= <digit>{3}\n"
    "where forall <x> in <r>: int(<x>.<a>) + 1 == int(<x>.<b>)",
    "all": "<start> ::= <n>{1,5}\n<n> ::= <digit>{3} ';'\nwhere all(str(x)[0] == '7' for x in *<n>)",
    "exists": "<start> ::= <r>{1,5}\n<r> ::= <a> '=' <b> ';'\n<a> ::= <digit>{3}\n<b> ::= <digit>{3}\n"
    "where exists <x> in <r>: int(<x>.<a>) == int(<x>.<b>)",
    "any": "<start> ::= <n> (';' <n>){1,5}\n<n> ::= <digit>{3}\nwhere any(int(n) == 123 for n in *<n>)",
    "or": "<start> ::= <a> ',' <b>\n<a> ::= <digit>{3}\n<b> ::= <digit>{3}\nwhere int(<a>) == 5 or int(<b>) == 6",
    "an implication": "<start> ::= <r>{1,5}\n<r> ::= <kind> <n> ';'\n<kind> ::= 'a' | 'b'\n<n> ::= <digit>{4}\n"
    "where forall <x> in <r>: <x>.<kind> == 'a' -> int(<x>.<n>) == 12",
    "not or": "<start> ::= <kind> <n>\n<kind> ::= 'a' | 'b'\n<n> ::= <digit>{4}\n"
    "where not str(<kind>) == 'a' or int(<n>) % 512 == 0",
}


@pytest.mark.parametrize("form", FORMS)
def test_the_condition_is_solved_without_search(form: str) -> None:
    spec = palaver.loads(FRAME, FORMS[form])
    fuzz = spec.fuzz(OUTPUTS, seed=1)
    trees = list(fuzz)
    assert len(trees) == OUTPUTS, fuzz.shortfall
    assert fuzz.solver.found_by_search == 0
    for tree in trees:
        assert next(spec.parses(tree.serialised()), None) is not None
