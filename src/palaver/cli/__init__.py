"""The command line: a thin layer over the API. Door: `main`. Subcommands are imported when they are used."""

DOOR = ("main",)
