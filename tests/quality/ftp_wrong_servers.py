"""Wrong FTP servers, as one program: `ftp_wrong_servers.py HOME` is all of them and the right one.

It prints the name of each with its port, and then `ready`. The right one is pyftpdlib as it is; each of the others
differs from it in one thing. One more, which is about encryption, is in `servers/ftp_pyftpdlib.py`.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any, ClassVar

from pyftpdlib.handlers import DTPHandler, FTPHandler

from servers.ftp_pyftpdlib import server_of


class Right(FTPHandler):  # type: ignore[misc]  # the library has no types
    """One that is as it should be. What it says, and what it sends, goes through one method each."""

    def respond(self, resp: str, *arguments: Any, **options: Any) -> None:
        said = self.said(resp)
        if said:
            super().respond(said, *arguments, **options)

    def push_dtp_data(self, data: Any, isproducer: bool = False, file: Any = None, cmd: Any = None) -> None:
        if cmd != "LIST":
            super().push_dtp_data(data, isproducer, file, cmd)
            return
        listing = b"".join(iter(data.more, b""))
        super().push_dtp_data(self.listed(listing), cmd=cmd)

    def said(self, reply: str) -> str:
        return reply

    def listed(self, listing: bytes) -> bytes:
        return listing


# --- Login ------------------------------------------------------------------------------------------------------------


class AnyPassword(Right):
    """Looks at the name only."""

    def ftp_PASS(self, line: str) -> None:
        super().ftp_PASS("the_password")


class AnyUser(Right):
    """Lets everybody in who knows the password."""

    def ftp_USER(self, line: str) -> None:
        super().ftp_USER("the_user")


class TwoGuesses(Right):
    """At the second wrong password says that it is closing, and does not mean it."""

    failures = 0

    def said(self, reply: str) -> str:
        self.failures += reply.startswith("530 Authentication")
        return reply.replace("530", "421") if self.failures == 2 else reply


class TellsGuests(Right):
    """Shows everybody where it is."""

    proto_cmds: ClassVar = {**FTPHandler.proto_cmds, "PWD": {**FTPHandler.proto_cmds["PWD"], "auth": False}}

    def ftp_PWD(self, line: str) -> None:
        if self.authenticated:
            super().ftp_PWD(line)
        else:
            self.respond('257 "/" is the current directory.')


# --- Questions --------------------------------------------------------------------------------------------------------


class StaysHere(Right):
    """Says that it has gone to a folder below, and has not."""

    def ftp_CWD(self, path: str) -> None:
        before = self.fs.cwd
        super().ftp_CWD(path)
        if self.fs.cwd != "/":
            self.fs.cwd = before


class NoQuotes(Right):
    """Forgets the quotation marks around a folder."""

    def said(self, reply: str) -> str:
        return reply.replace('"', "") if reply.startswith("257") else reply


class EndlessFeatures(Right):
    """Does not say that its features end."""

    def said(self, reply: str) -> str:
        return "" if reply.startswith("211") else reply


class TwiceDone(Right):
    """Confirms an option twice."""

    def ftp_OPTS(self, line: str) -> None:
        super().ftp_OPTS(line)
        super().ftp_OPTS(line)


class BareNewline(Right):
    """Ends a line as it ends in files."""

    def ftp_SYST(self, line: str) -> None:
        self.push("215 UNIX Type: L8\n")


class NoGoodBye(Right):
    """Leaves without a word."""

    def ftp_QUIT(self, line: str) -> None:
        self.close()


# --- The data connection ----------------------------------------------------------------------------------------------


class WrongPort(Right):
    """Tells the port beside the one where it waits."""

    def said(self, reply: str) -> str:
        return re.sub(r"(?<=\|\|\|)\d+", lambda port: str(int(port[0]) ^ 1), reply)


class SwappedBytes(Right):
    """Tells the lower byte of the port first."""

    def said(self, reply: str) -> str:
        return re.sub(r"(\d+),(\d+)(?=\)\.$)", r"\2,\1", reply) if reply.startswith("227") else reply


class NeedlessAddress(Right):
    """Names the protocol and the address in the form that has no room for them."""

    def said(self, reply: str) -> str:
        return reply.replace("(|||", "(|1|127.0.0.1|")


class NoPreliminary(Right):
    """Does not say that a transfer begins."""

    def said(self, reply: str) -> str:
        return "" if reply[:1] == "1" else reply


class CutShort(Right):
    """Closes the data connection before the first line of a folder is complete."""

    def listed(self, listing: bytes) -> bytes:
        return listing[:20]


class UnixLines(Right):
    """Ends the lines of a folder as they end in files."""

    def listed(self, listing: bytes) -> bytes:
        return listing.replace(b"\r\n", b"\n")


class NoRights(Right):
    """Leaves out who may do what."""

    def listed(self, listing: bytes) -> bytes:
        return re.sub(rb"(?m)^\S+\s+", b"", listing)


class OpenEnd(DTPHandler):  # type: ignore[misc]  # the library has no types
    """Says that all is complete, and keeps the data connection open."""

    def close_when_done(self) -> None:
        self.cmd_channel.respond("226 Transfer complete.")


class NeverCloses(Right):
    """Waits for the client to close the data connection."""

    dtp_handler = OpenEnd


# --- Files ------------------------------------------------------------------------------------------------------------


class DeletesNothing(Right):
    """Deletes also what is not there."""

    def ftp_DELE(self, path: str) -> None:
        if self.fs.isfile(path):
            super().ftp_DELE(path)
        else:
            self.respond("250 File removed.")


class StaysBelow(Right):
    """Says that it has gone to the folder above, and has not."""

    def ftp_CDUP(self, path: str) -> None:
        self.respond("250 Done.")


class ShortTime(Right):
    """Leaves the seconds out of a time."""

    def said(self, reply: str) -> str:
        return reply[:-2] if reply.startswith("213 20") and len(reply) == 18 else reply


class NeverComes(Right):
    """Takes note of the port in active mode, and does not come."""

    def _make_eport(self, ip: str, port: int) -> None:
        self.respond("200 Active data connection established.")


if __name__ == "__main__":
    for kind in (Right, *Right.__subclasses__()):
        server = server_of(kind, 0, Path(sys.argv[1]))
        print(kind.__name__, server.address[1])
    print("ready", flush=True)
    server.serve_forever()  # and all that are in the same loop
