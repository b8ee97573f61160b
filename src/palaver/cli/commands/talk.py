"""`palaver talk`: sessions with a real peer."""

from __future__ import annotations

import gc
import shlex
import sys
from collections.abc import Mapping
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import click
from click.core import ParameterSource

from palaver.campaign.stopping import Until
from palaver.cli.crew_options import crew_options
from palaver.cli.exit_codes import FINDINGS, OUT_OF_TIME, UNDECIDED, WRONG_USE
from palaver.cli.grouped_help import GroupedCommand
from palaver.cli.options import (
    budget_option,
    count_option,
    load_spec,
    rates,
    read_deadlines,
    resumed_spec,
    search_options,
    seconds_option,
    seed_option,
    size_options,
    talk_options,
)
from palaver.cli.progress import ProgressLine, shrinking_progress
from palaver.cli.project_file import project_defaults
from palaver.cli.report_options import REPORT_NAMES, check_places, report_options, wanted_reports
from palaver.cli.signals import cause_of
from palaver.cli.talk_reports import TalkReports, is_kept, recorded_run
from palaver.cli.target_options import target_options
from palaver.cli.timeout import late_work_interrupted
from palaver.printable import printable
from palaver.solving.solving_limits import MESSAGE_STEP_BUDGET, SolvingLimits

if TYPE_CHECKING:
    from palaver.campaign.run import Campaign
    from palaver.recording.run_writer import RunWriter
    from palaver.replaying.again import FindingsAgain

# The values of `CoverageGoal`, which is not imported before a campaign is.
_GOALS = ("inputs", "states", "paths", "all", "history", "values", "beyond")

# Options that are handed on to `palaver.talk` under the same name.
_AS_THEY_ARE = (
    *("seed", "seconds", "until", "jobs", "workers", "cluster", "k", "goal", "schedule", "coverage_file", "timeout"),
    *("patience", "quiet_interval", "wait_for_server", "deadlines", "grace", "session_time", "max_messages"),
    *("max_message_bytes", "restart", "start_timeout", "ready", "env", "cwd", "target_memory", "target_cpu"),
    *("setup", "reset", "probe", "teardown", "known", "beyond"),
)


class _Talk(GroupedCommand):
    """The spec stands first, or behind the options; what stands behind it is a program with its arguments."""

    groups: ClassVar = {
        "Peer": ("clients", "servers"),
        "Target": (
            *("command_line", "restart", "start_timeout", "ready", "env", "cwd", "target_memory", "target_cpu"),
            *("setup", "reset", "probe", "teardown"),
        ),
        "When to stop": ("count", "seconds", "until"),
        "Many sessions": ("jobs", "workers", "cluster"),
        "Coverage": ("k", "goal", "schedule", "unguided", "no_learnt_values", "coverage_file", "learn_from"),
        "Timing": ("wait_for_server", "timeout", "deadlines", "patience", "quiet_interval", "grace"),
        "Limits of a session": ("session_time", "max_messages", "max_message_bytes"),
        "Wrong on purpose": ("beyond",),
        "Findings": ("known", "again"),
        "Output": ("seed", "verbose", "console"),
        "Reports": ("report_file", *(f"{name}_file" for name in REPORT_NAMES)),
        "Run directory": ("run", "no_run", "resume", "keep", "run_size", "shrinks"),
        "Spec": (
            *("files", "start_symbol", "constraints", "maximize", "minimize"),
            *("parameters", "parameter_files", "include_dirs", "no_stdlib", "warnings_are_errors"),
        ),
        "Solving": (
            *("budget", "max_nodes", "max_repetitions", "max_generations", "population_size", "elitism_rate"),
            *("crossover_rate", "mutation_rate", "destruction_rate"),
        ),
    }
    examples: ClassVar = (
        ("test the mail server at port 2525 until nothing more can be covered", "palaver talk smtp --client 2525"),
        (
            "start the server, and run 20 sessions that can be repeated",
            "palaver talk my.fan --target 'myserver --port {port}' -n 20 --seed 1",
        ),
        ("test a client: play the server that it connects to", "palaver talk smtp --server 2525 -v"),
    )

    def parse_args(self, context: click.Context, arguments: list[str]) -> list[str]:
        if arguments and not arguments[0].startswith("-"):
            # More specs may follow, which change or add to it.
            others = takewhile(lambda each: each.endswith(".fan") and not each.startswith("-"), arguments[1:])
            specs = [arguments[0], *others]
            arguments = [*(part for spec in specs for part in ("-f", spec)), *arguments[len(specs) :]]
        given = list(arguments)  # which parsing takes from
        rest = super().parse_args(context, arguments)
        if not any(context.params[name] for name in ("files", "program", "resume")):
            project = project_defaults()
            if project is not None:
                context.default_map = project
                rest = super().parse_args(context, given)
        options = context.params
        if not options["files"] and options["program"]:
            spec, *program = options["program"]
            if program and program[0].startswith("-") and "--" not in given:  # no program, but further options
                before = given[: -len(program) - 1]
                return super().parse_args(context, ["-f", spec, *before, *program])
            options["files"], options["program"] = (spec,), tuple(program)
        if not options["files"] and not options["resume"] and not context.resilient_parsing:
            raise click.UsageError("Missing argument 'SPEC', and no palaver.toml here names one.", context)
        return rest

    def collect_usage_pieces(self, context: click.Context) -> list[str]:
        return ["[OPTIONS]", "SPEC", "[COMMAND ARGS…]"]


@click.command("talk", cls=_Talk, context_settings={"allow_interspersed_args": False})
@talk_options
@click.option(
    "--client",
    "clients",
    multiple=True,
    metavar="[NAME=]URI",
    help="Play the client: connect to URI, such as tcp://localhost:2525, udp://localhost:53, unix:PATH or 2525.",
)
@click.option(
    "--server",
    "servers",
    multiple=True,
    metavar="[NAME=]URI",
    help="Play the server: listen at URI; port 0 is any free port.",
)
@click.option(
    "--target",
    "command_line",
    metavar="COMMAND",
    help="Start and watch the system under test; {port} stands for a free port, here and in --client or --server.",
)
@target_options
@click.option("-n", "--num-sessions", "count", type=click.IntRange(1), help="Stop after N sessions.", metavar="N")
@click.option(
    "--time",
    "seconds",
    type=click.FloatRange(0, min_open=True),
    help="Total run: stop after SECONDS, also inside of a session.",
    metavar="SECONDS",
)
@click.option(
    "--until",
    type=click.Choice([each.value for each in Until]),
    help="Stop when everything is covered; when nothing more is seen (plateau, the default); "
    "or only at the limit of -n or --time.",
)
@crew_options
@count_option("-k", default=5, help="Cover k-paths: sequences of up to N symbols, each inside the one before.")
@click.option(
    "--goal",
    type=click.Choice(_GOALS),
    default="all",
    show_default=True,
    help="Cover our own messages (inputs); states as well (states); answers of the peer as well (paths); every pair of "
    "an earlier and a later message as well (history), or only those that are cheap to reach (all); or paths and the "
    "value classes of our fields (values), or wrong messages in every place (beyond).",
)
@click.option(
    "--schedule",
    type=click.Choice(["gain", "paper"]),
    default="gain",
    show_default=True,
    help="Choose coverage targets by gain per cost, or at random as in the paper.",
)
@click.option("--unguided", is_flag=True, help="Choose messages at random, without coverage targets.")
@click.option(
    "--no-learnt-values",
    is_flag=True,
    help="Make every name and number afresh, and use none again that was sent or received.",
)
@click.option(
    "--coverage-file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Continue from the coverage in FILE, if it exists, and save it there.",
)
@click.option(
    "--learn-from",
    metavar="RUN",
    help="Start afresh, but use what RUN, or a coverage file, has learnt about the peer.",
)
@seed_option("--random-seed", "seed", help="Repeat a run: the same seed and the same answers give the same messages.")
@seconds_option("--wait-for-server", default=1.0, help="Start of the server: retry a refused connection for SECONDS.")
@seconds_option("--timeout", default=5.0, help="Connection, and first byte of a reply: wait SECONDS.")
@click.option(
    "--deadline",
    "deadlines",
    multiple=True,
    metavar="MESSAGE=SECONDS",
    callback=read_deadlines,
    help="Time of a message, such as answer=0.5: report it if it comes later than SECONDS after the message before it.",
)
@seconds_option("--patience", default=5.0, help="Gap inside a reply: wait SECONDS for the rest of it.")
@click.option(
    "--quiet-interval",
    type=click.FloatRange(0),
    metavar="SECONDS",
    help="End of a reply: after SECONDS of silence, one that could go on is complete; adapts to the peer unless given.",
)
@click.option(
    "--grace",
    type=click.FloatRange(0),
    metavar="SECONDS",
    help="End of a session: watch for SECONDS for messages that must not come and for crashes; "
    "unless given, 0.1 s after each end that is new.",
)
@click.option(
    "--session-time",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="Cut a session after SECONDS; ten times --timeout, and 0.1 s for each of --max-messages, unless given.",
)
@count_option(
    "--max-messages", default=1000, help="Cut a session after N messages; report a peer that sends more in a row."
)
@count_option("--max-message-bytes", default=1 << 20, help="Report a message of the peer that is longer than N bytes.")
@click.option(
    "--known",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Count the findings in FILE, and report only others; see palaver known.",
)
@click.option(
    "--again",
    metavar="RUN",
    help="Try the findings of RUN, such as latest, first, and report which are fixed.",
)
@click.option(
    "--beyond",
    type=click.FloatRange(0, 1),
    is_flag=False,
    flag_value=0.35,
    metavar="[SHARE]",
    help="Send messages that are wrong on purpose, in SHARE of our turns (0.35 unless given), and judge the answers.",
)
@size_options
@budget_option(MESSAGE_STEP_BUDGET, "message")
@search_options
@click.option("-v", "--verbose", is_flag=True, help="Show every message, plan and finding.")
@click.option(
    "--console",
    type=click.Choice(["auto", "live", "plain", "none"]),
    default="auto",
    show_default=True,
    help="Show progress on standard error: bars, a line now and then, or nothing.",
)
@click.option(
    "--run",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Keep the run in DIR, a new folder; unless given, in PALAVER_RUNS or .palaver/runs, by time and spec.",
)
@click.option("--no-run", is_flag=True, help="Keep nothing of the run.")
@click.option(
    "--resume",
    metavar="RUN",
    help="Go on with RUN, with its spec and its options unless others are given; -n counts all its sessions.",
)
@click.option("--shrink", "shrinks", is_flag=True, help="Make each different finding small, when the run is over.")
@click.option(
    "--keep",
    type=click.Choice(["all", "findings"]),
    default="all",
    show_default=True,
    help="Keep what was said in all sessions, or only in those with findings.",
)
@click.option(
    "--run-size",
    type=click.IntRange(1),
    default=1024,
    show_default=True,
    metavar="MIB",
    help="Limit of the run: beyond MIB, the oldest sessions without findings lose their messages.",
)
@click.option(
    "--report", "report_file", metavar="FILE", help="Write a page of HTML to FILE, again and again while the run lasts."
)
@report_options
@click.argument("program", nargs=-1, metavar="[COMMAND ARGS…]")
def command(**options: Any) -> int:
    """Test a server, a client or a program: run sessions with it that follow SPEC.

    With --client palaver connects and plays the client, with --server it listens and plays the server; a COMMAND is
    started, and tested through its standard input and output. SPEC is a file, or the name of a bundled spec (see
    palaver specs). Without SPEC, the settings in palaver.toml count.

    Findings and a summary go to standard output. The exit code is 0 if there are no findings, or only known ones and
    notes, 1 if there are others, 2 if the command line or the spec is wrong, 4 if nothing was decided, and 124 if the
    time was over before.
    """
    # Only here: who asks for help does not wait for the rest.
    from palaver.campaign.campaign_factory import SetupError, TargetError
    from palaver.recording.run_folders import RunError
    from palaver.reporting.console import ConsoleReport

    check_places(options["report_file"], wanted_reports(options))
    try:
        again = _again(options["again"])  # first: the latest run is not the one that begins here
        campaign, writer = _resumed(options) if options["resume"] else _begun(options)
    except (SetupError, RunError) as error:
        raise click.UsageError(str(error)) from error
    if again is not None:
        again.begin(campaign)
    reports = TalkReports(options, writer)
    reports.follow(campaign)
    with campaign, reports:
        report = ConsoleReport(campaign, verbose=options["verbose"], console=options["console"])
        try:
            with late_work_interrupted():
                campaign.attach(report).run()
        except KeyboardInterrupt as interruption:
            return cause_of(interruption)[0]
        except TargetError as error:
            raise click.UsageError(str(error)) from error
        finally:
            report.close()
            _tell_again(again)
            _tell_where(campaign, writer, is_kept=is_kept(options))
        if options["shrinks"] and writer is not None and campaign.findings:
            _shrink_all(writer.folder)
    return _outcome(campaign, writer)


def _begun(options: dict[str, Any]) -> tuple[Campaign, RunWriter | None]:
    """A new campaign, and the writer of its run directory; None if none is wanted."""
    from palaver.campaign.campaign_factory import talk
    from palaver.recording.run_folders import RunError

    gc.freeze()  # what was imported stays
    arguments = _arguments(options)
    learnt = _learnt(options["learn_from"])
    campaign = talk(load_spec(options), plans=options["verbose"], learn_from=learnt, **arguments)
    try:
        return campaign, recorded_run(campaign, options, arguments)
    except RunError:
        campaign.close()
        raise


# The options of the command behind those of `palaver.talk` that are called otherwise.
_CALLED = {
    "client": "clients",
    "server": "servers",
    "target": "command_line",
    "sessions": "count",
    "guided": "unguided",
}


def _resumed(options: dict[str, Any]) -> tuple[Campaign, RunWriter]:
    """A campaign that goes on with a run, and its writer."""
    from palaver.recording.run_reader import RunError, open_run
    from palaver.recording.run_writer import record
    from palaver.replaying.resuming import resumed_campaign, resumed_options

    if options["learn_from"] is not None:
        raise RunError("--learn-from is for a run that begins: one that goes on knows what it has learnt")
    context = click.get_current_context()
    is_given = {name: context.get_parameter_source(name) is ParameterSource.COMMANDLINE for name in options}
    given = {name: value for name, value in _arguments(options).items() if is_given.get(_CALLED.get(name, name))}
    with open_run(options["resume"]) as run:
        arguments = resumed_options(run, given)
        spec = resumed_spec(options, run)
        campaign = resumed_campaign(run, arguments, spec, plans=options["verbose"])
    keep, size = options["keep"], options["run_size"] << 20
    try:
        return campaign, record(
            campaign, run.folder, arguments, command=sys.argv, keep=keep, max_bytes=size, resumes=True
        )
    except RunError:
        campaign.close()
        raise


def _learnt(source: str | None) -> Path | Mapping[str, Any] | None:
    """The coverage file, or what a run has learnt; None if nothing is wanted. :raises RunError: there is no such run"""
    from palaver.recording.run_reader import RunError, open_run

    if source is None or Path(source).is_file():
        return None if source is None else Path(source)
    with open_run(source) as run:
        _, state = run.snapshot()
    if not state:
        raise RunError(f"the run {run.folder} came to no end of a session, and has learnt nothing")
    guidance: Mapping[str, Any] = state["guidance"]
    return guidance


def _shrink_all(folder: Path) -> None:
    """Make the first finding of each problem that is not known small, and show it."""
    from palaver.recording.run_reader import open_run
    from palaver.recording.showing import conversations, shown_lines
    from palaver.replaying.shrinking import shrink

    line = ProgressLine()
    with open_run(folder) as run:
        firsts = {finding.digest: finding for finding in reversed(run.findings) if not finding.known}
        for finding in sorted(firsts.values(), key=lambda each: each.number):
            small = shrink(run, finding, tell=partial(_show_shrinking, line, finding.number))
            line.clear()
            lines = shown_lines(run, conversations(run, finding=finding.number)[:1], "text") if small else ()
            click.echo("\n".join(lines) or f"finding {finding.number} did not come again, so it was not made small")


def _show_shrinking(line: ProgressLine, finding: int, phase: str, runs: int, messages: int, data: int) -> None:
    line.show(f"making finding {finding} small: {shrinking_progress(phase, runs, messages, data)}")


def _arguments(options: dict[str, Any]) -> dict[str, Any]:
    """The arguments of `palaver.talk` that the options give."""
    return {
        "client": options["clients"],
        "server": options["servers"],
        "program": options["program"],
        "target": options["command_line"],
        "sessions": options["count"],
        "guided": not options["unguided"],
        "learn_values": not options["no_learnt_values"],
        "solving": SolvingLimits(options["max_nodes"], options["max_repetitions"], options["budget"], rates(options)),
        **{name: options[name] for name in _AS_THEY_ARE},
    }


def _again(run: str | None) -> FindingsAgain | None:
    """The findings of another run, to begin with; None if none are wanted. :raises RunError: there is no such run"""
    if run is None:
        return None
    from palaver.recording.run_reader import open_run
    from palaver.replaying.again import FindingsAgain

    with open_run(run) as opened:
        again = FindingsAgain(opened)
    if not len(again):
        click.echo(printable(f"palaver: {again.name} has no findings to try again"), err=True)
    return again


def _tell_again(again: FindingsAgain | None) -> None:
    """Tell which findings of the other run are still there."""
    if again is not None:
        for finding, outcome in again.outcomes:
            click.echo(printable(f"{outcome.value}: {finding.headline}, of {again.name}"))


def _tell_where(campaign: Campaign, writer: RunWriter | None, *, is_kept: bool) -> None:
    """Tell where the run is kept, if there is something to be looked at again."""
    if writer is None:
        return
    writer.close()
    if writer.failure:
        click.echo(printable(f"palaver: {writer.failure}"), err=True)
    elif campaign.findings and is_kept:
        shown = f"{shlex.quote(str(writer.folder))} {campaign.findings[0].number}"  # those before it are known
        click.echo(printable(f"run kept in {writer.folder}; see palaver show {shown}"), err=True)


def _outcome(campaign: Campaign, writer: RunWriter | None) -> int:
    from palaver.session.findings import Verdict

    if campaign.verdict is Verdict.ERROR or (writer is not None and writer.failure):
        return WRONG_USE
    if campaign.verdict is Verdict.FAIL:
        return FINDINGS
    progress = campaign.progress
    if progress.is_broken_off:
        return WRONG_USE
    is_cut = sum(each.ends_run for each in progress.cut_off) == progress.sessions
    if campaign.verdict is Verdict.PASS and is_cut and not progress.received:
        return OUT_OF_TIME  # not one session came to its end, and the peer has said nothing
    return 0 if campaign.verdict is Verdict.PASS else UNDECIDED
