"""How fast messages are read: against the reference implementation, against dnspython, and against code by hand.

`make bench-matching` prints one table. Times are CPU time with the garbage collector as it is by default, medians over
batches; whatever is compared is measured in turn, in the same run, each in a process of its own. Only the comparison
counts: a bar that is missed is shown as MISSED, and then the exit status is 1. Rows without a bar are for information.

What is measured, if nothing else is said, is the engine: a matcher is fed a whole message and asked for its first tree.
"lazy" serialises that tree and looks at nothing in it; "all nodes" makes every node and leaf, and "visited" goes to
each of them, too. The reference is asked by `grammar.parse`, which makes all nodes, visits none, and looks at no
constraints. Both read the same spec, and trees that differ in size are told.

REFERENCE_PYTHON names the Python of a reference that is installed already.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any, Self

from common import HERE, alternate, compile_bytecode, python_with, reference_python
from messages import dns_response, ehlo_reply, expression, json_document, listing

DNSPYTHON = "dnspython==2.9.2"
ROUNDS = 3
SIZES_KB = (1, 4, 16, 64, 256)
PIECES = 180
LINE = 66  # bytes in a line of a listing
CONVERSATION = (
    b"220 ready\r\nUSER anonymous\r\n331 password?\r\nPASS guest\r\n230 welcome\r\n"
    b"SYST\r\n215 UNIX Type: L8\r\nQUIT\r\n221 bye\r\n"
)


# --- rows ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """One line of the table. Without a value nothing was compared; without bars it need not be."""

    work: str
    ours: float | None = None
    theirs: float | None = None
    value: float | None = None
    kind: str = "faster"
    must: float | None = None
    aim: float | None = None

    @property
    def is_missed(self) -> bool:
        if self.must is None or self.value is None:
            return False
        return self.value < self.must if self.kind == "faster" else self.value > self.must

    @property
    def shown(self) -> str:
        compared = [_amount(value, self.kind) for value in (self.value, self.must, self.aim)]
        verdict = "  MISSED" if self.is_missed else ""
        return (_line(self.work, _time(self.ours), _time(self.theirs), *compared) + verdict).rstrip()


def _line(work: str, *cells: str) -> str:
    return f"{work:56}" + "".join(f"{cell:>11}" for cell in cells)


def _amount(value: float | None, kind: str) -> str:
    if value is None:
        return ""
    if kind == "time":
        return _time(value)
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:.{digits}f}" + ("" if kind == "exponent" else "x")


def _time(seconds: float | None) -> str:
    if seconds is None:
        return ""
    for unit, factor in (("s", 1.0), ("ms", 1e3)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.2f} {unit}"
    return f"{seconds * 1e6:.1f} us"


HEADER = _line("CPU time", "palaver", "other", "compared", "must", "aim")


def faster(work: str, ours: float, theirs: float | None, must: float | None = None, aim: float | None = None) -> Row:
    value = None if theirs is None else theirs / ours
    return Row(work, ours, theirs, value, "faster", must, aim)


def slower(work: str, ours: float, theirs: float, must: float | None = None, aim: float | None = None) -> Row:
    return Row(work, ours, theirs, ours / theirs, "slower", must, aim)


# --- processes -------------------------------------------------------------------------------------------------------


class NoAnswer(Exception):
    """A process has ended; it has told why on the standard error."""


class Worker:
    """A tool in a process of its own, ready to be asked again and again."""

    def __init__(self, python: str, tool: str, spec: str = "") -> None:
        self._name = f"{tool} with {spec}" if spec else tool
        command = [python, str(HERE / "matching_worker.py"), tool, str(HERE / spec)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def ask(self, action: str, messages: list[bytes], **more: Any) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        request = {"action": action, "messages": [message.decode("latin-1") for message in messages], **more}
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline() or "{}")
        if not answer:
            raise NoAnswer(self._name)
        return answer

    def seconds(self, job: str, messages: list[bytes], **more: Any) -> float:
        """CPU seconds per message."""
        return float(self.ask("measure", messages, job=job, **more)["seconds"])


def palaver(spec: str) -> Worker:
    return Worker(sys.executable, "palaver", spec)


# --- against the reference -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """Messages of one spec. `warm_up` is a short one, for the reference to prepare itself with."""

    spec: str
    messages: list[bytes]
    warm_up: bytes
    rounds: int = ROUNDS


@dataclass(frozen=True)
class Bench:
    """What the command line asked for."""

    has_reference: bool
    notes: list[str] = field(default_factory=list)

    def against_reference(self, case: Case, *jobs: str) -> tuple[list[float], float | None]:
        """The times of our jobs, and the reference's."""
        with ExitStack() as stack:
            ours = stack.enter_context(palaver(case.spec))
            measures = [partial(ours.seconds, job, case.messages) for job in jobs]
            if not self.has_reference:
                return alternate(case.rounds, *measures), None
            theirs = stack.enter_context(Worker(reference_python(), "reference", case.spec))
            self._compare_sizes(case, ours, theirs)
            ask = partial(theirs.seconds, "parse", case.messages, warm_up=case.warm_up.decode("latin-1"))
            *times, reference = alternate(case.rounds, *measures, ask)
            return times, reference

    def _compare_sizes(self, case: Case, ours: Worker, theirs: Worker) -> None:
        # The short message will do: how a spec's trees look does not depend on how long a message is.
        here, there = (worker.ask("count", [case.warm_up])["nodes"] for worker in (ours, theirs))
        if here != there:
            self.notes.append(f"{case.spec}: our tree of {case.warm_up!r} has {here} nodes, the reference's {there}")

    def read_dns(self) -> Iterator[Row]:
        messages = [dns_response(number) for number in range(3)]
        case = Case("dns_response.fan", messages, dns_response(99))
        (lazy, everything, visited, parse), theirs = self.against_reference(
            case, "lazy", "all_nodes", "visited", "parse"
        )
        yield faster("DNS response, 114 B, lazy", lazy, theirs, 3000, 15000)
        yield faster("DNS response, 114 B, all nodes", everything, theirs, 1000, 5000)
        yield faster("  visited", visited, theirs)
        yield faster("  through Spec.parse", parse, theirs)
        case = Case("dns_ambiguous.fan", messages, dns_response(99))
        (lazy, everything), theirs = self.against_reference(case, "lazy", "all_nodes")
        yield faster("  a zero byte is also an empty label, lazy", lazy, theirs)
        yield faster("  a zero byte is also an empty label, all nodes", everything, theirs)

    def read_ehlo(self) -> Iterator[Row]:
        case = Case("ehlo.fan", [ehlo_reply(number) for number in range(30)], ehlo_reply(99))
        (lazy, everything, parse), theirs = self.against_reference(case, "lazy", "all_nodes", "parse")
        yield faster("SMTP EHLO reply, 8 lines, lazy", lazy, theirs, 200, 600)
        yield faster("  all nodes", everything, theirs)
        yield faster("  through Spec.parse", parse, theirs)

    def read_listing(self) -> Iterator[Row]:
        case = Case("listing.fan", [listing(20, number) for number in range(3)], listing(1, 99))
        (lazy, everything, visited, parse), theirs = self.against_reference(
            case, "lazy", "all_nodes", "visited", "parse"
        )
        yield faster("FTP LIST, 20 lines, all nodes", everything, theirs, 100, 300)
        yield faster("  visited", visited, theirs)
        yield faster("  lazy", lazy, theirs)
        yield faster("  through Spec.parse", parse, theirs)

    def read_json(self) -> Iterator[Row]:
        # The reference needs seconds for one.
        case = Case("json.fan", [json_document(16 * 1024, 0)], json_document(1, 0), rounds=1)
        (lazy, everything, visited, parse), theirs = self.against_reference(
            case, "lazy", "all_nodes", "visited", "parse"
        )
        yield faster("JSON, 16 KB, by characters, all nodes", everything, theirs, 300, 1000)
        yield faster("  visited", visited, theirs)
        yield faster("  lazy", lazy, theirs)
        yield faster("  through Spec.parse", parse, theirs)

    def read_recursive(self) -> Iterator[Row]:
        for size, count in ((17, 10), (136, 3), (1088, 1)):
            messages = [expression(size, number) for number in range(count)]
            (ours,), theirs = self.against_reference(Case("expression.fan", messages, b"1"), "all_nodes")
            yield faster(f"left-recursive expression, {len(messages[0])} B, first tree", ours, theirs, 10, 40)
        for size in (8, 32, 64):
            (ours,), theirs = self.against_reference(Case("ambiguous.fan", [b"a" * size], b"a"), "all_nodes")
            yield faster(f"S ::= S S | 'a', {size} B, first tree", ours, theirs, 10, 40)

    # --- against others ----------------------------------------------------------------------------------------------

    def compare_with_dnspython(self) -> Iterator[Row]:
        messages = [dns_response(number) for number in range(10)]
        with palaver("dns_response.fan") as ours, Worker(python_with(DNSPYTHON), "dnspython") as theirs:
            lazy, everything, other = alternate(
                ROUNDS,
                partial(ours.seconds, "lazy", messages),
                partial(ours.seconds, "all_nodes", messages),
                partial(theirs.seconds, "from_wire", messages),
            )
        yield faster("DNS response against dnspython, lazy", lazy, other, 3, 8)
        yield faster("  all nodes", everything, other)

    def compare_with_loops(self) -> Iterator[Row]:
        replies = [ehlo_reply(number) for number in range(10)]
        yield from _by_hand("EHLO reply", "ehlo.fan", "reply", replies, ["<code>", "<text>"])
        listings = [listing(20, number) for number in range(10)]
        yield from _by_hand("LIST", "listing.fan", "listing", listings, ["<mode>", "<size>", "<date>", "<file>"])

    def grow(self) -> Iterator[Row]:
        for name, spec, message in _LARGE:
            messages = [message(size) for size in SIZES_KB]
            for job in ("lazy", "all_nodes"):
                with palaver(spec) as ours:
                    times = alternate(ROUNDS, *(partial(ours.seconds, job, [message]) for message in messages))
                exponent = _exponent([len(message) for message in messages], times)
                work = f"growth of {name}, 1 to 256 KB, {job.replace('_', ' ')}"
                yield Row(work, times[-1], None, exponent, "exponent", 1.15, 1.10)
                per_kb = (time / len(message) * 1024 for time, message in zip(times, messages, strict=True))
                yield Row("  per KB: " + ", ".join(f"{time * 1e6:.0f}" for time in per_kb) + " us")

    def read_fragments(self) -> Iterator[Row]:
        for name, spec, message in _LARGE:
            messages = [message(256)]
            for end, whole in (("to its end", True), ("stream", False)):
                one, many = ({"whole": whole, "pieces": pieces} for pieces in (1, PIECES))
                with palaver(spec) as ours:
                    at_once, in_pieces, known = alternate(
                        ROUNDS,
                        partial(ours.seconds, "lazy", messages, options=one),
                        partial(ours.seconds, "lazy", messages, options=many),
                        partial(ours.seconds, "lazy", messages),
                    )
                yield slower(f"{PIECES} fragments of {name}, 256 KB, {end}", in_pieces, at_once, 3, 1.5)
                if whole:
                    yield slower("  against a piece that is known to be all", in_pieces, known)

    def compile_spec(self) -> Iterator[Row]:
        for work, symbol, message in (
            ("the first message", "<greeting>", b"220 ready\r\n"),
            ("a first conversation", "<start>", CONVERSATION),
        ):
            [ours] = alternate(5, partial(_compiling, symbol, message))
            yield Row(f"compiling an FTP-sized spec, {work} read", ours, None, ours, "time", 0.3, 0.1)


def _by_hand(name: str, spec: str, job: str, messages: list[bytes], symbols: list[str]) -> Iterator[Row]:
    with palaver(spec) as ours, Worker(sys.executable, "by hand") as theirs:
        lazy, parts, everything, other = alternate(
            ROUNDS,
            partial(ours.seconds, "lazy", messages),
            partial(ours.seconds, "parts", messages, options={"symbols": symbols}),
            partial(ours.seconds, "all_nodes", messages),
            partial(theirs.seconds, job, messages),
        )
    yield slower(f"{name} against a loop with re, lazy", lazy, other, 3, 1.3)
    yield slower("  and the parts that the loop keeps", parts, other)
    yield slower("  all nodes", everything, other)


_LARGE: list[tuple[str, str, Callable[[int], bytes]]] = [
    ("JSON", "json.fan", cache(lambda kilobytes: json_document(kilobytes * 1024, 0))),
    ("lines", "listing.fan", cache(lambda kilobytes: listing(kilobytes * 1024 // LINE, 0))),
]


def _exponent(sizes: list[int], times: list[float]) -> float:
    """The slope of the straight line nearest to the times over the sizes, both as logarithms."""
    return statistics.linear_regression([math.log(size) for size in sizes], [math.log(time) for time in times]).slope


def _compiling(symbol: str, message: bytes) -> float:
    with palaver("ftp.fan") as ours:
        return float(ours.ask("compile", [message], symbol=symbol)["seconds"])


# In the order of the table, by the name that `--only` knows them by.
WORKS: dict[str, Callable[[Bench], Iterator[Row]]] = {
    "dns": Bench.read_dns,
    "ehlo": Bench.read_ehlo,
    "list": Bench.read_listing,
    "json": Bench.read_json,
    "general": Bench.read_recursive,
    "dnspython": Bench.compare_with_dnspython,
    "lines": Bench.compare_with_loops,
    "growth": Bench.grow,
    "fragments": Bench.read_fragments,
    "compile": Bench.compile_spec,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=WORKS, help="only this part of the table; may be repeated")
    parser.add_argument("--no-reference", action="store_true", help="do not ask the reference, which takes long")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows into this file, too")
    arguments = parser.parse_args()
    compile_bytecode()
    bench = Bench(has_reference=not arguments.no_reference)
    rows: list[Row] = []
    print(HEADER)
    for work in arguments.only or WORKS:
        try:
            for row in WORKS[work](bench):
                print(row.shown, flush=True)
                rows.append(row)
        except NoAnswer as error:
            bench.notes.append(f"FAILED: {error}")
    for note in bench.notes:
        print(note)
    if arguments.json:
        arguments.json.write_text(json.dumps([_as_data(row) for row in rows], indent=2) + "\n")
    return 1 if bench.notes or any(row.is_missed for row in rows) else 0


def _as_data(row: Row) -> Mapping[str, object]:
    return {**asdict(row), "missed": row.is_missed}


if __name__ == "__main__":
    sys.exit(main())
