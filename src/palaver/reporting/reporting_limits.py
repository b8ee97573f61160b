"""Limits of reporting: how much is shown, and how often. None changes what was found."""

# More reasons for what is not covered than this are only counted.
MAX_REASONS = 10
# So many different findings are shown at one place of the dialogue; a peer may send something else each time.
MAX_SHOWN_AT_ONE_PLACE = 20
# The report of the demo shows so many messages of a session, back from the one that matters.
MAX_MESSAGES_OF_DEFECT = 6

# A campaign that is over sooner than this needs no display.
SHOW_AFTER_S = 0.5
# More often than this nobody sees a difference.
DRAW_EVERY_S = 1 / 8
# After drawing, a campaign gets this many times as long as drawing took: so that takes less than 2 % of the time.
REST_AFTER_DRAWING = 60
# The time between two lines where nothing can be drawn.
LINE_EVERY_S = 5.0
# The number of drawings over which messages per second are counted: a few seconds.
RATE_WINDOW = 24
# Bars are at most so wide, in characters.
MAX_BAR_WIDTH = 40
