"""A new class in a union of the AST: mypy names every pass that has to know it."""

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import palaver

SOURCES = Path(palaver.__file__).parent
CONFIG = Path(__file__).parents[1] / "pyproject.toml"
NEW_CLASS = """
@dataclass(frozen=True, slots=True)
class New{union}:
    span: Span = NOWHERE


"""

# Passes that look for some classes only, so that a new one does not concern them, with the reason.
ALLOWED: dict[str, dict[str, str]] = {
    "Expr": {
        "uses_binary": "looks for bytes and bits only",
        "is_leaf": "looks for one literal or pattern only",
        "_fill_terminal": "takes terminals only; its caller is named",
        "_takes": "takes terminals and references only; the maker of its instructions is named",
    },
    "Formula": {},
}


def members(source: str, union: str) -> set[str]:
    """The classes of a union in `spec/ast.py`."""
    found = re.search(rf"^{union}: TypeAlias = (.+)$", source, re.MULTILINE)
    assert found is not None
    return set(found.group(1).split(" | "))


@pytest.fixture(scope="module")
def enlarged(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[Path, list[int]]]:
    """A copy of the sources with one more class in each union, and the lines where mypy finds errors in it."""
    root = tmp_path_factory.mktemp("enlarged")
    shutil.copytree(SOURCES, root / "palaver", ignore=shutil.ignore_patterns("__pycache__"))
    tree = root / "palaver" / "spec" / "ast.py"
    text = tree.read_text()
    for union in ALLOWED:
        alias = f"{union}: TypeAlias = "
        new_class = NEW_CLASS.format(union=union).lstrip("\n")
        text = text.replace(alias, f"{new_class}{alias}New{union} | ")
    tree.write_text(text)
    options = ["--config-file", str(CONFIG), "--cache-dir", str(root / "cache")]
    command = [sys.executable, "-m", "mypy", *options, "palaver"]
    output = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False).stdout
    errors: dict[Path, list[int]] = {}
    for path, line in re.findall(r"^(\S+?):(\d+): error:", output, re.MULTILINE):
        errors.setdefault(root / path, []).append(int(line))
    assert errors, output
    return root, errors


def passes(path: Path, classes: set[str]) -> list[ast.FunctionDef]:
    """The functions of a module that tell at least three of the classes apart."""
    module = ast.parse(path.read_text())
    imports = [node for node in ast.walk(module) if isinstance(node, ast.ImportFrom)]
    aliases = [alias for node in imports if node.module == "palaver.spec.ast" for alias in node.names]
    names = {alias.asname or alias.name for alias in aliases if alias.name in classes}
    if any(node.module == "palaver.spec" for node in imports):
        names |= {f"ast.{name}" for name in classes}
    functions = (node for node in ast.walk(module) if isinstance(node, ast.FunctionDef))
    return [function for function in functions if len(told_apart(function) & names) >= 3]


def told_apart(function: ast.FunctionDef) -> set[str]:
    """The names of classes that a function matches or asks isinstance for, inner functions left out."""
    found: set[str] = set()
    todo: list[ast.AST] = list(function.body)
    while todo:
        node = todo.pop()
        match node:
            case ast.FunctionDef():
                continue
            case ast.MatchClass(cls=name):
                found.add(ast.unparse(name))
            case ast.Call(func=ast.Name("isinstance"), args=[_, classes]):
                found.update(ast.unparse(classes).strip("()").replace(", ", " | ").split(" | "))
        todo += ast.iter_child_nodes(node)
    return found


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("union", ALLOWED)
def test_mypy_names_every_pass_over_the_classes_of(union: str, enlarged: tuple[Path, dict[Path, list[int]]]) -> None:
    root, errors = enlarged
    classes = members((SOURCES / "spec" / "ast.py").read_text(), union)
    silent, found = [], set()
    for path in sorted((root / "palaver").rglob("*.py")):
        for function in passes(path, classes):
            found.add(function.name)
            lines = range(function.lineno, (function.end_lineno or 0) + 1)
            if function.name not in ALLOWED[union] and not any(line in lines for line in errors.get(path, ())):
                silent.append(f"{path.relative_to(root)}:{function.lineno} {function.name}")
    assert silent == []
    assert ALLOWED[union].keys() <= found, "an exception that is no longer needed"
