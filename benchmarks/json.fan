# JSON, character by character: every character is a nonterminal of its own. Both tools read this file.

<start>       ::= <element>
<element>     ::= <space> <value> <space>
<value>       ::= <object> | <array> | <string> | <number> | "true" | "false" | "null"
<object>      ::= "{" <space> "}" | "{" <member> ("," <member>)* "}"
<member>      ::= <space> <string> <space> ":" <element>
<array>       ::= "[" <space> "]" | "[" <element> ("," <element>)* "]"
<string>      ::= "\"" <character>* "\""
<character>   ::= <plain> | <escaped>
<plain>       ::= r'[^"\\\x00-\x1f]'
<escaped>     ::= "\\" <escape>
<escape>      ::= r'["\\/bfnrt]' | "u" <hexadecimal>{4}
<hexadecimal> ::= r"[0-9a-fA-F]"
<number>      ::= <integer> <fraction>? <exponent>?
<integer>     ::= <minus>? (<zero> | <leading> <figure>*)
<minus>       ::= "-"
<zero>        ::= "0"
<leading>     ::= r"[1-9]"
<figure>      ::= r"[0-9]"
<fraction>    ::= "." <figure>+
<exponent>    ::= ("e" | "E") <sign>? <figure>+
<sign>        ::= "+" | "-"
<space>       ::= <blank>*
<blank>       ::= " " | "\t" | "\r" | "\n"
