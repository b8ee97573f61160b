"""Old names, until those who import them are redirected."""

from palaver.constraints.checks import Check, Evaluate, Failure, compile_check, compile_formula
from palaver.constraints.checks import can_bind_open_nodes as looks_inside
from palaver.constraints.checks import compile_objective as compile_goal

__all__ = ["Check", "Evaluate", "Failure", "compile_check", "compile_formula", "compile_goal", "looks_inside"]
