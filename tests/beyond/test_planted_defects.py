"""Mail servers with a defect that only wrong messages show are found out; the strict one is not suspected."""

from __future__ import annotations

import pytest
from beyond_bugs import BUGS, BeyondBug
from beyond_peers import first_violation, talked

from servers.mail_strict import StrictMail


@pytest.mark.slow
@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.server.__name__)
def test_a_defect_is_found_by_wrong_messages(bug: BeyondBug) -> None:
    # Plans for pairs of messages lead to states that random walks seldom come to.
    found = first_violation("smtp", bug.server, 300, goal="history")
    assert found is not None
    assert found.kind.label == bug.finding


@pytest.mark.slow
def test_the_strict_server_is_not_suspected_in_long_runs() -> None:
    assert talked("smtp", StrictMail, 300, seed=2).findings == []
