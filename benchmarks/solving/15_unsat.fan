<start>  ::= <name> ":" <number> ":" <flag>
<name>   ::= r"[a-z]{1,8}"
<number> ::= r"[0-9]{1,3}"
<flag>   ::= "on" | "off"
where len(str(<name>)) > 2
where int(<number>) > 50
where int(<number>) < 40
where str(<flag>) == "on"
