# A DNS-like query with a bit-level header. Both tools read this file.

<start>    ::= <header> <question>{1,2}
<header>   ::= <id> <flags> <qd> <an> <ns> <ar>
<id>       ::= <bit>{16}
<flags>    ::= <qr> <opcode> <aa> <tc> <rd> <ra> <zero> <rcode>
<qr>       ::= <bit>
<opcode>   ::= <bit>{4}
<aa>       ::= <bit>
<tc>       ::= <bit>
<rd>       ::= <bit>
<ra>       ::= <bit>
<zero>     ::= 0 0 0
<rcode>    ::= <bit>{4}
<qd>       ::= <bit>{16}
<an>       ::= <bit>{16}
<ns>       ::= <bit>{16}
<ar>       ::= <bit>{16}
<question> ::= <name> <qtype> <qclass>
<name>     ::= <label>{1,4} b"\x00"
<label>    ::= <len> <chars>
<len>      ::= rb"[\x01-\x3f]"
<chars>    ::= rb"[a-z0-9]{1,20}"
<qtype>    ::= b"\x00\x01" | b"\x00\x1c" | b"\x00\x0f" | b"\x00\x10"
<qclass>   ::= b"\x00\x01"
