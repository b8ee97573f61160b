# A tiny ledger protocol, to try things out: palaver fuzz -f ledger.fan
#
# Every line books an amount to an account. The last line closes the book: it tells how many lines there were, and their
# sum. `where` says what a grammar alone cannot.

<start>   ::= <booking>{1,5} <closing>
<booking> ::= "BOOK " <account> " " <amount> "\n"
<account> ::= "cash" | "bank" | "card"
<amount>  ::= r"[1-9][0-9]{0,2}"
<closing> ::= "CLOSE " <count> " " <total> "\n"
<count>   ::= r"[0-9]+"
<total>   ::= r"[0-9]+"

where int(<count>) == len(*<booking>)
where int(<total>) == sum(int(amount) for amount in *<amount>)
