"""How much of a server's code is run by the bundled specs: guided, unguided, and by the reference.

`make bench-coverage` starts aiosmtpd and pyftpdlib under coverage.py, each anew for every run, lets them be talked to
with 1000 messages (sent and received), and prints the share of branches that were taken in the modules that the server
has loaded: the median over the seeds, the least and the most, and the median share of lines. The reference is asked
through its API, with the same spec; if it has covered all before that, it begins again with another seed, and the
server stays. A guided run is the one of `palaver talk --until forever`. A bar that is missed is shown as MISSED, and
then the exit status is 1. The bars are those of the specs in full, whose servers have a certificate; the small specs,
in which a random walk soon has said everything, are there to compare. A violation stops the run.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple, Protocol

from common import HERE, NoAnswer, Process, reference_python

import palaver
from palaver.campaign.events import MessageReceived, MessageSent

sys.path.insert(0, str(HERE.parent / "tests"))
from guiding_specs import BUNDLED, SMTP_PARTIES

from palaver.session.findings import Severity
from palaver.transport.certificate import make_certificate
from servers import ftp, mail

MESSAGES = 1000
LEAST_LEAD = 3.0  # points of branches, guided above unguided
REFERENCE_SECONDS = 300.0  # for one run

SETTINGS = """\
[run]
branch = True
sigterm = True
data_file = {folder}/measured
include = */site-packages/{package}/*
"""


class Running(Protocol):
    """A server that runs."""

    @property
    def port(self) -> int: ...


class Subject(NamedTuple):
    """A bundled spec, and a server that can be run by a command instead of plain Python."""

    spec: str
    package: str
    start: Callable[[Path, Sequence[str]], AbstractContextManager[Running]]
    more: str  # what the reference must be told besides the spec; {port} is that of the server
    has_bar: bool
    is_for_reference: bool  # whether it can hold conversations with the spec


def _ftp(folder: Path, python: Sequence[str]) -> AbstractContextManager[Running]:
    return ftp.pyftpdlib(folder, python=python)


@contextmanager
def _ftp_with_tls(folder: Path, python: Sequence[str]) -> Iterator[Running]:
    with (
        make_certificate() as certificate,
        ftp.pyftpdlib(folder, certificate=Path(certificate), python=python) as server,
    ):
        yield server


def _mail(_folder: Path, python: Sequence[str]) -> AbstractContextManager[Running]:
    return mail.aiosmtpd(python=python)


@contextmanager
def _mail_with_tls(_folder: Path, python: Sequence[str]) -> Iterator[Running]:
    with make_certificate() as certificate, mail.aiosmtpd(Path(certificate), python=python) as server:
        yield server


FTP_PORT = "PORT = {port}\n"
SUBJECTS = (
    Subject("smtp", "aiosmtpd", _mail, SMTP_PARTIES, has_bar=False, is_for_reference=True),
    Subject("smtp_full", "aiosmtpd", _mail_with_tls, "", has_bar=True, is_for_reference=False),
    Subject("ftp", "pyftpdlib", _ftp, FTP_PORT, has_bar=False, is_for_reference=True),
    Subject("ftp_full", "pyftpdlib", _ftp_with_tls, FTP_PORT, has_bar=True, is_for_reference=False),
)


class Share(NamedTuple):
    """The branches that were taken, all of the modules that were loaded, and the percentage of lines that were run."""

    taken: int
    total: int
    lines: float

    @property
    def percent(self) -> float:
        return 100 * self.taken / self.total


@contextmanager
def measured(subject: Subject, found: list[Share]) -> Iterator[int]:
    """The port of a server under coverage.py; when it has ended, what was measured is found."""
    with tempfile.TemporaryDirectory(prefix="palaver-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        settings, report = folder / "settings", folder / "report"
        settings.write_text(SETTINGS.format(folder=folder, package=subject.package))
        coverage = [sys.executable, "-m", "coverage"]
        with subject.start(folder, [*coverage, "run", f"--rcfile={settings}"]) as server:
            yield server.port
        subprocess.run([*coverage, "json", "--quiet", f"--rcfile={settings}", "-o", report], check=True)
        totals = json.loads(report.read_text())["totals"]
        lines = 100 * totals["covered_lines"] / totals["num_statements"]
        found.append(Share(totals["covered_branches"], totals["num_branches"], lines))


def talked(subject: Subject, port: int, seed: int, *, is_guided: bool) -> None:
    """Talk to a server with so many messages."""
    campaign = palaver.talk(subject.spec, client=port, seed=seed, guided=is_guided, until="forever")
    with campaign:
        count = 0
        for event in campaign:
            count += isinstance(event, MessageSent | MessageReceived)
            if count >= MESSAGES:
                break
    for finding in campaign.findings:
        if finding.severity is Severity.VIOLATION:
            raise NoAnswer(finding.show())


def talked_by_reference(subject: Subject, port: int, seed: int) -> None:
    count = 0
    while count < MESSAGES:
        with Process(reference_python(), str(HERE / "guiding_reference.py"), PYTHONHASHSEED="0") as process:
            answer = process.ask(
                action="talk",
                spec=str(BUNDLED / f"{subject.spec}.fan"),
                more=subject.more.format(port=port),
                seed=seed,
                seconds=REFERENCE_SECONDS,
                most_messages=MESSAGES - count,
            )
        if not answer["messages"]:
            raise NoAnswer("the reference said nothing")
        count += answer["messages"]
        seed += 1000


WAYS: dict[str, Callable[[Subject, int, int], None]] = {
    "guided": partial(talked, is_guided=True),
    "unguided": partial(talked, is_guided=False),
    "reference": talked_by_reference,
}


def shares(subject: Subject, way: str, seeds: int) -> list[Share]:
    """The share of each seed."""
    found: list[Share] = []
    for seed in range(1, seeds + 1):
        with measured(subject, found) as port:
            WAYS[way](subject, port, seed)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5, help="how many runs of palaver, guided or not (default: 5)")
    parser.add_argument("--reference-seeds", type=int, default=3, help="how many runs of the reference (default: 3)")
    parser.add_argument("--only", choices=[subject.spec for subject in SUBJECTS], help="only this spec")
    arguments = parser.parse_args()
    is_missed = False
    print(f"branches after {MESSAGES} messages: median (least-most) of so many seeds")
    references: dict[str, float] = {}
    for subject in SUBJECTS:
        if arguments.only not in (None, subject.spec):
            continue
        medians: dict[str, float] = {}
        for way in WAYS:
            seeds = arguments.reference_seeds if way == "reference" else arguments.seeds
            if not seeds or (way == "reference" and not subject.is_for_reference):
                continue
            medians[way] = _shown(subject, way, shares(subject, way, seeds))
        if "reference" in medians:
            references[subject.package] = medians["reference"]
        lead = medians["guided"] - medians["unguided"]
        least = min(medians["guided"], medians["unguided"]) - references.get(subject.package, 0.0)
        is_good = not subject.has_bar or (lead >= LEAST_LEAD and least > 0)
        is_missed = is_missed or not is_good
        above = f", the lower of the two {least:+.1f} to the reference" if subject.package in references else ""
        print(f"{subject.spec:10} guided {lead:+.1f} points to unguided{above}{'' if is_good else '  MISSED'}")
    return int(is_missed)


def _shown(subject: Subject, way: str, found: list[Share]) -> float:
    """Print the row of a way; its median."""
    percents = [share.percent for share in found]
    median = statistics.median(percents)
    taken = statistics.median(share.taken for share in found)
    lines = statistics.median(share.lines for share in found)
    spread = f"({min(percents):.1f}-{max(percents):.1f})"
    line = f"{median:5.1f} % {spread:13} {taken:4.0f} of {found[0].total}, {lines:.1f} % of lines, {len(found)} seeds"
    print(f"{subject.spec:10} {subject.package:10} {way:10} {line}", flush=True)
    return median


if __name__ == "__main__":
    sys.exit(main())
