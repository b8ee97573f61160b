<start>  ::= <header> <row>{1,5}
<header> ::= <name> ("," <name>){1,4} "\n"
<row>    ::= <cell> ("," <cell>){0,6} "\n"
<name>   ::= r"[a-z]{1,6}"
<cell>   ::= r"[0-9]{0,4}"
where forall <r> in <row>: len(*<r>.<cell>) == len(*<header>.<name>)
