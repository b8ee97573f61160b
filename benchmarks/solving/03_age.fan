<start> ::= <name> "," <age>
<name>  ::= r"[A-Z][a-z]{2,9}"
<age>   ::= r"[0-9]{1,3}"
where int(<age>) >= 25
where int(<age>) < 50
