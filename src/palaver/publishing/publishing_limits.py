"""Limits of reports: how much of a run is shown. None changes what was found, and the page tells what it leaves out."""

# So many different findings are shown with their conversations; the others as a line each, and then only as a number.
MAX_FINDINGS_SHOWN = 100
MAX_FINDINGS_LISTED = 1000
# Of a long conversation, so many messages are shown from its beginning, and so many from its end.
MAX_MESSAGES_AT_ENDS = 25
# Of a long message, so many bytes are shown in rows, and so many fields.
MAX_BYTES_SHOWN = 1024
MAX_FIELDS_SHOWN = 80
# So many findings have their script and their capture inside of the page; one of both takes about 25 kB.
MAX_FINDINGS_EXPORTED = 20
# So much of the output of the system under test is shown, from its end.
MAX_OUTPUT_SHOWN = 4000
# A curve has at most so many points.
MAX_CURVE_POINTS = 300
# So many rows stand in a table; the others are counted.
MAX_TABLE_ROWS = 200
# A larger diagram than this many states is not drawn.
MAX_STATES_DRAWN = 150
# The lines of the spec around the one that is meant.
LINES_AROUND = 2
# The strip of all sessions has at most so many parts.
MAX_STRIP_BINS = 280
# A summary in Markdown lists so many different problems.
MAX_FINDINGS_IN_SUMMARY = 20

# A page that is kept up to date is replaced at most so often, and so that it takes at most this share of the
# processor's time.
REPLACE_EVERY_S = 3.0
SHARE_OF_REPLACING = 0.05
# The seconds after which a browser reads such a page again.
REFRESH_S = 3
