"""The campaign of a recorded run, made once more from its options."""

from __future__ import annotations

from typing import Any

from palaver.campaign.run import Campaign
from palaver.campaign.talk import talk
from palaver.compiled import Spec
from palaver.recording.run_reader import RecordedFinding, Run
from palaver.replaying.replaying_limits import END_WATCH
from palaver.session.events import Open
from palaver.session.findings import FindingKind
from palaver.solving.solving_limits import EvolutionRates, SolvingLimits

# Kinds of findings that are not about what a session has read: others have seen them.
SEEN_OUTSIDE = frozenset((FindingKind.CRASH, FindingKind.EXIT, FindingKind.REPORT, FindingKind.ORACLE))

# Options of `talk` about the run as a whole, which mean nothing when one session is repeated.
_OF_THE_RUN = ("sessions", "seconds", "until", "coverage_file", "known")
# Options about the system under test, which is not there when a session is repeated offline.
_OF_THE_TARGET = (
    *("target", "restart", "setup", "reset", "teardown", "probe", "ready", "start_timeout", "env", "cwd"),
    *("target_memory", "target_cpu"),
)


def options_of(run: Run) -> dict[str, Any]:
    """The options that a run was made with, for `palaver.talk`."""
    options = run.options
    solving = options.get("solving")
    if solving is not None:
        options["solving"] = SolvingLimits(**{**solving, "rates": EvolutionRates(**solving["rates"])})
    return {**options, "seed": run.seed}


def _options(run: Run, left_out: tuple[str, ...]) -> dict[str, Any]:
    options = {name: value for name, value in options_of(run).items() if name not in (*_OF_THE_RUN, *left_out)}
    return {**options, "guided": True}


def offline_campaign(run: Run, session: int, spec: Spec | None) -> Campaign:
    """A campaign that is never begun, with everything that the sessions of a run need. It is to be closed."""
    options = _options(run, _OF_THE_TARGET)
    opened = (event for event in run.wire(session) if isinstance(event, Open))
    port = next((event.address.port for event in opened if event.address.port), 0)
    if run.options.get("target") and not options.get("client") and not options.get("server"):
        options["client"] = ["{port}"]
    for side in ("client", "server"):
        given = options.get(side, ())
        places = [given] if isinstance(given, str | int) else given
        options[side] = [str(place).replace("{port}", str(port)) for place in places]
    return talk(spec or run.spec, **options)


def live_campaign(run: Run, finding: RecordedFinding, spec: Spec | None, **given: Any) -> Campaign:
    """A campaign like that of the run, for sessions that are repeated. A server under test is new in each of them."""
    options = {**_options(run, ()), **given}
    is_server = bool(options.get("target")) and not options.get("server")
    if is_server and options.get("restart") is None:
        options["restart"] = "session"
    if finding.kind in SEEN_OUTSIDE and not options.get("grace"):
        options["grace"] = END_WATCH
    return talk(spec or run.spec, **options)
