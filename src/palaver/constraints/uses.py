"""Old names, until those who import them are redirected."""

from palaver.constraints.code_uses import integer_constants as whole_constants
from palaver.constraints.code_uses import is_upper_bound
from palaver.constraints.code_uses import takes_only_length as is_only_measured

__all__ = ["is_only_measured", "is_upper_bound", "whole_constants"]
