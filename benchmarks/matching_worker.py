"""Reads messages with one tool, in a process of its own, and measures it.

`matching_worker.py TOOL SPEC` takes requests, one JSON object per line, and answers each with a line: CPU seconds per
message. It runs under the Python of any of the tools, so it imports nothing but the one it measures.
"""

import json
import pathlib
import re
import statistics
import sys
import time
from functools import cached_property

# A batch takes at least this long, because clocks are coarse; batches go on for about so long, because one is chance.
SHORTEST_BATCH = 0.02
TIME_FOR_BATCHES = 1.0
MOST_BATCHES = 9


class Palaver:
    """The engine is asked directly, but for the job `parse`."""

    def __init__(self, path):
        import palaver
        from palaver.trees.node import Node

        self.path, self.load, self.tree, self.node = path, palaver.load, palaver.Tree, Node

    @cached_property
    def spec(self):
        return self.load(self.path)

    def measure(self, request):
        assert self.spec  # loaded now, not while a batch is timed
        job = getattr(self, request["job"])(**request.get("options", {}))
        return {"seconds": repeatedly(job, messages_of(request))}

    def count(self, request):
        """How many nodes and leaves the tree of a message has."""
        [message] = messages_of(request)
        node = self.read(message)
        assert self.serialise(node) == message, "what was read is not what was fed"
        assert not self.is_lazy(self.read(message, lazy=False)), "some nodes have not been made"
        return {"nodes": self.visit(node)}

    def is_lazy(self, node):
        """Whether some node below has not been made."""
        from palaver.trees.lazy import unexpanded_data

        waiting = [node]
        while waiting:
            node = waiting.pop()
            if unexpanded_data(node) is not None:
                return True
            waiting += [child for child in node.children if isinstance(child, self.node)]
        return False

    def compile(self, request):
        """The time from a spec's text to the first message that was read; only the first such request tells."""
        [message] = messages_of(request)
        began = time.process_time()
        self.read(message, symbol=request["symbol"])
        return {"seconds": time.process_time() - began}

    def read(self, message, *, symbol=None, whole=True, pieces=None, lazy=True):
        """Without `pieces`, the message is known to be all there."""
        matcher = self.spec.matcher(symbol, whole=whole, lazy=lazy)
        if pieces is None:
            matcher.finish(message)
        else:
            size = -(-len(message) // pieces)
            for start in range(0, len(message), size):
                matcher.feed(message[start : start + size])
            matcher.finish()
        for node in matcher.trees():
            return node
        raise ValueError(f"{self.path} does not match {message[:200]!r}")

    def serialise(self, node):
        return bytes(self.tree(node))

    def visit(self, node):
        """Look at every node and every leaf."""
        kind, seen, waiting = self.node, 1, [node]
        while waiting:
            children = waiting.pop().children
            seen += len(children)
            waiting += [child for child in children if isinstance(child, kind)]
        return seen

    # --- jobs --------------------------------------------------------------------------------------------------------

    def lazy(self, **how):
        return lambda message: self.serialise(self.read(message, **how))

    def all_nodes(self):
        return lambda message: self.read(message, lazy=False)

    def visited(self):
        return lambda message: self.visit(self.read(message, lazy=False))

    def parse(self):
        """Through the front door: constraints and sources are asked for, even if the spec has none."""
        return lambda message: bytes(self.spec.parse(message))

    def parts(self, symbols):
        """Only some parts of the message are looked at."""

        def job(message):
            found, waiting = [], [self.read(message)]
            while waiting:
                node = waiting.pop()
                if node.symbol in symbols:
                    found.append(self.serialise(node))
                else:
                    waiting += [child for child in node.children if isinstance(child, self.node)]
            return found

        return job


class Reference:
    """Its grammar alone is asked, not its constraints.

    It remembers what it has parsed; so each request gets a new grammar, which has read a short message before, and
    parses each message once.
    """

    def __init__(self, path):
        self.text = pathlib.Path(path).read_text()

    def grammar(self):
        import logging

        from fandango import Fandango

        return Fandango(self.text, logging_level=logging.CRITICAL).grammar

    def measure(self, request):
        messages = messages_of(request)
        assert len(set(messages)) == len(messages)
        grammar = self.grammar()
        assert grammar.parse(request["warm_up"].encode("latin-1")) is not None
        began = time.process_time()
        for message in messages:
            grammar.parse(message)
        return {"seconds": (time.process_time() - began) / len(messages)}

    def count(self, request):
        [message] = messages_of(request)
        tree = self.grammar().parse(message)
        assert bytes(tree) == message, "what was read is not what was fed"
        return {"nodes": tree.size()}


class Dnspython:
    def __init__(self, path):
        import dns.message

        self.from_wire = dns.message.from_wire

    def measure(self, request):
        return {"seconds": repeatedly(self.from_wire, messages_of(request))}


# The lines of each kind of message, taken apart.
LINES = {
    "reply": re.compile(rb"([2-5][0-5][0-9])([- ])([^\r\n]*)\r\n"),
    "listing": re.compile(
        rb"([-dl](?:[-r][-w][-xst]){3}) +([0-9]+) +([a-z][a-z0-9]*) +([a-z][a-z0-9]*) +([0-9]+)"
        rb" ((?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ 0-3][0-9] (?:[0-2][0-9]:[0-5][0-9]| [0-9]{4}))"
        rb" ([^\r\n]+)\r\n"
    ),
}


class ByHand:
    """What one would write without any tool: a loop that keeps the parts of each line."""

    def __init__(self, path):
        pass

    def measure(self, request):
        line = LINES[request["job"]]

        def read(message):
            parts, position = [], 0
            while position < len(message):
                found = line.match(message, position)
                if found is None:
                    raise ValueError(f"no such line at {position}")
                parts.append(found.groups())
                position = found.end()
            return parts

        return {"seconds": repeatedly(read, messages_of(request))}


TOOLS = {"palaver": Palaver, "reference": Reference, "dnspython": Dnspython, "by hand": ByHand}


def messages_of(request):
    return [message.encode("latin-1") for message in request["messages"]]


def repeatedly(job, messages):
    """The median, over batches, of the time a message takes."""
    once = timed(job, messages, 1)
    if once >= TIME_FOR_BATCHES:  # it need not be warmed up
        return once / len(messages)
    repetitions = max(1, round(SHORTEST_BATCH / once))
    batches = max(1, min(MOST_BATCHES, int(TIME_FOR_BATCHES / (once * repetitions))))
    return statistics.median(timed(job, messages, repetitions) for _ in range(batches)) / len(messages)


def timed(job, messages, repetitions):
    began = time.process_time()
    for _ in range(repetitions):
        for message in messages:
            job(message)
    return (time.process_time() - began) / repetitions


def main():
    tool = TOOLS[sys.argv[1]](sys.argv[2])
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps(getattr(tool, request["action"])(request)), flush=True)


main()
