"""A stock of goods: who has logged in can put and take them, and everybody can list them."""

import sys

stock: dict[str, int] = {}
is_known = False
for line in sys.stdin:
    command, _, what = line.strip().partition(" ")
    match command:
        case "LOGIN":
            is_known = True
            answer = "OK"
        case "LIST":
            answer = "".join(f"ROW {name} {count}\n" for name, count in sorted(stock.items()) if count) + "END"
        case "PUT" | "TAKE" if not is_known:
            answer = "DENIED"
        case "PUT":
            stock[what] = stock.get(what, 0) + 1
            answer = "OK"
        case "TAKE" if stock.get(what):
            stock[what] -= 1
            answer = "TAKEN"
        case "TAKE":
            answer = "NONE"
        case _:
            answer = "BYE"
    print(answer, flush=True)
