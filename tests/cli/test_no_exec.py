"""With `--no-exec` the spec of a stranger is looked at, and none of its Python is run."""

from __future__ import annotations

from typing import Any

import pytest

import palaver as library

# Wherever Python may stand in a spec, it leaves a file behind.
TRAPS = """
import os
MADE = open("by a statement", "w")
N = 3
def trap(*_):
    open("by a function", "w")
    return 1
class Client(NetworkParty):
    open("by a class", "w")
<start> ::= <exchange>{open("by a bound", "w").fileno()} <Client:Server:bye>
<exchange> ::= <Client:Server:ask> <Server:Client:answer>{N} <Server:Client:answer>{1 + 1}
<ask> ::= "a" <gen>{trap(<start>)} | <gen>{N}
<gen> ::= r"[a-z]+" := trap(1)
<answer> ::= "b"{__import__("os").open("by an import", 64)}
<bye> ::= "c"
where trap(<ask>)
where len(str(<answer>)) == trap()
where forall <a> in <answer>: trap(<a>) == 3
where any(trap(x) for x in *<answer>)
maximizing trap(<ask>)
"""


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "--k", "3"),
        ("check", "--strict"),
        ("convert",),
        ("convert", "--to", "state"),
        ("convert", "--party", "Client"),
        ("graph",),
        ("graph", "--all-messages", "--format", "svg"),
    ],
    ids=" ".join,
)
def test_nothing_is_run(palaver: Any, arguments: tuple[str, ...]) -> None:
    palaver.write(trap_fan=TRAPS)
    done = palaver(*arguments, "--no-exec", "-c", "open('by the command line', 'w') is None", "trap.fan")
    assert done.code == 0, done.said
    assert [path.name for path in palaver.folder.iterdir()] == ["trap.fan"]


def test_what_could_not_be_checked_is_told(palaver: Any) -> None:
    palaver.write(trap_fan=TRAPS)
    done = palaver("check", "--no-exec", "trap.fan")
    assert "trap.fan: no Python was run, so these were not checked: whether it runs, " in done.text
    assert "states that only constraints tell apart are one" in palaver("graph", "--no-exec", "trap.fan").said


def test_errors_of_the_grammar_are_still_told(palaver: Any) -> None:
    palaver.write(wrong_fan="<start> ::= <x>\nexit(0)\n")
    done = palaver("check", "--no-exec", "wrong.fan")
    assert done.code == 2
    assert "<x>" in done.text


def test_python_of_a_spec_that_was_loaded_so_is_refused(palaver: Any) -> None:
    palaver.write(trap_fan=TRAPS)
    spec = library.load(palaver.folder / "trap.fan", run_python=False)
    with pytest.raises(library.PalaverError, match="this Python is not run"):
        next(spec.fuzz())
    assert [path.name for path in palaver.folder.iterdir()] == ["trap.fan"]
