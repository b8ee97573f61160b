"""Dataclasses whose methods are written when they are first called, against the standard library's."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable
from dataclasses import KW_ONLY, asdict, field, fields, is_dataclass
from functools import cached_property
from types import FunctionType
from typing import Any, ClassVar

import pytest

from palaver import lean_dataclasses
from palaver.lean_dataclasses import replace

OPTIONS: list[dict[str, bool]] = [
    {"frozen": frozen, "slots": slots, "eq": eq, "repr": shown}
    for frozen in (False, True)
    for slots in (False, True)
    for eq in (False, True)
    for shown in (False, True)
]

Decorator = Callable[..., Callable[[type], Any]]


def example(decorator: Decorator, options: dict[str, bool]) -> Any:
    @decorator(**options)
    class Example:
        """An example."""

        kind: ClassVar[str] = "example"
        first: int
        second: str = "two"
        third: list[int] = field(default_factory=list)
        note: str = field(default="none", compare=False, repr=False)
        computed: int = field(default=7, init=False)
        _: KW_ONLY
        last: bool = False

    return Example


def derived(decorator: Decorator, options: dict[str, bool]) -> Any:
    base = example(decorator, options)

    @decorator(**options)
    class Derived(base):  # type: ignore[valid-type,misc]
        more: int = 3

    return Derived


def pair(options: dict[str, bool], make: Callable[..., Any]) -> tuple[Any, Any]:
    """The class by the standard library, and by us."""
    return make(dataclasses.dataclass, options), make(lean_dataclasses.dataclass, options)


def told(call: Callable[[], Any]) -> str:
    """What a call returns or raises, without addresses."""
    try:
        return repr(call())
    except Exception as error:
        return type(error).__name__


@pytest.mark.parametrize("make", [example, derived])
@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "-".join(name for name, on in options.items() if on))
def test_a_class_behaves_as_the_standard_librarys(options: dict[str, bool], make: Callable[..., Any]) -> None:
    standard, ours = pair(options, make)

    def observed(cls: Any) -> list[str]:
        one, same, other = cls(1, last=True), cls(1, last=True, note="other"), cls(2, "b", [3])

        def set_first() -> Any:
            same.first = 9
            return same.first

        def set_unknown() -> Any:
            same.unknown = 9
            return same.unknown

        def delete_first() -> None:
            del other.first

        calls: list[Callable[[], Any]] = [
            lambda: one == same,
            lambda: one != other,
            lambda: one.__eq__(7),
            lambda: hash(one) == hash(same),
            lambda: cls.__hash__ is None,
            lambda: repr(one) if options["repr"] else None,
            lambda: [one.first, one.second, one.third, one.note, one.computed, one.last],
            lambda: one.third is same.third,
            lambda: cls.__match_args__,
            lambda: [each.name for each in fields(cls)],
            lambda: [(each.init, each.compare, each.kw_only) for each in fields(one)],
            lambda: asdict(one),
            lambda: is_dataclass(cls),
            lambda: asdict(dataclasses.replace(one, second="new")),
            lambda: asdict(copy.copy(one)),
            lambda: asdict(copy.deepcopy(one)),
            lambda: hasattr(one, "__dict__"),
            lambda: getattr(cls, "__slots__", None),
            lambda: cls(),
            lambda: asdict(cls(1, "b", [], "n", True)),
            lambda: cls(1, unknown=2),
            set_first,
            # Of a frozen class with slots the standard library speaks of the class without them: a TypeError.
            lambda: None if options["frozen"] and options["slots"] else set_unknown(),
            delete_first,
        ]
        return [told(call) for call in calls]

    assert observed(ours) == observed(standard)


def test_replace_is_that_of_the_standard_library() -> None:
    _, ours = pair({"frozen": True, "slots": True}, example)
    one = ours(1, "b", [3], last=True)
    assert asdict(replace(one, first=5)) == asdict(dataclasses.replace(one, first=5))
    with pytest.raises(TypeError):
        replace(one, unknown=2)


@lean_dataclasses.dataclass(frozen=True, slots=True)
class Point:
    """A point."""

    x: int
    y: int = 0


@lean_dataclasses.dataclass(frozen=True)
class Length:
    """A length, and what is computed of it."""

    metres: int

    def __post_init__(self) -> None:
        if self.metres < 0:
            raise ValueError("a length is not negative")

    @cached_property
    def feet(self) -> float:
        return self.metres * 3.28

    def __repr__(self) -> str:
        return f"{self.metres} m"


def test_frozen_objects_with_slots_can_be_pickled() -> None:
    assert pickle.loads(pickle.dumps(Point(1, 2))) == Point(1, 2)


def test_what_a_class_defines_itself_stays() -> None:
    assert repr(Length(3)) == "3 m"
    assert Length(3).feet == Length(3).metres * 3.28
    with pytest.raises(ValueError, match="not negative"):
        Length(-1)


def test_explicit_hashes_stay() -> None:
    def made(decorator: Decorator) -> Any:
        @decorator(frozen=True)
        class Named:
            name: str
            value: int

            def __eq__(self, other: object) -> bool:
                return isinstance(other, type(self)) and self.name == other.name

            def __hash__(self) -> int:
                return 5

        return Named

    assert hash(made(dataclasses.dataclass)("a", 1)) == hash(made(lean_dataclasses.dataclass)("a", 2)) == 5
    ours = made(lean_dataclasses.dataclass)
    assert ours("a", 1) == ours("a", 2)


def test_a_derived_class_may_call_what_it_replaces() -> None:
    class Shifted(Point):
        """A point that is moved."""

        def __init__(self, x: int) -> None:
            super().__init__(x + 1, 2)

    assert (Shifted(1).x, Shifted(1).y) == (2, 2)
    assert Shifted(1) == Shifted(1)


def test_a_default_that_can_be_changed_is_refused() -> None:
    def made(decorator: Decorator) -> Any:
        @decorator()
        class Shared:
            values: list[int] = []  # noqa: RUF012

        return Shared

    for decorator in (dataclasses.dataclass, lean_dataclasses.dataclass):
        with pytest.raises(ValueError, match=r"values|mutable"):
            made(decorator)


def test_methods_are_written_by_their_first_call() -> None:
    @lean_dataclasses.dataclass(frozen=True, slots=True)
    class Pair:
        """Two numbers."""

        one: int
        other: int = 0

    def written() -> set[str]:
        methods = {name: each for name, each in vars(Pair).items() if isinstance(each, FunctionType)}
        return {name for name, each in methods.items() if each.__code__.co_filename == "<string>"}

    assert written() == set()
    one, other = Pair(1), Pair(2)
    assert written() == {"__init__"}
    assert one != other
    assert written() == {"__init__", "__eq__"}
    assert hash(one) != hash(other)
    assert written() == {"__init__", "__eq__", "__hash__"}
