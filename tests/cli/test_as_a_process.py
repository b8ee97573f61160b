"""What only a process can show: pipes, signals, terminals, and what Python's hash seed must not change."""

from __future__ import annotations

import os
import pty
import shlex
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from palaver.compiled.bundled import bundled

WORDS = '<start> ::= r"[a-z]{20}"\n'

SEEDED = {
    "generators that use random": (
        "import random\nfrom random import choice as pick\n"
        "<start> ::= <a> ' ' <b> ' ' <c>\n<a> ::= r'[0-9]+' := str(random.randint(0, 10**9))\n"
        "<b> ::= 'x' | 'y' | 'z' := pick(['x', 'y', 'z'])\n<c> ::= r'[a-z]{3}'\n"
    ),
    "constraints and goals": (
        "<start> ::= <len> ':' <word> ';' <sum> [[ <p> <q> ]]\n<len> ::= <digit>{2}\n<word> ::= <letter>{1,12}\n"
        "<letter> ::= 'a' | 'b' | 'c' | 'd'\n<sum> ::= <digit>+\n<p> ::= 'p'*\n<q> ::= 'q'?\n"
        "where int(<len>) == len(str(<word>))\n"
        "where int(<sum>) == sum(map(ord, str(<word>)))\nwhere len({*map(str, *<letter>)}) > 1\n"
        "minimizing len(str(<p>))\n"
    ),
    "bits and parties": (
        "<start> ::= <Client:ask> <Server:answer>\n<ask> ::= <flag> <n> <byte>{int(<n>)}\n<flag> ::= <bit>{4}\n"
        "<n> ::= <bit>{4}\n<bit> ::= 0 | 1\n<answer> ::= <byte>{2,}\n"
        "setting * terminal_should_repeat = 0.05\nsetting <n> non_terminal_use_other_rule = 0.01\n"
    ),
}


@pytest.mark.parametrize("spec", SEEDED.values(), ids=SEEDED)
def test_one_seed_gives_the_same_bytes_whatever_pythons_hash_seed(palaver: Any, spec: str) -> None:
    palaver.write(spec_fan=spec)
    arguments = ["fuzz", "-f", "spec.fan", "-n", "20", "--seed", "7", "--format", "repr"]

    def run(hash_seed: str) -> Any:
        return palaver.process(*arguments, environment={"PYTHONHASHSEED": hash_seed})

    with ThreadPoolExecutor(2) as both:
        first, second = both.map(run, ["1", "4242"])
    assert first.out == second.out
    assert (first.code, second.code) == (0, 0), first.said
    assert first.out != palaver("fuzz", "-f", "spec.fan", "-n", "20", "--seed", "8", "--format", "repr").out


FUZZ_ALL = """
import sys
from palaver.cli.command_line import exit_code
for spec in sys.argv[1:]:
    sys.stdout.flush()
    assert exit_code(["fuzz", "-f", spec, "-n", "1", "--seed", "3", "--separator", ";"]) == 0, spec
"""


@pytest.mark.parametrize(
    "specs", [["dns", "ftp_full", "mqtt"], pytest.param(sorted(bundled()), marks=pytest.mark.slow)], ids=["some", "all"]
)
def test_one_seed_gives_the_same_bytes_of_bundled_specs(specs: list[str]) -> None:

    def run(hash_seed: str) -> bytes:
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        command = [sys.executable, "-c", FUZZ_ALL, *specs]
        done = subprocess.run(command, env=environment, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    with ThreadPoolExecutor(2) as both:
        first, second = both.map(run, ["1", "4242"])
    assert b"EPRT |1|" in first  # the port of a data connection, which in a session is one that is free
    assert first == second


def test_what_is_said_does_not_depend_on_pythons_hash_seed_either(palaver: Any) -> None:
    objections = (Path(__file__).parent / "objections.txt").read_text()
    specs = [part.partition("\n")[2].partition("---\n")[0] for part in objections.split("\n=== ")[1:]]
    for number, spec in enumerate(specs):
        palaver.write(**{f"s{number:02}_fan": spec})
    names = [f"s{number:02}.fan" for number in range(len(specs))]

    def run(hash_seed: str) -> Any:
        return palaver.process("check", *names, environment={"PYTHONHASHSEED": hash_seed})

    with ThreadPoolExecutor(2) as both:
        first, second = both.map(run, ["1", "4242"])
    assert first.out == second.out


def test_a_reader_that_has_seen_enough_ends_the_run_in_silence(palaver: Any) -> None:
    palaver.write(words_fan=WORDS)
    process = palaver.start("fuzz", "--infinite", "-f", "words.fan", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert len(process.stdout.readline()) == 21
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == 0


def test_a_reader_of_objections_may_go_too(palaver: Any) -> None:
    palaver.write(many_fan='<start> ::= "a"\n' + "".join(f'<a{n}> ::= "x"\n' for n in range(4000)))
    process = palaver.start("check", "many.fan", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert b"<a0> is never used" in process.stdout.readline()
    process.stdout.close()
    assert process.communicate()[1] == b""
    assert process.returncode == 0


def test_ctrl_c_ends_cleanly_and_nothing_is_lost(palaver: Any) -> None:
    palaver.write(words_fan=WORDS)
    fifo = palaver.folder / "ready"
    os.mkfifo(fifo)
    # The generator tells when the first output is on its way; from then on an interrupt may come at any time.
    told = "import os\nSEEN = []\ndef tell():\n    SEEN.append(1)\n    if len(SEEN) == 1000:\n"
    told += "        open('ready', 'w').close()\n    return 'x'\n"
    palaver.write(told_fan=told + "<start> ::= r'[a-z]{20}' <x> '.'\n<x> ::= 'x' := tell()\n")
    process = palaver.start(
        "fuzz", "--infinite", "-f", "told.fan", "-o", "out", stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    fifo.open().close()  # returns when the other side opens it
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert (process.returncode, out, err) == (130, b"", b"\npalaver: interrupted\n")
    made = (palaver.folder / "out").read_text().split("\n")
    assert len(made) >= 999
    assert all(len(word) == 22 and word.endswith("x.") for word in made)


def test_ctrl_c_while_parsing_ends_cleanly(palaver: Any) -> None:
    palaver.write(
        slow_fan="<start> ::= <x>\n<x> ::= 'x'\nwhere wait()\n"
        "def wait():\n    open('ready', 'w').close()\n    while True:\n        pass\n",
        input="x",
    )
    os.mkfifo(palaver.folder / "ready")
    process = palaver.start("parse", "-f", "slow.fan", "input", stderr=subprocess.PIPE)
    (palaver.folder / "ready").open().close()
    process.send_signal(signal.SIGINT)
    assert process.communicate()[1] == b"\npalaver: interrupted\n"
    assert process.returncode == 130


def _read_until(terminal: int, wanted: bytes) -> bytes:
    seen = b""
    while wanted not in seen:
        seen += os.read(terminal, 4096)
    return seen


def test_long_work_shows_its_progress_on_a_terminal(palaver: Any) -> None:
    palaver.write(words_fan=WORDS)
    ours, theirs = pty.openpty()
    process = palaver.start("fuzz", "-f", "words.fan", "-n", "100000000", "-o", "out", stderr=theirs)
    os.close(theirs)
    try:
        assert b"outputs" in _read_until(ours, b"%")
    finally:
        process.send_signal(signal.SIGINT)
        _drain(ours)
        os.close(ours)
    assert process.wait() == 130


def _drain(terminal: int) -> None:
    """Read what is left: a process that writes to a terminal nobody reads from would wait."""
    try:
        while os.read(terminal, 4096):
            pass
    except OSError:
        pass  # Linux reports the other side's end so


def test_no_progress_is_shown_where_nobody_looks(palaver: Any) -> None:
    palaver.write(words_fan=WORDS)
    arguments = ["fuzz", "-f", "words.fan", "--infinite", "--stop-after-seconds", "1.2", "-o", "out"]
    shown = palaver.process(*arguments, "--progress-bar", "on")
    assert b"outputs" in shown.err
    assert palaver.process(*arguments[:-4], "--stop-after-seconds", "0.1", "-o", "out").err == b""


def test_it_runs_as_a_module_too(palaver: Any) -> None:
    assert palaver.process("--version").text.startswith("palaver ")


def test_standard_output_that_is_full_is_said(palaver: Any) -> None:
    palaver.write(words_fan=WORDS)
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            palaver.argv("fuzz", "-f", "words.fan", "-n", "1"),
            cwd=palaver.folder,
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert b"Traceback" not in done.stderr
    assert b"No space left on device" in done.stderr
    assert done.returncode == 2


CLOSED = {
    "input": ("parse -f spec.fan <&-", "cannot read -: standard input is closed"),
    "output of fuzz": ("fuzz -f spec.fan -n 2 >&-", "standard output is closed"),
    "output of parse": ("parse -f spec.fan --format tree input >&-", "standard output is closed"),
}


@pytest.mark.parametrize("command, complaint", CLOSED.values(), ids=CLOSED)
def test_a_standard_stream_that_is_closed_is_named(palaver: Any, command: str, complaint: str) -> None:
    palaver.write(spec_fan='<start> ::= "a" | "b"\n', input="a")
    ended = subprocess.run(
        ["sh", "-c", f"{shlex.quote(sys.executable)} -m palaver {command}"],
        cwd=palaver.folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 2
    assert complaint in ended.stderr


def test_what_cannot_be_encoded_is_shown_escaped(palaver: Any) -> None:
    palaver.write(spec_fan='raise ValueError("\\ud800")\n<start> ::= "a"\n')
    checked = palaver.process("check", "spec.fan")
    assert checked.code == 2
    assert b"ValueError: \\ud800" in checked.out


@pytest.mark.parametrize("streams", ["stdout", "stderr", "both"])
def test_the_exit_code_is_the_same_if_nobody_reads_what_is_written(palaver: Any, streams: str) -> None:
    palaver.write(spec_fan='<start> ::= "a"\n', input="b")
    read_end, write_end = os.pipe()
    os.close(read_end)
    try:
        ended = subprocess.run(
            [sys.executable, "-m", "palaver", "parse", "-f", "spec.fan", "input"],
            cwd=palaver.folder,
            stdout=write_end if streams != "stderr" else subprocess.DEVNULL,
            stderr=write_end if streams != "stdout" else subprocess.DEVNULL,
            check=False,
        )
    finally:
        os.close(write_end)
    assert ended.returncode == 1
