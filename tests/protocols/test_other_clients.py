"""dig under test: palaver is the name server, for one question after the other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import palaver as palaver_

SPECS = Path(palaver_.__file__).parent / "specs"

QUESTIONS = (
    "A www.example.test",
    "MX mail.example.test +norecurse",
    "TXT large.example.test +noedns +ignore",
    "AAAA chain.example.test +nocookie +noadflag",
    "CNAME no-one.example.test +bufsize=512",
    "NS host.sub.example.test +cdflag",
    "SOA closed.test",
)


@pytest.mark.servers("dig")
@pytest.mark.parametrize(("spec", "protocol", "option"), [("dns", "udp", "+notcp"), ("dns_tcp", "tcp", "+tcp")])
def test_dig_asks_as_it_should(palaver: Any, spec: str, protocol: str, option: str) -> None:
    # After two messages a conversation is over, so that each question has one of its own.
    how_long = ("-n", "3", "--until", "forever", "--max-messages", "2", "--seed", "1")
    for question in QUESTIONS:
        command = f"dig @127.0.0.1 -p {{port}} +time=5 +tries=1 {option} {question}"
        side = ("--server", f"{protocol}:{{port}}", "--target", command)
        talked = palaver("talk", "-f", str(SPECS / f"{spec}.fan"), *side, *how_long)
        assert talked.code == 0, talked.said
        assert talked.summary == "3 sessions, 3 messages sent, 3 received, no findings"
