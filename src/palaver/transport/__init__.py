"""Transports: how sessions reach their peers.

`driver` runs sessions on an event loop, `event_loop` is that of the system, `memory_network` a network in memory,
`registry` finds the transport of an address, `blocking` is a connection for libraries that want a socket. The interface
of transports is `channel`; each has a module of its own, and a line in `palaver.addresses`.
"""

DOOR = ("driver", "event_loop", "memory_network", "registry", "blocking")
