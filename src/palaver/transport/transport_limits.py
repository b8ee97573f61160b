"""Limits of the transports. They cost time or memory only; all but one never change the outcome of a session."""

# Listeners that no connection uses. A session may listen at a new port each time, as FTP does; the oldest are closed.
MAX_IDLE_LISTENERS = 16

# Clients that connect while we talk to another one. The system refuses more.
LISTEN_BACKLOG = 128

# Reads before a socket is closed, so that closing does not reset the connection; a peer that sends more than that
# without pause is not listening anyway.
MAX_DRAIN_READS = 64
DRAIN_READ_BYTES = 65536

# The longest datagram there is; the rest of a longer one would be lost.
MAX_DATAGRAM_BYTES = 65535

# Datagrams of other senders that wait for the next session, as clients of streams do; the system drops more, too.
MAX_WAITING_DATAGRAMS = 128
# Addresses of earlier peers that are remembered, so that what they send late begins no session.
MAX_FORMER_PEERS = 1_024

# Bytes that are received at once.
MAX_READ_BYTES = 65536

# Bytes that TLS reads, decrypts or encrypts at once.
TLS_CHUNK_BYTES = 65536

# Bytes that a peer may send in a TLS handshake. Chains of certificates take a few thousand; a peer that sends more than
# this never completes it, and the connection fails.
MAX_HANDSHAKE_BYTES = 1 << 20

# A server that is just starting refuses, or its unix socket is not there yet. Seconds until it is asked again.
CONNECT_RETRY_SECONDS = 0.01

# Closing: for data to leave, for a handshake to be completed, and for a program to end before it is killed. A run must
# not end more than a second after its time.
CLOSE_GRACE_SECONDS = 0.75

# A program that has closed its output ends soon, and its exit code is worth waiting for; some go on in silence.
EXIT_WAIT_SECONDS = 1.0
# Where the system cannot tell that a program has ended, we look this often while it is about to end,
EXIT_POLL_SECONDS = 0.01
# and this often while it is not, and has closed its output.
SILENT_POLL_SECONDS = 0.25

# Making a certificate.
CERTIFICATE_SECONDS = 30
# Bytes of a program's errors that are read at once; a line of them that is longer is shown before it ends.
MAX_ERROR_READ = 1 << 16
MAX_ERROR_LINE = 4_096
