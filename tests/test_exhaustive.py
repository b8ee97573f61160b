"""A new class in a union (of nodes, conditions, events, …): mypy names every pass that has to know it."""

import ast
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import palaver

SOURCES = Path(palaver.__file__).parent
AST = SOURCES / "spec" / "ast.py"
CONFIG = Path(__file__).parents[1] / "pyproject.toml"


@dataclass(frozen=True)
class Union:
    """A union of classes: where it is defined, and a new class for it, which has what all its classes have."""

    module: str
    new_class: str
    # Passes that look for some classes only, so that a new one does not concern them, with the reason.
    allowed: dict[str, str] = field(default_factory=dict)

    @property
    def path(self) -> str:
        return f"{self.module.replace('.', '/')}.py"


UNIONS = {
    "Expr": Union(
        "palaver.spec.ast",
        "class NewExpr:\n    span: Span = NOWHERE",
        {
            "part_paths._part_of": "looks for parts that are one child each",
            "ir.uses_binary": "looks for bytes and bits only",
            "symbol_languages.is_leaf": "looks for one literal or pattern only",
            "grammar_tables._fill_terminal": "takes terminals only; its caller is named",
            "alternatives._takes": "takes terminals and references only; the maker of its instructions is named",
        },
    ),
    "Formula": Union("palaver.spec.ast", "class NewFormula:\n    span: Span = NOWHERE"),
    "SelectorStep": Union(
        "palaver.spec.ast",
        "class NewSelectorStep: ...",
        {"length_equations._is_plain": "looks for steps that it knows; with others there is no equation"},
    ),
    "Event": Union(
        "palaver.campaign.events",
        "class NewEvent(_Event): ...",
        {
            "crew._add_session": "hands on all others as they are",
            "oracles.observe": "measures from our message to the answer only",
            "planted_defects.__call__": "looks for findings, and for where they are made, only",
            "status.__call__": "counts sessions, messages and findings only",
            "work_units.add": "packs all others as they are",
            "worker._see": "reports all others",
        },
    ),
    "Input": Union(
        "palaver.session.interface",
        "class NewInput:\n    at: float",
        {
            "conversation._steps": "looks for what a wire shows only",
            "memory_network._arrive": "takes only what arrives over a wire, and ends with `assert_never` itself",
        },
    ),
    "Action": Union(
        "palaver.session.interface",
        "class NewAction:\n    link: str",
        {"conversation._steps": "looks for what a wire shows only"},
    ),
    "DialogueTerm": Union("palaver.matching.dialogue_grammar", "class NewDialogueTerm:\n    can_send: bool"),
    "RegularExpression": Union("palaver.regular.expression", "class NewRegularExpression: ..."),
    "PatternSyntax": Union("palaver.regular.regex_parser", "class NewPatternSyntax: ..."),
    "ScriptStep": Union("palaver.testing.scripted_peer", "class NewScriptStep: ..."),
}


def members(source: str, union: str) -> set[str]:
    """The classes of a union in the text of its module."""
    (value,) = (
        node.value
        for node in ast.parse(source).body
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == union
    )
    assert value is not None
    text = value.value if isinstance(value, ast.Constant) else ast.unparse(value)
    return set(re.sub(r"\[\w+\]", "", str(text)).split(" | "))


@dataclass(frozen=True)
class Enlarged:
    """A copy of the sources with one more class in each union, and the lines where mypy finds errors in it."""

    root: Path
    errors: dict[Path, list[int]]
    output: str


@pytest.fixture(scope="module")
def enlarged(tmp_path_factory: pytest.TempPathFactory) -> Enlarged:
    root = tmp_path_factory.mktemp("enlarged")
    shutil.copytree(SOURCES, root / "palaver", ignore=shutil.ignore_patterns("__pycache__"))
    for name, union in UNIONS.items():
        path = root / union.path
        text, count = re.subn(
            rf'^{name}: TypeAlias = (\(\s*)?"?',
            rf"{union.new_class}\n\n\n\g<0>New{name} | ",
            path.read_text(),
            flags=re.MULTILINE,
        )
        assert count == 1, name
        path.write_text(text)
    options = ["--config-file", str(CONFIG), "--cache-dir", str(root / "cache")]
    command = [sys.executable, "-m", "mypy", *options, "palaver"]
    output = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False).stdout
    errors: dict[Path, list[int]] = {}
    for path, line in re.findall(r"^(\S+?):(\d+): error:", output, re.MULTILINE):
        errors.setdefault(root / path, []).append(int(line))
    assert errors, output
    return Enlarged(root, errors, output)


def passes(path: Path, module: str, classes: set[str]) -> list[ast.FunctionDef]:
    """The functions of a file that tell at least three classes of a module apart."""
    tree = ast.parse(path.read_text())
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    aliases = [alias for node in imports if node.module == module for alias in node.names]
    names = {alias.asname or alias.name for alias in aliases if alias.name in classes}
    room, _, stem = module.rpartition(".")
    if any(node.module == room and stem in [alias.name for alias in node.names] for node in imports):
        names |= {f"{stem}.{name}" for name in classes}
    names |= {node.name for node in tree.body if isinstance(node, ast.ClassDef)} & classes
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
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
@pytest.mark.parametrize("name", UNIONS)
def test_mypy_names_every_pass_over_the_classes_of(name: str, enlarged: Enlarged) -> None:
    root, errors = enlarged.root, enlarged.errors
    union = UNIONS[name]
    classes = members((SOURCES.parent / union.path).read_text(), name)
    silent, found = [], set()
    for path in sorted((root / "palaver").rglob("*.py")):
        for function in passes(path, union.module, classes):
            key = f"{path.stem}.{function.name}"
            found.add(key)
            lines = range(function.lineno, (function.end_lineno or 0) + 1)
            if key not in union.allowed and not any(line in lines for line in errors.get(path, ())):
                silent.append(f"{path.relative_to(root)}:{function.lineno} {function.name}")
    assert found, "nothing tells these apart"
    assert silent == []
    assert union.allowed.keys() <= found, "an exception that is no longer needed"


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_walk_through_names_the_modules_that_mypy_names(enlarged: Enlarged) -> None:
    root, errors = enlarged.root, enlarged.errors
    text = (CONFIG.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text.partition("## Add a construct to the language")[2].partition("\n## ")[0]
    for path in sorted(errors):
        classes = ("Expr", "Formula")
        if any(passes(path, UNIONS[name].module, members(AST.read_text(), name)) for name in classes):
            assert f"`{path.relative_to(root / 'palaver')}`" in section, path
    named = re.findall(r"^(\S+?):\d+: error: .*\bNewExpr\b", enlarged.output, re.MULTILINE)
    told = section.partition("They are")[2].partition("Write the case")[0]
    assert set(re.findall(r"`(\w+/\w+\.py)`", told)) == {path.removeprefix("palaver/") for path in named}
