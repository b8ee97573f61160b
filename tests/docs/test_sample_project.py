"""The sample project, run as a new user would: it fails with its bug, and passes without."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "examples" / "adder"


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "PALAVER_"))}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env={**kept, "PATH": path})


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_the_sample_project_fails_with_its_bug_and_passes_without(tmp_path: Path) -> None:
    project = tmp_path / "adder"
    shutil.copytree(SAMPLE, project)
    wrong = run(project, "sh", "ci.sh")
    assert wrong.returncode == 1, wrong.stdout + wrong.stderr
    constraint = next(
        number for number, line in enumerate((project / "adder.fan").read_text().splitlines(), 1) if "where" in line
    )
    assert f"::error file=adder.fan,line={constraint}," in wrong.stdout
    assert "2 failed" in wrong.stdout
    for name in ("report.html", "junit.xml", "palaver.sarif", "summary.md"):
        assert (project / name).stat().st_size

    server = project / "server.py"
    server.write_text(server.read_text().replace("(first + second) % 100", "first + second"))
    right = run(project, "sh", "ci.sh")
    assert right.returncode == 0, right.stdout + right.stderr
    assert " passed" in right.stdout


def test_both_recipes_call_the_script_that_is_tested_here() -> None:
    github = (SAMPLE / ".github" / "workflows" / "palaver.yml").read_text()
    gitlab = (SAMPLE / ".gitlab-ci.yml").read_text()
    assert re.findall(r"- (?:run: )?(pip install .*|sh .*)", github) == ["pip install palaver pytest", "sh ci.sh"]
    assert re.findall(r"- (pip install .*|sh .*)", gitlab) == ["pip install palaver pytest", "sh ci.sh"]


def test_the_hook_of_pre_commit_checks_specs(tmp_path: Path) -> None:
    hook = (ROOT / ".pre-commit-hooks.yaml").read_text()
    entry = re.search(r"entry: (.*)", hook)
    assert entry is not None
    assert run(SAMPLE, *entry[1].split(), "adder.fan").returncode == 0
    (tmp_path / "wrong.fan").write_text("<start> ::= <nothing>\n")
    assert run(tmp_path, *entry[1].split(), "wrong.fan").returncode == 2


def test_the_container_gets_all_that_is_installed() -> None:
    copied = re.findall(r"^COPY (.*) /src", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    names = {name for line in copied for name in line.split()}
    assert names == {"pyproject.toml", "README.md", "LICENSE", "src"}
    assert {f"!{name}" for name in names} <= set((ROOT / ".dockerignore").read_text().split())
