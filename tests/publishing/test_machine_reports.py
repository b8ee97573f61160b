"""Reports for programs: what their readers make of them."""

from __future__ import annotations

import json
import re
from io import StringIO
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from junitparser import Failure, JUnitXml, Skipped
from made_runs import HOSTILE, RIGHT, SHOUT, WRONG_BYTE, WRONG_WORD, hostile_everywhere, run_of

from palaver.publishing.machine_reports import FORMATS
from palaver.publishing.run_report import RunReport
from palaver.recording.run_reader import Run

SCHEMA = Path(__file__).parents[2] / "docs" / "report.schema.json"
JUNIT = Path(__file__).parent / "junit.xsd"
SARIF = Path(__file__).parents[2] / ".servers" / "sarif" / "sarif-2.1.0.json"
PROGRAMS = {"right": RIGHT, "word": WRONG_WORD, "byte": WRONG_BYTE, "hostile": HOSTILE}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    return {name: run_of(tmp_path_factory.mktemp(name) / "run", program) for name, program in PROGRAMS.items()}


def made_as(form: str, run: Run, *earlier: Run) -> str:
    return FORMATS[form](RunReport(run, earlier))


def problems(run: Run) -> list[str]:
    return list(dict.fromkeys(finding.digest for finding in run.findings))


# --- JUnit ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(PROGRAMS))
def test_a_reader_of_junit_reads_it_and_the_counts_agree(made: dict[str, Run], name: str) -> None:
    (suite,) = JUnitXml.fromroot(JUnitXml.fromstring(made_as("junit", made[name]).encode())._elem)
    cases = list(suite)
    kinds = [type(result) for case in cases for result in case.result]
    assert (suite.tests, suite.failures) == (len(cases), kinds.count(Failure))
    assert suite.skipped == kinds.count(Skipped)
    assert (suite.failures > 0) == bool(made[name].findings)


@pytest.mark.parametrize("name", list(PROGRAMS))
def test_a_schema_of_junit_accepts_it(made: dict[str, Run], name: str) -> None:
    import xmlschema  # here, since it takes long, and most who import this file run other tests

    schema, document = xmlschema.XMLSchema(JUNIT), made_as("junit", made[name])
    schema.validate(document)
    for right, wrong in ((' classname="', ' class="'), (' time="', ' time="-1'), (' tests="', ' tests="some')):
        assert not schema.is_valid(document.replace(right, wrong, 1))


def test_there_is_a_test_case_for_each_message_constraint_and_kind(made: dict[str, Run]) -> None:
    (suite,) = JUnitXml.fromroot(JUnitXml.fromstring(made_as("junit", made["word"]).encode())._elem)
    failed = {case.name for case in suite if any(isinstance(each, Failure) for each in case.result)}
    constraint = SHOUT.rpartition("where ")[2].strip()
    assert failed == {constraint, "constraint violated"}
    assert {"<ask>", "<answer>", "crash", "no response"} <= {case.name for case in suite} - failed
    (text,) = {case.result[0].text for case in suite if case.name == constraint}
    assert "palaver replay" in text


def test_the_names_of_test_cases_do_not_depend_on_the_run(made: dict[str, Run]) -> None:
    names = [re.findall(r'<testcase classname="(.*?)" name="(.*?)"', made_as("junit", made[name])) for name in PROGRAMS]
    assert names[0]
    assert all(each == names[0] for each in names)


# --- SARIF ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(PROGRAMS))
def test_a_reader_of_sarif_reads_it(made: dict[str, Run], name: str) -> None:
    from sarif_pydantic import Sarif

    (run,) = Sarif.model_validate_json(made_as("sarif", made[name])).runs
    results = run.results or []
    assert [(result.partial_fingerprints or {})["palaver/v1"] for result in results] == problems(made[name])


@pytest.mark.servers("npm")
@pytest.mark.parametrize("name", list(PROGRAMS))
def test_the_schema_of_sarif_accepts_it(made: dict[str, Run], name: str) -> None:
    if not SARIF.exists():
        pytest.skip("missing: the schema of SARIF, which make servers installs")
    schema = json.loads(SARIF.read_text())
    assert schema["$id"].endswith("/oasis-tcs/sarif-spec/master/Schemata/sarif-schema-2.1.0.json")
    validator = jsonschema.validators.validator_for(schema)(schema)
    document = json.loads(made_as("sarif", made[name]))
    assert [error.message for error in validator.iter_errors(document)] == []
    document["runs"][0]["tool"]["driver"]["other"] = 1
    assert not validator.is_valid(document)


def test_a_result_points_at_the_line_of_the_spec(made: dict[str, Run], monkeypatch: pytest.MonkeyPatch) -> None:
    run = made["word"]
    monkeypatch.chdir(run.folder.parent)
    (result,) = json.loads(made_as("sarif", run))["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "shout.fan"}
    region = place["region"]
    line = Path("shout.fan").read_text().splitlines()[region["startLine"] - 1]
    assert line[region["startColumn"] - 1 : region["endColumn"] - 1] == "<e>.<ask>.<word> == <e>.<answer>.<word>"
    said = [step["location"]["message"]["text"] for step in result["codeFlows"][0]["threadFlows"][0]["locations"]]
    assert len(said) == run.findings[0].messages + 1


def test_annotations_point_at_the_same_line(made: dict[str, Run], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(made["word"].folder.parent)
    (line,) = made_as("github", made["word"]).splitlines()
    assert line.startswith("::error file=shout.fan,line=6,col=33,endColumn=72,title=palaver%3A constraint violated")
    for hostile in made_as("github", made["hostile"]).splitlines():
        assert hostile.startswith("::error file=shout.fan,line=4,") or "/shout.fan,line=4," in hostile


def test_places_are_told_from_the_root_of_the_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "protocol").mkdir()
    run = run_of(tmp_path / "protocol" / "run", WRONG_WORD, sessions=3)
    for folder in (tmp_path, tmp_path / "protocol"):
        monkeypatch.chdir(folder)
        assert "::error file=protocol/shout.fan,line=6," in made_as("github", run)
        (result,) = json.loads(made_as("sarif", run))["runs"][0]["results"]
        assert result["locations"][0]["physicalLocation"]["artifactLocation"] == {"uri": "protocol/shout.fan"}


def test_sarif_tells_of_a_fixed_problem_whose_kind_is_gone(made: dict[str, Run]) -> None:
    run = json.loads(made_as("sarif", made["right"], made["word"]))["runs"][0]
    (result,) = run["results"]
    assert (result["baselineState"], result["ruleId"]) == ("absent", "constraint-violated")
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == "constraint-violated"


def test_sarif_tells_what_is_new_and_what_is_gone(made: dict[str, Run], tmp_path: Path) -> None:
    states = [
        each["baselineState"] for each in json.loads(made_as("sarif", made["word"], made["word"]))["runs"][0]["results"]
    ]
    assert states == ["unchanged"]
    longer = run_of(tmp_path / "longer", WRONG_BYTE, sessions=20)
    results = json.loads(made_as("sarif", made["byte"], longer))["runs"][0]["results"]
    gone = set(problems(longer)) - set(problems(made["byte"]))
    assert {each["partialFingerprints"]["palaver/v1"] for each in results if each["baselineState"] == "absent"} == gone


def test_known_findings_are_suppressed(tmp_path: Path) -> None:
    (tmp_path / "known.toml").write_text('[[known]]\nkind = "constraint violated"\nreason = "issue 7"\n')
    run = run_of(tmp_path / "run", WRONG_WORD, known=tmp_path / "known.toml")
    (result,) = json.loads(made_as("sarif", run))["runs"][0]["results"]
    assert result["suppressions"] == [{"kind": "external", "justification": "issue 7"}]
    assert "<failure" not in made_as("junit", run)
    assert "➖ known" in made_as("markdown", run)


# --- JSON lines -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(PROGRAMS))
def test_every_line_of_json_follows_the_schema(made: dict[str, Run], name: str) -> None:
    schema = json.loads(SCHEMA.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    lines = [json.loads(line) for line in StringIO(made_as("json", made[name]))]
    for line in lines:
        validator.validate(line)
        known = schema["$defs"][line["type"]]["properties"]
        assert line.keys() <= known.keys()
    assert lines[0]["type"] == "run"
    assert lines[-1]["type"] == "end"
    assert sum(line["type"] == "session" for line in lines) == 8
    assert sum(line["type"] == "finding" for line in lines) == len(made[name].findings)


# --- Markdown ---------------------------------------------------------------------------------------------------------


def test_the_summary_tells_the_verdict_the_problem_and_the_command(made: dict[str, Run]) -> None:
    text = made_as("markdown", made["word"])
    assert text.startswith("### palaver: fail, 1 new, 0 known\n")
    assert "❌ new | `constraint violated: " in text
    assert "Again: `palaver replay " in text
    assert "| paths of all | 31 | 31 |" in text


def test_nothing_of_a_hostile_answer_is_markup_in_the_summary(made: dict[str, Run]) -> None:
    text = made_as("markdown", made["hostile"])
    outside = re.sub(r"(?s)(`{1,})(?!`).*?(?<!`)\1(?!`)", "", text)
    assert "<script>" in text
    assert "<" not in outside
    rows = [line for line in text.splitlines() if line.startswith("| ❌ new |")]
    assert rows
    for row in rows:
        assert row.replace("\\|", "").count("|") == 5  # four cells


def test_no_error_of_a_spec_begins_a_line_of_its_own(made: dict[str, Run], tmp_path: Path) -> None:
    """GitHub obeys lines that begin with two colons, and the text of an error may be that of a peer."""
    run = hostile_everywhere(tmp_path)
    for form in ("github", "markdown"):
        lines = made_as(form, run).splitlines()
        assert sum("::error file=theirs" in line for line in lines) == 1
        assert not [line for line in lines if line.lstrip().startswith("::error file=theirs")]
    told = run.findings[-1].message
    assert ("\\n::error file=theirs::" in told, "\n" in told) == (True, False)


# --- the commands -----------------------------------------------------------------------------------------------------


def test_talk_writes_every_report_also_if_the_run_is_not_kept(palaver: Any, tmp_path: Path) -> None:
    palaver.write(shout_fan=SHOUT)
    files = {"report": "r.html", "junit": "r.xml", "sarif": "r.sarif", "json": "r.jsonl", "markdown": "r.md"}
    options = [word for name, file in files.items() for word in (f"--{name}", file)]
    done = palaver("talk", "shout.fan", "-n", "3", "--seed", "1", "--no-run", *options, "--github", "-", *WRONG_WORD)
    assert done.code == 1
    assert "::error file=shout.fan,line=6,col=33," in done.text
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*files.values(), "shout.fan"])
    assert "run kept" not in done.said


def test_report_writes_only_what_is_asked_for(palaver: Any, tmp_path: Path) -> None:
    run_of(tmp_path / "mine", WRONG_WORD).close()
    before = {path.name for path in tmp_path.iterdir()}
    assert palaver("report", "mine", "--json", "-").text.splitlines()[-1].startswith('{"type": "end"')
    assert {path.name for path in tmp_path.iterdir()} == before
    assert palaver("report", "mine").code == 0
    assert {path.name for path in tmp_path.iterdir()} == before | {"report.html"}


def test_a_report_that_cannot_be_written_is_wrong_use(palaver: Any, tmp_path: Path) -> None:
    palaver.write(shout_fan=SHOUT)
    done = palaver("talk", "shout.fan", "-n", "1", "--no-run", "--junit", "no/such/place.xml", *RIGHT)
    assert done.code == 2
    assert "cannot write no/such/place.xml" in done.said
    assert done.text == ""  # it is told before anything is sent
    page = palaver("talk", "shout.fan", "-n", "1", "--no-run", "--report", ".", *RIGHT)
    assert (page.code, "cannot write .: Is a directory" in page.said) == (2, True)
