"""Beyond the spec: messages that are wrong on purpose, proofs that they are, and verdicts on the answers to them.

Doors: `wrong_messages` plans and makes them, `digressing_session` is a session that sends them, `refusal_rules` is what
`<beyond>` of a spec says about them.
"""

DOOR = ("wrong_messages", "digressing_session", "refusal_rules")
