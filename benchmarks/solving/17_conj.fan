<start>  ::= <serial> "-" <word>
<serial> ::= r"[0-9]{6}"
<word>   ::= r"[a-z]{4,12}"
where int(<serial>) >= 250000
where int(<serial>) < 260000
where int(<serial>) % 97 == 13
where str(<word>).startswith("qu")
where str(<word>).endswith("x")
