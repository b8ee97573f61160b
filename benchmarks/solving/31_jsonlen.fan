<start>  ::= <len> ":" <document>
<len>    ::= r"[1-9][0-9]{0,2}"
<document> ::= <value>
<value>  ::= <number> | <string> | <array> | <object>
<number> ::= r"-?[1-9][0-9]{0,4}"
<string> ::= "\"" r"[a-z ]{0,8}" "\""
<array>  ::= "[" (<value> ("," <value>){0,3})? "]"
<object> ::= "{" (<member> ("," <member>){0,3})? "}"
<member> ::= <string> ":" <value>
where int(<len>) == len(str(<document>))
where int(<len>) >= 40
where int(<len>) <= 80
