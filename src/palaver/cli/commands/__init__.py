"""The subcommands of `palaver`, one module each, imported when it is called."""
