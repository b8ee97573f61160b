# TFTP, the trivial file transfer protocol: reading and writing files, with options (RFC 1350, 2347, 2348, 2349).
#
#     palaver talk tftp --client 69          tests the server that listens on port 69
#     palaver talk tftp --server 69          tests the clients that connect to port 69
#
# As a client, palaver reads and writes files whose names begin with `palaver-`, and leaves them behind; what it has
# written it must get back. A server for a try is that of Debian (tftpd-hpa), with a folder that anybody may write to:
# `in.tftpd -L -c -u nobody -a 127.0.0.1:69 -s FOLDER`. As a server, it has a file for any name, and takes any.
#
# How to read the rules: <Client:ack> is the message <ack>, sent by the client. A rule with messages in it is a part of
# the session; all other rules tell what messages look like. Each message is a datagram.

include('binary.fan')


# --- Parameters -------------------------------------------------------------------------------------------------------

REPEATS = 1  # [parameter] how often blocks and acknowledgments are sent again, at most; atftpd is confused by that


# --- The session ------------------------------------------------------------------------------------------------------

# The client acknowledges the last block, too, if it was the one who read.
<start>         ::= <transfer>{fewest(),most()}
<transfer>      ::= <deed> <thanks>{owed(<deed>)}
<deed>          ::= <reading> | <writing> | <nonsense>
<thanks>        ::= <Client:ack>

# A request is answered with the first block, with the options that the server agrees to, or with an error.
<reading>       ::= <Client:read_request> <read_answer>
<read_answer>   ::= <Server:refusal> | <blocks> | <Server:offer> <Client:ack> <sized_blocks>
<writing>       ::= <Client:write_request> <write_answer>
<write_answer>  ::= <Server:refusal> | <Server:ack> <sending> | <Server:offer> <sized_sending>
<nonsense>      ::= <Client:strange_request> (<Server:refusal> | <indulgence>)

# [note] RFC 1350 (5) knows the modes netascii, octet and mail; the server takes another one
<indulgence>    ::= (<Server:full> | <Server:last> | <Server:ack>) <Client:refusal>

# A block that is not full is the last one. Each is acknowledged before the next one comes, and who is told again of a
# block that is behind must not send anything twice (RFC 1123, 4.2.3.1).
<blocks>        ::= <Server:full> <Client:ack> <more> | <Server:last>
<more>          ::= <Server:full> <taking> <more> | <Server:last>
<sized_blocks>  ::= <Server:sized_full> <Client:ack> <sized_more> | <Server:sized_last>
<sized_more>    ::= <Server:sized_full> <taking> <sized_more> | <Server:sized_last>
<taking>        ::= <Client:old_ack>{0,repeats()} <Client:ack>

# When a block comes again, the answer to it was lost, and is due again.
<sending>       ::= <Client:full> <Server:ack> <resending>{0,repeats()} <sending> | <Client:last> <Server:ack>
<sized_sending> ::= <Client:sized_full> <Server:ack> <sized_sending> | <Client:sized_last> <Server:ack>
<resending>     ::= <Client:full_again> <Server:ack>


# --- Messages -----------------------------------------------------------------------------------------------------------

<read_request>  ::= b"\x00\x01" <file> b"\x00" <mode> b"\x00" <wishes>
<write_request> ::= b"\x00\x02" <new_file> b"\x00" <mode> b"\x00" <wishes>
<strange_request> ::= rb"\x00[\x01\x02]" <strange_file> b"\x00" <no_mode> b"\x00"
<file>          ::= rb"[^\x00]+" := random.choice(random.choice([list(follow.state.known) or FILES, FILES]))
<new_file>      ::= rb"[^\x00]+" := some_free_file()
<strange_file>  ::= rb"[^\x00]+" := b"palaver-strange"
<mode>          ::= rb"(?i:octet|netascii)" := random.choice([b"octet", b"octet", b"netascii", b"OcTet"])
<no_mode>       ::= rb"(?!(?i:octet|netascii|mail)\x00?\Z)[a-z]+" := b"palaver"

# Options, each with its value. Those that a server does not know are not answered.
<wishes>        ::= <wish>{0,4}
<wish>          ::= <size_wish> | <time_wish> | <total_wish> | <other_wish>
<size_wish>     ::= rb"(?i:blksize)" b"\x00" <asked_size> b"\x00"
<time_wish>     ::= rb"(?i:timeout)" b"\x00" <asked_time> b"\x00"
<total_wish>    ::= rb"(?i:tsize)" b"\x00" <asked_total> b"\x00"
<other_wish>    ::= <other_name> b"\x00" <other_value> b"\x00"
<other_name>    ::= rb"(?!(?i:blksize|timeout|tsize)\Z)[a-z]+" := b"palaver"
<other_value>   ::= rb"[^\x00]+" := b"1"
<asked_size>    ::= r"[1-9][0-9]{0,4}" := random.choice(["32", "100", "512", "1024", "1400"])
<asked_time>    ::= r"[1-9][0-9]{0,2}" := random.choice(["3", "100", "255"])
<asked_total>   ::= r"[0-9]{1,10}" := "0"

<offer>         ::= b"\x00\x06" <grant>{1,4}
<grant>         ::= <size_grant> | <time_grant> | <total_grant>
<size_grant>    ::= rb"(?i:blksize)" b"\x00" <granted_size> b"\x00"
<time_grant>    ::= rb"(?i:timeout)" b"\x00" <granted_time> b"\x00"
<total_grant>   ::= rb"(?i:tsize)" b"\x00" <granted_total> b"\x00"
<granted_size>  ::= r"[1-9][0-9]{0,4}"
<granted_time>  ::= r"[1-9][0-9]{0,2}"
<granted_total> ::= r"[0-9]{1,10}"

# Without an offer a full block has 512 bytes; with one, as many as it says.
<full>          ::= b"\x00\x03" <block> <full_content>
<full_again>    ::= b"\x00\x03" <block> <full_content>
<last>          ::= b"\x00\x03" <block> <last_content>
<sized_full>    ::= b"\x00\x03" <block> rb"(?s:.)"{block_size(<offer>)}
<sized_last>    ::= b"\x00\x03" <block> rb"(?s:.)"{0,block_size(<offer>) - 1}
<full_content>  ::= rb"(?s:.{512})" := some_text(512)
<last_content>  ::= rb"(?s:.{0,511})" := some_text(random.choice([0, 1, 100, 511]))
<ack>           ::= b"\x00\x04" <block>
<old_ack>       ::= b"\x00\x04" <block>
<block>         ::= <u16>

<refusal>       ::= b"\x00\x05\x00" <code> <reason> b"\x00"
<code>          ::= rb"[\x00-\x08]"
<reason>        ::= rb"[^\x00]*" := b"it cannot be done"


# --- What must hold -----------------------------------------------------------------------------------------------------

# Blocks are counted from 1, and each is acknowledged by its number; a request that may go on, and an offer, by 0.
where forall <a> in <read_answer>: <a>.<ack>.<block> == u16(0)
where forall <a> in <read_answer>: <a>.<blocks>.<full>.<block> == u16(1)
where forall <a> in <read_answer>: <a>.<blocks>.<last>.<block> == u16(1)
where forall <a> in <read_answer>: <a>.<sized_blocks>.<sized_full>.<block> == u16(1)
where forall <a> in <read_answer>: <a>.<sized_blocks>.<sized_last>.<block> == u16(1)
where forall <b> in <blocks>: <b>.<ack>.<block> == <b>.<full>.<block>
where forall <b> in <blocks>: <b>.<more>.<full>.<block> == after(<b>.<full>.<block>)
where forall <b> in <blocks>: <b>.<more>.<last>.<block> == after(<b>.<full>.<block>)
where forall <m> in <more>: <m>.<taking>.<ack>.<block> == <m>.<full>.<block>
where forall <m> in <more>: <m>.<taking>.<old_ack>.<block> == before(<m>.<full>.<block>)
where forall <m> in <more>: <m>.<more>.<full>.<block> == after(<m>.<full>.<block>)
where forall <m> in <more>: <m>.<more>.<last>.<block> == after(<m>.<full>.<block>)
where forall <b> in <sized_blocks>: <b>.<ack>.<block> == <b>.<sized_full>.<block>
where forall <b> in <sized_blocks>: <b>.<sized_more>.<sized_full>.<block> == after(<b>.<sized_full>.<block>)
where forall <b> in <sized_blocks>: <b>.<sized_more>.<sized_last>.<block> == after(<b>.<sized_full>.<block>)
where forall <m> in <sized_more>: <m>.<taking>.<ack>.<block> == <m>.<sized_full>.<block>
where forall <m> in <sized_more>: <m>.<taking>.<old_ack>.<block> == before(<m>.<sized_full>.<block>)
where forall <m> in <sized_more>: <m>.<sized_more>.<sized_full>.<block> == after(<m>.<sized_full>.<block>)
where forall <m> in <sized_more>: <m>.<sized_more>.<sized_last>.<block> == after(<m>.<sized_full>.<block>)

where forall <t> in <transfer>: <t>.<thanks>.<ack>.<block> == last_block(<t>.<deed>)

where forall <a> in <write_answer>: <a>.<ack>.<block> == u16(0)
where forall <a> in <write_answer>: <a>.<sending>.<full>.<block> == u16(1)
where forall <a> in <write_answer>: <a>.<sending>.<last>.<block> == u16(1)
where forall <a> in <write_answer>: <a>.<sized_sending>.<sized_full>.<block> == u16(1)
where forall <a> in <write_answer>: <a>.<sized_sending>.<sized_last>.<block> == u16(1)
where forall <s> in <sending>: <s>.<ack>.<block> == <s>.<full>.<block>
where forall <s> in <sending>: <s>.<ack>.<block> == <s>.<last>.<block>
where forall <s> in <sending>: <s>.<resending>.<full_again>.<block> == <s>.<full>.<block>
where forall <s> in <sending>: <s>.<resending>.<full_again>.<full_content> == <s>.<full>.<full_content>
where forall <s> in <sending>: <s>.<resending>.<ack> == <s>.<ack>
where forall <s> in <sending>: <s>.<sending>.<full>.<block> == after(<s>.<full>.<block>)
where forall <s> in <sending>: <s>.<sending>.<last>.<block> == after(<s>.<full>.<block>)
where forall <s> in <sized_sending>: <s>.<ack>.<block> == <s>.<sized_full>.<block>
where forall <s> in <sized_sending>: <s>.<ack>.<block> == <s>.<sized_last>.<block>
where forall <s> in <sized_sending>: <s>.<sized_sending>.<sized_full>.<block> == after(<s>.<sized_full>.<block>)
where forall <s> in <sized_sending>: <s>.<sized_sending>.<sized_last>.<block> == after(<s>.<sized_full>.<block>)

# No option is asked for twice. The server grants none that was not asked for, no larger blocks, and no other time.
where forall <w> in <wishes>: len(set(names_of(<w>))) == len(names_of(<w>))
where forall <r> in <reading>: <r>.<read_answer>.<offer> == fair(<r>.<read_request>, <r>.<read_answer>.<offer>)
where forall <w> in <writing>: <w>.<write_answer>.<offer> == fair(<w>.<write_request>, <w>.<write_answer>.<offer>)

# As a client, palaver does not know how large a file will be that it begins to write.
where forall <w> in <write_request>: not (is_our_client() and b"tsize" in names_of(<w>.<wishes>))

# What was written is there, and is read as it was written.
where reduce(follow, *<deed>, Files()).mistake == ""


# --- Files --------------------------------------------------------------------------------------------------------------

import copy
import random
import time
from functools import reduce

OPTIONS = 8  # the code of errors that are about options
MISSING = b"palaver-missing"
FILES = [b"palaver-a", b"palaver-b", b"palaver-c", MISSING]
LEAST = 4

def after(block):
    return u16((u16.value(block) + 1) % 65536)

def before(block):
    return u16((u16.value(block) - 1) % 65536)

def some_free_file():
    """One that can be written. A server may not have put away that of the last transfer yet."""
    return random.choice([name for name in FILES if name not in (MISSING, follow.state.last)])

def some_text(size):
    """Bytes that are right in both modes: lines that end with CR and LF, and nothing else of these."""
    line = random.choice([b"palaver\r\n", b"x\r\n", b"no lines", b"\x01\xfe\x7f"])
    return (line * (size // len(line))).ljust(size, b"_")

def fields_of(data):
    """The texts of a request or an offer, each of which ends with NUL."""
    return bytes(data)[2:].split(b"\x00")[:-1]

def options_of(texts):
    return {texts[i].lower(): texts[i + 1] for i in range(0, len(texts) - 1, 2)}

def names_of(wishes):
    return [name.lower() for name in bytes(wishes).split(b"\x00")[:-1:2]]

def block_size(offer):
    return int(options_of(fields_of(offer)).get(b"blksize", b"512"))

def fair(request, offer):
    """The offer, if it is right for that request; else one that is."""
    asked, granted = options_of(fields_of(request)[2:]), options_of(fields_of(offer))
    if all(name in asked and is_fair(name, asked[name], granted[name], bytes(request)[1]) for name in granted):
        return bytes(offer)
    names = [name for name in (b"blksize", b"timeout") if name in asked]
    return b"\x00\x06" + b"".join(name + b"\x00" + asked[name] + b"\x00" for name in names)

def is_fair(name, asked, granted, opcode):
    if name == b"blksize":
        return 8 <= int(granted) <= int(asked)
    if name == b"tsize" and opcode == 1:
        return is_our_client()  # its value is known at the end of the file
    return granted == asked

class Files:
    """What is known of the server's files: how each was written or read, and its content then."""

    def __init__(self):
        self.known = {}
        self.last = b""
        self.mistake = ""

    def __repr__(self):
        return "%r, %s" % (self.known, self.mistake or "nothing wrong")

def messages_of(deed):
    return [bytes(each.msg) for each in deed.protocol_msgs()]

def owed(deed):
    """Whether the last message was a block of the server."""
    message = messages_of(deed)[-1]
    return 1 if message[1] == 3 and [each.sender for each in deed.protocol_msgs()][-1] == "Server" else 0

def last_block(deed):
    return messages_of(deed)[-1][2:4]

def follow(files, deed):
    """What is known after a transfer, with what was wrong with it."""
    messages = messages_of(deed)
    following = copy.copy(files)
    if messages[0][:2] not in (b"\x00\x01", b"\x00\x02"):
        return following  # only the messages of the server are made up or read
    name, mode = fields_of(messages[0])[:2]
    mode = mode.lower()
    following.last = name
    blocks = {message[2:4]: message[4:] for message in messages if message[:2] == b"\x00\x03"}
    content = b"".join(blocks[number] for number in blocks)
    is_reading = messages[0][1] == 1
    if not blocks:
        if is_reading and name in files.known and mode in (b"octet", b"netascii") and messages[1][3] != OPTIONS:
            following.mistake = "%r is there" % name
        return following
    if is_reading and is_our_client():
        following.mistake = files.mistake or wrong_content(files, name, mode, content, messages[1])
    following.known = {**files.known, name: (mode, content)}
    return following

def wrong_content(files, name, mode, content, answer):
    if name == MISSING:
        return "%r is not there" % name
    if name in files.known and files.known[name] != (mode, content) and is_comparable(mode, *files.known[name]):
        return "expected %r" % files.known[name][1]
    total = options_of(fields_of(answer)).get(b"tsize") if answer[1] == 6 else None
    if total is not None and mode == b"octet" and int(total) != len(content):
        return "a file of %d bytes was announced" % int(total)
    return ""

def is_comparable(mode, known_mode, content):
    """Whether a file is read as it was written: in netascii, ends of lines are changed unless they are CR LF."""
    rest = content.replace(b"\r\n", b"")
    return mode == known_mode and (mode == b"octet" or b"\r" not in rest and b"\n" not in rest)

follow.state = Files()

def fewest():
    """As a client, palaver has several files to move. As a server, it serves one and is done."""
    return LEAST if is_our_client() else 1

def most():
    return 2 * LEAST if is_our_client() else 1

def repeats():
    """As a client, palaver sometimes says what it has said before."""
    return REPEATS if is_our_client() else 0

def is_our_client():
    """False also if nobody plays, because conversations are made up or read."""
    client = FandangoIO.instance().parties.get("Client")
    return client is not None and client.is_fuzzer_controlled()


# --- Parties ------------------------------------------------------------------------------------------------------------

# Whoever hears the same once more after a while was not heard, and says again what it said.
PATIENCE = 0.5

class Speaker(NetworkParty):
    def __init__(self, mode):
        super().__init__("udp://127.0.0.1:69", connection_mode=mode)
        self.fresh_port = True  # the server answers from a port that is for this transfer alone
        self.said, self.heard, self.heard_at = None, None, 0.0  # when that was heard for the first time

    def send(self, message, recipient):
        self.said = bytes(message)
        super().send(message, recipient)

    def receive(self, message, sender):
        if message == self.heard and time.monotonic() - self.heard_at > PATIENCE:
            super().send(self.said, None)
            return
        if message != self.heard:
            self.heard, self.heard_at = message, time.monotonic()
        super().receive(message, sender)

class Client(Speaker):
    def __init__(self):
        super().__init__(ConnectionMode.CONNECT)
        self.start()

    def send(self, message, recipient):
        if bytes(message)[1] < 3:  # a request comes from a new port, too
            self.heard = None
            self.stop()
            self.start()
        super().send(message, recipient)

class Server(Speaker):
    def __init__(self):
        super().__init__(ConnectionMode.EXTERNAL)
