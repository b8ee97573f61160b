import struct
<start>   ::= <tag> <len> <payload>
<tag>     ::= b"\x01" | b"\x02"
<len>     ::= <octet>{2}
<payload> ::= <octet>{0,64}
<octet>   ::= rb"[\x00-\xff]"
where bytes(<len>) == struct.pack(">H", len(bytes(<payload>)))
where len(bytes(<payload>)) >= 10
where len(bytes(<payload>)) <= 20
