"""The page in a real browser, as a person uses it: three reports, clean, with many findings, and with hostile bytes."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import NARROW, WIDE, Browser
from made_runs import RIGHT, WRONG_BYTE, hostile_everywhere, multiply, run_of

from palaver.compiled.bundled import bundled
from palaver.publishing.page import page
from palaver.publishing.run_report import RunReport

pytestmark = [pytest.mark.servers("chromium", "npm"), pytest.mark.timeout(180)]

AXE = Path(__file__).parents[2] / ".servers" / "axe" / "node_modules" / "axe-core" / "axe.min.js"
SERIOUS = "axe.run().then(found => found.violations.filter(each => ['serious', 'critical'].includes(each.impact))"
SERIOUS += ".map(each => each.id + ': ' + each.nodes[0].html))"
SMTP = bundled()["smtp"]
NAMES = ["clean", "many", "hostile"]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    made = {}
    for name, program in zip(NAMES, (RIGHT, WRONG_BYTE, None), strict=True):
        folder = tmp_path_factory.mktemp(name)
        run = hostile_everywhere(folder) if program is None else run_of(folder / "run", program)
        run = multiply(run, 20) if name == "many" else run
        made[name] = folder / "page.html"
        made[name].write_text(page(RunReport(run)))
    return made


@pytest.fixture(scope="module")
def mail(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a short run with a mail server, which has left much to be covered."""
    folder = tmp_path_factory.mktemp("mail")
    target = f"{shlex.quote(sys.executable)} -m palaver.demo.server {{port}}"
    run = run_of(folder / "run", None, target=target, client=["{port}"], spec=SMTP.read_text(), sessions=2)
    (folder / "page.html").write_text(page(RunReport(run)))
    return folder / "page.html"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as opened:
        yield opened


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_wrong_on_the_console_and_nothing_is_loaded(
    browser: Browser, pages: dict[str, Path], name: str
) -> None:
    browser.look(WIDE)
    browser.open(pages[name])
    assert browser.complaints == []
    assert browser.run("performance.getEntriesByType('resource').length") == 0
    assert browser.run("document.scripts.length") == 1


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
@pytest.mark.parametrize("is_dark", [False, True], ids=["light", "dark"])
def test_everybody_can_read_it_and_nothing_sticks_out(
    browser: Browser, pages: dict[str, Path], name: str, size: tuple[int, int], is_dark: bool
) -> None:
    browser.look(size, is_dark=is_dark)
    browser.open(pages[name])
    assert browser.run("document.documentElement.scrollWidth") == size[0]
    browser.run(AXE.read_text(encoding="utf-8") + "; 0")
    assert browser.run(SERIOUS) == []


@pytest.mark.parametrize("name", NAMES)
def test_links_lead_to_parts_of_the_page(browser: Browser, pages: dict[str, Path], name: str) -> None:
    browser.look(WIDE)
    browser.open(pages[name])
    dead = (
        "[...document.querySelectorAll('a[href^=\"#\"]')].filter(a => !document.getElementById(a.hash.slice(1))).length"
    )
    assert browser.run(dead) == 0
    browser.run("document.querySelector('nav a[href=\"#run\"]').click()")
    assert browser.run("location.hash") == "#run"
    files = "[...document.querySelectorAll('a[download]')].map(a => fetch === undefined ? '' : a.download)"
    assert all(file.startswith("finding-") for file in browser.run(files))


def test_findings_can_be_filtered_by_words_and_by_status(browser: Browser, pages: dict[str, Path]) -> None:
    browser.look(WIDE)
    browser.open(pages["many"])
    shown = "[...document.querySelectorAll('.finding')].filter(each => each.offsetParent !== null).length"
    everything = browser.run(shown)
    assert everything > 20
    words = "const field = document.querySelector('#findings input[type=search]');"
    browser.run(
        f"{{{words} field.value = 'no such words'; field.dispatchEvent(new Event('input', {{bubbles: true}}))}}"
    )
    assert browser.run(shown) == 0
    assert browser.run("document.querySelector('#findings output').textContent").startswith("0 of ")
    one = browser.run("document.querySelectorAll('.fingerprint code')[5].textContent").upper()
    browser.run(f"{{{words} field.value = '{one}'; field.dispatchEvent(new Event('input', {{bubbles: true}}))}}")
    assert 0 < browser.run(shown) < everything
    browser.run(f"{{{words} field.value = ''; field.dispatchEvent(new Event('input', {{bubbles: true}}))}}")
    assert browser.run(shown) == everything
    browser.run("document.querySelector('#findings input[value=new]').click()")
    assert browser.run(shown) == 0


def test_a_message_shows_its_bytes_when_it_is_clicked(browser: Browser, pages: dict[str, Path]) -> None:
    browser.look(WIDE)
    browser.open(pages["many"])
    first = "document.querySelector('ol.talk li.ours details')"
    assert not browser.run(f"{first}.open")
    browser.run(f"{first}.querySelector('summary').click()")
    assert browser.run(f"{first}.open && {first}.querySelector('pre').offsetHeight > 0")


def test_a_state_and_an_arrow_tell_how_often_they_were_seen_when_they_are_pointed_at(
    browser: Browser, pages: dict[str, Path]
) -> None:
    browser.look(WIDE)
    browser.open(pages["clean"])
    box = browser.run(
        "(({x, y, width, height}) => [x + width / 2, y + height / 2])([...document.querySelectorAll('.states text')]"
        ".find(each => each.textContent.includes('In: ask')).getBoundingClientRect())"
    )
    told = f"document.elementFromPoint({box[0]}, {box[1]} - scrollY).closest('g:has(> title)')"
    browser.run(f"scrollTo({{top: {box[1]} - 200, behavior: 'instant'}})")
    assert "In: ask: 8 times" in browser.run(f"{told}.querySelector('title').textContent")


def test_nothing_of_the_peer_or_of_files_runs(browser: Browser, pages: dict[str, Path]) -> None:
    browser.look(WIDE)
    browser.open(pages["hostile"])
    assert not any(event.get("method") == "Page.javascriptDialogOpening" for event in browser.events)
    assert browser.run("document.images.length") == 0
    assert "<script>alert(1)</script>" in browser.run("document.body.innerText")


def test_what_was_not_covered_can_be_filtered(browser: Browser, mail: Path) -> None:
    browser.look(WIDE)
    browser.open(mail)
    shown = "[...document.querySelectorAll('.gap')].filter(each => each.checkVisibility()).length"
    gaps = browser.run("document.querySelectorAll('.gap').length")
    words = "const field = document.querySelector('#missing input[type=search]');"
    for word in ("<helo>", "no such symbol"):
        wanted = f"[...document.querySelectorAll('.gap')].filter(each => each.textContent.includes('{word}')).length"
        browser.run(f"{{{words} field.value = '{word}'; field.dispatchEvent(new Event('input', {{bubbles: true}}))}}")
        assert browser.run(shown) == browser.run(wanted) < gaps  # lists that were closed are open
        assert browser.run("document.querySelector('#missing output').textContent").endswith(f" of {gaps}")
    assert browser.run(shown) == 0


def test_a_large_diagram_fits_into_the_window_and_can_be_had_in_full_size(browser: Browser, mail: Path) -> None:
    browser.look(WIDE)
    browser.open(mail)
    box = "document.querySelector('.states')"
    hidden = f"{box}.scrollWidth - {box}.clientWidth"
    assert browser.run(hidden) <= 0
    browser.run("document.getElementById('full').click()")
    assert browser.run(hidden) > 1000
    browser.look(WIDE, is_printed=True)
    assert browser.run(hidden) <= 0
    browser.look(NARROW)
    assert browser.run("document.documentElement.scrollWidth") == NARROW[0]
    narrow = "[...document.querySelectorAll('.stacked')].map(each => each.offsetWidth - each.parentElement.clientWidth)"
    assert browser.run(narrow) == [0, 0, 0]  # constraints, answers and latencies are read without scrolling


def test_it_can_be_used_without_a_mouse(browser: Browser, pages: dict[str, Path]) -> None:
    browser.look(WIDE)
    browser.open(pages["many"])
    browser.press("Tab")
    assert browser.run("document.activeElement.className") == "skip"
    assert browser.run("document.activeElement.getBoundingClientRect().left >= 0")
    browser.press("Enter")
    assert browser.run("location.hash") == "#findings"
    reached = []
    for _ in range(6):
        browser.press("Tab")
        reached.append(
            browser.run("document.activeElement.matches(':focus-visible') && document.activeElement.tagName")
        )
    assert reached[:3] == ["INPUT", "INPUT", "SUMMARY"]  # the words, the status, the first finding
    browser.run("document.querySelector('ol.talk li.ours summary').focus()")
    browser.press("Enter")
    assert browser.run("document.querySelector('ol.talk li.ours details').open")


def test_it_can_be_printed(browser: Browser, pages: dict[str, Path]) -> None:
    browser.look(WIDE, is_printed=True)
    browser.open(pages["many"])
    assert browser.run("getComputedStyle(document.querySelector('nav')).display") == "none"
    assert browser.command("Page.printToPDF")["data"].startswith("JVBERi")
