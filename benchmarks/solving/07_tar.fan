<start>  ::= <header> <data>
<header> ::= <name> <mode> b"\x00" <size> b"\x00" <sum> b"\x00 "
<name>   ::= rb"[a-z]{1,12}" b"\x00"
<mode>   ::= b"000644" | b"000755"
<size>   ::= rb"[0-7]{11}"
<sum>    ::= rb"[0-7]{6}"
<data>   ::= <octet>{0,40}
<octet>  ::= rb"[\x00-\xff]"
def header_sum(header):
    return sum(bytes(header)[:-8] + b" " * 8)
where int(str(<size>), 8) == len(bytes(<data>))
where int(str(<sum>), 8) == header_sum(<header>)
