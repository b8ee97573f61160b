"""Other programs that take part in a test, and end with it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).parent

# Long enough never to be reached unless something is wrong.
LIMIT_S = 20.0


@contextmanager
def smtp_server(*arguments: str) -> Iterator[int]:
    """A real server; its port."""
    process = subprocess.Popen([sys.executable, HERE / "smtp_server.py", *arguments], stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        yield int(process.stdout.readline())
    finally:
        process.terminate()
        process.communicate(timeout=LIMIT_S)


@contextmanager
def running(*command: str) -> Iterator[subprocess.Popen[bytes]]:
    """A program that must end well by itself before the test does."""
    process = subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        yield process
        _, errors = process.communicate(timeout=LIMIT_S)
        assert process.returncode == 0, errors.decode()
    finally:
        process.kill()
        process.communicate()
