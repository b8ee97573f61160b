"""Runs a recipe of continuous integration here: `python tools/recipes.py RECIPE`, of GitHub's actions or of GitLab.

The project is the folder with the recipe. It is cloned, and every step of the recipe is carried out in the clone, in
the order and under the conditions that the recipe tells. Commands run as they are written, in a fresh environment in
which palaver and pytest are installed already. Of the steps of others, what they need from us is done or checked: a
Python environment is made, and files that would be uploaded must be there. A step that is not known is an error.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import tempfile
import venv
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import yaml

# The settings of the tests that run this are not meant for the project.
_FOREIGN = ("PYTEST_", "PALAVER_", "GIT_", "GITHUB_")


class RecipeError(Exception):
    """A recipe cannot be followed."""


@dataclass
class RecipeRun:
    """A recipe that is followed in a folder: what was done, what it printed, and the first exit code that is not 0."""

    folder: Path
    steps: list[str] = field(default_factory=list)
    output: str = ""
    code: int = 0
    uploaded: list[str] = field(default_factory=list)

    @property
    def project(self) -> Path:
        return self.folder / "project"

    @property
    def summary(self) -> Path:
        """The file that GitHub shows on the page of a job."""
        return self.folder / "summary.md"

    def clone(self, origin: Path) -> None:
        """Copy the project as a repository of its own, and clone that."""
        copy = self.folder / "origin"
        _call("cp", "-r", str(origin), str(copy))
        identity = ("-c", "user.name=recipe", "-c", "user.email=recipe@example.com")
        _call("git", "-C", str(copy), "init", "--quiet")
        _call("git", "-C", str(copy), "add", ".")
        _call("git", "-C", str(copy), *identity, "commit", "--quiet", "-m", "all")
        _call("git", "clone", "--quiet", str(copy), str(self.project))

    def make_environment(self) -> None:
        """Make a Python environment in which all that this one has is installed."""
        place = self.folder / "python"
        venv.create(place, with_pip=True)
        packages = Path(sysconfig.get_path("purelib", vars={"base": str(place), "platbase": str(place)}))
        (packages / "installed_here.pth").write_text(sysconfig.get_path("purelib") + "\n")

    def shell(self, command: str, shell: tuple[str, ...]) -> None:
        """Run a command as the recipe's service does."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN)}
        places = (self.folder / "python" / "bin", Path(sys.executable).parent)
        path = os.pathsep.join([*map(str, places), os.environ["PATH"]])
        kept |= {"PATH": path, "CI": "true", "PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
        done = subprocess.run(
            [*shell, command],
            cwd=self.project,
            env={**kept, "GITHUB_STEP_SUMMARY": str(self.summary)} if shell[0] == "bash" else kept,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        self.output += done.stdout
        self.code = self.code or done.returncode

    def upload(self, names: str | list[str], check: Callable[[Path], object] = Path.stat) -> None:
        """Check the files that would be uploaded."""
        for name in names.split() if isinstance(names, str) else names:
            try:
                check(self.project / name)
            except (OSError, ValueError, ElementTree.ParseError) as error:
                raise RecipeError(f"{name} cannot be uploaded: {error}") from error
            self.uploaded.append(name)


def _call(*command: str) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def _read_json(file: Path) -> object:
    return json.loads(file.read_text(encoding="utf-8"))


def follow_github(recipe: Mapping[str, Any], run: RecipeRun, origin: Path) -> None:
    """Carry out all steps of all jobs; after a failure only those that are always done."""
    for job in recipe["jobs"].values():
        for step in job["steps"]:
            if run.code and step.get("if") != "always()":
                continue
            given = step.get("with", {})
            name = step.get("uses", "").partition("@")[0]
            run.steps.append(name or step["run"])
            match name:
                case "":
                    run.shell(step["run"], ("bash", "-e", "-c"))
                case "actions/checkout":
                    run.clone(origin)
                case "actions/setup-python":
                    run.make_environment()
                case "actions/upload-artifact":
                    run.upload(given["path"])
                case "github/codeql-action/upload-sarif":
                    run.upload(given["sarif_file"], _read_json)
                case _:
                    raise RecipeError(f"the step {name} is not known here")


def follow_gitlab(recipe: Mapping[str, Any], run: RecipeRun, origin: Path) -> None:
    """Carry out the script of each job, up to the first command that fails; then its artifacts are uploaded."""
    run.clone(origin)
    run.make_environment()
    for job in recipe.values():
        if not job["image"].startswith("python:"):
            raise RecipeError(f"the image {job['image']} is not known here")
        for command in job["script"]:
            if not run.code:
                run.steps.append(command)
                run.shell(command, ("sh", "-c"))
        artifacts = job.get("artifacts", {})
        if not run.code or artifacts.get("when") == "always":
            run.upload(artifacts.get("paths", []))
            run.upload(artifacts.get("reports", {}).get("junit", []), ElementTree.parse)


def follow(recipe: Path, folder: Path) -> RecipeRun:
    """Follow a recipe in a folder. :raises RecipeError: one of its steps is not known, or a file is missing"""
    read, run = yaml.safe_load(recipe.read_text(encoding="utf-8")), RecipeRun(folder)
    if "jobs" in read:
        follow_github(read, run, recipe.parents[2])
    else:
        follow_gitlab(read, run, recipe.parent)
    return run


def main(recipe: Path) -> int:
    """Follow a recipe in a temporary folder, and tell what was done."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            run = follow(recipe, Path(folder))
        except RecipeError as error:
            print(error, file=sys.stderr)
            return 2
        print(run.output, end="")
        print("steps:", *run.steps, sep="\n  ")
        print("uploaded:", *run.uploaded)
        return run.code


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1])))
