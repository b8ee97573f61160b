# The smallest protocol: whatever is sent comes back. `palaver talk -f echo.fan -v cat` runs it with a program.
#
# In and Out are the standard input and output of the program, as it sees them: palaver sends <ask>, the program <answer>.

<start>    ::= <exchange>{3}
<exchange> ::= <In:ask> <Out:answer>
<ask>      ::= <word> "\n"
<answer>   ::= <word> "\n"
<word>     ::= r"[a-z]{1,8}"

where forall <e> in <exchange>: <e>.<ask>.<word> == <e>.<answer>.<word>
