"""Makes the pictures of reports in `docs/pictures`: `python tools/pictures.py [FOLDER]`. It needs chromium.

The run is that of the demo, which is the same each time but for its times.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from browser import NARROW, WIDE, Browser

ROOT = Path(__file__).parents[1]


def demo_page(folder: Path) -> Path:
    """The page of a demo that is run in a folder."""
    kept = {**os.environ, "PALAVER_RUNS": str(folder)}
    subprocess.run([sys.executable, "-m", "palaver", "demo"], env=kept, check=True, stdout=subprocess.DEVNULL)
    (page,) = folder.glob("*/report.html")
    return page


def main(folder: Path) -> None:
    """Make all pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work, Browser() as browser:
        page = demo_page(Path(work))
        for name, size, is_dark in (("report", WIDE, False), ("report-dark-phone", NARROW, True)):
            browser.look(size, is_dark=is_dark)
            browser.open(page)
            browser.screenshot(folder / f"{name}.png", 1400)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "pictures")
