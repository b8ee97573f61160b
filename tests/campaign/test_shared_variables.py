"""Variables that functions of a spec change are found, and others are not taken for them."""

from __future__ import annotations

import ast

import pytest

import palaver
from palaver.campaign.shared_variables import shared_variables
from palaver.compiled.bundled import spec_files


@pytest.mark.parametrize(
    "code",
    [
        "def f():\n    global seen\n    seen = 1",
        "seen = []\ndef f(x):\n    seen.append(x)",
        "seen = {}\ndef f(x):\n    seen[x] = 1",
        "seen = {}\ndef f(x):\n    seen['a'].b.add(x)",
        "seen = {}\ndef f(x):\n    del seen[x]",
        "class Box: pass\nseen = Box()\ndef f(x):\n    seen.value = x",
        "seen = set()\nf = lambda x: seen.add(x)",
        "seen = {}\ndef note(x):\n    seen[x] = 1\nnote(2)\ndef f(x):\n    note(x)",
    ],
)
def test_a_variable_that_a_function_changes_is_shared(code: str) -> None:
    assert shared_variables([ast.parse(code)]) == ["seen"]


@pytest.mark.parametrize(
    "code",
    [
        "seen = []\nseen.append(1)",
        "seen = [1]\ndef f(x):\n    return seen[0] + x",
        "seen = []\ndef f(seen):\n    seen.append(1)",
        "seen = []\ndef f():\n    seen = []\n    seen.append(1)",
        "import re\nseen = re.compile('a')\ndef f(x):\n    return seen.match(x)",
        "class Client:\n    def f(self):\n        self.seen = 1",
        "seen = {}\ndef note(f):\n    seen[f] = 1\n    return f\n@note\ndef g(): pass",
        "seen = {}\ndef note(x):\n    seen[x] = 1\nnote(2)",
    ],
)
def test_what_is_only_read_or_belongs_to_a_function_is_not(code: str) -> None:
    assert shared_variables([ast.parse(code)]) == []


def test_no_bundled_spec_has_any() -> None:
    for name in ("smtp", "ftp", "pop3", "redis", "mqtt", "dns", "tftp", "ntp", "modbus"):
        assert shared_variables(palaver.load(*spec_files([name])).python) == []


def test_sessions_with_such_a_spec_do_not_go_on_at_the_same_time() -> None:
    spec = palaver.loads(
        "seen = []\ndef f(x):\n    seen.append(x)\n    return True\n"
        '<start> ::= <Client:ask> <Server:answer>\n<ask> ::= "a"\n<answer> ::= "b"\nwhere f(<ask>)\n'
    )
    with pytest.raises(palaver.SetupError, match="-j does not go with this spec: its code changes seen, which all"):
        palaver.talk(spec, client=1, jobs=2)
    palaver.talk(spec, client=1, jobs=1).close()
