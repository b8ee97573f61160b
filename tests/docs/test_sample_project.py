"""The sample project, cloned and run as its recipes say: it fails with its bug, and passes without."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from recipes import RecipeError, follow

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "examples" / "adder"


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "PALAVER_"))}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env={**kept, "PATH": path})


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the project, to be changed."""
    return Path(shutil.copytree(SAMPLE, tmp_path / "adder"))


def repair(project: Path) -> None:
    server = project / "server.py"
    server.write_text(server.read_text().replace("(first + second) % 100", "first + second"))


def test_it_is_tested_again_and_again_while_somebody_looks_for_the_bug(project: Path) -> None:
    assert [run(project, "palaver", "talk").returncode for _ in range(2)] == [1, 1]
    repair(project)
    right = run(project, "palaver", "talk")
    assert right.returncode == 0, right.stdout
    assert right.stdout.startswith("20 sessions, ")


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_the_recipe_for_github_fails_with_the_bug_and_passes_without(project: Path, tmp_path: Path) -> None:
    recipe = project / ".github" / "workflows" / "palaver.yml"
    (tmp_path / "wrong").mkdir()
    wrong = follow(recipe, tmp_path / "wrong")
    assert wrong.code == 1, wrong.output
    constraint = next(
        number for number, line in enumerate((project / "adder.fan").read_text().splitlines(), 1) if "where" in line
    )
    assert f"::error file=adder.fan,line={constraint}," in wrong.output
    assert "2 failed" in wrong.output
    assert wrong.uploaded == ["palaver.sarif", "report.html", "palaver-run"]
    assert wrong.summary.read_text().startswith("### palaver: fail, 1 new, 0 known\n")

    repair(project)
    (tmp_path / "right").mkdir()
    right = follow(recipe, tmp_path / "right")
    assert (right.code, right.uploaded) == (0, wrong.uploaded), right.output
    assert " passed" in right.output
    assert right.steps == wrong.steps


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_the_recipe_for_gitlab_fails_with_the_bug_and_passes_without(project: Path, tmp_path: Path) -> None:
    recipe = project / ".gitlab-ci.yml"
    (tmp_path / "wrong").mkdir()
    wrong = follow(recipe, tmp_path / "wrong")
    assert wrong.code == 1, wrong.output
    assert wrong.steps == ["pip install palaver pytest", "sh ci.sh"]
    assert "2 failed" in wrong.output
    assert wrong.uploaded == ["report.html", "palaver-run", "summary.md", "junit.xml"]
    assert (wrong.project / "summary.md").read_text().startswith("### palaver: fail, 1 new, 0 known\n")

    repair(project)
    (tmp_path / "right").mkdir()
    right = follow(recipe, tmp_path / "right")
    assert (right.code, right.steps, right.uploaded) == (0, wrong.steps, wrong.uploaded), right.output
    assert " passed" in right.output
    assert " failed" not in right.output
    assert (right.project / "summary.md").read_text().startswith("### palaver: pass, 0 new, 0 known\n")


def test_a_step_that_is_not_known_is_an_error(project: Path, tmp_path: Path) -> None:
    recipe = project / ".github" / "workflows" / "palaver.yml"
    recipe.write_text("jobs: {test: {steps: [{uses: somebody/something@v1}]}}")
    with pytest.raises(RecipeError, match="the step somebody/something is not known here"):
        follow(recipe, tmp_path)


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
