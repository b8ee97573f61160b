"""The system under test: a program that is started and watched while sessions are held with it.

How it works
============

A `SystemUnderTest` stands between sessions and their event loop. The program is one more link of that loop, so whoever
waits for the peer is told of its exit at once; inputs about the program stay here, and sessions never see them.

A *server* is started before the first session, and again whenever it has ended, or before every session if that is the
policy; before each session it is seen to that it listens. A *client* is started in each session, as soon as we listen,
and ended with it. The loop ends whatever is left when it is closed, with all that it has started. Commands are run
around it: to set it up, to reset it between sessions, and to tear down what was set up. A system under test that
palaver does not start has no command of its own, only those.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from palaver.addresses import Address
from palaver.campaign.campaign_limits import (
    EXIT_WAIT,
    LISTEN_CHECK_EVERY,
    MAX_OUTPUT_BYTES,
    MEMORY_SHARE,
    REPORT_WAIT,
    RESTART_PAUSE,
    SIDE_COMMAND_SECONDS,
)
from palaver.campaign.core_files import CoreFiles
from palaver.campaign.crash_reports import ReportReader
from palaver.campaign.events import TargetEnded, TargetOutput, TargetStarted
from palaver.campaign.leak_suspects import LeakSuspects
from palaver.campaign.memory_trend import MemoryGrowth, MemoryTrend, memory_of, started_by
from palaver.campaign.side_commands import run_command
from palaver.campaign.target_care import (
    DIALOGUE,
    PORT,
    Restart,
    TargetCare,
    TargetError,
    TargetNotRestarted,
    shell_command,
)
from palaver.campaign.target_findings import (
    HUNG_UP,
    MAY_BE_A_CRASH,
    HeldSession,
    LeakSuspect,
    TargetExit,
    TargetNews,
    grown,
    last_lines,
)
from palaver.lean_dataclasses import replace
from palaver.session.findings import Finding, SessionMessage
from palaver.session.interface import Action, Close, Closed, Failed, Input, Open, Opened, Received, TimePassed
from palaver.transport.event_loop import SelectorEventLoop
from palaver.transport.registry import is_listening

# No party has such a name.
TARGET_LINK = "(target)"


class SystemUnderTest:
    """Carries out what sessions want, as `event_loop` does, and keeps a program running beside.

    `role` is the program's own: a server is expected to listen at the address in good time, if its scheme can tell;
    whoever connects has to be patient otherwise. A program that is about to end is waited for `end_patience` seconds.
    `port` is what `{port}` stands for in the commands of `care`.
    """

    def __init__(
        self,
        carrier: SelectorEventLoop,
        command: Sequence[str],
        address: Address,
        *,
        role: Literal["server", "client"],
        care: TargetCare | None = None,
        port: int = 0,
        end_patience: float = EXIT_WAIT,
    ) -> None:
        care = care or TargetCare()
        self._event_loop = carrier
        self._care = care
        self._port = port
        self._program = Address("target", command=tuple(command), settings=care.settings)
        self._address = address
        self._role = role
        self._patience = care.start_timeout
        self._ready = care.ready_pattern
        self._is_ready = False  # it has written so
        self._is_set_up = False
        self._is_probed = False  # for the first time
        self._end_patience = end_patience
        self.clock = carrier.clock
        self.port_of = carrier.port_of
        self.starts = 0
        self._pid = 0
        self._core_files = CoreFiles(care.settings.folder)
        self._trend = MemoryTrend()
        self._suspects = LeakSuspects()
        self._used: int | None = None  # memory, after the last session
        self._family: list[int] = []  # processes that it had started when that was last looked at
        self._growth: MemoryGrowth | None = None  # of a run of the program that is over
        self._sample_at = 0.0  # memory is looked at again then
        self._is_running = False
        self._is_up = False  # it runs, and has listened or may connect
        self._is_due = False  # a client that is to be started in this session
        self._awaited: str | None = None  # the link by which a client is to come, until something comes
        self._come_by = 0.0
        self._output = bytearray()  # since it was last started
        self._written = 0  # bytes of that in this session
        self._reports = ReportReader()
        self._death: TargetExit | None = None  # since it was last started
        self._deaths: list[TargetExit] = []
        self._unheard: list[Input] = []  # by the session, while we waited for the program
        self._events: list[TargetStarted | TargetOutput | TargetEnded] = []

    @property
    def is_started_by_us(self) -> bool:
        """False if only commands are run around it."""
        return bool(self._program.command)

    @property
    def can_be_alive(self) -> bool:
        """False if it has ended, and is not started again."""
        return self.may_be_alive or self._care.policy is not Restart.NEVER

    def take_events(self, session: int) -> list[TargetStarted | TargetOutput | TargetEnded]:
        """Return what has happened to the program since this was last asked, as events of a session."""
        taken, self._events = self._events, []
        return [replace(event, session=session) for event in taken]

    def before_session(self, ends_at: float | None = None) -> TargetNews:
        """See to it that a server runs and listens; return what has happened to it since the last session.

        :raises TargetError: it does not, or not before the run is over; or a command around it fails
        """
        self._look()
        news = self._take_news()
        if self._care.policy is Restart.SESSION:
            self.stop()
        self._prepare()
        if self._role == "client":
            self._event_loop.forget_queued()
            self._is_due = True
            return TargetNews()
        if not self._is_running and self.is_started_by_us:
            if self.starts and self._care.policy is Restart.NEVER:
                how = "" if self._death is None else f", which {self._death.how},"
                raise TargetNotRestarted(f"the system under test{how} is not started again (--restart never)")
            self._start_server(ends_at)
        if not self._is_probed:
            self._is_probed = True
            if trouble := self.probe(self._patience):
                raise TargetError(f"before the first session {trouble}")
        return news

    def _prepare(self) -> None:
        """Set everything up before the first session, and reset it before each other."""
        option, command = ("--reset", self._care.reset) if self._is_set_up else ("--setup", self._care.setup)
        self._is_set_up = True
        if command is not None:
            place = shell_command(command, self._port, self._care.settings)
            done = run_command(self._event_loop, f"({option})", place, SIDE_COMMAND_SECONDS)
            self._unheard += self._others(done.others)
            if done.trouble:
                raise TargetError("\n".join([f"the command of {option} {done.trouble}", *done.last_lines]))

    def tear_down(self) -> None:
        """Undo what was set up, when everything else is closed. :raises TargetError: the command for that fails"""
        if self._care.teardown is None or not self._is_set_up:
            return
        self._is_set_up = False
        place = shell_command(self._care.teardown, self._port, self._care.settings)
        with SelectorEventLoop() as loop:
            done = run_command(loop, "(--teardown)", place, SIDE_COMMAND_SECONDS)
        if done.trouble:
            raise TargetError("\n".join([f"the command of --teardown {done.trouble}", *done.last_lines]))

    def after_session(
        self, found: Sequence[Finding] = (), *, watch_until: float = 0.0, is_last: bool = False
    ) -> TargetNews:
        """Return what has happened to the program since the session began, in which this was found.

        If the peer was gone when it should not have been, it is worth waiting for the end of the program. A
        client is always waited for, as it has nothing more to do, and ended if it does not end. A server is watched
        until the given time: it may crash a moment after its last message. After the last session its memory is told.
        """
        self._is_due, self._awaited = False, None
        self._look()
        now = self.clock.now()
        was_cut = any(finding.kind in MAY_BE_A_CRASH for finding in found)
        until = now + self._end_patience if was_cut or self._role == "client" else watch_until
        if self._reports.is_inside:
            until = max(until, now + REPORT_WAIT)
        while self._is_running and self.clock.now() < until:
            self._wait(until)
        if self._is_running and self._role == "client":
            self.stop()
        if is_last:
            growth = self._trend.growth() or self._growth
            return replace(self._take_news(), growth=growth, suspect=self._suspects.worst())
        self._sample_memory()
        has_hung_up = any(finding.kind in HUNG_UP for finding in found)
        is_left = self._role == "client" and bool(found) and not has_hung_up
        return self._take_news(has_hung_up=has_hung_up, is_left=is_left)

    def _sample_memory(self) -> None:
        now = self.clock.now()
        is_known = self._is_running and self._pid
        if is_known and now >= self._sample_at:
            self._family = started_by(self._pid)
            self._sample_at = now + (self.clock.now() - now) / MEMORY_SHARE
        self._used = memory_of(self._pid, others=self._family) if is_known else None
        self._trend.note(self._used)

    def suspect(self, session: HeldSession) -> None:
        """Note the session that has just ended: it may be to blame if memory grows."""
        self._suspects.note(self._used, session)

    @property
    def suspected_sessions(self) -> list[int]:
        """The numbers of the sessions that may be blamed at the end, if memory grows."""
        return self._suspects.sessions

    def growth_finding(self, messages: Sequence[SessionMessage]) -> Finding | None:
        """The finding that its memory has grown without end since it was started, in sessions with these messages."""
        growth = self._trend.growth()
        suspect = LeakSuspect("", HeldSession(0, tuple(messages)))
        return None if growth is None else grown(growth, suspect, self.clock.now())

    def probe(self, seconds: float) -> str:
        """Ask by the command of --probe if it is alive; return what is wrong, or ""."""
        command = self._care.probe
        if command is None or command == DIALOGUE:
            return ""
        place = shell_command(command, self._port, self._care.settings)
        done = run_command(self._event_loop, "(--probe)", place, seconds)
        self._unheard += self._others(done.others)
        return "\n".join([f"the command of --probe {done.trouble}", *done.last_lines]) if done.trouble else ""

    @property
    def probes_by_dialogue(self) -> bool:
        """True if a session of its own is to tell after each session if it is alive."""
        return self._care.probe == DIALOGUE

    @property
    def may_be_alive(self) -> bool:
        """False if it is known to have ended."""
        return self._is_running or not self.is_started_by_us

    def _take_news(self, *, has_hung_up: bool = False, is_left: bool = False) -> TargetNews:
        # A client has nothing more to do after a session, and may say by its exit code that it was refused. Only if it
        # has hung up too soon, that explains why.
        is_told = self._role == "server" or has_hung_up
        exits = tuple(each for each in self._deaths if each.exit_code < 0 or (is_told and self._is_odd(each)))
        written = bytes(self._output[-self._written :] if self._written else b"")
        self._deaths, self._written = [], 0
        # A client that we have left may complain of that, and whether we hear it is a matter of time.
        reports = tuple(each for each in self._reports.take() if each.is_sure or not is_left)
        return TargetNews(self.clock.now(), exits, reports, written)

    def _is_odd(self, death: TargetExit) -> bool:
        """True if it should not have ended so: a server not at all, a client not with an error."""
        return self._role == "server" or death.exit_code > 0

    def restart(self) -> bool:
        """End a server that does not answer; it is started again before the next session. False if it is none."""
        is_hung = self._role == "server" and self._is_running and self._care.policy is not Restart.NEVER
        if is_hung:
            self.stop()
        return is_hung

    def stop(self) -> None:
        """End the program, unless it has ended."""
        if self._is_running:
            self._is_running = self._is_up = False
            self._event_loop.carry_out([Close(TARGET_LINK)])
            self._events.append(TargetEnded(self.clock.now(), 0, None))

    def carry_out(self, actions: Iterable[Action]) -> None:
        """Do all this; and start a client as soon as there is something to connect to.

        :raises TargetError: it cannot be started
        """
        actions = list(actions)
        self._event_loop.carry_out(actions)
        listening = (action.link for action in actions if isinstance(action, Open) and action.role == "listen")
        if self._is_due and self.is_started_by_us and (link := next(listening, None)) is not None:
            self._is_due = False
            self._awaited, self._come_by = link, self.clock.now() + self._patience
            self._start(is_up=True)

    def poll(self) -> list[Input]:
        """Return the inputs of sessions without waiting; [] if there are none."""
        return self._taken() + self._others(self._event_loop.poll())

    def wait(self, until: float | None) -> list[Input]:
        """Return the inputs of sessions as soon as there are any; one `TimePassed` if there are none until then."""
        heard = self._taken()
        while not heard:
            if self._awaited is not None and (not self._is_running or self.clock.now() >= self._come_by):
                return self._never_came(self._awaited)
            patient = until
            if self._awaited is not None:
                patient = self._come_by if until is None else min(until, self._come_by)
            heard = self._others(self._event_loop.wait(patient))
            if patient != until and all(isinstance(each, TimePassed) for each in heard):
                heard = []
            # A program that writes all the time does not make a session wait for longer.
            if not heard and until is not None and self.clock.now() >= until:
                return [TimePassed(self.clock.now())]
        return heard

    def _never_came(self, link: str) -> list[Input]:
        """A client has ended, or had its time, and nobody has heard of it; unless that is just about to be told."""
        heard = self._others(self._event_loop.wait(self.clock.now() + self._end_patience))
        if self._awaited is None:
            return heard
        self._awaited = None
        how = f"within {self._patience:g} s" if self._death is None else f"and {self._death.how}"
        return [Failed(self.clock.now(), link, "other", f"the system under test never connected {how}")]

    def _taken(self) -> list[Input]:
        taken, self._unheard = self._unheard, []
        return taken

    def _start_server(self, ends_at: float | None) -> None:
        """Start a server and wait until it listens. One that has done so before gets several chances."""
        is_first, began = self.starts == 0, self.clock.now()
        give_up_at = began + self._patience if ends_at is None else min(began + self._patience, ends_at)
        # What a server had started before it crashed is ended with it, but that may take a moment.
        while self._listens() is True:
            if is_first or self.clock.now() >= give_up_at:
                raise TargetError(f"{self._place} is already in use, so {self._name} cannot listen there")
            self._wait(self.clock.now() + LISTEN_CHECK_EVERY)
        while True:
            self._start(is_up=False)
            self._is_up = self._comes_up(give_up_at)
            if self._is_up:
                return
            if is_first or self._is_running or self.clock.now() >= give_up_at:
                reason = self._what_went_wrong(self.clock.now() - began)
                self.stop()
                raise TargetError(reason)
            until = self.clock.now() + RESTART_PAUSE
            while self.clock.now() < until:
                self._wait(until)

    def _comes_up(self, give_up_at: float) -> bool:
        """True once it listens and has said that it is ready; False if it has exited or the time is over."""
        while self._is_running and (self._listens() is False or not self._is_ready):
            if self.clock.now() >= give_up_at:
                return False
            self._wait(min(give_up_at, self.clock.now() + LISTEN_CHECK_EVERY))
        return self._is_running

    def _listens(self) -> bool | None:
        """Return True if somebody listens at the address; None if its scheme cannot tell."""
        return is_listening(self._address.scheme, self._address.port, self._address.path)

    def _what_went_wrong(self, seconds: float) -> str:
        death = self._death
        if death is None:
            wrote = bytes(self._output)
            within = f"within {min(seconds, self._patience):.3g} s"
            if seconds >= self._patience:
                within += " (--start-timeout)"
            what = f"{self._name} did not listen at {self._place} {within}{self._missing_port}"
            if self._listens() is not False and self._ready is not None:
                what = f"{self._name} wrote nothing that matches --ready {self._care.ready} {within}"
        else:
            wrote = death.output
            what = f"{self._name} {death.how} before it listened at {self._place}"
            if death.exit_code == 0:
                what += "; if it runs on in the background, start it in the foreground, so that palaver can watch it"
        return "\n".join([what, *(f"  | {line}" for line in last_lines(wrote))])

    @property
    def _missing_port(self) -> str:
        """The reason why it may not listen: nothing tells it at which port."""
        port = self._address.port
        is_told = not port or any(str(port) in word for word in self._program.command)
        return "" if is_told else f"; its command has no {PORT}, which stands for the port"

    def _start(self, *, is_up: bool) -> None:
        self.starts += 1
        self._output.clear()
        self._death = None
        self._growth, self._trend = self._trend.growth() or self._growth, MemoryTrend()
        self._suspects.restarted()
        self._family, self._sample_at = [], 0.0
        self._is_ready = self._ready is None
        self._is_running, self._is_up = True, is_up
        self._events.append(TargetStarted(self.clock.now(), 0, self._program.command))
        self._core_files = CoreFiles(self._program.settings.folder)
        self._event_loop.carry_out([Open(TARGET_LINK, self._program, "connect")])
        self._pid = self._event_loop.pid_of(TARGET_LINK)
        self._look()

    def _look(self) -> None:
        self._unheard += self._others(self._event_loop.poll())

    def _wait(self, until: float) -> None:
        heard = self._others(self._event_loop.wait(until))
        self._unheard += [happened for happened in heard if not isinstance(happened, TimePassed)]

    def _others(self, inputs: Iterable[Input]) -> list[Input]:
        """Return the inputs that are not about the program."""
        others: list[Input] = []
        for happened in inputs:
            if isinstance(happened, Opened | Received) and happened.link != TARGET_LINK:
                self._awaited = None
            if isinstance(happened, TimePassed) or happened.link != TARGET_LINK:
                others.append(happened)
            elif isinstance(happened, Received):
                self._output += happened.data
                self._written += len(happened.data)
                self._reports.feed(happened.data)
                self._events.append(TargetOutput(happened.at, 0, happened.data))
                if not self._is_ready and self._ready is not None:
                    self._is_ready = self._ready.search(self._output) is not None
                del self._output[:-MAX_OUTPUT_BYTES]
            elif isinstance(happened, Closed):
                assert happened.exit_code is not None, "a target is closed by its end only"
                self._events.append(TargetEnded(happened.at, 0, happened.exit_code))
                reports = tuple(self._reports.take())
                core = self._core_files.written() if happened.exit_code < 0 else ""
                self._death = TargetExit(happened.at, happened.exit_code, bytes(self._output), reports, core)
                if self._is_up:
                    self._deaths.append(self._death)
                self._is_running = self._is_up = False
            elif isinstance(happened, Failed):
                self._is_running = False
                raise TargetError(f"cannot start the system under test: {happened.reason}")
        return others

    @property
    def _name(self) -> str:
        return self._program.command[0]

    @property
    def _place(self) -> str:
        port = self._address.port
        return f"{self._address.scheme} port {port}" if port else f"the socket {self._address.path}"
