import zlib
<start>   ::= <magic> <size> <payload> <crc>
<magic>   ::= b"\xca\xfe"
<size>    ::= <octet>{2}
<payload> ::= <octet>{1,16}
<crc>     ::= <octet>{4}
<octet>   ::= rb"[\x00-\xff]"
def crc(data):
    return zlib.crc32(data).to_bytes(4, "big")
where bytes(<size>) == len(bytes(<payload>)).to_bytes(2, "big")
where bytes(<crc>) == crc(bytes(<size>) + bytes(<payload>))
