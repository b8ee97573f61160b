"""The limits of workers. Times are in seconds."""

# Workers that end, one after the other, before they have said anything: there is something wrong with all of them.
MAX_EARLY_DEATHS = 3
# A worker that does not end is told to after so long, and then killed after as long.
SECONDS_OF_TERMINATION = 2.0

# A scheduler of a cluster is waited for so long, and asked so often which workers it has.
SECONDS_TO_CONNECT = 5.0
SECONDS_BETWEEN_LOOKS = 0.5
