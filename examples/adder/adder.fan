# [palaver]
# target = "python3 server.py {port}"
# sessions = 10

# A client asks for sums, until it has had enough.
<start>    ::= <exchange>{1,5} <goodbye>
<exchange> ::= <Client:request> <Server:answer>
<goodbye>  ::= <Client:quit> <Server:bye>

<request> ::= "add " <first> " " <second> "\n"
<answer>  ::= "is " <sum> "\n"
<quit>    ::= "quit\n"
<bye>     ::= "bye\n"
<first>   ::= r"0|[1-9][0-9]?"
<second>  ::= r"0|[1-9][0-9]?"
<sum>     ::= r"0|[1-9][0-9]*"

where forall <e> in <exchange>: int(<e>.<answer>.<sum>) == int(<e>.<request>.<first>) + int(<e>.<request>.<second>)
