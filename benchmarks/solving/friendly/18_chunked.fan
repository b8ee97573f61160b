<start> ::= <chunk>{1,4} b"0\r\n\r\n"
<chunk> ::= <size> b"\r\n" <data> b"\r\n"
<size>  ::= rb"[1-9a-f][0-9a-f]{0,3}"
<data>  ::= <octet>{1,50}
<octet> ::= rb"[\x00-\xff]"
where forall <c> in <chunk>: bytes(<c>.<size>) == b"%x" % len(bytes(<c>.<data>))
