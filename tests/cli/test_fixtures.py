"""`palaver specs --about` and `--fixture`, and `--set` wherever a spec is read."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

import palaver as palaver_
from palaver.compiled.bundled import bundled
from palaver.fixtures import fixture_of
from servers.common import free_port, greets, started

ECHO = r"""WORD = "hello"  # [parameter] the word
<start> ::= <In:ask> <Out:answer>
# [set by WORD]
<ask> ::= "hello" "\n"
<answer> ::= r"[a-z]+" "\n"
where str(<answer>) != "pest\n"
"""


@pytest.mark.parametrize("name", [name for name in bundled() if name != "binary"])
def test_every_spec_tells_how_a_server_for_it_is_started_and_writes_what_it_needs(palaver: Any, name: str) -> None:
    written = palaver("specs", name, "--fixture", "made here", "--port", "7777")
    assert written.code == 0, written.said
    assert "written to made here" in written.text
    assert "palaver talk" in written.text
    texts = [path.read_text() for path in (palaver.folder / "made here").rglob("*") if path.is_file()]
    assert not any(f"@{word}@" in text for text in texts for word in ("DIR", "PORT", "USER", "PASSWORD", "ZONE"))
    assert "@" not in written.text


def test_about_tells_parameters_with_their_defaults(palaver: Any) -> None:
    told = palaver("specs", "ftp_tls", "--about").text
    assert told.startswith("ftp_tls: FTP over TLS")
    assert "  folders=/,/docs,/empty  folders that the user can visit\n" in told
    assert told.endswith("DIR is made by: palaver specs ftp_tls --fixture DIR\n")


def test_a_fixture_has_the_values_that_are_set(palaver: Any) -> None:
    palaver(
        "specs", "ftp", "--fixture", "f", "--set", "folders=/,/pub", "--set", "files=/pub/a.txt", "--set", "upload=/in"
    )
    home = palaver.folder / "f" / "home"
    assert (home / "pub" / "a.txt").is_file()
    assert (home / "in").is_dir()
    assert not (home / "empty").exists()
    told = palaver("specs", "dns", "--fixture", "d", "--set", "zone=example.org", "--port", "5301")
    assert "$ORIGIN example.org.\n" in (palaver.folder / "d" / "zone").read_text()
    assert "listen-on port 5301 { 127.0.0.1; };" in (palaver.folder / "d" / "named.conf").read_text()
    assert "palaver talk dns --set zone=example.org --client 5301" in told.text


def test_a_path_that_leads_elsewhere_is_refused(palaver: Any) -> None:
    wrong = palaver("specs", "ftp", "--fixture", "f", "--set", "upload=/../../out")
    assert wrong.code == 2
    assert "leads out of the folder" in wrong.said


@pytest.mark.parametrize(
    "options, message",
    [
        (["--about"], "which spec?"),
        (["smtp", "--set", "user=joe"], "give --about or --fixture"),
        (["binary", "--fixture", "f"], "binary has no fixture"),
        (["ftp", "--fixture", "full"], "full is not empty"),
        (["ftp", "--about", "--set", "usr=joe"], "did you mean user?"),
        (["ftp", "--about", "--set-file", "none.toml"], "cannot read none.toml"),
        (["ftp", "--about", "--set-file", "bad.toml"], "bad.toml is not TOML"),
    ],
)
def test_what_is_asked_for_wrongly_is_told(palaver: Any, options: list[str], message: str) -> None:
    (palaver.folder / "full").mkdir()
    (palaver.folder / "full" / "file").touch()
    (palaver.folder / "bad.toml").write_text("=")
    wrong = palaver("specs", *options)
    assert wrong.code == 2
    assert message in wrong.said


def test_a_server_of_a_fixture_has_the_account_that_is_set(palaver: Any, tmp_path: Path) -> None:
    port = free_port()
    fixture = fixture_of(palaver_.load("ftp", parameters={"user": "joe", "password": "secret"}))
    assert fixture is not None
    fixture.write(tmp_path, port)
    line = next(line for line in fixture.about(str(tmp_path), port).splitlines() if "python3 -m pyftpdlib" in line)
    command = [sys.executable, *shlex.split(line)[1:]]
    options = ("--client", str(port), "--unguided")
    with started(command, is_ready=lambda: greets(port, b"220 "), log=tmp_path / "log"):
        account = ("--set", "user=joe", "--set", "password=secret")
        right = palaver("talk", "ftp", *account, "-n", "3", "--seed", "1", *options)
        # After each login that fails, this server waits for some seconds.
        wrong = palaver("talk", "ftp", "-n", "1", "--seed", "2", *options)
    assert (right.code, right.summary.endswith("no findings")) == (0, True), right.text
    assert wrong.code == 1


def test_parameters_come_from_options_files_and_the_project(palaver: Any) -> None:
    (palaver.folder / "echo.fan").write_text(ECHO)
    (palaver.folder / "set.toml").write_text('[parameters]\nword = "filed"\n')
    (palaver.folder / "palaver.toml").write_text(
        'spec = "echo.fan"\nprogram = ["cat"]\nsessions = 1\n[parameters]\nword = "project"\n'
    )
    assert palaver("fuzz", "-f", "echo.fan", "-S", "ask", "-n", "1").text == "hello\n\n"
    assert palaver("fuzz", "-f", "echo.fan", "-S", "ask", "-n", "1", "--set-file", "set.toml").text == "filed\n\n"
    both = palaver("fuzz", "-f", "echo.fan", "-S", "ask", "-n", "1", "--set-file", "set.toml", "--set", "word=given")
    assert both.text == "given\n\n"
    assert "'project\\n'" in palaver("talk", "-v").text
    (palaver.folder / "palaver.toml").write_text('spec = "echo.fan"\nparameters = 3\n')
    assert "parameters is a table" in palaver("talk").said


def test_a_run_keeps_the_parameters_it_was_made_with(palaver: Any) -> None:
    (palaver.folder / "echo.fan").write_text(ECHO)
    talked = palaver("talk", "echo.fan", "--set", "word=pest", "-n", "1", "--run", "r", "cat")
    assert talked.code == 1
    assert "parameters word=pest" in palaver("show", "r").text
    assert "the same finding" in palaver("replay", "r", "1", "--offline").text
    assert palaver("replay", "r", "1").code == 1
    assert palaver("replay", "r", "1", "-f", "echo.fan").code == 1
    assert "1 message" in palaver("shrink", "r", "1").text
    again = palaver("talk", "--resume", "r", "-n", "2")
    assert again.code == 1
    assert "2 sessions" in palaver("show", "r").text
    refused = palaver("talk", "--resume", "r", "-n", "3", "--set", "word=other")
    assert (refused.code, "name the spec as well" in refused.said) == (2, True)


def test_the_functions_of_the_library_take_parameters_too(tmp_path: Path) -> None:
    path = tmp_path / "echo.fan"
    path.write_text(ECHO)
    with palaver_.talk(path, program=["cat"], sessions=1, parameters={"word": "pest"}) as campaign:
        campaign.run()
    assert len(campaign.findings) == 1
    with pytest.raises(palaver_.PalaverError, match=r"give them to palaver\.load"):
        palaver_.talk(palaver_.load(path), program=["cat"], sessions=1, parameters={"word": "pest"})
