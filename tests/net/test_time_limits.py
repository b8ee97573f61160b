"""No run goes on for more than a second after its time, whatever the peer, the spec or the target does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from net.time_limits import CASES, OPTIONS

# How much longer a run may take on a machine that does other things, too.
SLACK_S = 4.0


@pytest.mark.slow
@pytest.mark.timeout(200)
def test_runs_and_sessions_end_when_their_time_is_over() -> None:
    script = Path(__file__).parent / "time_limits.py"
    told = subprocess.run([sys.executable, str(script), "1"], capture_output=True, text=True, check=True).stdout
    rows = {line[:48].strip(): float(line[48:56].split()[0]) for line in told.splitlines()[1:]}
    assert set(rows) == {f"{option:15} {name}" for option, names in OPTIONS.items() for name in names}
    assert len(CASES) >= 10
    assert max(rows.values()) < 1.0 + SLACK_S, told
    assert min(rows.values()) > -0.2, told  # each has used all of its time
