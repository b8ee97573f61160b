# As many derivations as there are ways to set brackets. Both tools read this file.

<start> ::= <s>
<s>     ::= <s> <s> | "a"
