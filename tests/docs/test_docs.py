"""The documents tell the truth: examples do what is shown, links lead somewhere, and lists are complete."""

import re
from importlib import import_module
from pathlib import Path
from typing import get_args

import click
import pytest
from doc_examples import DOCUMENTS, ROOT, run_document

import palaver
from palaver.campaign.events import Event
from palaver.grammar.library import LIBRARY_SYMBOLS
from palaver.namespace import _reference_names
from palaver.party import PartyNames
from palaver.spec.setting_statements import NODE_TYPES, SETTING_KEYS

COMMANDS = ["check", "fuzz", "parse", "convert", "graph", "talk"]
# Commands that read a run, which has its spec in it.
COMMANDS_OF_RUNS = ["export", "known", "replay", "report", "runs", "show", "shrink"]
LANGUAGE = (ROOT / "docs" / "language.md").read_text(encoding="utf-8")


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_examples_do_what_is_shown(document: Path) -> None:
    # `python tests/docs/doc_examples.py` puts what is printed now into the documents.
    for outcome in run_document(document):
        assert outcome.printed == outcome.shown, outcome.command


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_links_lead_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", document.read_text(encoding="utf-8")):
        if "://" in target:
            continue
        place, _, heading = target.partition("#")
        other = (document.parent / place) if place else document
        assert other.exists(), target
        if heading:
            assert heading in anchors(other), target


def anchors(document: Path) -> set[str]:
    """What can stand behind # in a link: headings, in small letters, with hyphens for blanks."""
    headings = re.findall(r"^#+ (.+)$", document.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading).lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", [ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md"], ids=name_of)
def test_files_that_are_named_exist(document: Path) -> None:
    for name in re.findall(r"`([\w./]+/[\w./]+|\w+\.(?:py|md))`", document.read_text(encoding="utf-8")):
        assert (ROOT / name).exists() or (ROOT / "src" / "palaver" / name).exists(), name


def test_every_room_is_in_the_plan_of_the_house() -> None:
    plan = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    rooms = {path.stem for path in (ROOT / "src" / "palaver").iterdir() if not path.name.startswith("_")}
    for room in sorted(rooms - {"py"}):
        assert re.search(rf"^\|.*`{room}`.*\|", plan, re.MULTILINE), room


def options_of(name: str) -> list[str]:
    command = import_module(f"palaver.cli.commands.{name}").command
    return [", ".join(each.opts) for each in command.params if isinstance(each, click.Option)]


@pytest.mark.parametrize("name", COMMANDS + COMMANDS_OF_RUNS)
def test_every_option_of_a_command_is_described_and_no_other(name: str) -> None:
    text = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    sections = {part.split("\n", 1)[0]: part for part in re.split(r"^## ", text, flags=re.MULTILINE)}
    described = options_described(sections[f"palaver {name}"].partition("of `prune`")[0])
    if name in COMMANDS:
        described += options_described(sections["Options of commands with a spec"])
    if name in ("fuzz", "parse"):
        described += options_described(sections["Options of fuzz and parse"])
    assert sorted(described) == sorted(options_of(name))


def options_described(section: str) -> list[str]:
    """The options in the first column of a table: `-n, --num-outputs N` is `-n, --num-outputs`."""
    found = re.findall(r"^\| `(-[^`]*)` \|", section, re.MULTILINE)
    return [", ".join(option.split()[0] for option in each.split(", ")) for each in found]


def test_every_symbol_of_the_library_is_in_the_reference() -> None:
    for symbol in LIBRARY_SYMBOLS:
        if not symbol.startswith("<_"):
            assert re.search(rf"\b{symbol[1:-1]}\b", LANGUAGE), symbol


def test_every_setting_is_in_the_reference() -> None:
    for word in (*SETTING_KEYS, *NODE_TYPES):
        assert f"`{word}`" in LANGUAGE, word


def test_every_name_that_specs_see_is_in_the_reference() -> None:
    for name in (*_reference_names(), *PartyNames(), "set_program_command"):
        assert f"`{name}`" in LANGUAGE, name


def test_every_exported_name_is_described() -> None:
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    for name in palaver.__all__:
        assert re.search(rf"`(palaver\.)?{name}\b", text), name


def test_every_event_is_described() -> None:
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    for event in get_args(Event):
        assert re.search(rf"^\| .*`{event.__name__}`.* \|", text, re.MULTILINE), event.__name__


def test_new_names_exist() -> None:
    """Every new module and name in the tables of `docs/renames.md` is where the page says."""
    text = (ROOT / "docs" / "renames.md").read_text(encoding="utf-8").partition("\n## Attributes")[0]
    rows = re.findall(r"^\| `\S+` \| (.+) \|$", text, re.MULTILINE)
    assert rows
    for name in re.findall(r"`([^`]+)`", " ".join(rows)):
        module, *names = name.split(".")
        found: object = import_module(f"palaver.{module.replace('/', '.')}")
        for each in names:
            found = getattr(found, each)


def test_modules_and_types_of_the_glossary_exist() -> None:
    rows = [line.split("|") for line in (ROOT / "docs" / "glossary.md").read_text().splitlines() if "| **" in line]
    assert rows
    for module, name in re.findall(r"`([a-z_]+(?:/[a-z_]+)?)`(?:: `(\w+)`)?", " ".join(row[-2] for row in rows)):
        found = import_module(f"palaver.{module.replace('/', '.')}")
        assert not name or hasattr(found, name), f"{module}: {name}"
