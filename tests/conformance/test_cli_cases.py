"""Cases of the command line observed on the reference implementation, and where palaver decides otherwise."""

import json
from pathlib import Path
from typing import Any

import pytest

CASES = [json.loads(line) for line in (Path(__file__).parent / "cli.jsonl").read_text().splitlines()]

# What palaver does instead, and why: exit code, and what must hold for the output.
OVERRULED: dict[str, tuple[int, str, str]] = {
    "cli-11": (2, "out == ''", "a folder that is not empty is wrong use"),
    "cli-15": (1, "out == ''", "too few solutions are a finding"),
    "cli-19": (2, "out == ''", "a missing spec is wrong use"),
    "cli-33": (2, "out == ''", "a spec whose include is missing is wrong"),
    "cli-39": (0, "out.count('\\n') >= 2", "no program is needed to make a session's text: nothing is started"),
    "cli-43": (0, "out == ''", "--party means the same for parse as for fuzz"),
    "cli-48": (0, "'é'.encode().decode('latin-1') in out", "text is UTF-8 both ways: what we make we accept"),
}


@pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in CASES])
def test_a_command_does_what_the_reference_does(palaver: Any, case: dict[str, Any], tmp_path: Path) -> None:
    for name, content in case["files"].items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    done = palaver(*case["argv"], stdin=case.get("stdin", "").encode())
    out = done.out.decode("latin-1")
    exit_code, check, _ = OVERRULED.get(case["id"], (case["exit"], case.get("stdout_check", "True"), ""))
    assert done.code == exit_code, done.said
    assert eval(check, {"out": out}), out
    if "after_check" in case:
        files = {str(p.relative_to(tmp_path)): p.read_text() for p in tmp_path.rglob("*") if p.is_file()}
        assert eval(case["after_check"], {"fs": files})
