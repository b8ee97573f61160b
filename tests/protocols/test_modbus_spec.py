"""The spec of Modbus TCP against devices, and as the device of real clients."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

import palaver as library
from servers import modbus
from servers.modbus import WITHOUT_MISTAKES, needs_libmodbus

SPEC = Path(library.__file__).parent / "specs" / "modbus.fan"

PYMODBUS = """
import sys
from pymodbus.client import ModbusTcpClient
client = ModbusTcpClient("127.0.0.1", port=int(sys.argv[1]))
assert client.connect()
assert not client.write_coils(1, [True, False, True]).isError()
assert client.read_coils(1, count=3).bits[:3] == [True, False, True]
assert not client.write_register(7, 0xABCD).isError()
assert not client.mask_write_register(7, and_mask=0xFF00, or_mask=0x0012).isError()
assert client.read_holding_registers(6, count=2).registers == [0, 0xAB12]
assert client.readwrite_registers(read_address=6, read_count=2, write_address=6, values=[1]).registers == [1, 0xAB12]
assert client.read_coils(65535, count=2).isError()
client.close()
"""
CLIENTS = {
    "pymodbus": shlex.join([sys.executable, "-c", PYMODBUS, "{port}"]),
    "mbpoll reads": "mbpoll -1 -a 1 -t 4 -r 1 -c 5 -p {port} 127.0.0.1",
    "mbpoll writes": "mbpoll -1 -a 1 -t 0 -r 1 -p {port} 127.0.0.1 1 0 1",
}


def talk(palaver: Any, port: int, sessions: int, *more: str) -> Any:
    options = ("-n", str(sessions), "--seed", "1", "--unguided")
    return palaver("talk", "modbus", *more, "--client", str(port), *options)


def test_the_spec_is_without_objections(palaver: Any) -> None:
    checked = palaver("check", "--strict", "--k", "5", str(SPEC))
    assert (checked.code, checked.said) == (0, "")
    assert "704 5-paths" in checked.text


@pytest.mark.parametrize("only", [(), ("--party", "Client"), ("--party", "Server")])
def test_conversations_are_made_up(palaver: Any, only: tuple[str, ...]) -> None:
    made = palaver("fuzz", "-f", str(SPEC), "-n", "3", "--seed", "1", *(only or ["--validate"]))
    assert (made.code, made.said) == (0, "")


def test_a_small_device_is_talked_to_without_findings(palaver: Any) -> None:
    with modbus.small() as server:
        talked = talk(palaver, server.port, 2)
    assert talked.code == 0, talked.text
    assert talked.summary.endswith("no findings")


@needs_libmodbus
def test_libmodbus_is_talked_to_without_findings(palaver: Any) -> None:
    with modbus.libmodbus() as server:
        talked = talk(palaver, server.port, 10)
    assert talked.code == 0, talked.text
    assert talked.summary.endswith("no findings")


@pytest.mark.slow
def test_pymodbus_refuses_wrongly_and_is_right_otherwise(palaver: Any, tmp_path: Path) -> None:
    also = tmp_path / "also.fan"
    also.write_text(WITHOUT_MISTAKES)
    with modbus.pymodbus() as server:
        found = talk(palaver, server.port, 2)
        talked = talk(palaver, server.port, 5, str(also))
    assert found.code == 1, found.text
    assert talked.code == 0, talked.text
    assert talked.summary.endswith("no findings")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if name == "pymodbus" else pytest.mark.servers("mbpoll"))
        for name in CLIENTS
    ],
)
def test_a_real_client_talks_to_a_device_of_the_spec(palaver: Any, name: str) -> None:
    talked = palaver("talk", "modbus", "--server", "{port}", "--target", CLIENTS[name], "-n", "3", "--seed", "1")
    assert talked.code == 0, talked.text + talked.said
    assert talked.summary.endswith("no findings")
