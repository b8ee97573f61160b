# The DNS response as many people write it: a length is two zeros and six free bits, so a zero byte ends a name but is
# also an empty label, and where a name ends is known only from what follows. Both tools read this file.

<start>        ::= <header> <question>{int(<qd_count>)} <record>{int(<an_count>)} <record>{int(<ns_count>)} <record>{int(<ar_count>)}
<header>       ::= <id> <flags> <qd_count> <an_count> <ns_count> <ar_count>
<id>           ::= <bit>{16}
<flags>        ::= <qr> <opcode> <aa> <tc> <rd> <ra> <zero> <rcode>
<qr>           ::= 1
<opcode>       ::= <bit>{4}
<aa>           ::= <bit>
<tc>           ::= <bit>
<rd>           ::= <bit>
<ra>           ::= <bit>
<zero>         ::= 0 0 0
<rcode>        ::= <bit>{4}
<qd_count>     ::= <bit>{16}
<an_count>     ::= <bit>{16}
<ns_count>     ::= <bit>{16}
<ar_count>     ::= <bit>{16}
<question>     ::= <name> <qtype> <qclass>
<qtype>        ::= <bit>{16}
<qclass>       ::= <bit>{16}
<name>         ::= <label>* b"\x00"
<label>        ::= <label_length> <label_byte>{int(<label_length>)}
<label_length> ::= 0 0 <bit>{6}
<label_byte>   ::= rb"[\x00-\xff]"
<record>       ::= <name> (<a> | <cname> | <mx>)
<a>            ::= b"\x00\x01" <qclass> <ttl> <rd_length> <rd_byte>{int(<rd_length>)}
<cname>        ::= b"\x00\x05" <qclass> <ttl> <rd_length> <name>
<mx>           ::= b"\x00\x0f" <qclass> <ttl> <rd_length> <preference> <name>
<ttl>          ::= <bit>{32}
<rd_length>    ::= <bit>{16}
<preference>   ::= <bit>{16}
<rd_byte>      ::= rb"[\x00-\xff]"
