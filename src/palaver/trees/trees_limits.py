"""Limits of printed trees."""

# Lines of deeper nodes stay in this column: half of a wide terminal.
MAX_INDENT_DEPTH = 40
# A value in a comment is cut here, so that it does not push the rest out of sight.
MAX_COMMENT_CHARACTERS = 96
