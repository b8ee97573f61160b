"""Real FTP clients under test: palaver is the server, and now and then says no, wherever a server may."""

from __future__ import annotations

import re
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import palaver as palaver_
from amounts import few
from palaver.testing import MemoryNetwork, in_pieces, run_pair

SPEC = str(Path(palaver_.__file__).parent / "specs" / "ftp_clients.fan")

# The numbers of all replies; 502 is as good as 500, and 125 as 150.
REPLIES = {
    *("150", "200", "211", "213", "215", "220", "221", "226", "227", "229", "230"),
    *("250", "257", "331", "350", "450", "451", "500", "530", "550"),
}
TWINS = {"502": "500", "125": "150"}

PYTHON_CLIENT = """
import ftplib, io, sys
ftp = ftplib.FTP(timeout=20)
ftp.connect("127.0.0.1", int(sys.argv[1]))
"""


@dataclass(frozen=True)
class Client:
    """A program, called in several ways; and what is never said to it, because it does not ask."""

    name: str
    commands: tuple[str, ...]
    unsaid: frozenset[str]


def curl(*arguments: str, path: str, account: str = "the_user:the_password") -> str:
    return f"curl -sS -m 20 -u {account} {' '.join(arguments)} ftp://127.0.0.1:{{port}}/{path}"


def lftp(*commands: str, password: str = "the_password") -> str:
    # Once is enough: who tries again would do so in another session.
    settings = ("net:timeout 20", "net:max-retries 1", "cmd:fail-exit yes", "xfer:clobber yes", "ftp:ssl-allow no")
    login = f"open -u the_user,{password} -p {{port}} 127.0.0.1"
    return shlex.join(["lftp", "--norc", "-c", "; ".join([*(f"set {each}" for each in settings), login, *commands])])


def ftplib(*statements: str, password: str = "the_password") -> str:
    login = f"ftp.login('the_user', '{password}')"
    return shlex.join(
        [sys.executable, "-I", "-S", "-c", PYTHON_CLIENT + "\n".join([login, *statements, "ftp.quit()"]), "{port}"]
    )


CURL = Client(
    "curl",
    (
        curl(path="readme.txt"),
        curl(path="docs/"),
        curl("--list-only", "--disable-epsv", path="docs/old/"),
        curl("--head", path="readme.txt"),
        curl("--upload-file up.txt", path="upload/up.txt"),
        curl(path="", account="the_user:wrong"),
        curl(path="", account="nobody:the_password"),
    ),
    frozenset({"211", "215"}),
)
LFTP = Client(
    "lftp",
    (
        lftp("ls"),
        # Not `nlist`: that of lftp 4.9.2 waits for ever if it is told 451 and then, when it tries again, 550.
        lftp("cd /docs/old", "ls"),
        lftp("get readme.txt -o down.txt"),
        lftp("set ftp:prefer-epsv yes", "cd docs", "get notes.txt -o down.txt", "cd ..", "ls"),
        lftp("put up.txt -o /upload/up.txt"),
        lftp("ls", password="wrong"),
    ),
    frozenset({"215", "229", "350"}),  # 229 needs a server that offers EPSV, and then accepts it
)
FTPLIB = Client(
    "ftplib",
    (
        ftplib("ftp.nlst()", "ftp.retrlines('LIST', len)"),
        ftplib("ftp.cwd('docs')", "ftp.cwd('old')", "ftp.cwd('..')", "assert ftp.pwd() == '/docs'"),
        ftplib("size = ftp.size('readme.txt')", "ftp.retrbinary('RETR readme.txt', len, rest=0)"),
        ftplib("ftp.sendcmd('SYST')", "ftp.sendcmd('FEAT')", "ftp.sendcmd('OPTS UTF8 ON')", "ftp.sendcmd('NOOP')"),
        ftplib("ftp.storbinary('STOR a', io.BytesIO(b'one\\ntwo\\n'))", "ftp.storlines('APPE a', io.BytesIO())"),
        ftplib(password="wrong"),
    ),
    frozenset({"229"}),
)


def talk(palaver: Any, command: str, sessions: int, *arguments: str) -> Any:
    palaver.write(up_txt="Hello,\nhow are you?\n")
    how_long = ("-n", str(sessions), "--until", "forever", "--seed", "1")
    return palaver("talk", "-f", SPEC, "--server", "{port}", "--target", command, *how_long, *arguments)


def replies(text: str) -> set[str]:
    codes = re.findall(r"^Server -> Client: ['\"](\d\d\d)", text, re.MULTILINE)
    return {TWINS.get(code, code) for code in codes}


@pytest.mark.parametrize(
    "client",
    [
        *(pytest.param(each, marks=pytest.mark.servers(each.name), id=each.name) for each in (CURL, LFTP)),
        pytest.param(FTPLIB, id="ftplib"),
    ],
)
def test_a_real_client_takes_yes_and_no_as_it_should(palaver: Any, client: Client) -> None:
    said: set[str] = set()
    for command in client.commands:
        # What was said to the client already need not be said again when it is called in another way.
        talked = talk(palaver, command, 8, "--goal", "inputs", "--coverage-file", "covered.json", "-v")
        assert talked.code == 0, talked.said
        assert talked.summary.startswith("8 sessions, ")
        said |= replies(talked.text)
    assert REPLIES - said <= client.unsaid


@pytest.mark.servers("curl")
def test_curl_is_content_with_the_classic_form_if_the_server_does_not_know_the_other(palaver: Any) -> None:
    palaver.write(old_fan="<open_data> ::= <classic>\n")
    talked = talk(palaver, curl(path="docs/"), 5, "-f", "old.fan", "-v")
    assert talked.code == 0, talked.said
    refused_and_asked = r"'EPSV\\r\\n'\n(# .*\n)*Server -> Client: .50[02].*\n(# .*\n)*Client -> Server: 'PASV"
    assert re.search(refused_and_asked, talked.text)


def test_nothing_can_be_said_against_the_spec(palaver: Any) -> None:
    checked = palaver("check", "--strict", SPEC)
    assert (checked.code, checked.said) == (0, "")


@pytest.mark.parametrize("size", few([7, 1, 1000]))
def test_both_sides_of_the_spec_understand_each_other(size: int) -> None:
    spec, said = palaver_.load(SPEC), set()
    for seed in range(30):
        wire = in_pieces(size, 0.001)
        client, server = run_pair(spec, pairs={"Client": "Server"}, world=MemoryNetwork(wire=wire), seed=seed)
        assert client.findings == server.findings == []
        said |= {each.symbol for each in client.said}
    assert {"<hung_up>", "<bye>", "<epsv_port>", "<pasv_port>", "<here>", "<refused>"} <= said
