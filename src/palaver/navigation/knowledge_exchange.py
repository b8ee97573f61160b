"""The knowledge of several guidances of one spec, exchanged as differences of counts (CRDTs; Shapiro et al. 2011).

Coverage states have other numbers in each process, so paths are sent as they are. They only ever grow, and can be added
in any order. Counts, such as those of answers, are sent as the difference since they were last sent: whole counts that
were added twice would be too many, and something would be given up too early. What came from others is not sent back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from palaver.navigation.coverage import KPath
    from palaver.navigation.guidance import Guidance

# The counts of all parts of a guidance: the part, the table in it, and the row.
_CountKey: TypeAlias = tuple[Any, ...]

_OF_PEERS = ("situations", "answers", "histories", "symbols", "pairs")
_OF_PLANNER = ("fruitless", "missed", "lost")


class GuidanceNews(NamedTuple):
    """The knowledge that a guidance has gained since it was last asked."""

    paths: tuple[KPath, ...]  # that were covered
    counts: dict[_CountKey, int]  # differences
    missing_values: list[list[Any]] | None = None  # the value classes that are not covered, if that has changed


class KnowledgeExchange:
    """Tells others what a guidance has learnt, and tells it what others have."""

    def __init__(self, guidance: Guidance) -> None:
        self._guidance = guidance
        self._known = _counts_of(guidance)
        self._told = len(guidance.coverage)  # paths that others know
        self._untold: list[KPath] = []  # paths that were covered before others told theirs
        self._values = 0 if guidance.value_classes is None else guidance.value_classes.reached

    def take_paths(self) -> GuidanceNews:
        """The paths that were covered since this was last asked; counts are left for later."""
        coverage = self._guidance.coverage
        paths = (*self._untold, *coverage.covered(self._told))
        self._untold, self._told = [], len(coverage)
        return GuidanceNews(paths, {})

    def take(self) -> GuidanceNews:
        """All that was learnt since this was last asked."""
        before, self._known = self._known, _counts_of(self._guidance)
        changed = {key: more for key, count in self._known.items() if (more := count - before.get(key, 0))}
        gone = {key: -count for key, count in before.items() if key not in self._known and count}
        classes, missing = self._guidance.value_classes, None
        if classes is not None and classes.reached != self._values:
            self._values, missing = classes.reached, classes.as_data()
        return GuidanceNews(self.take_paths().paths, {**changed, **gone}, missing)

    def add(self, news: GuidanceNews) -> None:
        """Add what others have learnt."""
        guidance = self._guidance
        coverage = guidance.coverage
        self._untold += coverage.covered(self._told)
        for path in news.paths:
            coverage.add_path(path)
        self._told = len(coverage)
        if news.counts:
            _add_counts(guidance, news.counts)
            for key, more in news.counts.items():
                self._known[key] = max(0, self._known.get(key, 0) + more)
        classes = guidance.value_classes
        if classes is not None and news.missing_values is not None:
            classes.add_data(news.missing_values)
            self._values = classes.reached


def joined(all_news: Iterable[GuidanceNews]) -> GuidanceNews:
    """The knowledge of several, in this order, as one."""
    paths: dict[KPath, None] = {}
    counts: dict[_CountKey, int] = {}
    missing: list[list[Any]] | None = None
    for news in all_news:
        paths.update(dict.fromkeys(news.paths))
        for key, more in news.counts.items():
            counts[key] = counts.get(key, 0) + more
        if news.missing_values is not None:
            missing = (
                news.missing_values if missing is None else [each for each in missing if each in news.missing_values]
            )
    return GuidanceNews(tuple(paths), counts, missing)


def _counts_of(guidance: Guidance) -> dict[_CountKey, int]:
    counts: dict[_CountKey, int] = {}
    parts: tuple[tuple[str, Mapping[str, Any], tuple[str, ...]], ...] = (
        ("ours", guidance.ours.as_data(), _OF_PEERS),
        ("peer", guidance.peer.as_data(), _OF_PEERS),
        ("tries", guidance.planner.as_data(), _OF_PLANNER),
    )
    for part, data, tables in parts:
        for table in tables:
            for *row, count in data[table]:
                counts[part, table, *map(_frozen, row)] = count
    views = guidance.views.as_data()
    for table in ("messages", "states"):
        for name, count in views[table].items():
            counts["views", table, name] = count
    for *row, count in views["transitions"]:
        counts["views", "transitions", *row] = count
    for symbol, texts in views["alternatives"].items():
        for text in texts:
            counts["views", "alternatives", symbol, text] = 1
    for text, (held, failed) in views["constraints"].items():
        counts["views", "held", text], counts["views", "failed", text] = held, failed
    if guidance.pairs is not None:
        pairs = guidance.pairs.as_data()
        for pair in pairs["covered"]:
            counts["message pairs", "covered", *pair] = 1
        for name in ("messages", "spent"):
            counts["message pairs", name] = pairs[name]
    if guidance.views.refusals is not None:
        counts |= {("refusals", *row): count for row, count in guidance.views.refusals.counts()}
    return counts


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _add_counts(guidance: Guidance, counts: Mapping[_CountKey, int]) -> None:
    peers: dict[str, dict[str, list[Any]]] = {name: {table: [] for table in _OF_PEERS} for name in ("ours", "peer")}
    tries: dict[str, list[Any]] = {table: [] for table in _OF_PLANNER}
    views: dict[str, Any] = {"messages": {}, "states": {}, "transitions": [], "alternatives": {}, "constraints": {}}
    pairs: dict[str, Any] = {"covered": [], "messages": 0, "spent": 0}
    refusals: list[tuple[Sequence[Any], int]] = []
    for (part, table, *row), more in counts.items():
        match part, table:
            case "refusals", _:
                refusals.append(((table, *row), more))
            case (("ours" | "peer"), _):
                peers[part][table].append([*row, more])
            case "tries", _:
                tries[table].append([*row, more])
            case "views", ("messages" | "states"):
                views[table][row[0]] = more
            case "views", "transitions":
                views[table].append([*row, more])
            case "views", "alternatives":
                views[table].setdefault(row[0], []).append(row[1])
            case "views", ("held" | "failed"):
                views["constraints"].setdefault(row[0], [0, 0])[table == "failed"] += more
            case _, "covered":
                pairs[table].append(row)
            case _:
                pairs[table] = more
    guidance.ours.add_data(peers["ours"])
    guidance.peer.add_data(peers["peer"])
    guidance.planner.add_data(tries)
    guidance.views.add_data(views, of_any_version=True)
    if guidance.pairs is not None:
        guidance.pairs.add_data(pairs)
    if guidance.views.refusals is not None:
        guidance.views.refusals.add_counts(refusals)
