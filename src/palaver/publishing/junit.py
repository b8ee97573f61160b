"""A run as JUnit XML, as continuous integration reads it: a test case for each message, constraint and finding kind."""

from __future__ import annotations

import re
from pathlib import PurePath
from xml.etree import ElementTree

from palaver.printable import printable
from palaver.publishing.run_checks import CheckOutcome, outcomes
from palaver.publishing.run_report import RunReport

# The characters that XML 1.0 can hold.
_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(report: RunReport) -> str:
    """The document."""
    cases = list(outcomes(report))
    counts = {
        "tests": len(cases),
        "failures": sum(each.outcome == "failed" for each in cases),
        "errors": sum(each.outcome == "error" for each in cases),
        "skipped": sum(each.outcome == "skipped" for each in cases),
    }
    figures = {name: str(count) for name, count in counts.items()}
    name = _text(", ".join(PurePath(each).name for each in report.spec_names))
    root = ElementTree.Element("testsuites", {"name": "palaver", **figures, "time": f"{report.seconds:.3f}"})
    suite = ElementTree.SubElement(
        root,
        "testsuite",
        {"name": name, **figures, "time": f"{report.seconds:.3f}", "timestamp": report.run.fact("started")[:19]},
    )
    properties = ElementTree.SubElement(suite, "properties")
    facts = {"seed": report.run.seed, "run": report.run.folder, "sessions": len(report.sessions)}
    for key, value in facts.items():
        ElementTree.SubElement(properties, "property", {"name": key, "value": _text(str(value))})
    for each in cases:
        _add_case(suite, name, each)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _add_case(suite: ElementTree.Element, name: str, each: CheckOutcome) -> None:
    named = {"classname": f"{name}.{each.check.area}", "name": _text(each.check.name), "time": "0"}
    place = next((group.place for group in each.groups if group.place is not None), None)
    if place is not None:
        named |= {"file": _text(place.file), "line": str(place.line)}
    case = ElementTree.SubElement(suite, "testcase", named)
    if each.outcome == "passed":
        return
    tag = {"failed": "failure", "error": "error", "skipped": "skipped"}[each.outcome]
    told = ElementTree.SubElement(case, tag, {"message": _text(each.reason)})
    if each.groups:
        told.set("type", each.check.name)
        told.text = _text("\n\n".join(group.told for group in each.groups))


def _text(text: str) -> str:
    return _NO_XML.sub("\N{REPLACEMENT CHARACTER}", printable(text))
