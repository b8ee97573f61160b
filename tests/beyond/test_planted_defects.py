"""Servers with a defect that only wrong messages show are found out; the strict ones are not suspected."""

from __future__ import annotations

import pytest
from beyond_bugs import BUGS, BeyondBug
from beyond_peers import first_violation, talked
from dns_beyond_bugs import DNS_BUGS, DnsBug, StrictNames
from pop3_beyond_bugs import POP3_BUGS, StrictMailbox

from servers.mail_strict import StrictMail


@pytest.mark.slow
@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.server.__name__)
def test_a_defect_is_found_by_wrong_messages(bug: BeyondBug) -> None:
    found = first_violation("smtp", bug.server, 300, goal=bug.goal, seed=bug.seed)
    assert found is not None
    assert found.kind.label == bug.finding


@pytest.mark.slow
@pytest.mark.parametrize("bug", POP3_BUGS, ids=lambda bug: bug.server.__name__)
def test_a_defect_of_a_mailbox_is_found_by_wrong_messages(bug: BeyondBug) -> None:
    found = first_violation("pop3", bug.server, 400, goal="beyond", deadlines={"<refused>": 1})
    assert found is not None
    assert found.kind.label == bug.finding


@pytest.mark.slow
def test_the_strict_mailbox_is_not_suspected_in_long_runs() -> None:
    assert talked("pop3", StrictMailbox, 150, seed=2).findings == []


@pytest.mark.slow
def test_the_strict_server_is_not_suspected_in_long_runs() -> None:
    assert talked("smtp", StrictMail, 300, seed=2).findings == []


@pytest.mark.slow
@pytest.mark.parametrize("bug", DNS_BUGS, ids=lambda bug: bug.server.__name__)
def test_a_defect_of_a_name_server_is_found_by_wrong_messages(bug: DnsBug) -> None:
    found = first_violation("dns", bug.server, 80, beyond=0.7)
    assert found is not None
    assert found.kind.label == bug.finding


@pytest.mark.slow
def test_the_strict_name_server_is_not_suspected_in_long_runs() -> None:
    campaign = talked("dns", StrictNames, 20, seed=2, beyond=0.5, timeout=2.0)
    assert campaign.findings == []
    wrong = campaign.sessions.wrong
    assert wrong is not None
    assert wrong.tally.judged > 30
