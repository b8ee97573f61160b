# Sums and products, written with left recursion. Both tools read this file.

<start>   ::= <sum>
<sum>     ::= <sum> "+" <product> | <sum> "-" <product> | <product>
<product> ::= <product> "*" <factor> | <product> "/" <factor> | <factor>
<factor>  ::= <figure>+ | "(" <sum> ")"
<figure>  ::= r"[0-9]"
