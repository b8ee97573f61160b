"""The page of a run: what it tells, that it needs nothing else, and that nothing in it is believed."""

from __future__ import annotations

import base64
import hashlib
import re
import shlex
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from made_runs import HOSTILE, RIGHT, SHOUT, WRONG_BYTE, WRONG_WORD, hostile_everywhere, multiply, run_of

from palaver.publishing.curves import coverage_curve, points_of
from palaver.publishing.page import page
from palaver.publishing.peer_figures import percentile
from palaver.publishing.run_report import RunReport
from palaver.recording.run_reader import Run

# What says how wrong messages must be answered.
BEYOND = r"""<beyond> ::= <legal> | <unknown>
<legal> ::= <In:ask>
<unknown> ::= <In:any_line> <Out:refusal>
<any_line> ::= r"[^\n]*\n"
<refusal> ::= "error\n"
"""
# A server that says what it hears, and crashes if that has one of these letters.
CRASHES = r"""import os, socket, sys
with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as server:
    while True:
        with server.accept()[0] as client, client.makefile("rwb") as file:
            for line in file:
                print("heard", line.decode().strip(), flush=True)
                if set(line) & set(b"mnop"):
                    os.abort()
                file.write(line)
                file.flush()
"""
# Elements without an end.
VOID = {"meta", "input", "link", "br", "img", "hr"}


class Page(HTMLParser):
    """A page as a browser sees it: elements with their attributes, ids, and the text of each."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.html = html
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.stack: list[str] = []
        self.text: list[str] = []
        self.code: list[str] = []  # of scripts and styles
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.stack.pop() == tag, f"</{tag}>"

    def handle_data(self, data: str) -> None:
        (self.code if self.stack and self.stack[-1] in ("script", "style") else self.text).append(data)

    def values(self, name: str) -> list[str]:
        return [attributes[name] or "" for _, attributes in self.elements if name in attributes]

    def of(self, tag: str, look: str = "") -> list[dict[str, str | None]]:
        return [had for name, had in self.elements if name == tag and look in ["", *(had.get("class") or "").split()]]

    @property
    def words(self) -> str:
        return " ".join(" ".join(self.text).split())


def page_of(run: Run, *earlier: Run) -> Page:
    return Page(page(RunReport(run, earlier)))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    programs = {"right": RIGHT, "word": WRONG_WORD, "byte": WRONG_BYTE, "hostile": HOSTILE}
    return {name: run_of(tmp_path_factory.mktemp(name) / "run", program) for name, program in programs.items()}


@pytest.mark.parametrize("name", ["right", "word", "byte", "hostile"])
def test_a_page_is_well_formed_and_its_links_lead_somewhere(made: dict[str, Run], name: str) -> None:
    found = page_of(made[name])
    assert found.stack == []
    ids = found.values("id")
    assert len(ids) == len(set(ids))
    for link in found.values("href"):
        assert link.startswith("data:") or link.removeprefix("#") in ids, link


@pytest.mark.parametrize("name", ["right", "word", "hostile"])
def test_a_page_loads_nothing_and_runs_only_its_own_script(made: dict[str, Run], name: str) -> None:
    found = page_of(made[name])
    assert found.values("src") == []
    assert not found.of("link")
    assert not [each for _, had in found.elements for each in had if each.startswith("on")]
    assert "style" not in {each for _, had in found.elements for each in had}
    policy = next(had["content"] for had in found.of("meta") if had.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert policy.startswith("default-src 'none'; ")
    style, code = found.code
    for text in (style, code):
        assert f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" in policy


def test_hostile_answers_are_shown_and_not_obeyed(made: dict[str, Run]) -> None:
    run = made["hostile"]
    assert any(b"<script>" in finding.got for finding in run.findings)
    found = page_of(run)
    assert len(found.of("script")) == 1
    assert not found.of("img")
    assert "<script>alert(1)</script>" in found.words
    assert "{{7*7}}" in found.words
    assert not set(found.html) & {"\x1b", "\x07", "\u202e"}


def test_markup_in_names_of_files_output_errors_and_parameters_is_text(tmp_path: Path) -> None:
    run = hostile_everywhere(tmp_path)
    found = page_of(run)
    assert found.stack == []
    assert [len(found.of(tag)) for tag in ("script", "img", "b")] == [1, 0, found.html.count("<b>")]
    assert not [each for _, had in found.elements for each in had if each.startswith("on")]
    told = set(re.findall(r"(?:script>|onload=|onerror=|onclick=)alert\('(\w+)'\)", found.words))
    assert told == {"file", "folder", "run", "ours", "parameter", "constraint", "exception", "output", "known"}
    assert not set(found.html) & {"\x1b", "\x07", "\u202e"}
    assert "palaver replay " + shlex.quote(str(run.folder)) in found.words


def test_the_heading_of_a_finding_leaves_out_the_place_that_is_told_below_it(made: dict[str, Run]) -> None:
    (group,) = RunReport(made["word"]).groups
    assert group.title.endswith("), required by " + str(group.place and group.place.name))
    assert group.heading == group.title.partition(", required by ")[0]


def test_messages_that_were_never_seen_are_counted_at_the_top(made: dict[str, Run], tmp_path: Path) -> None:
    assert "never seen" not in page_of(made["right"]).words.partition("Findings")[0]
    spec = SHOUT.replace("<Out:answer>", "(<Out:answer> | <Out:refusal>)") + '<refusal> ::= "NO\\n"\n'
    spec = spec.replace("where forall", "# where forall")
    assert "1 message never seen" in page_of(run_of(tmp_path / "run", RIGHT, spec=spec)).words


def test_the_answer_stands_at_the_top(made: dict[str, Run]) -> None:
    passed, failed = page_of(made["right"]), page_of(made["word"])
    assert passed.of("header", "good")
    assert failed.of("header", "bad")
    assert "Passed" in passed.words
    assert "0 new findings" in passed.words
    assert "Failed: 1 new finding" in failed.words
    assert "0 of 31 paths not reached" in failed.words


def test_a_finding_has_its_conversation_its_place_and_its_commands(made: dict[str, Run]) -> None:
    run = made["word"]
    found = page_of(run)
    first = run.findings[0]
    assert len(found.of("details", "finding")) == len({each.digest for each in run.findings}) == 1
    assert f"{len(run.findings)} times, first seen in session {first.session}" in found.words
    assert len(found.of("li", "ours")) == sum(said.is_ours for said in run.messages(first.session)[: first.messages])
    assert len(found.of("li", "offending")) == 1
    marked = re.findall(r'<span class="line marked">.*?<mark>(.*?)</mark>', found.html)
    assert marked == ["&lt;e&gt;.&lt;ask&gt;.&lt;word&gt; == &lt;e&gt;.&lt;answer&gt;.&lt;word&gt;"]
    assert f"palaver replay {run.folder} {first.number}" in found.words
    assert f"<word> = '{run.messages(first.session)[0].data.decode().strip()}'" in found.words
    script, packets = (link for link in found.values("href") if link.startswith("data:"))
    assert base64.b64decode(script.partition(",")[2]).startswith(b"#!")
    assert base64.b64decode(packets.partition(",")[2]).startswith(b"\n\r\r\n")


def test_the_first_wrong_byte_is_marked(made: dict[str, Run]) -> None:
    finding = made["byte"].findings[0]
    assert finding.offset is not None
    assert f"<mark>{finding.got[finding.offset]:02x}</mark>" in page_of(made["byte"]).html


def test_a_finding_made_small_is_shown_so(tmp_path: Path) -> None:
    from palaver.replaying.shrinking import shrink

    run = run_of(tmp_path / "run", WRONG_BYTE, sessions=1)
    assert shrink(run, run.finding(1)) is not None
    found = page_of(run)
    assert len(found.of("li", "ours")) == 1
    assert "made small: reproduced" in found.words
    assert "✗" in found.words


def test_the_values_of_a_finding_made_small_are_those_of_the_conversation_that_is_shown(tmp_path: Path) -> None:
    from palaver.replaying.shrinking import shrink

    run = run_of(tmp_path / "run", WRONG_WORD, sessions=4)
    number = run.findings[0].number
    assert shrink(run, run.finding(number)) is not None
    small = run.shrinking(number)
    assert small is not None
    asked, got = small.messages[-1].data.decode().strip(), small.got.decode().strip()
    values = f"(<e>.<ask>.<word> = '{asked}', <e>.<answer>.<word> = '{got}')"
    assert values not in run.finding(number).message
    assert values in page_of(run).words
    assert values in RunReport(run).groups[0].told


def test_the_last_output_of_a_crash_made_small_is_that_of_the_conversation_that_is_shown(tmp_path: Path) -> None:
    from palaver.replaying.shrinking import shrink

    (tmp_path / "server.py").write_text(CRASHES)
    target = f"{shlex.quote(sys.executable)} {shlex.quote(str(tmp_path / 'server.py'))} {{port}}"
    spec = SHOUT.replace("In:", "Client:").replace("Out:", "Server:")
    run = run_of(tmp_path / "run", None, target=target, client=["{port}"], spec=spec, sessions=6)
    before = RunReport(run).groups[0].detail
    assert before.startswith("its last output:\n| heard ")
    assert shrink(run, run.findings[0]) is not None
    group, found = RunReport(run).groups[0], page_of(run)
    assert group.detail == ""
    (last,) = (step for step in group.steps if step.is_offending)
    asked = group.said[-1].data.decode().strip()
    assert last.text.splitlines()[:3] == ["crash", "its last output:", f"| heard {asked}"]
    assert found.words.count("its last output:") == 1
    assert "it was killed by SIGABRT: " in found.words


def test_what_was_expected_stands_below_a_heading_that_can_be_read(made: dict[str, Run]) -> None:
    (group, *_), found = RunReport(made["byte"]).groups, page_of(made["byte"])
    assert group.heading.startswith("unexpected response from Out: '")
    assert "expected r'" not in group.heading
    assert f"Expected at byte {group.offset} of <answer> : {group.expected[0]}" in found.words


def test_an_answer_to_a_wrong_message_is_shown_at_the_rule_that_it_breaks(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run", RIGHT, sessions=4, spec=SHOUT + BEYOND, beyond=1.0)
    found = page_of(run)
    assert {finding.label for finding in run.findings} == {"wrong refusal"}
    assert "<mark>&lt;unknown&gt;</mark>" in found.html
    assert "(on purpose: " in found.words
    assert found.of("span", "aside")


def test_a_known_finding_is_known_on_the_page(tmp_path: Path) -> None:
    (tmp_path / "known.toml").write_text('[[known]]\nkind = "constraint violated"\nreason = "<b>old</b>"\n')
    found = page_of(run_of(tmp_path / "run", WRONG_WORD, known=tmp_path / "known.toml"))
    assert "Passed" in found.words
    assert "Known: <b>old</b>" in found.words
    assert len(found.of("details", "known")) == 1


def test_a_later_run_is_compared_with_an_earlier_one(made: dict[str, Run]) -> None:
    found = page_of(made["word"], made["byte"])
    gone = len({each.digest for each in made["byte"].findings})
    assert "New 1 constraint violated" in found.words
    assert f"Fixed, or not met again {gone} unexpected response" in found.words
    assert "Still there 0" in found.words
    same = page_of(made["word"], made["word"])
    assert "Still there 1 constraint violated" in same.words
    assert "Nothing new was found." in same.words
    assert "in an earlier run, too constraint violated" in same.words
    assert "not in the earlier run constraint violated" in found.words


def test_coverage_that_was_gained_and_lost_is_told(tmp_path: Path) -> None:
    spec = (
        SHOUT.replace("<exchange>{3}", "(<exchange> | <other>){3}")
        + '<other> ::= <In:shout> <Out:answer>\n<shout> ::= <word> "!\\n"\n'
    )
    short = run_of(tmp_path / "short", WRONG_WORD, sessions=1, spec=spec, guided=False)
    long = run_of(tmp_path / "long", RIGHT, sessions=30, spec=spec.replace("== <e>.<answer>.<word>", "!= 'q'"))
    gained = RunReport(long, [short]).comparisons[0].gained
    assert gained
    assert RunReport(short, [long]).comparisons[0].lost == gained
    assert f"Coverage gained {len(gained)}" in page_of(long, short).words


def test_what_was_not_covered_is_told_with_its_reason(tmp_path: Path) -> None:
    spec = SHOUT.replace(
        '<answer> ::= <word> "\\n"', '<answer> ::= <word> "\\n" | <number> "\\n"\n<number> ::= r"[0-9]"'
    )
    run = run_of(tmp_path / "run", RIGHT, spec=spec.replace("where", "# where"), sessions=20)
    found = page_of(run)
    assert "the peer never sent <number> in <answer>" in found.words
    assert "alternatives never seen" in found.words
    assert any("<number>" in path for path in run.coverage["reasons"][0]["examples"][0])


def test_the_diagram_tells_how_often_each_message_came(made: dict[str, Run]) -> None:
    found = page_of(made["right"])
    assert "<title>In: ask: 8 times" in found.html
    assert found.of("svg", "curve")
    assert not found.of("input", "large")  # it fits
    assert "<answer> 24" in found.words


def test_curves_go_on_when_sessions_end_in_another_order_than_they_began(made: dict[str, Run]) -> None:
    sessions = made["right"].sessions
    assert [session.covered for session in sessions] == sorted(session.covered for session in sessions)
    numbers = [session.number for session in sessions]
    renumbered = [replace(session, number=number) for session, number in zip(sessions[::-1], numbers, strict=True)]
    assert points_of(renumbered) == points_of(sessions)
    report = RunReport(made["right"])
    report.__dict__["sessions"] = renumbered
    assert report.covered == RunReport(made["right"]).covered == (31, 31)


def test_the_phases_of_a_curve_have_names(made: dict[str, Run]) -> None:
    curve = coverage_curve(made["right"].sessions, 31, by_time=False)
    assert ">unguided</text>" in curve
    assert 'class="unguided"' in curve


@pytest.mark.slow
def test_ten_thousand_sessions_with_many_findings_take_less_than_five_megabytes(tmp_path: Path) -> None:
    run = multiply(run_of(tmp_path / "run", WRONG_BYTE, sessions=20), 500)
    report = RunReport(run)
    assert len(report.sessions) == 10_000
    assert len(report.groups) > 2000
    html = page(report)
    assert len(html.encode()) < 5_000_000
    assert "more, which" in html


def test_a_run_whose_spec_cannot_be_loaded_has_a_page(made: dict[str, Run], monkeypatch: pytest.MonkeyPatch) -> None:
    report = RunReport(made["word"])
    report.__dict__["spec"] = None  # as if a module that it needs were not there
    found = Page(page(report))
    assert "Failed: 1 new finding" in found.words
    assert not found.of("figure", "spec")


def test_starts_and_ends_of_the_target_and_its_last_output_are_told(tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text(CRASHES)
    target = f"{shlex.quote(sys.executable)} {shlex.quote(str(tmp_path / 'server.py'))} {{port}}"
    spec = SHOUT.replace("In:", "Client:").replace("Out:", "Server:")
    run = run_of(tmp_path / "run", None, target=target, client=["{port}"], spec=spec, sessions=6)
    found = page_of(run)
    crashes = [finding for finding in run.findings if finding.label == "crash"]
    assert 1 < len(crashes) < len(run.sessions)
    # After each crash it was started again when the next session began.
    starts = len(crashes) + (crashes[-1].session < len(run.sessions))
    assert f"The system under test was started {starts} times; it " in found.words
    assert f"was killed by SIGABRT: {len(crashes)} times" in found.words
    asked = [said.data.decode().strip() for said in run.messages(crashes[0].session) if said.is_ours]
    assert len(found.of("details", "output")) == len(RunReport(run).groups)
    assert f"wrote heard {' heard '.join(asked)} How to see it again" in found.words


def test_constraints_are_told_with_how_often_they_held_or_were_broken_or_that_they_were_never_decided(
    tmp_path: Path,
) -> None:
    spec = SHOUT.replace('<answer> ::= <word> "\\n"', '<answer> ::= (<word> | <number>) "\\n"')
    spec += '<number> ::= r"[0-9]"\nwhere int(<number>) < 5\n'
    run = run_of(tmp_path / "run", WRONG_WORD, spec=spec)
    broken = len(run.findings)
    assert 0 < broken < len(run.sessions) == 8
    words = page_of(run).words
    assert f"constraint held broken so far forall <e> in <exchange>: {SHOUT.rpartition(': ')[2].strip()} " in words
    assert f"== <e>.<answer>.<word> {8 - broken} {broken} broken int(<number>) < 5 0 0 never decided" in words
    right = page_of(run_of(tmp_path / "again", RIGHT, spec=spec)).words
    assert "== <e>.<answer>.<word> 8 0 held int(<number>) < 5 0 0 never decided" in right


def test_percentiles_are_those_of_the_nearest_rank() -> None:
    numbers = [float(number) for number in range(1, 101)]
    assert [percentile(numbers, share) for share in (0.5, 0.9, 0.99)] == [50, 90, 99]
    assert percentile([3.0], 0.5) == 3.0


def test_the_command_writes_a_page(palaver: Any, tmp_path: Path) -> None:
    run_of(tmp_path / "mine", WRONG_WORD).close()
    done = palaver("report", "mine", "-o", "out.html")
    assert done.code == 0, done.said
    assert (tmp_path / "out.html").read_text().startswith("<!doctype html>")
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".out")] == []
    assert palaver("report", "nothing").code == 2
    assert palaver("report", "mine", "-o", "no/such/folder.html").code == 2
