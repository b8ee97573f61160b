"""Says yes if asked for the number that was subscribed to, and nothing otherwise."""

import sys

wanted = ""
for line in sys.stdin:
    word, number = line.split()
    if word == "sub":
        wanted = number
    elif number == wanted:
        print("yes", flush=True)
