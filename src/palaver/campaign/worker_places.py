"""The places where the sessions of a campaign are held: here, by processes, or by the workers of a cluster."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from palaver.campaign.run import Campaign
from palaver.campaign.stopping import Until
from palaver.campaign.target_care import FOLDER, PORT
from palaver.lean_dataclasses import dataclass

if TYPE_CHECKING:
    from palaver.workers.carrier import Carrier

# What only the one who coordinates workers needs to know, or tells them otherwise.
_OF_COORDINATOR = (
    *("spec", "parameters", "seed", "sessions", "seconds", "coverage_file", "learn_from", "oracles", "known", "trace"),
    *("workers", "cluster", "care"),
)
_ADDRESS = re.compile(r"local:[1-9][0-9]*|(\w+://)?[^:/]+:[0-9]+")
_ANY_PORT = re.compile(r"(^|[:=/])0$")


@dataclass(frozen=True, slots=True)
class WorkerPlaces:
    """The workers that hold sessions, and where these talk to the system under test."""

    workers: int
    cluster: str | None
    clients: Sequence[str]
    servers: Sequence[str]
    has_folder: bool  # one of these places is in the folder of the worker

    @property
    def are_elsewhere(self) -> bool:
        """True if sessions are not held here."""
        return self.workers > 1 or self.cluster is not None

    def trouble(self, *, has_target: bool, is_paper: bool) -> str:
        """The reason why these workers cannot hold sessions; "" if they can."""
        if self.workers < 1:
            return f"the number of workers is at least 1, and not {self.workers}"
        if not self.are_elsewhere:
            return ""
        option = "--workers" if self.cluster is None else "--cluster"
        if self.cluster is not None and (trouble := self._trouble_with_cluster(self.cluster)):
            return trouble
        if is_paper:
            return f"{option} does not go with --schedule paper, which draws one target at a time"
        if self.servers and not has_target:
            return f"{option} does not go with --server: all workers would listen at the same place"
        is_own = self.has_folder or any(PORT in uri or _ANY_PORT.search(uri) for uri in (*self.clients, *self.servers))
        if has_target and not is_own:
            own = f"give it {PORT} or {FOLDER}, and no fixed place"
            return f"with {option} each worker has a system under test of its own: {own}"
        return ""

    def _trouble_with_cluster(self, address: str) -> str:
        if self.workers > 1:
            return "--workers does not go with --cluster, which has workers of its own"
        if not _ADDRESS.fullmatch(address):
            return f"--cluster is the address of a scheduler, such as 10.0.0.1:8786, or local:N, and not {address!r}"
        return "" if find_spec("distributed") else "--cluster needs dask: install palaver[cluster]"

    def carrier(self, entry: str) -> Carrier:
        """Start the workers, or find them. :raises CarrierError: there are none"""
        if self.cluster is None:
            from palaver.workers.processes import ProcessCarrier  # only here: most runs need no processes

            return ProcessCarrier(self.workers, entry)
        from palaver.workers.dask_cluster import DaskCarrier  # only here: it need not be installed

        return DaskCarrier(self.cluster, entry)


def share_out(campaign: Campaign, given: Mapping[str, Any], places: WorkerPlaces, until: Until) -> None:
    """Let workers hold the sessions of a campaign that was made of these options."""
    # Only here: a worker imports the module that makes campaigns.
    from palaver.campaign.crew import Crew
    from palaver.campaign.worker import ENTRY

    options = {name: value for name, value in given.items() if name not in _OF_COORDINATOR}
    options["until"] = until.value
    campaign.hold = Crew(campaign, options, options["jobs"], lambda: places.carrier(ENTRY)).hold
