"""All planted bugs: each is found, its findings are replayed offline and live, and the first is made small.

    PYTHONPATH=tests python tests/quality/catalogue_survey.py [BEGINNING OF A NAME...]

`SHORTEST` has the number of messages of the shortest conversation that shows a bug, from the first message to the one
that is wrong (which is not counted if it is no message of the spec).
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import coap_bugs
import dns_bugs
import dns_client_bugs
import ftp_bugs
import http_bugs
import http_server_bugs
import imap_bugs
import llm_bugs
import llm_client_bugs
import modbus_bugs
import mqtt_bugs
import mqtt_client_bugs
import ntp_bugs
import pop3_bugs
import redis_bugs
import rest_bugs
import rest_client_bugs
import smtp_bugs
import smtp_client_bugs
import smtp_full_bugs
import tftp_bugs
import websocket_bugs
from catalogue import Bug

import palaver
from palaver.recording.run_writer import record
from palaver.replaying.live_replay import LiveTarget, recorded_script, replay_live
from palaver.replaying.offline_replay import replay_offline
from palaver.replaying.shrinking import ShrinkLimits, shrink
from palaver.session.findings import show_data
from servers.common import started
from servers.dns import small
from servers.ftp import furnished

# It takes nine messages of SMTP, from the greeting on, until we are logged in, and five of POP3 and FTP.
SHORTEST = {
    "smtp RcptBeforeMail": 9 + 1,
    "smtp KeepsRecipients": 9 + 7,  # MAIL, RCPT, RSET with their answers, and DATA
    "smtp KeepsSender": 9 + 5,  # MAIL, RSET with their answers, and MAIL
    "smtp LoginTwice": 9 + 1,
    "smtp NoSpaceAtTheEnd": 2,
    "smtp OtherName": 2,
    "smtp ForgetsItsName": 2,
    "smtp NoopTwice": 9 + 2,
    "smtp HelpHangsUp": 9 + 1,
    "smtp EndlessReply": 4,
    "smtp LeavesSilently": 4,
    "smtp AnyPassword": 8,
    "smtp TellsWhoThereIs": 6,
    "pop3 DeletedAreListed": 5 + 3,  # DELE, its answer, and LIST
    "pop3 DeletesTwice": 5 + 3,
    "pop3 CountsLineFeeds": 5 + 3,  # the size is told, and contradicted
    "pop3 OneLineMore": 5 + 1,
    "pop3 IdsMoveUp": 5 + 5,  # UIDL, DELE with their answers, and UIDL
    "pop3 SameIds": 5 + 1,
    "pop3 LastIsZero": 5 + 1,
    "pop3 AnyPassword": 4,
    "pop3 NoLoginNeeded": 2,
    "pop3 StaysThere": 3,
    "ftp AnyPassword": 4,
    "ftp AnyUser": 4,
    "ftp TellsGuests": 2,
    "ftp StaysHere": 5 + 3,  # CWD, its answer, and PWD
    "ftp NoQuotes": 5 + 3,
    "ftp EndlessFeatures": 5 + 1,
    "ftp NoGoodBye": 2,
    "ftp WrongPort": 5 + 1,  # the wrong answer itself is none of the messages before it
    "ftp SwappedBytes": 5 + 1,
    "ftp NeedlessAddress": 5 + 1,
    "ftp NoPreliminary": 5 + 3,  # EPSV, its answer, and RETR
    # One question shows any bug of a name server.
    **{f"dns {bug.name}": 1 for bugs in dns_bugs.BUGS.values() for bug in bugs},
    **{f"ntp {bug.name}": 1 for bug in ntp_bugs.BUGS},
    "ntp GoesBack": 7,  # every fourth answer is too early
    **{f"modbus {name}": 1 for name in ("SignedNumbers", "RefusesPlainly", "AnyCoil", "NoneIsFine", "GoesRound")},
    "modbus ReadsFirst": 1,
    # It is written, that is answered, and it is read.
    **{f"modbus {name}": 3 for name in ("HighestFirst", "LastBitLost", "LittleEndian", "OneTooFar")},
    "modbus OrMaskSets": 5,  # what is masked must be known before
    # A file must be there to be read: it is written in four messages.
    "tftp LargerBlocks": 4 + 1,
    "tftp OffersUnasked": 4 + 1,
    "tftp CountsFromZero": 4 + 1,
    "tftp AcknowledgesNext": 3,
    **{f"rest {name}": 1 for name in ("OneTooFew", "TwiceTheSame", "OneTooManyAllowed", "AnyText", "Page")},
    "rest OnlyNumbers": 1,
    "rest Capital": 3,  # a visit begins: the quotes are counted, and one is added;
    "rest StaleCount": 5,  # they are counted again;
    "rest RemovedWithOk": 7,  # it is removed,
    "rest MissingIsFine": 9,  # and looked for
    "rest RemovedIsKept": 9,
    "smtp client TwoBytes": 3,
    # These clients say the same in every conversation: seven requests of 14 messages until a quote is added.
    **{f"rest client {name}": 6 * 2 for name in ("Puts", "SingleQuotes", "NoEscapes", "Longer")},
    "rest client TooMany": 2,
    "rest client NoLength": 3 * 2 + 1,  # the body of the first POST is out of turn
    "rest client AllAtOnce": 5 * 2 + 1,
    "rest client NoSecondCount": 7 * 2,
    "rest client AlwaysTheFirst": 8 * 2,
    "rest client NumbersAreFloats": 8 * 2,
    "rest client RemovesTwice": 9 * 2,
    "rest client LeavesItThere": 9 * 2,
    **{f"llm {bug.name}": 2 * 2 + 1 for bug in llm_bugs.BUGS},  # every third report breaks a rule
    "llm client AnyNumber": 2 * 2,
    "llm client SameSectionTwice": 3 * 2,
    # The handshake of WebSocket is two messages. Before an end or a mistake there are five exchanges, such as a pong.
    "websocket OtherProof": 1,
    "websocket WelcomesAll": 1,
    "websocket EmptyPongs": 2 + 1,
    "websocket ForgetsParts": 2 + 4,  # a first part, a ping and its answer, and the last part
    **{f"websocket Takes{what}": 2 + 5 + 1 for what in ("Unmasked", "Bits", "LongPings", "AnyOrder", "AnyText")},
    "websocket DecodesParts": 2 + 2,
    **{f"websocket {name}": 2 + 1 for name in ("MasksEchoes", "LongSizes", "OneTooShort")},
    "websocket AllIsText": 2 + 3,  # bytes come after a text that was answered
    "websocket WrongNumber": 2 + 5 + 1,
    "websocket StaysOpen": 2 + 5 + 2,
    "websocket GoesOn": 2 + 5 + 2,
    # Keys are removed first, which is answered. Then a value must be there, mostly.
    **{f"redis {name}": 2 + 1 for name in ("CountsCharacters", "CountsTwice", "NilIsEmpty")},
    **{
        f"redis {name}": 2 + 3
        for name in ("PushesInOrder", "WrapsAround", "ReadsAnyNumber", "LastIsExcluded", "AnyKind")
    },
    "redis EmptyListsStay": 2 + 3,  # what is removed of nothing leaves something empty
    "redis RenameCopies": 2 + 5,  # a value, its new name with their answers, and the old one
    # It takes 17 messages of IMAP until a mailbox with two letters was made and is open.
    "imap AnyPassword": 2,
    "imap PeekMarks": 17 + 3,  # it is looked at, and then asked for what was seen
    **{f"imap {name}": 17 + 1 for name in ("OneByteMore", "HeadWithoutEnd", "AddsOnly", "OtherTag")},
}

HERE = Path(__file__).parent

# Some stop in the middle. They are waited for no longer than needed.
HASTE: dict[str, Any] = {"timeout": 1.0, "patience": 1.0}
TRIES = 3
# Servers that differ in nothing but the protocol: its scheme, the seconds that an answer may take, and the program.
SMALL_SERVERS = (
    ("redis", "tcp", 2.0, redis_bugs),
    ("mqtt", "tcp", 2.0, mqtt_bugs),
    ("modbus", "tcp", 1.0, modbus_bugs),
    ("ntp", "udp", 1.0, ntp_bugs),
    ("http", "tcp", 1.0, http_server_bugs),
    ("imap", "tcp", 2.0, imap_bugs),
    ("websocket", "tcp", 1.0, websocket_bugs),
)
# Clients say what they have in mind, so there is little to leave out, and they are started for each session.
# The runs are the limit, not the time: what is reached does not depend on what else the machine does.
SERVER_LIMITS, CLIENT_LIMITS = ShrinkLimits(runs=300, seconds=900), ShrinkLimits(runs=40, seconds=300)


@dataclass(frozen=True)
class PlantedBug:
    """A bug of the catalogue: what it is found as, by which spec and options of `palaver.talk`, and in which peer."""

    name: str
    finding: str
    spec: str
    options: dict[str, Any]
    peer: Callable[[Path], AbstractContextManager[dict[str, Any]]] = lambda _: nullcontext({})  # gives more options

    @property
    def limits(self) -> ShrinkLimits:
        return CLIENT_LIMITS if "server" in self.options else SERVER_LIMITS


@dataclass(frozen=True)
class Survival:
    """What came of the findings of a bug."""

    name: str
    findings: int
    is_as_expected: bool  # one of them is of the kind that the catalogue tells
    offline: int  # so many of the findings were replayed offline
    live: int  # so many of the
    tries: int  # with the target
    recorded: int  # messages of the first finding
    shrunk: int | None  # messages of it, made small
    shortest: int | None  # of what shows the bug
    parting: str = ""  # why one was not replayed
    small: tuple[str, ...] = ()  # the messages that are left


def client_of(program: str, name: str) -> str:
    """The command of a wrong client. Most need nothing that is installed, and so they start faster."""
    options = [] if program == "llm_client_bugs.py" else ["-S"]
    return f"{shlex.join([sys.executable, *options, str(HERE / program), name])} {{port}}"


def sender_of(sent: bytes, protocol: str) -> str:
    """The command of a client that sends this once, and then listens."""
    return f"{shlex.join([sys.executable, '-S', str(HERE / 'sender.py'), protocol, sent.hex()])} {{port}}"


def server_at_port(
    program: str, *arguments: str, scheme: str = "tcp"
) -> Callable[[Path], AbstractContextManager[dict[str, Any]]]:
    """A server of several, in one program that prints their names and ports; the first argument is the name."""

    @contextmanager
    def running(folder: Path) -> Iterator[dict[str, Any]]:
        log, environment = folder / "log", {**os.environ, "PYTHONPATH": str(HERE.parent)}
        name, *rest = arguments
        words = [str(furnished(folder)) if each == "home" else each for each in rest]
        command = [sys.executable, str(HERE / program), *words]
        with started(command, is_ready=lambda: "ready" in log.read_text(), log=log, env=environment):
            ports = dict(re.findall(r"^(\w+) (\d+)$", log.read_text(), re.MULTILINE))
            yield {"client": f"{scheme}:{ports[name]}"}

    return running


def name_server(protocol: str, name: str) -> Callable[[Path], AbstractContextManager[dict[str, Any]]]:
    @contextmanager
    def running(_: Path) -> Iterator[dict[str, Any]]:
        with small(Path(dns_bugs.__file__), name) as server:
            yield {"client": f"{protocol}:{server.port}"}

    return running


@contextmanager
def key_to_the_model(_: Path) -> Iterator[dict[str, Any]]:
    """The package `openai` wants one, from any model."""
    os.environ["OPENAI_API_KEY"] = "the_password"
    yield {}


def catalogue() -> Iterator[PlantedBug]:
    """Every bug, by protocol."""
    for bug in smtp_bugs.BUGS:
        at = server_at_port("smtp_bugs.py", bug.name)
        yield PlantedBug(f"smtp {bug.name}", bug.finding, "smtp", {"sessions": bug.sessions}, at)
    for bug in smtp_full_bugs.BUGS:
        at = server_at_port("smtp_full_bugs.py", bug.name)
        yield PlantedBug(f"smtp_full {bug.name}", bug.finding, "smtp_full", {"sessions": bug.sessions}, at)
    for bug in pop3_bugs.BUGS:
        options = {"sessions": bug.sessions, "guided": False}
        at = server_at_port("pop3_bugs.py", bug.name)
        yield PlantedBug(f"pop3 {bug.name}", bug.finding, "pop3", options, at)
    for protocol, scheme, seconds, program in SMALL_SERVERS:
        for bug in program.BUGS:
            unguided: dict[str, Any] = {"sessions": bug.sessions, "guided": False, "timeout": seconds}
            at = server_at_port(f"{program.__name__}.py", bug.name, scheme=scheme)
            yield PlantedBug(f"{protocol} {bug.name}", bug.finding, protocol, unguided, at)
    for protocol, program in (("tftp", tftp_bugs), ("coap", coap_bugs)):
        for bug in program.BUGS:
            yield PlantedBug(f"{protocol} {bug.name}", bug.finding, protocol, _begun_anew(program.__name__, bug))
    for bug in ftp_bugs.SERVERS:
        at = server_at_port("ftp_wrong_servers.py", bug.name, "home")
        yield PlantedBug(f"ftp {bug.name}", bug.finding, "ftp", {"sessions": bug.sessions, **HASTE}, at)
    for bug in (*ftp_bugs.FILE_SERVERS, *ftp_bugs.FOLDER_SERVERS):
        at = server_at_port("ftp_wrong_servers.py", bug.name, "home")
        how = {"sessions": bug.sessions, "guided": bug in ftp_bugs.FOLDER_SERVERS, **HASTE}
        yield PlantedBug(f"ftp_full {bug.name}", bug.finding, "ftp_full", how, at)
    for protocol, bugs in dns_bugs.BUGS.items():
        spec = "dns" if protocol == "udp" else "dns_tcp"
        for bug in bugs:
            options = {"sessions": bug.sessions, **HASTE}
            yield PlantedBug(f"dns {bug.name}", bug.finding, spec, options, name_server(protocol, bug.name))
    for bug in rest_bugs.BUGS:
        words = [sys.executable, str(HERE / "rest_bugs.py"), bug.name]
        command = f"env PORT={{port}} PYTHONPATH={shlex.quote(str(HERE.parent))} {shlex.join(words)}"
        yield PlantedBug(f"rest {bug.name}", bug.finding, "rest", {"sessions": bug.sessions, "target": command})
    for weak in llm_bugs.BUGS:
        words = [sys.executable, str(HERE.parent / "servers" / "web_model.py"), *weak.rules]
        command = f"env PORT={{port}} PYTHONPATH={shlex.quote(str(HERE.parent))} {shlex.join(words)}"
        # The model counts its reports from session to session; a finding is that of one session if it begins anew.
        anew = {"sessions": weak.sessions, "target": command, "restart": "session"}
        yield PlantedBug(f"llm {weak.name}", weak.finding, "llm", anew, key_to_the_model)
    yield from wrong_clients()


def _begun_anew(program: str, bug: Bug) -> dict[str, Any]:
    """The options for a server whose files or resources stay: a finding is that of one session if none are there."""
    words = [sys.executable, "-S", str(HERE / f"{program}.py"), bug.name]
    command = f"env PYTHONPATH={shlex.quote(str(HERE.parent))} {shlex.join(words)} {{port}}"
    options: dict[str, Any] = {"sessions": 3 * bug.sessions, "guided": False, "timeout": 1.0}
    return {**options, "target": command, "client": "udp:{port}", "restart": "session"}


def wrong_clients() -> Iterator[PlantedBug]:
    """Those of the catalogue that are clients."""
    for bug in smtp_client_bugs.BUGS:
        options = {"goal": "inputs", "quiet_interval": 5.0, **HASTE}
        yield _client(f"smtp client {bug.name}", "smtp_clients", "smtp_client_bugs.py", bug, **options)
    for bug in ftp_bugs.CLIENTS:
        yield _client(f"ftp client {bug.name}", "ftp_clients", "ftp_wrong_clients.py", bug, **HASTE)
    for bug in rest_client_bugs.BUGS:
        options = {"quiet_interval": 5.0, "patience": 1.0}
        yield _client(f"rest client {bug.name}", "rest", "rest_client_bugs.py", bug, **options)
    for bug in llm_client_bugs.BUGS:
        options = {"quiet_interval": 5.0, "patience": 1.0, "server": "Gpt={port}"}
        yield _client(f"llm client {bug.name}", "llm", "llm_client_bugs.py", bug, **options)
    for protocol, wrong in (*dns_client_bugs.BUGS.items(), ("http", http_bugs.BUGS)):
        spec = {"udp": "dns", "tcp": "dns_tcp", "http": "http"}[protocol]
        how = {"server": "udp:{port}" if protocol == "udp" else "tcp:{port}", "sessions": 1, "max_messages": 2, **HASTE}
        for each in wrong:
            command = sender_of(each.sent, "udp" if protocol == "udp" else "tcp")
            yield PlantedBug(f"{spec} client, {each.name}", each.finding, spec, {"target": command, **how})
    broker = {"server": "Broker=tcp:{port}", "sessions": 1, "patience": 1.0}
    for each in mqtt_client_bugs.BUGS:
        command = sender_of(each.sent, "tcp")
        yield PlantedBug(f"mqtt client, {each.name}", each.finding, "mqtt_clients", {"target": command, **broker})


def _client(name: str, spec: str, program: str, bug: Any, **options: Any) -> PlantedBug:
    sides = {"server": "{port}", "target": client_of(program, bug.name), "sessions": bug.sessions}
    return PlantedBug(name, bug.finding, spec, {**sides, **options})


def survival_of(bug: PlantedBug, folder: Path) -> Survival:
    """Find a bug, replay what was found, and make the first finding small."""
    folder.mkdir(exist_ok=True)
    with bug.peer(folder) as given:
        options = {"seed": 1, "until": "forever", **bug.options, **given}
        with palaver.talk(bug.spec, **options) as campaign:
            record(campaign, folder / "run", options)
            campaign.run()
        with palaver.open_run(folder / "run") as run:
            findings = run.findings
            results = [replay_offline(run, each) for each in findings]
            firsts = list({each.digest: each for each in reversed(findings)}.values())[::-1]
            live = []
            for first in firsts:
                live += replay_live(LiveTarget(run, first), recorded_script(run, first), TRIES)
            # Shrinking takes most of the time, and can be judged only if the shortest conversation is known.
            made = shrink(run, firsts[0], bug.limits) if firsts and bug.name in SHORTEST else None
    parting = next((each.parting or "no such finding" for each in results if not each.is_found), "")
    return Survival(
        name=bug.name,
        findings=len(findings),
        is_as_expected=any(each.kind.label == bug.finding for each in findings),
        offline=sum(each.is_found for each in results),
        live=sum(each.is_reproduced for each in live),
        tries=len(live),
        recorded=firsts[0].messages if firsts else 0,
        shrunk=None if made is None else len(made.messages),
        shortest=SHORTEST.get(bug.name),
        parting=parting,
        small=() if made is None else tuple(show_data(said.data) for said in made.messages),
    )


def main(names: list[str]) -> None:
    """Survey the bugs, and print a line for each, and the totals."""
    seen = []
    for bug in catalogue():
        if not names or bug.name.startswith(tuple(names)):
            with tempfile.TemporaryDirectory() as folder:
                try:
                    seen.append(survival_of(bug, Path(folder) / "it"))
                    print(json.dumps(asdict(seen[-1])), flush=True)
                except Exception as error:
                    print(f"{bug.name}: {type(error).__name__}: {error}", flush=True)
    ratios = [each.shrunk / each.shortest for each in seen if each.shrunk and each.shortest]
    print(f"{len(seen)} bugs, {sum(each.findings for each in seen)} findings")
    print(f"found as expected: {sum(each.is_as_expected for each in seen)} of {len(seen)}")
    print(f"offline: {sum(each.offline for each in seen)} of {sum(each.findings for each in seen)}")
    print(f"live: {sum(each.live for each in seen)} of {sum(each.tries for each in seen)}")
    print(f"made small: {len(ratios)}, {median(ratios) if ratios else 0:.2f} times the shortest (median)")


if __name__ == "__main__":
    main(sys.argv[1:])
