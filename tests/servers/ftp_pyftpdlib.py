"""pyftpdlib as a program: an FTP server on loopback, in clear and, with a certificate, also encrypted."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pyftpdlib.authorizers import DummyAuthorizer
from pyftpdlib.handlers import FTPHandler
from pyftpdlib.servers import FTPServer

# Everything: go, list, read, append, delete, rename, make folders, write, and change rights and times.
RIGHTS = "elradfmwMT"

NO_LIMIT = 1_000_000


def main() -> None:
    """Serve until the process is ended."""
    options = _options()
    settings = {"auth_failed_timeout": options.delay, "max_login_attempts": options.failures}
    base = FTPHandler
    if options.certificate is not None:
        # Only here: what it is made of need not be installed for a server in clear.
        from pyftpdlib.handlers import TLS_FTPHandler

        base = _forgetful(TLS_FTPHandler) if options.keeps_encrypting else TLS_FTPHandler
        settings["certfile"] = str(options.certificate)
    server_of(base, options.port, options.home, **settings).serve_forever()


def server_of(
    base: type,
    port: int,
    home: Path,
    *,
    auth_failed_timeout: float = 0,
    max_login_attempts: int = NO_LIMIT,
    **more: Any,
) -> FTPServer:
    """A server that handles everything as `base` does. The files of its user are in `home`."""
    authorizer = DummyAuthorizer()
    authorizer.add_user("the_user", "the_password", str(home), perm=RIGHTS)
    settings = {
        "authorizer": authorizer,
        "banner": "ready",
        "auth_failed_timeout": auth_failed_timeout,
        "max_login_attempts": max_login_attempts,
        **more,
    }
    server = FTPServer(("127.0.0.1", port), type("Handler", (base,), settings))
    server.max_cons_per_ip = 0
    return server


def _forgetful(base: type) -> type:
    """A planted defect: `PROT C` is acknowledged, and the data connection stays encrypted."""

    class KeepsEncrypting(base):  # type: ignore[misc]  # a class that is known only when this runs
        _prot: bool

        def ftp_PROT(self, line: str) -> None:
            was_private = self._prot
            super().ftp_PROT(line)
            self._prot = self._prot or was_private

    return KeepsEncrypting


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("port", type=int)
    parser.add_argument("home", type=Path)
    parser.add_argument("--delay", type=float, default=0, help="seconds that a failed login takes")
    parser.add_argument("--failures", type=int, default=NO_LIMIT, help="failed logins after which it hangs up")
    parser.add_argument("--certificate", type=Path, help="a PEM file with certificate and key")
    parser.add_argument("--keeps-encrypting", action="store_true", help="plant a defect: PROT C has no effect")
    return parser.parse_args()


if __name__ == "__main__":
    main()
