"""`palaver compare`: the same conversations with several implementations."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from palaver.cli.exit_codes import FINDINGS, UNDECIDED, WRONG_USE
from palaver.cli.options import count_option, load_spec, seconds_option, seed_option, talk_options
from palaver.cli.signals import cause_of
from palaver.printable import printable

if TYPE_CHECKING:
    from palaver.comparing.comparison import Participant, ServerComparison


@click.command("compare")
@talk_options
@click.option(
    "--client",
    "clients",
    multiple=True,
    metavar="URI",
    help="Compare the server at URI, such as tcp://localhost:2525 or 2525; give this for each of them.",
)
@click.option(
    "--target",
    "targets",
    multiple=True,
    metavar="COMMAND",
    help="Start a server with COMMAND and compare it; {port} stands for a free port. Give this for each of them.",
)
@count_option("-n", "--conversations", default=50, help="Hold N conversations with each.")
@seed_option(help="Repeat a comparison: the same seed and the same answers give the same messages.")
@click.option(
    "--beyond",
    type=click.FloatRange(0, 1),
    is_flag=False,
    flag_value=0.35,
    metavar="[SHARE]",
    help="Also send messages that are wrong on purpose, in SHARE of our turns (0.35 unless given).",
)
@seconds_option("--timeout", default=5.0, help="Connection, and first byte of a reply: wait SECONDS.")
@click.option(
    "--run",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Keep the run of each implementation in a folder below DIR: 1, 2 and so on.",
)
@click.argument("named", nargs=-1, metavar="SPEC")
def command(named: tuple[str, ...], **options: Any) -> int:
    """Hold the same conversations with several implementations, and show where they answer differently.

    What depends on answers, such as tokens, is adapted to each of them. Differences are notes: they show what the spec
    leaves open. What the spec forbids is a finding about the implementation that does it.

    The exit code is 0 if there are no findings, 1 if there are, 2 if the command line or the spec is wrong, and 4 if
    nothing was compared.
    """
    from palaver.campaign.campaign_factory import SetupError, TargetError
    from palaver.comparing.comparison import ServerComparison
    from palaver.recording.run_folders import RunError

    options["files"] = (*named, *options["files"])
    if not options["files"]:
        raise click.UsageError("which SPEC?")
    if len(options["clients"]) + len(options["targets"]) < 2:
        raise click.UsageError("to compare takes two: give --client or --target for each")
    try:
        comparison = ServerComparison(_participants(options))
    except (SetupError, RunError) as error:
        raise click.UsageError(str(error)) from error
    try:
        comparison.run(options["conversations"])
    except KeyboardInterrupt as interruption:
        return cause_of(interruption)[0]
    except TargetError as error:
        raise click.UsageError(str(error)) from error
    finally:
        comparison.close()
        _tell(comparison)
    return _outcome(comparison)


def _participants(options: dict[str, Any]) -> list[Participant]:
    """The implementations, each with a spec and a campaign of its own."""
    from palaver.campaign.campaign_factory import talk
    from palaver.comparing.comparison import Participant
    from palaver.random_source import RandomSource
    from palaver.recording.run_writer import record

    seed = RandomSource.fresh_seed() if options["seed"] is None else options["seed"]
    places: list[dict[str, Any]] = [{"client": [each]} for each in options["clients"]]
    places += [{"target": each} for each in options["targets"]]
    found = []
    for number, place in enumerate(places, 1):
        arguments = {**place, "seed": seed, "beyond": options["beyond"], "timeout": options["timeout"]}
        campaign = talk(load_spec(options), **arguments)
        if options["run"] is not None:
            record(campaign, options["run"] / str(number), arguments, command=sys.argv)
        found.append(Participant(str(*place.values()) if "target" in place else place["client"][0], campaign))
    return found


def _tell(comparison: ServerComparison) -> None:
    """Print findings and differences."""
    shown = set()
    for name, finding in comparison.violations:
        if (name, finding.fingerprint) not in shown:
            shown.add((name, finding.fingerprint))
            click.echo(printable(f"{name}: {finding.show()}"))
    for line in comparison.differences.lines():
        click.echo(printable(line))
    click.echo(f"seed {comparison.participants[0].campaign.seed}")


def _outcome(comparison: ServerComparison) -> int:
    from palaver.session.findings import Verdict

    if any(each.campaign.verdict is Verdict.ERROR for each in comparison.participants):
        return WRONG_USE
    if comparison.violations:
        return FINDINGS
    return 0 if comparison.differences.compared else UNDECIDED
