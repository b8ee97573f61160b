"""Old names, until those who import them are redirected."""

from palaver.constraints.checks import (
    Check,
    Evaluate,
    Failure,
    compile_check,
    compile_formula,
    compile_goal,
    looks_inside,
)

__all__ = ["Check", "Evaluate", "Failure", "compile_check", "compile_formula", "compile_goal", "looks_inside"]
