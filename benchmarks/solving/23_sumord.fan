<start> ::= <low> "," <low> "," <low> ";" <high> "," <high> "," <high>
<low>   ::= r"[1-9][0-9]{0,2}"
<high>  ::= r"[1-9][0-9]{0,2}"
where 2 * sum(int(n) for n in *<low>) == sum(int(n) for n in *<high>) + 7
where max(int(n) for n in *<low>) < min(int(n) for n in *<high>)
