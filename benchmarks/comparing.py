"""Real servers of one protocol compared: the same conversations with each, and the table of what they do differently.

`make comparisons` prints Markdown, one table for each protocol; `docs/comparisons.md` has what it printed. An answer
in bold is one that the spec forbids: the finding of that server. All others are within what the spec leaves open.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "tests"), str(HERE.parent / "tests" / "matching")]

import palaver  # noqa: E402
from palaver.comparing.comparison import Participant, ServerComparison  # noqa: E402
from palaver.comparing.differences import DifferenceGroup  # noqa: E402
from palaver.printable import printable  # noqa: E402
from servers import dns, ftp, mail, stock  # noqa: E402
from servers.common import program  # noqa: E402

Starter = Callable[[Path], AbstractContextManager[Any]]


class Contest(NamedTuple):
    """Servers of one protocol, and the spec that they are asked by."""

    spec: str
    servers: Mapping[str, Starter]
    parameters: Mapping[str, object] = {}
    beyond: float | None = None
    needs: tuple[str, ...] = ()


def alone(make: Callable[[], AbstractContextManager[Any]]) -> Starter:
    """A server that needs no folder."""
    return lambda folder: make()


CONTESTS = (
    Contest(
        "smtp",
        {
            "aiosmtpd": alone(mail.aiosmtpd),
            "Exim": alone(partial(stock.exim, has_account=True)),
            "Postfix": alone(partial(stock.postfix, has_account=True)),
        },
        {"most_mistakes": 3, "most_pauses": 10},  # what Exim endures
        beyond=0.35,
        needs=(stock.PROGRAMS["exim4"], stock.PROGRAMS["postfix"]),
    ),
    Contest(
        "ftp",
        {
            "pyftpdlib": ftp.pyftpdlib,
            "vsftpd": alone(stock.vsftpd),
            "ProFTPD": alone(stock.proftpd),
            "Pure-FTPd": alone(stock.pure_ftpd),
        },
        beyond=0.35,
        needs=("vsftpd", stock.PROGRAMS["proftpd"], stock.PROGRAMS["pure-ftpd"]),
    ),
    Contest(
        "dns",
        {
            "BIND": alone(dns.bind),
            "NSD": alone(dns.nsd),
            "Knot": alone(dns.knot),
            "PowerDNS": alone(dns.powerdns),
        },
        needs=("named", "nsd", "knotd", "pdns_server"),
    ),
    Contest(
        "http",
        {"nginx": alone(stock.nginx), "lighttpd": alone(stock.lighttpd), "Apache": alone(stock.apache)},
        needs=("nginx", "lighttpd", "apache2"),
    ),
)


def main() -> int:
    options = _options()
    for contest in CONTESTS:
        if options.only and contest.spec not in options.only:
            continue
        missing = [name for name in contest.needs if program(name) is None and not Path(name).exists()]
        if missing:
            print(f"{contest.spec}: left out: {', '.join(missing)} is not installed", file=sys.stderr)
            continue
        print(*_table(contest, options), sep="\n", flush=True)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--conversations", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", metavar="SPEC", help="these specs alone")
    parser.add_argument("-v", "--verbose", action="store_true", help="print all that `palaver compare` would, as well")
    return parser.parse_args()


def _table(contest: Contest, options: argparse.Namespace) -> list[str]:
    """Hold the conversations; return the table."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.chmod(0o755)
        participants = []
        for name, start in contest.servers.items():
            own = folder / name
            own.mkdir(mode=0o755)
            port = stack.enter_context(start(own)).port
            campaign = palaver.talk(
                contest.spec, client=port, parameters=contest.parameters, seed=options.seed, beyond=contest.beyond
            )
            participants.append(Participant(name, campaign))
        comparison = ServerComparison(participants)
        stack.callback(comparison.close)
        comparison.run(options.conversations)
    if options.verbose:
        for name, finding in comparison.violations:
            print(printable(f"{name}: {finding.show()}"), file=sys.stderr)
        print(printable("\n".join(comparison.differences.lines())), file=sys.stderr)
    return _markdown(contest, comparison)


def _markdown(contest: Contest, comparison: ServerComparison) -> list[str]:
    found = comparison.differences
    names = list(contest.servers)
    lines = [
        f"### {contest.spec}",
        "",
        f"{comparison.conversations} conversations, {found.compared} exchanges compared, {found.equal} equal, "
        f"{len(found.groups)} kinds of differences.",
        "",
        "| " + " | ".join(["times", "after", "what", *names]) + " |",
        "|" + "---|" * (len(names) + 3),
    ]
    return [*lines, *map(_row, found.groups), ""]


def _row(group: DifferenceGroup) -> str:
    """One kind of differences, as a row; what is forbidden is bold."""
    answers = [
        f"**`{answer}`**" if is_forbidden else f"`{answer}`"
        for answer, is_forbidden in zip(group.answers, group.forbidden, strict=True)
    ]
    cells = [str(group.count), f"`{printable(group.name)}`", group.aspect, *answers]
    return "| " + " | ".join(each.replace("|", "\\|") for each in cells) + " |"


if __name__ == "__main__":
    sys.exit(main())
