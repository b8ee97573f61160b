"""One measured job, in a process of its own: `worker.py TOOL JOB SPEC COUNT` prints CPU seconds per item as JSON.

It runs under the Python of either tool, so it imports nothing but the tool it measures.
"""

import json
import pathlib
import statistics
import sys
import time


def load_palaver(path):
    import palaver

    return lambda: palaver.load(path)


def load_reference(path):
    import logging

    from fandango import Fandango

    text = pathlib.Path(path).read_text()
    return lambda: Fandango(text, logging_level=logging.CRITICAL)


def measure_load(load, count):
    load()
    times = []
    for _ in range(count):
        began = time.process_time()
        load()
        times.append(time.process_time() - began)
    return {"per_item": statistics.median(times)}


def measure_fuzz(tool, spec, count):
    """Messages are made and serialised; loading is not counted."""
    began = time.process_time()
    trees = spec.fuzz(count, seed=1) if tool == "palaver" else spec.fuzz(desired_solutions=count, random_seed=1)
    made, size = 0, 0
    for tree in trees:
        size += len(bytes(tree))
        made += 1
    return {"per_item": (time.process_time() - began) / made, "made": made, "bytes": size / made}


def main():
    tool, job, path, count = sys.argv[1:]
    load = load_palaver(path) if tool == "palaver" else load_reference(path)
    result = measure_load(load, int(count)) if job == "load" else measure_fuzz(tool, load(), int(count))
    print(json.dumps(result))


main()
