"""The rules of the house: imports point down and through doors, names have one meaning, and nothing grows too large.

Every list of exceptions may only shrink: an entry that is no longer needed fails its test.
"""

import ast
import re
from pathlib import Path

import figures
import pytest
from figures import Module

import palaver
from palaver.addresses import SCHEMES

ROOT = Path(palaver.__file__).parent
MODULES = [module for module in figures.modules_of(ROOT) if module.name not in ("__init__", "__main__")]
PACKAGES = [module for module in MODULES if module.stem == "__init__"]

# Rooms by floor. A room may import from lower floors and from itself; rooms on one floor are strangers.
FLOORS = [
    [
        "errors",
        "source",
        "random_source",
        "limits",
        "interruption",
        "addresses",
        "printable",
        "lean_dataclasses",
        "version",
    ],
    ["trees"],
    ["spec"],
    ["regular"],
    ["grammar"],
    ["matching", "generation", "constraints", "party"],
    ["solving", "namespace"],
    ["compiled"],
    ["session"],
    ["transport", "navigation", "beyond", "known_findings", "project_settings", "fixtures", "workers"],
    ["campaign", "demo"],
    ["reporting", "recording"],
    ["exporting", "replaying", "comparing"],
    ["publishing"],
    ["cli", "testing"],
    ["pytest_plugin"],
]
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}

# Floor 0 is one room: errors speak of sources.
GROUND = set(FLOORS[0])

MOST_DOORS = 5
MOST_RIDDLES_PERCENT = 3

# Names of types with several meanings, with the reason.
DUPLICATED_TYPES: dict[str, str] = {}

# Names of modules that stand in several rooms, with the reason.
SHARED_MODULES: dict[str, str] = {}

# Functions that are longer than others, with the reason.
LONG_FUNCTIONS = {
    "matching/fast_path_machine _run": "the hot loop: a call for each instruction would slow down every message",
}

# The rooms of algorithms, and their modules that are none: they hold data, put others together or translate.
ALGORITHM_ROOMS = {"matching", "regular", "solving", "navigation", "constraints", "generation"}
NO_ALGORITHMS = {
    "matching": "bounded_ends candidates collector_pause dialogue_grammar fast_path fast_path_scanner forecaster "
    "grammar_tables instructions length_bounds matcher reading_budget token_rules",
    "regular": "character_classes character_runs charset language_facts regex regex_parser",
    "solving": "assignment clauses constrained_fields copied_values decoded_words generator_sources placement "
    "solutions solver_factory spelling view_values",
    "navigation": "coverage_file coverage_views goals guidance recorded_views state_diagram",
    "constraints": "code_uses",
    "generation": "amount_planner depth makers measures mutations tree_maker",
}
# The name and the year of a publication, or a place in the paper.
REFERENCE = re.compile(r"[A-Z][\w-]+( et al\.)? (1[89]|20)\d\d\b|the paper")

# Modules that take `dataclass` or `replace` from the standard library, which is slower, with the reason.
STANDARD_DATACLASSES = {
    "lean_dataclasses": "is made of it",
    "transport/memory_network": "its arrivals are ordered",
}

# Constants that limit something, by their names.
LIMIT_NAME = re.compile(r"_?(MAX|MOST|LONGEST|DEEPEST|LARGEST)_")
# Modules with limits of their own, with the reason.
KEEP_THEIR_LIMITS = {
    "source": "a room of one module",
    "cli/timeout": "its times belong to signals",
    "transport/strays": "is run as a script, without the rest of palaver",
}
# Limits that are told where they are handed to.
TOLD_ELSEWHERE = {
    "MAX_EXPRESSION_SIZE": "one of two that `language` tells in a loop",
    "MAX_NODES_OF_FAR_SEARCH": "by the A* search",
    "MAX_NODES_OF_TARGET_SEARCH": "by the A* search",
    "MAX_NODES_FOR_VALUES": "by the A* search",
    "MAX_NODES_FOR_REFUSALS": "by the A* search",
}

WORLDLY = {"socket", "selectors", "threading", "asyncio", "time", "random", "subprocess"}
# Rooms that are about the world.
WORLDLY_ROOMS = {"cli", "recording", "replaying", "reporting", "transport", "workers"}
# Other modules that touch the world, and why.
_SCRIPT = "the code of scripts that are run without palaver"
TOUCH_THE_WORLD = {
    ("generation/depth", "threading"): "the recursion limit is one for all threads",
    ("random_source", "random"): "the one source of randomness",
    ("publishing/live_page", "time"): "a page is replaced every few seconds",
    ("testing/peer_double", "threading"): "a peer is played beside the test",
    ("namespace", "random"): "gives each spec a `random` of its own",
    ("exporting/reproducer_body", "selectors"): _SCRIPT,
    ("exporting/reproducer_body", "socket"): _SCRIPT,
    ("exporting/reproducer_body", "subprocess"): _SCRIPT,
    ("exporting/reproducer_body", "time"): _SCRIPT,
}


def imports_of(module: Module) -> list[str]:
    found = []
    for node in module.nodes:
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module.name}: imports are absolute"
            found += [f"{node.module}.{alias.name}" for alias in node.names]
    return found


# --- floors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.name)
def test_imports_point_down(module: Module) -> None:
    room = module.room
    for name in imports_of(module):
        if not name.startswith("palaver."):
            continue
        other = name.split(".")[1]
        if other == room or {other, room} <= GROUND:
            continue
        assert FLOOR_OF[other] < FLOOR_OF[room], (
            f"{room} (floor {FLOOR_OF[room]}) imports {name} (floor {FLOOR_OF[other]})"
        )


def test_every_room_has_a_floor() -> None:
    assert {module.room for module in MODULES} == set(FLOOR_OF)


def test_the_core_has_no_world_in_it() -> None:
    found = {
        (module.name, top)
        for module in MODULES
        if module.room not in WORLDLY_ROOMS
        for top in {name.split(".")[0] for name in imports_of(module)} & WORLDLY
    }
    assert found == set(TOUCH_THE_WORLD)


def test_a_transport_is_one_module_and_the_line_that_registers_it() -> None:
    own = {scheme.transport.partition(":")[0] for scheme in SCHEMES.values() if scheme.transport}
    assert len(own) >= 5
    names = [(module.name, name) for module in MODULES for name in imports_of(module)]
    users = [(user, name) for user, name in names if any(f"{name}.".startswith(f"{each}.") for each in own)]
    assert users == [], "only a line of `addresses` knows a transport, by its name"


# --- doors ------------------------------------------------------------------------------------------------------------


def test_other_rooms_are_entered_through_their_doors() -> None:
    assert figures.imports_past_doors(ROOT) == []


@pytest.mark.parametrize("room", figures.doors(ROOT))
def test_a_room_has_a_few_doors_which_exist_and_are_named_in_its_docstring(room: str) -> None:
    doors = figures.doors(ROOT)[room]
    assert 1 <= len(doors) <= MOST_DOORS
    assert {f"{room}/{door}" for door in doors} <= {module.name for module in MODULES}
    (package,) = (module for module in PACKAGES if module.name == f"{room}/__init__")
    described = ast.get_docstring(package.tree) or ""
    assert [door for door in doors if door != "__init__" and door not in described] == []


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_every_package_says_what_it_is_for(package: Module) -> None:
    assert ast.get_docstring(package.tree)


# --- names and prose --------------------------------------------------------------------------------------------------


def test_a_type_name_has_one_meaning() -> None:
    assert figures.duplicated_types(ROOT).keys() == DUPLICATED_TYPES.keys()


def test_a_module_name_stands_in_one_room() -> None:
    assert figures.shared_modules(ROOT).keys() == SHARED_MODULES.keys()


def test_docstrings_are_plain_sentences() -> None:
    riddles = figures.riddles(ROOT)
    assert len(riddles) <= len(figures.docstrings(ROOT)) * MOST_RIDDLES_PERCENT / 100, "\n".join(riddles)


@pytest.mark.parametrize("room", sorted(ALGORITHM_ROOMS))
def test_the_first_line_of_an_algorithm_names_it_by_its_reference(room: str) -> None:
    found = {
        module.stem
        for module in MODULES
        if module.room == room and module.stem != "__init__" and not module.stem.endswith("_limits")
        if not REFERENCE.search(module.text.partition("\n")[0])
    }
    assert found == set(NO_ALGORITHMS[room].split())


# --- limits -----------------------------------------------------------------------------------------------------------


def constants_of(module: Module) -> list[str]:
    """The names of the constants of a module."""
    found: list[str] = []
    for node in module.tree.body:
        if isinstance(node, ast.Assign):
            names = [name for target in node.targets for name in ast.walk(target)]
            found += [name.id for name in names if isinstance(name, ast.Name)]
    return [name for name in found if name.isupper()]


def test_limits_stand_in_one_module_of_their_room() -> None:
    found = {
        module.name
        for module in MODULES
        if not module.stem.endswith("_limits") and any(map(LIMIT_NAME.match, constants_of(module)))
    }
    assert found == KEEP_THEIR_LIMITS.keys()


def test_a_limit_that_changes_a_result_is_told() -> None:
    limits = [name for module in MODULES for name in re.findall(r"^(\w+) = Limit\(", module.text, re.MULTILINE)]
    assert limits
    silent = {name for name in limits if not any(f"{name}.reached()" in module.text for module in MODULES)}
    assert silent == TOLD_ELSEWHERE.keys()


# --- size -------------------------------------------------------------------------------------------------------------


def test_files_are_short() -> None:
    assert figures.long_files(ROOT) == []


def test_functions_are_short() -> None:
    # "module:line name (lines)", as the figures tell it
    found = {f"{place.split(':')[0]} {place.split()[1]}" for place in figures.long_functions(ROOT)}
    assert found == LONG_FUNCTIONS.keys()


def test_dataclasses_are_the_lean_ones() -> None:
    names = ("dataclass", "replace")
    found = {
        module.name
        for module in MODULES
        for node in ast.walk(ast.parse(module.text))
        if isinstance(node, ast.ImportFrom) and node.module == "dataclasses"
        if any(alias.name in names for alias in node.names)
    }
    assert found == set(STANDARD_DATACLASSES)
