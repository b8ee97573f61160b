# WebSocket (RFC 6455): the handshake, text and bytes in one frame or several, masks, pings, and the end of a connection.
#
#     palaver talk websocket --client 80     tests the server that listens on port 80
#     palaver talk websocket --server 80     tests the clients that connect to port 80
#
# What is said in messages is a matter of the application. As a client, palaver expects that of an echo: each message comes
# back as it was, in one frame or several. As a server, it gives some answer to each message.
#
# How to read the rules: <Client:ping> is the message <ping>, sent by the client. A rule with messages in it is a part of
# the session; all other rules tell what messages look like. A message of this spec is a frame of the protocol.

include('binary.fan')


# --- Parameters -------------------------------------------------------------------------------------------------------

HOST = "localhost"  # [parameter] the name of the server
PATH = "/"  # [parameter] what is asked for
BINARY = True  # [parameter] whether the server sends back bytes as well as text
WRONG_TEXT = True  # [parameter] whether text is sent that is no UTF-8; programs that leave it to the application pass it on
SHORT_KEY = True  # [parameter] whether a key is sent that is too short; websocketd takes it


# --- The session ------------------------------------------------------------------------------------------------------

<start>       ::= <opening> (<exchange>{fewest(),} <ending> | <exchange>* <dismissal>) | <refusing>
<opening>     ::= <Client:handshake> <Server:acceptance>
<refusing>    ::= <Client:wrong_handshake> <Server:refusal> <Client:connection_closed>

# A message and its echo, or a ping and its pong. Pings may come between the frames of a message (5.4).
<exchange>    ::= <text_echo> <binary_echo>{0,binaries()} | <pinging> | <Client:pong_unasked>
<text_echo>   ::= <said_text> <pinged>{0,1} <told_text>
<binary_echo> ::= <said_binary> <pinged>{0,1} <told_binary>
<said_text>   ::= (<Client:text> | <Client:text_start> <between> <Client:part>{0,parts()} <Client:end>
                 | <Client:half_text> <between> <Client:other_half>)
<said_binary> ::= <Client:bytes> | <Client:bytes_start> <between> <Client:part>{0,parts()} <Client:end>
<told_text>   ::= <Server:server_text> | <Server:server_text_start> <Server:server_part>* <Server:server_end>
<told_binary> ::= <Server:server_bytes> | <Server:server_bytes_start> <Server:server_part>* <Server:server_end>
<between>     ::= <pinging>{0,1}
<pinging>     ::= <Client:ping> <Server:server_pong>
<pinged>      ::= <Server:server_ping> <Client:pong>

# Who is told that the connection closes says so, too; then the server closes it (5.5.1, 7.1.1).
<ending>      ::= <leaving> | <mistake>
<leaving>     ::= <Client:close> <Server:server_close> <Server:connection_ended>
# A server may leave whenever it likes, whatever the client still has to say.
<dismissal>   ::= <said_text> <Server:server_close> <Client:close> <Server:connection_ended>

# After a mistake of the client the server must end the connection, with or without a word (7.1.7).
<mistake>     ::= (<Client:unmasked> | <Client:reserved_bit> | <Client:reserved_opcode> | <Client:ping_in_parts> | <Client:long_ping>
                 | <Client:lost_part> | <Client:short_close> | <Client:text_start> <Client:text>
                 | <Client:wrong_text>) <Server:server_close>? <Server:connection_ended>
<connection_closed> ::= ""
<connection_ended> ::= ""


# --- The handshake (4) --------------------------------------------------------------------------------------------------

<handshake>   ::= "GET " <target> " HTTP/1.1\r\n" <asked>* "\r\n" := some_handshake(key_of(random.getrandbits(128)), "13", "websocket")
<asked>       ::= <host> | <upgrade> | <connection> | <key_field> | <version> | <protocols> | <field>
<target>      ::= r"/[!-~]*"
<host>        ::= r"(?ai:host):[ \t]*[^\r\n]*\r\n"
<upgrade>     ::= r"(?ai:upgrade):[ \t]*(?ai:websocket)[ \t]*\r\n"
<connection>  ::= r"(?ai:connection):[ \t]*(?ai:([a-z-]+[ \t]*,[ \t]*)*upgrade([ \t]*,[ \t]*[a-z-]+)*)[ \t]*\r\n"
<key_field>   ::= r"(?ai:sec-websocket-key):[ \t]*" <nonce> r"[ \t]*\r\n"
<nonce>       ::= r"[A-Za-z0-9+/]{21}[AQgw]=="
<version>     ::= r"(?ai:sec-websocket-version):[ \t]*13[ \t]*\r\n"
<protocols>   ::= r"(?ai:sec-websocket-protocol):[ \t]*" <names> r"[ \t]*\r\n"
<names>       ::= r"[!#-+.-9A-Z^-z|~-]+([ \t]*,[ \t]*[!#-+.-9A-Z^-z|~-]+)*"
<field>       ::= r"(?ai:(?!(host|upgrade|connection|sec-websocket-(key|version|protocol|accept)):)[!#$%&'*+.^_`|~a-z0-9-]+):[\t -~\x80-\xff]*\r\n"

<acceptance>  ::= "HTTP/1.1 101" <reason> <told>* "\r\n" := ACCEPTANCE + "Sec-WebSocket-Accept: %s\r\n\r\n" % accept_of(key_of(0))
<told>        ::= <upgrade> | <connection> | <accept_field> | <protocol> | <field>
<reason>      ::= r"( [\t -~\x80-\xff]*)?\r\n"
<accept_field> ::= r"(?ai:sec-websocket-accept):[ \t]*" <accept> r"[ \t]*\r\n"
<accept>      ::= r"[A-Za-z0-9+/]{27}="
<protocol>    ::= r"(?ai:sec-websocket-protocol):[ \t]*" <name> r"[ \t]*\r\n"
<name>        ::= r"[!#-+.-9A-Z^-z|~-]+"

# Another version, no key, one that is too short, and another protocol than this one.
<wrong_handshake> ::= "GET " <target> " HTTP/1.1\r\n" <wrong_field>* "\r\n" := random.choice(WRONG_HANDSHAKES)()
<wrong_field> ::= r"[A-Za-z-]+: [ -~]*\r\n"
<refusal>     ::= r"HTTP/1\.[01] [45][0-9]{2}" <reason> <any_field>* "\r\n" rb"(?s:.*)" := "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
<any_field>   ::= r"[!#$%&'*+.^_`|~A-Za-z0-9-]+:[\t -~\x80-\xff]*\r\n"


# --- Frames of the client: what it is, the length, a key, and the data under that key (5.2, 5.3) -------------------------

<text>        ::= b"\x81" <long> := frame(0x81, some_text())
<bytes>       ::= b"\x82" <long> := frame(0x82, some_bytes())
<text_start>  ::= b"\x01" <long> := frame(0x01, some_text())
<bytes_start> ::= b"\x02" <long> := frame(0x02, some_bytes())
<part>        ::= b"\x00" <long> := frame(0x00, some_text())
<end>         ::= b"\x80" <long> := frame(0x80, some_text())
<ping>        ::= b"\x89" <short> := frame(0x89, some_bytes()[:125])
<pong>        ::= b"\x8a" <short> := frame(0x8A, b"")
<pong_unasked> ::= b"\x8a" <short> := frame(0x8A, some_bytes()[:125])
<close>       ::= b"\x88" <short> := frame(0x88, random.choice(FAREWELLS))

# A character may be divided between two frames.
<half_text>   ::= b"\x01" <long> := frame(0x01, HALVES[0])
<other_half>  ::= b"\x80" <long> := frame(0x80, HALVES[1])

# The shortest form of a length that is possible.
<long_size>   ::= rb"(?s:[\x80-\xfd]|\xfe([\x01-\xff].|\x00[\x7e-\xff])|\xff(?!\x00{6})[\x00-\x7f].{7})"
<short_size>  ::= rb"[\x80-\xfd]"
<key>         ::= <u32>
<masked>      ::= rb"(?s:.*)"
<long>        ::= <long_size> <key> <masked>
<short>       ::= <short_size> <key> <masked>

# Mistakes.
<unmasked>    ::= b"\x81\x07palaver"
<reserved_bit> ::= rb"[\xc1\xa1\x91]" <long> := frame(random.choice([0xC1, 0xA1, 0x91]), b"palaver")
<reserved_opcode> ::= rb"[\x83-\x87\x8b-\x8f]" <long> := frame(random.choice([0x83, 0x87, 0x8B, 0x8F]), b"palaver")
<ping_in_parts> ::= b"\x09" <short> := frame(0x09, b"palaver")
<long_ping>   ::= b"\x89" <long> := frame(0x89, b"x" * 126)
<lost_part>   ::= b"\x80" <long> := frame(0x80, b"palaver")
<short_close> ::= b"\x88\x81" <key> <u8> := frame(0x88, b"\x03")
<wrong_text>  ::= rb"[\x81\xc1]" <long> := frame(0x81, random.choice(NO_TEXTS)) if WRONG_TEXT else frame(0xC1, b"")


# --- Frames of the server, which are not masked (5.1) -----------------------------------------------------------------------

<server_text> ::= b"\x81" <long_data> := plain(0x81, some_text())
<server_bytes> ::= b"\x82" <long_data> := plain(0x82, some_bytes())
<server_text_start> ::= b"\x01" <long_data> := plain(0x01, some_text())
<server_bytes_start> ::= b"\x02" <long_data> := plain(0x02, some_bytes())
<server_part> ::= b"\x00" <long_data> := plain(0x00, some_text())
<server_end>  ::= b"\x80" <long_data> := plain(0x80, some_text())
<server_ping> ::= b"\x89" <short_data> := plain(0x89, some_bytes()[:125])
<server_pong> ::= b"\x8a" <short_data> := plain(0x8A, b"")
<server_close> ::= b"\x88" <short_data> := plain(0x88, random.choice(FAREWELLS))
<plain_size>  ::= rb"(?s:[\x00-\x7d]|\x7e([\x01-\xff].|\x00[\x7e-\xff])|\x7f(?!\x00{6})[\x00-\x7f].{7})"
<small_size>  ::= rb"[\x00-\x7d]"
<data>        ::= rb"(?s:.*)"
<long_data>   ::= <plain_size> <data>
<short_data>  ::= <small_size> <data>


# --- What must hold -----------------------------------------------------------------------------------------------------

# A handshake has these fields once (4.1, 4.2.2). What is accepted is proven by the key, and was asked for.
where forall <h> in <handshake>: len(*<h>..<host>) == 1 and len(*<h>..<upgrade>) == 1 and len(*<h>..<connection>) == 1
where forall <h> in <handshake>: len(*<h>..<key_field>) == 1 and len(*<h>..<version>) == 1
where forall <a> in <acceptance>: len(*<a>..<upgrade>) == 1 and len(*<a>..<connection>) == 1 and len(*<a>..<accept>) == 1
where forall <o> in <opening>: <o>.<acceptance> == right_acceptance(<o>.<handshake>..<nonce>, <o>.<acceptance>)
where forall <o> in <opening>: <o>.<acceptance>..<name> in words_of(<o>.<handshake>, b"sec-websocket-protocol")
where forall <o> in <opening>: len(words_of(<o>.<acceptance>, b"sec-websocket-extensions")) == 0
where forall <w> in <wrong_handshake>: not is_right(<w>)

# Data is as long as it should be.
where forall <l> in <long>: len(bytes(<l>.<masked>)) == size_of(<l>.<long_size>)
where forall <s> in <short>: len(bytes(<s>.<masked>)) == size_of(<s>.<short_size>)
where forall <l> in <long_data>: len(bytes(<l>.<data>)) == size_of(<l>.<plain_size>)
where forall <s> in <short_data>: len(bytes(<s>.<data>)) == size_of(<s>.<small_size>)

# A pong has the data of its ping (5.5.3).
where forall <p> in <pinging>: <p>.<server_pong> == plain(0x8A, unmasked(<p>.<ping>))
where forall <p> in <pinged>: <p>.<pong> == right_pong(<p>.<server_ping>, <p>.<pong>)

# Text is UTF-8, also if it comes in parts (5.6), and so are reasons to close, behind a number (7.4).
where forall <t> in <said_text>: is_our_client() or is_text(said(<t>))
where forall <t> in <told_text>: is_text(told(<t>))
where forall <c> in <close>: is_farewell(unmasked(<c>))
where forall <c> in <server_close>: is_farewell(bytes(<c>)[2:])

# What is called wrong is wrong.
where forall <w> in <wrong_text>: bytes(<w>)[0] != 0x81 or not is_text(unmasked(<w>))

# The server is an echo.
where forall <e> in <text_echo>: not is_our_client() or told(<e>.<told_text>) == said(<e>.<said_text>)
where forall <e> in <binary_echo>: not is_our_client() or told(<e>.<told_binary>) == said(<e>.<said_binary>)


# --- Frames ---------------------------------------------------------------------------------------------------------------

import base64
import hashlib
import random

MAGIC = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
TEXTS = ["", "palaver", "caf\u00e9", "\u4f60\u597d", "\U0001f40d", "x" * 125, "y" * 126, "z" * 127, "\x00\x7f", "v" * 300]
SIZES = {126: 4, 127: 10}
HALVES = [b"caf\xc3", b"\xa9 palaver"]
NO_TEXTS = [b"\xff", b"caf\xc3", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"palaver\x80"]
FAREWELLS = [b"", b"\x03\xe8", b"\x03\xe9bye", b"\x0b\xb8", b"\x13\x87" + "\u4f60".encode()]

def some_text():
    return random.choice(TEXTS).encode()

def some_bytes():
    return random.choice([b"", b"\x00", b"\xff\x00\x80", b"palaver", bytes(range(256))])

def frame(first, data):
    """A frame of a client."""
    key = random.getrandbits(32).to_bytes(4, "big")
    return masked_with(key, first, data)

def masked_with(key, first, data):
    return bytes([first]) + size(len(data), 0x80) + key + xor(data, key)

def plain(first, data):
    """A frame of a server."""
    return bytes([first]) + size(len(data), 0) + bytes(data)

def size(length, mask):
    if length < 126:
        return bytes([mask + length])
    if length < 65536:
        return bytes([mask + 126]) + u16(length)
    return bytes([mask + 127]) + u64(length)

def size_of(field):
    field = bytes(field)
    return field[0] & 0x7F if len(field) == 1 else int.from_bytes(field[1:], "big")

def unmasked(frame):
    """The data of a frame of a client."""
    frame = bytes(frame)
    length = SIZES.get(frame[1] & 0x7F, 2)
    return xor(frame[length + 4:], frame[length:length + 4])

def said(message):
    """The data of all frames of a message, without those of pings."""
    frames = [bytes(each.msg) for each in message.protocol_msgs() if each.sender == "Client"]
    return b"".join(unmasked(each) for each in frames if each[0] & 0x0F < 8)

def told(message):
    frames = [bytes(each.msg) for each in message.protocol_msgs() if each.sender == "Server"]
    return b"".join(each[SIZES.get(each[1], 2):] for each in frames if each[0] & 0x0F < 8)

def is_text(data):
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True

def is_farewell(data):
    """Whether nothing, or a number that may be sent and a reason."""
    if not data:
        return True
    number = int.from_bytes(data[:2], "big")
    is_known = 1000 <= number <= 1014 and number not in (1004, 1005, 1006) or 3000 <= number <= 4999
    return len(data) > 1 and is_known and is_text(data[2:])

def right_pong(ping, pong):
    """The pong, if it is right for that ping; else one that is."""
    data = bytes(ping)[2:]
    return bytes(pong) if unmasked(pong) == data else masked_with(b"mask", 0x8A, data)


# --- Handshakes -----------------------------------------------------------------------------------------------------------

def key_of(number):
    return base64.b64encode(number.to_bytes(16, "big")).decode()

def accept_of(nonce):
    return base64.b64encode(hashlib.sha1(str(nonce).encode() + MAGIC).digest()).decode()

def right_acceptance(nonce, acceptance):
    """The acceptance, if it proves that the key was read; else one that does."""
    if words_of(acceptance, b"sec-websocket-accept") == [accept_of(nonce)]:
        return bytes(acceptance)
    return ACCEPTANCE + "Sec-WebSocket-Accept: %s\r\n\r\n" % accept_of(nonce)

def some_handshake(key, version, protocol):
    fields = ["Host: " + HOST, "Upgrade: " + protocol, random.choice(["Connection: Upgrade", "connection: keep-alive, Upgrade"])]
    fields.append("Sec-WebSocket-Version: " + version)
    if key:
        fields.append(random.choice(["Sec-WebSocket-Key: ", "sec-websocket-key:"]) + key)
    fields.extend(random.choice([[], ["Sec-WebSocket-Protocol: palaver, chat"], ["X-Palaver: 1"]]))
    random.shuffle(fields)
    return "GET %s HTTP/1.1\r\n" % PATH + "".join(field + "\r\n" for field in fields) + "\r\n"

ACCEPTANCE = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
WRONG_HANDSHAKES = [
    lambda: some_handshake(key_of(1), "7", "websocket").replace("key:", "Key: "),
    lambda: some_handshake("", "13", "websocket"),
    lambda: some_handshake("cGFsYXZlcg==" if SHORT_KEY else "", "13", "websocket").replace("key:", "Key: "),
    lambda: some_handshake(key_of(1), "13", "palaver").replace("key:", "Key: "),
]

def fields_of(message):
    lines = bytes(message).partition(b"\r\n\r\n")[0].split(b"\r\n")[1:]
    pairs = [line.partition(b":") for line in lines]
    return [(pair[0].lower(), pair[2].strip(b" \t")) for pair in pairs]

def words_of(message, name):
    """The words of the list in all fields of that name."""
    values = [pair[1] for pair in fields_of(message) if pair[0] == name]
    return [word.strip(b" \t").decode("latin-1") for value in values for word in value.split(b",")]

def is_right(handshake):
    fields = dict(fields_of(handshake))
    key = fields.get(b"sec-websocket-key", b"")
    is_key = len(key) == 24 and key.endswith(b"==")
    return is_key and fields.get(b"sec-websocket-version") == b"13" and fields.get(b"upgrade", b"").lower() == b"websocket"

def fewest():
    """As a client, palaver has some things to say. Others may be brief."""
    return 5 if is_our_client() else 0

def parts():
    return 3 if is_our_client() else 10000

def binaries():
    return 1 if BINARY else 0

def is_our_client():
    """False also if nobody plays, because conversations are made up or read."""
    client = FandangoIO.instance().parties.get("Client")
    return client is not None and client.is_fuzzer_controlled()


# --- Parties ------------------------------------------------------------------------------------------------------------

class Client(NetworkParty):
    def __init__(self):
        super().__init__("tcp://127.0.0.1:80", connection_mode=ConnectionMode.CONNECT)
        self.start()

class Server(NetworkParty):
    def __init__(self):
        super().__init__("tcp://127.0.0.1:80", connection_mode=ConnectionMode.EXTERNAL)
