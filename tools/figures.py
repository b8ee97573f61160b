"""Figures of the source that its architecture is held to: python tools/figures.py [-v] [ROOT]

ROOT is the package, src/palaver unless given. A room is a package or a module directly in it; the modules that other
rooms may import are listed in its `DOOR`. tests/test_architecture.py holds the source to some of these figures.
"""

from __future__ import annotations

import argparse
import ast
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TypeAlias

RIDDLES = {"What", "Who", "Whose", "Whether", "How", "Where", "Why", "That", "Which"}
LONG_FUNCTION = 60
LONG_FILE = 500

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
Places: TypeAlias = dict[str, list[str]]


@dataclass(frozen=True)
class Module:
    """A file of the package, by its name inside of it: `spec/rules`, or `spec/__init__`."""

    name: str
    text: str

    @property
    def room(self) -> str:
        return self.name.split("/")[0]

    @property
    def stem(self) -> str:
        return self.name.split("/")[-1]

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        return list(ast.walk(self.tree))


@cache
def modules_of(root: Path) -> tuple[Module, ...]:
    """All modules of a package, read once."""
    paths = sorted(root.rglob("*.py"))
    return tuple(Module(path.relative_to(root).with_suffix("").as_posix(), path.read_text("utf-8")) for path in paths)


# --- names ------------------------------------------------------------------------------------------------------------


def duplicated_types(root: Path) -> Places:
    """Names of classes and type aliases with more than one definition, and the modules that define them."""
    found: Places = defaultdict(list)
    for module in modules_of(root):
        for node in module.nodes:
            match node:
                case ast.ClassDef(name=name):
                    found[name.lstrip("_")].append(module.name)
                case ast.AnnAssign(target=ast.Name(id=name), annotation=ast.Name(id="TypeAlias")):
                    found[name.lstrip("_")].append(module.name)
    return _several(found)


def shared_modules(root: Path) -> Places:
    """Names of modules that stand in more than one place."""
    found: Places = defaultdict(list)
    for module in modules_of(root):
        if not module.stem.startswith("__"):
            found[module.stem.lstrip("_")].append(module.name)
    return _several(found)


def _several(found: Places) -> Places:
    return {name: places for name, places in sorted(found.items()) if len(set(places)) > 1}


# --- doors ------------------------------------------------------------------------------------------------------------


def doors(root: Path) -> dict[str, tuple[str, ...]]:
    """The modules that each room lists in its `DOOR`; none if it has no such list."""
    found: dict[str, tuple[str, ...]] = {}
    for module in modules_of(root):
        if module.name == f"{module.room}/__init__":
            found[module.room] = _door_of(module)
    return found


def _door_of(module: Module) -> tuple[str, ...]:
    for node in module.tree.body:
        match node:
            case (
                ast.Assign(targets=[ast.Name(id="DOOR")], value=value)
                | ast.AnnAssign(target=ast.Name(id="DOOR"), value=ast.expr() as value)
            ):
                return tuple(ast.literal_eval(value))
    return ()


def imports_past_doors(root: Path) -> list[str]:
    """Imports of a room's modules that are not in its `DOOR` by other rooms, as `module:line imports module`."""
    listed = doors(root)
    return [
        f"{module.name}:{line} imports {room}/{imported}"
        for module, line, room, imported in _imports_between_rooms(root)
        if imported not in (*listed[room], "__init__")
    ]


def doors_in_use(root: Path) -> Places:
    """The modules of each room that other rooms import."""
    found: dict[str, set[str]] = defaultdict(set)
    for _, _, room, imported in _imports_between_rooms(root):
        found[room].add(imported)
    return {room: sorted(found[room]) for room in sorted(found)}


def _imports_between_rooms(root: Path) -> Iterator[tuple[Module, int, str, str]]:
    """Who imports, in which line, from which room, which of its modules. Rooms of one module are all door."""
    modules = modules_of(root)
    names = {module.name for module in modules}
    rooms = {module.room for module in modules if "/" in module.name}
    for module in modules:
        for line, path in _imported(module, root.name):
            room, *rest = path
            if room in rooms and room != module.room:
                # The last of the path may be a module, or a name in the one before.
                within = next((rest[:end] for end in range(len(rest), 0, -1) if "/".join(path[: end + 1]) in names), [])
                yield module, line, room, ".".join(within) or "__init__"


def _imported(module: Module, package: str) -> Iterator[tuple[int, list[str]]]:
    """The lines and the paths inside the package of everything that a module imports from it."""
    for node in module.nodes:
        match node:
            case ast.Import(names=aliases):
                paths = [alias.name for alias in aliases]
            case ast.ImportFrom(module=str(source), names=aliases):
                paths = [f"{source}.{alias.name}" for alias in aliases]
            case _:
                continue
        for path in dict.fromkeys(paths):
            top, *rest = path.split(".")
            if top == package and rest:
                yield node.lineno, rest


# --- prose and size ---------------------------------------------------------------------------------------------------


def docstrings(root: Path) -> list[tuple[str, str]]:
    """All docstrings, each with its place."""
    return [
        (f"{module.name}:{getattr(node, 'lineno', 1)}", text)
        for module in modules_of(root)
        for node in module.nodes
        if isinstance(node, ast.Module | ast.ClassDef | Function) and (text := ast.get_docstring(node))
    ]


def riddles(root: Path) -> list[str]:
    """Docstrings that open with a question word instead of saying what a thing is or does, as `module:line opening`."""
    return [f"{place} {text.splitlines()[0]}" for place, text in docstrings(root) if _opens_as_riddle(text)]


def _opens_as_riddle(text: str) -> bool:
    return text.split(None, 1)[0].strip(",:;") in RIDDLES


def long_functions(root: Path) -> list[str]:
    """Functions of more than 60 lines, without their docstrings, as `module:line name (lines)`."""
    return [
        f"{module.name}:{node.lineno} {node.name} ({size})"
        for module in modules_of(root)
        for node in module.nodes
        if isinstance(node, Function) and (size := _lines_of_body(node)) > LONG_FUNCTION
    ]


def _lines_of_body(function: Function) -> int:
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def long_files(root: Path) -> list[str]:
    """Files of more than 500 lines, as `module (lines)`."""
    sizes = {module.name: module.text.count("\n") for module in modules_of(root)}
    return [f"{name} ({size})" for name, size in sizes.items() if size > LONG_FILE]


def lines(root: Path) -> int:
    """The lines of all modules."""
    return sum(module.text.count("\n") for module in modules_of(root))


# --- the command ------------------------------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0].split(":")[0])
    parser.add_argument("root", nargs="?", type=Path, default=Path(__file__).parent.parent / "src" / "palaver")
    parser.add_argument("-v", "--verbose", action="store_true", help="list what is counted")
    options = parser.parse_args()
    root: Path = options.root
    told = len(docstrings(root))
    riddling = riddles(root)
    in_use = doors_in_use(root)
    figures = [
        ("lines", lines(root), []),
        ("type names with several meanings", None, _shown(duplicated_types(root))),
        ("module names in several places", None, _shown(shared_modules(root))),
        ("imports past doors", None, imports_past_doors(root)),
        ("most door modules of a room", max(map(len, in_use.values()), default=0), _shown(in_use)),
        (f"docstrings of {told} that open with a question word", None, riddling),
        ("share of these in %", round(100 * len(riddling) / max(told, 1), 1), []),
        (f"functions over {LONG_FUNCTION} lines", None, long_functions(root)),
        (f"files over {LONG_FILE} lines", None, long_files(root)),
    ]
    for what, figure, places in figures:
        print(f"{what}: {len(places) if figure is None else figure}")
        if options.verbose:
            for place in places:
                print(f"  {place}")


def _shown(found: Places) -> list[str]:
    return [f"{name}: {', '.join(places)}" for name, places in found.items()]


if __name__ == "__main__":
    main()
