"""A lamp that glows no brighter than 7, whatever it is told."""

import sys

for line in sys.stdin:
    word, _, level = line.strip().partition(" ")
    print("DARK" if word == "OFF" else f"GLOW {min(int(level), 7)}", flush=True)
