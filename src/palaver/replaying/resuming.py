"""Resuming a run that has ended, or was killed: what it had found out is known again, and its numbers go on.

The guidance is restored from its last snapshot; sessions that were recorded after that are counted again, offline.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from palaver.campaign.campaign_factory import talk
from palaver.campaign.run import Campaign
from palaver.compiled import Spec
from palaver.errors import PalaverError
from palaver.printable import counted
from palaver.recording.run_reader import Run, RunError
from palaver.replaying.offline_replay import count_again
from palaver.replaying.run_options import options_of


def resumed_options(run: Run, given: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a run, with others in their place where they are given."""
    return {**options_of(run, given), "seed": run.seed}


def resumed_campaign(
    run: Run, options: Mapping[str, Any], spec: Spec | None = None, *, plans: bool = False
) -> Campaign:
    """A campaign that goes on where a run has ended.

    :raises RunError: what the run has found out does not fit the spec
    :raises SetupError: the options do not fit
    """
    count = max((session.number for session in run.sessions), default=0)
    if options.get("sessions") is not None and count >= options["sessions"]:
        raise RunError(f"the run {run.folder} has {counted(count, 'session')} already; give a larger -n")
    campaign = talk(spec or run.spec, plans=plans, **options)
    last, state = run.snapshot()
    sessions = run.sessions
    try:
        if state:
            campaign.guidance.resume_from(state["guidance"])
            campaign.guidance.random_walk.walks.sessions = state["walks"]
        for session in sessions:
            is_counted = session.number <= last and session.number not in state.get("open", ())
            if not is_counted and session.has_details:
                count_again(run, session.number, campaign)
    except (PalaverError, KeyError, TypeError, ValueError) as error:
        campaign.close()
        raise RunError(f"the run {run.folder} cannot be resumed: {error}") from error
    known = run.recoveries_before(len(sessions) + 1)
    if known is not None:
        campaign.setup.recoveries.add_data(known)
    progress = campaign.progress
    progress.sessions = count
    progress.sent = sum(session.sent for session in sessions)
    progress.received = sum(session.received for session in sessions)
    progress.earlier_findings = max((finding.number for finding in run.findings), default=0)
    return campaign
