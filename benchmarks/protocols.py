"""Every bundled spec against real servers and clients: conversations, findings, coverage, and what is not reached.

`make protocols` prints one row for each pair; a row with a finding that is not only a note is shown as FOUND, and then
the exit status is 1: these are good servers and clients, so a finding is false, or news. Runs are guided, with one
seed, of 200 conversations: once all is covered that can be, they go on at random. Pairs whose programs are not
installed (`make servers`) are left out, and said to be.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "tests"), str(HERE.parent / "tests" / "matching")]

from palaver.transport.certificate import make_certificate  # noqa: E402
from servers import (  # noqa: E402
    coap,
    dns,
    ftp,
    imap,
    mail,
    modbus,
    mqtt,
    ntp,
    pop3,
    redis,
    stock,
    tftp,
    web,
    websocket,
)
from servers.clients import CLIENTS  # noqa: E402
from servers.common import program  # noqa: E402

LETTER = "From: <a@example.com>\r\nTo: <b@example.com>\r\nSubject: hello\r\n\r\nHow are you?\r\n"


@dataclass(frozen=True)
class Run:
    """How palaver is called, where, and with which environment."""

    arguments: tuple[str, ...]
    environment: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Pair:
    """A spec, and whom it is tried on."""

    spec: str
    peer: str
    needs: tuple[str, ...]
    setting: Any  # folder -> context manager of a Run


def server(make: Any, uri: str = "{port}", *, also: str = "", options: tuple[str, ...] = ()) -> Any:
    """We are the client of a server that `make` starts, given a folder of its own; `also` is a spec of its own."""

    @contextmanager
    def setting(folder: Path) -> Iterator[Run]:
        (folder / "also.fan").write_text(also)
        with make(folder) as running:
            more = ("also.fan",) if also else ()
            yield Run((*more, *options, "--client", uri.replace("{port}", str(running.port))))

    return setting


def client(command: str, uri: str = "{port}") -> Any:
    """We are the server of a client that is started for each conversation."""

    @contextmanager
    def setting(folder: Path) -> Iterator[Run]:
        (folder / "letter").write_text(LETTER, newline="")
        yield Run(("--server", uri, "--target", command))

    return setting


@contextmanager
def with_certificate(folder: Path) -> Iterator[Path]:
    path = folder / "server.pem"
    with make_certificate() as made:
        path.write_bytes(Path(made).read_bytes())
    yield path


def secured(make: Any, *, in_folder: bool) -> Any:
    """The same with a certificate."""

    @contextmanager
    def started(folder: Path) -> Iterator[Any]:
        with ExitStack() as stack:
            certificate = stack.enter_context(with_certificate(folder))
            inside = folder / "server"
            inside.mkdir()
            inside.chmod(0o755)
            arguments = (inside,) if in_folder else ()
            yield stack.enter_context(make(*arguments, certificate=certificate))

    return server(started)


@contextmanager
def model(folder: Path) -> Iterator[Run]:
    with web.language_model() as running:
        yield Run((), {"OPENAI_BASE_URL": f"{running.url}/v1", "OPENAI_API_KEY": "the_password"})


def alone(make: Any) -> Any:
    """A server that needs no folder."""
    return lambda folder: make()


SMTPLIB = """
import smtplib, sys
with smtplib.SMTP("127.0.0.1", int(sys.argv[1]), "client.example") as client:
    client.login("the_user", "the_password")
    client.sendmail("a@example.com", "b@example.com", open("letter").read())
"""
NCFTP = "ncftpls -u the_user -p the_password -P {port} ftp://127.0.0.1/"
WGET = "wget -q -O /dev/null --tries=1 --timeout=20 ftp://the_user:the_password@127.0.0.1:{port}/readme.txt"
FTPLIB = """
import ftplib, sys
with ftplib.FTP(timeout=20) as ftp:
    ftp.connect("127.0.0.1", int(sys.argv[1]))
    ftp.login("the_user", "the_password")
    ftp.nlst()
"""
REDIS_PY = """
import sys, redis
with redis.Redis(port=int(sys.argv[1]), protocol=2, socket_timeout=20) as client:
    client.hset("h", "f", "v")
    assert client.hgetall("h") == {b"f": b"v"}
    client.incr("n")
"""
MOSQUITTO_PUB = "mosquitto_pub -p {port} -q 1 -r -t palaver/a -m hello"
MOSQUITTO_SUB = "mosquitto_sub -p {port} -q 1 -t palaver/# -C 1"
ACCOUNT = "-u the_user:the_password"
SWAKS = (
    "swaks --server 127.0.0.1 --port {port} --ehlo client.example --from a@example.com --to b@example.com "
    "--auth LOGIN --auth-user the_user --auth-password the_password"
)
MSMTP = (
    "sh -c 'msmtp -C /dev/null --host=127.0.0.1 --port={port} --timeout=20 --domain=client.example --auth=login "
    '--user=the_user --passwordeval="echo the_password" --tls=off --from=a@example.com b@example.com <letter\''
)
CURL_MAIL = (
    f"curl -sS --url smtp://127.0.0.1:{{port}}/client.example {ACCOUNT} "
    "--mail-from a@example.com --mail-rcpt b@example.com -T letter"
)
_LIST = "set net:timeout 5; set net:max-retries 1; set ftp:ssl-allow no; open {account} -p {port} 127.0.0.1; ls"
LFTP = shlex.join(["lftp", "--norc", "-c", _LIST.replace("{account}", "-u the_user,the_password")])
_QUOTES = "http://127.0.0.1:{port}/quotes"
CURL_QUOTES = f"curl -sS -m 20 {_QUOTES}?limit=3 --next {_QUOTES}?limit=ten --next -d '{{}}' {_QUOTES}"
_PAGE = "http://127.0.0.1:{port}/page"
CURL_PAGES = (
    f"curl -sS -m 20 {_PAGE} --next -sS -m 20 -I {_PAGE} --next -sS -m 20 -r 0-3 {_PAGE} "
    f"--next -sS -m 20 -d a=b {_PAGE} --next -sS -m 20 -z 2020-01-01 {_PAGE} "
    f"--next -sS -m 20 -H 'Transfer-Encoding: chunked' -d a=b {_PAGE}"
)
WGET_PAGES = f"wget -q -O /dev/null --tries=1 --timeout=20 {_PAGE} {_PAGE}s"
QUALITY = HERE.parent / "tests" / "quality"
MPOP = (
    "mpop -C /dev/null --host=127.0.0.1 --port={port} --timeout=20 --auth=user --tls=off --user=the_user "
    "--passwordeval='echo the_password' --uidls-file=uidls --delivery=mbox,mbox"
)
DIG = "dig @127.0.0.1 -p {port} +time=2 +tries=1 A www.example.test"

KDIG = "kdig @127.0.0.1 -p {port} +time=2 +retry=0 MX www.example.test"
DRILL = "drill -p {port} www.example.test @127.0.0.1 AAAA"


def python(script: str) -> str:
    return shlex.join([sys.executable, "-c", script, "{port}"])


def right_client(module: str) -> str:
    """The client that is right, from the file with those that are not."""
    return shlex.join([sys.executable, str(QUALITY / f"{module}_client_bugs.py"), "Client", "{port}"])


POSTFIX = (stock.PROGRAMS["postfix"],)
# It hangs up on the fourth mistake and on the eleventh command that is not about mail, without 421: RFC 5321 (3.8).
EXIM_LIMITS = ("--set", "most_mistakes=3", "--set", "most_pauses=10")
EXIM_TIGHTER_LIMITS = ("--set", "most_mistakes=3", "--set", "most_pauses=7")  # where not every hello is counted
# After ten mistakes it takes a second for each answer, and after twenty it leaves.
POSTFIX_LIMITS = ("--set", "most_mistakes=6")
# It answers twice to RNTO of a guest, where RFC 959 (5.4) has one reply to each command.
PROFTPD_GUESTS = '<for_users> ::= "CWD /docs\\r\\n" | "LIST\\r\\n" | "RETR /readme.txt\\r\\n"\n'
# After EPSV ALL, vsftpd still takes EPRT, and Pure-FTPd PASV: RFC 2428 (4) forbids both.
NOT_ALL = (
    "<extended_only> ::= <Client:Server:epsv_all> "
    "(<Server:Client:all_done> | <Server:Client:not_implemented>) <goodbye>\n"
)
PROFTPD = (stock.PROGRAMS["proftpd"],)
STOCK_EXIM = (stock.PROGRAMS["exim4"],)

PAIRS = (
    Pair("smtp", "aiosmtpd", (), server(alone(mail.aiosmtpd))),
    Pair("smtp", "Exim", (str(mail.EXIM / "usr/sbin/exim4"),), server(alone(mail.exim))),
    Pair("smtp_relay", "OpenSMTPD", ("smtpd",), server(alone(mail.opensmtpd))),
    Pair("smtp", "Postfix, stock", POSTFIX, server(alone(partial(stock.postfix, has_account=True)))),
    Pair("smtp", "Exim, stock", STOCK_EXIM, server(alone(partial(stock.exim, has_account=True)), options=EXIM_LIMITS)),
    Pair("smtp_relay", "Postfix, stock", POSTFIX, server(alone(partial(stock.postfix, has_account=False)))),
    Pair(
        "smtp_relay",
        "Exim, stock",
        STOCK_EXIM,
        server(alone(partial(stock.exim, has_account=False)), options=EXIM_LIMITS),
    ),
    Pair("smtp_relay", "OpenSMTPD, stock", ("smtpd", "unshare"), server(alone(stock.opensmtpd))),
    Pair("smtp_starttls", "aiosmtpd", ("openssl",), secured(mail.aiosmtpd, in_folder=False)),
    Pair("smtp_full", "aiosmtpd", ("openssl",), secured(mail.aiosmtpd, in_folder=False)),
    Pair(
        "smtp_full",
        "Postfix, stock",
        POSTFIX,
        server(alone(partial(stock.postfix, has_account=True)), options=POSTFIX_LIMITS),
    ),
    Pair(
        "smtp_full",
        "Exim, stock",
        STOCK_EXIM,
        server(alone(partial(stock.exim, has_account=True)), options=EXIM_TIGHTER_LIMITS),
    ),
    Pair("smtp_full", "OpenSMTPD, stock", ("smtpd", "unshare"), server(alone(stock.opensmtpd))),
    Pair("ftp", "pyftpdlib", (), server(ftp.pyftpdlib)),
    Pair("ftp", "vsftpd", ("vsftpd",), server(ftp.vsftpd)),
    Pair("ftp", "vsftpd, stock", ("vsftpd",), server(alone(stock.vsftpd))),
    Pair("ftp", "ProFTPD, stock", (stock.PROGRAMS["proftpd"],), server(alone(stock.proftpd))),
    Pair("ftp", "Pure-FTPd, stock", (stock.PROGRAMS["pure-ftpd"],), server(alone(stock.pure_ftpd))),
    Pair("ftp_full", "pyftpdlib", ("openssl",), secured(ftp.pyftpdlib, in_folder=True)),
    Pair("ftp_full", "vsftpd, stock", ("vsftpd",), server(alone(stock.vsftpd), also=NOT_ALL)),
    Pair("ftp_full", "ProFTPD, stock", PROFTPD, server(alone(stock.proftpd), also=PROFTPD_GUESTS)),
    Pair(
        "ftp_full",
        "Pure-FTPd, stock",
        (stock.PROGRAMS["pure-ftpd"],),
        server(alone(stock.pure_ftpd), also=NOT_ALL),
    ),
    Pair("ftp_tls", "pyftpdlib", ("openssl",), secured(ftp.pyftpdlib, in_folder=True)),
    Pair("ftp_tls", "vsftpd", ("vsftpd", "openssl"), secured(ftp.vsftpd, in_folder=True)),
    Pair("dns", "BIND", ("named", "dig"), server(alone(dns.bind))),
    Pair("dns", "dnslib", ("dig",), server(alone(dns.dnslib))),
    Pair("dns", "NSD", ("nsd",), server(alone(dns.nsd))),
    Pair("dns", "Knot", ("knotd",), server(alone(dns.knot))),
    Pair("dns", "PowerDNS", ("pdns_server",), server(alone(dns.powerdns))),
    Pair("dns_tcp", "BIND", ("named", "dig"), server(alone(dns.bind))),
    Pair("dns_tcp", "NSD", ("nsd",), server(alone(dns.nsd))),
    Pair("dns_tcp", "Knot", ("knotd",), server(alone(dns.knot))),
    Pair("dns_tcp", "PowerDNS", ("pdns_server",), server(alone(dns.powerdns))),
    Pair("dns_tcp", "dnslib", ("dig",), server(alone(dns.dnslib))),
    Pair("rest", "quotes", (), server(alone(web.quotes_api))),
    Pair("http", "nginx, stock", ("nginx",), server(alone(stock.nginx))),
    Pair("http", "lighttpd, stock", ("lighttpd",), server(alone(stock.lighttpd))),
    Pair("http", "Apache, stock", ("apache2",), server(alone(stock.apache), options=("--set", "guarded=1"))),
    Pair("websocket", "websockets", (), server(alone(websocket.websockets))),
    Pair("websocket", "ws", ("node",), server(alone(websocket.node_ws))),
    Pair("websocket", "websocketd", ("websocketd",), server(alone(websocket.websocketd), options=websocket.IS_TEXT)),
    Pair("websocket", "websockets, client", (), client(websocket.WEBSOCKETS)),
    Pair("websocket", "websocket-client", (), client(websocket.WEBSOCKET_CLIENT)),
    Pair("llm", "a stub", (), model),
    *(Pair(spec, name, ("curl", "openssl"), client(command)) for spec, (name, command) in CLIENTS.items()),
    Pair("smtp_clients", "swaks", ("swaks",), client(SWAKS)),
    Pair("smtp_clients", "curl", ("curl",), client(CURL_MAIL)),
    Pair("smtp_clients", "msmtp", ("msmtp",), client(MSMTP)),
    Pair("smtp_clients", "smtplib", (), client(python(SMTPLIB))),
    Pair("ftp_clients", "curl", ("curl",), client(f"curl -sS -m 20 {ACCOUNT} ftp://127.0.0.1:{{port}}/readme.txt")),
    Pair("ftp_clients", "lftp", ("lftp",), client(LFTP)),
    Pair("ftp_clients", "ncftp", ("ncftpls",), client(NCFTP)),
    Pair("ftp_clients", "wget", ("wget",), client(WGET)),
    Pair("ftp_clients", "ftplib", (), client(python(FTPLIB))),
    Pair("dns", "dig", ("dig",), client(DIG)),
    Pair("dns", "kdig", ("kdig",), client(KDIG)),
    Pair("dns", "drill", ("drill",), client(DRILL)),
    Pair("dns_tcp", "dig", ("dig",), client(f"{DIG} +tcp")),
    Pair("dns_tcp", "kdig", ("kdig",), client(f"{KDIG} +tcp")),
    Pair("dns_tcp", "drill", ("drill",), client(f"{DRILL} -t")),
    Pair("rest", "curl", ("curl",), client(CURL_QUOTES)),
    Pair("rest", "a client", (), client(right_client("rest"))),
    Pair("llm", "openai", (), client(right_client("llm"), "Gpt={port}")),
    Pair("http", "curl", ("curl",), client(CURL_PAGES)),
    Pair("http", "wget", ("wget",), client(WGET_PAGES)),
    Pair("pop3", "Dovecot", ("dovecot",), server(alone(pop3.dovecot))),
    Pair("pop3", "curl", ("curl",), client(f"curl -sS -m 20 {ACCOUNT} pop3://127.0.0.1:{{port}}/1")),
    Pair("pop3", "mpop", ("mpop",), client(MPOP)),
    Pair("imap", "Dovecot", ("/usr/lib/dovecot/imap",), server(alone(imap.dovecot))),
    Pair("imap", "curl", ("curl",), client(f"curl -sS -m 20 {ACCOUNT} imap://127.0.0.1:{{port}}/INBOX;MAILINDEX=1")),
    Pair("mqtt", "mosquitto", ("mosquitto",), server(alone(mqtt.mosquitto))),
    Pair("mqtt_clients", "mosquitto_pub", ("mosquitto_pub",), client(MOSQUITTO_PUB, "Broker={port}")),
    Pair("mqtt_clients", "mosquitto_sub", ("mosquitto_sub",), client(MOSQUITTO_SUB, "Broker={port}")),
    Pair("mqtt_clients", "paho", (), client(mqtt.PAHO, "Broker={port}")),
    Pair("redis", "redis-server", ("redis-server",), server(alone(redis.redis_server))),
    Pair("redis", "redis-cli", ("redis-cli",), client("redis-cli -p {port} -r 3 RPUSH palaver:l a 'two words'")),
    Pair("redis", "redis-py", (), client(python(REDIS_PY))),
    Pair("coap", "libcoap", (coap.LIBCOAP,), server(alone(coap.libcoap), options=coap.LIBCOAP_LIMITS)),
    Pair("coap", "aiocoap", (), server(alone(coap.aiocoap), options=coap.AIOCOAP_LIMITS)),
    Pair("coap", "libcoap, client", ("coap-client-notls",), client(coap.CLIENTS["coap-client reads"])),
    Pair("coap", "aiocoap, client", (), client(coap.CLIENTS["aiocoap-client reads"])),
    Pair("modbus", "libmodbus", ("mbpoll",), server(alone(modbus.libmodbus))),
    Pair("modbus", "pymodbus", (), server(alone(modbus.pymodbus), also=modbus.WITHOUT_MISTAKES)),
    Pair("modbus", "mbpoll", ("mbpoll",), client("mbpoll -1 -a 1 -t 4 -r 1 -c 5 -p {port} 127.0.0.1")),
    Pair("ntp", "chrony", (ntp.CHRONYD,), server(alone(ntp.chrony))),
    Pair("ntp", "ntplib", (), client(ntp.NTPLIB)),
    Pair("tftp", "tftpd-hpa", ("in.tftpd",), server(alone(tftp.tftpd_hpa))),
    # It sends blocks twice when acknowledgments come twice: RFC 1123 (4.2.3.1).
    Pair("tftp", "atftpd", (tftp.ATFTPD,), server(alone(tftp.atftpd), options=("--set", "repeats=0"))),
    Pair("tftp", "curl", ("curl",), client("curl -sS -m 20 tftp://127.0.0.1:{port}/palaver-a -o /dev/null")),
    Pair("tftp", "atftp", ("atftp",), client("atftp --get -r palaver-a -l /dev/null 127.0.0.1 {port}")),
    Pair("tftp", "tftp", ("tftp",), client("tftp 127.0.0.1 {port} -m binary -c put letter palaver-a")),
)


def main() -> int:
    options = _options()
    failed = 0
    print(f"{'spec':14} {'peer':16} {'sessions':>8} {'messages':>8} {'covered':>14}  findings")
    for pair in PAIRS:
        if options.only and pair.spec not in options.only:
            continue
        if options.peer and not any(name.lower() in pair.peer.lower() for name in options.peer):
            continue
        missing = [name for name in pair.needs if program(name) is None and not Path(name).exists()]
        if missing:
            print(f"{pair.spec:14} {pair.peer:16} left out: {', '.join(missing)} is not installed")
            continue
        failed += _show(pair, options)
    return 1 if failed else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", metavar="SPEC", help="these specs alone")
    parser.add_argument("--peer", nargs="*", metavar="PEER", help="peers with one of these in their names alone")
    parser.add_argument("--beyond", metavar="SHARE", help="say what is wrong as well, in this share of turns")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep what is printed of each pair in a file there")
    return parser.parse_args()


def _show(pair: Pair, options: argparse.Namespace) -> bool:
    """Have the conversations and print the row; whether something was found."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        setting: AbstractContextManager[Run] = pair.setting(folder)
        with setting as run:
            command = [sys.executable, "-m", "palaver", "talk", pair.spec, *run.arguments]
            command += ["-n", str(options.sessions), "--seed", str(options.seed), "--console", "none"]
            command += ["--beyond", options.beyond] if options.beyond else []
            done = subprocess.run(
                command, cwd=folder, env=os.environ | run.environment, capture_output=True, text=True, check=False
            )
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
        (options.keep / re.sub(r"\W+", "-", f"{pair.spec} {pair.peer}")).write_text(done.stdout + done.stderr)
    summary = re.search(r"^(\d+) sessions?, (\d+) messages? sent, (\d+) received, (.*)$", done.stdout, re.MULTILINE)
    covered = re.search(r"^covered (\d+) of (\d+) \d+-paths$", done.stdout, re.MULTILINE)
    if summary is None or covered is None:
        print(f"{pair.spec:14} {pair.peer:16} FAILED with exit code {done.returncode}:\n{done.stderr}", flush=True)
        return True
    messages = int(summary[2]) + int(summary[3])
    share = f"{covered[1]}/{covered[2]} {int(covered[1]) / int(covered[2]):.0%}"
    is_found = done.returncode != 0
    mark = "  FOUND" if is_found else ""
    print(f"{pair.spec:14} {pair.peer:16} {summary[1]:>8} {messages:>8} {share:>14}  {summary[4]}{mark}", flush=True)
    reasons = [line for line in done.stdout.splitlines() if line.startswith("not reached: ")]
    if "--server" in run.arguments and covered[1] != covered[2]:
        reasons = [
            "not reached: what this command line never makes the client say, and what can only be answered to that"
        ]
    for line in reasons:
        print(f"{'':32}{line}")
    if is_found:
        print(done.stdout[:2000])
    return is_found


if __name__ == "__main__":
    sys.exit(main())
