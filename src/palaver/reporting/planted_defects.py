"""The reader of the demo: which planted defects of a server the findings explain."""

from __future__ import annotations

import shlex

import click

from palaver.campaign.events import CampaignEnded, Event, FindingReported, TargetStarted
from palaver.campaign.run import Campaign
from palaver.demo.server import ForgetsItsName, KeepsSender, MailSession, TiresOfGuessing
from palaver.lean_dataclasses import dataclass
from palaver.printable import counted
from palaver.reporting.display import display_for
from palaver.reporting.reporting_limits import MAX_MESSAGES_OF_DEFECT
from palaver.reporting.status import Status, paths_of
from palaver.session.findings import Finding, show_data, show_message


@dataclass(frozen=True)
class PlantedDefect:
    """A defect of the server, and which of our messages it answers wrongly."""

    defect: type[MailSession]
    answers: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.defect.__name__

    @property
    def description(self) -> str:
        return self.defect.__doc__ or self.name

    def explains(self, finding: Finding) -> bool:
        return finding.messages[-1].symbol in self.answers if finding.messages else False


PLANTED = (
    PlantedDefect(ForgetsItsName, ("<helo>",)),
    PlantedDefect(TiresOfGuessing, ("<wrong_password>",)),
    PlantedDefect(KeepsSender, ("<mail>", "<rcpt>")),
)


class DefectReport:
    """Sorts findings by the defect that explains them, and tells the result at the end."""

    def __init__(self, campaign: Campaign) -> None:
        self.found: dict[PlantedDefect, Finding] = {}  # the first finding that each defect explains
        self.others: list[Finding] = []  # those that no defect explains
        self._campaign = campaign
        self._status = Status(campaign)
        self._display = display_for("auto", self._status, verbose=False)

    def __call__(self, event: Event) -> None:
        self._status(event)
        self._display(event)
        if isinstance(event, FindingReported):
            planted = next((each for each in PLANTED if each.explains(event.finding)), None)
            if planted is None:
                self.others.append(event.finding)
            else:
                self.found.setdefault(planted, event.finding)
        elif isinstance(event, TargetStarted):
            self._display.show(f"system under test: {shlex.join(event.command)}\n", is_result=True)
        elif isinstance(event, CampaignEnded):
            self.close()
            self._tell_figures()
            self._tell_defects()

    def close(self) -> None:
        self._display.close()

    @property
    def is_as_expected(self) -> bool:
        """True if every defect was found, nothing else, and the whole spec was covered."""
        aim = self._campaign.guidance.goal_progress
        return aim.reached == aim.total and len(self.found) == len(PLANTED) and not self.others

    def _tell_figures(self) -> None:
        campaign = self._campaign
        aim, progress = campaign.guidance.goal_progress, campaign.progress
        said = f"{counted(progress.messages, 'message')} in {counted(progress.sessions, 'session')}"
        click.echo(f"{said}, {campaign.seconds:.1f} s, seed {campaign.seed}")
        click.echo(f"covered {aim.reached} of {aim.total} {paths_of(aim.goal, campaign.guidance.paths.k)} of the spec")
        if progress.goal_after is not None and aim.reached == aim.total:
            click.echo(
                f"all were covered after {progress.goal_after[0]} messages; after that, messages were chosen at random"
            )

    def _tell_defects(self) -> None:
        click.echo(f"\nfound {len(self.found)} of {counted(len(PLANTED), 'planted defect')}")
        for number, planted in enumerate(PLANTED, start=1):
            click.echo(f"\n{number}. {click.style(planted.description, bold=True)}")
            if planted in self.found:
                finding = self.found[planted]
                click.echo(f"   finding {finding.number} in session {finding.session}, {finding.label}:")
                click.echo(_shortened(finding))
            else:
                click.echo("   not found")
        for other in self.others:
            click.echo(f"\nnot explained by a planted defect: {other.show()}")


def _shortened(finding: Finding) -> str:
    """The end of the session, and what was wrong there."""
    said = finding.messages[-MAX_MESSAGES_OF_DEFECT:]
    lines = ["…"] if len(said) < len(finding.messages) else []
    lines += [show_message(each) for each in said]
    lines.append(click.style(f"{finding.party}: {show_data(finding.got)}", fg="red"))
    lines.append(f"expected {' or '.join(finding.expected)}" if finding.expected else finding.message)
    return "\n".join(f"     {line}" for line in lines)
