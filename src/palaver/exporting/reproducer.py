"""Scripts that reproduce a finding without palaver: the recorded conversation, and the code that holds it again."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from pprint import pformat
from types import ModuleType
from typing import Any

from palaver.exporting import reproducer_body, reproducer_fields
from palaver.exporting.computed_fields import ComputedField, ComputedFields
from palaver.exporting.conversation import ExportError, StepKind, WireConversation, WireStep
from palaver.printable import printable
from palaver.session.findings import FindingKind

_HEAD = '''\
#!/usr/bin/env python3
"""Reproduces a finding of palaver; needs nothing but Python.

{finding}

The exit code is 0 if the finding comes again, 1 if not, and 2 if that could not be tried or told. Words in which a
reply differs from the recorded one are put into the messages that repeat them; {computed}.
"""

'''
_COMPUTED = "lengths, checksums and other\nfields that the constraints of the spec decide are computed from them"
_KEPT = "all else stays as it was"
_MAY_BE_CUT_SHORT = frozenset((FindingKind.SILENCE, FindingKind.CLOSED, FindingKind.RESET))
_TAIL = """

if __name__ == "__main__":
    raise SystemExit(main(RECORDED))
"""


def script(conversation: WireConversation) -> str:
    """The script. :raises ExportError: it could not hold this conversation"""
    recorded = _recorded(conversation)
    is_computed = any(len(step) > 3 for step in recorded["steps"])
    shown = printable(conversation.finding.headline).replace("\\", "\\\\").replace('"""', "'''")
    head = _HEAD.format(finding=shown, computed=_COMPUTED if is_computed else _KEPT)
    imports: set[str] = set()
    codes = []
    for module in (reproducer_fields, reproducer_body):
        lines, code = _parts_of(module)
        imports.update(line for line in lines if "palaver" not in line and "__future__" not in line)
        codes.append(code)
    first = [
        "from __future__ import annotations",
        "",
        *sorted(imports, key=lambda line: (line.startswith("from"), line)),
    ]
    data = pformat(recorded, width=110, sort_dicts=False)
    return f"{head}{_lines(first)}\n\nRECORDED = {data}\n\n\n{_lines(codes)}{_TAIL}"


def _lines(parts: list[str]) -> str:
    return "\n".join(parts)


def _parts_of(module: ModuleType) -> tuple[list[str], str]:
    """The imports of a module, and what follows on them."""
    text = Path(module.__file__ or "").read_text(encoding="utf-8")
    imports = [each for each in ast.parse(text).body if isinstance(each, ast.Import | ast.ImportFrom)]
    rest = text.splitlines()[imports[-1].end_lineno or 0 :]
    return [ast.unparse(each) for each in imports], _lines(rest).strip("\n") + "\n"


def _recorded(conversation: WireConversation) -> dict[str, Any]:
    """All that the code has to know."""
    links: dict[str, dict[str, Any]] = {}
    steps: list[tuple[Any, ...]] = []
    computed = None if conversation.spec is None else ComputedFields(conversation.spec)
    for step in conversation.steps:
        if step.link.is_listening and (step.link.is_encrypted or step.kind is StepKind.SECURED):
            raise ExportError("a script cannot play a server with TLS: it has no certificate")
        address = step.link.address
        if address.fresh_port:
            raise ExportError("a script cannot follow a peer that answers from another port")
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
            if computed is not None and step.kind is StepKind.SENT and len(step.names) == 1:
                fields = computed.of(step.names[0], step.data)
                steps[-1] += (tuple(map(_as_data, fields)),) if fields else ()
    finding, options = conversation.finding, conversation.options
    environment = options.get("env")
    return {
        "finding": printable(finding.headline),
        "kind": finding.shown_as.name,
        "cause": finding.cause,
        "exit_code": conversation.exit_code,
        "ends_with_blame": conversation.ends_with_blame,
        # The beginning of a reply after which nothing has come, or only the end.
        "cut_short": finding.got if finding.shown_as in _MAY_BE_CUT_SHORT else b"",
        "seconds": _last_gap(conversation.steps),
        "target": options.get("target"),
        "env": dict(environment) if isinstance(environment, Mapping) else {},
        "cwd": options.get("cwd"),
        "ready": options.get("ready"),
        "code": "" if computed is None else computed.code,
        "links": links,
        "steps": steps,
    }


def _as_data(field: ComputedField) -> dict[str, Any]:
    """A field in plain data, as a script can have it."""
    parts = {name: tuple(place) for name, place in field.parts.items()}
    return {**field._asdict(), "field": tuple(field.field), "parts": parts}


def _name_of(step: WireStep, steps: list[tuple[Any, ...]]) -> str:
    """The name of a connection. One that is opened again, as in the session after, has another one."""
    times = sum(kind == "opened" and name.partition(" ")[0] == step.link.name for name, kind, *_ in steps)
    number = times + (step.kind is StepKind.OPENED)
    return step.link.name if number <= 1 else f"{step.link.name} {number}"


def _last_gap(steps: tuple[WireStep, ...]) -> float:
    """The seconds before the last reply."""
    for before, after in reversed(list(pairwise(steps))):
        if after.kind is StepKind.RECEIVED:
            return after.at - before.at
    return 0.0
