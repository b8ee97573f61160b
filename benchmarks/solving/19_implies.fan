<start> ::= <entry> ("," <entry>){1,5}
<entry> ::= <kind> ":" <size>
<kind>  ::= "file" | "folder" | "link"
<size>  ::= r"[0-9]{1,4}"
where forall <e> in <entry>: str(<e>.<kind>) != "folder" or int(<e>.<size>) % 512 == 0
where forall <e> in <entry>: str(<e>.<kind>) != "link" or int(<e>.<size>) < 8
where exists <e> in <entry>: str(<e>.<kind>) == "file" and int(<e>.<size>) > 9000
