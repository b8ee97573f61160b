"""A program that answers twice, the second time a while later."""

import sys
import time

for _ in sys.stdin:
    print("yes", flush=True)
    time.sleep(0.3)
    print("yes", flush=True)
