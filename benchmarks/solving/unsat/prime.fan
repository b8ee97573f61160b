<start>  ::= <name> "=" <number> ";" <unit>
<name>   ::= r"[a-z]{1,8}"
<number> ::= r"[1-9][0-9]{0,4}"
<unit>   ::= "m" | "s" | "kg"
def is_prime(n):
    return n > 1 and all(n % k for k in range(2, int(n ** 0.5) + 1))
where len(str(<name>)) >= 3
where is_prime(int(<number>))
where int(<number>) % 4 == 0
where int(<number>) > 100
where str(<unit>) != "kg"
