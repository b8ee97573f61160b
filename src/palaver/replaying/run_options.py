"""The campaign of a recorded run, made once more from its options."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from palaver.campaign.campaign_factory import talk
from palaver.campaign.run import Campaign
from palaver.compiled import Spec, SpecOrigin
from palaver.lean_dataclasses import dataclass
from palaver.recording.run_reader import RecordedFinding, Run
from palaver.replaying.replaying_limits import END_WATCH
from palaver.session.findings import NOT_CONNECTED, Finding, FindingKind
from palaver.session.interface import Open
from palaver.solving.solving_limits import EvolutionRates, SolvingLimits

# Kinds of findings that are not about what a session has read: others have seen them.
SEEN_OUTSIDE = frozenset(
    (
        *(FindingKind.CRASH, FindingKind.EXIT, FindingKind.REPORT, FindingKind.ORACLE),
        *(FindingKind.HANG, FindingKind.MEMORY),
    )
)

# Options of `talk` about the run as a whole, which mean nothing when one session is repeated.
_OF_THE_RUN = ("sessions", "seconds", "until", "coverage_file", "known", "jobs", "workers", "cluster")
# Options about the system under test, which is not there when a session is repeated offline.
_OF_THE_TARGET = (
    *("target", "restart", "setup", "reset", "teardown", "probe", "ready", "start_timeout", "env", "cwd"),
    *("target_memory", "target_cpu"),
)


# Options that name a file or a folder, and those that are commands, which see files as from where they are started.
_FILES = ("known", "coverage_file", "cwd")
_COMMANDS = ("target", "setup", "reset", "probe", "teardown")
_OF_COMMANDS = ("env", "cwd")  # nothing is started in them if there are none
# Those of them that mean nothing if it runs already.
_OF_A_STARTED_TARGET = ("target", "restart", "ready", "start_timeout", "target_memory", "target_cpu")


def shows_nobody_there(finding: Finding) -> bool:
    """Return True if nothing was tried in the session of a finding, since nobody was at the address."""
    return finding.kind in NOT_CONNECTED and all(said.is_ours for said in finding.messages)


def _as_list(given: Any) -> Sequence[Any]:
    return [given] if isinstance(given, str | int) else given


def options_of(run: Run, given: Mapping[str, Any] = MappingProxyType({})) -> dict[str, Any]:
    """The options that a run was made with, for `palaver.talk`, and others in their place where they are given."""
    options = run.options
    options |= _places_of(run, options, is_target_given=bool(given.get("target")))
    solving = options.get("solving")
    if solving is not None:
        options["solving"] = SolvingLimits(**{**solving, "rates": EvolutionRates(**solving["rates"])})
    options.pop("parameters", None)  # the spec of the run has them
    return {**options, "seed": run.seed, **given}


def _places_of(run: Run, options: Mapping[str, Any], *, is_target_given: bool) -> dict[str, str]:
    """The files and folders of a run, as seen from here, if the folder is there that it was made in.

    The commands of the run are started there, too; one that is given instead is as seen from here.
    """
    folder = run.fact("folder")
    if not os.path.isdir(folder):
        return {}
    places = {name: os.path.join(folder, options[name]) for name in _FILES if options.get(name)}
    if not is_target_given and any(options.get(name) for name in _COMMANDS):
        places.setdefault("cwd", folder)
    return places


def _options(run: Run, left_out: tuple[str, ...], given: Mapping[str, Any] = MappingProxyType({})) -> dict[str, Any]:
    without = (*_OF_THE_RUN, *left_out)
    options = {name: value for name, value in options_of(run, given).items() if name not in without or name in given}
    return {**options, "guided": True}


def offline_campaign(run: Run, session: int, spec: Spec | None) -> Campaign:
    """A campaign that is never begun, with everything that the sessions of a run need. It is to be closed."""
    options = _options(run, _OF_THE_TARGET)
    opened = (event for event in run.wire(session) if isinstance(event, Open))
    port = next((event.address.port for event in opened if event.address.port), 0)
    if run.options.get("target") and not options.get("client") and not options.get("server"):
        options["client"] = ["{port}"]
    for side in ("client", "server"):
        options[side] = [str(place).replace("{port}", str(port)) for place in _as_list(options.get(side, ()))]
    return talk(spec or run.spec, **options)


def live_campaign(run: Run, finding: RecordedFinding, spec: Spec | None, **given: Any) -> Campaign:
    """A campaign like that of the run, for sessions that are repeated. A server under test is new in each of them.

    If it is said where the peer is, and not how to start it, it runs already.
    """
    places = [str(place) for side in ("client", "server") for place in _as_list(given.get(side, ()))]
    is_elsewhere = bool(places) and not any("{port}" in place for place in places) and not given.get("target")
    options = _options(run, _OF_A_STARTED_TARGET if is_elsewhere else (), given)
    if not any(options.get(name) for name in _COMMANDS):
        options = {name: value for name, value in options.items() if name not in _OF_COMMANDS}
    is_server = bool(options.get("target")) and not options.get("server")
    if is_server and options.get("restart") is None:
        options["restart"] = "crash" if finding.kind is FindingKind.MEMORY else "session"
    if finding.kind in SEEN_OUTSIDE - {FindingKind.HANG, FindingKind.MEMORY} and not options.get("grace"):
        options["grace"] = END_WATCH
    if finding.kind in NOT_CONNECTED:
        options["wait_for_server"] = 0.0  # nobody else is waited for: to be refused is what is looked for
    campaign = talk(spec or run.spec, **options)
    experience_of(run, finding.session).add_to(campaign)
    return campaign


@dataclass(frozen=True)
class SessionExperience:
    """The knowledge that a session of a run had of the constraints.

    A message is blamed at once where it is known that the constraint holds after others like it.
    """

    origin: SpecOrigin
    recoveries: dict[str, list[Any]] | None

    def add_to(self, campaign: Campaign) -> None:
        """Let the sessions of a campaign know the same, if the spec is the same."""
        if self.recoveries is not None and _text_of(campaign.setup.spec.origin) == _text_of(self.origin):
            campaign.setup.recoveries.add_data(self.recoveries)


def experience_of(run: Run, session: int) -> SessionExperience:
    """The knowledge that a session of a run began with."""
    return SessionExperience(run.origin, run.recoveries_before(session))


def _text_of(origin: SpecOrigin) -> tuple[object, ...]:
    """The parts of a spec that decide what its constraints are."""
    texts = [source.text for source in origin.sources]
    return texts, origin.constraints, origin.start, origin.has_library, origin.parameters
