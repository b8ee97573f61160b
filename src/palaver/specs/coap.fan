# CoAP, the constrained application protocol: resources of a small device, with a model of them (RFC 7252).
#
#     palaver talk coap --client 5683        tests the server that listens on port 5683
#     palaver talk coap --server 5683        tests the clients that connect to port 5683
#
# As a client, palaver writes, reads and deletes what is at the paths `palaver/a`, `palaver/b` and `palaver/c`. A server for
# a try is that of Debian (libcoap3-bin), which makes resources when they are written: `coap-server-notls -A 127.0.0.1 -d 10`.
# As a server, it gives any answer that fits the request.
#
# How to read the rules: <Client:ping> is the message <ping>, sent by the client. A rule with messages in it is a part of
# the session; all other rules tell what messages look like. Each message is a datagram.

include('binary.fan')


# --- Parameters -------------------------------------------------------------------------------------------------------

PATHS = ["palaver/a", "palaver/b", "palaver/c"]  # [parameter] resources that are written, read and deleted
PINGS = 3  # [parameter] how often a session begins by asking whether somebody is there, at most
CONDITIONS = True  # [parameter] whether some resources are only to be written if they are not there yet
FORMATS = True  # [parameter] whether some resources are only to be read in one format
MISTAKES = ["class 1", "class 6", "class 7", "long token", "full ping", "bare marker", "delta 15", "length 15", "cut option", "version", "method", "option"]  # [parameter] what is done wrong, to be rejected


# --- The session ------------------------------------------------------------------------------------------------------

<start>         ::= <pinging>{0,PINGS} <exchange>{fewest(),most()}
<exchange>      ::= <confirmed> | <unconfirmed> | <rejected> | <ignored>

# What is confirmable (CON) is acknowledged. The response travels with the acknowledgment (ACK), or comes later; then it
# is confirmable itself, or not (NON). It may overtake the acknowledgment, which is not due any more (4.2, 5.2.2).
<confirmed>     ::= <Client:con_request> <answer>
<answer>        ::= <Server:ack_response> | <Server:ack> <separate> | <separate>
<separate>      ::= <Server:con_response> <Client:thanks> | <Server:non_response>
<unconfirmed>   ::= <Client:non_request> (<Server:non_response> | <insisting>)
<insisting>     ::= <Server:con_response> <Client:thanks>

# An empty message is answered by a reset (RST), and so is what cannot be understood (4.2, 4.3). Messages of another version
# are ignored (3), and so are answers to nothing (4.2).
<pinging>       ::= <Client:ping> <Server:reset>
<rejected>      ::= <Client:wrong> <Server:reset>
<ignored>       ::= <Client:ignorable> <confirmed>


# --- Messages: the version (1), a type, how long the token is; a code, a number, the token, options and a payload -----------

<con_request>   ::= 0 1 0 0 <token_length> <request>
<non_request>   ::= 0 1 0 1 <token_length> <plain_request>
<request>       ::= <get> | <put> | <post> | <delete> | <strange> | <critical>
<plain_request> ::= <get> | <put> | <post> | <delete>
<get>           ::= b"\x01" <message_id> <token> <get_options>
<post>          ::= b"\x02" <message_id> <token> <post_options> <payload>?
<put>           ::= b"\x03" <message_id> <token> <put_options> <payload>?
<delete>        ::= b"\x04" <message_id> <token> <path_options>

# A method that there is not, and an option that must be understood (its number, 65001, is odd), and is not.
<strange>       ::= <no_method> <message_id> <token> <path_options>
<no_method>     ::= rb"[\x01\x08-\x1f]" := u8(random.randrange(8, 32) if "method" in MISTAKES else GET)
<critical>      ::= b"\x01" <message_id> <token> <path_options> <no_option>
<no_option>     ::= rb"\xe1\xfc[\xd0\xd1]x" := b"\xe1\xfc" + (b"\xd1x" if "option" in MISTAKES else b"\xd0x")

<ack_response>  ::= 0 1 1 0 <token_length> <response>
<con_response>  ::= 0 1 0 0 <token_length> <response>
<non_response>  ::= 0 1 0 1 <token_length> <response>
<response>      ::= <code> <message_id> <token> <response_options> <payload>?
<code>          ::= rb"[\x41-\x5f\x80-\xbf]" := bytes([random.choice(CODES)])

<ping>          ::= b"\x40\x00" <message_id> := b"\x40\x00" + ping_id()
<ack>           ::= b"\x60\x00" <message_id>
<thanks>        ::= b"\x60\x00" <message_id>
<reset>         ::= b"\x70\x00" <message_id>

<token_length>  ::= 0 <bit> <bit> <bit> | 1 0 0 0
<token>         ::= <byte>{int(<token_length>)}
<message_id>    ::= <u16> := some_id()
<payload>       ::= b"\xff" <content>
<content>       ::= rb"(?s:.+)" := random.choice(CONTENTS)


# --- Options: each begins with the difference to the number of the option before it, and with its length --------------------

<get_options>   ::= <option>* := some_options(ETAG, PATH, QUERY, ACCEPT, ELECTIVE)
<put_options>   ::= <option>* := some_options(NONE_MATCH, PATH, FORMAT, ELECTIVE)
<post_options>  ::= <option>* := some_options(PATH, FORMAT, QUERY)
<path_options>  ::= <option>* := some_options(PATH)
<response_options> ::= <option>* := some_options(ANY_ETAG, FORMAT, MAX_AGE, ELECTIVE)

# Four bits each, which are not all set. Numbers from 13 on have another byte, those from 269 on have two.
<option>        ::= <head> <value>
<head>          ::= <delta_and_length> <more>
<delta_and_length> ::= rb"[\x00-\xef]"
<more>          ::= <byte>{bytes_behind(<delta_and_length>)}
<value>         ::= <byte>{length_in(<head>)}


# --- Mistakes -------------------------------------------------------------------------------------------------------------

# They fit no message that is right, so that nobody can take the one for the other.
<wrong>         ::= rb"\x40[\0\x01\x20-\x3f\xc0-\xff]|[\x49-\x4f]\x01" <message_id> rb"(?s:|\xb1a|\x01{15}|[^\xff]*\xff|[\xf0-\xfe].*|\xbf.*|[\xb2-\xb9]a)" := some_mistake()
<ignorable>     ::= rb"[\x60\x70]\x00|[\x00\x80\xc0]\x01" <message_id> := some_ignorable()


# --- What must hold -----------------------------------------------------------------------------------------------------

# An acknowledgment and a reset have the number of what they answer, a response has the token of its request (4.2, 5.3.2).
where forall <c> in <confirmed>: <c>.<answer>.<ack_response>.<response>.<message_id> == <c>.<con_request>..<message_id>
where forall <c> in <confirmed>: <c>.<answer>.<ack>.<message_id> == <c>.<con_request>..<message_id>
where forall <c> in <confirmed>: <c>.<answer>..<token_length> == <c>.<con_request>.<token_length>
where forall <c> in <confirmed>: <c>.<answer>..<token> == <c>.<con_request>..<token>
where forall <u> in <unconfirmed>: <u>.<non_response>.<token_length> == <u>.<non_request>.<token_length>
where forall <u> in <unconfirmed>: <u>.<insisting>.<con_response>.<token_length> == <u>.<non_request>.<token_length>
where forall <u> in <unconfirmed>: <u>..<response>.<token> == <u>.<non_request>..<token>
where forall <s> in <separate>: <s>.<thanks>.<message_id> == <s>.<con_response>.<response>.<message_id>
where forall <i> in <insisting>: <i>.<thanks>.<message_id> == <i>.<con_response>.<response>.<message_id>
where forall <p> in <pinging>: <p>.<reset>.<message_id> == <p>.<ping>.<message_id>
where forall <r> in <rejected>: <r>.<reset>.<message_id> == <r>.<wrong>.<message_id>

# The code is one that such a request can be answered with (5.8). Valid (2.03) has a tag, and no payload (5.9.1.3). An
# answer has one tag at most (5.10.6.1).
where forall <c> in <confirmed>: <c>.<answer>..<code> == fitting(<c>.<con_request>, <c>.<answer>..<code>)
where forall <u> in <unconfirmed>: <u>..<code> == fitting(<u>.<non_request>, <u>..<code>)
where forall <r> in <response>: is_complete(<r>)

# Options that occur once, and their lengths (5.10).
where forall <r> in <response_options>: are_sound(<r>)

# What was written is there, and is read as it was written; what was deleted is gone.
where reduce(follow, *<exchange>, Resources()).mistake == ""

# [note] RFC 7252 (5.8.3, 5.8.4): what is made is answered with 2.01, what is changed with 2.04, what is not there any more with 2.02
where reduce(follow, *<exchange>, Resources()).advice == ""

# [note] RFC 7252 (5.9.3): the server has an error
where forall <c> in <code>: not is_failure(<c>)

# Only as a client, palaver makes mistakes: those of a client under test are told.
where forall <w> in <wrong>: is_our_client()
where forall <i> in <ignorable>: is_our_client()


# --- Resources ------------------------------------------------------------------------------------------------------------

import copy
import random
from functools import reduce

GET, POST, PUT, DELETE = 1, 2, 3, 4
CREATED, DELETED, VALID, CHANGED, CONTENT = 0x41, 0x42, 0x43, 0x44, 0x45
BAD_OPTION, NOT_FOUND, NO_METHOD, NOT_ACCEPTABLE, PRECONDITION = 0x82, 0x84, 0x85, 0x86, 0x8C
CODES = [CREATED, DELETED, CHANGED, CONTENT, CONTENT, NOT_FOUND, NO_METHOD, 0x80, 0x81, 0x83, 0xA3]
SUCCESSES = {GET: [CONTENT, VALID], POST: [CHANGED, CREATED, DELETED], PUT: [CHANGED, CREATED], DELETE: [DELETED]}
CONTENTS = [b"x", b"palaver", b"two\nlines", b"\x00\xff\xff", b"caf\xc3\xa9", b"0123456789" * 30]

# The numbers of options that are used, each with a function that draws a value, or none.
ETAG, NONE_MATCH, PATH, FORMAT, MAX_AGE, QUERY, ACCEPT, ELECTIVE, ANY_ETAG = 4, 5, 11, 12, 14, 15, 17, 65000, -4
# May be unknown to a server, and then it says so.
NOT_FOR_ALL = [1, NONE_MATCH, QUERY, ACCEPT]
BYTES_MORE = {**dict.fromkeys(range(13), 0), 13: 1, 14: 2}
LENGTHS = {ETAG: (1, 8), FORMAT: (0, 2), MAX_AGE: (0, 4)}

def some_options(*numbers):
    """Options of these numbers, of which all but the path may be left out."""
    chosen = []
    for number in numbers:
        if number == PATH:
            chosen += [(PATH, part) for part in some_path().split(b"/")]
        elif random.random() < 0.3:
            chosen += [(abs(number), value) for value in some_values(number)]
    return encoded(chosen)

def some_path():
    """Rather the last one again: what was done to it is seen then."""
    last = follow.state.last
    return last if last and random.random() < 0.6 else random.choice(PATHS).encode()

def some_values(number):
    if number == ETAG:
        known = list(follow.state.tags.get(follow.state.last, ()))
        return random.sample(known, min(len(known), 2))
    if number == NONE_MATCH:
        return [b""] if CONDITIONS else []
    if number == ACCEPT and not FORMATS:
        return []
    return [random.choice({FORMAT: [b"", b"\x2a", b"\x32"], QUERY: [b"q=1", b"a" * 20], ACCEPT: [b""], MAX_AGE: [b"", b"\x3c"],
                           ELECTIVE: [b"", b"x", b"y" * 300], ANY_ETAG: [b"1", b"12345678"]}[number])]

def encoded(options):
    """Numbers and values as they travel, in the order of the numbers."""
    data, last = b"", 0
    for number, value in options:
        delta, more_delta = nibble(number - last)
        length, more_length = nibble(len(value))
        data += bytes([delta << 4 | length]) + more_delta + more_length + value
        last = number
    return data

def nibble(number):
    """Four bits, and what they have no room for."""
    if number < 13:
        return number, b""
    return (13, u8(number - 13)) if number < 269 else (14, u16(number - 269))

def bytes_behind(delta_and_length):
    """How many bytes more there are of these two numbers. Neither is 15, which raises KeyError."""
    both = bytes(delta_and_length)[0]
    return BYTES_MORE[both >> 4] + BYTES_MORE[both & 15]

def length_in(head):
    return decoded_head(bytes(head))[1]

def decoded_head(data):
    """The difference to the last number, the length of the value, and that of the head."""
    place, found = 1, []
    for four in (data[0] >> 4, data[0] & 15):
        size = BYTES_MORE[four]
        rest = int.from_bytes(data[place:place + size], "big")
        found.append(four if size == 0 else rest + (13 if size == 1 else 269))
        place += size
    return found[0], found[1], place

def decoded(data):
    """Pairs of numbers and values, and the payload."""
    options, number = [], 0
    while data and data[0] != 0xFF:
        delta, length, size = decoded_head(data)
        number += delta
        options.append((number, data[size:size + length]))
        data = data[size + length:]
    return options, data[1:]

class Message:
    """A message, taken apart."""

    def __init__(self, data):
        data = bytes(data)
        self.code = data[1]
        self.options, self.payload = decoded(data[4 + (data[0] & 15):])
        self.place = b"/".join(self.values(PATH))  # no `path`: conditions that ask for that have no state

    def values(self, number):
        return [value for each, value in self.options if each == number]

def fitting(request, code):
    """The code, if such a request can be answered so; else one that is right."""
    request, code = Message(request), bytes(code)
    if request.code not in SUCCESSES:
        return bytes([NO_METHOD])
    if 65001 in [number for number, _ in request.options]:
        return bytes([BAD_OPTION])
    asked = {number for number, _ in request.options}
    right = list(SUCCESSES[request.code])
    if request.code == GET and not request.values(ETAG):
        right.remove(VALID)
    if code[0] in right or code[0] >= 0x80 and is_reason(code[0], asked):
        return code
    return bytes([right[0]])

def is_reason(code, asked):
    """Whether a request with these options may be refused so."""
    needs = {NOT_ACCEPTABLE: [ACCEPT], PRECONDITION: [1, NONE_MATCH], BAD_OPTION: NOT_FOR_ALL}
    return code not in needs or any(number in asked for number in needs[code])

def is_failure(code):
    return is_our_client() and bytes(code)[0] >= 0xA0

def is_complete(response):
    told = Message(u8(len(bytes(response.children[2]))) + bytes(response))
    return told.code != VALID or len(told.values(ETAG)) == 1 and not told.payload

def are_sound(options):
    found, _ = decoded(bytes(options))
    numbers = [number for number, _ in found]
    once = all(numbers.count(number) <= 1 for number in LENGTHS)
    return once and all(LENGTHS[number][0] <= len(value) <= LENGTHS[number][1] for number, value in found if number in LENGTHS)

class Resources:
    """What is known: the contents by their paths (None if there is no such resource), and what tags stand for."""

    def __init__(self):
        self.contents, self.tags, self.ids, self.last = {}, {}, frozenset(), b""
        self.mistake = self.advice = ""

    def __repr__(self):
        return "%r, %s" % (self.contents, self.mistake or self.advice or "nothing wrong")

def follow(resources, exchange):
    """What is known after an exchange, with what was wrong with it."""
    following = copy.copy(resources)
    following.ids = resources.ids | {bytes(each.msg)[2:4] for each in exchange.protocol_msgs()}
    requests = said(exchange, "<con_request>", "<non_request>")
    answers = said(exchange, "<ack_response>", "<con_response>", "<non_response>")
    if not answers or not is_our_client():
        return following
    following.contents, following.tags = dict(resources.contents), copy.deepcopy(resources.tags)
    request, answer = requests[-1], answers[-1]
    following.last = request.place
    if answer.code not in (BAD_OPTION, NO_METHOD) and request.code in FOLLOW:
        FOLLOW[request.code](following, request, answer)
    return following

def said(exchange, *symbols):
    return [Message(each) for symbol in symbols for each in exchange.find_all_trees(symbol)]

def got(resources, request, answer):
    path, known = request.place, resources.contents.get(request.place, answer.payload)
    if answer.code == CONTENT:
        if known is None:
            resources.mistake = "%r was deleted" % path
        elif known != answer.payload:
            resources.mistake = "expected %r" % known
        if request.values(ACCEPT) and answer.values(FORMAT) and number_in(answer.values(FORMAT)) != number_in(request.values(ACCEPT)):
            resources.mistake = "another format was asked for"
        resources.contents[path] = answer.payload
        for tag in answer.values(ETAG):
            remember(resources, path, tag, answer.payload)
    elif answer.code == VALID:
        tag = answer.values(ETAG)[0] if answer.values(ETAG) else None
        if tag not in request.values(ETAG):
            resources.mistake = "the tag is none of those that were asked for"
        elif path in resources.contents and resources.tags.get(path, {}).get(tag) != resources.contents[path]:
            resources.mistake = "that tag is of other content"
    elif answer.code == NOT_FOUND:
        missing(resources, path)

def number_in(values):
    return int.from_bytes(values[0], "big")

def remember(resources, path, tag, content):
    tags = resources.tags.setdefault(path, {})
    if tags.setdefault(tag, content) != content:
        resources.mistake = "the same tag stood for %r" % tags[tag]

def missing(resources, path):
    if resources.contents.get(path) is not None:
        resources.mistake = "%r is there" % path
    resources.contents[path] = None

def put(resources, request, answer):
    path, known = request.place, resources.contents.get(request.place, "unknown")
    is_there = known is not None
    if answer.code == PRECONDITION and not is_there:
        resources.mistake = "%r is not there" % path
    if answer.code not in SUCCESSES[PUT]:
        return
    if request.values(NONE_MATCH) and is_there and known != "unknown":
        resources.mistake = "%r was there" % path
    if known != "unknown" and answer.code != (CHANGED if is_there else CREATED):
        resources.advice = "%r was %s" % (path, "there" if is_there else "not there")
    resources.contents[path] = request.payload
    for tag in answer.values(ETAG):
        remember(resources, path, tag, request.payload)

def deleted(resources, request, answer):
    if answer.code == DELETED:
        resources.contents[request.place] = None
    elif answer.code == NOT_FOUND:
        missing(resources, request.place)
        resources.advice = resources.advice or "%r is not there" % request.place

def posted(resources, request, answer):
    """A resource decides itself what it does with that."""
    if answer.code in SUCCESSES[POST]:
        resources.contents.pop(request.place, None)

FOLLOW = {GET: got, POST: posted, PUT: put, DELETE: deleted}
follow.state = Resources()

def some_id():
    """A number that this session has not used yet: what has that of an earlier message is taken for its copy (4.4)."""
    free = u16(random.randrange(32768))
    while free in follow.state.ids:
        free = u16(random.randrange(32768))
    return free

def ping_id():
    """A number that is none of those above."""
    return u16(random.randrange(32768, 65536))

# What is wrong before and behind the number of a message: codes of reserved classes, a token of more than 8 bytes, an
# empty message that is not empty, a marker without a payload, numbers that are reserved, and an option that is cut off.
WRONG = {
    "class 1": lambda: (b"\x40" + u8(random.randrange(0x20, 0x40)), b""),
    "class 6": lambda: (b"\x40" + u8(random.randrange(0xC0, 0xE0)), b""),
    "class 7": lambda: (b"\x40" + u8(random.randrange(0xE0, 0x100)), b""),
    "long token": lambda: (u8(random.randrange(0x49, 0x50)) + b"\x01", b"\x01" * 15),
    "full ping": lambda: (b"\x40\x00", b"\xb1a"),
    "bare marker": lambda: (b"\x40\x01", some_options(PATH) + b"\xff"),
    "delta 15": lambda: (b"\x40\x01", u8(random.randrange(0xF0, 0xFF)) + b"0123456789abcdef"),
    "length 15": lambda: (b"\x40\x01", b"\xbf0123456789abcdef"),
    "cut option": lambda: (b"\x40\x01", u8(random.randrange(0xB2, 0xBA)) + b"a"),
}

def some_mistake():
    """One of those that are made; an empty message if there is none."""
    names = [name for name in WRONG if name in MISTAKES]
    before, behind = WRONG[random.choice(names)]() if names else (b"\x40\x00", b"")
    return before + some_id() + behind

def some_ignorable():
    """An acknowledgment or a reset of what nobody has said, or another version."""
    versions = [b"\x00\x01", b"\x80\x01", b"\xc0\x01"] if "version" in MISTAKES else []
    return random.choice([b"\x60\x00", b"\x70\x00", *versions]) + some_id()

def fewest():
    """As a client, palaver has some things to ask. As a server, it answers once."""
    return 15 if is_our_client() else 1

def most():
    return 25 if is_our_client() else 1

def is_our_client():
    """False also if nobody plays, because conversations are made up or read."""
    client = FandangoIO.instance().parties.get("Client")
    return client is not None and client.is_fuzzer_controlled()


# --- Parties ------------------------------------------------------------------------------------------------------------

# Whoever hears a confirmable message again was not heard, and says again what it said (4.2).
class Speaker(NetworkParty):
    def __init__(self, mode):
        super().__init__("udp://127.0.0.1:5683", connection_mode=mode)
        self.said, self.heard = None, None

    def send(self, message, recipient):
        self.said = bytes(message)
        super().send(message, recipient)

    def receive(self, message, sender):
        is_again = message is not None and message == self.heard and message[0] >> 4 == 4
        if is_again and self.said is not None:
            super().send(self.said, None)
        if not is_again:
            self.heard, self.said = message, None
            super().receive(message, sender)

class Client(Speaker):
    def __init__(self):
        super().__init__(ConnectionMode.CONNECT)
        self.start()

class Server(Speaker):
    def __init__(self):
        super().__init__(ConnectionMode.EXTERNAL)
