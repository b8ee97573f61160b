"""Records what palaver says for fixed seeds, to compare before and after a change: transcripts.py FILE [FOLDER...].

Every line of FILE is one transcript: its name, the exit code, the number of bytes and their SHA-256. `fuzz` is run on
every spec of the repository, and of the folders; `talk` is run through a recording relay, against servers and against
itself. Two files differ where behaviour has changed. What runs is the palaver that this interpreter imports, so
PYTHONPATH=OTHER/src runs another one with the same specs.
"""

from __future__ import annotations

import hashlib
import re
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TIME_LIMIT_S = 120

# A bundled spec, the server program (None: palaver itself, with another seed), options.
TALKS = [
    ("smtp", ["-m", "palaver.demo.server", "{port}"], []),
    ("smtp", ["-m", "palaver.demo.server", "{port}"], ["--schedule", "paper", "-n", "15"]),
    ("smtp", ["-m", "palaver.demo.server", "{port}"], ["--unguided", "-n", "15"]),
    ("smtp", ["tests/servers/aiosmtpd_server.py", "{port}"], []),
    ("ftp", ["tests/servers/ftp_pyftpdlib.py", "{port}", "{home}"], ["-n", "15"]),
    ("smtp", None, ["-n", "10"]),
    ("http", None, ["-n", "10"]),
    ("examples/mail.fan", None, ["-n", "10"]),
]


def main() -> int:
    palaver = [sys.executable, "-m", "palaver"]
    specs = sorted(
        path
        for folder in ("examples", "src/palaver/specs", "benchmarks", "benchmarks/solving", "tests/net")
        for path in (ROOT / folder).glob("*.fan")
    )
    specs += [path.absolute() for folder in sys.argv[2:] for path in sorted(Path(folder).glob("*.fan"))]
    with ThreadPoolExecutor(2) as pool:
        fuzzed = pool.map(lambda job: _fuzz(palaver, *job), [(spec, seed) for spec in specs for seed in (1, 2)])
        lines = list(fuzzed)
    lines += [
        f"talk {number} {spec} seed {seed}: {_talk(palaver, spec, server, options, seed)}"
        for number, (spec, server, options) in enumerate(TALKS)
        for seed in (1, 2)
    ]
    Path(sys.argv[1]).write_text("".join(f"{line}\n" for line in lines))
    print(f"{len(lines)} transcripts")
    return 0


def _fuzz(palaver: list[str], spec: Path, seed: int) -> str:
    command = [*palaver, "fuzz", "-f", str(spec), "-n", "10", "--seed", str(seed)]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False, timeout=TIME_LIMIT_S)
    except subprocess.TimeoutExpired:
        return f"fuzz {spec.name} seed {seed}: no end within {TIME_LIMIT_S} s"
    return f"fuzz {spec.name} seed {seed}: exit {done.returncode}, {_digest(done.stdout)}"


def _talk(palaver: list[str], spec: str, server: list[str] | None, options: list[str], seed: int) -> str:
    with tempfile.TemporaryDirectory() as home:
        return _talked(palaver, spec, server, options, seed, home)


def _talked(palaver: list[str], spec: str, server: list[str] | None, options: list[str], seed: int, home: str) -> str:
    port = _free_port()
    seeded = [*options, "--timeout", "10", "--wait-for-server", "10", "--console", "none"]
    if server is None:
        listens = [*palaver, "talk", spec, "--server", f"tcp://127.0.0.1:{port}", "--seed", str(seed + 100), *seeded]
    else:
        listens = [palaver[0], *(part.format(port=port, home=home) for part in server)]
    peer = subprocess.Popen(listens, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _await(port)
        with _relay(port) as (relay, heard):
            uri = f"tcp://127.0.0.1:{relay}"
            command = [*palaver, "talk", spec, "--client", uri, "--seed", str(seed), *seeded]
            done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False, timeout=TIME_LIMIT_S)
        return f"exit {done.returncode}, {_digest(bytes(heard))}"
    except subprocess.TimeoutExpired:
        return f"no end within {TIME_LIMIT_S} s"
    finally:
        peer.terminate()
        peer.wait()


def _digest(data: bytes) -> str:
    return f"{len(data)} bytes, {hashlib.sha256(data).hexdigest()[:16]}"


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def _await(port: int) -> None:
    """Wait until somebody listens; the server's first connection is not ours, so that all sessions are alike."""
    deadline = threading.Event()
    for _ in range(1200):
        with open("/proc/net/tcp") as table:
            if re.search(rf" (0100007F|00000000):{port:04X} 00000000:0000 0A", table.read()):
                return
        deadline.wait(0.05)
    raise SystemExit(f"nobody listens at port {port}")


@contextmanager
def _relay(port: int) -> Iterator[tuple[int, bytearray]]:
    """Forward connections to a port; what the client says is recorded, connection after connection."""
    heard = bytearray()
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    client, _ = listener.accept()
                except OSError:
                    return
                heard.extend(b"\n== connection ==\n")
                server = socket.create_connection(("127.0.0.1", port))
                back = threading.Thread(target=_pump, args=(server, client, None), daemon=True)
                back.start()
                _pump(client, server, heard)
                back.join(10)
                client.close()
                server.close()

        threading.Thread(target=serve, daemon=True).start()
        yield listener.getsockname()[1], heard


def _pump(source: socket.socket, sink: socket.socket, record: bytearray | None) -> None:
    try:
        while data := source.recv(65536):
            if record is not None:
                record.extend(data)
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass


if __name__ == "__main__":
    sys.exit(main())
