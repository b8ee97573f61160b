"""Coverage views that were recorded, for the states of their spec."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from palaver.compiled import Spec
from palaver.grammar.analysis import Analysis
from palaver.grammar.lowering import slice_messages
from palaver.grammar.printing import show_expr
from palaver.lean_dataclasses import replace
from palaver.matching.forecaster import Forecaster
from palaver.navigation.coverage_views import CoverageViews
from palaver.navigation.dialogue_states import DialogueStateMachine
from palaver.session.setup import ConstraintMonitor


def state_machine_of(spec: Spec) -> DialogueStateMachine:
    """The states of the dialogue of a spec, as in sessions."""
    return DialogueStateMachine(_forecaster(spec))


def views_of(spec: Spec, data: Mapping[str, Any]) -> CoverageViews:
    """The result of `CoverageViews.as_data` as views again. :raises PalaverError: it is of another spec"""
    spec = _with_messages(spec, data["messages"])
    views = CoverageViews(spec.analysis, _forecaster(spec))
    views.add_data(data)
    return views


def _forecaster(spec: Spec) -> Forecaster:
    # In sessions, what constraints speak of is told apart, so it is here: the states must be the same.
    return spec.forecaster(ConstraintMonitor(spec).distinguished)


def _with_messages(spec: Spec, names: Collection[str]) -> Spec:
    """The spec as it was when these messages were counted: without what other parties say to each other."""
    if all(show_expr(message) in names for message in spec.analysis.messages):
        return spec
    grammar = slice_messages(spec.grammar, lambda message: show_expr(message) in names)
    return replace(spec, grammar=grammar, analysis=Analysis(grammar))
