"""A device of pymodbus, as a program: `modbus_pymodbus.py PORT`."""

from __future__ import annotations

import sys
from typing import Any

from pymodbus.datastore import ModbusDeviceContext, ModbusSequentialDataBlock, ModbusServerContext
from pymodbus.server import StartTcpServer


def serve(port: int) -> None:
    # Its constructor has no types.
    block: Any = ModbusSequentialDataBlock
    blocks = {name: block(1, [0] * 100) for name in ("di", "co", "hr", "ir")}
    StartTcpServer(ModbusServerContext(ModbusDeviceContext(**blocks), single=True), address=("127.0.0.1", port))


if __name__ == "__main__":
    serve(int(sys.argv[1]))
