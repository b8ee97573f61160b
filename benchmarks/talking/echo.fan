# A conversation of a thousand messages in which every answer repeats what was asked.

<start>    ::= <exchange>{500} <Client:quit> <Server:bye>
<exchange> ::= <Client:ask> <Server:answer>
<ask>      ::= "ASK " <word> "\n"
<answer>   ::= "SAY " <word> "\n"
<quit>     ::= "QUIT\n"
<bye>      ::= "BYE\n"
<word>     ::= r"[a-z]{1,8}"

where forall <e> in <exchange>: <e>.<ask>.<word> == <e>.<answer>.<word>
