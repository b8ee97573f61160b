"""Proofs that messages are wrong, at length: none that the grammar accepts may be called wrong.

`make nightly-proofs` lets messages of bundled specs be changed, of every kind, where conversations that were drawn at
random have come to. What is proved to be no message there is read again by the reference matcher, as each message that
may be said there. Where there is a public library for the protocol and it is installed, it is asked as well: it may
read more than the spec has, and such a message must not be judged. (The email package reads headers, in which blanks
and comments are allowed where they are not in an envelope, so it is no judge of SMTP.)
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections import Counter
from collections.abc import Callable, Iterator

from palaver.beyond.extremes import FieldExtremes
from palaver.beyond.membership import Membership, Place, prove
from palaver.beyond.mutants import MAKERS, Mutant, MutantMaker, WrongnessKind, spans_of
from palaver.beyond.refusal_rules import RefusalRules, common_end, data_of
from palaver.compiled import Spec, load
from palaver.compiled.bundled import spec_files
from palaver.errors import Undecided
from palaver.matching.forecaster import Forecast, MessageType
from palaver.random_source import RandomSource
from palaver.session.closing import closing_symbols
from palaver.trees.node import Node, NonTerminal

SPECS = ("smtp", "ftp", "pop3", "imap", "redis", "http", "tftp", "coap", "ntp", "dns")
DATAGRAMS = ("tftp", "coap", "ntp", "dns")
CONVERSATIONS = 30  # of each spec, that lead to the places between which messages are changed in turn
STEPS = 20  # of a conversation, at most
LONGEST = 4096  # bytes of a message that is tried; longer ones take seconds to read by the reference matcher
TRIED_FOR_EACH = 20  # messages that are tried for each one that is wanted; of some specs few are called wrong


def places(spec: Spec, rules: RefusalRules, chance: RandomSource) -> Iterator[tuple[MessageType, ...]]:
    """The messages of the client that may be said, at random moments of random conversations."""
    for number in range(CONVERSATIONS):
        forecast, own = spec.forecaster().begin(), chance / number
        for step in range(own.below(STEPS) if number else 0):
            moves = sorted(said_moves(spec, forecast), key=lambda move: (move.sender, move.symbol))
            move = (own / step).pick(moves) if moves else None
            if move is None:
                break
            forecast = forecast.after(move, Node(NonTerminal(move.symbol), ()))
        ours = tuple(move for move in said_moves(spec, forecast) if move.sender == "Client")
        if ours and len(ours) == len(said_moves(spec, forecast)) and all(rules.samples(move.symbol) for move in ours):
            yield ours


def said_moves(spec: Spec, forecast: Forecast) -> list[MessageType]:
    """What may be said next; messages that stand for the end of a connection are not said."""
    closing = closing_symbols(spec.analysis)
    return [move for move in forecast.moves if move.symbol not in closing]


def mutants(spec: Spec, moves: tuple[MessageType, ...], rules: RefusalRules, chance: RandomSource) -> Iterator[Mutant]:
    """Messages that are changed, without an end: of those that may be said here, and of those that may not."""
    makers: dict[WrongnessKind, MutantMaker] = {**MAKERS, WrongnessKind.EXTREME: FieldExtremes(spec).outside}
    others = [move for move in spec.forecaster().messages if move.sender == "Client" and rules.samples(move.symbol)]
    turn = 0
    while True:
        turn += 1
        own = chance / turn
        kind = own.pick([*makers, WrongnessKind.STATE])
        if kind is WrongnessKind.STATE:
            yield Mutant(own.pick(rules.samples(own.pick(others).symbol)), kind, "another message")
            continue
        node = spec.random_tree(own.pick(moves).symbol, own / "tree")
        made = None if node is None else makers[kind](data_of(node), spans_of(node), own, turn)
        if made is not None and made.data:
            yield made


def is_accepted(spec: Spec, moves: tuple[MessageType, ...], data: bytes) -> bool:
    """Return True if the reference matcher reads it as a message that may be said; the constraints aside."""
    for move in moves:
        matcher = spec.matcher(move.symbol, binary=spec.is_binary, reference=True)
        if matcher.finish(data).complete_here:
            return True
    return False


def reads_dns(data: bytes) -> bool:
    """Return True if dnspython reads a question."""
    message = importlib.import_module("dns.message")
    exception = importlib.import_module("dns.exception")
    try:
        return not message.from_wire(data, ignore_trailing=False).flags & 0x8000
    except (exception.DNSException, ValueError):
        return False


def reads_http(data: bytes) -> bool:
    """Return True if h11 reads exactly one request."""
    h11 = importlib.import_module("h11")
    connection = h11.Connection(h11.SERVER)
    try:
        connection.receive_data(data)
        event = connection.next_event()
        while isinstance(event, h11.Request | h11.Data):
            event = connection.next_event()
        return isinstance(event, h11.EndOfMessage) and not connection.trailing_data[0]
    except h11.RemoteProtocolError:
        return False


LIBRARIES: dict[str, tuple[str, Callable[[bytes], bool]]] = {
    "dns": ("dns.message", reads_dns),
    "http": ("h11", reads_http),
}


def library(name: str) -> Callable[[bytes], bool] | None:
    """The library that reads messages of a protocol, if there is one and it is installed."""
    if name not in LIBRARIES:
        return None
    try:
        importlib.import_module(LIBRARIES[name][0])
    except ModuleNotFoundError:
        return None
    return LIBRARIES[name][1]


def tried(name: str, wanted: int, seed: int) -> Counter[str]:
    """Counts of what was proved, until so many messages of a spec were called wrong."""
    spec = load(*spec_files([name]))
    chance = RandomSource(seed) / name
    rules = RefusalRules(spec, {"Client"}, chance)
    reads = library(name)
    counts: Counter[str] = Counter()
    found = list(dict.fromkeys(places(spec, rules, chance / "places")))
    samples = [data for move in spec.forecaster().messages if move.sender == "Client"
               for data in rules.samples(move.symbol)]  # fmt: skip
    end = b"" if name in DATAGRAMS else common_end(samples)
    streams = [(moves, mutants(spec, moves, rules, chance / number)) for number, moves in enumerate(found)]
    assert found, f"no conversation of {name} has come to a place of the client"
    while counts["wrong"] < wanted and counts["changed"] < TRIED_FOR_EACH * wanted:
        for moves, stream in streams:
            mutant = next(stream)
            data = mutant.data
            if len(data) > LONGEST:
                continue
            place = Place(
                moves,
                lambda symbol: spec.matcher(symbol, binary=spec.is_binary, whole=False),
                lambda move, node: True,
                end,
                name in DATAGRAMS,
            )
            membership = prove(place, data).membership
            counts["changed"] += 1
            if membership is not Membership.WRONG:
                continue
            counts["wrong"] += 1
            if is_accepted(spec, moves, data):
                counts["accepted"] += 1
                print(f"{name}: called wrong, but accepted: {data!r}", file=sys.stderr)
            judged = is_judged(rules, data, moves)
            counts["judged"] += judged
            if reads is not None and reads(data):
                counts["read by a library"] += 1
                # Libraries know nothing of where a message may be said.
                if judged and mutant.kind is not WrongnessKind.STATE:
                    counts["judged, but read by a library"] += 1
                    print(f"{name}: judged, but read by a library: {data!r}", file=sys.stderr)
    return counts


def is_judged(rules: RefusalRules, data: bytes, moves: tuple[MessageType, ...]) -> bool:
    """Return True if an answer to it would be judged."""
    try:
        return rules.judge("Client", data, moves) is not None
    except Undecided:
        return False


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=50_000, help="so many that are called wrong, over all specs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=SPECS, metavar="SPEC")
    options = parser.parse_args()
    total: Counter[str] = Counter()
    for name in options.only:
        counts = tried(name, -(-options.messages // len(options.only)), options.seed)
        asked = "" if library(name) is None else f", {counts['read by a library']} read by {LIBRARIES[name][0]}"
        print(
            f"{name}: {counts['wrong']} of {counts['changed']} changed messages are proved to be wrong; of these, the "
            f"reference matcher accepts {counts['accepted']}, and {counts['judged']} are judged{asked}",
            flush=True,
        )
        total += counts
    print(
        f"{total['wrong']} messages are proved to be wrong; the grammar accepts {total['accepted']} of them, and "
        f"{total['judged, but read by a library']} are judged though a library reads them"
    )
    return 1 if total["accepted"] or total["judged, but read by a library"] else 0


if __name__ == "__main__":
    sys.exit(main())
