import zlib
<start>  ::= <word> "-" <number>
<word>   ::= r"[a-z]{3,10}"
<number> ::= r"[0-9]{4}"
where zlib.crc32(bytes(<start>)) % 256 == 0
