<start> ::= "abc"
