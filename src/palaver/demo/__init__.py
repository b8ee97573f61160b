"""A small mail server with planted defects, to try palaver on. Door: `server`."""

DOOR = ("server",)
