"""Which symbols mention which, directly or through others, and which contain each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from palaver.grammar.ir import mentioned
from palaver.spec.ast import Rule


def users_of(rules: Mapping[str, Rule]) -> dict[str, list[str]]:
    """For each symbol, those whose rules mention it."""
    found: dict[str, list[str]] = {}
    for name, rule in rules.items():
        for symbol in mentioned(rule.body):
            found.setdefault(symbol, []).append(name)
    return found


def leading_to(targets: Iterable[str], users: Mapping[str, Iterable[str]]) -> frozenset[str]:
    """The targets and all symbols that lead to one."""
    found: set[str] = set()
    todo = list(targets)
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo.extend(users.get(name, ()))
    return frozenset(found)


def groups(names: list[str], below: Mapping[str, tuple[str, ...]]) -> Iterator[list[str]]:
    """The symbols in groups that contain each other, inner ones first; in each group, in the order given."""
    above: dict[str, list[str]] = {name: [] for name in names}
    for name in names:
        for child in below[name]:
            above[child].append(name)
    place = {name: at for at, name in enumerate(names)}
    seen: set[str] = set()
    # Whoever is left last when going up is contained by no other group that is still to come.
    for name in reversed(_as_left(names, above)):
        if name not in seen:
            group = [name]
            seen.add(name)
            for member in group:
                fresh = [child for child in below[member] if child not in seen]
                seen.update(fresh)
                group += fresh
            yield sorted(group, key=place.__getitem__)


def _as_left(names: list[str], edges: Mapping[str, Iterable[str]]) -> list[str]:
    """All symbols in the order in which a walk along the edges, depth first, leaves them for good."""
    left: list[str] = []
    seen: set[str] = set()
    for start in names:
        todo = [(start, False)]
        while todo:
            name, is_done = todo.pop()
            if is_done:
                left.append(name)
            elif name not in seen:
                seen.add(name)
                todo.append((name, True))
                todo += [(following, False) for following in edges[name]]
    return left
