"""The package exports what it says, in order, and imports only what is used."""

import subprocess
import sys
from pathlib import Path

import pytest

import palaver


@pytest.mark.parametrize("name", palaver.__all__)
def test_every_exported_name_exists(name: str) -> None:
    assert getattr(palaver, name).__module__.startswith("palaver.")


def test_exports_are_sorted_and_complete() -> None:
    assert sorted(palaver.__all__) == palaver.__all__
    assert set(palaver.__all__) == set(palaver._HOME_OF)
    assert dir(palaver) == palaver.__all__


def test_other_names_do_not_exist() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'speak'"):
        palaver.speak  # noqa: B018


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["talk", "--help"]])
def test_help_imports_neither_the_solver_nor_the_parser(arguments: list[str]) -> None:
    script = (
        "import sys; from palaver.cli.main import run\n"
        f"try: run({arguments!r})\n"
        "except SystemExit: pass\n"
        "heavy = ('palaver.solving.solve', 'palaver.matching.')\n"
        "sys.exit(' '.join(name for name in sys.modules if name.startswith(heavy)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stderr == "\n"


def test_who_encrypts_nothing_loads_no_openssl() -> None:
    script = "import sys, palaver.transport.event_loop; sys.exit('ssl' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


# A few more than with Python 3.11, which has 125 and 484; versions differ. Nobody listens at port 1.
MOST_MODULES = {"--help": 150, "talk smtp -n 1 --client 1 --wait-for-server 0": 500}


@pytest.mark.parametrize("arguments", MOST_MODULES)
def test_a_command_imports_few_modules(arguments: str, tmp_path: Path) -> None:
    script = (
        "import sys; from palaver.cli.main import run\n"
        f"try: run({arguments.split()!r})\n"
        "except SystemExit: pass\n"
        "print(len(sys.modules), file=sys.stderr)"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert int(done.stderr.split()[-1]) <= MOST_MODULES[arguments]
