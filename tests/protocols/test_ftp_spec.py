"""The bundled specs of FTP: both sides understand each other, and real servers do nothing that is not in them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import pytest

import palaver as palaver_
from amounts import few
from palaver.compiled import Spec
from palaver.grammar.analysis import reachable
from palaver.session.findings import FindingKind, Verdict
from palaver.spec.traversal import refs
from palaver.testing import MemoryNetwork, SocketNetwork, in_pieces, run_pair
from palaver.testing.session_pair import SessionPair
from palaver.transport.certificate import make_certificate
from servers import stock
from servers.common import needs_openssl
from servers.ftp import FtpServer, needs_vsftpd, pyftpdlib, vsftpd

SPECS = Path(palaver_.__file__).parent / "specs"
FTP = SPECS / "ftp.fan"
FTP_TLS = SPECS / "ftp_tls.fan"
FTP_FULL = SPECS / "ftp_full.fan"

# Who of one session talks to whom of the other. All other parties go with these.
SIDES = {"Client": "Server"}

Start: TypeAlias = Callable[..., AbstractContextManager[FtpServer]]

EACH_SERVER = pytest.mark.parametrize(
    "server",
    [
        pytest.param(pyftpdlib, id="pyftpdlib"),
        pytest.param(vsftpd, marks=needs_vsftpd, id="vsftpd"),
    ],
)


@pytest.fixture(scope="module")
def spec() -> Spec:
    return palaver_.load(FTP)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("certificates") / "server.pem"
    with make_certificate() as made:
        shutil.copy(made, path)
    return path


# --- the specs themselves ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [FTP, FTP_TLS, FTP_FULL], ids=["ftp", "ftp_tls", "ftp_full"])
def test_there_is_nothing_to_object_to(palaver: Any, path: Path) -> None:
    checked = palaver("check", "--strict", "--k", "5", str(path))
    assert (checked.code, checked.said) == (0, "")


def test_the_login_takes_twelve_rules_at_most(spec: Spec) -> None:
    below = {name: [ref.symbol for ref in refs(rule.body)] for name, rule in spec.grammar.rules.items()}
    needed = {name for start in ("<login>", "<failed_login>") for name in reachable(start, below)}
    assert len({"<logged_out>", *needed}) <= 12


# --- both sides -------------------------------------------------------------------------------------------------------


def verdicts(pair: SessionPair) -> list[Verdict]:
    return [session.verdict for session in pair]


def symbols(pair: SessionPair) -> list[str]:
    return [said.symbol for said in pair.caller.said]


@pytest.mark.parametrize("size", few([7, 1, 1000]))
def test_client_and_server_understand_each_other(spec: Spec, size: int) -> None:
    said: list[str] = []
    for seed in range(8):
        pair = run_pair(spec, pairs=SIDES, world=MemoryNetwork(wire=in_pieces(size, 0.001)), seed=seed)
        assert verdicts(pair) == [Verdict.PASS, Verdict.PASS], seed
        said += symbols(pair)
    assert {"<listing>", "<content>", "<closed>", "<epsv_port>", "<pasv_port>", "<denied>", "<bye>"} <= set(said)


def test_they_do_so_on_real_connections(spec: Spec) -> None:
    for seed in range(5):
        with SocketNetwork() as world:
            assert verdicts(run_pair(spec, pairs=SIDES, world=world, seed=seed)) == [Verdict.PASS, Verdict.PASS]


@pytest.mark.slow
def test_they_do_so_with_all_commands() -> None:
    spec = palaver_.load(FTP_FULL)
    said: list[str] = []
    for seed in range(60):
        pair = run_pair(spec, pairs=SIDES, world=MemoryNetwork(wire=in_pieces(70, 0.001)), seed=seed)
        assert verdicts(pair) == [Verdict.PASS, Verdict.PASS], seed
        said += symbols(pair)
    assert {"<eprt>", "<kept>", "<dele_answer>", "<rnto_answer>"} <= set(said)


@needs_openssl
def test_they_do_so_encrypted() -> None:
    spec = palaver_.load(FTP_TLS)
    said: list[str] = []
    for seed in range(10):
        pair = run_pair(spec, pairs=SIDES, seed=seed)
        assert verdicts(pair) == [Verdict.PASS, Verdict.PASS], seed
        said += symbols(pair)
    assert {"<prot_private>", "<prot_clear>", "<listing>"} <= set(said)


def test_nobody_fails_to_log_in_three_times(spec: Spec) -> None:
    failures = []
    for seed in range(20):
        said = symbols(run_pair(spec, pairs=SIDES, seed=seed))
        failures.append(said.count("<wrong_user>") + said.count("<wrong_password>"))
    assert max(failures) == 2


def test_a_server_that_does_not_go_where_it_says_is_found_out(spec: Spec) -> None:
    lines = FTP.read_text().splitlines(keepends=True)
    careless = palaver_.loads("".join(line for line in lines if not line.startswith("where forall <v> in <visit>")))
    pairs = [run_pair(spec, careless, pairs=SIDES, seed=seed) for seed in range(16)]
    assert {finding.kind for pair in pairs for finding in pair.caller.findings} == {FindingKind.CONSTRAINT}


@pytest.mark.parametrize(
    "server",
    [
        pytest.param(stock.vsftpd, marks=stock.needs("vsftpd"), id="vsftpd"),
        pytest.param(stock.proftpd, marks=stock.needs("proftpd"), id="ProFTPD"),
        pytest.param(stock.pure_ftpd, marks=stock.needs("pure-ftpd"), id="Pure-FTPd"),
    ],
)
def test_a_server_as_its_distribution_ships_it_is_not_accused(palaver: Any, server: Any) -> None:
    with server() as running:
        talked = palaver("talk", "ftp", "--client", str(running.port), "-n", "8", "--seed", "2")
    assert talked.code == 0, talked.said


# ProFTPD answers twice to RNTO of a guest (RFC 959, 5.4: one reply to each command).
GUESTS = '<for_users> ::= "CWD /docs\\r\\n" | "LIST\\r\\n" | "RETR /readme.txt\\r\\n" | "MKD /upload/guest\\r\\n"\n'
# After EPSV ALL they still take EPRT or PASV, which RFC 2428 (4) forbids.
NOT_ALL = (
    "<extended_only> ::= <Client:Server:epsv_all> "
    "(<Server:Client:all_done> | <Server:Client:not_implemented>) <goodbye>\n"
)


@pytest.mark.parametrize(
    ("server", "also"),
    [
        pytest.param(stock.vsftpd, NOT_ALL, marks=stock.needs("vsftpd"), id="vsftpd"),
        pytest.param(stock.proftpd, GUESTS, marks=stock.needs("proftpd"), id="ProFTPD"),
        pytest.param(stock.pure_ftpd, NOT_ALL, marks=stock.needs("pure-ftpd"), id="Pure-FTPd"),
    ],
)
def test_nor_is_it_with_all_commands(palaver: Any, server: Any, also: str) -> None:
    (palaver.folder / "also.fan").write_text(also)
    with server() as running:
        arguments = ("--client", str(running.port), "--unguided", "-n", "6", "--seed", "4")
        talked = palaver("talk", "ftp_full", "also.fan", *arguments)
    assert talked.code == 0, talked.said


# --- real servers -----------------------------------------------------------------------------------------------------


@pytest.fixture
def talk(palaver: Any) -> Callable[..., Any]:
    def run(spec: Path, server: FtpServer, *arguments: str) -> Any:
        return palaver("talk", "-f", str(spec), "--client", str(server.port), "--seed", "1", *arguments)

    return run


@EACH_SERVER
def test_a_real_server_does_nothing_wrong(talk: Callable[..., Any], tmp_path: Path, server: Start) -> None:
    with server(tmp_path) as running:
        talked = talk(FTP, running, "--unguided", "-n", "20")
    assert (talked.code, talked.said) == (0, ""), talked.text


@pytest.mark.slow
def test_nor_does_it_with_all_commands(talk: Callable[..., Any], tmp_path: Path) -> None:
    with pyftpdlib(tmp_path) as running:
        talked = talk(FTP_FULL, running, "--unguided", "-n", "20")
    assert talked.code == 0, talked.text
    assert talked.summary.endswith(" 1 finding (note: 1)")  # it answers REIN with 230


@EACH_SERVER
@needs_openssl
def test_nor_does_it_encrypted(talk: Callable[..., Any], tmp_path: Path, server: Start, certificate: Path) -> None:
    with server(tmp_path, certificate=certificate) as running:
        talked = talk(FTP_TLS, running, "--unguided", "-n", "20")
    assert (talked.code, talked.said) == (0, ""), talked.text


# Active mode, encrypted: the server connects, and is still the server of the handshake.
ABORTED = Path(__file__).parent / "ftp_abort.fan"


@pytest.mark.slow
@EACH_SERVER
@needs_openssl
def test_nor_when_transfers_are_aborted_and_the_end_is_a_race(
    talk: Callable[..., Any], tmp_path: Path, server: Start, certificate: Path
) -> None:
    with server(tmp_path, certificate=certificate) as running:
        (running.home / "big").write_bytes(bytes(5_000_000))
        talked = talk(ABORTED, running, "--unguided", "-n", "5")
    assert (talked.code, talked.said) == (0, ""), talked.text


@EACH_SERVER
def test_it_hangs_up_on_nobody_although_it_could(talk: Callable[..., Any], tmp_path: Path, server: Start) -> None:
    with server(tmp_path, most_failures=3) as running:
        talked = talk(FTP, running, "--unguided", "-n", "20")
    assert (talked.code, talked.said) == (0, ""), talked.text


@EACH_SERVER
@pytest.mark.parametrize("path", [FTP, pytest.param(FTP_TLS, marks=needs_openssl)], ids=["ftp", "ftp_tls"])
def test_everything_in_the_spec_can_happen(
    talk: Callable[..., Any], tmp_path: Path, server: Start, path: Path, request: pytest.FixtureRequest
) -> None:
    start = partial(server, certificate=request.getfixturevalue("certificate")) if path == FTP_TLS else server
    with start(tmp_path) as running:
        talked = talk(path, running, "--until", "coverage")
    assert (talked.code, talked.said) == (0, ""), talked.text


@needs_openssl
def test_a_server_that_acknowledges_prot_c_and_keeps_encrypting_is_found_out(
    talk: Callable[..., Any], tmp_path: Path, certificate: Path
) -> None:
    with pyftpdlib(tmp_path, certificate=certificate, keeps_encrypting=True) as running:
        talked = talk(FTP_TLS, running, "-n", "20", "--timeout", "0.5")
    assert talked.code == 1
    # It waits in vain for us to encrypt, or cannot make sense of what we say in clear.
    assert "no response" in talked.text or "unexpected response" in talked.text
