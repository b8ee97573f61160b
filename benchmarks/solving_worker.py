"""Solves one spec with one tool, in a process of its own: `solving_worker.py TOOL SPEC COUNT SEED CAP`.

Each solution is a line of JSON, written as soon as it is found, with the CPU seconds spent so far; the last line tells
how it ended. Without one, the process was stopped: after CAP CPU seconds by itself, or by whoever started it.
Importing the tool is not counted. Loading the spec, with all that is compiled and planned before the first tree is
made, is told apart as `load`. It runs under the Python of either tool, and imports nothing but the one it measures.
"""

import json
import os
import pathlib
import sys
import threading
import time

LOOKS_PER_SECOND = 2
STOPPED = 3  # the exit status of a process that has spent all it may


class Teller:
    """Tells what was found, and keeps the time that telling takes out of the times it tells."""

    def __init__(self):
        self.began = time.process_time()

    def tell(self, **what):
        now = time.process_time()
        print(json.dumps({"seconds": now - self.began, **what}), flush=True)
        self.began += time.process_time() - now

    def found(self, tree, _number=0):
        self.tell(output=bytes(tree).decode("latin-1"))


def palaver(path, count, seed):
    from palaver.compiled import load
    from palaver.errors import Unsolvable

    began = time.process_time()
    trees = load(path).fuzz(count, seed=seed)  # makes nothing yet, but plans and compiles everything
    loaded = time.process_time() - began

    def solve(teller):
        try:
            for tree in trees:
                teller.found(tree)
        except Unsolvable as error:
            return {"end": str(error), "is_refused": True}
        return {"end": trees.shortfall or ""}

    return solve, loaded


def reference(path, count, seed):
    import logging

    from fandango import Fandango

    began = time.process_time()
    spec = Fandango(pathlib.Path(path).read_text(), logging_level=logging.CRITICAL)
    loaded = time.process_time() - began

    def solve(teller):
        spec.fuzz(desired_solutions=count, random_seed=seed, solution_callback=teller.found)
        return {"end": ""}

    return solve, loaded


TOOLS = {"palaver": palaver, "reference": reference}


def stop_after(seconds):
    """End this process once it has spent so many more CPU seconds.

    A limit set with the system, or a timer of its, would do that too, but then Linux counts CPU time in ticks of
    milliseconds, in which many solutions are found.
    """
    end = time.process_time() + seconds

    def watch():
        while time.process_time() < end:
            time.sleep(1 / LOOKS_PER_SECOND)
        os._exit(STOPPED)

    threading.Thread(target=watch, daemon=True).start()


def main():
    tool, path, count, seed, cap = sys.argv[1:]
    solve, loaded = TOOLS[tool](path, int(count), int(seed))
    print(json.dumps({"load": loaded}), flush=True)
    stop_after(float(cap))
    teller = Teller()
    teller.tell(**solve(teller))


main()
