"""Runs that are killed, whose disk is full, or whose folder cannot be written: nothing that had ended is lost.

    PYTHONPATH=tests python tests/tools/killed_runs.py [--times 50] [--seed 1] [--workers 2] [--shrink]

Each time, `palaver talk` is killed by SIGKILL at a random moment. Then the run must open, must hold every session that
was told to have ended before, and must go on with `--resume`. With `--shrink` the finding of a run is made small, and
that is killed; with `--disk`, the run is in a small file system of memory, which needs the right to mount one.
"""

from __future__ import annotations

import argparse
import random
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import palaver

SPEC = r"""
<start>  ::= <round>{2,6}
<round>  ::= <Client:ask> <Server:answer>
<ask>    ::= "ask " r"[a-z]{1,12}" "\n"
<answer> ::= "well " r"[a-z]*" "\n"
"""

SERVER = r"""
import socket, sys
with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as server:
    while True:
        connection, _ = server.accept()
        with connection:
            for line in connection.makefile("rb"):
                word = line[4:].strip()
                connection.sendall((b"wall " if b"qu" in word else b"well ") + word + b"\n")
"""

# The last moment at which a run is killed, in seconds after its first session has ended.
LATEST = 3.0


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "palaver", *arguments]


def talking(folder: Path, *options: str) -> list[str]:
    target = f"{shlex.join([sys.executable, '-SE', str(folder / 'server.py')])} {{port}}"
    spec = str(folder / "talk.fan")
    return command("talk", spec, "--target", target, "--until", "forever", "--seed", "1", "--console", "none", *options)


def sessions_of(run: Path) -> list[int]:
    """The sessions of a run that had ended, by number."""
    with palaver.open_run(run) as opened:
        return sorted(session.number for session in opened.sessions if session.verdict is not None)


def resumed(folder: Path, run: Path, *options: str) -> str:
    """Let a run go on with three more sessions; return what is wrong."""
    before = sessions_of(run)
    wanted = max(before, default=0) + 3
    done = subprocess.run(
        command("talk", "--resume", str(run), "-n", str(wanted), "--until", "forever", "--console", "none", *options),
        cwd=folder,
        capture_output=True,
        check=False,
    )
    if done.returncode not in (0, 1) or b"Traceback" in done.stderr:
        return f"it is not resumed: exit code {done.returncode}, {done.stderr.decode()}"
    after = sessions_of(run)
    missing = set(before) - set(after)
    return f"sessions {sorted(missing)} are gone" if missing or len(after) < len(before) + 3 else ""


def killed(folder: Path, run: Path, moment: float, *options: str) -> str:
    """Kill a run some seconds after its first session; return what is wrong."""
    with subprocess.Popen(
        talking(folder, "--run", str(run), *options), cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
        seen: list[int] = []
        until = time.monotonic() + 60
        while not seen and time.monotonic() < until and process.poll() is None:
            seen = ended_sessions(run)
            time.sleep(0.01)
        until = time.monotonic() + moment
        while time.monotonic() < until:
            seen = ended_sessions(run)  # what another process sees is written
        process.send_signal(signal.SIGKILL)
    found = sessions_of(run)
    with palaver.open_run(run) as opened:
        ending = opened.ending
    if not set(seen) <= set(found):
        return f"sessions {sorted(set(seen) - set(found))} are gone"
    if found != list(range(1, len(found) + 1)) and "--workers" not in options:
        return f"there are holes in {found}"
    if ending != "killed before it ended":
        return f"it says {ending!r}"
    return resumed(folder, run)


def ended_sessions(run: Path) -> list[int]:
    try:
        return sessions_of(run)
    except palaver.PalaverError:
        return []


def killed_shrinking(folder: Path, run: Path, moment: float) -> str:
    """Kill `palaver shrink` after some seconds; return what is wrong."""
    before = sessions_of(run)
    with subprocess.Popen(
        command("shrink", str(run), "1"), cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        time.sleep(moment)
        process.send_signal(signal.SIGKILL)
    if sessions_of(run) != before:
        return "sessions are gone"
    shown = subprocess.run(command("show", str(run), "1"), cwd=folder, capture_output=True, check=False)
    return "" if shown.returncode == 0 else f"it is not shown: {shown.stderr.decode()}"


@contextmanager
def small_disk(folder: Path, size: int) -> Iterator[Path]:
    """A file system of memory with so many KiB."""
    place = folder / "disk"
    place.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}k", "palaver", str(place)], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def filled(folder: Path, size: int) -> str:
    """Let a run fill a small disk; return what is wrong."""
    with small_disk(folder, size) as disk:
        done = subprocess.run(talking(folder, "--run", str(disk / "run")), cwd=folder, capture_output=True, check=False)
        told = re.search(rb"^(\d+) sessions?, ", done.stdout, re.MULTILINE)
        if done.returncode != 2 or b"Traceback" in done.stderr:
            return f"exit code {done.returncode}, {done.stderr.decode()}"
        if told is None:
            is_told = b"cannot write the run" in done.stderr
            return "" if is_told else f"there is no summary: {done.stderr.decode()}"
        found = sessions_of(disk / "run")
        with palaver.open_run(disk / "run") as opened:
            ending = opened.ending
        if found != list(range(1, int(told[1]) + 1)):
            return f"{int(told[1])} sessions were told, and there are {len(found)}"
        if "cannot be written any more" not in ending:
            return f"it says {ending!r}"
        subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
        return resumed(folder, disk / "run")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--times", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--shrink", action="store_true")
    parser.add_argument("--disk", action="store_true")
    given = parser.parse_args()
    chance = random.Random(given.seed)
    wrong = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "talk.fan").write_text(SPEC)
        (folder / "server.py").write_text(SERVER)
        if given.shrink:
            subprocess.run(
                talking(folder, "--run", str(folder / "found"), "-n", "200"),
                cwd=folder,
                check=False,
                capture_output=True,
            )
        for number in range(1, given.times + 1):
            moment = chance.uniform(0, LATEST)
            if given.disk:
                trouble = filled(folder, chance.randint(100, 2000))
            elif given.shrink:
                trouble = killed_shrinking(folder, folder / "found", moment)
            else:
                workers = ["--workers", str(given.workers)] if given.workers else []
                trouble = killed(folder, folder / f"run{number}", moment, *workers)
            wrong += bool(trouble)
            print(f"{number}: {trouble or 'nothing is lost'}", flush=True)
    print(f"{given.times - wrong} of {given.times} as they should be")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
