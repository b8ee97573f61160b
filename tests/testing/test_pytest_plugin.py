"""The plugin of pytest, as the project of somebody else uses it: each run is a process, in a folder of its own."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from palaver.recording.run_reader import open_run
from palaver.session.findings import FindingKind, Verdict

PYTHON = shlex.quote(sys.executable)  # as a word of a command: its path may have spaces
SPEC = r"""<start> ::= <exchange>{3}
<exchange> ::= <Client:ask> <Server:answer>
<ask> ::= <word> "\n"
<answer> ::= <word> "\n"
<word> ::= r"[a-z]{1,8}"
where forall <e> in <exchange>: <e>.<ask>.<word> == <e>.<answer>.<word>
"""
# One for each of its two messages, for its constraint, and for each kind of finding.
TESTS = 2 + 1 + sum(kind.verdict is not Verdict.PASS for kind in FindingKind)
HEAD = """# [palaver]
# target = "{python} server.py {{port}}"
# sessions = 4
# report = "out.html"

"""
SERVER = r"""import socketserver, sys
class Echo(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            self.wfile.write(ANSWER)
socketserver.ThreadingTCPServer.allow_reuse_address = True
with socketserver.ThreadingTCPServer(("127.0.0.1", int(sys.argv[1])), Echo) as server:
    server.serve_forever()
"""
# The plugin by its name, and without all others that are installed here: to load them takes longer than the tests.
PLUGIN = ["-p", "palaver.pytest_plugin"]
ALONE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
IS_INSTALLED = any(each.name == "palaver" for each in entry_points(group="pytest11"))


class Project:
    """A project with a spec and a server, and pytest in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment: dict[str, str] = {}
        (folder / "pytest.ini").write_text("[pytest]\n")
        self.answer("line")

    def answer(self, expression: str) -> None:
        (self.folder / "server.py").write_text(SERVER.replace("ANSWER", expression))

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)

    def pytest(self, *arguments: str, as_installed: bool = False) -> tuple[int, str]:
        plugin = [] if as_installed and IS_INSTALLED else PLUGIN
        words = [sys.executable, "-m", "pytest", *plugin, "-rs", "-p", "no:randomly", *arguments]
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        kept |= ({} if as_installed else ALONE) | self.environment
        done = subprocess.run(words, cwd=self.folder, capture_output=True, text=True, check=False, env=kept)
        return done.returncode, done.stdout + done.stderr


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path)
    made.write("echo.fan", HEAD.format(python=PYTHON) + SPEC)
    return made


def test_a_spec_with_a_table_is_a_file_of_tests(project: Project) -> None:
    code, said = project.pytest("-v")
    assert code == 0, said
    assert "echo.fan::message <ask> PASSED" in said
    assert "echo.fan::constraint forall <e> in <exchange>: " in said
    assert f"{TESTS} passed" in said
    assert "echo.fan::finding crash PASSED" in said
    assert (project.folder / "out.html").exists()


@pytest.mark.slow
def test_a_wrong_server_fails_the_tests_of_what_is_wrong_and_only_those_are_run_again(project: Project) -> None:
    project.answer("bytes(byte + 1 if 97 <= byte < 122 else byte for byte in line)")
    code, said = project.pytest()
    assert code == 1, said
    assert "constraint violated: <answer> from Server" in said
    assert "Client: '" in said
    assert "try it again: palaver replay " in said
    assert "Traceback" not in said
    assert f"2 failed, {TESTS - 3} passed, 1 skipped" in said  # no answer was right
    # What was found before is tried first, and is found at once.
    assert "2 failed in" in project.pytest("--lf")[1]
    assert "first seen in session 1" in (project.folder / "out.html").read_text()
    project.answer("line")
    assert "2 passed in" in project.pytest("--lf")[1]


@pytest.mark.parametrize(("answer", "is_right"), [("line", True), ("line[::-1]", False)])
def test_without_a_cache_a_run_stays_where_its_failures_say_it_is(
    project: Project, tmp_path_factory: pytest.TempPathFactory, answer: str, is_right: bool
) -> None:
    project.answer(answer)
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    project.environment["TMPDIR"] = str(elsewhere)
    code, said = project.pytest("-p", "no:cacheprovider")
    named = {Path(each) for each in re.findall(r"palaver replay (\S+) 1", said)}
    assert (code, len(named)) == ((0, 0) if is_right else (1, 1)), said
    assert {each for each in elsewhere.glob("palaver-*/*") if each.is_dir()} == named
    for run in named:
        with open_run(run) as opened:
            assert opened.finding(1)


@pytest.mark.slow
def test_with_xdist_one_worker_holds_the_run_for_all(project: Project) -> None:
    project.answer("(print(file=open('answers', 'a')), line)[1]")
    said = project.pytest("-n", "2", as_installed=True)[1]
    assert f"{TESTS} passed" in said
    assert (project.folder / "answers").read_text() == "\n" * 12  # in four sessions of three exchanges


def test_a_spec_can_be_named_by_an_option(project: Project) -> None:
    project.write("plain.fan", SPEC)
    target = f"{PYTHON} server.py {{port}}"
    arguments = ["--palaver", "plain.fan", "--palaver-target", target, "--palaver-sessions", "2", "-k", "plain and ask"]
    code, said = project.pytest("-v", *arguments)
    assert code == 0, said
    assert "plain.fan::message <ask> PASSED" in said
    assert "2 passed" in said  # the message, and the constraint that names it


@pytest.mark.slow
def test_a_spec_that_is_named_twice_or_as_an_argument_is_tested_once(project: Project) -> None:
    (project.folder / "echo.fan").rename(project.folder / "tabled.fan")
    project.write("plain.fan", SPEC)
    options = ["--palaver-target", f"{PYTHON} server.py {{port}}", "--palaver-sessions", "2", "--collect-only", "-q"]
    for named in (
        ["--palaver", "plain.fan", "plain.fan"],
        ["--palaver", "plain.fan", "--palaver", "./plain.fan", "plain.fan"],
        ["plain.fan"],
        ["--palaver", "tabled.fan"],
        ["--palaver", "tabled.fan", "tabled.fan"],
        ["tabled.fan"],
    ):
        code, said = project.pytest(*named, *options)
        assert (code, f"{TESTS} tests collected" in said) == (0, True), said
    code, said = project.pytest("--palaver", "plain.fan", "tabled.fan", *options)
    assert (code, f"{2 * TESTS} tests collected" in said) == (0, True), said


def test_a_spec_that_is_named_as_an_argument_is_tested_with_the_options(project: Project) -> None:
    project.write("plain.fan", SPEC)
    target = f"{PYTHON} server.py {{port}}"
    arguments = ["--palaver", "plain.fan", "plain.fan", "--palaver-target", target, "--palaver-sessions", "2"]
    code, said = project.pytest("-v", *arguments, "-k", "plain and ask")
    assert code == 0, said
    assert "plain.fan::message <ask> PASSED" in said
    assert "2 passed" in said
    code, said = project.pytest("plain.fan")
    assert (code, "there is nothing to be tested; " in said, "--palaver-target CMD" in said) == (2, True, True), said


@pytest.mark.slow
def test_what_is_wrong_with_a_spec_that_is_named_by_an_option_is_told(project: Project) -> None:
    project.write("wrong.fan", "<start> ::= <nothing>\n")
    for more, told in (
        (["--palaver-target", "x"], "error: no rule defines <nothing>"),
        ([], "there is nothing to be tested; "),
        (["--palaver", "nothing.fan"], "there is no spec nothing.fan"),
    ):
        code, said = project.pytest("--palaver", "wrong.fan", *more, "echo.fan")
        assert (code in (2, 4), told in said) == (True, True), said
        assert "Traceback" not in said
        assert "INTERNALERROR" not in said
    code, said = project.pytest("--palaver", "wrong.fan", "--palaver-target", "x", "wrong.fan")
    assert (code, "1 error in" in said) == (2, True), said


@pytest.mark.slow
def test_the_findings_of_the_last_run_come_first(project: Project) -> None:
    """A word with a c comes late, and in the next run first; but not in one that does not know of it."""
    project.write("echo.fan", (HEAD.format(python=PYTHON) + SPEC).replace("sessions = 4", "sessions = 20"))
    project.answer("b'wrong\\n' if line[:1] == b'c' else line")
    sessions = []
    for more in ([], [], ["--cache-clear"]):
        assert project.pytest("-k", "constraint", *more)[0] == 1
        told = re.search(r"first seen in session (\d+)", (project.folder / "out.html").read_text())
        assert told is not None
        sessions.append(int(told[1]))
    late, first, again = sessions
    assert late == again > 1 == first


def test_other_specs_are_no_tests_and_a_wrong_table_is_told(project: Project) -> None:
    project.write("echo.fan", "# [palaver]\n# tarket = 'x'\n" + SPEC)
    project.write("plain.fan", SPEC)
    code, said = project.pytest("--collect-only")
    assert code == 2
    assert "plain.fan" not in said
    assert "did you mean target? tarket is none of spec, " in said
    project.write("echo.fan", "# [palaver]\n# sessions = 3\n<start> ::= <nothing>\n")
    code, said = project.pytest("--collect-only")
    assert (code, "there is nothing to be tested; give target, client, server or program" in said) == (2, True)
    project.write("echo.fan", "# [palaver]\n# target = 'x'\n<start> ::= <nothing>\n")
    code, said = project.pytest("--collect-only")
    assert (code, "error: no rule defines <nothing>" in said) == (2, True), said
    assert "spec_tests.py" not in said


def test_a_target_that_cannot_be_started_is_told_without_a_traceback_and_is_tried_once(project: Project) -> None:
    project.write("server.py", "open('tried', 'a').write('.')\n")
    code, said = project.pytest()
    assert (code, f"{TESTS} failed in" in said) == (1, True), said
    assert "exited with code 0 before it listened at tcp port " in said
    assert "Traceback" not in said
    assert "system_under_test.py" not in said
    assert (project.folder / "tried").read_text() == "."


@pytest.mark.slow
def test_a_constraint_with_brackets_fails_and_is_run_again(project: Project) -> None:
    project.answer("b'xyz\\n'")
    spec = SPEC.partition("where")[0] + "where str(<answer>)[::2] != 'xz'\nwhere str(<start>)[0] != ''\n"
    project.write("echo.fan", HEAD.format(python=PYTHON) + spec)
    assert project.pytest()[0] == 1
    code, said = project.pytest("-v", "--lf")
    assert (code, "echo.fan::constraint str(<answer>)(: :2) != 'xz' FAILED" in said) == (1, True), said
    assert "str(<start>)(0)" not in said


FIXTURES = r"""import shlex, socket, sys

def test_a_server_by_a_spec(palaver_run):
    run = palaver_run("echo.fan", target=f"{shlex.quote(sys.executable)} server.py {{port}}", sessions=2)
    run.check()
    assert run.run.seed == 1

def test_a_client_with_a_double(palaver_peer):
    peer = palaver_peer("echo.fan", server="0")
    with socket.create_connection(("127.0.0.1", peer.port)) as client:
        file = client.makefile("rwb")
        for word in (b"one\n", b"two\n", b"three\n"):
            file.write(word)
            file.flush()
            assert file.readline() == word
    peer.check()
    assert peer.received("ask") == [b"one\n", b"two\n", b"three\n"] == peer.sent()

def test_what_a_client_does_wrong_is_an_assertion(palaver_peer):
    peer = palaver_peer("echo.fan", server="0")
    with socket.create_connection(("127.0.0.1", peer.port)) as client:
        client.sendall(b"ONE\n")
        client.recv(1)
    peer.check()
"""


def test_fixtures_hold_runs_and_play_peers(project: Project) -> None:
    project.write("echo.fan", SPEC)
    project.write("test_mine.py", FIXTURES)
    code, said = project.pytest("-v")
    assert code == 1
    assert "test_mine.py::test_a_server_by_a_spec PASSED" in said
    assert "test_mine.py::test_a_client_with_a_double PASSED" in said
    assert "test_mine.py::test_what_a_client_does_wrong_is_an_assertion FAILED" in said
    assert "unexpected response from Client at byte 0" in said


UNRELATED = """import sys

def test_nothing_was_imported():
    assert [name for name in sys.modules if name.startswith("palaver.")] == ["palaver.pytest_plugin"]
    assert "jinja2" not in sys.modules
"""


def test_who_does_not_use_it_does_not_notice_it(project: Project) -> None:
    (project.folder / "echo.fan").unlink()
    project.write("test_mine.py", UNRELATED)
    code, said = project.pytest(as_installed=True)
    assert code == 0, said
