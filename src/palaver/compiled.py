"""A spec, compiled: what `palaver.load` gives, and the door to everything it can do.

Loading goes in one direction: text, statements, grammar, the spec's own Python (run once), analysis, objections.
After that a `Spec` never changes; matchers and makers are built when they are first needed and shared from then on.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from palaver.chance import Chance
from palaver.constraints.check import Check, Failure, compile_check, compile_goal
from palaver.constraints.select import indexed
from palaver.errors import Diagnostic, Rejected, SpecCrash
from palaver.generation.makers import Discarded
from palaver.generation.program import Program, SpecCode, compile_program
from palaver.grammar.analyse import Analysis, is_binary
from palaver.grammar.bounds import Dependence
from palaver.grammar.check import check_grammar
from palaver.grammar.code import SPEC_CODE_RAISES, Function, compile_expression, describe_crash, is_constant
from palaver.grammar.ir import Grammar, computed_bounds, map_bounds
from palaver.grammar.lower import expressions_of, lower
from palaver.grammar.slice import slice_parties
from palaver.matching.matcher import CompiledShape, Matcher, compile_matcher
from palaver.namespace import Namespace
from palaver.solving.fuzz import BUDGET, MAX_NODES, MAX_REPETITIONS, Fuzz
from palaver.solving.repair import Mender
from palaver.solving.sources import NoSource, Sources
from palaver.source import Source, Span
from palaver.spec.ast import Bound, Expression, Rule, SpecFile
from palaver.spec.diagnose import Reporter
from palaver.spec.load import load_files, load_texts
from palaver.spec.parse import parse_constraint
from palaver.trees.node import Node, leaves, same
from palaver.trees.tree import Tree
from palaver.trees.values import to_bytes, to_text

# An ambiguous input may have more derivations than can be looked at; after this many that break a constraint we give
# up.
MOST_DERIVATIONS = 10_000


def load(
    *paths: str | Path,
    constraints: Iterable[str] = (),
    start: str = "<start>",
    stdlib: bool = True,
    include_dirs: Sequence[str | Path] = (),
    environ: Mapping[str, str] | None = None,
) -> Spec:
    """The spec in these files, read one after the other.

    :raises SpecError: something in it is wrong; `diagnostics` tell everything that is
    """
    report = Reporter()
    spec = examine(
        *paths,
        report=report,
        constraints=constraints,
        start=start,
        stdlib=stdlib,
        include_dirs=include_dirs,
        environ=environ,
    )
    report.raise_if_errors()
    assert spec is not None, "without an error there is a spec"
    return spec


def loads(
    text: str, *more_texts: str, constraints: Iterable[str] = (), start: str = "<start>", stdlib: bool = True
) -> Spec:
    """The spec in these texts, read one after the other.

    :raises SpecError: something in it is wrong; `diagnostics` tell everything that is
    """
    report = Reporter()
    files = load_texts([text, *more_texts], report)
    spec = _build(files, report, constraints=constraints, start=start, stdlib=stdlib)
    report.raise_if_errors()
    assert spec is not None, "without an error there is a spec"
    return spec


def examine(
    *paths: str | Path,
    report: Reporter,
    constraints: Iterable[str] = (),
    start: str = "<start>",
    stdlib: bool = True,
    include_dirs: Sequence[str | Path] = (),
    environ: Mapping[str, str] | None = None,
) -> Spec | None:
    """Load as far as that goes, and report instead of raising: what `palaver check` shows. None if nothing can be
    used."""
    files = load_files(paths, report, include_dirs=[Path(folder) for folder in include_dirs], environ=environ or {})
    return _build(files, report, constraints=constraints, start=start, stdlib=stdlib)


def _build(
    files: Sequence[SpecFile], report: Reporter, *, constraints: Iterable[str], start: str, stdlib: bool
) -> Spec | None:
    extra = [each for text in constraints if (each := parse_constraint(text, report)) is not None]
    could_be_read = not report.error_count
    assumed = None if report.text_is_missing else () if could_be_read else _names_in_broken_text(files)
    if start and not start.startswith("<"):
        start = f"<{start}>"
    grammar = lower(files, report, start=start, stdlib=stdlib, extra=extra, assumed=assumed)
    namespace = Namespace(_all_code(files, grammar), _folders(files), files[-1].source.name if files else "<string>")
    ran = not report.errors and _run_python(files, namespace, report)
    if ran:
        grammar = _fold_bounds(grammar, namespace, report)
    analysis = Analysis(grammar)
    check_grammar(analysis, report, party_classes=namespace.party_classes if ran else None, is_whole=could_be_read)
    if report.errors:
        return None
    return Spec(grammar, analysis, namespace, tuple(report.diagnostics), tuple(file.python for file in files))


def _names_in_broken_text(files: Sequence[SpecFile]) -> frozenset[str]:
    """What seems to be defined in a text that could not be read in full, so that one mistake is not reported twice."""
    found = (name for file in files for name in re.findall(r"<\s*(\w+)\s*>\s*::=", file.source.text))
    return frozenset(f"<{name}>" for name in found)


def _all_code(files: Sequence[SpecFile], grammar: Grammar) -> Iterator[ast.AST]:
    for file in files:
        yield file.python
    for rule in grammar.rules.values():
        yield from (bound.python for bound in computed_bounds(rule.body))
        if rule.generator is not None:
            yield rule.generator.python
    for constraint in grammar.constraints:
        yield from (expression.python for expression in expressions_of(constraint.formula))
    yield from (goal.expression.python for goal in grammar.goals)


def _folders(files: Sequence[SpecFile]) -> list[Path]:
    places = (Path(file.source.name) for file in files)
    return list(dict.fromkeys(place.parent.resolve() for place in places if place.is_file()))


def _run_python(files: Sequence[SpecFile], namespace: Namespace, report: Reporter) -> bool:
    for file in files:
        if not file.python.body:
            continue
        namespace.names["__file__"] = file.source.name
        try:
            exec(compile(file.python, file.source.name, "exec"), namespace.names)
        except SPEC_CODE_RAISES as error:
            span = _crash_span(file.source, error)
            message = f"the spec's Python code raised {type(error).__name__}: {error}"
            report.error(file.source, span, message, "the code of a spec runs once, when the spec is loaded")
            return False
    return True


def _crash_span(source: Source, error: BaseException) -> Span:
    """The line of the source that was running when the error came, or that CPython refused to compile."""
    line = error.lineno or 1 if isinstance(error, SyntaxError) and error.filename == source.name else 1
    traceback = error.__traceback__
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == source.name:
            line = traceback.tb_lineno
        traceback = traceback.tb_next
    text = source.line(line)
    start = source.offset(line, 1 + len(text) - len(text.lstrip()))
    return Span(start, start + len(text.strip()))


def _fold_bounds(grammar: Grammar, namespace: Namespace, report: Reporter) -> Grammar:
    """Bounds that are constant expressions become numbers; the others are computed for each repetition."""

    known: dict[Expression, int] = {}  # `{n}` is one expression, and both bounds

    def fold(bound: Bound) -> Bound:
        if isinstance(bound, int) or not is_constant(bound):
            return bound
        if bound not in known:
            try:
                known[bound] = _count(compile_expression(bound, namespace.names)())
            except SPEC_CODE_RAISES as error:
                known[bound] = 0
                report.error(
                    bound.source,
                    bound.span,
                    f"this bound raised {type(error).__name__}: {error}",
                    "a bound is a whole number",
                )
        return known[bound]

    rules = {
        name: replace(rule, body=map_bounds(rule.body, fold)) if any(computed_bounds(rule.body)) else rule
        for name, rule in grammar.rules.items()
    }
    return replace(grammar, rules=MappingProxyType(rules))


def _count(value: Any) -> int:
    """A bound's value as a number of repetitions.

    :raises TypeError: it is none
    """
    count = int(value)
    return max(0, count)


@dataclass(frozen=True)
class Spec:
    """A spec that can be used: to make trees, and to read them."""

    grammar: Grammar
    analysis: Analysis
    namespace: Namespace
    warnings: tuple[Diagnostic, ...] = ()
    python: tuple[ast.Module, ...] = ()  # the spec's own code, by file

    @property
    def start(self) -> str:
        """The symbol everything starts from, with its brackets."""
        return self.grammar.start

    @property
    def python_lines(self) -> int:
        """How many lines of Python the spec contains."""
        statements = (statement for module in self.python for statement in module.body)
        return sum((statement.end_lineno or statement.lineno) - statement.lineno + 1 for statement in statements)

    @cached_property
    def is_binary(self) -> bool:
        """Whether what this spec describes is bytes rather than text."""
        return self.analysis.is_binary

    # --- making ------------------------------------------------------------------------------------------------------

    def fuzz(
        self,
        n: int | None = None,
        *,
        seed: int | None = None,
        max_nodes: int = MAX_NODES,
        max_repetitions: int = MAX_REPETITIONS,
        budget: int = BUDGET,
        initial: Iterable[str | bytes | Tree] = (),
    ) -> Fuzz:
        """`n` different trees (without end if None), each satisfying every constraint.

        The same seed gives the same trees. `initial` inputs come first, as far as they conform. When the budget of
        checks is spent before `n` trees were found, the iteration ends and `shortfall` on what this returns says why.

        :raises Unsolvable: while iterating, if not even one tree was found
        :raises SpecCrash: while iterating, if a generator of the spec raised
        """
        chance = Chance.fresh() if seed is None else Chance(seed)
        self.namespace.seed(chance)
        program = self._program(max_repetitions)
        first = (tree for data in initial if (tree := next(self.parses(data), None)) is not None)
        mender = self._mender(program, chance, max_nodes)
        make = partial(program.make, self.start, chance / "fuzz", nodes=max_nodes)
        return Fuzz(n, make, mender, chance / "choose", self._goals, first, budget=budget)

    def _program(self, max_repetitions: int) -> Program:
        if max_repetitions not in self._programs:
            code = SpecCode(self._bound_or_discard, self._generate)
            self._programs[max_repetitions] = compile_program(
                self.grammar, self.analysis.sizes, code, binary=self.is_binary, most=max_repetitions
            )
        return self._programs[max_repetitions]

    @cached_property
    def _programs(self) -> dict[int, Program]:
        return {}

    def _mender(self, program: Program, chance: Chance, max_nodes: int) -> Mender:
        remake = chance / "mend"

        def make(symbol: str, above: tuple[str, ...], given: Mapping[str, Node]) -> Node:
            return program.make(symbol, remake, nodes=max_nodes, above=above, pins=given)

        rules = self.grammar.rules
        names, dependence = self.namespace.names, Dependence(self.analysis)
        return Mender(
            self.checks, names, make, self._made_as, lambda symbol: rules[symbol].generator is not None, dependence
        )

    def _generate(self, rule: Rule, sources: tuple[Node, ...]) -> Node:
        """What a rule's generator makes of its arguments, read as the rule's symbol."""
        generator = rule.generator
        assert generator is not None, "only rules with a generator come here"
        arguments = dict(zip(self.analysis.arguments[rule.symbol], sources, strict=True))
        try:
            value = self._generators[rule.symbol](*(Tree(arguments[each.path.base]) for each in generator.mentions))
        except SPEC_CODE_RAISES as error:
            raise SpecCrash(describe_crash(f"the generator of {rule.symbol}", generator, error)) from error
        try:
            node = self.read_as(rule.symbol, value)
        except TypeError as error:
            raise SpecCrash(describe_crash(f"the generator of {rule.symbol}", generator, error)) from error
        if node is None:
            raise Discarded(f"the generator of {rule.symbol} gave {_shorten(value)}, which its rule does not match")
        return node

    def _made_as(self, symbol: str, value: Any) -> Node | None:
        """`value` as the symbol's generator would make it, if it can: then with the sources that give it; else as it
        is."""
        node = self.read_as(symbol, value)
        rule = self.grammar.rules[symbol]
        if node is None or not self.analysis.arguments[symbol]:
            return node
        try:
            recovered = self.sources.recover(node)
            again = self._generate(rule, recovered.sources)
        except (NoSource, Discarded, SpecCrash):
            return node
        return recovered if same(again, node) else node

    @cached_property
    def _generators(self) -> dict[str, Function]:
        return {
            rule.symbol: compile_expression(rule.generator, self.namespace.names)
            for rule in self.grammar.rules.values()
            if rule.generator is not None
        }

    @cached_property
    def checks(self) -> tuple[Check, ...]:
        """The constraints, ready to be asked."""
        names = self.namespace.names
        return tuple(compile_check(constraint, self.analysis, names) for constraint in self.grammar.constraints)

    @cached_property
    def _goals(self) -> tuple[Callable[[Tree], float], ...]:
        return tuple(compile_goal(goal, self.analysis, self.namespace.names) for goal in self.grammar.goals)

    # --- reading -----------------------------------------------------------------------------------------------------

    def parse(self, data: str | bytes | int | Tree) -> Tree:
        """The first derivation of `data` that satisfies every constraint.

        :raises Rejected: there is none; tells where the input goes wrong and what was expected
        """
        reading = Reading(self, data)
        for tree in reading:
            return tree
        raise reading.rejection()

    def parses(self, data: str | bytes | int | Tree, *, prefix: bool = False) -> Iterator[Tree]:
        """Every derivation of `data` that satisfies every constraint, lazily.

        With `prefix`, also the partial ones of what could still become a whole input.
        """
        return iter(Reading(self, data, prefix=prefix))

    def matcher(self, symbol: str | None = None, *, binary: bool | None = None, whole: bool = True) -> Matcher:
        """A matcher for one symbol (the start symbol if None); constraints are not its business."""
        symbol = self.start if symbol is None else symbol
        if symbol not in self._shapes:
            bodies = {name: rule.body for name, rule in self.grammar.rules.items()}
            self._shapes[symbol] = compile_matcher(bodies, symbol, bound=self._bound)
        if binary is None:
            binary = is_binary(self.grammar.rules, symbol)
        return self._shapes[symbol].matcher(binary=binary, whole=whole)

    @cached_property
    def _shapes(self) -> dict[str, CompiledShape]:
        return {}

    def read_as(self, symbol: str, value: Any) -> Node | None:
        """The first derivation of a value as `symbol`, constraints aside; None if there is none.

        :raises TypeError: the value is neither text nor bytes nor a number nor a tree
        """
        data = _as_data(value)
        if isinstance(data, str) and self.is_binary:
            data = data.encode()
        key = (symbol, data)
        if key not in self._read:
            if len(self._read) > 4096:
                self._read.clear()
            matcher = self.matcher(symbol, binary=self.is_binary)
            matcher.feed(data)
            matcher.finish()
            self._read[key] = next(matcher.trees(), None)
        return self._read[key]

    @cached_property
    def _read(self) -> dict[tuple[str, str | bytes], Node | None]:
        # Generators and equations ask for the same few values again and again.
        return {}

    @cached_property
    def sources(self) -> Sources:
        """Finds again what generated parts were made from."""
        return Sources(self.analysis, self._generators, self.read_as)

    def _bound(self, expression: Expression, node: Node | None) -> int:
        function = self._bounds(expression)
        if node is None:
            return _count(function())
        return _count(function(indexed(Tree(node), expression.mentions[0].path)))

    def _bound_or_discard(self, expression: Expression, node: Node | None) -> int:
        try:
            return self._bound(expression, node)
        except SPEC_CODE_RAISES as error:  # a field that is no number, say
            raise Discarded(f"the bound {{{expression.text}}} raised {type(error).__name__}: {error}") from error

    def _bounds(self, expression: Expression) -> Function:
        if expression not in self._bound_functions:
            self._bound_functions[expression] = compile_expression(expression, self.namespace.names)
        return self._bound_functions[expression]

    @cached_property
    def _bound_functions(self) -> dict[Expression, Function]:
        return {}

    # --- other views
    # ---------------------------------------------------------------------------------------------------

    def for_parties(self, parties: Sequence[str]) -> Spec:
        """The same spec with only the messages that these parties send."""
        grammar = slice_parties(self.grammar, parties)
        return replace(self, grammar=grammar, analysis=Analysis(grammar))


class Reading:
    """One input on its way to becoming trees, and the reasons why it did not."""

    def __init__(self, spec: Spec, data: str | bytes | int | Tree, *, prefix: bool = False) -> None:
        self._spec = spec
        self._data = _as_data(data)
        self._prefix = prefix
        self._failures: list[Failure] = []
        self._lost_sources: list[str] = []
        self._matcher = spec.matcher(binary=spec.is_binary and isinstance(self._data, bytes))
        self._progress = self._matcher.feed(self._data)
        if not prefix:
            self._progress = self._matcher.finish()

    def __iter__(self) -> Iterator[Tree]:
        nodes = self._matcher.partial_trees() if self._prefix else self._matcher.trees()
        tried = 0
        for node in nodes:
            tree = self._accepted(node)
            if tree is not None:
                yield tree
            elif (tried := tried + 1) >= MOST_DERIVATIONS:
                return

    def _accepted(self, node: Node) -> Tree | None:
        try:
            tree = Tree(self._spec.sources.recover(node))
        except NoSource as error:
            self._lost_sources.append(str(error))
            return None
        for check in self._spec.checks:
            if (failure := check.failure(tree)) is not None:
                self._failures.append(failure)
                return None
        return tree

    def rejection(self) -> Rejected:
        """Why there is no tree, once the iteration has ended without one."""
        if self._failures:
            failure = self._failures[0]
            return Rejected(failure.tell(), offset=_offset_of(failure))
        if self._lost_sources:
            return Rejected(self._lost_sources[0], offset=0)
        progress = self._progress
        offset = progress.dead_at if progress.dead_at is not None else len(self._data)
        ended = offset >= len(self._data)
        what = "the input ends too soon" if ended else f"cannot go on at offset {offset}"
        expected = f"expected {' or '.join(progress.expected)}" if progress.expected else "nothing could follow here"
        if not ended:
            expected += f", found {_found_at(self._data, offset)}"
        crashed = f" ({self._matcher.crashes[0]})" if self._matcher.crashes else ""
        return Rejected(f"{what}: {expected}{crashed}", offset=offset, expected=progress.expected)


def _found_at(data: str | bytes, offset: int) -> str:
    if isinstance(data, str) and 0xDC80 <= ord(data[offset]) <= 0xDCFF:
        return f"byte 0x{ord(data[offset]) - 0xDC00:02x}, which is no UTF-8"
    return repr(data[offset : offset + 1])


def _offset_of(failure: Failure) -> int:
    """Where the first node that a failing check looked at starts."""
    for _, value in failure.values:
        tree = value[0] if isinstance(value, list) and value else value
        if isinstance(tree, Tree):
            return _start_of(tree)
    return 0


def _start_of(tree: Tree) -> int:
    size = 0
    while (parent := tree.parent) is not None:
        # A source stands nowhere in the input; what was made from it does.
        before = parent.node.children[: max(tree.step, 0)] if isinstance(parent.node, Node) else ()
        size += sum(1 if isinstance(leaf, int) else 8 * len(leaf) for part in before for leaf in leaves(part))
        tree = parent
    return size // 8


def _as_data(value: Any) -> str | bytes:
    match value:
        case str() | bytes():
            return value
        case bytearray() | memoryview():
            return bytes(value)
        case bool():
            pass
        case int():
            return str(value)
        case Tree():
            part = value.node
            return to_bytes(part) if value.should_be_serialized_to_bytes() else to_text(part)
        case (str(), list() | tuple()):
            return _spelled(value)
    raise TypeError(f"{_shorten(value)} is neither text nor bytes nor a whole number")


def _spelled(value: tuple[Any, Any]) -> str | bytes:
    """What the leaves of a tree written as `(name, [children])` spell; a leaf is a value, alone or with no children.

    :raises TypeError: this is no such tree
    """
    found: list[str | bytes] = []
    pending: list[Any] = [value]
    while pending:
        match pending.pop():
            case (str() as name, list() | tuple() as children) if children or re.fullmatch(r"<\w+>", name):
                pending.extend(reversed(children))
            case (str() | bytes() | int() as leaf, [] | ()) | leaf:
                found.append(_as_data(leaf))
    if all(isinstance(leaf, str) for leaf in found):
        return "".join(map(str, found))
    return b"".join(leaf.encode() if isinstance(leaf, str) else leaf for leaf in found)


def _shorten(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
