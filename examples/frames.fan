# A binary frame format: bits, bytes, a length and a checksum. `palaver fuzz -f frames.fan --format grammar` shows the parts.

import zlib

<start>  ::= <frame>{1,3}
<frame>  ::= <mark> <flags> <size> <load> <check>
<mark>   ::= b"\xb5"
<flags>  ::= <urgent> <spare> <hops>
<urgent> ::= <bit>
<spare>  ::= 0{3}
<hops>   ::= <bit>{4}
<size>   ::= <byte>
<load>   ::= <byte>{1,12}
<check>  ::= <byte>{4}

def checksum(load):
    return zlib.crc32(bytes(load)).to_bytes(4, "big")

where forall <f> in <frame>: <f>.<size> == bytes([len(bytes(<f>.<load>))])
where forall <f> in <frame>: <f>.<check> == checksum(<f>.<load>)
where int(<hops>) > 0
