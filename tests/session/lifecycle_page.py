"""Draws `docs/session.md` from the table of a session's life: `python tests/session/lifecycle_page.py`."""

from __future__ import annotations

from pathlib import Path

from palaver.session.lifecycle import EVENTS, TRANSITIONS, LifecycleInput, OwnStep, SessionState, name_of

PAGE = Path(__file__).parents[2] / "docs" / "session.md"

INTRODUCTION = """\
# The life of a session

A session is a state machine without IO. A driver hands it events with `handle`, and carries out the actions that it
returns; `speak`, `commit` and `discard` make and send our messages. `src/palaver/session/lifecycle.py` holds the table
of states, inputs and next states, and the engine looks up every input there. An empty cell means that the input is not
allowed in the state: then the driver has made a mistake, and `LifecycleError` is raised.

This page is drawn from the table by `python tests/session/lifecycle_page.py`; a test compares both."""


def rendered() -> str:
    """The page: a Mermaid diagram, the transitions, and the meanings of states and steps."""
    parts = INTRODUCTION, diagram(), transition_table(), meanings("state", SessionState), meanings("step", OwnStep)
    return "\n\n".join(parts) + "\n"


def diagram() -> str:
    edges = [
        f"    {state.name} --> {target.name}: {', '.join(labels)}"
        for state, row in TRANSITIONS.items()
        for target in SessionState
        if (labels := labels_of([step for step, to in row.items() if to is target]))
    ]
    begin, end = f"    [*] --> {SessionState.IDLE.name}", f"    {SessionState.OVER.name} --> [*]"
    return "\n".join(["```mermaid", "stateDiagram-v2", begin, *edges, end, "```"])


def transition_table() -> str:
    states = list(SessionState)
    lines = [f"| input | {' | '.join(state.name for state in states)} |", "|---" * (len(states) + 1) + "|"]
    for step in (*EVENTS, *OwnStep):
        cells = [TRANSITIONS[state].get(step) for state in states]
        lines.append(f"| {name_of(step)} | {' | '.join('' if to is None else to.name for to in cells)} |")
    return "\n".join(lines)


def meanings(what: str, members: type[SessionState] | type[OwnStep]) -> str:
    rows = [f"| {name_of(each) if isinstance(each, OwnStep) else each.name} | {each.value} |" for each in members]
    return "\n".join([f"| {what} | meaning |", "|---|---|", *rows])


def labels_of(steps: list[LifecycleInput]) -> list[str]:
    """The names of inputs; all events together are one."""
    if not set(EVENTS) <= set(steps):
        return [name_of(step) for step in steps]
    return ["any event", *(name_of(step) for step in steps if step not in EVENTS)]


if __name__ == "__main__":
    PAGE.write_text(rendered(), encoding="utf-8")
