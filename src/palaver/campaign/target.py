"""The program under test, started and watched by us while we talk to it.

How it works
============

A `Target` stands between sessions and the loop that carries out what they want. The program is one more link of that
loop, so whoever waits for the peer is told of the program's end at once; what is told about it stays here, and
sessions never hear of it.

A *server* is started before the first session, and again whenever it has ended; before each session it is seen to that
it listens. A *client* is started in each session, as soon as we listen, and ended with it. The loop ends whatever is
left when it is closed, with all that it has started.
"""

from __future__ import annotations

import shlex
import signal
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from palaver.errors import PalaverError
from palaver.session.events import Action, Address, Close, Closed, Failed, Input, Open, Passed, Received
from palaver.session.findings import Finding, Kind, Said
from palaver.transport.drive import Carrier
from palaver.transport.ports import is_listening

# No party has such a name.
LINK = "(target)"

PORT = "{port}"

# What is kept of what the program writes: the end, where a crash is reported.
_OUTPUT_KEPT = 8192
_LINES_SHOWN = 12

# The system does not say when somebody begins to listen, so we look this often, only while the program starts.
_LOOK_EVERY = 0.02
# A server that could not be started again gets this much time before we try once more: its port may be in use still.
_PAUSE = 0.2
# A peer that is gone without a word may have crashed; the system tells so a moment later.
_END_PATIENCE = 0.5


class TargetError(PalaverError):
    """The program under test cannot be started, or does not do what is needed of it."""


@dataclass(frozen=True, slots=True)
class Death:
    """How the program has ended, when nobody had asked it to."""

    at: float
    exit_code: int  # negative: by that signal
    output: bytes  # the end of what it wrote

    @property
    def is_crash(self) -> bool:
        return self.exit_code != 0

    @property
    def how(self) -> str:
        """As in "it was ended by SIGSEGV"."""
        if self.exit_code < 0:
            return f"was ended by {_signal_name(-self.exit_code)}"
        name = _signal_name(self.exit_code - 128) if self.exit_code > 128 else ""
        return f"ended with exit code {self.exit_code}" + (f" ({name}, as a shell tells it)" * name.startswith("SIG"))

    @property
    def last_lines(self) -> str:
        """The end of what it wrote, as text."""
        lines = self.output.decode("utf-8", "replace").splitlines()
        return "\n".join(lines[-_LINES_SHOWN:])

    def finding(self, party: str, conversation: Sequence[Said]) -> Finding:
        """The crash, after what was said before."""
        message = f"the program under test {self.how}"
        if self.last_lines:
            message += "; it wrote last:\n" + "\n".join(f"  | {line}" for line in self.last_lines.splitlines())
        return Finding(Kind.CRASH, self.at, message, party=party, conversation=tuple(conversation))


def command_of(text: str, port: int) -> tuple[str, ...]:
    """The words of a command line, as a shell would divide it, with the port in the place of `{port}`.

    :raises TargetError: a quotation has no end, or there is no word at all
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise TargetError(f"the command of the target cannot be read: {str(error).lower()}") from error
    if not words:
        raise TargetError("the command of the target is empty")
    return tuple(word.replace(PORT, str(port)) for word in words)


class Target:
    """Carries out what sessions want, as `carrier` does, and keeps a program running beside.

    `role` is the program's own: a server is expected to listen at the port within `patience` seconds. `kind` is how it
    is talked to; a unix socket cannot be looked for, whoever connects to it has to be patient himself.
    """

    def __init__(
        self,
        carrier: Carrier,
        command: Sequence[str],
        port: int,
        *,
        role: Literal["server", "client"],
        kind: Literal["tcp", "udp", "unix"] = "tcp",
        patience: float = 10.0,
    ) -> None:
        self._carrier = carrier
        self._address = Address("target", port=port, command=tuple(command))
        self._port = port
        self._role = role
        self._kind = kind
        self._patience = patience
        self.clock = carrier.clock
        self.port_of = carrier.port_of
        self.starts = 0
        self._is_running = False
        self._is_due = False  # a client that is to be started in this session
        self._output = bytearray()
        self._death: Death | None = None
        self._unheard: list[Input] = []  # by the session, while we waited for the program

    # --- Around sessions ----------------------------------------------------------------------------------------------

    def before_session(self) -> None:
        """See to it that a server runs and listens.

        :raises TargetError: it does not
        """
        self._death = None
        if self._role == "client":
            self._is_due = True
            return
        self._look()
        if not self._is_running:
            self._start_server()

    def after_session(self, *, was_cut: bool = False) -> Death | None:
        """How the program has ended in this session, if it has, and was not asked to.

        `was_cut`: the peer was gone when it should not have been, so it is worth waiting for the end of the program. A
        client is always waited for, as it has nothing more to do, and ended if it does not end.
        """
        self._is_due = False
        self._look()
        if was_cut or self._role == "client":
            self._let_pass(_END_PATIENCE)
        if self._is_running and self._role == "client":
            self.stop()
        death, self._death = self._death, None
        return death

    def stop(self) -> None:
        """End the program, unless it has ended."""
        if self._is_running:
            self._is_running = False
            self._carrier.carry_out([Close(LINK)])

    # --- What sessions want -------------------------------------------------------------------------------------------

    def carry_out(self, actions: Iterable[Action]) -> None:
        """Do all this; and start a client as soon as there is something to connect to.

        :raises TargetError: it cannot be started
        """
        actions = list(actions)
        self._carrier.carry_out(actions)
        if self._is_due and any(isinstance(action, Open) and action.role == "listen" for action in actions):
            self._is_due = False
            self._start()

    def poll(self) -> list[Input]:
        """What has happened to sessions; [] if nothing has. Does not wait."""
        return self._taken() + self._others(self._carrier.poll())

    def wait(self, until: float | None) -> list[Input]:
        """What has happened to sessions, as soon as something has; one `Passed` if nothing has until then."""
        heard = self._taken()
        while not heard:
            heard = self._others(self._carrier.wait(until))
        return heard

    def _taken(self) -> list[Input]:
        taken, self._unheard = self._unheard, []
        return taken

    # --- The program --------------------------------------------------------------------------------------------------

    def _start_server(self) -> None:
        """Start a server and wait until it listens. One that has done so before gets several chances."""
        give_up_at = self.clock.now() + self._patience
        if self.starts == 0 and self._listens():
            raise TargetError(f"port {self._port} is in use, so {self._name} could not listen there")
        is_first = self.starts == 0
        while True:
            self._start()
            if self._came_up(give_up_at):
                return
            if is_first or self._is_running or self.clock.now() >= give_up_at:
                self.stop()
                raise TargetError(self._what_went_wrong())
            self._let_pass(_PAUSE)

    def _came_up(self, give_up_at: float) -> bool:
        """Whether it listens before it has ended, or the time is over."""
        while self._is_running and not self._listens():
            if self.clock.now() >= give_up_at:
                return False
            self._unheard += self._others(self._carrier.wait(min(give_up_at, self.clock.now() + _LOOK_EVERY)))
        return self._is_running

    def _listens(self) -> bool:
        """Whether somebody listens at the port; where this cannot be known, it is found out by who connects."""
        return self._kind == "unix" or is_listening(self._kind, self._port) is not False

    def _what_went_wrong(self) -> str:
        death = self._death
        if death is None:
            wrote = bytes(self._output)
            what = f"{self._name} does not listen at {self._kind} port {self._port} after {self._patience:g} s"
        else:
            wrote = death.output
            what = f"{self._name} {death.how} before it listened at {self._kind} port {self._port}"
            if not death.is_crash:
                what += "; if it goes on in the background, it cannot be watched: keep it in the foreground"
        lines = wrote.decode("utf-8", "replace").splitlines()[-_LINES_SHOWN:]
        return "\n".join([what, *(f"  | {line}" for line in lines)])

    def _start(self) -> None:
        self.starts += 1
        self._output.clear()
        self._death = None
        self._is_running = True
        self._carrier.carry_out([Open(LINK, self._address, "connect")])
        self._look()

    def _look(self) -> None:
        self._unheard += self._others(self._carrier.poll())

    def _let_pass(self, seconds: float) -> None:
        """Wait so long, or until the program has ended."""
        until = self.clock.now() + seconds
        while self.clock.now() < until and (self._is_running or self._death is None):
            self._unheard += self._others(self._carrier.wait(until))

    def _others(self, inputs: Iterable[Input]) -> list[Input]:
        """What is not about the program."""
        others: list[Input] = []
        for happened in inputs:
            if isinstance(happened, Passed) or happened.link != LINK:
                others.append(happened)
            elif isinstance(happened, Received):
                self._output += happened.data
                del self._output[:-_OUTPUT_KEPT]
            elif isinstance(happened, Closed):
                self._is_running = False
                assert happened.exit_code is not None, "a target is closed by its end only"
                self._death = Death(happened.at, happened.exit_code, bytes(self._output))
            elif isinstance(happened, Failed):
                self._is_running = False
                raise TargetError(f"the target cannot be started: {happened.reason}")
        return others

    @property
    def _name(self) -> str:
        return self._address.command[0]


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
