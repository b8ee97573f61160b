"""The rules and functions of binary.fan: they agree with what others compute, and are solved by construction."""

from __future__ import annotations

import binascii
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import palaver

KIT = palaver.load("binary")
NAMES: dict[str, Any] = KIT.namespace.names
CHECK = b"123456789"  # of which every catalogue of checksums gives the result


@pytest.mark.parametrize("size", [8, 16, 24, 32, 64])
@pytest.mark.parametrize("order", ["", "_le"])
@given(data=st.data())
def test_numbers_are_what_they_were(size: int, order: str, data: st.DataObject) -> None:
    if size == 8 and order:
        order = ""
    for sign, least, most in (("u", 0, 1 << size), ("i", -(1 << size - 1), 1 << size - 1)):
        function = NAMES[f"{sign}{size}{order}"]
        number = data.draw(st.integers(least, most - 1))
        assert len(function(number)) == size // 8
        assert function.value(function(number)) == number


@given(st.integers(0, (1 << 62) - 1))
def test_varints_are_what_they_were(number: int) -> None:
    for name in ("varint", "quic_varint"):
        function = NAMES[name]
        assert function.value(function(number)) == number
        assert KIT.read_as(f"<{name}>", function(number)) is not None


def test_varints_are_those_of_the_standards() -> None:
    # MQTT 3.1.1, table 2.4, and RFC 9000, appendix A.1.
    assert [NAMES["varint"](each).hex() for each in (0, 127, 128, 16383, 16384, 268435455)] == [
        "00", "7f", "8001", "ff7f", "808001", "ffffff7f",
    ]  # fmt: skip
    assert [NAMES["quic_varint"](each).hex() for each in (151288809941952652, 494878333, 15293, 37)] == [
        "c2197c5eff14e88c", "9d7f3e7d", "7bbd", "25",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "result"),
    [("crc8", "f4"), ("crc16", "29b1"), ("crc16_modbus", "374b"), ("crc32", "cbf43926"), ("adler32", "091e01de")],
)
def test_checksums_are_those_of_the_catalogues(name: str, result: str) -> None:
    assert NAMES[name](CHECK).hex() == result


@given(st.binary(max_size=40))
def test_checksums_agree_with_other_programs(data: bytes) -> None:
    assert NAMES["crc16"](data) == binascii.crc_hqx(data, 0xFFFF).to_bytes(2, "big")
    assert NAMES["crc32"](data) == zlib.crc32(data).to_bytes(4, "big")
    # What is sent with its checksum sums up to nothing.
    even = data + bytes(len(data) % 2)
    assert NAMES["internet_checksum"](even + NAMES["internet_checksum"](even)) == b"\0\0"
    assert NAMES["xor_sum"](data + NAMES["xor_sum"](data)) == b"\0"
    assert NAMES["xor"](NAMES["xor"](data, b"mask"), b"mask") == data


@pytest.mark.parametrize("function", ["u8", "u16", "u16_le", "u32", "varint", "quic_varint"])
def test_lengths_are_made_by_construction_and_divide_what_is_read(function: str) -> None:
    symbol = function.removesuffix("_le")
    spec = palaver.loads(f"""
        include('binary.fan')
        <start>  ::= <record>{{1,5}}
        <record> ::= <length> <body> <check>
        <length> ::= <{symbol}>
        <body>   ::= <byte>{{0,70}}
        <check>  ::= <u16>
        where forall <r> in <record>: <r>.<length> == {function}(len(bytes(<r>.<body>)))
        where forall <r> in <record>: <r>.<check> == internet_checksum(<r>.<body>)
    """)
    for tree in spec.fuzz(5, seed=1, budget=1):
        again = spec.parse(bytes(tree))
        assert [bytes(each) for each in again.find_subtrees("<body>")] == [
            bytes(each) for each in tree.find_subtrees("<body>")
        ]
