"""Runs inside of the tests of others: something is tested by a spec, or a peer of it is played."""

from __future__ import annotations

import threading
from os import PathLike
from pathlib import Path
from typing import Any

from palaver.campaign.campaign_factory import talk
from palaver.campaign.events import Event, MessageReceived, MessageSent, PortBound
from palaver.campaign.run import Campaign
from palaver.compiled import Spec, load
from palaver.compiled.bundled import spec_files
from palaver.recording.run_reader import Run, open_run
from palaver.recording.run_writer import record
from palaver.session.findings import Finding, SessionMessage, Verdict

# The seconds until a double must have begun to listen, and to end.
_PATIENCE_S = 30.0


def _failure(campaign: Campaign) -> AssertionError:
    shown = [finding.show() for finding in campaign.findings]
    return AssertionError("\n\n".join(shown) or f"the verdict is {campaign.verdict.value}")


class HeldRun:
    """A run that was held: its campaign, and the run directory. `options` are those of `palaver.talk`."""

    def __init__(self, spec: Spec | str | PathLike[str], folder: Path, **options: Any) -> None:
        given = {"seed": 1, **options}
        if not {"sessions", "seconds", "until"} & given.keys():
            given["sessions"] = 20
        self.campaign = talk(spec, **given)
        record(self.campaign, folder, given)
        self.campaign.run()
        self.folder = folder

    @property
    def run(self) -> Run:
        """The run directory."""
        return open_run(self.folder)

    @property
    def findings(self) -> list[Finding]:
        return self.campaign.findings

    @property
    def verdict(self) -> Verdict:
        return self.campaign.verdict

    def check(self) -> None:
        """:raises AssertionError: the verdict is not that all sessions passed"""
        __tracebackhide__ = True  # pytest shows the line of the test, and none of ours
        if self.verdict is not Verdict.PASS:
            raise _failure(self.campaign)


class PeerDouble:
    """The other side, played by a spec in a thread. `options` are those of `palaver.talk`, and `constraints`.

    With `server="0"` it listens at `port`; with `client=PORT` it connects. It holds one session unless told otherwise,
    and begins at once.
    """

    def __init__(self, spec: Spec | str | PathLike[str], *, constraints: tuple[str, ...] = (), **options: Any) -> None:
        loaded = spec if isinstance(spec, Spec) else load(*spec_files([str(spec)]), constraints=constraints)
        self.campaign = talk(loaded, **{"seed": 1, "sessions": 1, **options})
        self.messages: list[SessionMessage] = []  # in their order, of all sessions
        self._port = 0
        self._failure: BaseException | None = None
        self._has_begun = threading.Event()
        self._is_closed = False
        self.campaign.attach(self._learn_port)
        self.campaign.attach(self._keep_message)
        self._thread = threading.Thread(target=self._play, name="palaver peer", daemon=True)
        self._thread.start()

    def _learn_port(self, event: Event) -> None:
        if isinstance(event, PortBound):
            self._port = event.port
            self._has_begun.set()

    def _keep_message(self, event: Event) -> None:
        if isinstance(event, MessageSent | MessageReceived):
            self.messages.append(event.message)

    def _play(self) -> None:
        try:
            for _ in self.campaign:  # while it waits for somebody, too, there are events
                if self._is_closed:
                    self.campaign.close()
        except BaseException as error:  # told to whoever asks how it went
            self._failure = error
        finally:
            self._has_begun.set()

    @property
    def port(self) -> int:
        """The port at which it listens."""
        self._has_begun.wait(_PATIENCE_S)
        if self._failure is not None:
            raise self._failure
        return self._port

    def finish(self) -> PeerDouble:
        """Wait until all sessions are over. :raises AssertionError: they do not end"""
        __tracebackhide__ = True
        self._thread.join(_PATIENCE_S)
        if self._failure is not None:
            raise self._failure
        if self._thread.is_alive():
            raise AssertionError("the sessions of the peer have not ended")
        return self

    def check(self) -> PeerDouble:
        """Wait until all is over. :raises AssertionError: what was said to it did not follow the spec"""
        __tracebackhide__ = True
        self.finish()
        if self.campaign.verdict is not Verdict.PASS:
            raise _failure(self.campaign)
        return self

    def received(self, symbol: str = "") -> list[bytes]:
        """The messages that it received: all, or those of a symbol, with or without its brackets."""
        return [each.data for each in self.messages if not each.is_ours and _is_named(each, symbol)]

    def sent(self, symbol: str = "") -> list[bytes]:
        """The messages that it sent."""
        return [each.data for each in self.messages if each.is_ours and _is_named(each, symbol)]

    def close(self) -> None:
        """End at once, also if nobody came."""
        self._is_closed = True
        self._thread.join(_PATIENCE_S)


def _is_named(said: SessionMessage, symbol: str) -> bool:
    return not symbol or said.symbol in (symbol, f"<{symbol}>")
