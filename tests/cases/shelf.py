"""A shelf: PUT adds three things, TAKE takes five if there are as many."""

import sys

things = 0
for line in sys.stdin:
    match line.strip():
        case "PUT":
            things += 3
            answer = "OK"
        case "TAKE" if things >= 5:
            things -= 5
            answer = "TAKEN"
        case "TAKE":
            answer = "EMPTY"
        case _:
            answer = "BYE"
    print(answer, flush=True)
