import struct
<start>   ::= <tag> <len> <payload>
<tag>     ::= b"\x01" | b"\x02"
<len>     ::= <octet>{2}
<payload> ::= <octet>{0,64}
<octet>   ::= rb"[\x00-\xff]"
where struct.unpack(">H", bytes(<len>))[0] == len(bytes(<payload>))
where struct.unpack(">H", bytes(<len>))[0] >= 10
where struct.unpack(">H", bytes(<len>))[0] <= 20
