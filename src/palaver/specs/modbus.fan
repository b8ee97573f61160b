# Modbus TCP: coils and registers of a device, read and written, with a model of them (MODBUS Application Protocol V1.1b3).
#
#     palaver talk modbus --client 502       tests the device that listens on port 502
#     palaver talk modbus --server 502       tests the clients that connect to port 502
#
# As a client, palaver WRITES to coils and registers 0 to 9 of unit 1: never try it on a machine that moves. A device for
# a try is that of the Python package pymodbus. As a server, it is a device whose coils and registers are all 0 at first.
#
# How to read the rules: <Client:read> is the message <read>, sent by the client. A rule with messages in it is a part of
# the session; all other rules tell what messages look like.

include('binary.fan')


# --- Parameters -------------------------------------------------------------------------------------------------------

FIRST = 0  # [parameter] the first of the coils and registers that are written to
LAST = 9  # [parameter] the last of those that there are


# --- The session ------------------------------------------------------------------------------------------------------

# A request and its response. Which one is right depends on all that was written before: see the model below.
<start>         ::= <exchange>{fewest(),} <Client:Server:connection_closed>
<exchange>      ::= (<Client:read> | <Client:write_coil> | <Client:write_register> | <Client:write_coils>
                   | <Client:write_registers> | <Client:mask> | <Client:read_and_write> | <Client:strange>) <Server:response>
<connection_closed> ::= ""


# --- Requests: a number, the protocol (0), how many bytes follow, the unit, a function, and its data ----------------------

<ids>           ::= <transaction> b"\x00\x00"
<transaction>   ::= <u16>
<unit>          ::= <u8> := b"\x01"
<address>       ::= <u16> := u16(random.choice(ADDRESSES))
<word>          ::= <u16> := u16(random.choice([0, 1, 0x1234, 0x7FFF, 0x8000, 0xFFFF]))

# Coils (1), discrete inputs (2), holding registers (3) and input registers (4).
<read>          ::= <ids> b"\x00\x06" <unit> <read_code> <address> <count>
<read_code>     ::= rb"[\x01-\x04]" := random.choice([b"\x01", b"\x01", b"\x03", b"\x03", b"\x02", b"\x04"])
<count>         ::= <u16> := u16(random.choice([1, 1, 2, 3, 8, 9, 10, *MISTAKEN_COUNTS]))
<write_coil>    ::= <ids> b"\x00\x06" <unit> b"\x05" <address> <on_or_off>
<on_or_off>     ::= <u16> := u16(random.choice([0xFF00, 0xFF00, 0, 0, *MISTAKEN_COILS]))
<write_register> ::= <ids> b"\x00\x06" <unit> b"\x06" <address> <word>
<write_coils>   ::= <ids> <length> <unit> b"\x0f" <coils>
<coils>         ::= <address> <u16> <size> rb"(?s:.)"{u8.value(<size>)} := some_coils()
<write_registers> ::= <ids> <length> <unit> b"\x10" <registers>
<registers>     ::= <address> <u16> <size> rb"(?s:.)"{u8.value(<size>)} := some_registers()
<mask>          ::= <ids> b"\x00\x08" <unit> b"\x16" <address> <word> <word>
<read_and_write> ::= <ids> <length> <unit> b"\x17" <address> <few> <registers>
<few>           ::= <u16> := u16(random.choice([1, 2, 5, *MISTAKEN_COUNTS]))
<strange>       ::= <ids> <length> <unit> <no_code> <rest>
<no_code>       ::= rb"[\x07-\x0e\x11-\x15\x18-\x7f]" := b"\x63"
<rest>          ::= rb"(?s:.*)" := random.choice([b"", b"\x00\x01"])
<length>        ::= <u16>
<size>          ::= <u8>


# --- Responses ------------------------------------------------------------------------------------------------------------

<response>      ::= <values> | <echo> | <masked> | <refusal>
<values>        ::= <ids> <length> <unit> rb"[\x01-\x04\x17]" <size> rb"(?s:.)"{u8.value(<size>)}
<echo>          ::= <ids> b"\x00\x06" <unit> rb"[\x05\x06\x0f\x10]" <address> <word>
<masked>        ::= <ids> b"\x00\x08" <unit> b"\x16" <address> <word> <word>
<refusal>       ::= <ids> b"\x00\x03" <unit> rb"[\x80-\xff]" <reason>
<reason>        ::= rb"[\x01-\x0b]"


# --- What must hold -----------------------------------------------------------------------------------------------------

where forall <w> in <write_coils>: <w>.<length> == u16(len(bytes(<w>.<coils>)) + 2)
where forall <w> in <write_registers>: <w>.<length> == u16(len(bytes(<w>.<registers>)) + 2)
where forall <b> in <read_and_write>: <b>.<length> == u16(len(bytes(<b>.<registers>)) + 6)
where forall <s> in <strange>: <s>.<length> == u16(len(bytes(<s>.<rest>)) + 2)
where forall <v> in <values>: <v>.<length> == u16(u8.value(<v>.<size>) + 3)

# Every response is that of the model, which is carried along.
where reduce(follow, *<exchange>, Device()).mistake == ""

# If we are the server ourselves, this is what we say.
where forall <e> in <exchange>: <e>.<response> == due(<e>, *<exchange>)


# --- The device ---------------------------------------------------------------------------------------------------------

import copy
import random
from functools import reduce

ADDRESSES = [*range(FIRST, LAST + 1), 65535]

# What there is not, to be refused.
MISTAKEN_COUNTS = [0, 2001]
MISTAKEN_COILS = [1]
NO_FUNCTION, NO_ADDRESS, NO_VALUE = 1, 2, 3

def some_coils():
    address, count = some_place()
    bits = [random.random() < 0.5 for _ in range(count)]
    return u16(address) + u16(count) + u8((count + 7) // 8) + packed(bits)

def some_registers():
    address, count = some_place()
    words = [random.choice([0, 1, 0xABCD, 0xFFFF]) for _ in range(count)]
    return u16(address) + u16(count) + u8(2 * count) + b"".join(u16(word) for word in words)

def some_place():
    count = random.choice([1, 2, 3, 8, 9])
    return random.choice([random.randrange(FIRST, max(FIRST, LAST - count + 1) + 1), 65535]), count

def packed(bits):
    """Eight bits a byte, the first one lowest."""
    return bytes(sum(bool(bit) << place for place, bit in enumerate(bits[i:i + 8])) for i in range(0, len(bits), 8))

def unpacked(data, count):
    return [data[i // 8] >> i % 8 & 1 for i in range(count)]

def words_of(data):
    return [int.from_bytes(data[i:i + 2], "big") for i in range(0, len(data), 2)]

class Refused(Exception):
    """With the numbers of the reasons, any of which will do."""

class Device:
    """What is known of coils and registers by their addresses, and what was wrong with the last response."""

    def __init__(self):
        self.coils, self.registers = {}, {}
        self.mistake = ""

    def __repr__(self):
        return "coils %r, registers %r, %s" % (self.coils, self.registers, self.mistake or "nothing wrong")

    def do(self, function, data, answer):
        """Carry a request out, and return the data of its response. What is not known is taken from the answer."""
        if function not in FUNCTIONS:
            raise Refused(NO_FUNCTION)
        return FUNCTIONS[function](self, data, answer)

def check(place, most, reasons=[]):
    """Refuse more than so many items, none, and those behind the last address. There may be reasons already."""
    address, count = place
    wrong = list(reasons)
    if not 1 <= count <= most:
        wrong.append(NO_VALUE)
    if address + count > 65536:
        wrong.append(NO_ADDRESS)
    if wrong:
        raise Refused(*wrong)

def read_bits(device, data, answer):
    address, count = words_of(data)
    check((address, count), 2000)
    size = (count + 7) // 8
    told = unpacked(answer[1:], count) if len(answer) == 1 + size else [0] * count
    bits = [device.coils.setdefault(address + i, told[i]) for i in range(count)]
    return u8(size) + packed(bits)

def read_words(device, data, answer):
    address, count = words_of(data)
    check((address, count), 125)
    told = words_of(answer[1:]) if len(answer) == 1 + 2 * count else [0] * count
    words = [device.registers.setdefault(address + i, told[i]) for i in range(count)]
    return u8(2 * count) + b"".join(u16(word) for word in words)

def read_inputs(device, data, answer):
    """Nobody writes to inputs, so nothing is known of them, and they may change."""
    return read_bits(Device(), data, answer)

def read_input_words(device, data, answer):
    return read_words(Device(), data, answer)

def write_coil(device, data, answer):
    address, value = words_of(data)
    if value not in (0, 0xFF00):
        raise Refused(NO_VALUE)
    device.coils[address] = value >> 15
    return data

def write_register(device, data, answer):
    address, value = words_of(data)
    device.registers[address] = value
    return data

def write_coils(device, data, answer):
    address, count = words_of(data[:4])
    check((address, count), 1968)
    if data[4] != (count + 7) // 8:
        raise Refused(NO_VALUE)
    bits = unpacked(data[5:], count)
    device.coils.update({address + i: bits[i] for i in range(count)})
    return data[:4]

def write_registers(device, data, answer):
    address, count = words_of(data[:4])
    check((address, count), 123)
    if data[4] != 2 * count:
        raise Refused(NO_VALUE)
    words = words_of(data[5:])
    device.registers.update({address + i: words[i] for i in range(count)})
    return data[:4]

def mask(device, data, answer):
    """The AND mask keeps bits of the register, the OR mask sets those that are not kept."""
    address, kept, more = words_of(data)
    if address in device.registers:
        device.registers[address] = device.registers[address] & kept | more & ~kept
    return data

def read_and_write(device, data, answer):
    """First it is written, then read."""
    try:
        check(words_of(data[4:8]), 121)
    except Refused as refused:
        check(words_of(data[:4]), 125, refused.args)
    check(words_of(data[:4]), 125)
    write_registers(device, data[4:], b"")
    return read_words(device, data[:4], answer)

FUNCTIONS = {1: read_bits, 2: read_inputs, 3: read_words, 4: read_input_words, 5: write_coil, 6: write_register,
             15: write_coils, 16: write_registers, 22: mask, 23: read_and_write}

# Those that a device need not have.
OPTIONAL = (22, 23)

def outcome(device, request, answer):
    """The responses that are right, after which the device is as it is then. The first is the one that we would give."""
    function = request[7]
    head = request[:4]
    try:
        data = device.do(function, request[8:], answer[8:])
    except Refused as refused:
        return [head + b"\x00\x03" + request[6:7] + u8(function + 128) + u8(reason) for reason in refused.args]
    return [head + u16(len(data) + 2) + request[6:8] + data]

def follow(device, exchange):
    """The device after an exchange, with what was wrong with the response."""
    following = copy.deepcopy(device)
    messages = [bytes(each.msg) for each in exchange.protocol_msgs()]
    if len(messages) < 2:
        return following  # only the messages of one side are made up or read
    request, answer = messages
    right = outcome(following, request, answer)
    head = request[:4] + b"\x00\x03" + request[6:7] + u8(request[7] + 128)
    if request[7] in OPTIONAL and answer == head + u8(NO_FUNCTION) or is_far(request) and answer == head + u8(NO_ADDRESS):
        return after_refusal(device, request)
    if answer not in right:
        return wrong(following, right)
    return after_refusal(device, request) if answer[7] > 127 else following

def after_refusal(device, request):
    """Nothing has changed; only what was to be written and read at once may have been written."""
    following = copy.deepcopy(device)
    if request[7] == 23:
        address, count = words_of(request[12:16])
        for i in range(count):
            following.registers.pop(address + i, None)
    return following

def is_far(request):
    """Whether a request is about an address that the device need not have."""
    if request[7] not in FUNCTIONS:
        return False
    places = [request[8:12]] if request[7] != 23 else [request[8:12], request[12:16]]
    counts = [1 if request[7] in (5, 6, 22) else words_of(place)[1] for place in places]
    return any(words_of(place)[0] + count - 1 > LAST for place, count in zip(places, counts))

def wrong(device, right):
    device.mistake = "expected %s" % " or ".join(each.hex(" ") for each in right)
    return device

follow.state = Device()

def due(exchange, exchanges):
    """The response of this exchange: if we are the server, that of the model."""
    own = [bytes(each.msg) for each in exchange.protocol_msgs()]
    if is_our_client() or len(own) < 2:
        return own[-1]
    device = Device()
    for each in exchanges:
        request = bytes(list(each.protocol_msgs())[0].msg)
        right = outcome(device, request, b"")
        if each is exchange:
            return own[-1] if own[-1] in right else right[0]

def fewest():
    """As a client, palaver has some things to ask. Others may be brief."""
    return 30 if is_our_client() else 0

def is_our_client():
    """False also if nobody plays, because conversations are made up or read."""
    client = FandangoIO.instance().parties.get("Client")
    return client is not None and client.is_fuzzer_controlled()


# --- Parties ------------------------------------------------------------------------------------------------------------

class Client(NetworkParty):
    def __init__(self):
        super().__init__("tcp://127.0.0.1:502", connection_mode=ConnectionMode.CONNECT)
        self.start()

class Server(NetworkParty):
    def __init__(self):
        super().__init__("tcp://127.0.0.1:502", connection_mode=ConnectionMode.EXTERNAL)
