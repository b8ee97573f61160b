"""palaver tests protocol implementations from one executable spec."""

from __future__ import annotations

# As in `typing`, which is not imported here: until the entry point runs, nothing can turn Ctrl-C into a clean end.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from palaver.campaign.campaign_factory import SetupError, talk
    from palaver.campaign.oracles import Observation, Oracle
    from palaver.campaign.run import Campaign
    from palaver.compiled import Spec, load, loads
    from palaver.errors import (
        ConversionError,
        Diagnostic,
        PalaverError,
        Rejected,
        SpecCrash,
        SpecError,
        Undecided,
        Unsolvable,
    )
    from palaver.recording.run_reader import Run, RunError, open_run
    from palaver.session.findings import Finding, Severity, Verdict
    from palaver.trees.tree import Tree

# Where each exported name comes from. Modules are imported when one of their names is first used, so that a program
# that only prints its help, or only parses, does not wait for the rest.
_HOMES = {
    "palaver.campaign.oracles": ("Observation", "Oracle"),
    "palaver.campaign.run": ("Campaign",),
    "palaver.campaign.campaign_factory": ("SetupError", "talk"),
    "palaver.compiled": ("Spec", "load", "loads"),
    "palaver.errors": (
        *("ConversionError", "Diagnostic", "PalaverError", "Rejected"),
        *("SpecCrash", "SpecError", "Undecided", "Unsolvable"),
    ),
    "palaver.recording.run_reader": ("Run", "RunError", "open_run"),
    "palaver.session.findings": ("Finding", "Severity", "Verdict"),
    "palaver.trees.tree": ("Tree",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Campaign", "ConversionError", "Diagnostic", "Finding", "Observation", "Oracle", "PalaverError", "Rejected", "Run",
    "RunError", "SetupError", "Severity", "Spec", "SpecCrash", "SpecError", "Tree", "Undecided", "Unsolvable",
    "Verdict", "load", "loads", "open_run", "talk",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'palaver' has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(_HOME_OF[name]), name)
    return value


def __dir__() -> list[str]:
    return __all__
