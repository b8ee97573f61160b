"""Transition: moved to `grammar.analysis`, with the arguments the other way round."""

from collections.abc import Iterable, Mapping
from typing import TypeVar

from palaver.grammar.components import cyclic_components

Name = TypeVar("Name", bound=str)


def circles(edges: Mapping[str, Iterable[Name]], names: Iterable[Name]) -> dict[Name, tuple[Name, ...]]:
    """The component of each name that leads back to itself."""
    return cyclic_components(names, edges)
