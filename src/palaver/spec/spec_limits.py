"""Limits of reading specs. Beyond each of them a diagnostic is reported at the place where it is exceeded."""

# In one file. A file with more errors is probably no spec; reading stops there.
MAX_ERRORS_PER_FILE = 50

# Ten files that each include the next one twice are a thousand; further includes are refused.
MAX_FILES = 1000
MAX_INCLUDE_DEPTH = 50

# The parsers of rules, quantifiers and selectors are recursive, and must not run out of stack.
MAX_OPEN_BRACKETS = 100
MAX_QUANTIFIER_DEPTH = 50
MAX_SELECTOR_PARENTHESES = 50  # text with more around it is left to CPython, which reports the selector

# CPython gives up at 150. An f-string that is nested deeper ends at the next quote, and CPython reports it.
MAX_FSTRING_DEPTH = 40
