"""Dataclasses as in the standard library, whose methods are written when they are first called.

How it works
============

`dataclasses.dataclass` writes and compiles up to seven methods for each class: half a millisecond for each of hundreds
of classes, most of whose methods a run never calls. Here a class gets stand-ins. The first call of one writes the
method, puts it in the place of the stand-in, and calls it. From then on the class is as the standard library would
have made it, except that objects of frozen classes with slots are made faster, by the descriptors of the slots.

To type checkers this is the standard library's decorator. `fields`, `asdict` and `is_dataclass` work, too: what they
look for is taken from a twin, made by the standard library when somebody asks. What nobody here needs is left out:
`order`, `unsafe_hash`, `InitVar`, and docstrings for classes that have none.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

TYPE_CHECKING = False  # as in `typing`, without importing it
if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
    from dataclasses import replace as replace
    from typing import Any
else:

    def dataclass(cls=None, /, **options):
        """Make a dataclass of a class, as `dataclasses.dataclass` does."""
        if cls is None:
            return lambda decorated: _made(decorated, **options)
        return _made(cls, **options)

    def replace(whole, /, **changes):
        """Return the object with other values of some fields, as `dataclasses.replace` does."""
        for name, parameter in getattr(whole, _PARAMETERS).items():
            if parameter.is_argument and name not in changes:
                changes[name] = getattr(whole, name)
        return whole.__class__(**changes)


_MISSING = dataclasses.MISSING
_OF_TWINS = ("__dataclass_fields__", "__dataclass_params__")
_PARAMETERS = "_lean_parameters"  # the attribute in which a class keeps its parameters, for classes derived from it


class _DataField:
    """A field of a class: its default, and which methods know it."""

    __slots__ = ("annotation", "compares", "default", "factory", "is_argument", "is_keyword", "is_shown", "name")

    def __init__(self, name: str, annotation: str, given: Any, is_keyword: bool) -> None:
        self.name, self.annotation, self.is_keyword = name, annotation, is_keyword
        self.default: Any = given
        self.factory: Any = _MISSING
        self.is_argument = self.is_shown = self.compares = True
        if isinstance(given, dataclasses.Field):
            self.default, self.factory = given.default, given.default_factory
            self.is_argument, self.is_shown, self.compares = given.init, given.repr, given.compare
        if type(self.default).__hash__ is None:
            raise ValueError(f"all objects would share the default of {name}, which can be changed")

    def field(self) -> dataclasses.Field[Any]:
        """The standard library's description of this field."""
        made: dataclasses.Field[Any] = dataclasses.field(
            **({} if self.default is _MISSING else {"default": self.default}),
            **({} if self.factory is _MISSING else {"default_factory": self.factory}),
            init=self.is_argument,
            repr=self.is_shown,
            compare=self.compares,
            kw_only=self.is_keyword,
        )
        return made


class _OfTwin:
    """An attribute that the standard library gives to dataclasses, taken from a twin of the class."""

    def __init__(self, name: str, frozen: bool) -> None:
        self._name, self._frozen = name, frozen

    def __get__(self, _: object, owner: type) -> Any:
        parameters = getattr(owner, _PARAMETERS).values()
        described = [(each.name, each.annotation, each.field()) for each in parameters]
        twin = dataclasses.make_dataclass(owner.__name__, described, eq=False, repr=False, frozen=self._frozen)
        for name in _OF_TWINS:
            setattr(owner, name, getattr(twin, name))
        return getattr(twin, self._name)


def _made(cls: type, *, frozen: bool = False, slots: bool = False, eq: bool = True, repr: bool = True) -> type:
    parameters: dict[str, _DataField] = {}
    for base in cls.__mro__[-1:0:-1]:
        parameters.update(base.__dict__.get(_PARAMETERS, ()))
    own = _own_parameters(cls)
    parameters.update(own)
    setattr(cls, _PARAMETERS, parameters)
    if slots:
        cls = _with_slots(cls, own, parameters)
    else:
        _leave_defaults(cls, own)
    for name in _OF_TWINS:
        setattr(cls, name, _OfTwin(name, frozen))
    if "__match_args__" not in cls.__dict__:
        arguments = (each for each in parameters.values() if each.is_argument and not each.is_keyword)
        setattr(cls, "__match_args__", tuple(each.name for each in arguments))  # noqa: B010
    _stand_in(cls, "__init__", lambda: _write_init(cls, parameters, frozen))
    if repr:
        _stand_in(cls, "__repr__", lambda: _write_repr(parameters))
    if eq:
        _give_equality(cls, parameters, frozen)
    if frozen:
        _freeze(cls, frozenset(parameters), slots)
    return cls


def _own_parameters(cls: type) -> dict[str, _DataField]:
    own = {}
    is_keyword = False
    for name, annotation in cls.__annotations__.items():
        if annotation == "KW_ONLY":
            is_keyword = True
        elif not annotation.startswith(("ClassVar", "typing.ClassVar")):
            own[name] = _DataField(name, annotation, cls.__dict__.get(name, _MISSING), is_keyword)
    return own


def _leave_defaults(cls: type, own: dict[str, _DataField]) -> None:
    for name, parameter in own.items():
        if parameter.default is not _MISSING:
            setattr(cls, name, parameter.default)
        elif name in cls.__dict__:
            delattr(cls, name)


def _with_slots(cls: type, own: dict[str, _DataField], parameters: dict[str, _DataField]) -> type:
    """The class again, with slots for its fields: they can only be given to a class that is being made."""
    inherited = {name for base in cls.__mro__[1:-1] for name in base.__dict__.get("__slots__", ())}
    left_out = {"__dict__", "__weakref__", *own}
    namespace = {name: value for name, value in cls.__dict__.items() if name not in left_out}
    namespace["__slots__"] = tuple(name for name in parameters if name not in inherited)
    made = type(cls)(cls.__name__, cls.__bases__, namespace)
    made.__qualname__ = cls.__qualname__
    return made


# --- methods ---------------------------------------------------------------------------------------------------------


def _stand_in(cls: type, name: str, write: Callable[[], Any]) -> None:
    """Have a method written by its first call; one that the class defines itself stays."""
    if name in cls.__dict__:
        return

    def stand_in(self: object, *arguments: Any, **named: Any) -> Any:
        method = write()
        method.__qualname__, method.__module__ = f"{cls.__qualname__}.{name}", cls.__module__
        setattr(cls, name, method)
        return method(self, *arguments, **named)

    setattr(cls, name, stand_in)


def _write(name: str, arguments: str, body: list[str], names: dict[str, Any]) -> Any:
    exec(f"def {name}({arguments}):\n " + "\n ".join(body or ["pass"]), names)
    return names[name]


def _write_init(cls: type, parameters: dict[str, _DataField], frozen: bool) -> Any:
    """`__init__`; the names in it that are no fields begin with two underscores."""
    names: dict[str, Any] = {"__missing": _MISSING, "__set": object.__setattr__}
    positional: list[str] = ["self"]
    keyword: list[str] = []
    body: list[str] = []
    for name, each in parameters.items():
        value = name
        if each.factory is not _MISSING:
            names[f"__new_{name}"] = each.factory
            value = f"__new_{name}() if {name} is __missing else {name}" if each.is_argument else f"__new_{name}()"
        elif each.default is not _MISSING:
            names[f"__default_{name}"] = each.default
            value = name if each.is_argument else f"__default_{name}"
        elif not each.is_argument:
            continue
        if each.is_argument:
            default = "__missing" if each.factory is not _MISSING else f"__default_{name}"
            has_default = each.factory is not _MISSING or each.default is not _MISSING
            (keyword if each.is_keyword else positional).append(f"{name}={default}" if has_default else name)
        descriptor: Any = getattr(cls, name, None)
        if not frozen:
            body.append(f"self.{name} = {value}")
        elif type(descriptor) is _SLOT:
            names[f"__set_{name}"] = descriptor.__set__
            body.append(f"__set_{name}(self, {value})")
        else:
            body.append(f"__set(self, {name!r}, {value})")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    return _write("__init__", ", ".join([*positional, *(["*", *keyword] if keyword else [])]), body, names)


def _write_repr(parameters: dict[str, _DataField]) -> Any:
    shown = ", ".join(f"{name}={{self.{name}!r}}" for name, each in parameters.items() if each.is_shown)
    return _write("__repr__", "self", [f"return f'{{self.__class__.__qualname__}}({shown})'"], {})


def _give_equality(cls: type, parameters: dict[str, _DataField], frozen: bool) -> None:
    compared = [name for name, each in parameters.items() if each.compares]

    def values_of(whose: str) -> str:
        return "(" + "".join(f"{whose}.{name}, " for name in compared) + ")"

    def write_equality() -> Any:
        is_same = f" return {values_of('self')} == {values_of('other')}"
        body = ["if other.__class__ is self.__class__:", is_same, "return NotImplemented"]
        return _write("__eq__", "self, other", body, {})

    def write_hash() -> Any:
        return _write("__hash__", "self", [f"return hash({values_of('self')})"], {})

    is_explicit = "__hash__" in cls.__dict__ and not (cls.__hash__ is None and "__eq__" in cls.__dict__)
    _stand_in(cls, "__eq__", write_equality)
    if is_explicit:
        return
    if frozen:
        if "__hash__" in cls.__dict__:
            del cls.__hash__
        _stand_in(cls, "__hash__", write_hash)
    else:
        cls.__hash__ = None  # type: ignore[assignment]


def _freeze(cls: Any, names: frozenset[str], slots: bool) -> None:
    def set_attribute(self: Any, name: str, value: object) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def delete_attribute(self: Any, name: str) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    cls.__setattr__ = set_attribute
    cls.__delattr__ = delete_attribute
    if slots and "__getstate__" not in cls.__dict__:
        cls.__getstate__ = _state
        cls.__setstate__ = _set_state


def _state(self: Any) -> list[Any]:
    return [getattr(self, name) for name in getattr(self, _PARAMETERS)]


def _set_state(self: Any, state: list[Any]) -> None:
    for name, value in zip(getattr(self, _PARAMETERS), state, strict=True):
        object.__setattr__(self, name, value)


_SLOT = type(_DataField.__dict__["name"])
