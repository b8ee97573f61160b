import zlib
<start>   ::= <version> <payload> <crc>
<version> ::= b"\x01" | b"\x02"
<payload> ::= rb"[a-z]{1,4}"
<crc>     ::= <octet>{4}
<octet>   ::= rb"[\x00-\xff]"
where bytes(<crc>) == zlib.crc32(bytes(<payload>)).to_bytes(4, "big")
where bytes(<crc>) == b"\x00\x00\x00\x00"
where bytes(<version>) == b"\x02"
