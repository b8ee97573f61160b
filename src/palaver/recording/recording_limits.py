"""The limits of run directories."""

# The size of a run that has no limit of its own, in bytes.
MAX_RUN_BYTES = 1 << 30
# When a run is too large, the oldest sessions without findings lose their details until this share of it is left.
SHARE_LEFT = 0.9
# So many sessions lose their details at a time.
SESSIONS_AT_A_TIME = 100
# A snapshot of the coverage may take this share of the time of a run.
SNAPSHOT_SHARE = 0.003
# The size of a run is looked at whenever about this share of its limit may have been written; so large is a row.
SHARE_MEASURED = 0.01
BYTES_PER_ROW = 1000
# A new run gets a name of its own; beyond so many of one second and one spec there is something else wrong.
MAX_RUNS_OF_ONE_NAME = 1000
# Room on the disk that a run keeps free for its end, in bytes; so much of it is left for a note of how it ended.
RESERVE_BYTES = 256 << 10
RESERVE_LEFT = 4096
