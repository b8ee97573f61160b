"""The core file of a crash is named, if there is one."""

from __future__ import annotations

import resource
import shlex
import sys
from pathlib import Path

import pytest

import palaver as palaver_
from palaver.campaign import core_files
from palaver.campaign.core_files import CoreFiles
from palaver.campaign.target_findings import TargetExit


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("core", "core"),
        ("core.%p", "core.123"),
        ("core-%e-%t", "core-mailserver-1700000000"),
        ("a[b]%%.%p", "a[b]%.7"),
        ("dumps/%e.%p", "dumps/server.9"),
    ],
)
def test_a_core_file_is_known_by_the_pattern_of_the_system(tmp_path: Path, pattern: str, name: str) -> None:
    (tmp_path / "dumps").mkdir()
    (tmp_path / "core.txt.old").write_text("another file")
    files = CoreFiles(str(tmp_path), pattern)
    assert files.written() == ""
    (tmp_path / name).write_bytes(b"ELF")
    assert files.written() == str(tmp_path / name)


def test_a_core_file_may_be_in_another_folder(tmp_path: Path) -> None:
    files = CoreFiles("/", f"{tmp_path}/core.%p")
    (tmp_path / "core.1").write_bytes(b"ELF")
    assert files.written() == str(tmp_path / "core.1")


def test_an_older_core_file_is_not_named_unless_it_was_written_again(tmp_path: Path) -> None:
    core = tmp_path / "core"
    core.write_bytes(b"ELF")
    files = CoreFiles(str(tmp_path), "core")
    assert files.written() == ""
    core.unlink()
    core.write_bytes(b"ELF, again")
    assert files.written() == str(core)


@pytest.mark.parametrize("pattern", ["", "|/usr/lib/systemd/systemd-coredump %P"])
def test_core_files_that_are_handed_to_a_program_are_not_looked_for(tmp_path: Path, pattern: str) -> None:
    files = CoreFiles(str(tmp_path), pattern)
    (tmp_path / "core").write_bytes(b"ELF")
    assert files.written() == ""


def test_a_crash_names_its_core_file() -> None:
    finding = TargetExit(0.0, -11, b"ouch\n", core="/tmp/core.1").finding(())
    assert finding.message == (
        "the system under test was killed by SIGSEGV\n  core file: /tmp/core.1\n  its last output:\n  | ouch"
    )
    assert "/tmp" not in finding.fingerprint.cause


@pytest.mark.parametrize(
    ("pattern", "uses_pid", "file"),
    [("core\n", "0\n", "core"), ("core\n", "1\n", "core.77"), ("c-%p\n", "1\n", "c-77")],
)
def test_the_system_says_where_core_files_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pattern: str, uses_pid: str, file: str
) -> None:
    for name, text in (("_PATTERN", pattern), ("_USES_PID", uses_pid)):
        (tmp_path / name).write_text(text)
        monkeypatch.setattr(core_files, name, tmp_path / name)
    (tmp_path / "here").mkdir()
    found = CoreFiles(str(tmp_path / "here"))
    assert found.written() == ""
    (tmp_path / "here" / file).write_text("")
    assert found.written() == str(tmp_path / "here" / file)


CRASHES = """
import os, resource, socket, sys
resource.setrlimit(resource.RLIMIT_CORE, (resource.getrlimit(resource.RLIMIT_CORE)[1],) * 2)
with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as server:
    connection, _ = server.accept()
    connection.recv(9)
    os.abort()
"""


@pytest.mark.skipif(resource.getrlimit(resource.RLIMIT_CORE)[1] == 0, reason="core files are forbidden here")
@pytest.mark.skipif(bool(set("|/") & set(core_files._PATTERN.read_text())), reason="core files go elsewhere here")
def test_the_core_file_of_a_server_that_crashes_is_named(tmp_path: Path) -> None:
    spec = palaver_.loads('<start> ::= <Client:ask> <Server:answer>\n<ask> ::= "ask\\n"\n<answer> ::= "well\\n"\n')
    target = f"{shlex.join([sys.executable, '-SEc', CRASHES])} {{port}}"
    campaign = palaver_.talk(spec, target=target, seed=1, sessions=1, cwd=str(tmp_path)).run()
    (finding,) = campaign.findings
    (core,) = tmp_path.iterdir()
    assert core.read_bytes()[:4] == b"\x7fELF"
    assert f"killed by SIGABRT\n  core file: {core}" in finding.message
