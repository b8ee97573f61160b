"""`palaver.talk`: a campaign from a spec, the addresses of its parties, and options."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from enum import Enum
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, TypeVar, Unpack

from palaver.addresses import Address, parse_party_address, with_default_scheme
from palaver.beyond.wrong_messages import DEFAULT_SHARE, WrongMessages
from palaver.campaign.campaign_limits import SESSION_SECONDS_PER_MESSAGE, SESSION_TIMEOUTS
from palaver.campaign.command_errors import CommandErrors
from palaver.campaign.oracles import Oracle
from palaver.campaign.run import Budget, Campaign, Until
from palaver.campaign.shared_variables import shared_variables
from palaver.campaign.spec_notes import SpecNotes
from palaver.campaign.system_under_test import SystemUnderTest
from palaver.campaign.target_care import (
    PORT,
    Restart,
    TargetCare,
    TargetError,
    TargetOptions,
    command_of,
    in_folder,
    names_folder,
)
from palaver.campaign.worker_places import WorkerPlaces, share_out
from palaver.compiled import Spec, load
from palaver.compiled.bundled import spec_files
from palaver.errors import PalaverError
from palaver.known_findings import KnownFindings
from palaver.known_findings import read as read_known
from palaver.navigation.coverage_file import check_writable
from palaver.navigation.coverage_file import read as read_coverage
from palaver.navigation.coverage_file import write as write_coverage
from palaver.navigation.goals import CoverageGoal
from palaver.navigation.guidance import Guidance
from palaver.party import ConnectionMode
from palaver.random_source import RandomSource
from palaver.session.engine import Timeouts
from palaver.session.setup import RoleAssignment, SessionSetup, own_scheme
from palaver.solving.solving_limits import MAX_NODES, MAX_REPETITIONS, MESSAGE_STEP_BUDGET, SolvingLimits
from palaver.spec.diagnostics import no_such_party
from palaver.transport.event_loop import SelectorEventLoop
from palaver.transport.registry import free_port

__all__ = ["SetupError", "TargetError", "talk"]

Choice = TypeVar("Choice", bound=Enum)


class SetupError(PalaverError):
    """The parties, addresses or options of a campaign do not fit the spec, or each other."""


def talk(
    spec: Spec | str | PathLike[str],
    *,
    client: int | str | Sequence[str] = (),
    server: int | str | Sequence[str] = (),
    program: Sequence[str] = (),
    target: str | None = None,
    parameters: Mapping[str, object] | None = None,
    seed: int | None = None,
    sessions: int | None = None,
    seconds: float | None = None,
    until: Until | str | None = None,
    jobs: int = 1,
    workers: int = 1,
    cluster: str | None = None,
    k: int = 5,
    goal: CoverageGoal | str = CoverageGoal.ALL,
    schedule: Literal["gain", "paper"] = "gain",
    guided: bool = True,
    learn_values: bool = True,
    coverage_file: str | PathLike[str] | None = None,
    learn_from: str | PathLike[str] | Mapping[str, Any] | None = None,
    timeout: float = 5.0,
    patience: float = 5.0,
    quiet_interval: float | None = None,
    wait_for_server: float = 1.0,
    deadlines: Mapping[str, float] | None = None,
    grace: float | None = None,
    session_time: float | None = None,
    max_messages: int = 1000,
    max_message_bytes: int = 1 << 20,
    solving: SolvingLimits | None = None,
    oracles: Sequence[Oracle] = (),
    known: str | PathLike[str] | KnownFindings | None = None,
    beyond: float | None = None,
    plans: bool = False,
    trace: bool = False,
    **care: Unpack[TargetOptions],
) -> Campaign:
    """Make a campaign of sessions with a real peer; iterate over its events, or call its `run`.

    The spec may be a path, or the name of a bundled one; `parameters` are values of those that it declares.
    `client` and `server` are addresses, `[NAME=]URI` or a port, of the parties that palaver plays: it connects as a
    client, and listens as a server. `program` is talked to by its standard input and output. `target` is the command
    line of the system under test, started and watched; `{port}` in it, and in addresses, stands for a free port, and
    `{dir}` for a folder that is removed at the end; `care`
    are the options about it, see `TargetOptions`. `learn_from` is a coverage file, or what one holds: of that, only
    what was learnt about the peer is used. With `jobs`, up to so many sessions go on at the same time; with `workers`,
    so many processes hold them, each with a system under test of its own; with `cluster`, the workers of dask do.
    `beyond` is the share of our messages that are wrong on purpose. The others are those of the command `palaver talk`.
    With `plans` there are `PlanMade` events, with `trace` there are events of every input and action of a session.

    :raises SetupError: the parties, addresses or options do not fit, or the coverage file is of no use
    :raises SpecError: the spec is wrong
    """
    given = {**locals(), **care}  # before anything else has a name here
    folder, (client, server, target, care) = _in_folder(client, server, target, care)
    files = () if isinstance(spec, Spec) else tuple(spec_files([str(spec)]))
    loaded = _loaded(spec, files, parameters or {})
    clients, servers = _addresses(loaded, client, server, has_target=target is not None)
    is_paper = schedule == "paper"
    places = WorkerPlaces(
        workers, cluster, clients, servers, has_folder=names_folder((given["client"], given["server"]))
    )
    if trouble := places.trouble(has_target=target is not None, is_paper=is_paper):
        raise SetupError(trouble)
    clients, servers, port = (clients, servers, 0) if target is None else _with_port(clients, servers)
    care_taken = _care(care, target, is_server=bool(clients) or not servers)
    budget = _budget(until, sessions, seconds, guided=guided)
    _check_oracles(oracles)
    limits = solving or SolvingLimits(MAX_NODES, MAX_REPETITIONS, MESSAGE_STEP_BUDGET)
    setup = _setup(loaded, clients, servers, tuple(program), limits, deadlines)
    seed = _seed(seed)
    is_open = guided and budget.until is not Until.FOREVER
    guidance = _guidance(setup, seed, k, goal, is_open=is_open, is_paper=is_paper, learns=learn_values and guided)
    _check_jobs(jobs, setup, care_taken, target, is_paper=is_paper)
    guidance.make_lanes(jobs)
    _learn(guidance, learn_from)
    wrong = _wrong(guidance, setup, seed, beyond, is_goal=goal == "beyond", sees_target=target is not None)
    _resume(guidance, file := None if coverage_file is None else Path(coverage_file))
    if session_time is None:
        session_time = SESSION_TIMEOUTS * timeout + SESSION_SECONDS_PER_MESSAGE * max_messages
    errors = CommandErrors()
    loop = SelectorEventLoop(connect_timeout=timeout, startup_patience=wait_for_server, error_listener=errors.feed)
    system = _target(loop, target, clients, servers, port, care_taken)
    campaign = Campaign(
        setup,
        guidance,
        seed,
        Timeouts(timeout, patience, quiet_interval, max_message_bytes, max_messages, session_time, grace),
        budget,
        loop,
        is_guided=guided,
        target=system,
        # Workers tell what the spec notes.
        oracles=(SpecNotes(loaded), *oracles) if loaded.grammar.noted and not places.are_elsewhere else oracles,
        known=_known(known),
        plans=plans,
        trace=trace,
        files=files,
        at_end=_ending(file, guidance, loop, system, folder),
        wrong=wrong,
        errors=errors,
    )
    if places.are_elsewhere:
        share_out(campaign, given, places, budget.until)
    return campaign


def _ending(
    file: Path | None,
    guidance: Guidance,
    loop: SelectorEventLoop,
    system: SystemUnderTest | None,
    folder: ExitStack,
) -> Callable[[], None]:
    """Everything that remains to be done at the end of a campaign."""

    def at_end() -> None:
        # What was found out is written first: who is in a hurry may interrupt once more while all is closed.
        try:
            if file is not None:
                write_coverage(file, **guidance.as_data())
        finally:
            loop.close()
            if system is not None:
                system.tear_down()
            folder.close()

    return at_end


def _setup(
    spec: Spec,
    clients: Sequence[str],
    servers: Sequence[str],
    program: tuple[str, ...],
    limits: SolvingLimits,
    deadlines: Mapping[str, float] | None,
) -> SessionSetup:
    """The spec with assigned roles, ready for sessions. :raises SetupError: they do not fit"""
    try:
        setup = SessionSetup(spec, _roles(spec, clients, servers, program), limits, deadlines)
    except SetupError:
        raise
    except PalaverError as error:
        raise SetupError(str(error)) from error
    setup.prepare()
    return setup


def _in_folder(*given: Any) -> tuple[ExitStack, tuple[Any, ...]]:
    """Values for the system under test, with a folder of its own in the place of `{dir}`; and what removes that."""
    stack = ExitStack()
    if names_folder(given):
        given = in_folder(given, stack.enter_context(TemporaryDirectory(prefix="palaver-")))
    return stack, given


def _wrong(
    guidance: Guidance, setup: SessionSetup, seed: int, share: float | None, *, is_goal: bool, sees_target: bool
) -> WrongMessages | None:
    """The wrong messages of a campaign, which are counted. :raises SetupError: it is no share"""
    if share is None and not is_goal:
        return None
    share = DEFAULT_SHARE if share is None else share
    if not 0 <= share <= 1:
        raise SetupError(f"beyond is a share of our messages, from 0 to 1, and not {share!r}")
    wrong = WrongMessages(setup, RandomSource(seed), share)
    wrong.sees_target = sees_target
    wrong.ledger = guidance.count_refusals(setup.closing, wrong.cells_at, is_goal=is_goal)
    return wrong


def _guidance(
    setup: SessionSetup, seed: int, k: int, goal: CoverageGoal | str, *, is_open: bool, is_paper: bool, learns: bool
) -> Guidance:
    """The guidance of a campaign, which `is_open` if it is guided and nobody has said when it stops.

    The goal `paths` is all paths; `history` is all paths, and all pairs of messages in time; `values` is all paths, and
    all value classes; `beyond` is all paths, and wrong messages in all places. The goal `all` is all paths, and in an
    open campaign pairs as far as they are affordable.
    """
    aim = _one_of(CoverageGoal, "goal", "all" if goal in ("paths", "history", "values", "beyond") else goal)
    is_affordable = is_open and not is_paper and goal in ("all", CoverageGoal.ALL)
    return Guidance(
        setup,
        RandomSource(seed),
        k,
        aim,
        follows_the_paper=is_paper,
        learns_values=learns,
        covers_pairs=None if is_affordable else goal == "history",
        covers_values=goal == "values",
    )


def _seed(given: int | None) -> int:
    """The seed, or a fresh one. :raises SetupError: it is no number"""
    if given is None:
        return RandomSource.fresh_seed()
    if not isinstance(given, int):
        raise SetupError(f"seed is a whole number, and not {given!r}")
    return given


def _check_jobs(jobs: int, setup: SessionSetup, care: TargetCare, target: str | None, *, is_paper: bool) -> None:
    """:raises SetupError: so many sessions cannot go on at the same time"""
    if jobs < 1:
        raise SetupError(f"the number of sessions at the same time is at least 1, and not {jobs}")
    if jobs == 1:
        return
    if not setup.opens_all:
        raise SetupError(
            "-j is for sessions that palaver opens: where it listens, it cannot know which session a client is for"
        )
    if shared := shared_variables(setup.spec.python):
        names = " and ".join(shared)
        raise SetupError(f"-j does not go with this spec: its code changes {names}, which all sessions would share")
    if is_paper:
        raise SetupError("-j does not go with --schedule paper, which draws one target at a time")
    if care.policy is Restart.SESSION and target is not None:
        raise SetupError("-j does not go with --restart session: that would end the other sessions with the server")
    if care.reset is not None:
        raise SetupError("-j does not go with --reset: that would change the server under the other sessions")


def _as_tuple(addresses: int | str | Sequence[str]) -> tuple[str, ...]:
    return (str(addresses),) if isinstance(addresses, int | str) else tuple(addresses)


def _resume(guidance: Guidance, file: Path | None) -> None:
    """Go on from a coverage file, if there is one. :raises SetupError: it cannot be read, or not be written later"""
    if file is None:
        return
    try:
        check_writable(file)
        if file.exists():
            with read_coverage(file) as data:
                guidance.resume_from(data)
    except PalaverError as error:
        raise SetupError(str(error)) from error


def _learn(guidance: Guidance, source: str | PathLike[str] | Mapping[str, Any] | None) -> None:
    """Use what another run has learnt. :raises SetupError: it cannot be read, or is of another spec"""
    try:
        if isinstance(source, Mapping):
            guidance.learn_from(dict(source))
        elif source is not None:
            with read_coverage(Path(source)) as data:
                guidance.learn_from(data)
    except PalaverError as error:
        raise SetupError(str(error)) from error


def _one_of(kind: type[Choice], name: str, value: Choice | str) -> Choice:
    """A member of an enumeration, or what it is called."""
    try:
        return kind(value)
    except ValueError as error:
        choices = ", ".join(repr(each.value) for each in kind)
        raise SetupError(f"{name} is one of {choices}, and not {value!r}") from error


def _known(given: str | PathLike[str] | KnownFindings | None) -> KnownFindings:
    """The findings that are known. :raises SetupError: the file cannot be read"""
    if given is None or isinstance(given, KnownFindings):
        return given or KnownFindings()
    try:
        return read_known(given)
    except PalaverError as error:
        raise SetupError(str(error)) from error


def _check_oracles(oracles: Sequence[Oracle]) -> None:
    for oracle in oracles:
        if isinstance(oracle, type):
            raise SetupError(f"an oracle is an object, and {oracle.__name__} is a class: write {oracle.__name__}()")
        if not callable(getattr(oracle, "observe", None)):
            raise SetupError(f"an oracle has a method observe(event), and {oracle!r} has none")


def _loaded(spec: Spec | str | PathLike[str], files: tuple[str, ...], parameters: Mapping[str, object]) -> Spec:
    """The spec, loaded unless it is. :raises SetupError: it is, and parameters are to be set"""
    if not isinstance(spec, Spec):
        return load(*files, parameters=parameters)
    if parameters:
        raise SetupError("a spec that is loaded has its parameters: give them to palaver.load")
    return spec


def _addresses(
    spec: Spec, client: int | str | Sequence[str], server: int | str | Sequence[str], *, has_target: bool
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The addresses of the parties that we play, as clients and as servers."""
    clients, servers = _as_tuple(client), _as_tuple(server)
    if has_target and not clients and not servers:
        clients = (PORT,)
    return _with_schemes(spec, "Client", clients), _with_schemes(spec, "Server", servers)


def _with_schemes(spec: Spec, default: str, uris: tuple[str, ...]) -> tuple[str, ...]:
    """Addresses with the schemes that the classes of the spec have, where none is written."""
    made = []
    for uri in uris:
        name = uri.partition("=")[0] if "=" in uri else default
        scheme = own_scheme(spec, name.strip())
        made.append(uri if scheme is None else with_default_scheme(uri, scheme))
    return tuple(made)


def _with_port(clients: tuple[str, ...], servers: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...], int]:
    """Choose the port of the system under test, and put it where it is wanted."""
    if len(servers) == 1 and not any(PORT in uri for uri in clients):
        # Any free port: then it is the one that the client is told.
        servers = (re.sub(r"(^|[:=/])0$", rf"\1{PORT}", servers[0]),)
    uri = next((uri for uri in (*clients, *servers) if PORT in uri), PORT)
    port = free_port(parse_party_address(uri.replace(PORT, "0")).scheme.name)
    text = str(port)
    return tuple(uri.replace(PORT, text) for uri in clients), tuple(uri.replace(PORT, text) for uri in servers), port


def _care(options: TargetOptions, target: str | None, *, is_server: bool) -> TargetCare:
    """The care for the system under test. :raises SetupError: there is nothing that an option could be about"""
    if unknown := next((name for name in options if name not in TargetOptions.__annotations__), None):
        raise TypeError(f"talk() got an unexpected keyword argument {unknown!r}")
    try:
        care = TargetCare(**options)
    except TargetError as error:
        raise SetupError(str(error)) from error
    if target is None and (unused := care.unused_without_target):
        raise SetupError(f"{unused} is about a program that palaver starts: give --target")
    if target is None and not care.has_commands and (care.env or care.cwd is not None):
        raise SetupError("--env and --cwd are about programs that palaver starts: give --target")
    if not is_server and (unused := care.unused_with_client):
        raise SetupError(f"{unused} is about a server under test, and here it is a client, started for each session")
    return care


def _target(
    loop: SelectorEventLoop,
    command_line: str | None,
    clients: Sequence[str],
    servers: Sequence[str],
    port: int,
    care: TargetCare,
) -> SystemUnderTest | None:
    """The system under test: a server if we are the client, and the other way round; None if it takes no care."""
    if command_line is None and not care.has_commands:
        return None
    address = next((parse_party_address(uri).address for uri in (*clients, *servers)), Address(""))
    try:
        command = () if command_line is None else command_of(command_line, port)
    except TargetError as error:
        raise SetupError(str(error)) from error
    role: Literal["server", "client"] = "server" if clients or not servers else "client"
    return SystemUnderTest(loop, command, address, role=role, care=care, port=port or address.port)


def _budget(until: Until | str | None, sessions: int | None, seconds: float | None, *, guided: bool) -> Budget:
    """A campaign that has a limit lasts until then, unless told otherwise."""
    if sessions is not None and sessions < 1:
        raise SetupError(f"the number of sessions is at least 1, and not {sessions}")
    is_limited = sessions is not None or seconds is not None
    if until is not None:
        return Budget(_one_of(Until, "until", until), sessions, seconds)
    if not guided and not is_limited:
        raise SetupError("--unguided needs a limit: give -n, --time or --until")
    return Budget(Until.FOREVER if is_limited else Until.PLATEAU, sessions, seconds)


def _roles(spec: Spec, clients: Sequence[str], servers: Sequence[str], program: tuple[str, ...]) -> RoleAssignment:
    networks: dict[str, tuple[str, ConnectionMode]] = {}
    given = [("Client", uri, ConnectionMode.CONNECT) for uri in clients]
    given += [("Server", uri, ConnectionMode.OPEN) for uri in servers]
    for default, uri, mode in given:
        name = parse_party_address(uri).name or default
        networks[name] = (uri, mode)
        if name not in spec.analysis.parties:
            raise SetupError(no_such_party(name, spec.analysis.parties))
    if networks:
        uri = next(iter(networks.values()))[0]
        for name in spec.analysis.parties:
            if name not in networks and name not in spec.namespace.party_classes:
                networks[name] = (uri, ConnectionMode.EXTERNAL)
            elif name in ("Client", "Server"):
                networks.setdefault(name, (uri, ConnectionMode.EXTERNAL))
    if not spec.analysis.messages:
        raise SetupError("the spec has no messages between parties, such as <Client:Server:request>")
    if program and not {"In", "Out"} & set(spec.analysis.parties):
        raise SetupError("a COMMAND is talked to through the parties In and Out, and the spec has neither")
    return RoleAssignment(networks, program)
