"""What cannot be left out of a conversation is said in fewer messages, or in another order."""

from __future__ import annotations

import sys
from typing import Any

import palaver as palaver_

# Three exchanges at least: a long one has four messages, a short one has one.
ERRANDS = r"""
<start> ::= <errand>{3,8} <In:end> <Out:done>
<errand> ::= <In:write> <Out:go_on> <In:text> <Out:done> | <In:look> <Out:done> | <In:note>
<write> ::= "write\n"
<go_on> ::= "go on\n"
<text> ::= r"text [a-z]{1,8}\n"
<look> ::= "look\n"
<note> ::= r"note [a-z]{1,8}\n"
<end> ::= "end\n"
<done> ::= "done\n"
"""
CLERK = r"""
import os, sys
for line in sys.stdin:
    if not line.startswith("note"):
        os.write(1, {"write\n": b"go on\n", "end\n": b"dome\n"}.get(line, b"done\n"))
"""

# What is taken out is numbered anew at once: who has asked for the second number before sees that, or who takes both
# back, and asks for one and for all.
SHELF = r"""
<start> ::= <visit>{2,} <In:end> <Out:done>
<visit> ::= <In:one> <Out:name> | <In:take> <Out:done> | <In:back> <Out:done>
<one> ::= "name\n"
<name> ::= r"[0-9]\n"
<take> ::= "take\n"
<back> ::= "back\n"
<end> ::= "end\n"
<done> ::= "done\n"
where forall <a> in <start>: len(set(map(str, *<a>..<name>))) <= 1
"""
KEEPER = r"""
import os, sys
taken = 0
for line in sys.stdin:
    taken = 1 if line == "take\n" else 0 if line == "back\n" else taken
    os.write(1, b"%d\n" % taken if line == "name\n" else b"done\n")
"""


def shrunk(palaver: Any, spec: str, program: str, *options: str) -> list[str]:
    """What is said in the finding of a program, made small."""
    palaver.write(it_fan=spec, it_py=program)
    found = palaver("talk", "it.fan", "-n", "20", "--run", "kept", *options, sys.executable, "it.py")
    assert found.code == 1, found.text
    assert "reproduced 3 of 3" in palaver("shrink", "kept", "1").text
    with palaver_.open_run(palaver.folder / "kept") as run:
        made = run.shrinking(1)
        assert made is not None
        return [said.data.decode().split()[0] for said in made.messages]


def test_exchanges_that_must_be_there_are_those_with_the_fewest_messages(palaver: Any) -> None:
    assert shrunk(palaver, ERRANDS, CLERK, "--seed", "1", "--unguided") == ["note"] * 3 + ["end"]


def test_what_needs_no_way_back_in_another_order_is_said_in_that_order(palaver: Any) -> None:
    # Leaving out alone ends at: take, name (1), back, name (0).
    said = shrunk(palaver, SHELF, KEEPER, "--seed", "1", "--unguided")
    assert said == ["name", "0", "take", "done", "name"]
