"""What is wrong with FTP servers and clients, within how many sessions that must be found, and as what.

Each row is a class in `ftp_wrong_servers.py` or `ftp_wrong_clients.py`.
"""

from __future__ import annotations

from catalogue import Bug

SERVERS = (
    Bug("AnyPassword", 5, "unparseable"),
    Bug("AnyUser", 3, "unparseable"),
    Bug("TwoGuesses", 80, "unparseable"),
    Bug("TellsGuests", 5, "unparseable"),
    Bug("StaysHere", 3, "constraint broken"),
    Bug("NoQuotes", 3, "unparseable"),
    Bug("EndlessFeatures", 2, "silence"),
    Bug("TwiceDone", 3, "unexpected message"),
    Bug("BareNewline", 3, "unparseable"),
    Bug("NoGoodBye", 2, "closed early"),
    Bug("WrongPort", 2, "refused"),
    Bug("SwappedBytes", 3, "refused"),
    Bug("NeedlessAddress", 2, "unparseable"),
    Bug("NoPreliminary", 2, "unparseable"),
    Bug("CutShort", 6, "closed early"),
    Bug("UnixLines", 6, "unparseable"),
    Bug("NoRights", 6, "unparseable"),
    Bug("NeverCloses", 3, "silence"),
)

CLIENTS = (
    Bug("PasswordFirst", 1, "unparseable"),
    Bug("GoesOnUnknown", 1, "unparseable"),
    Bug("Guesses", 1, "constraint broken"),
    Bug("NoPort", 2, "unparseable"),
    Bug("OldPort", 5, "unparseable"),
    Bug("OtherPort", 5, "unreachable"),
    Bug("NoFallback", 5, "unparseable"),
    Bug("NeverEnds", 10, "silence"),
    Bug("TooSoon", 5, "unexpected message"),
    Bug("BareNewline", 1, "unparseable"),
    Bug("AllAtOnce", 1, "unexpected message"),
)
