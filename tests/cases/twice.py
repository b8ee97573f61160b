"""A program that answers twice."""

import sys

for _ in sys.stdin:
    print("yes\nyes", flush=True)
