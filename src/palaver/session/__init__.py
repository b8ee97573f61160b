"""Sessions without IO: events go in, actions come out; with parties, findings and verdicts.

Doors: `engine` runs a session, `setup` is what all sessions of a spec share, `interface` are its inputs and actions,
`findings` the results, and `strategy` chooses our messages.
"""

DOOR = ("engine", "setup", "interface", "findings", "strategy")
