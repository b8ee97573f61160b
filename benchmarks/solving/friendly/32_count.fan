<start> ::= <qd> <an> <q>{0,4} <rr>{0,4}
<qd>    ::= <octet>{2}
<an>    ::= <octet>{2}
<q>     ::= b"Q" <label> b"\x00"
<rr>    ::= b"R" <label> <ttl> b"\x00"
<label> ::= <llen> <text>
<llen>  ::= <octet>
<text>  ::= rb"[a-z]{1,12}"
<ttl>   ::= <octet>{4}
<octet> ::= rb"[\x00-\xff]"
where bytes(<qd>) == len(*<q>).to_bytes(2, "big")
where bytes(<an>) == len(*<rr>).to_bytes(2, "big")
where forall <l> in <label>: bytes(<l>.<llen>) == bytes([len(bytes(<l>.<text>))])
where bytes(<ttl>) <= (86400).to_bytes(4, "big")
