"""A device of libmodbus, as a program: `modbus_libmodbus.py PORT`."""

from __future__ import annotations

import ctypes
import sys

ITEMS = 65536


def serve(port: int) -> None:
    library = ctypes.CDLL("libmodbus.so.5")
    library.modbus_new_tcp.restype = library.modbus_mapping_new.restype = ctypes.c_void_p
    context = ctypes.c_void_p(library.modbus_new_tcp(b"127.0.0.1", port))
    items = ctypes.c_void_p(library.modbus_mapping_new(ITEMS, ITEMS, ITEMS, ITEMS))
    # It pauses so long before it refuses anything.
    library.modbus_set_response_timeout(context, 0, 1000)
    listening = ctypes.c_int(library.modbus_tcp_listen(context, 5))
    request = ctypes.create_string_buffer(260)
    while True:
        library.modbus_tcp_accept(context, ctypes.byref(listening))
        while (size := library.modbus_receive(context, request)) != -1:
            if size:
                library.modbus_reply(context, request, size, items)
        library.modbus_close(context)


if __name__ == "__main__":
    serve(int(sys.argv[1]))
