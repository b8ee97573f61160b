"""Modules that a received message crosses: python tools/crossed_modules.py [-v] [SPEC]

Runs a guided campaign in memory, in which the spec plays both sides, and counts the modules of palaver whose functions
run while a session takes in one piece of data. SPEC is smtp.fan unless given.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path
from statistics import median_low
from types import FrameType
from unittest.mock import patch

import palaver
from palaver.campaign.run import Budget, Until
from palaver.session.engine import Session
from palaver.session.interface import Action, Input, Received

PACKAGE = Path(palaver.__file__).parent
# In fewer sessions of smtp.fan, most messages still find something that is not prepared.
SESSIONS = 150
sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "navigation"))


def crossed_modules(spec: str, sessions: int = SESSIONS) -> list[set[str]]:
    """The modules crossed by each piece of data that our sessions received."""
    from guided import campaign

    found: list[set[str]] = []
    handle = Session.handle

    def observed(session: Session, event: Input) -> list[Action]:
        if not isinstance(event, Received):
            return handle(session, event)
        files: set[str] = set()

        def note(frame: FrameType, _what: str, _arg: object) -> None:
            files.add(frame.f_code.co_filename)

        sys.setprofile(note)
        try:
            return handle(session, event)
        finally:
            sys.setprofile(None)
            found.append({file[len(str(PACKAGE)) + 1 :] for file in files if file.startswith(str(PACKAGE))})

    with patch.object(Session, "handle", observed):
        campaign(spec, budget=Budget(Until.FOREVER, sessions)).run()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0].split(":")[0])
    parser.add_argument("spec", nargs="?", type=Path, default=PACKAGE / "specs" / "smtp.fan")
    parser.add_argument("-v", "--verbose", action="store_true", help="list the modules and how many pieces cross them")
    options = parser.parse_args()
    found = crossed_modules(options.spec.read_text("utf-8"))
    print(f"modules crossed: {median_low(map(len, found))} (median of {len(found)} pieces of data)")
    if options.verbose:
        for module, times in Counter(module for each in found for module in sorted(each)).most_common():
            print(f"  {times:5} {module}")


if __name__ == "__main__":
    main()
