"""Curves of coverage over messages and over time, in SVG. Colours are those of the page, by class."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from palaver.publishing.publishing_limits import MAX_CURVE_POINTS, MAX_STRIP_BINS
from palaver.recording.run_reader import RecordedSession

_WIDTH, _HEIGHT = 560.0, 220.0
_LEFT, _BOTTOM, _TOP, _RIGHT = 56.0, 34.0, 12.0, 12.0


# From a value to its place on the drawing.
Scale: TypeAlias = Callable[[float], float]


class CurvePoint(NamedTuple):
    """The coverage after a session."""

    messages: int
    seconds: float
    covered: int
    is_guided: bool


def end_of(session: RecordedSession) -> float:
    """When a session was over; of one that was interrupted, when it began."""
    return session.started if session.ended is None else session.ended


def points_of(sessions: Sequence[RecordedSession]) -> list[CurvePoint]:
    """The points of the curve: the beginning, and those sessions that changed something; not too many.

    Sessions that go on at the same time have come to their ends in another order than that of their numbers.
    """
    ended = sorted(sessions, key=end_of)
    points = [CurvePoint(0, 0.0, 0, ended[0].is_guided if ended else True)]
    messages = 0
    for session in ended:
        messages += session.sent + session.received
        points.append(CurvePoint(messages, end_of(session), session.covered, session.is_guided))
    last = len(points) - 1
    told = [
        at
        for at, point in enumerate(points)
        if at in (0, last) or point.covered != points[at - 1].covered or point.is_guided != points[at - 1].is_guided
    ]
    step = -(-len(told) // MAX_CURVE_POINTS)
    return [points[at] for place, at in enumerate(told) if place % step == 0 or at == last]


def coverage_curve(sessions: Sequence[RecordedSession], total: int, *, by_time: bool) -> str:
    """The curve; "" if there is nothing to draw."""
    points = points_of(sessions)
    places = [point.seconds if by_time else float(point.messages) for point in points]
    if len(points) < 2 or not places[-1] or not total:
        return ""
    width, height = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM

    def x(place: float) -> float:
        return _LEFT + width * place / places[-1]

    def y(covered: float) -> float:
        return _TOP + height * (1 - covered / total)

    line = f"M{x(0):.1f} {y(points[0].covered):.1f}"
    for place, point in zip(places[1:], points[1:], strict=True):
        line += f"H{x(place):.1f}V{y(point.covered):.1f}"
    area = f"{line}V{y(0):.1f}H{x(0):.1f}Z"
    unit = "seconds" if by_time else "messages"
    told = f"covered {points[-1].covered} of {total} paths after {_number(places[-1])} {unit}"
    parts = [
        f'<svg class="curve" viewBox="0 0 {_WIDTH:.0f} {_HEIGHT:.0f}" role="img" aria-label="{told}">',
        *_phases(places, points, x),
        *_axes(total, places[-1], unit, x, y),
        f'<path class="area" d="{area}"/>',
        f'<path class="line" d="{line}"/>',
        "</svg>",
    ]
    return "\n".join(parts)


def _phases(places: Sequence[float], points: Sequence[CurvePoint], x: Scale) -> list[str]:
    """A band behind the sessions whose messages were chosen at random."""
    bands: list[str] = []
    begin: float | None = None
    for at, point in enumerate(points):
        if not point.is_guided and begin is None:
            begin = places[max(0, at - 1)]
        if begin is not None and (point.is_guided or at == len(points) - 1):
            left, right = x(begin), x(places[at])
            bands.append(
                f'<rect class="unguided" x="{left:.1f}" y="{_TOP:.1f}" width="{max(0.0, right - left):.1f}" '
                f'height="{_HEIGHT - _TOP - _BOTTOM:.1f}"><title>unguided: messages chosen at random</title></rect>'
            )
            bands += _label("unguided", left, right)
            begin = None
    ends = [at for at, point in enumerate(points) if not point.is_guided]
    guided = places[max(0, ends[0] - 1)] if ends else places[-1]
    return [*bands, *_label("guided", x(0), x(guided))]


def _label(text: str, left: float, right: float) -> list[str]:
    """The name of a phase at its end, if there is room for it."""
    if right - left < 9 * len(text):
        return []
    return [f'<text x="{right - 6:.1f}" y="{_HEIGHT - _BOTTOM - 8:.1f}" text-anchor="end">{text}</text>']


def _axes(total: int, longest: float, unit: str, x: Scale, y: Scale) -> list[str]:
    parts = []
    for share in (0.0, 0.5, 1.0):
        at = y(total * share)
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{at:.1f}" y2="{at:.1f}"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{total * share:.0f}</text>')
    for share, anchor in ((0.0, "start"), (0.5, "middle"), (1.0, "end")):
        label = _number(longest * share) + (f" {unit}" if share == 1.0 else "")
        at = x(longest * share)
        parts.append(f'<text x="{at:.1f}" y="{_HEIGHT - 12:.1f}" text-anchor="{anchor}">{label}</text>')
    return parts


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 10 or value == int(value) else f"{value:.1f}"


def session_strip(sessions: Sequence[RecordedSession]) -> str:
    """All sessions as a strip from left to right: how many of them passed; "" if there are none."""
    if not sessions:
        return ""
    bins = min(len(sessions), MAX_STRIP_BINS)
    width, height = 1120 / bins, 40.0
    parts = ['<svg class="strip" viewBox="0 0 1120 40" role="img" aria-label="The verdicts of all sessions in order">']
    for number in range(bins):
        first, last = number * len(sessions) // bins, (number + 1) * len(sessions) // bins
        verdicts = [each.verdict.value if each.verdict else "interrupted" for each in sessions[first:last]]
        counts = [verdicts.count("fail") + verdicts.count("error"), 0, verdicts.count("pass")]
        counts[1] = len(verdicts) - sum(counts)
        top = 0.0
        for look, count in zip(("fail", "other", "pass"), counts, strict=True):
            size = height * count / len(verdicts)
            if count:
                parts.append(
                    f'<rect class="{look}" x="{number * width:.2f}" y="{top:.1f}" width="{width:.2f}" '
                    f'height="{size:.1f}"/>'
                )
            top += size
    return "\n".join([*parts, "</svg>"])
