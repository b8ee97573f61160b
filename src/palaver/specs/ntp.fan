# NTP, the network time protocol: a client asks a server for the time (RFC 5905)
#
#     palaver talk ntp --client 123          tests the server that listens on port 123
#     palaver talk ntp --server 123          tests the clients that connect to port 123
#
# A server for a try is that of Debian (chrony). With `port 11123`, `allow 127.0.0.0/8` and `local` in a file it serves at
# that port, and with `chronyd -x -d -f FILE` it leaves the clock alone. As a server, palaver tells any time: never let a
# client that sets a clock ask it.
#
# How to read the rules: <Client:request> is the message <request>, sent by the client. A rule with messages in it is a
# part of the session; all other rules tell what messages look like. Each message is a datagram of 48 bytes.

include('binary.fan')


# --- The session ------------------------------------------------------------------------------------------------------

<start>         ::= <exchange>{fewest(),most()}
<exchange>      ::= <Client:request> <Server:response>


# --- Messages -----------------------------------------------------------------------------------------------------------

# Two bits about leap seconds, three for the version, three for the mode: 3 is a client, 4 a server. A client may leave
# everything else 0, or put anything there; what counts is when it has sent the request, which comes back as the origin.
<request>       ::= <asked_leap> <version> 0 1 1 <asked_stratum> <poll> <u8> <u32> <u32> <u32> <asked_times> <transmit>
<response>      ::= (<leap> <version> 1 0 0 <stratum> <poll> <precision> <delay> <dispersion> <source>
                     <reference> <origin> <receive> <later>)

<asked_leap>    ::= <bit> <bit>
<asked_stratum> ::= <u8>
<asked_times>   ::= rb"(?s:.{24})"
<leap>          ::= 0 0 | 0 1 | 1 0 | 1 1
<version>       ::= 0 0 1 | 0 1 0 | 0 1 1 | 1 0 0
<stratum>       ::= rb"[\x00-\x10]" := b"\x02"
<poll>          ::= <u8> := u8(random.choice([0, 4, 6, 10, 17]))
<precision>     ::= <u8> := i8(-20)
<delay>         ::= <u32> := u32(0)
<dispersion>    ::= <u32> := u32(1)
<source>        ::= <u32>
<transmit>      ::= <u64>

# Times are seconds since 1900, and 32 bits of fractions.
<reference>     ::= <u64> := u64(NOW)
<origin>        ::= <u64>
<receive>       ::= <u64> := u64(NOW + random.randrange(1000))
<later>         ::= <u64> := u64(NOW + 1000 + random.randrange(1000))


# --- What must hold -----------------------------------------------------------------------------------------------------

# The response belongs to the request; version and poll interval are copied from there (RFC 4330, 6).
where forall <e> in <exchange>: <e>.<response>.<origin> == bytes(<e>.<request>.<transmit>)
where forall <e> in <exchange>: <e>.<response>.<version> == <e>.<request>.<version>
where forall <e> in <exchange>: <e>.<response>.<poll> == <e>.<request>.<poll>

# Who tells a server its own times may be answered in interleaved mode (RFC 9769), which is not described here.
where forall <r> in <request>: <r>.<asked_times> == plain(<r>.<asked_times>)

# It comes after the request, and its clock was set before (7.3). A clock that was never set is said to be so: leap 3, and
# the stratum 16, or 0 with a reason (7.4).
where forall <r> in <response>: u64.value(<r>.<receive>) <= u64.value(<r>.<later>)
where forall <r> in <response>: u64.value(<r>.<reference>) <= u64.value(<r>.<later>)
where forall <r> in <response>: (int(<r>.<leap>) == 3) == (u8.value(<r>.<stratum>) in (0, 16))

# Time goes on.
where reduce(follow, *<exchange>, Clock()).mistake == ""


# --- The clock ----------------------------------------------------------------------------------------------------------

import random
from functools import reduce

NOW = 0xE0000000 << 32

class Clock:
    """When the server has sent its last response, by its own clock."""

    def __init__(self, last=0, mistake=""):
        self.last = last
        self.mistake = mistake

    def __repr__(self):
        return "%s, %s" % (self.last / 2 ** 32, self.mistake or "nothing wrong")

def follow(clock, exchange):
    response = bytes(list(exchange.protocol_msgs())[-1].msg)
    received, sent = u64.value(response[32:40]), u64.value(response[40:48])
    if clock.mistake:
        return clock  # what was wrong does not become right by what is said later
    is_wrong = is_our_client() and received < clock.last
    return Clock(sent, "a request came before the last response had left" if is_wrong else "")

follow.state = Clock()

def plain(times):
    """As a client, palaver leaves the other times of a request 0."""
    return bytes(24) if is_our_client() else bytes(times)

def fewest():
    """As a client, palaver asks several times. As a server, it tells the time once."""
    return 5 if is_our_client() else 1

def most():
    return 10 if is_our_client() else 1

def is_our_client():
    """False also if nobody plays, because conversations are made up or read."""
    client = FandangoIO.instance().parties.get("Client")
    return client is not None and client.is_fuzzer_controlled()


# --- Parties ------------------------------------------------------------------------------------------------------------

class Client(NetworkParty):
    def __init__(self):
        super().__init__("udp://127.0.0.1:123", connection_mode=ConnectionMode.CONNECT)
        self.start()

class Server(NetworkParty):
    def __init__(self):
        super().__init__("udp://127.0.0.1:123", connection_mode=ConnectionMode.EXTERNAL)
