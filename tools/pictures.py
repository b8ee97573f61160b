"""Makes what README shows: the terminal with the demo, and the pictures of its report in `docs/pictures`.

    python tools/pictures.py [FOLDER]       all of it; it needs chromium
    python tools/pictures.py --terminal     the text in README alone

The run is that of the demo, which is the same each time but for its times.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from itertools import groupby
from pathlib import Path

from browser import NARROW, WIDE, Browser

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"

# The lines of the demo that README shows; "..." stands for what is left out.
_SHOWN = re.compile(
    r"Starting |palaver plays |\d+ messages in |covered \d+ of |all were covered |found \d+ of |The shortest |"
    r" +[\d.]+  (Client: '(MAIL|RSET)|Server: '250 (go on|forgotten))|.*  <- here$|  reproduced |The report of |"
    r"This finding "
)
_BLOCK = re.compile(r"(?s)(?<=```text\n)Starting a mail server .*?(?=```)")


def run_demo(folder: Path, runs: str) -> str:
    """Run the demo in a folder, and return what it prints."""
    command = [sys.executable, "-m", "palaver", "demo"]
    kept = {**os.environ, "PALAVER_RUNS": runs}
    return subprocess.run(command, cwd=folder, env=kept, check=True, stdout=subprocess.PIPE, text=True).stdout


def shortened(printed: str) -> str:
    """The lines of the demo that README shows."""
    lines: list[str] = []
    for is_shown, group in groupby(printed.splitlines(), lambda line: _SHOWN.match(line) is not None):
        found = list(group)
        lines += found if is_shown else ["..." if any(found) else ""]
    return "\n".join(lines).removesuffix("...")


def shown_terminal() -> str:
    """The terminal as README shows it."""
    found = _BLOCK.search(README.read_text(encoding="utf-8"))
    assert found is not None, "README has a block of text that begins as the demo does"
    return found[0]


def show_terminal(printed: str) -> None:
    """Put what the demo prints into README."""
    text = README.read_text(encoding="utf-8").replace(shown_terminal(), shortened(printed))
    README.write_text(text, encoding="utf-8")


def main(folder: Path) -> None:
    """Make all pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work, Browser() as browser:
        show_terminal(run_demo(Path(work), ".palaver/runs"))
        (page,) = Path(work).glob(".palaver/runs/*/report.html")
        # The wide one has the whole conversation, and what is wrong at its end.
        for name, size, is_dark, height in (("report", WIDE, False, 1800), ("report-dark-phone", NARROW, True, 1400)):
            browser.look(size, is_dark=is_dark)
            browser.open(page)
            browser.screenshot(folder / f"{name}.png", height)


if __name__ == "__main__":
    if sys.argv[1:] == ["--terminal"]:
        with tempfile.TemporaryDirectory() as work:
            show_terminal(run_demo(Path(work), ".palaver/runs"))
        raise SystemExit
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "pictures")
