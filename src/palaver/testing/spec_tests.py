"""A spec as tests: one run of it, held when it is first needed, and the outcomes of its checks."""

from __future__ import annotations

import fcntl
import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from palaver.campaign.campaign_factory import talk
from palaver.compiled import Spec, load
from palaver.errors import PalaverError
from palaver.project_settings import SettingsError, head_of, read_settings, talk_arguments
from palaver.publishing.machine_reports import CheckOutcome, checks_of, outcomes
from palaver.publishing.page import page
from palaver.publishing.run_report import RunReport
from palaver.publishing.whole_files import write_whole
from palaver.recording.run_reader import RunError, open_run
from palaver.recording.run_writer import record
from palaver.replaying.again import try_first

# What a spec that says nothing of it is tested by: the same sessions each time.
_DEFAULTS = {"seed": 1, "sessions": 20}

_STAYS = "stays"


def remove_runs(folder: Path) -> None:
    """Remove the runs of this folder, without those that are kept nowhere else and have findings."""
    for each in folder.iterdir() if folder.is_dir() else ():
        if not each.is_dir():
            each.unlink(missing_ok=True)
        elif not (each / _STAYS).exists():
            shutil.rmtree(each, ignore_errors=True)
    with suppress(OSError):  # some stay, or there were none
        folder.rmdir()


class SpecTests:
    """The tests of a spec file. `given` are options of pytest, if it was named by one; else its table counts.

    Runs go to `folder`, which several processes may share. The last run with findings goes to `kept`, and its findings
    are tried first the next time. If that is None, a run with findings stays in `folder`.
    """

    def __init__(self, path: Path, given: Mapping[str, Any] | None, folder: Path, kept: Path | None) -> None:
        self._path = path
        self._given = given
        name = hashlib.sha256(f"{path} {json.dumps(given)}".encode()).hexdigest()[:16]
        self._run_folder = folder / name
        self._kept = None if kept is None else kept / name

    @cached_property
    def settings(self) -> dict[str, Any]:
        """The settings of the run, with names of files as seen from here."""
        head = head_of(self._path.read_text(encoding="utf-8"))
        settings = {} if head is None else read_settings(head, str(self._path))
        beside = self._path.parent
        for name in ("known", "report"):
            if name in settings:
                settings[name] = str(beside / settings[name])
        if "target" in settings or "program" in settings:
            settings["cwd"] = str(beside / settings.get("cwd", "."))
        if self._given is not None:
            settings |= {name: value for name, value in self._given.items() if value is not None}
        if not any(name in settings for name in ("target", "client", "server", "program")):
            raise SettingsError(
                f"{self._path}: there is nothing to be tested; give target, client, server or program in a table "
                "[palaver], or --palaver-target CMD"
            )
        is_limited = "sessions" in settings or "time" in settings or "until" in settings
        return {**(_DEFAULTS if not is_limited else {"seed": _DEFAULTS["seed"]}), **settings}

    @cached_property
    def spec(self) -> Spec:
        settings = self.settings
        return load(self._path, constraints=settings.get("constraints", ()), parameters=settings.get("parameters", {}))

    @cached_property
    def checks(self) -> list[Any]:
        return checks_of(self.spec)

    @cached_property
    def _outcomes(self) -> dict[str, tuple[str, str]] | PalaverError:
        """The outcome of each check, by its title; or why the run could not be held, which is not tried again."""
        try:
            self._hold_once()
        except PalaverError as error:
            return error
        is_kept = self._kept is not None and self._kept.is_dir()
        with open_run(self._kept if self._kept is not None and is_kept else self._run_folder) as run:
            return {each.check.title: (each.outcome, _told(each)) for each in outcomes(RunReport(run))}

    def outcome(self, title: str) -> tuple[str, str]:
        """The result of a check: passed, failed, error or skipped; and what is to be said about it."""
        found = self._outcomes
        return ("error", str(found)) if isinstance(found, PalaverError) else found[title]

    def line(self, title: str) -> int | None:
        """The line of a check in its file, from 0."""
        area, _, name = title.partition(" ")
        grammar = self.spec.grammar
        if area == "message" and name in grammar.rules:
            rule = grammar.rules[name]
            return rule.source.place(rule.span.start)[0] - 1 if rule.source is not None else None
        for each in grammar.constraints:
            if area == "constraint" and " ".join(each.text.split()) == name:
                return each.source.place(each.span.start)[0] - 1
        return None

    def _hold_once(self) -> None:
        """Hold the run, unless another process has done so."""
        self._run_folder.parent.mkdir(parents=True, exist_ok=True)
        with _locked(self._run_folder.with_suffix(".lock")):
            if (self._run_folder / "done").exists():
                return
            shutil.rmtree(self._run_folder, ignore_errors=True)
            arguments = talk_arguments(self.settings)
            if "program" in arguments:
                arguments.pop("cwd", None)
            campaign = talk(self.spec, **arguments)
            record(campaign, self._run_folder, arguments)
            self._try_earlier(campaign)
            campaign.run()
            self._keep()
            (self._run_folder / "done").touch()

    def _try_earlier(self, campaign: Any) -> None:
        if self._kept is None or not self._kept.is_dir():
            return
        try:
            with open_run(self._kept) as run:
                try_first(campaign, run)
        except RunError:
            shutil.rmtree(self._kept, ignore_errors=True)

    def _keep(self) -> None:
        """Keep a run with findings for the next time, and write the report."""
        with open_run(self._run_folder) as run:
            if "report" in self.settings:
                write_whole(Path(self.settings["report"]), page(RunReport(run)))
            has_findings = bool(run.findings)
        if self._kept is not None:
            shutil.rmtree(self._kept, ignore_errors=True)
            if has_findings:
                shutil.copytree(self._run_folder, self._kept)
        elif has_findings:  # there is no other place that its findings could be replayed from
            (self._run_folder / _STAYS).touch()


def _told(outcome: CheckOutcome) -> str:
    """The text about an outcome: its problems, or the reason."""
    return "\n\n".join(group.told for group in outcome.groups) or outcome.reason


@contextmanager
def _locked(file: Path) -> Iterator[None]:
    with file.open("a") as lock:
        fcntl.lockf(lock, fcntl.LOCK_EX)
        yield
