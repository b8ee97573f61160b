<start>   ::= <words> <flags> <options>
<words>   ::= (0 | 1){4}
<flags>   ::= (0 | 1){4}
<options> ::= <octet>{1,60}
<octet>   ::= rb"[\x00-\xff]"
where int(<words>) * 4 == len(bytes(<options>))
