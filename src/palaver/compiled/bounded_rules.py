"""The grammar in which constraints decide lengths: rules with bounds, for reading input.

Each `LengthEquation` becomes bounds on rules (`matching.length_bounds`), as in a data-dependent grammar (Jim,
Mandelbaum and Walker 2010). The bound must be known when the rule begins, and must be that of the right field. A
matcher keeps the last node that a path selected, so these are the conditions, for each alternative of the rule that
holds both:

- each field is a part of it, exactly once, and never empty; it stands before what is measured
- nothing between these can contain another such rule, with fields of its own

What is not sure gets no bound. Bounds are necessary conditions only: the constraint still decides. They are not for
solving, where an equation need not hold yet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from itertools import pairwise

from palaver.compiled.length_equations import CHILDREN, ENCODED, LengthEquation, Measured
from palaver.compiled.symbol_widths import SymbolWidths
from palaver.grammar.analysis import Analysis, cyclic_symbols, nullable_symbols
from palaver.lean_dataclasses import dataclass, replace
from palaver.matching.matcher import BoundMeasure, LengthBound, LengthBounds
from palaver.spec.ast import Child, Choice, Expr, Index, Ref, Repeat, Selector
from palaver.spec.ast import Sequence as Parts
from palaver.spec.traversal import last_symbol, map_refs, refs


@dataclass(frozen=True)
class BoundedRules:
    """The right-hand sides of a grammar, with added rules, and the bounds on some of them."""

    bodies: dict[str, Expr]
    bounds: dict[str, LengthBound] = field(default_factory=dict)
    symbols: dict[str, str | None] = field(default_factory=dict)

    @property
    def lengths(self) -> LengthBounds:
        return LengthBounds(self.bounds, self.symbols)


def bounded_rules(equations: Sequence[LengthEquation], analysis: Analysis) -> BoundedRules:
    """The rules of a grammar with all bounds that the equations give."""
    builder = _BoundedRulesBuilder(analysis)
    # Sums put parts into groups, in which nothing is found any more; longer paths are bounded in copies of rules.
    for equation in sorted(equations, key=lambda equation: equation.holder is None or _is_sum(equation)):
        builder.add(equation)
    return builder.finish()


def _is_sum(equation: LengthEquation) -> bool:
    return len(equation.measured) > 1 or len(equation.measured[0].path.steps) != 1


class _BoundedRulesBuilder:
    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._widths = SymbolWidths(analysis.grammar.bodies, binary=analysis.is_binary)
        rules = analysis.grammar.rules
        # A copy of what can contain itself and nothing else would have more derivations, without end.
        self._cyclic = cyclic_symbols(rules, nullable_symbols(rules))
        self.rules = BoundedRules(dict(analysis.grammar.bodies))
        # Rules to be bounded, each with the rule that it is a copy of, when all other rules are as they stay.
        self._pending: list[tuple[str, str | None, LengthBound]] = []

    def add(self, equation: LengthEquation) -> None:
        if not all(self._is_in_units(measured) or self._is_encoded(measured) for measured in equation.measured):
            return
        if len(equation.measured) > 1 and any(map(self._is_encoded, equation.measured)):
            return
        if any(measured.reads_as == CHILDREN for measured in equation.measured):
            if equation.holder is None or not self._can_all_be_read_first(equation.holder, equation.fields):
                return
            if len(equation.measured) == 1:
                self._bound_lengths(equation.holder, equation)
            return
        if equation.holder is None:
            self._bound_everywhere(equation)
        elif not self._can_all_be_read_first(equation.holder, equation.fields):
            return
        elif all(measured.is_count for measured in equation.measured):
            if len(equation.measured) == 1:
                self._bound_count(equation.holder, equation, equation.measured[0].path)
        elif not any(measured.is_count for measured in equation.measured):
            self._bound_lengths(equation.holder, equation)

    def _is_in_units(self, measured: Measured) -> bool:
        """Return True if a length counts what the matcher counts: bytes of a binary spec, characters of a text."""
        usual = "bytes" if self._analysis.is_binary else "str"
        return measured.is_count or measured.reads_as == usual or self._widths.is_ascii(last_symbol(measured.path))

    def _is_encoded(self, measured: Measured) -> bool:
        """Return True if a length counts the bytes of a text whose characters the matcher counts."""
        is_of_bytes = measured.reads_as in ("bytes", ENCODED)
        return is_of_bytes and not self._analysis.is_binary and not self._is_in_units(measured)

    def _can_all_be_read_first(self, holder: str, paths: Sequence[Selector]) -> bool:
        return all(self._can_be_read_first(holder, path) for path in paths)

    def _can_be_read_first(self, holder: str, path: Selector) -> bool:
        """Return True if the way to a field is certain below the first of its steps."""
        steps = [step for step in path.steps if not isinstance(step, Index)]
        if not steps or not all(isinstance(step, Child) for step in steps):
            return False
        symbols = [step.symbol for step in steps if isinstance(step, Child)]
        for symbol, inner in pairwise(symbols):
            if not all(_place_of(inner, self._ungrouped(parts)) is not None for parts in self._alternatives(symbol)):
                return False
        return holder in self.rules.bodies and not self._widths.can_be_empty(symbols[-1])

    def finish(self) -> BoundedRules:
        """The rules, when all equations have been added."""
        while self._pending:
            name, original, bound = self._pending.pop(0)
            if original is not None:
                self.rules.bodies[name] = self.rules.bodies[original]
            if name not in self.rules.bounds:
                self._limit(name, bound)
        return self.rules

    def _is_in(self, path: Selector) -> bool:
        """Return True if a path may select something by its first step."""
        match path.steps:
            case (Child(symbol), *_):
                return any(_place_of(symbol, parts) is not None for parts in self._alternatives(path.base))
        return False

    # --- one node of a quantifier -------------------------------------------------------------------------------------

    def _bound_lengths(self, holder: str, equation: LengthEquation) -> None:
        alternatives = self._alternatives(holder)
        for parts in alternatives:
            at = self._place_of_last(equation.fields, parts, holder)
            if at is None:
                continue
            paths = [measured.path for measured in equation.measured]
            if len(paths) > 1:
                self._bound_sum(holder, equation, parts, at)
            elif not paths[0].steps:
                self._bound_total(holder, equation, parts, at)
            elif all(isinstance(step, Child) for step in paths[0].steps):
                way = [step.symbol for step in paths[0].steps if isinstance(step, Child)]
                self._bound_part(holder, equation, way, parts, at)
        self._put(holder, alternatives)

    def _place_of_last(self, fields: Sequence[Selector], parts: Sequence[Expr], holder: str) -> int | None:
        """The place of the last field, if all are there, and no other such rule can be between them."""
        places: list[int] = []
        for path in fields:
            first = path.steps[0]
            assert isinstance(first, Child), "`_can_be_read_first` has looked"
            place = _place_of(first.symbol, parts)
            if place is None:
                return None
            places.append(place)
        between = parts[min(places) + 1 : max(places)]
        return None if any(self._can_hold(part, holder) for part in between) else max(places)

    def _bound_part(self, holder: str, equation: LengthEquation, way: list[str], parts: list[Expr], at: int) -> None:
        """Bound all nodes that are reached by a way down, behind the field."""
        symbol, *deeper = way
        is_children = equation.measured[0].reads_as == CHILDREN
        bound = self._bound(equation, BoundMeasure.ROUNDS if is_children else BoundMeasure.LENGTH)
        for place in range(at + 1, len(parts)):
            part = parts[place]
            if isinstance(part, Ref) and self._shown(part) == symbol:
                if deeper:
                    parts[place] = self._copied_ref(holder, equation, part, deeper)
                else:
                    parts[place] = self._limited_ref(part, bound, f"in {holder}")
            elif any(self._shown(ref) == symbol for ref in refs(part)):
                if self._can_hold(part, holder):
                    return
                if deeper:
                    parts[place] = self._with_copied_refs(holder, equation, part, way)
                else:
                    parts[place] = self._with_limited_refs(part, symbol, bound, f"in {holder}")
            if self._can_hold(part, holder):
                return

    def _with_copied_refs(self, holder: str, equation: LengthEquation, part: Expr, way: list[str]) -> Expr:
        symbol, *deeper = way

        def copied(ref: Ref) -> Ref:
            return self._copied_ref(holder, equation, ref, deeper) if self._shown(ref) == symbol else ref

        return map_refs(part, copied)

    def _copied_ref(self, holder: str, equation: LengthEquation, ref: Ref, way: list[str]) -> Ref:
        """A reference to a copy of a rule in which the nodes that are reached by a way down are bounded."""
        if not self._can_be_copied(ref) or self._can_hold(Ref(ref.symbol), holder):
            return ref
        name = f"{ref.symbol} in {holder}"
        if name in self.rules.symbols:
            return ref
        alternatives = self._alternatives(ref.symbol)
        for parts in alternatives:
            if all(measured.is_count and measured.reads_as != CHILDREN for measured in equation.measured):
                self._bound_rounds(holder, equation, way, parts, -1)
            else:
                self._bound_part(holder, equation, way, parts, -1)
        self.rules.symbols[name] = self._shown(ref)
        self.rules.bodies[name] = Ref(ref.symbol)
        self._put(name, alternatives)
        if (bound := self.rules.bounds.get(ref.symbol)) is not None:
            self.rules.bounds[name] = bound
        return replace(ref, symbol=name)

    def _ungrouped(self, parts: Sequence[Expr]) -> list[Expr]:
        """Parts as the grammar has them: without groups and copies."""
        found: list[Expr] = []
        for part in parts:
            if isinstance(part, Ref) and part.symbol in self.rules.symbols and self._shown(part) is None:
                found += self._ungrouped(_flat(self.rules.bodies[part.symbol]))
            else:
                found.append(self._with_shown_refs(part))
        return found

    def _bound_total(self, holder: str, equation: LengthEquation, parts: list[Expr], at: int) -> None:
        """Bound all that comes behind the field by the length of the whole."""
        if at + 1 < len(parts):
            parts[at + 1 :] = [self._group(holder, parts[at + 1 :], self._bound(equation, BoundMeasure.TOTAL))]

    def _bound_sum(self, holder: str, equation: LengthEquation, parts: list[Expr], at: int) -> None:
        """Bound several parts behind the field together, with what stands between them."""
        places = [self._place_of_part(measured.path, parts) for measured in equation.measured]
        behind = [place for place in places if place is not None and place > at]
        if None in places or len(set(places)) < len(places) or not behind:
            return
        first, last = min(behind), max(behind) + 1
        before = [parts[place] for place in places if place is not None and place <= at]
        between = [part for place, part in enumerate(parts) if first <= place < last and place not in behind]
        fixed, added = self._widths.total(before), self._widths.total(between)
        if fixed is None or added is None or any(self._can_hold(part, holder) for part in parts[at + 1 : first]):
            return
        bound = self._bound(equation, BoundMeasure.LENGTH)
        bound = replace(bound, minus=bound.minus + (fixed - added) * bound.divisor)
        parts[first:last] = [self._group(holder, parts[first:last], bound)]

    def _place_of_part(self, path: Selector, parts: Sequence[Expr]) -> int | None:
        if len(path.steps) != 1 or not isinstance(path.steps[0], Child):
            return None
        return _place_of(path.steps[0].symbol, [self._with_shown_refs(part) for part in parts])

    def _bound_count(self, holder: str, equation: LengthEquation, path: Selector) -> None:
        """Bound the rounds of the only repetition of a symbol behind the field."""
        way = [step.symbol for step in path.steps if isinstance(step, Child)]
        if len(way) < len(path.steps) or not way:
            return
        if self._widths.can_be_empty(way[-1]):
            return
        alternatives = self._alternatives(holder)
        for parts in alternatives:
            at = self._place_of_last(equation.fields, self._shown_parts(parts), holder)
            if at is not None:
                self._bound_rounds(holder, equation, way, parts, at)
        self._put(holder, alternatives)

    def _shown_parts(self, parts: Sequence[Expr]) -> list[Expr]:
        return [self._with_shown_refs(part) for part in parts]

    def _bound_rounds(self, holder: str, equation: LengthEquation, way: list[str], parts: list[Expr], at: int) -> None:
        """Bound the only repetition of what is reached by a way down, behind the field."""
        symbol, *deeper = way
        if deeper:
            # More than one such part would share the number.
            place = _place_of(symbol, self._shown_parts(parts))
            if place is None or place <= at or any(self._can_hold(part, holder) for part in parts[at + 1 : place]):
                return
            ref = parts[place]
            if isinstance(ref, Ref):
                parts[place] = self._copied_ref(holder, equation, ref, deeper)
            return
        single = [part for part in parts if isinstance(part, Ref) and part.symbol == symbol]
        several = [place for place, part in enumerate(parts) if part not in single and _mentions(part, symbol)]
        if len(several) != 1 or several[0] < at or not _has_one_per_round(parts[several[0]], symbol):
            return
        place = several[0]
        if any(self._can_hold(part, holder) for part in parts[at + 1 : place]):
            return
        bound = self._bound(equation, BoundMeasure.ROUNDS)
        bound = replace(bound, minus=bound.minus + len(single) * bound.divisor)
        parts[place] = self._group(holder, [parts[place]], bound)

    # --- all pairs of nodes -------------------------------------------------------------------------------------------

    def _bound_everywhere(self, equation: LengthEquation) -> None:
        """Bound what is measured by the last field before it, wherever both stand: each pair of them must agree."""
        if len(equation.measured) != 1 or equation.measured[0].is_count:
            return
        path = equation.measured[0].path
        if any(self._widths.can_be_empty(last_symbol(each)) for each in equation.fields):
            return
        bound = self._bound(equation, BoundMeasure.LENGTH)
        match path.steps:
            case ():
                inner = tuple(_seen_from(path.base, each) for each in equation.fields)
                if all(map(self._is_in, inner)) and self._can_all_be_read_first(path.base, inner):
                    self._bound_lengths(path.base, replace(equation, holder=path.base, fields=inner))
                else:
                    self._pending.append((path.base, None, bound))
            case (Child(symbol),) if path.base in self.rules.bodies:
                alternatives = self._alternatives(path.base)
                place = f"in {path.base}"
                self._put(
                    path.base,
                    [[self._with_limited_refs(part, symbol, bound, place) for part in parts] for parts in alternatives],
                )

    # --- rules --------------------------------------------------------------------------------------------------------

    def _alternatives(self, symbol: str) -> list[list[Expr]]:
        body = self.rules.bodies.get(symbol)
        return [] if body is None else [_flat(option) for option in (_options(body))]

    def _put(self, symbol: str, alternatives: list[list[Expr]]) -> None:
        if symbol in self.rules.bodies:
            options = tuple(parts[0] if len(parts) == 1 else Parts(tuple(parts)) for parts in alternatives)
            self.rules.bodies[symbol] = options[0] if len(options) == 1 else Choice(options)

    def _group(self, holder: str, parts: list[Expr], bound: LengthBound) -> Expr:
        """Parts of a rule as a rule of their own, which is bounded and leaves no node."""
        name = f"<part {len(self.rules.symbols)} of {holder}>"
        self.rules.symbols[name] = None
        self.rules.bodies[name] = parts[0] if len(parts) == 1 else Parts(tuple(parts))
        self.rules.bounds[name] = bound
        return Ref(name)

    def _bound(self, equation: LengthEquation, measure: BoundMeasure) -> LengthBound:
        return LengthBound(
            measure,
            equation.value,
            equation.plus,
            equation.times,
            equation.rounding,
            is_local=equation.holder is not None and equation.holder == equation.value.mentions[0].path.base,
            is_encoded=any(map(self._is_encoded, equation.measured)),
        )

    def _limited_ref(self, ref: Ref, bound: LengthBound, place: str) -> Ref:
        """A reference to a bounded copy of a rule, unless it is one already."""
        if ref.symbol in self.rules.symbols or not self._can_be_copied(ref):
            return ref
        name = f"{ref.symbol} {place}"
        if name not in self.rules.symbols:
            self.rules.symbols[name] = ref.symbol
            self._pending.append((name, ref.symbol, bound))
        return replace(ref, symbol=name)

    def _can_be_copied(self, ref: Ref) -> bool:
        return ref.symbol in self.rules.bodies and ref.symbol not in self._cyclic

    def _limit(self, name: str, bound: LengthBound) -> None:
        """Bound a rule: by its rounds if each reads one character, else by its length."""
        match self.rules.bodies[name]:
            case Repeat(Ref(symbol), int(), int() | None) if bound.measure is BoundMeasure.ROUNDS:
                # Children are counted: one for each round, but those of rounds that add nothing are left out.
                if not self._widths.can_be_empty(symbol):
                    self.rules.bounds[name] = bound
            case _ if bound.measure is BoundMeasure.ROUNDS:
                return
            case Ref(_, None) as ref:
                self.rules.bodies[name] = self._limited_ref(ref, bound, f"as {name}")
            case Repeat(body, int(), int() | None) if self._widths.total([body]) == 1 and not bound.is_encoded:
                self.rules.bounds[name] = replace(bound, measure=BoundMeasure.ROUNDS)
            case _:
                self.rules.bounds[name] = bound

    def _with_limited_refs(self, expr: Expr, symbol: str, bound: LengthBound, place: str) -> Expr:
        def limited(ref: Ref) -> Ref:
            return self._limited_ref(ref, bound, place) if ref.symbol == symbol else ref

        return map_refs(expr, limited)

    def _with_shown_refs(self, expr: Expr) -> Expr:
        return map_refs(expr, lambda ref: replace(ref, symbol=self._shown(ref) or ref.symbol))

    def _shown(self, ref: Ref) -> str | None:
        return self.rules.symbols.get(ref.symbol, ref.symbol)

    def _can_hold(self, part: Expr, holder: str) -> bool:
        symbols = {shown for ref in refs(part) if (shown := self._shown(ref)) is not None}
        groups = [ref.symbol for ref in refs(part) if self._shown(ref) is None]
        return any(symbol == holder or holder in self._analysis.below(symbol) for symbol in symbols) or any(
            self._can_hold(self.rules.bodies[name], holder) for name in groups
        )


def _seen_from(holder: str, field: Selector) -> Selector:
    """The path to a field that is a part of a node of `holder`."""
    return field if field.base == holder else Selector(holder, (Child(field.base), *field.steps))


def _options(body: Expr) -> list[Expr]:
    return [option for each in body.options for option in _options(each)] if isinstance(body, Choice) else [body]


def _flat(option: Expr) -> list[Expr]:
    return [part for each in option.parts for part in _flat(each)] if isinstance(option, Parts) else [option]


def _mentions(part: Expr, symbol: str) -> bool:
    return any(ref.symbol == symbol for ref in refs(part))


def _place_of(symbol: str, parts: Sequence[Expr]) -> int | None:
    """The place of a symbol that is a part exactly once, and nowhere inside of other parts."""
    places = [place for place, part in enumerate(parts) if _mentions(part, symbol)]
    return places[0] if len(places) == 1 and isinstance(parts[places[0]], Ref) else None


def _has_one_per_round(part: Expr, symbol: str) -> bool:
    """Return True for a repetition, its bounds not computed, with exactly one such symbol in each round."""
    match part:
        case Repeat(body, int(), int() | None):
            return _place_of(symbol, _flat(body)) is not None
    return False
