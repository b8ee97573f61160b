"""`palaver talk` as a server, in a process of its own, for clients that a test starts or is itself."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from servers.common import LIMIT_S


@dataclass(frozen=True)
class Listening:
    """A server, and where it is."""

    port: int
    process: subprocess.Popen[bytes]

    def conclude(self) -> tuple[int, str]:
        """Its exit code, and what it said, when all its conversations are over."""
        said, _ = self.process.communicate(timeout=LIMIT_S)
        return self.process.returncode, said.decode()


@contextmanager
def listening(palaver: Any, spec: Path, at: str, *options: str) -> Iterator[Listening]:
    """The server of a spec, once it has told its port. It does not outlive the block."""
    arguments = ("talk", "-f", str(spec), "--server", at, *options)
    process = palaver.start(*arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        told = process.stdout.readline()
        found = re.search(rb"listens on port (\d+)", told)
        assert found is not None, told
        yield Listening(int(found[1]), process)
    finally:
        process.kill()
        process.communicate()
