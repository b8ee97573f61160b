# Numbers, lengths, checksums and addresses of binary formats, for other specs: include('binary.fan').
#
# A function gives the bytes of a value, so that a constraint can say what a field is:
#
#     include('binary.fan')
#     <start>  ::= <record>+
#     <record> ::= <length> <body> <check>
#     <length> ::= <u16>
#     <body>   ::= <byte>{1,20}
#     <check>  ::= <u32>
#     where forall <r> in <record>: <r>.<length> == u16(len(bytes(<r>.<body>)))
#     where forall <r> in <record>: <r>.<check> == crc32(<r>.<body>)
#
# Such a field is computed when inputs are made; when they are read, its length divides them. With `value` in place of
# the function, as in `u16.value(<r>.<length>) < 10`, conditions see the number that a field holds.

import base64
import zlib


# --- Numbers ------------------------------------------------------------------------------------------------------------

# Unsigned and signed ones are as many bytes; the function tells them apart, and little endian ones, too.
<u8>            ::= rb"(?s:.)"
<u16>           ::= rb"(?s:.{2})"
<u24>           ::= rb"(?s:.{3})"
<u32>           ::= rb"(?s:.{4})"
<u64>           ::= rb"(?s:.{8})"

# Seven bits a byte, the lowest first, and another byte follows if the highest bit is set: MQTT (up to four bytes) and
# protobuf. In QUIC the first two bits tell how many bytes there are.
<varint>        ::= rb"[\x80-\xff]{0,9}[\x00-\x7f]"
<quic_varint>   ::= rb"(?s:[\x00-\x3f]|[\x40-\x7f].|[\x80-\xbf].{3}|[\xc0-\xff].{7})"

def fixed(size, order, signed):
    """The function for numbers of that size, and its inverse."""
    def encode(number):
        return int(number).to_bytes(size, order, signed=signed)

    def decode(data):
        return int.from_bytes(bytes(data), order, signed=signed)

    encode.value = decode
    return encode

u8, i8 = fixed(1, "big", False), fixed(1, "big", True)
u16, i16 = fixed(2, "big", False), fixed(2, "big", True)
u24, i24 = fixed(3, "big", False), fixed(3, "big", True)
u32, i32 = fixed(4, "big", False), fixed(4, "big", True)
u64, i64 = fixed(8, "big", False), fixed(8, "big", True)
u16_le, i16_le = fixed(2, "little", False), fixed(2, "little", True)
u24_le, i24_le = fixed(3, "little", False), fixed(3, "little", True)
u32_le, i32_le = fixed(4, "little", False), fixed(4, "little", True)
u64_le, i64_le = fixed(8, "little", False), fixed(8, "little", True)

def varint(number):
    data = b""
    while number > 127:
        data = data + bytes([number % 128 + 128])
        number = number // 128
    return data + bytes([number])

def varint_value(data):
    return sum((byte & 127) << 7 * place for place, byte in enumerate(bytes(data)))

varint.value = varint_value

def quic_varint(number):
    for power in range(4):
        if number < 1 << (8 * 2 ** power - 2):
            return (number | power << (8 * 2 ** power - 2)).to_bytes(2 ** power, "big")
    raise ValueError("no QUIC number has more than 62 bits")

def quic_varint_value(data):
    data = bytes(data)
    return int.from_bytes(data, "big") & ((1 << (8 * len(data) - 2)) - 1)

quic_varint.value = quic_varint_value


# --- Checksums ----------------------------------------------------------------------------------------------------------

def crc(data, width, polynomial, initial, is_reflected, final):
    """A cyclic redundancy check, bit by bit, with the parameters of Williams' model."""
    mask, register = (1 << width) - 1, initial
    for byte in bytes(data):
        byte = reflected(byte, 8) if is_reflected else byte
        register = register ^ byte << (width - 8)
        for _ in range(8):
            register = (register << 1 ^ polynomial if register >> (width - 1) else register << 1) & mask
    return ((reflected(register, width) if is_reflected else register) ^ final)

def reflected(number, width):
    return int(format(number, "0%db" % width)[::-1], 2)

def crc8(data):
    """That of SMBus and ATM."""
    return u8(crc(data, 8, 0x07, 0, False, 0))

def crc16(data):
    """That of the CCITT: X.25, HDLC and Bluetooth begin so (CRC-16/IBM-3740)."""
    return u16(crc(data, 16, 0x1021, 0xFFFF, False, 0))

def crc16_modbus(data):
    """That of Modbus RTU, whose low byte comes first."""
    return u16_le(crc(data, 16, 0x8005, 0xFFFF, True, 0))

def crc32(data):
    """That of Ethernet, ZIP and PNG."""
    return u32(zlib.crc32(bytes(data)))

def adler32(data):
    return u32(zlib.adler32(bytes(data)))

def internet_checksum(data):
    """That of IP, TCP and UDP (RFC 1071)."""
    data = bytes(data) + b"\x00" * (len(bytes(data)) % 2)
    total = sum(data[0::2]) * 256 + sum(data[1::2])
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return u16(total ^ 0xFFFF)

def xor(data, key):
    """The data under a key that is repeated, as in WebSocket; a key of one byte over all of them."""
    data, key = bytes(data), bytes(key)
    return bytes(byte ^ key[place % len(key)] for place, byte in enumerate(data))

def xor_sum(data):
    """All bytes, one over the other (NMEA, and many serial lines)."""
    total = 0
    for byte in bytes(data):
        total = total ^ byte
    return u8(total)


# --- Text and addresses -------------------------------------------------------------------------------------------------

<base64>        ::= r"([A-Za-z0-9+/]{4})*([A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?"
<hex>           ::= r"([0-9a-f]{2})*"
<ipv4>          ::= <u8>{4}
<ipv6>          ::= <u16>{8}
<mac>           ::= <u8>{6}

def as_base64(data):
    return base64.b64encode(bytes(data))

def as_hex(data):
    return bytes(data).hex()


# --- All of them, if nobody includes this file ----------------------------------------------------------------------------

<start>         ::= <sample>+
<sample>        ::= <u8> | <u16> | <u24> | <u32> | <u64> | <varint> | <quic_varint> | <base64> | <hex> | <ipv4> | <ipv6> | <mac>
