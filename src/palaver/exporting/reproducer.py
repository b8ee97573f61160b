"""Scripts that reproduce a finding without palaver: the recorded conversation, and the code that holds it again."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from pprint import pformat
from typing import Any

from palaver.exporting import reproducer_body
from palaver.exporting.conversation import ExportError, StepKind, WireConversation, WireStep
from palaver.printable import printable

_HEAD = '''\
#!/usr/bin/env python3
"""Reproduces a finding of palaver; needs nothing but Python.

{finding}

The exit code is 0 if the finding comes again, 1 if not, and 2 if that could not be tried or told. Words in which a
reply differs from the recorded one are put into the messages that repeat them; lengths and checksums stay as they were.
"""

'''
_TAIL = """

if __name__ == "__main__":
    raise SystemExit(main(RECORDED))
"""


def script(conversation: WireConversation) -> str:
    """The script. :raises ExportError: it could not hold this conversation"""
    recorded = pformat(_recorded(conversation), width=110, sort_dicts=False)
    # The code without its docstring, whose place is taken.
    code = Path(reproducer_body.__file__).read_text(encoding="utf-8").split('"""', 2)[2].lstrip("\n")
    imports, code = code.split("\n\nREPRODUCED", 1)
    shown = printable(conversation.finding.headline).replace("\\", "\\\\").replace('"""', "'''")
    return f"{_HEAD.format(finding=shown)}{imports}\n\nRECORDED = {recorded}\n\nREPRODUCED{code}{_TAIL}"


def _recorded(conversation: WireConversation) -> dict[str, Any]:
    """All that the code has to know."""
    links: dict[str, dict[str, Any]] = {}
    steps: list[tuple[str, str, bytes]] = []
    for step in conversation.steps:
        if step.link.is_listening and (step.link.is_encrypted or step.kind is StepKind.SECURED):
            raise ExportError("a script cannot play a server with TLS: it has no certificate")
        address = step.link.address
        name = _name_of(step, steps)
        links.setdefault(
            name,
            {
                "scheme": address.scheme,
                "host": address.host,
                "port": address.port,
                "path": address.path,
                "command": list(address.command),
                "is_listening": step.link.is_listening,
                "is_encrypted": step.link.is_encrypted,
            },
        )
        if step.kind is StepKind.RECEIVED and steps and steps[-1][:2] == (name, "received"):
            steps[-1] = (name, "received", steps[-1][2] + step.data)  # it came in pieces
        else:
            steps.append((name, step.kind.value, step.data))
    finding, options = conversation.finding, conversation.options
    environment = options.get("env")
    return {
        "finding": printable(finding.headline),
        "kind": finding.kind.name,
        "cause": finding.cause,
        "exit_code": conversation.exit_code,
        "ends_with_blame": conversation.ends_with_blame,
        "seconds": _last_gap(conversation.steps),
        "target": options.get("target"),
        "env": dict(environment) if isinstance(environment, Mapping) else {},
        "cwd": options.get("cwd"),
        "ready": options.get("ready"),
        "links": links,
        "steps": steps,
    }


def _name_of(step: WireStep, steps: list[tuple[str, str, bytes]]) -> str:
    """The name of a connection. One that is opened again, as in the session after, has another one."""
    times = sum(kind == "opened" and name.partition(" ")[0] == step.link.name for name, kind, _ in steps)
    number = times + (step.kind is StepKind.OPENED)
    return step.link.name if number <= 1 else f"{step.link.name} {number}"


def _last_gap(steps: tuple[WireStep, ...]) -> float:
    """The seconds before the last reply."""
    for before, after in reversed(list(pairwise(steps))):
        if after.kind is StepKind.RECEIVED:
            return after.at - before.at
    return 0.0
