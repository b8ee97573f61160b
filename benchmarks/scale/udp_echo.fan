# Datagrams that come back as they are.

<start>    ::= <exchange>{1,20}
<exchange> ::= <Client:ask> <Server:answer>
<ask>      ::= <word>
<answer>   ::= <word>
<word>     ::= r"[a-z]{1,32}"

where forall <e> in <exchange>: str(<e>.<ask>) == str(<e>.<answer>)
