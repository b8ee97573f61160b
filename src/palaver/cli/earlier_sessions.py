"""The sessions before a finding: a finding may need what one session alone does not have."""

from __future__ import annotations

import click

from palaver.recording.run_reader import RecordedFinding, Run


def tell_what_may_be_missing(run: Run, finding: RecordedFinding) -> None:
    """If a finding did not come again, tell if it may need what earlier sessions left in the target."""
    from palaver.replaying.live_replay import may_need_earlier_sessions

    if may_need_earlier_sessions(run, finding):
        click.echo(
            f"it was found in session {finding.session}, and may need what those before it left in the target: "
            "palaver talk with --restart session or --reset COMMAND finds what one session shows alone"
        )
