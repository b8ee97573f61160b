"""A small run for workers: a spec, and the campaign of it with a server that says back what it is told."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import palaver
from palaver.campaign.run import Campaign

SERVER = Path(__file__).parent / "campaign" / "target_server.py"
TARGET = shlex.join([sys.executable, str(SERVER), "tcp", "{port}"])
# The server says back what it is told.
SPEC = """
<start> ::= <talk>
<talk> ::= <ask> <talk> | <ask>
<ask> ::= <Client:word> <Server:echo>
<word> ::= <kind> <digit>
<echo> ::= <kind> <digit>
<kind> ::= "one" | "two" | "three" | "four" | "five"
<digit> ::= "0" | "1" | "2" | "3"
where str(<ask>.<word>) == str(<ask>.<echo>)
"""


def campaign_of(spec: str = SPEC, **options: Any) -> Campaign:
    given = {"target": TARGET, "seed": 1, "workers": 2, "max_messages": 40, **options}
    return palaver.talk(palaver.loads(spec), **given)
