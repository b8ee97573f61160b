"""Keeps what is put, and gives all of it back at the end."""

import sys

kept: list[str] = []
for line in sys.stdin:
    if line == "end\n":
        for each in kept:
            print("got", each)
        kept = []
        sys.stdout.flush()
    else:
        kept.append(line[4])
