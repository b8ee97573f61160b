"""The floors of the house: imports point down, and the core has no world in it."""

import ast
from pathlib import Path

import pytest

import palaver

ROOT = Path(palaver.__file__).parent

# Rooms by floor. A room may import from lower floors and from itself; rooms on one floor are strangers.
FLOORS = [
    ["errors", "source", "chance", "limits", "addresses"],
    ["trees"],
    ["spec"],
    ["regular"],
    ["grammar"],
    ["matching", "generation", "constraints", "party"],
    ["solving", "namespace"],
    ["compiled"],
    ["session"],
    ["transport", "navigation"],
    ["campaign", "demo"],
    ["reporting"],
    ["cli", "testing"],
]
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}

# Floor 0 is one room: errors speak of sources.
GROUND = set(FLOORS[0])

WORLDLY = {"socket", "selectors", "threading", "asyncio", "time", "random", "subprocess"}
# Who may touch the world below the command line, and why.
ALLOWED = {
    ("chance", "random"),  # the one source of randomness
    ("namespace", "random"),  # gives each spec a `random` of its own
}


def modules() -> list[Path]:
    return sorted(
        path for path in ROOT.rglob("*.py") if path.parent != ROOT or path.stem not in {"__init__", "__main__"}
    )


def room_of(path: Path) -> str:
    return path.relative_to(ROOT).with_suffix("").parts[0]


def imports_of(path: Path) -> list[str]:
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            found += [f"{node.module}.{alias.name}" for alias in node.names]
    return found


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_down(path: Path) -> None:
    room = room_of(path)
    for name in imports_of(path):
        if not name.startswith("palaver."):
            continue
        other = name.split(".")[1]
        if other == room or {other, room} <= GROUND:
            continue
        assert FLOOR_OF[other] < FLOOR_OF[room], (
            f"{room} (floor {FLOOR_OF[room]}) imports {name} (floor {FLOOR_OF[other]})"
        )


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_the_core_has_no_world_in_it(path: Path) -> None:
    room = room_of(path)
    if room in ("cli", "reporting", "transport"):
        return
    worldly = {name.split(".")[0] for name in imports_of(path)} & WORLDLY
    assert {(room, name) for name in worldly} <= ALLOWED


def test_every_room_has_a_floor() -> None:
    assert {room_of(path) for path in modules()} == set(FLOOR_OF)
