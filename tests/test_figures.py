"""The figures that tools/figures.py computes, of a small package that has one of everything."""

from __future__ import annotations

from pathlib import Path

import figures
import pytest

FILES = {
    "__init__": "from small.kitchen import Cook",
    "errors": "class Failure(Exception): ...",
    "kitchen/__init__": 'DOOR = ("menu",)\nclass Cook:\n    """Whether there is soup."""',
    "kitchen/menu": '"""The dishes on offer."""\nclass _Dish: ...',
    "kitchen/stove": "import small.errors\nHEAT = 1",
    "hall/__init__": "",
    "hall/menu": "class Dish: ...\ndef order():\n    from small.kitchen.stove import HEAT",
    "hall/table": "from small.kitchen import menu, stove\nfrom small.hall.menu import Dish\nimport small.kitchen.menu",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / "small" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    return tmp_path / "small"


def test_a_type_name_with_two_meanings_is_found_with_both_places(root: Path) -> None:
    assert figures.duplicated_types(root) == {"Dish": ["hall/menu", "kitchen/menu"]}


def test_a_module_name_in_two_rooms_is_found(root: Path) -> None:
    assert figures.shared_modules(root) == {"menu": ["hall/menu", "kitchen/menu"]}


def test_imports_of_private_modules_by_other_rooms_are_found_wherever_they_stand(root: Path) -> None:
    assert figures.imports_past_doors(root) == [
        "hall/menu:3 imports kitchen/stove",
        "hall/table:1 imports kitchen/stove",
    ]
    assert figures.doors(root) == {"hall": (), "kitchen": ("menu",)}
    assert figures.doors_in_use(root) == {"kitchen": ["__init__", "menu", "stove"]}


def test_a_docstring_that_opens_with_a_question_word_is_found(root: Path) -> None:
    assert figures.riddles(root) == ["kitchen/__init__:2 Whether there is soup."]
    assert len(figures.docstrings(root)) == 2


def test_long_functions_and_files_are_found(root: Path) -> None:
    (root / "long.py").write_text("def long():\n" + "    pass\n" * 61 + "\n" * 500)
    assert figures.long_functions(root) == ["long:1 long (61)"]
    assert figures.long_files(root) == ["long (562)"]
    assert figures.lines(root) == 562 + sum(text.count("\n") + 1 for text in FILES.values())
