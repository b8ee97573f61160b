"""The reference implementation in guided conversations with a server; requests and answers are lines of JSON.

Its command has one conversation only, so its API is asked for conversations until it ends by itself, which it does when
it has covered all. It runs under the Python of the reference, so it imports nothing else.
"""

import json
import logging
import os
import sys
import threading
import time
from contextlib import redirect_stdout
from pathlib import Path

from fandango import Fandango
from fandango.language.grammar import FuzzingMode


def talk(spec, more, seed, seconds, most_messages=float("inf")):
    """Talk until all is covered or a limit is reached; what that took once the spec was loaded, and the trees."""
    # If it hangs, whoever asks learns that there is no answer.
    threading.Timer(2 * seconds, os._exit, [1]).start()
    fandango = Fandango([Path(spec).read_text(), more], logging_level=logging.ERROR)
    cpu, wall = time.process_time(), time.perf_counter()
    fandango.init_population(mode=FuzzingMode.IO, random_seed=seed)
    trees = []
    messages = 0
    for tree in fandango.generate_solutions(mode=FuzzingMode.IO):
        trees.append(tree)
        messages += len(list(tree.protocol_msgs()))
        if time.perf_counter() - wall > seconds or messages >= most_messages:
            break
    whole = time.process_time()
    return {
        "cpu": whole - cpu,
        "whole_cpu": whole,
        "wall": time.perf_counter() - wall,
        "sessions": len(trees),
        "messages": messages,
        "trees": [flat(tree) for tree in trees],
    }


def flat(tree):
    """The parts of a tree from the top to the bottom: how deep each stands, what it is, and whether it is a symbol."""
    parts = []
    todo = [(0, tree)]
    while todo:
        depth, part = todo.pop()
        parts.append((depth, str(part) if part.symbol.is_terminal else part.symbol.name(), not part.symbol.is_terminal))
        todo.extend((depth + 1, child) for child in reversed(part.children))
    return parts


def count(specs, k):
    """How many k-paths each spec has; none of those that cannot be read."""
    counts = {}
    for spec in specs:
        try:
            grammar = Fandango(Path(spec).read_text(), logging_level=logging.ERROR).grammar
        except Exception:  # whatever it objects to
            continue
        counts[spec] = len(grammar.generate_all_k_paths(k=k))
    return {"counts": counts}


def main():
    actions = {"talk": talk, "count": count}
    for line in sys.stdin:
        request = json.loads(line)
        with redirect_stdout(sys.stderr):
            answer = actions[request.pop("action")](**request)
        print(json.dumps(answer), flush=True)
    os._exit(0)  # its threads do not end by themselves


main()
