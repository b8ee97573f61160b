"""Old names, until those who import them are redirected."""

from palaver.constraints.code_uses import is_only_measured, is_upper_bound, whole_constants

__all__ = ["is_only_measured", "is_upper_bound", "whole_constants"]
