"""Name servers with a defect that only wrong messages show, each the strict one but for one thing."""

from __future__ import annotations

from typing import NamedTuple

from servers.dns_small import OPT, NameServer

FORMAT_ERROR, NOT_IMPLEMENTED = 1, 4
QUESTION = 12  # its first byte, behind the header


def error(data: bytes, code: int) -> bytes:
    """A header alone that tells what is wrong."""
    return data[:2] + bytes([data[2] & 0x79 | 0x80, code]) + bytes(8)


class StrictNames:
    """Answers questions, and refuses all else."""

    def __init__(self, shared: dict[bytes, bytes]) -> None:
        self.is_over = False
        self.shared = shared

    def hear(self, data: bytes) -> list[bytes]:
        answer = self.refusal(data)
        if answer is None:
            answer = NameServer().answer(data)
        return [answer] if answer else []

    def refusal(self, data: bytes) -> bytes | None:
        """What is said instead of an answer; empty if nothing is."""
        if len(data) < QUESTION:
            return self.cut_off(data)
        if data[2] & 0x80:
            return self.response(data)
        if data[2] & 0x78:
            return self.opcode(data)
        if data[4:6] != b"\0\1":
            return self.questions(data)
        end = self.end_of_question(data)
        if end is None or data[6:10] != bytes(4):
            return self.malformed(data)
        extras, rest = int.from_bytes(data[10:12], "big"), data[end:]
        if (extras, bool(rest)) == (0, False):
            return None
        if extras != 1 or len(rest) < 11 or rest[:3] != b"\0" + OPT.to_bytes(2, "big"):
            return self.malformed(data)
        return self.version(data, end) if rest[6] else None

    def end_of_question(self, data: bytes) -> int | None:
        """The first byte behind the question; None if there is no whole one."""
        at = QUESTION
        while at < len(data) and 0 < data[at] < 64:
            at += 1 + data[at]
        return at + 5 if at + 5 <= len(data) and data[at] == 0 else None

    def cut_off(self, data: bytes) -> bytes | None:
        return error((data + bytes(3))[:3], FORMAT_ERROR)

    def response(self, data: bytes) -> bytes | None:
        return b""

    def opcode(self, data: bytes) -> bytes | None:
        return error(data, NOT_IMPLEMENTED)

    def questions(self, data: bytes) -> bytes | None:
        return error(data, FORMAT_ERROR)

    def malformed(self, data: bytes) -> bytes | None:
        return error(data, FORMAT_ERROR)

    def version(self, data: bytes, end: int) -> bytes | None:
        """BADVERS: half of the code is in the record with the extensions."""
        header = data[:2] + bytes([data[2] & 0x79 | 0x80, 0, 0, 1]) + bytes(5) + b"\1"
        return header + data[QUESTION:end] + b"\0\0\x29\x04\xd0\1\0\0\0\0\0"


class AnswersResponses(StrictNames):
    """Takes responses for questions, as servers did that two of them could keep busy for ever."""

    def response(self, data: bytes) -> bytes | None:
        return self.refusal(data[:2] + bytes([data[2] & 0x7F]) + data[3:])


class AnswersAnyOpcode(StrictNames):
    """Does not look at the opcode."""

    def opcode(self, data: bytes) -> bytes | None:
        return self.refusal(data[:2] + bytes([data[2] & 0x87]) + data[3:])


class FirstOfManyQuestions(StrictNames):
    """Answers the first question, whatever their number is."""

    def questions(self, data: bytes) -> bytes | None:
        return self.refusal(data[:4] + b"\0\1" + data[6:]) if data[4:6] != bytes(2) else super().questions(data)


class AnyVersion(StrictNames):
    """Does not look at the version of the extensions."""

    def version(self, data: bytes, end: int) -> bytes | None:
        return None


class SaysNothingToVersions(StrictNames):
    """Does not answer who has another version."""

    def version(self, data: bytes, end: int) -> bytes | None:
        return b""


class DeniesWhatItCannotRead(StrictNames):
    """Says that there is no such name, where there is no name."""

    def malformed(self, data: bytes) -> bytes | None:
        return error(data, 3)


class FillsUp(StrictNames):
    """Takes zeros for what is missing at the end."""

    def malformed(self, data: bytes) -> bytes | None:
        longer = data + bytes(5)
        return NameServer().answer(longer) if self.end_of_question(longer) else super().malformed(data)


class DeafAfterRefusal(StrictNames):
    """Does not answer the next question."""

    def hear(self, data: bytes) -> list[bytes]:
        was_refused = self.shared.pop(b"refused", None)
        if self.refusal(data) is not None:
            self.shared[b"refused"] = b"yes"
        elif was_refused:
            return []
        return super().hear(data)


class DnsBug(NamedTuple):
    """A server, and the kind of finding that shows what is wrong with it."""

    server: type[StrictNames]
    finding: str


DNS_BUGS = (
    DnsBug(AnswersResponses, "wrong message accepted"),
    DnsBug(AnswersAnyOpcode, "wrong message accepted"),
    DnsBug(FirstOfManyQuestions, "wrong message accepted"),
    DnsBug(AnyVersion, "wrong refusal"),
    DnsBug(SaysNothingToVersions, "wrong refusal"),
    DnsBug(DeniesWhatItCannotRead, "wrong refusal"),
    DnsBug(FillsUp, "wrong refusal"),
    DnsBug(DeafAfterRefusal, "state changed although refused"),
)
