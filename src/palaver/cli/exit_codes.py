"""The exit codes of the command `palaver`.

0    all that was asked for was done, and nothing was wrong
1    findings that are not known: a session failed, an input was rejected, too few solutions were found, a crash
2    wrong use, a wrong spec, a finding that could not be tried again, as nobody answered, or a run that could not go on
3    palaver itself failed
4    undecided: nobody was there to be tested, a session was cut off, or a limit was reached before it was known if an
     input conforms
124  the time of a run was over before one session had ended and anything was received
129  ended by SIGHUP, 130 by Ctrl-C, 143 by SIGTERM
"""

from __future__ import annotations

FINDINGS, WRONG_USE, OUR_FAILURE, UNDECIDED, INTERRUPTED = 1, 2, 3, 4, 130
OUT_OF_TIME = 124  # as `timeout` has it
# What a shell adds to the number of the signal that has ended a program.
BY_SIGNAL = 128
