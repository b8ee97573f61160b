"""`palaver graph` draws the states of a spec, and what of them was covered."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import palaver as library
from amounts import few
from palaver.navigation.state_diagram import CoverageViews
from palaver.session.setup import ConstraintMonitor

ROOT = Path(__file__).parent.parent.parent
MAIL = str(ROOT / "examples" / "mail.fan")
SMTP = str(ROOT / "benchmarks" / "talking" / "smtp.fan")

SHOP = """
<start> ::= <Client:Server:order> <Server:Store:ask> <Store:Server:stock> (<Server:Client:bill> | <Server:Client:sorry>)
<order> ::= "order"
<ask>   ::= "ask"
<stock> ::= "stock"
<bill>  ::= "bill"
<sorry> ::= "sorry"
"""


def coverage_of(spec: library.Spec, *messages: str) -> dict[str, Any]:
    """The content of a coverage file after a conversation of these messages."""
    forecaster = spec.forecaster(ConstraintMonitor(spec).states)
    views = CoverageViews(spec.analysis, forecaster)
    forecast = forecaster.begin()
    for text in messages:
        move = next(move for move in forecast.moves if spec.read_as(move.symbol, text) is not None)
        node = spec.read_as(move.symbol, text)
        assert node is not None
        after = forecast.after(move, node)
        views.note_message(move, node)
        views.note_transition(forecast.hypotheses[0].future, move, after.hypotheses[0].future)
        forecast = after
    return {"format": "palaver coverage 1", "views": views.as_data()}


def test_an_example_is_drawn_as_one_would_draw_it(palaver: Any) -> None:
    outcome = palaver("graph", SMTP)
    assert outcome.code == 0
    assert outcome.said == ""
    assert outcome.text == (
        "flowchart LR\n"
        "    begin(( ))\n"
        '    s0("start")\n'
        '    s1("work")\n'
        '    s2[["end"]]\n'
        '    s3("letter 3")\n'
        '    s4("letter 4")\n'
        '    s5("letter 6")\n'
        "    begin --> s0\n"
        '    s0 -->|"Server: greeting<br>Client: ehlo<br>Server: features"| s1\n'
        '    s1 -->|"Client: quit<br>Server: bye"| s2\n'
        '    s1 -->|"Client: noop<br>Server: ok"| s1\n'
        '    s1 -->|"Client: rset<br>Server: ok"| s1\n'
        '    s1 -->|"Client: mail<br>Server: ok<br>Client: rcpt<br>Server: ok"| s3\n'
        '    s3 -->|"Client: data"| s4\n'
        '    s3 -->|"Client: rcpt<br>Server: ok"| s5\n'
        '    s4 -->|"Server: go_ahead<br>Client: content<br>Server: ok"| s1\n'
        '    s5 -->|"Client: data"| s4\n'
        '    s5 -->|"Client: rcpt<br>Server: ok<br>Client: data"| s4\n'
    )


def test_all_messages_are_shown_if_that_is_wanted(palaver: Any) -> None:
    arrows = palaver("graph", "--all-messages", MAIL).text.count("-->|")
    assert arrows == 13
    assert palaver("graph", MAIL).text.count("-->|") == 3


def test_a_picture_is_well_formed_and_names_every_state_and_message(palaver: Any) -> None:
    picture = ElementTree.fromstring(palaver("graph", SMTP, "--format", "svg").text)
    texts = [element.text for element in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert {"start", "work", "letter 3", "end"} <= set(texts)
    assert texts.count("Client: noop") == 1
    assert len([text for text in texts if text and ": " in text]) == 23


@pytest.mark.parametrize("form", few(["mermaid", "svg"]))
def test_any_hash_seed_gives_the_same_drawing(palaver: Any, form: str) -> None:
    drawings = {
        palaver.process("graph", SMTP, "--format", form, environment={"PYTHONHASHSEED": seed}).out for seed in "12"
    }
    assert len(drawings) == 1


def test_a_drawing_goes_to_a_file(palaver: Any) -> None:
    outcome = palaver("graph", MAIL, "-o", "mail.mmd")
    assert (outcome.code, outcome.out) == (0, b"")
    assert (palaver.folder / "mail.mmd").read_text() == palaver("graph", MAIL).text
    refused = palaver("graph", MAIL, "-o", "nowhere/mail.mmd")
    assert refused.code == 2
    assert "cannot write nowhere/mail.mmd" in refused.said


def test_several_files_are_one_spec(palaver: Any) -> None:
    palaver.write(more_fan="<letters> ::= <letter>\n")
    assert palaver("graph", MAIL, "more.fan").text.count("-->|") == 2


def test_a_spec_without_messages_has_no_states(palaver: Any) -> None:
    palaver.write(plain_fan="<start> ::= 'a'\n")
    outcome = palaver("graph", "plain.fan")
    assert outcome.code == 2
    assert "the spec has no messages" in outcome.said


def test_a_spec_with_states_without_end_is_drawn_in_part(palaver: Any) -> None:
    palaver.write(deep_fan="<start> ::= <A:x> <start> <B:y> | <A:z>\n<x> ::= 'x'\n<y> ::= 'y'\n<z> ::= 'z'\n")
    outcome = palaver("graph", "deep.fan")
    assert outcome.code == 0
    assert "states are shown" in outcome.said
    assert "states are shown" in outcome.text


# --- Coverage ---------------------------------------------------------------------------------------------------------


def test_what_was_covered_is_in_colour(palaver: Any) -> None:
    covered = coverage_of(library.load(MAIL), "220 a.example\r\n", "HELO a\r\n", "250 hello a\r\n")
    palaver.write(coverage_json=json.dumps(covered))
    outcome = palaver("graph", MAIL, "--coverage-file", "coverage.json")
    assert outcome.code == 0
    assert outcome.text.endswith(
        "    classDef covered fill:#dafbe1,stroke:#1a7f37,color:#000000\n"
        "    class s0,s1 covered\n"
        "    linkStyle 1 stroke:#1a7f37,color:#1a7f37\n"
        "    classDef missed fill:#ffebe9,stroke:#cf222e,color:#000000\n"
        "    class s2 missed\n"
        "    linkStyle 2,3 stroke:#cf222e,color:#cf222e\n"
    )
    picture = palaver("graph", MAIL, "--coverage-file", "coverage.json", "--format", "svg").text
    assert ">covered<" in picture
    assert ">not covered<" in picture
    dot = palaver("graph", MAIL, "--coverage-file", "coverage.json", "--format", "dot").text
    assert 's2 [label="end" color="#cf222e"' in dot


def test_what_others_said_to_each_other_is_left_out_where_nobody_could_have_heard_it(palaver: Any) -> None:
    palaver.write(shop_fan=SHOP)
    spec = library.loads(SHOP).seen_by(["Client"])
    palaver.write(coverage_json=json.dumps(coverage_of(spec, "order", "bill")))
    assert "Store" in palaver("graph", "shop.fan").text
    outcome = palaver("graph", "shop.fan", "--coverage-file", "coverage.json")
    assert outcome.code == 0
    assert "Store" not in outcome.text
    assert "linkStyle 1,2 stroke:#1a7f37" in outcome.text


@pytest.mark.parametrize(
    "content, complaint",
    [
        ("{", "coverage.json is not a coverage file: it is not JSON"),
        ("[]", "coverage.json is not a coverage file of this version of palaver"),
        ('{"format": "palaver coverage 1", "views": {}}', "the coverage file coverage.json is damaged"),
    ],
)
def test_what_is_no_coverage_file_is_refused(palaver: Any, content: str, complaint: str) -> None:
    palaver.write(coverage_json=content)
    outcome = palaver("graph", MAIL, "--coverage-file", "coverage.json")
    assert outcome.code == 2
    assert complaint in outcome.said


def test_a_coverage_file_that_is_missing_is_named(palaver: Any) -> None:
    outcome = palaver("graph", MAIL, "--coverage-file", "missing.json")
    assert outcome.code == 2
    assert "cannot read the coverage file missing.json: No such file or directory" in outcome.said


def test_the_coverage_of_another_spec_is_refused(palaver: Any) -> None:
    palaver.write(coverage_json=json.dumps(coverage_of(library.load(SMTP))))
    outcome = palaver("graph", MAIL, "--coverage-file", "coverage.json")
    assert outcome.code == 2
    assert "coverage.json: the coverage file belongs to another spec" in outcome.said
