<start> ::= <item> ("+" <item>){2,5} "=" <total> <mark>
<item>  ::= r"[5-9][0-9]"
<total> ::= r"[0-9]{1,2}"
<mark>  ::= "!" | "?"
where sum(int(i) for i in *<item>) == int(<total>)
where str(<mark>) == "!"
