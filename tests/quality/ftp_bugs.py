"""What is wrong with FTP servers and clients, within how many sessions that must be found, and as what.

Each row is a class in `ftp_wrong_servers.py` or `ftp_wrong_clients.py`.
"""

from __future__ import annotations

from catalogue import Bug

SERVERS = (
    Bug("AnyPassword", 5, "unexpected response"),
    Bug("AnyUser", 3, "unexpected response"),
    Bug("TwoGuesses", 80, "unexpected response"),
    Bug("TellsGuests", 5, "unexpected response"),
    Bug("StaysHere", 3, "constraint violated"),
    Bug("NoQuotes", 3, "unexpected response"),
    Bug("EndlessFeatures", 2, "no response"),
    Bug("TwiceDone", 3, "out of turn"),
    Bug("BareNewline", 3, "unexpected response"),
    Bug("NoGoodBye", 2, "connection closed"),
    Bug("WrongPort", 2, "wrong address"),
    Bug("SwappedBytes", 3, "wrong address"),
    Bug("NeedlessAddress", 2, "unexpected response"),
    Bug("NoPreliminary", 2, "unexpected response"),
    Bug("CutShort", 6, "connection closed"),
    Bug("UnixLines", 6, "unexpected response"),
    Bug("NoRights", 6, "unexpected response"),
    Bug("NeverCloses", 3, "no response"),
)

# What ftp_full finds, in sessions that are not guided.
FILE_SERVERS = (
    Bug("DeletesNothing", 20, "constraint violated"),
    Bug("ShortTime", 20, "unexpected response"),
    Bug("NeverComes", 20, "no response"),
)

# And in guided ones.
FOLDER_SERVERS = (Bug("StaysBelow", 20, "constraint violated"),)

CLIENTS = (
    Bug("PasswordFirst", 1, "unexpected response"),
    Bug("GoesOnUnknown", 1, "unexpected response"),
    Bug("Guesses", 1, "constraint violated"),
    Bug("NoPort", 2, "unexpected response"),
    Bug("OldPort", 5, "unexpected response"),
    Bug("OtherPort", 5, "no response"),
    Bug("NoFallback", 5, "unexpected response"),
    Bug("NeverEnds", 10, "no response"),
    Bug("TooSoon", 5, "out of turn"),
    Bug("BareNewline", 1, "unexpected response"),
    Bug("AllAtOnce", 1, "out of turn"),
)
