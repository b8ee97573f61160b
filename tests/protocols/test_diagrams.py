"""The state diagram that is embedded in each bundled spec is the one that was looked at and found right.

`python tests/protocols/test_diagrams.py` draws them all anew; look at what has changed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from palaver.compiled.bundled import bundled

DIAGRAMS = Path(__file__).parent / "diagrams"

# In `binary`, which has rules for other specs, nobody says anything.
DIALOGUES = [name for name in bundled() if name != "binary"]


@pytest.mark.parametrize("name", DIALOGUES)
def test_the_diagram_of_a_spec_is_as_it_was(name: str, palaver: Any) -> None:
    drawn = palaver("graph", name)
    assert drawn.code == 0, drawn.said
    assert drawn.text == (DIAGRAMS / f"{name}.mmd").read_text()


def test_there_is_no_diagram_of_a_spec_that_is_gone() -> None:
    assert {path.stem for path in DIAGRAMS.glob("*.mmd")} == set(DIALOGUES)


if __name__ == "__main__":
    import subprocess
    import sys

    for known in DIALOGUES:
        subprocess.run(
            [sys.executable, "-m", "palaver", "graph", known, "-o", str(DIAGRAMS / f"{known}.mmd")], check=True
        )
