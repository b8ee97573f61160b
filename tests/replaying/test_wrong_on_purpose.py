"""Findings of messages that are wrong on purpose are replayed, made small and exported as others are."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

SPEC = r"""
<start> ::= <In:open> <Out:opened> <visit>{2,5} <In:close> <Out:closed>
<visit> ::= <In:ask> <Out:answer>
<open> ::= "open\n"
<ask> ::= "ask " <name> "\n"
<close> ::= "close\n"
<name> ::= r"[a-z]{1,8}"
<opened> ::= "opened\n"
<answer> ::= r"answer [a-z]{1,8}\n"
<closed> ::= "closed\n"

<beyond> ::= <second_open> | <early> | <misspelt>
<second_open> ::= <In:any_open> <Out:refusal>
<early> ::= (<In:any_ask> | <In:any_close>) <Out:refusal>
<misspelt> ::= <In:any_line> <Out:refusal>
<any_open> ::= "open\n"
<any_ask> ::= r"ask [a-z]{1,8}\n"
<any_close> ::= "close\n"
<any_line> ::= r"[^\n]*\n"
<refusal> ::= "error\n"
"""

# What it does not know closes the door, if that is its defect.
DOOR = r"""
import os, re, sys
is_open = False
for line in sys.stdin:
    word, _, name = line.rstrip("\n").partition(" ")
    if word == "open" and not is_open:
        is_open, answer = True, "opened"
    elif word == "ask" and is_open and re.fullmatch("[a-z]{1,8}", name):
        answer = f"answer {name}"
    elif word == "close" and is_open and not name:
        is_open, answer = False, "closed"
    else:
        is_open = is_open and (word in ("open", "ask", "close") or "wrong" not in sys.argv)
        answer = "error"
    os.write(1, answer.encode() + b"\n")
"""

CHANGED, ACCEPTED = "state changed although refused", "wrong message accepted"


@pytest.fixture
def kept(palaver: Any) -> Any:
    """The findings of a run by their kinds, with their numbers."""
    palaver.write(door_fan=SPEC, door_py=DOOR)
    options = ["--beyond", "0.5", "-n", "12", "--seed", "4", "--run", "kept"]
    assert palaver("talk", "door.fan", *options, sys.executable, "door.py", "wrong").code == 1
    lines = palaver("show", "kept").text.splitlines()
    found = {kind: next(line for line in lines if f", {kind}: " in line).split()[1] for kind in (CHANGED, ACCEPTED)}
    assert len(found) == 2
    return found


@pytest.mark.parametrize("kind", [CHANGED, ACCEPTED])
def test_it_is_replayed_made_small_and_exported(palaver: Any, kept: dict[str, str], kind: str) -> None:
    number = kept[kind]
    assert palaver("replay", "kept", number, "--offline").code == 1
    live = palaver("replay", "kept", number, "-n", "2")
    assert (live.code, "reproduced 2 of 2" in live.text) == (1, True), live.text
    assert "reproduced 3 of 3" in palaver("shrink", "kept", number).text
    for form in ("text", "hex", "mermaid"):
        assert "(on purpose" in palaver("show", "kept", number, "--format", form).text
    assert palaver("show", "kept", number, "--format", "mermaid").text.count("sequenceDiagram") == 1
    assert palaver("export", "kept", number, "--script", "-o", "it.py").code == 0
    done = subprocess.run([sys.executable, "-ISE", "it.py"], cwd=palaver.folder, capture_output=True, check=False)
    assert (done.returncode, done.stdout.startswith(b"reproduced: ")) == (0, True), done
    assert palaver("report", "kept", "-o", "page.html").code == 0
    page = (palaver.folder / "page.html").read_text()
    assert kind in page
    assert "on purpose" in page


def test_the_next_run_tells_if_it_is_still_there(palaver: Any, kept: dict[str, str]) -> None:
    options = ["--beyond", "0.5", "-n", "4", "--seed", "1", "--again", "kept", "--no-run", sys.executable, "door.py"]
    assert kept
    wrong = palaver("talk", "door.fan", *options, "wrong").text
    assert "still there: " in wrong
    assert "fixed: " not in wrong
    mended = palaver("talk", "door.fan", *options)
    assert (mended.code, "still there: " in mended.text, "fixed: " in mended.text) == (0, False, True), mended.text


def with_keys(text: str, *changes: tuple[str, str]) -> str:
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text


def test_a_changed_state_is_told_also_if_every_session_has_a_key_of_its_own(palaver: Any) -> None:
    spec = with_keys(
        SPEC,
        ('<ask> ::= "ask " <name>', '<ask> ::= "ask " <key> " " <name>'),
        ('<opened> ::= "opened\\n"', '<opened> ::= "opened " <key> "\\n"\n<key> ::= r"[0-9a-f]{8}"'),
    )
    door = with_keys(
        DOOR,
        ("import os", "import os, secrets"),
        ("is_open = False\nfor", "is_open, key = False, secrets.token_hex(4)\nfor"),
        ('answer = True, "opened"', 'answer = True, f"opened {key}"'),
        ('re.fullmatch("[a-z]{1,8}", name)', 're.fullmatch(key + " [a-z]{1,8}", name)'),
        ('f"answer {name}"', 'f"answer {name.split()[1]}"'),
        ('(word in ("open", "ask", "close") or "wrong" not in sys.argv)', "False"),  # whatever it refuses closes it
    )
    palaver.write(door_fan=spec + "where forall <a> in <ask>: str(<a>.<key>) == str(<opened>.<key>)\n", door_py=door)
    options = ["--beyond", "0.5", "-n", "60", "--unguided", "--no-run"]
    for seed in range(1, 9):  # what is said wrongly is a matter of chance
        talked = palaver("talk", "door.fan", *options, "--seed", str(seed), sys.executable, "door.py")
        assert "nothing was decided" not in talked.text
        if f"{CHANGED}: " in talked.text:
            return
    raise AssertionError("it was never told")
