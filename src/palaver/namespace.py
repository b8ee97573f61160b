"""The globals of a spec's Python code: its names, its modules, and nothing of another spec.

Every spec has its own globals, its own party classes, its own `random` (seeded by the run, so that a seed repeats),
and its own copies of the modules that stand beside the spec file. Names that specs take from the reference
implementation resolve to palaver's own classes; that tool need not be installed.
"""

from __future__ import annotations

import builtins
import logging
import sys
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import contextmanager
from functools import cached_property
from importlib import import_module
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

from palaver import party
from palaver.errors import ConversionError, PalaverError, Rejected, SpecCrash, Unsolvable
from palaver.lean_dataclasses import dataclass
from palaver.random_source import RandomSource
from palaver.trees.node import NonTerminal
from palaver.trees.tree import Terminal, Tree

# Modules that specs may use without importing them, because the reference implementation lets them.
_UNIMPORTED = ["re", "os", "sys", "io", "time", "enum", "errno", "logging"]
_UNIMPORTED += ["select", "socket", "subprocess", "threading"]

_TYPING_NAMES = {
    "Optional": "typing",
    "Callable": "typing",
    "IO": "typing",
    "Hashable": "collections.abc",
    "ABC": "abc",
    "abstractmethod": "abc",
    "UUID": "uuid",
    "ContextVar": "contextvars",
}

_ERRORS = {
    "FandangoError": PalaverError,
    "FandangoValueError": PalaverError,
    "FandangoConversionError": ConversionError,
    "FandangoParseError": Rejected,
    "FandangoFailedError": Unsolvable,
    "FandangoGeneratorError": SpecCrash,
    "FandangoConnectionError": ConnectionError,
}

# Names that the reference has and palaver does not, and what to use instead.
_INSTEAD = {
    "ProcessManager": "set_program_command(), In and Out",
    "ProtocolImplementation": "a class derived from NetworkParty",
    "UdpTcpProtocolImplementation": "a class derived from NetworkParty",
    "EnvKey": "instance() of a party, which is that of the session",
    "EnvContext": "instance() of a party, which is that of the session",
    "CURRENT_ENV_KEY": "instance() of a party, which is that of the session",
    "Fandango": "palaver.load() and palaver.loads(), outside of a spec",
}


@dataclass(slots=True, eq=False)
class RandomTurn:
    """The state of a spec's `random` for one user of the spec; None before it has drawn anything."""

    chance: RandomSource
    state: tuple[Any, ...] | None = None


class Namespace:
    """The globals of one spec, and its `random`."""

    def __init__(self, used: Set[str], folders: Sequence[Path], file: str) -> None:
        """Make the globals of code that uses these names, and may import modules from these folders."""
        self.parties = party.PartyNames()
        self._random = Random(0)
        self.active = RandomTurn(RandomSource(0), self._random.getstate())  # the run that draws from `random` now
        self.active_roles: object | None = None  # the session whose parties `instance()` gives now
        reference = {**_reference_names(), **self.parties, "FandangoIO": self.parties.io}
        self._importer = _Importer(self._handed_out, reference, folders)
        self._is_handed_out = False  # True once the spec has imported its `random`
        self.names: dict[str, Any] = {
            "__name__": "__main__",
            "__file__": file,
            "__builtins__": {**vars(builtins), "__import__": self._importer},
            **reference,
            "set_program_command": self._set_program_command,
            **_unimported(used),
        }
        self.program: tuple[str, ...] | str | None = None  # the command a spec wants to test with `In` and `Out`
        self.program_speaks_text = True

    def turn(self, chance: RandomSource) -> RandomTurn:
        """The state of the spec's `random` for one run: its own stream of the run's chance."""
        return RandomTurn(chance / "spec code")

    def take(self, turn: RandomTurn) -> None:
        """Let the spec's `random` go on where this turn left off, whoever has drawn in between."""
        if turn is not self.active:
            if self._is_handed_out:
                self.active.state = self._random.getstate()
            self.active = turn
            if self._is_handed_out:
                self._resume()

    def _resume(self) -> None:
        if self.active.state is None:
            self._random.seed(self.active.chance.stream.getrandbits(128))
        else:
            self._random.setstate(self.active.state)

    def _handed_out(self) -> ModuleType:
        """The spec's `random`, which it has imported."""
        if not self._is_handed_out:
            self._is_handed_out = True
            self._resume()
        return self._random_module

    def _set_program_command(self, command: str | Sequence[str], text: bool = True) -> None:
        """Name the program behind `In` and `Out`; specs call this."""
        self.program = command if isinstance(command, str) else tuple(command)
        self.program_speaks_text = text

    @cached_property
    def _random_module(self) -> ModuleType:
        return _module_around(self._random)

    @property
    def party_classes(self) -> list[str]:
        """The names of the spec's party classes."""
        return self.parties.classes_in(self.names)


def _reference_names() -> dict[str, Any]:
    return {
        "ConnectionMode": party.ConnectionMode,
        "Protocol": party.Protocol,
        "IpType": party.IpType,
        "RE_PARTY": party.RE_PARTY,
        "split_party_spec": party.split_party_spec,
        "DerivationTree": Tree,
        "Tree": Tree,
        "NonTerminal": NonTerminal,
        "is_before": is_before,
        "is_after": is_after,
        "get_index_within": get_index_within,
        "LOGGER": logging.getLogger("palaver.spec"),
        **_ERRORS,
        **{name: _absent(name) for name in _INSTEAD if name != "Fandango"},  # which has to be imported
    }


class _Absent(type):
    """The type of a class that can be named, in an import or an annotation, but not used."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise PalaverError(_missing(cls))

    def __call__(cls, *arguments: Any, **options: Any) -> Any:
        raise PalaverError(_missing(cls))


def _missing(kind: type) -> str:
    name = kind.__mro__[-2].__name__  # the one that a class of the spec is derived from
    instead = f"; use {_INSTEAD[name]}" if name in _INSTEAD else ""
    return f"palaver has no equivalent of {name} of the reference implementation{instead}"


def _absent(name: str) -> type:
    return _Absent(name, (), {})


def _unimported(used: Set[str]) -> dict[str, Any]:
    """The modules and names that are used as if they had been imported; others are not even loaded."""
    modules = {name: import_module(name) for name in _UNIMPORTED if name in used}
    return modules | {name: getattr(import_module(home), name) for name, home in _TYPING_NAMES.items() if name in used}


class _Importer:
    """`__import__` as a spec sees it."""

    def __init__(self, random: Callable[[], ModuleType], names: dict[str, Any], folders: Sequence[Path]) -> None:
        self._random = random
        self._reference = _ReferenceModule(names)
        self._folders = [str(folder) for folder in folders]
        self._own: dict[str, ModuleType] = {}

    def __call__(
        self, name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0
    ) -> ModuleType:
        top = name.partition(".")[0]
        if level == 0 and top == "random":
            return self._random()
        if level == 0 and top == "fandango":
            return self._reference
        with self._beside_the_spec():
            return builtins.__import__(name, globals, locals, fromlist, level)

    @contextmanager
    def _beside_the_spec(self) -> Iterator[None]:
        """Modules next to the spec can be imported, are loaded once per spec, and stay this spec's own."""
        if not self._folders:
            yield
            return
        before = dict(sys.modules)
        sys.modules.update(self._own)
        sys.path[:0] = self._folders
        try:
            yield
        finally:
            for folder in self._folders:
                sys.path.remove(folder)
            mine = {name: module for name, module in sys.modules.items() if self._is_own(name, module, before)}
            self._own.update(mine)
            for name in mine:
                if name in before:
                    sys.modules[name] = before[name]
                else:
                    del sys.modules[name]

    def _is_own(self, name: str, module: ModuleType, before: dict[str, ModuleType]) -> bool:
        if before.get(name) is module:
            return False
        file = getattr(module, "__file__", None)
        return name in self._own or (file is not None and any(file.startswith(f"{top}/") for top in self._folders))


def _module_around(random: Random) -> ModuleType:
    """A module like the standard `random` whose functions draw from one given generator."""
    standard = import_module("random")
    module = ModuleType("random", standard.__doc__)
    for name in standard.__all__:
        own = getattr(random, name, None)
        setattr(module, name, own if callable(own) else getattr(standard, name))
    return module


class _ReferenceModule(ModuleType):
    """Stands for the reference implementation's package and all modules in it."""

    def __init__(self, names: dict[str, Any]) -> None:
        super().__init__("fandango")
        self.__path__: list[str] = []
        self._names = {**names, "Terminal": Terminal}

    def __getattr__(self, name: str) -> Any:
        if name in self._names:
            return self._names[name]
        if name.startswith("_"):
            raise AttributeError(name)
        # A module inside the package, or a name that can be imported but not used.
        return self if name.islower() else self._names.setdefault(name, _absent(name))

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        raise PalaverError("palaver has no equivalent of this function of the reference implementation")


def is_before(tree: Tree, first: Tree, second: Tree) -> bool:
    """Return True if `first` starts before `second` inside `tree`, read from left to right."""
    inside = len(tree.path)
    return first.path[inside:] < second.path[inside:]


def is_after(tree: Tree, first: Tree, second: Tree) -> bool:
    """Return True if `first` starts after `second` inside `tree`."""
    return is_before(tree, second, first)


def get_index_within(node: Tree, scope: Tree, symbols: Sequence[str]) -> int:
    """The number of nodes with one of these names before `node` inside `scope`; -1 if it is not in there."""
    wanted = {str(symbol) for symbol in symbols}
    here, count = node.path, 0
    for each in scope.flattened():
        if each.path == here:
            return count
        count += each.symbol in wanted
    return -1
