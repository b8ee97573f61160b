"""Transitional names; see `palaver.regular.regex`."""

from palaver.regular.regex import PatternError as PatternError
from palaver.regular.regex import Regex as Regex
from palaver.regular.regex import compile_pattern as compile_pattern
