"""The limits of a campaign, and of the system under test. Times are in seconds."""

# Sessions in a row without a single message: there is no peer, and the campaign stops.
MAX_SILENT_SESSIONS = 3
# The same where the spec allows to say nothing, and chance alone ends sessions so.
MAX_EMPTY_SESSIONS = 100
# Messages in a row that cover nothing new: the campaign is on a plateau, whatever the plans say.
MAX_MESSAGES_WITHOUT_GAIN = 2_000
# Sessions at random, and messages in them, that must cover nothing new before the campaign is on a plateau: as many as
# the least numbers of both, or one of the greatest.
MIN_RANDOM_SESSIONS, MAX_RANDOM_SESSIONS = 6, 12
MIN_RANDOM_MESSAGES, MAX_RANDOM_MESSAGES = 60, 90
# So many of them are in one session: a random walk of a long dialogue would be the whole check.
MAX_MESSAGES_OF_CHECK = 30
# Messages by which guidance has covered nothing before that count as such, but at most so many.
MAX_TRIED_THAT_COUNTS = 50
# With --until coverage: how often what was given up is tried again, each time with twice the attempts.
MAX_RETRIES = 4
# Unless --session-time is given, a session may take so many times the timeout, and so long for each allowed message.
SESSION_TIMEOUTS = 10
SESSION_SECONDS_PER_MESSAGE = 0.1
# Sessions begin beside others while at most so many have not heard of their peer: a server may accept only a few
# connections at once, and those beyond are lost for a second or more.
MAX_UNHEARD_SESSIONS = 4
# A peer that hangs up may do so because of a pause of ours that was so long: servers of HTTP keep idle connections for
# some seconds, and on a busy machine a message may take us longer.
LONG_PAUSE = 1.0
# While nothing happens there is an event this often.
WAITING_EVENT_EVERY = 0.25

# The output of the system under test that is kept: its end, where a crash is reported.
MAX_OUTPUT_BYTES = 8192
MAX_OUTPUT_LINES_SHOWN = 12
# Reports of errors are looked for in so many characters of a line, and end after so many lines; of a session so many
# are kept.
MAX_OUTPUT_LINE = 4096
MAX_REPORT_LINES = 200
MAX_REPORTS = 20
# A program that crashes after a whole session may do so because of any session that had ended so shortly before; so
# many of them are remembered.
LATE_CRASH_SECONDS = 0.1
MAX_LATE_SESSIONS = 256
# A server may take so long until it listens, unless --start-timeout is given.
START_TIMEOUT = 10.0
# A command that prepares, resets or cleans up may take so long.
SIDE_COMMAND_SECONDS = 60.0
# Processes that a server has started are looked for so often that it takes no more than this share of the time. So many
# samples of memory are kept, so many are needed to tell a trend, and only growth by so many bytes is told.
MEMORY_SHARE = 0.03
MAX_MEMORY_SAMPLES = 1024
MIN_MEMORY_SAMPLES = 40
MIN_MEMORY_GROWTH = 1 << 20
# A program with so much address space has a sanitizer.
SHADOW_MEMORY_BYTES = 1 << 40
# The operating system does not say when a program begins to listen, so we look this often, only while it starts.
LISTEN_CHECK_EVERY = 0.02
# The time before a server that could not be started again is tried once more: its port may still be in use.
RESTART_PAUSE = 0.2
# A peer that closed without a word may have crashed; the operating system tells so a moment later.
EXIT_WAIT = 0.5
# After the last session a server is watched so long.
LAST_WATCH = 0.1
# A report of an error that has begun is waited for so long.
REPORT_WAIT = 1.0

# What guidance has learnt of the spec stays. Python's collector looks through it once more when its size, in nodes of
# the dialogue map and in paths, has grown by this factor and this number, and never again.
GROWTH_THAT_IS_KEPT = 1.25
LEAST_THAT_IS_KEPT = 10_000

# Workers elsewhere: each has so many units of work at a time, so that it need not wait for the next one.
UNITS_AHEAD = 2
# Sessions of a unit that has no tours: so many at first, and then as many as take so long.
FIRST_SESSIONS_OF_UNIT = 2
MAX_SESSIONS_OF_UNIT = 500
SECONDS_OF_UNIT = 0.5
# Counts that workers learn are told to the others this often; paths that are covered are told with each session.
COUNTS_TOLD_EVERY = 0.5
# When all is over, workers may take so long to end what they do, and to end their systems under test.
SECONDS_TO_LEAVE = 10.0
# So many workers may be lost, one after the other, before any has come to the end of a session.
MAX_WORKERS_LOST = 5
